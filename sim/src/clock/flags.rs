//! The flags of a core.

use std::collections::VecDeque;

use crate::program::{FlagAt, NodeId, Pipe};

use super::tick::Tick;

/// Flags from one pipe to another that a core can tell apart.
const FLAGS: usize = 16;
const PIPES: usize = 4;
const V: usize = index(Pipe::V);
const S: usize = index(Pipe::S);

/// A pipe's place in tables.
pub(super) const fn index(pipe: Pipe) -> usize {
    match pipe {
        Pipe::V => 0,
        Pipe::Mte2 => 1,
        Pipe::Mte3 => 2,
        Pipe::S => 3,
    }
}

const fn place(flag: FlagAt) -> usize {
    (index(flag.from) * PIPES + index(flag.to)) * FLAGS + flag.id as usize % FLAGS
}

/// Whether a flag is between the scalar unit and the vector pipe, whose business is nobody else's.
const fn is_inside(place: usize) -> bool {
    let (from, to) = (place / FLAGS / PIPES, place / FLAGS % PIPES);
    matches!((from, to), (V, S) | (S, V))
}

/// When a pipe comes to a flag. Of a set and a wait in the same tick that nothing else orders, the one that was handed out first is first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment {
    pub(super) at: Tick,
    /// Steps of the core up to this one.
    pub(super) step: u64,
}

/// All flags of a core, by source, target and number. They are binary; but pipes are not looked at in the order of time, so a wait may
/// be seen after the set that follows it.
#[derive(Clone, Debug)]
pub(super) struct Flags(Vec<Setting>);

/// A flag.
#[derive(Clone, Debug, Default)]
struct Setting {
    /// When it was set.
    at: Option<Tick>,
    /// When it was set again, while a wait before that had yet to be seen, and by what.
    again: VecDeque<(Moment, NodeId)>,
    /// When a wait took it last.
    taken: Tick,
}

impl Default for Flags {
    fn default() -> Self {
        Self(vec![Setting::default(); PIPES * PIPES * FLAGS])
    }
}

impl Flags {
    /// When a flag was set, if it is.
    #[inline]
    pub(super) fn at(&self, flag: FlagAt) -> Option<Tick> {
        self.0[place(flag)].at
    }

    /// Sets a flag; whether the last wait that was seen had taken it by then.
    #[inline]
    pub(super) fn set(&mut self, flag: FlagAt, now: Moment, node: NodeId) -> bool {
        let setting = &mut self.0[place(flag)];
        match setting.at {
            None => setting.at = Some(now.at),
            Some(_) => setting.again.push_back((now, node)),
        }
        setting.taken <= now.at
    }

    /// A wait at `now` takes a flag.
    ///
    /// # Errors
    /// It had been set again before that, by the instruction that is returned.
    #[inline]
    pub(super) fn clear(&mut self, flag: FlagAt, now: Moment) -> Result<(), NodeId> {
        let setting = &mut self.0[place(flag)];
        setting.at = None;
        setting.taken = now.at;
        match setting.again.pop_front() {
            Some((again, node)) if again < now => Err(node),
            Some((again, _)) => {
                setting.at = Some(again.at);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// At the end: a flag that was set again without a wait, and by what.
    pub(super) fn set_again(&self) -> Option<(FlagAt, NodeId)> {
        let pipe = |at: usize| [Pipe::V, Pipe::Mte2, Pipe::Mte3, Pipe::S][at % PIPES];
        self.0.iter().enumerate().find_map(|(at, setting)| {
            let (_, node) = setting.again.front()?;
            let (from, to) = (pipe(at / FLAGS / PIPES), pipe(at / FLAGS));
            // Numbers are below 16.
            Some((FlagAt { from, to, id: (at % FLAGS) as u8 }, *node))
        })
    }

    /// Lets so much time pass for the scalar unit and the vector pipe.
    pub(super) fn shift(&mut self, by: Tick) {
        let inside = self.0.iter_mut().enumerate().filter(|(at, _)| is_inside(*at));
        for (_, Setting { at, again, taken }) in inside {
            let again = again.iter_mut().map(|(again, _)| &mut again.at);
            at.iter_mut().chain(again).chain([taken]).for_each(|at| *at += by);
        }
    }

    /// The flags between these two that are set or have been taken, as seen from `now`: what is past does not matter.
    pub(super) fn relative(&self, now: Tick, into: &mut Vec<u64>) {
        let past = |at: Tick| at.saturating_sub(now);
        let matters =
            |(place, setting): &(usize, &Setting)| is_inside(*place) && (setting.at.is_some() || setting.taken > now);
        for (place, setting) in self.0.iter().enumerate().filter(matters) {
            into.extend([place as u64, past(setting.taken)]);
            let times = setting.at.into_iter().chain(setting.again.iter().map(|(again, _)| again.at));
            into.extend(times.map(past));
        }
    }
}
