//! Every second word, by a gather: the coordinates of points along an axis, and the low halves of 64-bit indices.

use super::{Substitute, Words};
use crate::lower::builder::{Builder, int};
use crate::lower::shape::scalar;
use crate::product::Element;
use crate::program::{Expr, Instruction, Local, ScalarOp, Vector, VectorOp, lacks_vector};

/// Words that a gather takes: the repeat of offsets is those of the first of each two words, then those of the second.
const WORDS: usize = 32;
/// Bytes from one to the next but one.
const STEP: usize = 8;
/// Offsets that the scalar unit writes; vector instructions add the others.
const WRITTEN: usize = 8;

impl Substitute<'_> {
    /// So many words, the first or the second of each two; whether that can be.
    pub(super) fn every_second(
        &mut self,
        b: &mut Builder,
        (to, from): (&Local, &Local),
        first: usize,
        count: &Expr,
    ) -> bool {
        let gather = VectorOp::Gather(Element::U32);
        if lacks_vector(self.soc, gather) {
            return false;
        }
        let Some(offsets) = self.words(b, Words::Offsets) else { return false };
        let offsets = offsets.at(int(4 * WORDS * first));
        b.repeat("word", (0, count.clone(), WORDS), None, |b, word| {
            let words = b.min("words", int(WORDS), count.clone() - word.clone());
            let operands = [to.further(word.clone() * 4), from.further(word * int(STEP)), offsets];
            b.emit(Instruction::Vector(Vector::new(gather, operands).count(words)));
        });
        true
    }

    /// Makes the offsets, if they are needed.
    pub(super) fn prepare_offsets(&self, b: &mut Builder) {
        let Some((Words::Offsets, offsets)) = self.words else { return };
        b.repeat("k", (0, int(WRITTEN), 1), None, |b, k| {
            b.write(offsets.at(k.clone() * 4), Element::U32, k * int(STEP))
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
