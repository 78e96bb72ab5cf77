//! Nothing can go on: who waits, and for what.

use super::{Watch, name};
use crate::program::{Action, FlagAt, Pipe, Step, Walker};
use crate::sanitize::finding::Kind;

impl Watch<'_> {
    pub(super) fn deadlock(&mut self) {
        let ended = (0..self.program.source().cores).find(|core| {
            // A core may have come to a `sync_all` at the very end.
            self.run.front(*core, Pipe::S).is_none() && self.run.walker(*core).is_some_and(Walker::ended)
        });
        for core in 0..self.program.source().cores {
            for (pipe, _) in Pipe::ALL {
                let Some(step) = self.run.front(core, pipe) else { continue };
                // What the scalar unit is held at is in no queue.
                let issued = self.cores[core as usize].queues[pipe as usize].front();
                let site = issued.map_or_else(|| self.scalar_site(core), |issued| issued.site).at(step.node);
                let what = match (step.action, ended) {
                    (Action::WaitFlag(flag), _) => {
                        format!("waits for flag {}, which {}", name(flag), self.unset(core, pipe, flag))
                    }
                    (Action::SyncAll(_), Some(ended)) => format!("waits for core {ended}, which has come to its end"),
                    _ => continue,
                };
                self.findings.add(Kind::Deadlock, &site, None, || what);
            }
        }
    }

    /// Why a flag is not set that a pipe of a core waits for.
    fn unset(&self, core: u32, pipe: Pipe, flag: FlagAt) -> String {
        let line =
            |step: &Step| format!("{}: {}", self.program.locate(step.node), self.findings.names().line(step.node));
        let sets = |step: &Step| matches!(step.action, Action::SetFlag(set) if set == flag);
        let held = self.run.front(core, Pipe::S).filter(|_| pipe != Pipe::S);
        match (self.run.front(core, flag.from), held.map(|held| (held, held.action.pipe()))) {
            (Some(first), _) if self.run.queued(core, flag.from).any(sets) => {
                format!("{} sets behind {}", flag.from.name(), line(first))
            }
            (_, Some((held, Pipe::S))) => format!("nobody sets while the scalar unit waits at {}", line(held)),
            (_, Some((_, full))) => {
                format!("nobody sets while the scalar unit waits for room in the queue of {}", full.name())
            }
            _ => "nobody sets".into(),
        }
    }
}
