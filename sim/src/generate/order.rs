//! The flags and barriers that a row of instructions needs, so that nothing of it is a race.
//!
//! Kept with the rules of the sanitizer in mind, but by objects and not by bytes: who touches a slot of a buffer or a tensor waits for
//! all who touched it before, unless both read.

use std::collections::HashMap;

use crate::program::{BufferId, Pipe, TensorId};

/// What two instructions may both touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Object {
    /// A slot of a buffer.
    Local(BufferId, u16),
    Global(TensorId),
}

/// How an instruction touches an object.
pub(super) type Use = (Object, bool);

/// Reads it.
pub(super) const fn reads(object: Object) -> Use {
    (object, false)
}

/// Changes it.
pub(super) const fn writes(object: Object) -> Use {
    (object, true)
}

/// What has to stand before an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// A flag between two pipes, set and waited for.
    Flag(Pipe, Pipe, u8),
    /// A barrier; of all pipes where none is named.
    Barrier(Option<Pipe>),
}

/// Steps of each pipe, counted from 1.
type Clock = [u32; 4];

#[derive(Clone, Copy, Debug, Default)]
struct Touched {
    /// The last step of each pipe that changed it, and that read it.
    write: Clock,
    read: Clock,
}

/// What is known to be done before what.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    count: Clock,
    /// What each pipe's next step comes after.
    clocks: [Clock; 4],
    touched: HashMap<Object, Touched>,
    /// The step that waited last for a flag.
    waited: HashMap<(Pipe, Pipe, u8), u32>,
    /// Flags between two pipes that may be used.
    flags: u8,
}

fn join(clock: &mut Clock, other: Clock) {
    for (mine, other) in clock.iter_mut().zip(other) {
        *mine = (*mine).max(other);
    }
}

impl Order {
    pub(super) fn new(flags: u8) -> Self {
        Self { flags, ..Self::default() }
    }

    /// What must stand before a step of a pipe; `None` once nothing more. Each is noted as if it stood there.
    pub(super) fn need(&mut self, pipe: Pipe, uses: &[Use]) -> Option<Need> {
        self.issue(pipe);
        let other = |(object, write): &Use| {
            let touched = self.touched.get(object).copied().unwrap_or_default();
            let mut before = touched.write;
            if *write {
                join(&mut before, touched.read);
            }
            let late = |(known, _): &(Pipe, _)| before[*known as usize] > self.clocks[pipe as usize][*known as usize];
            Pipe::ALL.into_iter().find(late).map(|(known, _)| known)
        };
        let before = uses.iter().find_map(other)?;
        Some(if before == pipe { self.barrier(Some(pipe)) } else { self.flag(before, pipe) })
    }

    /// Notes a step.
    pub(super) fn step(&mut self, pipe: Pipe, uses: &[Use]) {
        let step = self.advance(pipe);
        for (object, write) in uses {
            let touched = self.touched.entry(*object).or_default();
            let clock = if *write { &mut touched.write } else { &mut touched.read };
            clock[pipe as usize] = step;
        }
    }

    /// Notes a barrier.
    pub(super) fn barrier(&mut self, pipe: Option<Pipe>) -> Need {
        match pipe {
            Some(pipe) => {
                let step = self.advance(pipe);
                self.clocks[pipe as usize][pipe as usize] = step;
            }
            None => {
                self.advance(Pipe::S);
                self.clocks[Pipe::S as usize] = self.count;
            }
        }
        Need::Barrier(pipe)
    }

    /// A flag that nobody can still be about to wait for; a barrier of all pipes where there is none.
    pub(super) fn flag(&mut self, from: Pipe, to: Pipe) -> Need {
        self.issue(from);
        let known = self.clocks[from as usize][to as usize];
        let free = |id: &u8| self.waited.get(&(from, to, *id)).is_none_or(|waited| *waited <= known);
        let Some(id) = (0..self.flags).find(free) else { return self.barrier(None) };
        let set = self.advance(from);
        let mut clock = self.clocks[from as usize];
        clock[from as usize] = set;
        let waited = self.advance(to);
        join(&mut self.clocks[to as usize], clock);
        self.waited.insert((from, to, id), waited);
        Need::Flag(from, to, id)
    }

    /// What the scalar unit has done comes before all that it hands out.
    fn issue(&mut self, pipe: Pipe) {
        let scalar = self.clocks[Pipe::S as usize];
        join(&mut self.clocks[pipe as usize], scalar);
    }

    fn advance(&mut self, pipe: Pipe) -> u32 {
        self.issue(pipe);
        let count = &mut self.count[pipe as usize];
        *count += 1;
        if pipe == Pipe::S {
            self.clocks[0][0] = *count;
        }
        *count
    }
}

impl Order {
    /// The flag that [`Order::join_pipes`] alone uses.
    pub(super) const fn joint(&self) -> u8 {
        self.flags
    }

    /// Orders all that loads, vector instructions and stores have done before all that they will do, without the scalar unit. These
    /// stand at the end of an iteration, and so must be right the second time as well: their flags are used for nothing else.
    pub(super) fn join_pipes(&mut self) -> Vec<Need> {
        let (id, copies) = (self.joint(), [Pipe::Mte2, Pipe::Mte3]);
        let mut needs: Vec<_> = copies.iter().map(|pipe| Need::Flag(*pipe, Pipe::V, id)).collect();
        needs.push(Need::Barrier(Some(Pipe::V)));
        needs.extend(copies.iter().map(|pipe| Need::Flag(Pipe::V, *pipe, id)));
        for need in &needs {
            match need {
                Need::Flag(from, to, _) => {
                    let set = self.advance(*from);
                    let mut clock = self.clocks[*from as usize];
                    clock[*from as usize] = set;
                    self.advance(*to);
                    join(&mut self.clocks[*to as usize], clock);
                }
                Need::Barrier(pipe) => {
                    self.barrier(*pipe);
                }
            }
        }
        needs
    }
}
