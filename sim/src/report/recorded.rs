//! What a page shows of a run: pipes over time, cores, and what each instruction of the program took.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::clock::{Event, Profile, Timing};
use crate::product::{Soc, VectorOp};
use crate::program::{Action, Pipe};

use super::executed::mnemonic;
use super::{Executed, Gathered, Lanes};

/// What a repeat of a vector instruction is.
const REPEAT_BYTES: u32 = 256;
/// Blocks of a lane. More are drawn together, so that a page of any run stays small.
const MOST: usize = 1500;
/// Instructions that are listed.
const LISTED: usize = 12;
/// The share of the time below which an instruction is not.
const LEAST: f64 = 0.005;
/// Pipes in the order of the page.
const PIPES: [Pipe; 4] = [Pipe::S, Pipe::Mte2, Pipe::V, Pipe::Mte3];

/// One instruction, or several that are drawn together. Times are in 1/1024 cycle.
#[derive(Clone, Copy, Debug)]
struct Block {
    start: u64,
    end: u64,
    /// In which something was done, and in which a flag was waited for.
    busy: u64,
    waited: u64,
    count: u64,
    /// The instruction, where it is one.
    node: u32,
}

/// A pipe of a core.
#[derive(Debug, Default)]
struct Lane {
    blocks: Vec<Block>,
    /// Blocks that together are no longer than this are one.
    grain: u64,
}

/// A node of the program, on all cores.
#[derive(Clone, Copy, Debug, Default)]
struct Node {
    calls: u64,
    ticks: u64,
    conflicts: u64,
    waited: u64,
}

/// Arithmetic of a run, for its roofline.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Lanes of arithmetic on floats, two of 16 bits as one of 32: a repeat does as many bytes of either.
    pub float_lanes: u64,
    /// Lanes of f32 that a core adds in a cycle at most, where the product says so.
    pub lanes_per_cycle: Option<f64>,
}

impl Work {
    /// Of all cores, on a product.
    #[must_use]
    pub fn of(gathered: &Gathered, soc: &Soc) -> Self {
        let cycles = soc.vector.cost(VectorOp::Add).ok().and_then(|cost| cost.cycles_32).filter(|cycles| *cycles > 0.0);
        let float_lanes = gathered.cores.iter().map(|core| core.float_bytes).sum::<u64>() / 4;
        Self { float_lanes, lanes_per_cycle: cycles.map(|cycles| f64::from(REPEAT_BYTES / 4) / cycles) }
    }

    fn value(&self, profile: &Profile) -> Value {
        let Timing { gm_read_bytes, gm_write_bytes, cores_used, cycles, .. } = profile.timing;
        let (bytes, mhz) = (gm_read_bytes + gm_write_bytes, f64::from(profile.mhz));
        let ratio = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
        let lanes = self.float_lanes as f64;
        json!({"float_lanes": self.float_lanes, "per_byte": ratio(lanes, bytes as f64),
               "g_per_s": ratio(lanes * mhz / 1e3, cycles as f64),
               "peak_g_per_s": self.lanes_per_cycle.map(|lanes| lanes * mhz / 1e3 * f64::from(cores_used))})
    }
}

/// Watches a run for its page.
#[derive(Debug)]
pub struct Recorder {
    cores: Vec<(u32, [Lane; 4])>,
    nodes: Vec<Node>,
}

impl Recorder {
    /// Watches the pipes of some cores; of instructions and bytes, those of all.
    #[must_use]
    pub fn new(cores: &[u32]) -> Self {
        let lanes = cores.iter().map(|core| (*core, Default::default())).collect();
        Self { cores: lanes, nodes: Vec::new() }
    }

    /// Adds an instruction.
    pub fn add(&mut self, event: &Event<'_>) {
        let time = event.end - event.start;
        let id = event.step.node.0 as usize;
        if self.nodes.len() <= id {
            self.nodes.resize(id + 1, Node::default());
        }
        let waits = matches!(event.step.action, Action::WaitFlag(_) | Action::Barrier(_) | Action::SyncAll(_));
        let node = &mut self.nodes[id];
        node.calls += 1;
        node.conflicts += event.conflicts;
        if waits {
            node.waited += time;
        } else {
            node.ticks += time;
        }
        if time == 0 {
            return;
        }
        let Some((_, lanes)) = self.cores.iter_mut().find(|(core, _)| *core == event.core) else { return };
        let Some(lane) = PIPES.iter().position(|pipe| *pipe == event.step.action.pipe()) else { return };
        let (busy, waited) = if waits { (0, time) } else { (time, 0) };
        let (start, end, node) = (event.start, event.end, event.step.node.0);
        lanes[lane].add(Block { start, end, busy, waited, count: 1, node });
    }

    /// What a page reads.
    #[must_use]
    pub fn finish(&self, executed: &Executed, lanes: Lanes, profile: &Profile, work: &Work) -> Recorded {
        let mut named = BTreeSet::new();
        let timelines: Vec<_> =
            self.cores.iter().map(|(core, of)| timeline(*core, of, lanes, profile, &mut named)).collect();
        let cores = profile.cores.iter().map(|core| {
            let us = |ticks: u64| profile.us(ticks);
            let [vector, scalar, mte2, mte3] = [core.vector, core.scalar, core.mte2, core.mte3].map(|p| us(p.busy));
            json!({"core": core.core, "name": lanes.core(core.core), "us": us(core.ticks),
                   "vector_us": vector, "scalar_us": scalar, "mte2_us": mte2, "mte3_us": mte3})
        });
        let cores: Vec<_> = cores.collect();
        let instructions = self.instructions(executed, profile);
        let names: serde_json::Map<_, _> = executed
            .lines()
            .enumerate()
            .filter(|(i, _)| named.contains(&(*i as u32)))
            .map(|(i, (text, place))| (i.to_string(), json!([mnemonic(text), text, place])))
            .collect();
        Recorded(json!({"mhz": profile.mhz, "timelines": timelines, "names": names, "cores": cores,
                        "work": work.value(profile), "instructions": instructions}))
    }

    /// Those that took most time of all cores, and those with most conflicts.
    fn instructions(&self, executed: &Executed, profile: &Profile) -> Vec<Value> {
        let mut by_time: Vec<usize> = (0..self.nodes.len()).collect();
        by_time.sort_by_key(|i| std::cmp::Reverse(self.nodes[*i].ticks));
        by_time.truncate(LISTED);
        let lines: Vec<_> = executed.lines().collect();
        let all: u64 = self.nodes.iter().map(|node| node.ticks).sum();
        let row = |i: usize| {
            let (Node { calls, ticks, conflicts, .. }, (text, place)) = (self.nodes[i], lines.get(i)?);
            let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
            (share(ticks, all) >= LEAST).then(|| {
                json!({"text": text, "place": place, "pipe": executed.pipe(i), "calls": calls, "us": profile.us(ticks),
                       "share": share(ticks, all), "conflicts": share(conflicts, ticks)})
            })
        };
        by_time.into_iter().filter_map(row).collect()
    }
}

/// The lanes of a core: each block as what lies before it, its length, and its instruction; or its busy and its waiting time and how many
/// it is, where it is several. Times are tenths of a nanosecond.
fn timeline(core: u32, of: &[Lane; 4], lanes: Lanes, profile: &Profile, named: &mut BTreeSet<u32>) -> Value {
    let at = |ticks: u64| (profile.us(ticks) * 1e4).round() as u64;
    let mut pipes = serde_json::Map::new();
    for (pipe, lane) in PIPES.iter().zip(of) {
        let mut last = 0;
        let mut blocks = Vec::new();
        for block in &lane.blocks {
            let (start, end) = (at(block.start), at(block.end));
            let (gap, length) = (start - last.min(start), end - start);
            last = end;
            blocks.push(if block.count == 1 {
                named.insert(block.node);
                // A wait for a flag as the complement of its instruction.
                let node = i64::from(block.node);
                json!([gap, length, if block.waited > 0 { !node } else { node }])
            } else {
                json!([gap, length, at(block.busy), at(block.waited), block.count])
            });
        }
        pipes.insert(Lanes::pipe(*pipe).to_lowercase(), Value::Array(blocks));
    }
    let blocks = of.iter().flat_map(|lane| &lane.blocks);
    let from = at(blocks.clone().map(|block| block.start).min().unwrap_or(0));
    let until = at(blocks.map(|block| block.end).max().unwrap_or(0));
    json!({"core": core, "name": lanes.core(core), "from": from, "until": until, "lanes": pipes})
}

impl Lane {
    fn add(&mut self, block: Block) {
        if let Some(last) = self.blocks.last_mut()
            && block.end - last.start <= self.grain
        {
            last.merge(&block);
            return;
        }
        if self.blocks.len() >= MOST {
            self.coarsen(block.end);
        }
        self.blocks.push(block);
    }

    /// Draws neighbours together until half of the room is free.
    fn coarsen(&mut self, end: u64) {
        while self.blocks.len() > MOST / 2 {
            self.grain = (2 * self.grain).max(end / MOST as u64).max(1);
            let mut merged: Vec<Block> = Vec::with_capacity(MOST);
            for block in self.blocks.drain(..) {
                match merged.last_mut() {
                    Some(last) if block.end - last.start <= self.grain => last.merge(&block),
                    _ => merged.push(block),
                }
            }
            self.blocks = merged;
        }
    }
}

impl Block {
    fn merge(&mut self, next: &Self) {
        self.end = next.end;
        self.busy += next.busy;
        self.waited += next.waited;
        self.count += next.count;
    }
}

/// What a page shows of a run beside its report; by default nothing, where there was no run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded(pub(super) Value);

/// Cores whose pipes a page shows: the slowest one, and of those that did as much as each other the first ones; three at most.
#[must_use]
pub fn shown_cores(profile: &Profile) -> Vec<u32> {
    let slowest = profile.cores.iter().max_by_key(|core| core.ticks).map(|core| core.core);
    let mut shown: Vec<u32> = slowest.into_iter().collect();
    for core in profile.classes() {
        if !shown.contains(&core) {
            shown.push(core);
        }
    }
    shown.truncate(3);
    shown
}
