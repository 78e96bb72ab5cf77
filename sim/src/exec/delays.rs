//! Runs in which some steps wait although they could go on.
//!
//! Whatever a program leaves open about the order of two steps, one delay turns it round: the step that comes first in program order
//! waits until nothing else can go on.

use std::collections::HashSet;

use crate::program::{NodeId, Pipe};

use super::halt::Halt;
use super::run::{Progress, Run};

/// A step that waits until no other one can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Delay {
    /// The core.
    pub core: u32,
    /// The pipe whose step it is.
    pub pipe: Pipe,
    /// The step: so many of the pipe come before it. Those of the scalar unit are all that it hands out, too.
    pub step: u64,
}

/// What a run has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps {
    /// Of each core, how many steps each pipe took, in the order of [`Pipe::ALL`].
    pub taken: Vec<[u64; 4]>,
    /// The instructions of the delayed steps, in their order; `None` for one that the run has not come to, and of the scalar unit.
    pub delayed: Vec<Option<NodeId>>,
}

impl Steps {
    /// Whether the run came to a step.
    #[must_use]
    pub fn reached(&self, Delay { core, pipe, step }: &Delay) -> bool {
        self.taken.get(*core as usize).is_some_and(|taken| taken[*pipe as usize] > *step)
    }
}

impl Run<'_> {
    /// Runs to the end, core by core in program order as far as flags, other cores and delays allow. Where only delayed steps could go
    /// on, the first one of the list does.
    ///
    /// # Errors
    /// An instruction cannot be carried out, or all wait.
    pub fn finish_with(&mut self, delays: &[Delay]) -> Result<Steps, Halt> {
        let cores = self.cores();
        let mut steps = Steps { taken: vec![[0; 4]; cores as usize], delayed: vec![None; delays.len()] };
        let mut waiting: HashSet<Delay> = delays.iter().copied().collect();
        while !self.ended() {
            let mut moved = false;
            for core in 0..cores {
                moved |= self.run_core_with(core, &waiting, &mut steps.taken)?;
            }
            if moved {
                continue;
            }
            let next = |delay: &&Delay| {
                let Delay { core, pipe, step } = **delay;
                let taken = steps.taken.get(core as usize).map(|taken| taken[pipe as usize]);
                waiting.contains(*delay) && taken == Some(step) && self.ready(core, pipe)
            };
            let Some(at) = delays.iter().position(|delay| next(&delay)) else {
                return Err(Halt::Deadlock(self.waiting()));
            };
            let delay = delays[at];
            waiting.remove(&delay);
            steps.delayed[at] = self.front(delay.core, delay.pipe).map(|step| step.node);
        }
        Ok(steps)
    }

    /// As far as a core goes; whether it went anywhere.
    fn run_core_with(&mut self, core: u32, waiting: &HashSet<Delay>, taken: &mut [[u64; 4]]) -> Result<bool, Halt> {
        let mut moved = false;
        loop {
            let mut now = false;
            // What is queued comes before what is not yet handed out.
            for pipe in [Pipe::Mte2, Pipe::V, Pipe::Mte3, Pipe::S] {
                let one = pipe == Pipe::S;
                while !(one && now)
                    && self.ready(core, pipe)
                    && !waiting.contains(&Delay { core, pipe, step: taken[core as usize][pipe as usize] })
                {
                    match self.advance(core, pipe)? {
                        // What the scalar unit has come to and cannot pass yet is still its next step.
                        Progress::Held => {}
                        Progress::Synced => taken.iter_mut().for_each(|taken| taken[pipe as usize] += 1),
                        _ => taken[core as usize][pipe as usize] += 1,
                    }
                    now = true;
                }
            }
            if !now {
                return Ok(moved);
            }
            moved = true;
        }
    }
}
