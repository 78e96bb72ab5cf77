//! Why a program is none.

use std::fmt;

use crate::product::{Element, Rounding, Unknown};

use super::isa::{Field, Missing};
use super::source::NodeId;

/// What a problem is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The program as a whole.
    Program,
    /// How many cores it has.
    Cores,
    /// A tensor, by its position.
    Tensor(usize),
    /// A buffer, by its position.
    Buffer(usize),
    /// A register, by its position.
    Register(usize),
    /// A piece of code.
    Node(NodeId),
}

/// A program that cannot run, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramError {
    /// What it is about.
    pub at: At,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// A number is outside of its range.
    Field {
        /// The field and its range.
        field: Field,
        /// The number.
        value: i64,
    },
    /// A number is no multiple of 32.
    NotBlocks(&'static str, u32),
    /// The product cannot do it.
    Unavailable {
        /// The instruction.
        what: String,
        /// What it can do.
        missing: Missing,
        /// Its name.
        soc: String,
    },
    /// A property of the product that every program needs is unknown.
    Unknown(Unknown),
    /// No such tensor, buffer or register.
    NoSuch(&'static str, u16),
    /// A register holds the other kind of number.
    WrongKind(String, &'static str),
    /// A register is read that may not have a value yet.
    Unset(String),
    /// A register is set that cannot be.
    ReadOnly(String),
    /// A name is no name.
    BadName(String),
    /// Two things have the same name.
    SameName(String),
    /// Another number of operands.
    Operands {
        /// How many the instruction takes.
        takes: usize,
        /// How many there are.
        given: usize,
    },
    /// A field that this instruction does not have, or lacks.
    Shape(&'static str),
    /// More cores than the product has.
    Cores {
        /// Those of the program.
        given: u32,
        /// Those of the product that run vector programs.
        most: u32,
    },
    /// A number for each core, but not as many as there are cores.
    PerCore {
        /// Numbers.
        given: usize,
        /// Cores.
        cores: u32,
    },
    /// Sizes that no memory has.
    TooLarge,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field { field: Field { name, min, max, multiple }, value } => {
                write!(f, "{name} is {value}, expected {min} to {max}")?;
                if *multiple == 1 { Ok(()) } else { write!(f, " in multiples of {multiple}") }
            }
            Self::NotBlocks(what, value) => write!(f, "{what} is {value}, expected a multiple of 32"),
            Self::Unavailable { what, missing, soc } => match missing {
                Missing::Instruction => write!(f, "{soc} has no {what}"),
                Missing::Elements(elements) => {
                    let names = elements.iter().map(|e| Element::name(*e)).collect::<Vec<_>>().join(", ");
                    write!(f, "{soc} has no {what}; expected one of {names}")
                }
                Missing::Roundings(modes) => {
                    let names = modes.iter().map(|m| rounding_name(*m)).collect::<Vec<_>>().join(", ");
                    write!(f, "{soc} has no {what}; expected a rounding of {names}")
                }
                Missing::Unknown(unknown) => write!(f, "{what} on {soc}: {unknown}"),
                Missing::Model(why) => write!(f, "{what}: {why}"),
            },
            Self::Unknown(unknown) => unknown.fmt(f),
            Self::Cores { given, most } => {
                write!(f, "cores {given} is {} more than the {most} of the product", given.saturating_sub(*most))
            }
            Self::NoSuch(what, number) => write!(f, "there is no {what} {number}"),
            Self::WrongKind(name, expected) => write!(f, "expected {expected}, and {name} holds the other kind"),
            Self::Unset(name) => write!(f, "{name} has no value yet on some way to here"),
            Self::ReadOnly(name) => write!(f, "{name} cannot be set here"),
            Self::BadName(name) => {
                write!(f, "{name:?} is no name: expected letters, digits and _, not a digit first, and not inf or nan")
            }
            Self::SameName(name) => write!(f, "there are two of the name {name}"),
            Self::Operands { takes, given } => write!(f, "{given} operands, expected {takes}"),
            Self::Shape(expected) => write!(f, "expected {expected}"),
            Self::PerCore { given, cores } => write!(f, "{given} values, expected one for each of {cores} cores"),
            Self::TooLarge => f.write_str("larger than any memory"),
        }
    }
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            At::Program | At::Cores => self.problem.fmt(f),
            At::Tensor(i) => write!(f, "tensor {i}: {}", self.problem),
            At::Buffer(i) => write!(f, "buffer {i}: {}", self.problem),
            At::Register(i) => write!(f, "register {i}: {}", self.problem),
            At::Node(NodeId(i)) => write!(f, "statement {i}: {}", self.problem),
        }
    }
}

impl std::error::Error for ProgramError {}

/// The name of a rounding in programs.
#[must_use]
pub const fn rounding_name(rounding: Rounding) -> &'static str {
    match rounding {
        Rounding::Plain => "plain",
        Rounding::Even => "even",
        Rounding::Floor => "floor",
        Rounding::Ceil => "ceil",
        Rounding::Away => "away",
        Rounding::Zero => "zero",
        Rounding::Odd => "odd",
    }
}
