//! The block that a plane ends in and the next one begins in: what was picked for it until it is whole.
//!
//! Lanes of a run lie within blocks as their elements do in global memory, so that what is kept comes back to the same lanes.

use super::{Run, Sizes};
use crate::lower::builder::{Builder, int};
use crate::lower::shape::blocks;
use crate::product::Element;
use crate::program::{BufferId, Expr, Local, Relation, UnaryOp, Vector, VectorOp};

pub(super) struct Carry {
    kept: BufferId,
    /// Bytes of an element.
    size: usize,
    /// Whether it is of elements as they are stored, and not as they are picked: of those whose blocks are as many elements or fewer.
    pub(super) stored: bool,
}

impl Carry {
    /// Bytes of local memory.
    pub(super) fn bytes(sizes: &Sizes) -> usize {
        if sizes.carries() { blocks(sizes.unit() * Self::size(sizes)) } else { 0 }
    }

    fn size(sizes: &Sizes) -> usize {
        sizes.path.taken().max(sizes.path.stored)
    }

    /// `None` where planes begin with blocks.
    pub(super) fn new(b: &mut Builder, sizes: &Sizes) -> Option<Self> {
        let (bytes, size) = (Self::bytes(sizes), Self::size(sizes));
        (bytes > 0).then(|| Self { kept: b.buffer("kept", bytes, 1, None), size, stored: size > sizes.path.taken() })
    }

    /// Puts what was kept in front of a run, and keeps what is behind its whole blocks.
    pub(super) fn exchange(&self, b: &mut Builder, at: &Local, Run { lanes, ahead, whole, .. }: &Run) {
        let copy = |b: &mut Builder, operands: [Local; 2], elements: Expr| {
            let copy = Vector::new(VectorOp::Unary(UnaryOp::Copy, Element::U16), operands);
            b.vector(copy.count(elements * int(self.size / 2)));
        };
        b.when(ahead.clone(), Relation::Gt, 0, |b| copy(b, [at.clone(), self.kept.at(0)], ahead.clone()));
        b.when(whole.clone(), Relation::Lt, lanes.clone(), |b| {
            let behind = at.further(whole.clone() * int(self.size));
            copy(b, [self.kept.at(0), behind], lanes.clone() - whole.clone());
        });
    }
}
