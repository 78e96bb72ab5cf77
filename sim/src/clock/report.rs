//! What came out of a run.

use schemars::JsonSchema;
use serde::Serialize;

use crate::product::Grade;

use super::core::{Core, MTE2, MTE3, State, V};
use super::costs::Costs;
use super::evidence::Evidence;
use super::machine::{Options, Ran, Start};
use super::tick::{CYCLE, PerByte, Tick, whole_cycles};

/// What keeps a program from being faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "they are their names")]
pub enum Bound {
    Vector,
    Scalar,
    Mte2,
    Mte3,
    L2,
    Hbm,
    Sync,
    Launch,
}

impl Bound {
    /// Every one with its name.
    pub const ALL: [(Self, &'static str); 8] = [
        (Self::Vector, "vector"),
        (Self::Scalar, "scalar"),
        (Self::Mte2, "mte2"),
        (Self::Mte3, "mte3"),
        (Self::L2, "l2"),
        (Self::Hbm, "hbm"),
        (Self::Sync, "sync"),
        (Self::Launch, "launch"),
    ];

    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(bound, _)| *bound == self).map_or("", |(_, name)| name)
    }
}

/// A pipe, as a mean over the cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct PipeTime {
    /// Cycles in which it was busy; of copies, from the start to the last byte's arrival, what overlaps counted once.
    pub busy_cycles: f64,
    /// The same by the mean cycles of the cores.
    pub ratio: f64,
    /// Cycles in which a flag kept it from going on.
    pub wait_cycles: f64,
    /// Instructions of all cores.
    pub instructions: u64,
}

/// All pipes.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize)]
#[expect(missing_docs, reason = "they are their names")]
pub struct Pipes {
    pub vector: PipeTime,
    pub scalar: PipeTime,
    pub mte2: PipeTime,
    pub mte3: PipeTime,
}

/// A memory that the cores share, as their copies use it: scalar units take none of its bandwidth.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Pool {
    /// Bytes through it.
    pub bytes: u64,
    /// What it reached while the cores ran, in 1e9 bytes a second.
    pub gbps: f64,
    /// What it can reach.
    pub peak_gbps: f64,
    /// One by the other.
    pub ratio: f64,
}

/// How much longer than the least time that the work of the program takes.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Roofline {
    /// The least time of the busiest resource.
    pub us: f64,
    /// Which one that is.
    pub by: Bound,
    /// That time by the time of the cores.
    pub ratio: f64,
    /// Every resource.
    pub limits: [Limit; 6],
}

/// The least time that a resource needs for the work of a program.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Limit {
    /// The resource.
    pub by: Bound,
    /// Its time.
    pub us: f64,
    /// That time by the time of the cores.
    pub ratio: f64,
}

/// Addition in global memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Collisions {
    /// Pieces of stores that had to wait for another one to the same place.
    pub count: u64,
    /// Cycles that they waited, in all.
    pub cycles: u64,
}

/// How long a program takes, and why.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Timing {
    /// From the launch to the end of the last core.
    pub task_us: f64,
    /// Cycles of the slowest core, without the launch.
    pub cycles: u64,
    /// Cores that did anything.
    pub cores_used: u32,
    /// What keeps it from being faster.
    pub bound: Bound,
    /// The pipes of the cores that did anything.
    pub pipes: Pipes,
    /// Bytes that the cores asked to read.
    pub gm_read_bytes: u64,
    /// Bytes that the cores asked to write.
    pub gm_write_bytes: u64,
    /// L2.
    pub l2: Pool,
    /// Main memory.
    pub hbm: Pool,
    /// Lines that were found in L2, by all that were asked for; nothing where none was.
    pub l2_hit_ratio: Option<f64>,
    /// Cycles that bank conflicts took, by those of the vector pipe.
    pub bank_conflict_ratio: f64,
    /// Additions in global memory that met.
    pub collisions: Collisions,
    /// Mean cycles of the cores, by those of the slowest.
    pub balance: f64,
    /// Mean cycles in which a core waited for others.
    pub sync_cycles: f64,
    /// Mean cycles in which a full queue held the scalar unit.
    pub queue_full_cycles: f64,
    /// Distance to the roofline.
    pub roofline: Roofline,
    /// Instructions of all cores, and the share of them that was left out because they did the same again.
    pub instructions: u64,
    /// That share.
    pub skipped_ratio: f64,
    /// The seed.
    pub seed: u64,
    /// What L2 had at the start.
    pub l2_start: &'static str,
    /// The weakest grade of all that the result rests on.
    pub grade: Grade,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
    /// What was assumed, because nobody knows.
    pub assumptions: Vec<String>,
}

fn in_cycles(ticks: Tick) -> f64 {
    ticks as f64 / CYCLE as f64
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

impl Timing {
    pub(super) fn new(ran: &Ran<'_>, costs: &Costs, options: &Options) -> Self {
        let end = |core: &Core<'_>| match core.state {
            State::Ends(at) => at,
            State::Runs | State::Syncs { .. } => core.now,
        };
        let used: Vec<_> = ran.cores.iter().filter(|core| core.counts.steps > 0).collect();
        let n = used.len().max(1) as f64;
        let mean = |of: &dyn Fn(&Core<'_>) -> Tick| in_cycles(used.iter().map(|core| of(core)).sum()) / n;
        let cycles = |core: &Core<'_>| end(core) - core.start;
        let slowest = used.iter().map(|core| cycles(core)).max().unwrap_or(0);
        let mean_cycles = mean(&cycles);
        // What the last stores displaced from L2 may still be on its way.
        let ended =
            used.iter().map(|core| (end(core), core.start)).max().unwrap_or((costs.core_start, costs.core_start));
        let last = ended.0.max(ran.idle);
        let span = costs.us(last.saturating_sub(costs.core_start));
        let pipe = |at: usize| {
            let busy = mean(&|core| core.pipes[at].counts.busy);
            PipeTime {
                busy_cycles: busy,
                ratio: ratio(busy, mean_cycles),
                wait_cycles: mean(&|core| core.pipes[at].counts.waited),
                instructions: used.iter().map(|core| core.pipes[at].counts.instructions).sum(),
            }
        };
        let steps: u64 = used.iter().map(|core| core.counts.steps).sum();
        let skipped: u64 = used.iter().map(|core| core.counts.skipped).sum();
        let (vector, mte2, mte3) = (pipe(V), pipe(MTE2), pipe(MTE3));
        let busy = mean(&|core| core.counts.busy);
        let in_pipes = vector.instructions + mte2.instructions + mte3.instructions;
        let scalar = PipeTime {
            busy_cycles: busy,
            ratio: ratio(busy, mean_cycles),
            wait_cycles: mean(&|core| core.counts.waited),
            instructions: steps.saturating_sub(in_pipes),
        };
        let pool = |bytes: u64, peak: f64| {
            let gbps = ratio(bytes as f64, span * 1000.0);
            Pool { bytes, gbps, peak_gbps: peak, ratio: ratio(gbps, peak) }
        };
        let traffic = &ran.traffic;
        let lines = traffic.hits + traffic.misses;
        let mhz = f64::from(costs.mhz);
        let copied = traffic.memory_read + traffic.memory_written - traffic.memory_scalar;
        let hbm = pool(copied, costs.memory * mhz / 1000.0);
        let l2 = pool(traffic.l2, per_second(costs.l2, mhz));
        let task_us = costs.us(costs.outside + last);
        // Until the core begins that ends last: cores start one after the other.
        let launch_us = costs.us(costs.outside + ended.1);
        let sync = mean(&|core| core.counts.synced);
        let vector_busy: Tick = used.iter().map(|core| core.pipes[V].counts.busy).sum();
        let conflicts: Tick = used.iter().map(|core| core.pipes[V].counts.conflicts).sum();
        let roof = [
            (costs.us(used.iter().map(|core| core.pipes[V].counts.busy).max().unwrap_or(0)), Bound::Vector),
            (costs.us(used.iter().map(|core| core.counts.busy).max().unwrap_or(0)), Bound::Scalar),
            (costs.us(costs.copies.load.ticks(traffic.read - traffic.scalar_read) / n as u64), Bound::Mte2),
            (costs.us(costs.copies.store.ticks(traffic.written - traffic.scalar_written) / n as u64), Bound::Mte3),
            (costs.us(costs.l2.ticks(traffic.l2)), Bound::L2),
            (ratio(hbm.bytes as f64, hbm.peak_gbps * 1000.0), Bound::Hbm),
        ];
        let (us, by) = roof.into_iter().fold((0.0, Bound::Launch), |a, b| if b.0 > a.0 { b } else { a });
        let limits = roof.map(|(us, by)| Limit { by, us, ratio: ratio(us, span) });
        let pipes = Pipes { vector, scalar, mte2, mte3 };
        Self {
            task_us,
            cycles: whole_cycles(slowest),
            cores_used: used.len() as u32,
            bound: bound(&pipes, l2.ratio, hbm.ratio, ratio(sync, mean_cycles), ratio(launch_us, task_us)),
            pipes,
            gm_read_bytes: traffic.read,
            gm_write_bytes: traffic.written,
            l2,
            hbm,
            l2_hit_ratio: (lines > 0).then(|| traffic.hits as f64 / lines as f64),
            bank_conflict_ratio: ratio(in_cycles(conflicts), in_cycles(vector_busy)),
            collisions: Collisions { count: traffic.collisions, cycles: whole_cycles(traffic.collided) },
            balance: ratio(mean_cycles, in_cycles(slowest)),
            sync_cycles: sync,
            queue_full_cycles: mean(&|core| core.counts.queue_full),
            roofline: Roofline { us, by, ratio: ratio(us, span), limits },
            instructions: steps,
            skipped_ratio: ratio(skipped as f64, steps as f64),
            seed: options.seed,
            l2_start: Start::ALL.into_iter().find(|(start, _)| *start == options.start).map_or("", |(_, name)| name),
            grade: costs.evidence.iter().map(|evidence| evidence.grade).max().unwrap_or(Grade::Cited),
            evidence: costs.evidence.clone(),
            assumptions: costs.assumptions.clone(),
        }
    }
}

/// 1e9 bytes a second.
fn per_second(rate: PerByte, mhz: f64) -> f64 {
    const BYTES: u64 = 1 << 30;
    ratio(BYTES as f64 * mhz, in_cycles(rate.ticks(BYTES)) * 1000.0)
}

/// A memory that is used this much is what copies wait for.
const SATURATED: f64 = 0.75;

fn bound(pipes: &Pipes, l2: f64, hbm: f64, sync: f64, launch: f64) -> Bound {
    if launch > 0.5 {
        return Bound::Launch;
    }
    let Pipes { vector, scalar, mte2, mte3 } = pipes;
    let candidates = [
        (vector.ratio, Bound::Vector),
        (scalar.ratio, Bound::Scalar),
        (mte2.ratio, Bound::Mte2),
        (mte3.ratio, Bound::Mte3),
        (sync, Bound::Sync),
    ];
    let (_, first) = candidates.into_iter().fold((0.0, Bound::Launch), |a, b| if b.0 > a.0 { b } else { a });
    match first {
        Bound::Mte2 | Bound::Mte3 if hbm >= SATURATED && hbm >= l2 => Bound::Hbm,
        Bound::Mte2 | Bound::Mte3 if l2 >= SATURATED => Bound::L2,
        other => other,
    }
}
