//! The textual form of tile programs.
//!
//! [`parse`] reads it, [`print()`] writes it, and reading what was written gives the same [`Source`]. Constants are replaced by their
//! values on the way.

mod lex;
mod parser;
mod print;

use std::fmt;

use crate::product::Soc;
use crate::program::{At, NodeId, Program, ProgramError, Source};

pub use crate::program::Position;
pub use print::{describe, lines, print};

/// The text of a program that was made by code, and the same program with its places in the text.
///
/// # Errors
/// None, for a program that the product runs.
pub fn printed(program: &Program, soc: &Soc) -> Result<(String, Program), TextError> {
    let text = print(program.source());
    let (program, _) = parse(&text, soc)?;
    Ok((text, program))
}

/// Why a text is no program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    /// Where.
    pub position: Position,
    /// What was expected, and what is there.
    pub problem: String,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.position, self.problem)
    }
}

impl std::error::Error for TextError {}

/// Where the parts of a source stand in its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Positions {
    cores: Option<Position>,
    tensors: Vec<Position>,
    buffers: Vec<Position>,
    registers: Vec<Position>,
    nodes: Vec<Position>,
}

impl Positions {
    /// Where a node stands.
    #[must_use]
    pub fn node(&self, node: NodeId) -> Option<Position> {
        self.nodes.get(node.0 as usize).copied()
    }

    fn of(&self, at: At) -> Position {
        let found = match at {
            At::Program => None,
            At::Cores => self.cores,
            At::Tensor(i) => self.tensors.get(i).copied(),
            At::Buffer(i) => self.buffers.get(i).copied(),
            At::Register(i) => self.registers.get(i).copied(),
            At::Node(node) => self.node(node),
        };
        found.unwrap_or(Position { line: 1, column: 1 })
    }
}

/// Reads a program and checks it against a product.
///
/// # Errors
/// The text is none, or the product cannot run it.
pub fn parse(text: &str, soc: &Soc) -> Result<(Program, Positions), TextError> {
    let (source, positions) = parse_source(text)?;
    let located = |e: ProgramError| TextError { position: positions.of(e.at), problem: e.problem.to_string() };
    let program = Program::new(source, soc).map_err(located)?;
    Ok((program.with_positions(positions.nodes.clone()), positions))
}

/// Reads a program without a look at what it means.
///
/// # Errors
/// The text is none.
pub fn parse_source(text: &str) -> Result<(Source, Positions), TextError> {
    parser::parse(lex::tokens(text)?)
}
