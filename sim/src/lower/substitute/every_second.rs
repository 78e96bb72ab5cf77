//! Every second word, by a gather: the coordinates of points along an axis, and the low halves of 64-bit indices.

use super::Substitute;
use crate::lower::builder::{Builder, int};
use crate::lower::shape::scalar;
use crate::product::{Element, Soc};
use crate::program::{Expr, Instruction, Local, ScalarOp, Vector, VectorOp, lacks_vector};

const GATHER: VectorOp = VectorOp::Gather(Element::U32);
/// Words that a gather takes: an instruction of several repeats costs little more than one of one.
const WORDS: usize = 256;
/// Of the offsets, first those of the first of each two words, then those of the second.
pub(super) const BYTES: usize = 2 * 4 * WORDS;
/// Bytes from one to the next but one.
const STEP: usize = 8;
/// Offsets that the scalar unit writes; vector instructions add the others.
const WRITTEN: usize = 8;

/// Whether a product does it so.
pub(super) fn gathers(soc: &Soc) -> bool {
    !lacks_vector(soc, GATHER)
}

impl Substitute<'_> {
    /// So many words, the first or the second of each two; whether that can be.
    pub(super) fn every_second(
        &mut self,
        b: &mut Builder,
        (to, from): (&Local, &Local),
        first: usize,
        count: &Expr,
    ) -> bool {
        if !self.room.scratch.is_some_and(|scratch| scratch.seconds) {
            return false;
        }
        let offsets = self.seconds.get_or_insert_with(|| b.buffer_behind("seconds", BYTES)).at(int(4 * WORDS * first));
        b.repeat("word", (0, count.clone(), WORDS), None, |b, word| {
            let words = b.min("words", int(WORDS), count.clone() - word.clone());
            let operands = [to.further(word.clone() * 4), from.further(word * int(STEP)), offsets];
            b.emit(Instruction::Vector(Vector::new(GATHER, operands).count(words)));
        });
        true
    }

    /// Makes the offsets, if they are needed.
    pub(super) fn prepare_seconds(&self, b: &mut Builder) {
        let Some(offsets) = self.seconds else { return };
        b.repeat("k", (0, int(WRITTEN), 1), None, |b, k| {
            b.write(offsets.at(k.clone() * 4), Element::U32, k * int(STEP));
        });
        b.emit(Instruction::Barrier(None));
        let mut add = |done: usize, by: usize| {
            let operands = [offsets.at(int(4 * done)), offsets.at(0)];
            scalar(b, ScalarOp::Adds, Element::I32, operands, int(by), int(done));
        };
        let mut done = WRITTEN;
        while done < WORDS {
            add(done, done * STEP);
            done *= 2;
        }
        add(WORDS, 4);
    }
}
