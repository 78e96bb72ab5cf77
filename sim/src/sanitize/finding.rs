//! What is wrong with a program, and where.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::program::{LoopState, NodeId, Program};

use super::names::Names;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Buffers end behind the UB that the product has.
    Capacity,
    /// A field of an instruction has a value that it cannot take.
    Field,
    /// An instruction reaches beyond a slot of a buffer or a tensor.
    Bounds,
    /// An address is no multiple of what it must be.
    Alignment,
    /// Bytes are read that nobody has written.
    Uninitialised,
    /// Bytes of a result that nobody has written at the end.
    Unwritten,
    /// A tensor is written that is an input.
    ReadOnly,
    /// Two pipes of a core touch the same bytes, one of them writes, and nothing orders them.
    PipeRace,
    /// Two cores touch the same bytes of global memory, one of them writes, and no `sync_all` is between them.
    CoreRace,
    /// A flag may be set again before anybody has waited for it.
    FlagSetTwice,
    /// A flag is set at the end.
    FlagLeftSet,
    /// A pipe or a core waits for what does not come.
    Deadlock,
    /// Instructions of the same pipe touch the same bytes, and no barrier is between them.
    NoBarrier,
    /// A flag that the vendor's framework keeps for itself.
    ReservedFlag,
}

impl Kind {
    /// Every kind, with its name.
    pub const ALL: [(Self, &'static str); 14] = [
        (Self::Capacity, "capacity"),
        (Self::Field, "field"),
        (Self::Bounds, "bounds"),
        (Self::Alignment, "alignment"),
        (Self::Uninitialised, "uninitialised"),
        (Self::Unwritten, "unwritten"),
        (Self::ReadOnly, "read_only"),
        (Self::PipeRace, "pipe_race"),
        (Self::CoreRace, "core_race"),
        (Self::FlagSetTwice, "flag_set_twice"),
        (Self::FlagLeftSet, "flag_left_set"),
        (Self::Deadlock, "deadlock"),
        (Self::NoBarrier, "no_barrier"),
        (Self::ReservedFlag, "reserved_flag"),
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    /// Whether a program can be right in spite of it.
    #[must_use]
    pub const fn is_warning(self) -> bool {
        matches!(self, Self::NoBarrier | Self::ReservedFlag)
    }
}

/// A finding: what is wrong with one instruction, buffer or tensor, where it happened first, and how often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// What is wrong.
    pub kind: Kind,
    /// In how many steps of all cores.
    pub count: u64,
    /// The first core.
    pub core: Option<u32>,
    /// Where the instruction stands: a line of the text, or a number where there is no text.
    pub at: Option<String>,
    /// The instruction.
    pub instruction: Option<String>,
    /// The kind of tile that it belongs to.
    pub tile: Option<String>,
    /// The variables of the loops around it, at the first time: the innermost eight, outermost first.
    pub loops: Vec<(String, i64)>,
    /// The field of the plan to blame.
    pub field: Option<String>,
    /// What is wrong, in words.
    pub what: String,
}

/// So many of the innermost loops around an instruction are named.
const LOOPS: usize = 8;

/// Where something is wrong.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Site {
    pub(super) core: Option<u32>,
    pub(super) node: Option<NodeId>,
    /// Variables of the innermost loops around, outermost first.
    loops: [i64; LOOPS],
}

impl Site {
    /// Somewhere inside these loops of a core.
    pub(super) fn within(core: u32, around: &[LoopState]) -> Self {
        let mut loops = [0; LOOPS];
        for (value, state) in loops.iter_mut().zip(innermost(around)) {
            *value = state.value;
        }
        Self { core: Some(core), node: None, loops }
    }

    /// At a node there.
    pub(super) const fn at(self, node: NodeId) -> Self {
        Self { core: self.core, node: Some(node), loops: self.loops }
    }
}

fn innermost<T>(loops: &[T]) -> &[T] {
    &loops[loops.len().saturating_sub(LOOPS)..]
}

/// Findings in the order in which they came, one for each kind and place.
pub(super) struct Findings<'p> {
    program: &'p Program,
    names: &'p Names<'p>,
    all: Vec<Finding>,
    /// By kind and place: a node, or the number of a buffer or tensor.
    known: HashMap<(Kind, Option<NodeId>, u16), usize>,
}

impl<'p> Findings<'p> {
    pub(super) fn new(program: &'p Program, names: &'p Names<'p>) -> Self {
        Self { program, names, all: Vec::new(), known: HashMap::new() }
    }

    /// What nodes are called.
    pub(super) const fn names(&self) -> &'p Names<'p> {
        self.names
    }

    /// Of an instruction. `blame` is a field that comes before the instruction's.
    pub(super) fn add(&mut self, kind: Kind, site: &Site, blame: Option<&str>, what: impl FnOnce() -> String) {
        self.add_of(0, kind, site, blame, what);
    }

    /// Of a buffer or a tensor, by its number.
    pub(super) fn add_of(
        &mut self,
        number: u16,
        kind: Kind,
        site: &Site,
        blame: Option<&str>,
        what: impl FnOnce() -> String,
    ) {
        let Self { program, names, all, known } = self;
        if let Some(finding) = known.get(&(kind, site.node, number)).and_then(|at| all.get_mut(*at)) {
            finding.count += 1;
            return;
        }
        known.insert((kind, site.node, number), all.len());
        let belongs = site.node.and_then(|node| names.belongs(node));
        let loops = belongs.map_or(&[][..], |belongs| innermost(&belongs.loops));
        all.push(Finding {
            kind,
            count: 1,
            core: site.core,
            at: site.node.map(|node| program.locate(node)),
            instruction: site.node.map(|node| names.line(node).into()),
            tile: belongs.and_then(|belongs| belongs.tile).map(Into::into),
            loops: loops.iter().map(|name| String::from(*name)).zip(site.loops).collect(),
            field: blame.or_else(|| belongs.and_then(|belongs| belongs.field)).map(Into::into),
            what: what(),
        });
    }

    pub(super) fn finish(self) -> Vec<Finding> {
        let mut all = self.all;
        all.sort_by_key(|finding| finding.kind.is_warning());
        all
    }
}
