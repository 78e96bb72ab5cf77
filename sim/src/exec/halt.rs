//! A run that does not come to its end.

use std::fmt;

use crate::program::{Fault, NodeId, Pipe, Program};

/// Why a run stopped before its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// An instruction cannot be carried out.
    Fault(Fault),
    /// Nothing can go on: who waits, where.
    Deadlock(Vec<(u32, Pipe, NodeId)>),
}

impl From<Fault> for Halt {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl Halt {
    /// What happened, with the names of the program.
    #[must_use]
    pub fn describe(&self, program: &Program) -> String {
        match self {
            Self::Fault(fault) => fault.describe(program),
            Self::Deadlock(waiting) => {
                let wait = |(core, pipe, node): &(u32, Pipe, NodeId)| {
                    let line = crate::text::describe(program.source(), *node);
                    format!("core {core}, {} at {}: {line}", pipe.name(), program.locate(*node))
                };
                let some = waiting.iter().take(4).map(wait).collect::<Vec<_>>().join("; ");
                let more = waiting.len().saturating_sub(4);
                let more = if more == 0 { String::new() } else { format!("; and {more} more") };
                format!("nothing can go on: {some}{more}")
            }
        }
    }
}

impl fmt::Display for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(fault) => fault.fmt(f),
            Self::Deadlock(waiting) => write!(f, "nothing can go on: {} pipes wait", waiting.len()),
        }
    }
}

impl std::error::Error for Halt {}
