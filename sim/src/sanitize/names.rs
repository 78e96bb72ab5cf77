//! What findings call the nodes of a program: looked up once for all, when the first finding asks.

use std::cell::OnceCell;

use crate::program::{Belongs, NodeId, Program};
use crate::text;

/// The lines of a program, and where they belong.
pub(super) struct Names<'p> {
    program: &'p Program,
    lines: OnceCell<Vec<String>>,
    belongs: OnceCell<Vec<Belongs<'p>>>,
}

impl<'p> Names<'p> {
    pub(super) const fn new(program: &'p Program) -> Self {
        Self { program, lines: OnceCell::new(), belongs: OnceCell::new() }
    }

    /// The line of a node.
    pub(super) fn line(&self, NodeId(node): NodeId) -> &str {
        let lines = self.lines.get_or_init(|| text::lines(self.program.source()));
        lines.get(node as usize).map_or("", |line| line)
    }

    /// Where a node belongs.
    pub(super) fn belongs(&self, NodeId(node): NodeId) -> Option<&Belongs<'p>> {
        self.belongs.get_or_init(|| self.program.belongs()).get(node as usize)
    }
}
