//! Rows of the padding, added to the row of the image that they fold into.

use super::{Batch, Batches, Lowering};
use crate::lower::builder::{Builder, int};
use crate::lower::ring::Ring;
use crate::lower::shape::{binary, cast, fill};
use crate::product::Element;
use crate::program::{BinaryOp, BufferId, Expr, Local, Pipe, Relation};

/// Buffers for it.
pub(super) struct Rows {
    /// Rows of one side's padding.
    loaded: Ring,
    /// These and the image's own row in f32; only of short types.
    wide: Option<[BufferId; 2]>,
}

impl Rows {
    /// Bytes of local memory.
    pub(super) fn bytes(of: &Batches) -> usize {
        let (most, wide) = (Self::most(of), Self::wide_row(of));
        if most == 0 { 0 } else { 2 * most * of.pitch + if of.compute.is_short() { (most + 1) * wide } else { 0 } }
    }

    /// `None` where no rows fold.
    pub(super) fn new(b: &mut Builder, of: &Batches) -> Option<Self> {
        let (most, wide) = (Self::most(of), Self::wide_row(of));
        (most > 0).then(|| {
            let loaded = Ring::new(b, ("folded", most * of.pitch, 2), None, &[Pipe::Mte2, Pipe::V]);
            let buffers = [("folded_f32", most * wide), ("row_f32", wide)];
            let wide = of.compute.is_short().then(|| buffers.map(|(name, bytes)| b.buffer(name, bytes, 1, None)));
            Self { loaded, wide }
        })
    }

    pub(super) fn begin(&self, b: &mut Builder, of: &Batches) {
        // What is behind a row in its last block is added, too.
        let slots =
            if of.lead == 0 && of.columns.padded * of.compute.size == of.pitch { 0 } else { self.loaded.slots() };
        for slot in 0..slots {
            fill(b, self.loaded.slot_at(slot, 0), Element::U16, 0, int(Self::most(of) * of.pitch / 2));
        }
        self.loaded.begin(b);
    }

    pub(super) fn end(&self, b: &mut Builder) {
        self.loaded.end(b);
    }

    /// Most rows that are added to one.
    fn most(of: &Batches) -> usize {
        let [first, last] = Self::sources(of);
        (first[1] - first[0]).max(last[1] - last[0]) - 1
    }

    /// The rows of `grad_output` that fold into the first row of a plane and into the last one.
    fn sources(of: &Batches) -> [[usize; 2]; 2] {
        [of.rows.sources(0), of.rows.sources(of.rows.size - 1)]
    }

    /// Bytes of a row in f32.
    const fn wide_row(of: &Batches) -> usize {
        of.pitch / of.compute.size * 4
    }

    /// All of a batch.
    pub(super) fn add(&self, b: &mut Builder, of: &Lowering, batch: &Batch) {
        let h = int(of.of.rows.size);
        let [[top, own], [last, bottom]] = Self::sources(&of.of).map(|[first, end]| [first, end - 1]);
        let [from, to] = batch.planes.clone();
        b.repeat("plane", (from, to, 1), None, |b, plane| {
            let begin = plane.clone() * h;
            let end = begin.clone() + h;
            if own > top {
                b.when(begin.clone(), Relation::Ge, batch.first.clone(), |b| {
                    self.fold(b, of, (batch, &begin), (&plane, [top, own]), true);
                });
            }
            if bottom > last {
                b.when(end.clone(), Relation::Le, batch.last.clone(), |b| {
                    self.fold(b, of, (batch, &(end - 1)), (&plane, [last + 1, bottom + 1]), false);
                });
            }
        });
    }

    /// Adds some rows of a plane of `grad_output` to a row, in their order: it comes behind them, or before.
    fn fold(
        &self,
        b: &mut Builder,
        of: &Lowering,
        (batch, row): (&Batch, &Expr),
        (plane, [first, last]): (&Expr, [usize; 2]),
        behind_them: bool,
    ) {
        let Batches { compute, pitch, .. } = of.of;
        let (count, own) = (last - first, of.row(batch, row));
        let lanes = int(pitch / compute.size);
        self.loaded.enter(b);
        of.load(b, self.loaded.at(0), (plane, int(first).into()), int(count).into());
        self.loaded.pass(b, 0);
        let (others, sum, step) = match self.wide {
            None => (self.loaded.at(0), own.clone(), pitch),
            Some([others, wide]) => {
                let element = compute.element;
                cast(b, (others.at(0), Element::F32), (self.loaded.at(0), element), int(count) * lanes);
                cast(b, (wide.at(0), Element::F32), (own.clone(), element), lanes);
                (others.at(0), wide.at(0), Self::wide_row(&of.of))
            }
        };
        let add = |b: &mut Builder, operands: [&Local; 3]| {
            binary(b, BinaryOp::Add, Element::F32, operands.map(Clone::clone), lanes);
        };
        if behind_them {
            (1..count).for_each(|k| add(b, [&others, &others, &others.further(int(k * step))]));
            add(b, [&sum, &others, &sum]);
        } else {
            (0..count).for_each(|k| add(b, [&sum, &sum, &others.further(int(k * step))]));
        }
        if self.wide.is_some() {
            cast(b, (own, compute.element), (sum.clone(), Element::F32), lanes);
            of.columns.replace(b, &of.of, row.clone() - batch.first.clone(), &sum);
        }
        self.loaded.leave(b);
    }
}
