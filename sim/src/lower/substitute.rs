//! What a product lacks, done with what it has.
//!
//! Lowerings write instructions of Atlas A2. Here those that another product lacks become others that do the same.
//!
//! * A copy of single bytes becomes a copy of blocks where its addresses happen to allow that, which mostly shows when the program runs.
//!   Elsewhere blocks go through a buffer, and the scalar unit, which alone reaches any address, shifts their elements.
//! * A number as an operand becomes a vector that is full of it.
//! * What no vector instruction does, as a gather where there is none, the scalar unit does.
//!
//! Whatever is not known here stays as it is, and the check of the program names it.

mod conversions;
mod copies;
mod every_second;
mod permutations;
mod rows_in;
mod rows_out;
mod scalar_unit;
mod shift;
mod staged;
mod turned;
mod vectors;

use std::collections::BTreeSet;

use crate::product::Soc;
use crate::program::{BufferId, For, If, Instruction, Node, REPEAT, Source, Tile, lacks};

use super::builder::Builder;
use super::room::Room;

pub(super) use rows_in::{NARROW, SLOTS};
pub(super) use scalar_unit::{ANYTHING, transport};
use shift::Shifting;
pub(super) use shift::{FEWEST, OF_PIXELS, OF_ROWS, OF_WORDS, ROWS, TURNED, period, turn};

/// Local memory that this takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scratch {
    /// Bytes that vector instructions shift at a time, where there is room for that.
    pub(super) shifted: Option<usize>,
    /// Whether every second word is gathered.
    seconds: bool,
}

/// Of so many parts of local memory one is spared for where every second word is.
const SPARE: usize = 16;

impl Scratch {
    /// Of so much local memory, for a program that shifts so many bytes at a time that copies do not take, or one whose indices and
    /// coordinates are apart.
    pub(super) fn of(local_bytes: usize, shifted: usize, soc: &Soc) -> Self {
        let spares = local_bytes / SPARE >= every_second::BYTES;
        let seconds = shifted < OF_ROWS && spares && every_second::gathers(soc);
        Self { shifted: shift::shifted_bytes(local_bytes, shifted), seconds }
    }

    /// All of it.
    pub(super) fn bytes(self) -> usize {
        let seconds = if self.seconds { every_second::BYTES } else { 0 };
        2 * REPEAT as usize + staged::STAGING + seconds + self.shifted.map_or(0, shift::scratch_bytes)
    }
}

/// The same program of instructions that the product has.
pub(super) fn substitute(source: Source, soc: &Soc, room: Room) -> Source {
    let (mut b, body) = Builder::resume(source, room);
    let mut substitute = Substitute {
        soc,
        room,
        numbers: None,
        seconds: None,
        bits: None,
        staging: None,
        shifting: None,
        delivered: BTreeSet::new(),
    };
    let body = b.within(|b| substitute.body(b, body));
    substitute.prepare_seconds(&mut b);
    substitute.prepare(&mut b);
    body.into_iter().for_each(|node| b.push(node));
    b.finish()
}

/// What substitutes share.
struct Substitute<'a> {
    soc: &'a Soc,
    room: Room,
    /// A repeat full of a number, once one is needed.
    numbers: Option<BufferId>,
    /// Where every second word is, once that is needed.
    seconds: Option<BufferId>,
    /// Bits of a comparison, once they are.
    bits: Option<BufferId>,
    /// Blocks on their way, once some are.
    staging: Option<BufferId>,
    /// Where vector instructions shift rows, once some are.
    shifting: Option<Shifting>,
    /// Buffers whose whole blocks that takes, whatever is behind the end of their rows.
    delivered: BTreeSet<BufferId>,
}

impl Substitute<'_> {
    fn body(&mut self, b: &mut Builder, body: Vec<Node>) {
        for node in body {
            match node {
                Node::Do(statement) if lacks(self.soc, &statement.instruction) => {
                    self.instruction(b, statement.instruction);
                }
                Node::Do(_) => b.push(node),
                Node::For(repeated) => {
                    let body = b.within(|b| self.body(b, repeated.body));
                    b.push(Node::For(For { body, ..repeated }));
                }
                Node::Tile(tile) => {
                    let body = b.within(|b| self.body(b, tile.body));
                    b.push(Node::Tile(Tile { body, ..tile }));
                }
                Node::If(branch) => {
                    let then = b.within(|b| self.body(b, branch.then));
                    let otherwise = b.within(|b| self.body(b, branch.otherwise));
                    b.push(Node::If(If { then, otherwise, ..branch }));
                }
            }
        }
    }

    fn instruction(&mut self, b: &mut Builder, instruction: Instruction) {
        match instruction {
            Instruction::Load(load) => self.load(b, load),
            Instruction::Store(store) => self.store(b, store),
            Instruction::Vector(vector) => self.vector(b, vector),
            Instruction::Transpose(transpose) => self.transpose(b, transpose),
            other => b.emit(other),
        }
    }
}
