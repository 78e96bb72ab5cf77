//! What a touch of memory is in trouble with, in words.

use crate::program::{Access, Program, Space, Touch};

use super::finding::{Findings, Kind, Site};
use super::memory::Trouble;
use super::state::Conflict;

fn verb(access: Access, of_memory: bool) -> &'static str {
    match access {
        Access::Read => "reads",
        Access::Write => "writes",
        Access::Update if of_memory => "adds to",
        Access::Update => "changes",
    }
}

/// Adds what is wrong with a touch to the findings.
pub(super) fn report(program: &Program, findings: &mut Findings<'_>, site: &Site, touch: &Touch, trouble: &Trouble) {
    let source = program.source();
    let global = matches!(touch.space, Space::Global(_));
    let byte = |at: u64| match touch.space {
        Space::Local(id, slot) => {
            let within = at.saturating_sub(program.slot(id, slot).start.into());
            let name = source.buffers.get(usize::from(id.0)).map_or("", |buffer| &buffer.name);
            format!("byte {within} of {name}[{slot}]")
        }
        Space::Global(id) => {
            format!("byte {at} of {}", source.tensors.get(usize::from(id.0)).map_or("", |tensor| &tensor.name))
        }
    };
    let doing = verb(touch.access, global);
    if let Some(at) = trouble.unwritten {
        let what = || format!("{doing} {}, which nobody has written", byte(at));
        findings.add(Kind::Uninitialised, site, None, what);
    }
    let names = findings.names();
    let other = |conflict: &Conflict| {
        let (node, done) = (conflict.mark.node(), verb(conflict.access, global));
        let line = names.line(node);
        format!("{} {done} at {}: {line}", conflict.mark.pipe().name(), program.locate(node))
    };
    if let Some((at, conflict)) = &trouble.race {
        if Some(u32::from(conflict.core)) == site.core {
            let what = || format!("{doing} {}, which {}, and nothing orders the two", byte(*at), other(conflict));
            findings.add(Kind::PipeRace, site, None, what);
        } else {
            let what = || {
                let core = conflict.core;
                format!("{doing} {}, which core {core}'s {}, with no sync_all between", byte(*at), other(conflict))
            };
            findings.add(Kind::CoreRace, site, None, what);
        }
    }
    if let Some((at, conflict)) = &trouble.queued {
        let what = || format!("{doing} {}, which {}, with no barrier between", byte(*at), other(conflict));
        findings.add(Kind::NoBarrier, site, None, what);
    }
}
