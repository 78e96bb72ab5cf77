//! The numbers of a product that the clock needs, in ticks, with their evidence.

use schemars::JsonSchema;
use serde::Serialize;

use crate::product::{Bytes, Fact, Rate, Soc, Unknown};
use crate::program::{Instruction, Node, Program, Read, SyncAll, Write, visit};

use super::banks::Banks;
use super::copies::CopyCosts;
use super::evidence::{Asker, Evidence};
use super::tick::{PerByte, Tick, cycles, nanoseconds};
use super::vector::Vectors;

/// What would be different: each makes one thing cost nothing, or less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Loads arrive at once, as when they are asked for early enough.
    NoLoadLatency,
    /// Stores are over at once.
    NoStoreLatency,
    /// A copy begins as soon as the one before, as in fewer and larger copies.
    NoIssue,
    /// Operands in different banks.
    NoConflicts,
    /// Vector instructions cost their repeats alone, as in fewer and longer ones.
    NoOverhead,
    /// The scalar unit takes no time.
    NoScalar,
    /// Sums in global memory never wait for each other.
    NoCollisions,
    /// Barriers of all cores take no time.
    NoSync,
    /// All cores start as soon as the first one.
    NoStagger,
    /// What is loaded once stays out of L2.
    Bypass,
    /// Twice the bandwidth of main memory.
    Memory,
    /// Twice the bandwidth of L2, and of each core's way to it.
    L2,
}

impl Change {
    /// Every change with what it means for whoever writes the program.
    pub const ALL: [(Self, &'static str); 12] = [
        (Self::NoLoadLatency, "load earlier, with one more buffer: no load latency"),
        (Self::NoStoreLatency, "do not wait for stores, with one more buffer: no store latency"),
        (Self::NoIssue, "fewer and larger copies: no issue time"),
        (Self::NoConflicts, "operands in different bank groups: no bank conflicts"),
        (Self::NoOverhead, "fewer and longer vector instructions: no overhead"),
        (Self::NoScalar, "less work for the scalar unit: none"),
        (Self::NoCollisions, "sums to different addresses: no collisions"),
        (Self::NoSync, "fewer barriers of all cores: they take no time"),
        (Self::NoStagger, "more work for each launch, or fewer cores: all start at once"),
        (Self::Bypass, "loads that stay out of L2"),
        (Self::Memory, "twice the bandwidth of main memory"),
        (Self::L2, "twice the bandwidth of L2 and of each core's copies"),
    ];
}

/// Costs of a program on a product.
#[derive(Clone, Debug)]
pub(super) struct Costs {
    pub(super) mhz: u32,
    pub(super) queue_depth: usize,
    pub(super) vectors: Vectors,
    pub(super) vector_issue: Tick,
    pub(super) dependent: Tick,
    pub(super) vector_barrier: Tick,
    pub(super) flag: Tick,
    /// What the scalar unit spends on one.
    pub(super) flag_issue: Tick,
    pub(super) descriptor: Tick,
    pub(super) loop_iteration: Tick,
    pub(super) instruction: Tick,
    pub(super) ub_access: Tick,
    pub(super) cache_lines: u64,
    pub(super) cache_line_bytes: u64,
    pub(super) copies: CopyCosts,
    pub(super) request_bytes: u64,
    pub(super) line_bytes: u64,
    pub(super) l2_bytes: u64,
    pub(super) l2: PerByte,
    /// Bytes a cycle of main memory.
    pub(super) memory: f64,
    pub(super) atomic_factor: f64,
    pub(super) granule_bytes: u64,
    pub(super) same_granule: Tick,
    pub(super) bypass: bool,
    pub(super) sync_hard: Tick,
    pub(super) sync_soft: Tick,
    pub(super) outside: Tick,
    pub(super) core_start: Tick,
    pub(super) stagger: Tick,
    pub(super) evidence: Vec<Evidence>,
    pub(super) assumptions: Vec<String>,
}

/// What a program has, of all that needs a cost of its own.
#[derive(Default)]
pub(super) struct Has {
    vector: bool,
    pub(super) load: bool,
    pub(super) store: bool,
    add: bool,
    hard: bool,
    soft: bool,
    pub(super) scalar_memory: bool,
    /// Reads that without data find one of several values.
    guesses: bool,
}

impl Has {
    fn of(program: &Program) -> Self {
        let mut has = Self::default();
        visit(&program.source().body, &mut |_, node| {
            let Node::Do(statement) = node else { return };
            match &statement.instruction {
                Instruction::Load(_) => has.load = true,
                Instruction::Store(store) => {
                    has.store = true;
                    has.add |= store.add.is_some();
                }
                Instruction::Move(_) | Instruction::Vector(_) | Instruction::Transpose(_) => has.vector = true,
                Instruction::SyncAll(SyncAll::Hard) => has.hard = true,
                Instruction::SyncAll(SyncAll::Soft { .. }) => has.soft = true,
                Instruction::Read(Read { assume, .. }) => {
                    has.scalar_memory = true;
                    has.guesses |= assume.as_ref().is_some_and(|assume| !assume.is_constant());
                }
                Instruction::Write(Write { .. }) => has.scalar_memory = true,
                _ => {}
            }
        });
        has
    }
}

impl Costs {
    /// What a program needs to know of a product.
    ///
    /// # Errors
    /// The product does not say.
    pub(super) fn new(program: &Program, soc: &Soc, change: Option<Change>) -> Result<Self, Unknown> {
        let has = Has::of(program);
        let off = |what: Change| change == Some(what);
        let mut asker = Asker::default();
        let mhz = asker.ask(&soc.clock.core_mhz)?.get();
        let per_cycle = |gbps: Rate| gbps.get() * 1000.0 / f64::from(mhz);
        let ns = |ns: f64| nanoseconds(ns, mhz);

        let vector = &soc.vector;
        let of_vector = |fact: &Fact<f64>| if has.vector { asker.or(fact, 0.0) } else { 0.0 };
        let [counter_mode, issue, dependent, barrier] =
            [&vector.counter_mode_cycles, &vector.issue_cycles, &vector.dependent_cycles, &vector.barrier_cycles]
                .map(of_vector);
        let banks = if has.vector && !off(Change::NoConflicts) { banks_of(soc, &mut asker) } else { None };
        let mut vectors = Vectors::new(program, soc, cycles(counter_mode), banks)?;
        asker.evidence.extend(vectors.evidence(soc));
        if off(Change::NoOverhead) {
            vectors.without_overhead();
        }

        let copies = CopyCosts::of(soc, mhz, program.source().cores, &has, change, &mut asker)?;
        let scalar = &soc.scalar;
        let memory = &soc.memory;
        let bandwidth = per_cycle(asker.ask(&memory.hbm_gbps)?) * if off(Change::Memory) { 2.0 } else { 1.0 };
        let l2 = per_cycle(asker.ask(&memory.l2_gbps)?) * if off(Change::L2) { 2.0 } else { 1.0 };
        let (mut factor, mut granule_bytes, mut granule) = (1.0, 512, 0.0);
        if has.add {
            granule_bytes = asker.ask(&soc.atomics.granule_bytes)?.0;
            factor = asker.ask(&soc.atomics.l2_bytes_factor)?.get();
            granule = asker.ask(&soc.atomics.same_granule_cycles)?;
        }
        let mut sync =
            |wanted: bool, fact: &Fact<f64>| if wanted { asker.ask(fact).map(|us| ns(us * 1000.0)) } else { Ok(0) };
        let (sync_hard, sync_soft) =
            (sync(has.hard, &soc.sync.sync_all_hard_us)?, sync(has.soft, &soc.sync.sync_all_soft_us)?);
        let cache_line_bytes = asker.or(&scalar.dcache_line_bytes, Bytes(64)).0;
        if has.guesses {
            asker.assume(
                "what the scalar unit reads is what the program states; where that is several numbers, any of them, each as often".into(),
            );
        }
        let flag = cycles(asker.or(&soc.sync.flag_cycles, 1.0));
        let unless = |free: Change, ticks: Tick| unless(change, free, ticks);
        Ok(Self {
            mhz,
            queue_depth: asker.ask(&soc.sync.queue_depth)?.get() as usize,
            vectors,
            vector_issue: unless(Change::NoScalar, cycles(issue)),
            dependent: unless(Change::NoOverhead, cycles(dependent)),
            vector_barrier: unless(Change::NoOverhead, cycles(barrier)),
            flag,
            flag_issue: unless(Change::NoScalar, flag),
            descriptor: unless(Change::NoScalar, cycles(asker.ask(&scalar.descriptor_cycles)?)),
            loop_iteration: unless(Change::NoScalar, cycles(asker.ask(&scalar.loop_cycles)?)),
            instruction: unless(Change::NoScalar, cycles(asker.or(&scalar.instruction_cycles, 1.0))),
            ub_access: unless(Change::NoScalar, cycles(asker.ask(&scalar.ub_access_cycles)?)),
            cache_line_bytes,
            cache_lines: asker.or(&scalar.dcache_bytes, Bytes(16 << 10)).0 / cache_line_bytes,
            copies,
            request_bytes: asker.or(&memory.request_bytes, Bytes(512)).0,
            line_bytes: asker.or(&memory.l2_line_bytes, Bytes(512)).0,
            l2_bytes: asker.ask(&memory.l2_bytes)?.0,
            l2: PerByte::of(l2),
            memory: bandwidth,
            atomic_factor: factor,
            granule_bytes,
            same_granule: unless(Change::NoCollisions, cycles(granule)),
            bypass: off(Change::Bypass),
            sync_hard: unless(Change::NoSync, sync_hard),
            sync_soft: unless(Change::NoSync, sync_soft),
            outside: ns(asker.ask(&soc.launch.outside_core_us)? * 1000.0),
            core_start: ns(asker.ask(&soc.launch.core_start_us)? * 1000.0),
            stagger: unless(Change::NoStagger, ns(asker.ask(&soc.launch.stagger_us)? * 1000.0)),
            evidence: asker.evidence,
            assumptions: asker.assumptions,
        })
    }

    /// Microseconds of so many ticks.
    pub(super) fn us(&self, ticks: Tick) -> f64 {
        ticks as f64 / super::tick::CYCLE as f64 / f64::from(self.mhz)
    }
}

/// `ticks`, or none where what would be different is that they are `free`.
pub(super) fn unless(change: Option<Change>, free: Change, ticks: Tick) -> Tick {
    if change == Some(free) { 0 } else { ticks }
}

/// The banks of the UB; nothing collides where too little is known of them, which is said.
fn banks_of(soc: &Soc, asker: &mut Asker) -> Option<Banks> {
    let banks = Banks::of(soc, asker);
    banks.map_err(|unknown| asker.assume(format!("no bank conflicts: {unknown}"))).ok()
}
