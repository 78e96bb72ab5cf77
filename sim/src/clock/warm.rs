//! What a program leaves in L2, for a run that is timed after another one.
//!
//! That depends on the order of the accesses alone. Which core is ahead of which changes from run to run; so they take turns, an access
//! each, and what only takes time is passed over.

use crate::program::{Action, Instruction, Next, PlaceAt, Program, Transfer, Walker};

use super::costs::Costs;
use super::machine::Options;
use super::memory::Memory;
use super::scalar::{Cache, Luck};
use super::skip::Skips;

/// A core that runs ahead of the one that is timed.
struct Ahead<'p> {
    walker: Walker<'p>,
    luck: Luck,
    cache: Cache,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Runs,
    /// At a barrier of all cores.
    Waits,
    Ended,
}

/// Runs a program without a clock. Where it cannot go on, neither can the run that is timed, which says why.
pub(super) fn warm(program: &Program, costs: &Costs, options: &Options, memory: &mut Memory) {
    let skips = Skips::of(program);
    let mut cores: Vec<Ahead<'_>> = (0..program.source().cores)
        .map(|core| Ahead {
            walker: Walker::new(program, core),
            luck: Luck::of(options.seed, core),
            cache: Cache::default(),
            state: State::Runs,
        })
        .collect();
    loop {
        for core in cores.iter_mut().filter(|core| core.state == State::Runs) {
            core.take_turn(&skips, costs, memory);
        }
        if cores.iter().all(|core| core.state != State::Runs) {
            let mut waiting = cores.iter_mut().filter(|core| core.state == State::Waits).peekable();
            if waiting.peek().is_none() {
                return;
            }
            waiting.for_each(|core| core.state = State::Runs);
        }
    }
}

impl Ahead<'_> {
    /// Goes on to its next access of L2, or as far as it can.
    fn take_turn(&mut self, skips: &Skips, costs: &Costs, memory: &mut Memory) {
        loop {
            let instruction = match self.walker.fetch() {
                Some(Next::Instruction(_, instruction)) => instruction,
                Some(Next::Iterate(node)) => {
                    if skips.is_regular(node) {
                        self.walker.skip(u64::MAX);
                    }
                    continue;
                }
                Some(Next::Branch(_)) => continue,
                None => {
                    self.state = State::Ended;
                    return;
                }
            };
            match instruction {
                Instruction::Let(into, value) => self.walker.set(*into, value),
                Instruction::SyncAll(_) => {
                    self.state = State::Waits;
                    return;
                }
                Instruction::Load(_) | Instruction::Store(_) | Instruction::Read(_) | Instruction::Write(_) => {
                    match self.access(instruction, costs, memory) {
                        Some(false) => {}
                        Some(true) => return,
                        None => {
                            self.state = State::Ended;
                            return;
                        }
                    }
                }
                Instruction::Vector(_)
                | Instruction::Move(_)
                | Instruction::Transpose(_)
                | Instruction::SetFlag(_)
                | Instruction::WaitFlag(_)
                | Instruction::Barrier(_) => {}
            }
        }
    }

    /// Whether an instruction gets to L2; `None` where it cannot be carried out.
    fn access(&mut self, instruction: &Instruction, costs: &Costs, memory: &mut Memory) -> Option<bool> {
        let action = self.walker.evaluate(instruction).ok()?;
        self.walker.program().check_action(&action).ok()?;
        let (at, write) = match action {
            Action::Transfer(transfer) => {
                let bypass = transfer.bypass || transfer.load && costs.bypass;
                memory.touch(&Transfer { bypass, ..transfer });
                return Some(true);
            }
            Action::Read(read) => {
                let bits = self.luck.assumed(&read)?;
                self.walker.assign(&read, bits);
                (read.from, false)
            }
            Action::Write(write) => (write.to, true),
            _ => return Some(false),
        };
        let PlaceAt::Global(at) = at else { return Some(false) };
        let Some(line) = self.cache.miss(at, costs) else { return Some(false) };
        memory.cache_line(at.tensor.0.into(), line, costs.cache_line_bytes, write);
        Some(true)
    }
}
