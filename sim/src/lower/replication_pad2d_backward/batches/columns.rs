//! Columns of the padding, added to the column of the image that they fold into, of all rows of a batch at once.
//!
//! The blocks of an end, transposed and transposed back from further on, bring each column to the lane of the image's column, whose
//! lane alone is added. Short types are added in f32: the blocks of an end are cast, of a row that others were added to before that
//! was rounded, and the image's column is rounded and put back. Where that takes too much room, a part of
//! the rows comes after the other, in the same buffers.

use super::Batches;
use crate::lower::bits_of;
use crate::lower::builder::{Builder, int};
use crate::lower::shape::{BLOCK_BYTES, MOST_STRIDE, PER_BLOCK, add, cast, cast_op, fill, insert, stride};
use crate::lower::substitute::{ROWS, TURNED, turn};
use crate::product::Element;
use crate::program::{BinaryOp, BufferId, Burst, Expr, Local, Mask, Move, Vector, VectorOp};

/// Both ends.
pub(super) struct Columns {
    ends: Vec<End>,
}

/// The columns of an end of each row.
struct End {
    place: Place,
    /// Its f32 blocks as lanes, and the bytes of that.
    strip: (BufferId, usize),
    /// Columns where the image's is: the sum of those before it, and another one.
    shifted: Vec<BufferId>,
    /// The blocks in f32, both halves of one of all rows behind those of the one before, and the image's column's in the type that is
    /// stored; only of short types.
    wide: Option<[BufferId; 2]>,
}

/// Where they are.
#[derive(Clone, Debug)]
struct Place {
    /// The blocks of a row that they are in: the first one, and how many.
    block: usize,
    blocks: usize,
    /// From there, the image's column, and those that are added to it.
    target: usize,
    others: Vec<usize>,
    /// The f32 blocks of those blocks that they are in: the first one, and how many.
    first: usize,
    count: usize,
}

impl Place {
    /// Both ends of rows, where columns fold into them.
    fn all(of: &Batches) -> Vec<Self> {
        let (per_block, last) = (of.compute.per_block(), of.columns.size - 1);
        let ends = [(of.columns.sources(0), true), (of.columns.sources(last), false)];
        let lead = of.lead / of.compute.size;
        let ends = ends.map(|(sources, left)| (sources.map(|column| lead + column), left));
        let some = ends.into_iter().filter(|([first, end], _)| end - first > 1);
        some.map(|([first, end], left)| {
            let block = first / per_block;
            let columns = first - block * per_block..end - block * per_block;
            let target = if left { columns.end - 1 } else { columns.start };
            let blocks = columns.start / PER_BLOCK..columns.end.div_ceil(PER_BLOCK);
            let (first, count) = (blocks.start, blocks.len());
            let blocks = columns.end.div_ceil(per_block);
            Self { block, blocks, target, others: columns.filter(|column| *column != target).collect(), first, count }
        })
        .collect()
    }

    /// Whether the image's column comes behind the others.
    fn is_left(&self) -> bool {
        self.others.first().is_some_and(|other| *other < self.target)
    }

    /// Columns that are shifted at a time.
    fn shifted(&self) -> usize {
        if self.is_left() { self.others.len().min(2) } else { 1 }
    }

    fn strip_bytes(&self, of: &Batches) -> usize {
        (of.part_each() * self.count + 2) * TURNED
    }
}

impl Columns {
    /// Bytes of local memory; `None` where columns cannot be added so.
    pub(super) fn bytes(of: &Batches) -> Option<usize> {
        let block = of.part() * BLOCK_BYTES;
        if of.row_blocks() * (BLOCK_BYTES / of.compute.size / PER_BLOCK).pow(2) > MOST_STRIDE {
            return None;
        }
        let short = of.compute.is_short();
        let bytes = |place: Place| {
            let wide = if short { 2 * place.blocks + 1 } else { 0 };
            place.strip_bytes(of) + (place.shifted() + wide) * block
        };
        Some(Place::all(of).into_iter().map(bytes).sum())
    }

    pub(super) fn new(b: &mut Builder, of: &Batches) -> Self {
        let block = of.part() * BLOCK_BYTES;
        let ends = Place::all(of).into_iter().map(|place| {
            let bytes = place.strip_bytes(of);
            let strip = (b.buffer("strip", bytes, 1, None), bytes);
            let shifted = (0..place.shifted()).map(|_| b.buffer("shifted", block, 1, None)).collect();
            let wide = of.compute.is_short().then(|| {
                let wide = b.buffer("ends_f32", 2 * place.blocks * block, 1, None);
                [wide, b.buffer("ends", block, 1, None)]
            });
            End { place, strip, shifted, wide }
        });
        Self { ends: ends.collect() }
    }

    /// Strips have as many lanes in front of them and behind as columns can be apart, which are taken along.
    pub(super) fn begin(&self, b: &mut Builder) {
        for End { strip: (strip, bytes), .. } in &self.ends {
            fill(b, strip.at(0), Element::U16, 0, int(bytes / 2));
        }
    }

    /// Takes the ends of all rows in f32, where that is another type.
    pub(super) fn widen(&self, b: &mut Builder, of: &Batches, rows: &Local) {
        for End { place, wide, .. } in &self.ends {
            let Some([wide, _]) = wide else { continue };
            let (row, per_repeat) = (of.row_blocks(), 8 / 2);
            let op = cast_op(Element::F32, of.compute.element);
            for block in 0..place.blocks {
                let from = rows.further(int((place.block + block) * BLOCK_BYTES));
                let to = wide.at(int(wide_block(of, 2 * block) * BLOCK_BYTES));
                let cast = Vector::new(op, [to, from]).repeats(int(of.part() / per_repeat));
                b.vector(cast.strides(1, stride(row), stride(per_repeat * row)));
            }
        }
    }

    /// The ends of a row of f32 that was rounded, as they were before.
    pub(super) fn replace(&self, b: &mut Builder, of: &Batches, row: Expr, from: &Local) {
        for End { place, wide, .. } in &self.ends {
            let Some([wide, _]) = wide else { continue };
            let bytes = 2 * BLOCK_BYTES;
            let (to, from) = (wide.at(row.clone() * int(bytes)), from.further(int(place.block * bytes)));
            let (blocks, bytes) = (int(place.blocks).into(), int(bytes).into());
            let to_gap = int((wide_block(of, 2) - 2) * BLOCK_BYTES).into();
            b.copy(Move { to, from, burst: Burst { blocks, bytes, from_gap: 0.into(), to_gap } });
        }
    }

    /// Adds the columns of all rows.
    pub(super) fn add(&self, b: &mut Builder, of: &Batches, rows: &Local) {
        for end in &self.ends {
            end.turn(b, of, rows);
        }
        for step in 0..self.ends.iter().map(|end| end.place.others.len()).max().unwrap_or(0) {
            for end in &self.ends {
                end.shift(b, of, step);
            }
            let mut apart = false;
            for end in &self.ends {
                apart |= end.sum(b, of, rows, step, apart);
            }
        }
        for end in &self.ends {
            end.put_back(b, of, rows);
        }
    }
}

impl End {
    /// An f32 block of all rows, and the blocks from a row to the next one.
    fn block(&self, of: &Batches, rows: &Local, block: usize) -> (Local, usize) {
        match self.wide {
            Some([wide, _]) => (wide.at(int(wide_block(of, block) * BLOCK_BYTES)), 2),
            None => (rows.further(int((self.place.block + block) * BLOCK_BYTES)), of.row_blocks()),
        }
    }

    /// Lanes become blocks, behind as many as a block has.
    fn turn(&self, b: &mut Builder, of: &Batches, rows: &Local) {
        let Place { first, count, .. } = self.place;
        for block in 0..count {
            let (from, row) = self.block(of, rows, first + block);
            let to = self.strip.0.at(int((1 + block) * TURNED));
            turn(b, (to, 1, count * ROWS), (from, of.part_each() * row, row), int(of.part_each()));
        }
    }

    /// Brings a column of all rows to the lane of the image's.
    fn shift(&self, b: &mut Builder, of: &Batches, step: usize) {
        let Place { target, first, count, .. } = self.place;
        let Some(column) = self.place.others.get(step) else { return };
        let Some(to) = self.shifted.get(step.min(self.shifted.len() - 1)) else { return };
        // A column is two lanes.
        let lane = ROWS + 2 * (column - first * PER_BLOCK) - 2 * (target % PER_BLOCK);
        let from = self.strip.0.at(int(lane * BLOCK_BYTES));
        turn(b, (to.at(0), of.part_each(), 1), (from, 1, count * ROWS), int(of.part_each()));
    }

    /// Adds what was brought; whether that changes rows, which may be done beside others.
    fn sum(&self, b: &mut Builder, of: &Batches, rows: &Local, step: usize, apart: bool) -> bool {
        let others = self.place.others.len();
        if step >= others {
            return false;
        }
        let (Some(sum), left) = (self.shifted.first(), self.place.is_left()) else { return false };
        if let (true, Some(other)) = (left && step > 0, self.shifted.get(1)) {
            add(b, &sum.at(0), other.at(0), int(of.part() * PER_BLOCK));
        }
        if left && step + 1 < others {
            return false;
        }
        let (at, row) = self.block(of, rows, self.place.target / PER_BLOCK);
        let mask = || Mask::Bits(1 << (self.place.target % PER_BLOCK));
        for (first, count) in of.repeats() {
            let (at, sum) = (at.further(int(first * row * BLOCK_BYTES)), sum.at(int(first * BLOCK_BYTES)));
            let (operands, other) = if left { ([sum, at.clone()], 1) } else { ([at.clone(), sum], 2) };
            let [a, z] = operands;
            let vector = Vector::new(VectorOp::Binary(BinaryOp::Add, Element::F32), [at, a, z]);
            let vector = vector.strides(0, 1, stride(row)).strides(3 - other, 1, stride(row)).strides(other, 1, 1);
            let vector = vector.masked(int(count), mask());
            // Ends that meet in a block have lanes of their own, as the rows behind have blocks.
            if apart && self.wide.is_none() || first > 0 {
                b.vector_apart(vector);
            } else {
                b.vector(vector);
            }
        }
        self.wide.is_none()
    }

    /// Rounds the image's column of all rows, and puts it where it was, if it was widened.
    fn put_back(&self, b: &mut Builder, of: &Batches, rows: &Local) {
        let (Some([wide, narrow]), element) = (self.wide, of.compute.element) else { return };
        let Place { block, target, .. } = self.place;
        let lanes = int(of.part() * of.compute.per_block());
        let own = wide_block(of, target / of.compute.per_block() * 2);
        cast(b, (narrow.at(0), element), (wide.at(int(own * BLOCK_BYTES)), Element::F32), lanes);
        let at = (block * of.compute.per_block() + target) * of.compute.size;
        for (first, count) in of.repeats() {
            let rows = rows.further(int(first * of.pitch));
            let from = narrow.at(int(first * BLOCK_BYTES));
            insert(b, bits_of(element), &rows, at, of.pitch, from, int(count).into());
        }
    }
}

/// Where an f32 block of the first row lies in [`End::wide`], in blocks.
const fn wide_block(of: &Batches, block: usize) -> usize {
    block / 2 * 2 * of.part() + block % 2
}
