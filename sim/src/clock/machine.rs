//! All cores together, in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::program::{Instruction, Load, Node, Program, Store, visit};

use super::core::{Core, Halt, Shared, State, Stop};
use super::costs::Costs;
use super::memory::{Memory, Traffic};
use super::observe::{Event, Recorder};
use super::skip::Skips;
use super::tick::Tick;
use super::warm;

/// What L2 has when a program starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// What the same program left there, as when it is timed after a warm-up.
    #[default]
    Warm,
    /// Nothing.
    Cold,
}

impl Start {
    /// Both with their names.
    pub const ALL: [(Self, &'static str); 2] = [(Self::Warm, "warm"), (Self::Cold, "cold")];
}

/// How a program is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Decides the jitter, and what reads without data find.
    pub seed: u64,
    /// What L2 has at the start.
    pub start: Start,
    /// Whether to walk through every iteration, for a check of what is left out otherwise.
    pub walk_all: bool,
}

/// What happened.
#[derive(Debug)]
pub(super) struct Ran<'p> {
    pub(super) cores: Vec<Core<'p>>,
    pub(super) traffic: Traffic,
    /// When main memory was last busy.
    pub(super) idle: Tick,
}

/// Why nothing happened.
#[derive(Debug)]
pub(super) enum Failed {
    Halt(Halt),
    TooLarge,
}

/// Runs a program, and lets somebody see the instructions of the run that counts.
pub(super) fn run<'p>(
    program: &'p Program,
    costs: &mut Costs,
    options: &Options,
    see: Option<&mut dyn FnMut(&Event<'_>)>,
) -> Result<Ran<'p>, Failed> {
    let (mut adds, mut bypasses) = (false, costs.bypass);
    visit(&program.source().body, &mut |_, node| {
        let Node::Do(statement) = node else { return };
        match &statement.instruction {
            Instruction::Store(Store { add, bypass, .. }) => {
                adds |= add.is_some();
                bypasses |= bypass;
            }
            Instruction::Load(Load { bypass, .. }) => bypasses |= bypass,
            _ => {}
        }
    });
    let footprint = Memory::footprint(program, costs);
    let warm = options.start == Start::Warm;
    // Where everything fits and nothing stays out, a first run leaves everything that the second one asks for.
    let resident = warm && !bypasses && footprint <= costs.l2_bytes;
    let mut memory = Memory::new(program, costs, resident, adds).ok_or(Failed::TooLarge)?;
    if warm && !resident {
        warm::warm(program, costs, options, &mut memory);
        memory.restart();
    }
    let cores = once(program, costs, options, &mut memory, see).map_err(|halt| Failed::Halt(*halt))?;
    Ok(Ran { cores, traffic: memory.traffic, idle: memory.idle() })
}

fn once<'p>(
    program: &'p Program,
    costs: &mut Costs,
    options: &Options,
    memory: &mut Memory,
    see: Option<&mut dyn FnMut(&Event<'_>)>,
) -> Result<Vec<Core<'p>>, Stop> {
    let skips = if options.walk_all { Skips::default() } else { Skips::of(program) };
    // The coercion gives it the lifetime of the others.
    let see = see.map(|see| see as &mut dyn FnMut(&Event<'_>));
    let recorder = Recorder::new(program.source().cores, see);
    let mut shared = Shared { costs, memory, ready: Vec::new(), recorder };
    let mut queue = BinaryHeap::new();
    let mut cores = Vec::new();
    for id in 0..program.source().cores {
        let start = shared.costs.core_start + shared.costs.stagger * u64::from(id);
        let mut core = Core::new(program, id, start, options.seed, shared.costs, skips.clone());
        core.run(&mut shared)?;
        cores.push(core);
    }
    loop {
        for ready in shared.ready.drain(..) {
            queue.push(Reverse(ready));
        }
        let begin = queue.peek().map(|Reverse((at, ..))| *at);
        let end = shared.memory.next();
        match (begin, end) {
            (None, None) => {
                if !sync(&mut cores, &mut shared)? {
                    break;
                }
            }
            // An end makes room for what begins at the same time.
            (begin, Some(end)) if begin.is_none_or(|begin| end <= begin) => {
                if let Some(ended) = shared.memory.end() {
                    cores[ended.core as usize].through(ended.load, ended.at, &mut shared)?;
                }
            }
            (_, _) => {
                if let Some(Reverse((_, core, pipe))) = queue.pop() {
                    cores[core as usize].begin(pipe, &mut shared)?;
                }
            }
        }
    }
    let waits = |core: &&Core<'_>| core.state == State::Runs;
    let syncs = |core: &Core<'_>| matches!(core.state, State::Syncs { .. });
    let ends = |core: &&Core<'_>| matches!(core.state, State::Ends(_));
    match cores.iter().find(waits) {
        Some(core) => Err(core.stuck()),
        None if cores.iter().any(syncs) => Err(cores.iter().find(ends).map_or_else(|| cores[0].stuck(), Core::stuck)),
        None => Ok(cores),
    }
}

/// Lets all cores go on that wait for each other; whether they did.
fn sync(cores: &mut [Core<'_>], shared: &mut Shared<'_>) -> Result<bool, Stop> {
    let mut last = 0;
    let mut soft = false;
    for core in &*cores {
        let State::Syncs { at, soft: by_software } = core.state else { return Ok(false) };
        last = last.max(at);
        soft |= by_software;
    }
    let go_on = last + if soft { shared.costs.sync_soft } else { shared.costs.sync_hard };
    for core in cores {
        core.synced(go_on, shared)?;
    }
    Ok(true)
}
