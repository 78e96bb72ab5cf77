//! Where nodes belong: whom to blame.

use super::Program;
use super::source::{For, If, Node, Source, Statement, Tile};

/// Where a node of a program belongs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Belongs<'p> {
    /// The innermost tile around it.
    pub tile: Option<&'p str>,
    /// The plan's field that it follows from: its own, or that of the innermost loop around it that states one.
    pub field: Option<&'p str>,
    /// The variables of the loops around it, outermost first.
    pub loops: Vec<&'p str>,
}

impl Program {
    /// Where each node belongs, by [`NodeId`](super::NodeId).
    #[must_use]
    pub fn belongs(&self) -> Vec<Belongs<'_>> {
        let mut all = Vec::new();
        note(self.source(), &self.source().body, &Belongs::default(), &mut all);
        all
    }
}

fn note<'p>(source: &'p Source, body: &'p [Node], around: &Belongs<'p>, all: &mut Vec<Belongs<'p>>) {
    for node in body {
        let mut this = around.clone();
        match node {
            Node::Do(Statement { field, .. }) | Node::For(For { field, .. }) => {
                this.field = field.as_deref().or(this.field);
            }
            Node::Tile(Tile { name, .. }) => this.tile = Some(name),
            Node::If(_) => {}
        }
        all.push(this.clone());
        match node {
            Node::Do(_) => {}
            Node::For(For { var, body, .. }) => {
                this.loops.push(source.registers.get(var.index()).map_or("", |register| &register.name));
                note(source, body, &this, all);
            }
            Node::Tile(Tile { body, .. }) => note(source, body, &this, all),
            Node::If(If { then, otherwise, .. }) => {
                note(source, then, &this, all);
                note(source, otherwise, &this, all);
            }
        }
    }
}
