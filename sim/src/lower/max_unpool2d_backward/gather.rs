//! Elements picked by the gather instruction: indices become byte offsets into the table.
//!
//! A table of a slice has a zero in front and behind, where indices of other slices are sent, so that the bits of all slices are put
//! together by `or`.

use super::{Lowering, Run, Sizes};
use crate::lower::builder::{Builder, int};
use crate::lower::shape::{binary, blocks, cast, fill, scalar};
use crate::product::Element;
use crate::program::{BinaryOp, BufferId, Expr, Local, Pipe, ScalarOp, Vector, VectorOp};

pub(super) struct Gather {
    /// Indices in 32 bits, and byte offsets.
    positions: BufferId,
    offsets: BufferId,
    pairs: Option<Pairs>,
    /// What a slice adds.
    part: Option<BufferId>,
}

/// Offsets of both halves of an element: which offset each lane takes, what it adds, and the result.
#[derive(Clone, Copy)]
struct Pairs {
    twice: BufferId,
    half: BufferId,
    offsets: BufferId,
}

impl Gather {
    /// Bytes of local memory.
    pub(super) fn bytes(sizes: &Sizes) -> usize {
        let pairs = if sizes.path.lanes == 2 { 3 * Self::lane_bytes(sizes) } else { 0 };
        let part = if sizes.is_sliced() { sizes.taken_bytes() } else { 0 };
        2 * blocks(sizes.elements * 4) + pairs + part
    }

    /// Bytes of 32 bits for each lane of a run, and for no fewer than sixteen.
    fn lane_bytes(sizes: &Sizes) -> usize {
        blocks(4 * (sizes.elements * sizes.path.lanes).max(16))
    }

    pub(super) fn new(b: &mut Builder, sizes: &Sizes) -> Self {
        let field = Some("tile_elements");
        let [positions, offsets] =
            ["positions", "offsets"].map(|name| b.buffer(name, blocks(sizes.elements * 4), 1, field));
        let pairs = (sizes.path.lanes == 2).then(|| {
            let [twice, half, offsets] =
                ["twice", "half", "pair_offsets"].map(|name| b.buffer(name, Self::lane_bytes(sizes), 1, field));
            Pairs { twice, half, offsets }
        });
        let part = sizes.is_sliced().then(|| b.buffer("part", sizes.taken_bytes(), 1, field));
        Self { positions, offsets, pairs, part }
    }

    /// 0, 0, 4, 4, 8, 8, ... and 0, 4, 0, 4, ...: sixteen one by one, then twice as many each time.
    pub(super) fn begin(&self, b: &mut Builder, sizes: &Sizes) {
        let Some(Pairs { twice, half, .. }) = self.pairs else { return };
        b.repeat("k", (0, 8, 1), None, |b, k| {
            for side in [0, 4] {
                b.write(twice.at(k.clone() * 8 + side), Element::U32, k.clone() * 4);
                b.write(half.at(k.clone() * 8 + side), Element::U32, side);
            }
        });
        let flag = b.flag_id(Pipe::S, Pipe::V);
        b.after(Pipe::S, Pipe::V, flag);
        let (mut done, all) = (16, 2 * sizes.elements);
        while done < all {
            let more = done.min(all - done);
            for (of, by) in [(twice, done * 2), (half, 0)] {
                let operands = [of.at(int(4 * done)), of.at(0)];
                scalar(b, ScalarOp::Adds, Element::I32, operands, int(by), int(more));
            }
            done += more;
        }
    }

    /// Takes the indices of a run.
    pub(super) fn take(&self, b: &mut Builder, sizes: &Sizes, from: Local, lanes: &Expr) {
        let positions = self.positions.at(0);
        if sizes.index == Element::I64 {
            cast(b, (positions, Element::I32), (from, Element::I64), lanes.clone());
        } else {
            scalar(b, ScalarOp::Adds, Element::I32, [positions, from], 0, lanes.clone());
        }
    }

    /// Picks what they say.
    pub(super) fn pick(&self, b: &mut Builder, of: &Lowering, run: &Run) {
        let Sizes { path, cells, all, .. } = of.sizes;
        let Run { plane, origin, lanes, .. } = run;
        let [positions, offsets] = [self.positions, self.offsets].map(|buffer| buffer.at(0));
        let (result, size) = (of.picked(), int(path.in_table()));
        let step = |b: &mut Builder, op, from: &Local, number: Expr| {
            scalar(b, op, Element::I32, [offsets.clone(), from.clone()], number, lanes.clone());
        };
        match self.part {
            None => {
                step(b, ScalarOp::Muls, &positions, size.into());
                let begin = (*origin).clone() * size;
                if begin.as_constant() != Some(0) {
                    step(b, ScalarOp::Adds, &offsets, begin);
                }
                self.gather(b, of, result.clone(), lanes);
            }
            Some(part) => {
                let words = b.div("words", lanes.clone() * int(path.taken()) + 1, 2);
                fill(b, result.clone(), Element::U16, 0, words.clone());
                let end = (*origin).clone() + int(all);
                b.repeat("cell", (0, end.clone(), cells), Some("tile_cells"), |b, cell| {
                    let n = b.min("cells", int(cells), end - cell.clone());
                    of.table.load(b, (plane, origin), (&cell, &n));
                    step(b, ScalarOp::Adds, &positions, (*origin).clone() - cell);
                    step(b, ScalarOp::Mins, &offsets, n);
                    step(b, ScalarOp::Maxs, &offsets, (-1).into());
                    step(b, ScalarOp::Muls, &offsets, size.into());
                    step(b, ScalarOp::Adds, &offsets, of.table.front().into());
                    self.gather(b, of, part.at(0), lanes);
                    of.table.leave(b);
                    let operands = [result.clone(), result.clone(), part.at(0)];
                    binary(b, BinaryOp::Or, Element::U16, operands, words.clone());
                });
            }
        }
    }

    /// Elements of the table at the offsets.
    fn gather(&self, b: &mut Builder, of: &Lowering, to: Local, lanes: &Expr) {
        let lanes = lanes.clone() * int(of.sizes.path.lanes);
        let offsets = match self.pairs {
            None => self.offsets,
            Some(Pairs { twice, half, offsets }) => {
                let operands = [offsets.at(0), self.offsets.at(0), twice.at(0)];
                b.vector(Vector::new(VectorOp::Gather(Element::U32), operands).count(lanes.clone()));
                let operands = [offsets.at(0), offsets.at(0), half.at(0)];
                binary(b, BinaryOp::Add, Element::I32, operands, lanes.clone());
                offsets
            }
        };
        let operands = [to, of.table.at(), offsets.at(0)];
        b.vector(Vector::new(VectorOp::Gather(of.sizes.path.lane), operands).count(lanes));
    }
}
