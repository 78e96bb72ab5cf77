//! Windows of sixteen lanes, added to their sums.

use super::{BLOCK, Lowering, SUMS};
use crate::lower::builder::{Builder, int};
use crate::lower::shape::{PER_BLOCK, stride};
use crate::product::Element;
use crate::program::{BinaryOp, Expr, Mask, Relation, Vector, VectorOp};

/// Most columns that are added at a time, where each is a repeat.
const MOST: usize = 240;
/// All of eight lanes but the first.
const BUT_THE_FIRST: u128 = 0xfe;

/// Where windows of a tap are: the sum of the first, itself, and the columns of each row.
pub(super) struct Places<'a> {
    pub(super) of: &'a Lowering,
    pub(super) target: Expr,
    pub(super) source: Expr,
    pub(super) columns: Expr,
}

/// Repeats of an instruction: their window and its sum, from a block to the next one and from a repeat, in elements, and how many.
struct Repeats<'a> {
    window: [Expr; 2],
    blocks: [usize; 2],
    repeats: [usize; 2],
    count: &'a Expr,
}

impl Places<'_> {
    /// Adds so many rows of windows, eight columns of eight lanes a repeat.
    pub(super) fn add(&self, b: &mut Builder, windows: &Expr) {
        let of = &self.of.of;
        let ([sh, sw], lw) = (of.stride, of.windows[1]);
        let both = |b: &mut Builder, window: [Expr; 2], count: &Expr, mask: &Mask, repeats: [usize; 2]| {
            let some = Repeats { window, blocks: [sw, 1], repeats, count };
            (0..SUMS).for_each(|half| self.some(b, &some, half, mask.clone(), half > 0));
        };
        if !of.adds_along() {
            return b.repeat("eight", (0, self.columns.clone(), PER_BLOCK), None, |b, column| {
                let some = b.min("some", int(PER_BLOCK), self.columns.clone() - column.clone());
                let mask = Mask::First(some * int(PER_BLOCK));
                both(b, [0.into(), column], windows, &mask, [sh * of.width, lw]);
            });
        }
        let whole = b.div("eights", self.columns.clone(), PER_BLOCK);
        let rest = self.columns.clone() - whole.clone() * int(PER_BLOCK);
        b.repeat("row", (0, windows.clone(), 1), None, |b, row| {
            b.when(whole.clone(), Relation::Gt, 0, |b| {
                both(b, [row.clone(), 0.into()], &whole, &Mask::All, [PER_BLOCK * sw, PER_BLOCK]);
            });
            b.when(rest.clone(), Relation::Gt, 0, |b| {
                let mask = Mask::First(rest * int(PER_BLOCK));
                both(b, [row, whole.clone() * int(PER_BLOCK)], &1.into(), &mask, [0, 0]);
            });
        });
    }

    /// Adds so many rows of windows of strips from one on, which not all strips have: the first one has none in front of the plane, and
    /// the last ones have none behind it.
    pub(super) fn add_strips(&self, b: &mut Builder, [first, windows]: [&Expr; 2], lanes: &Expr) {
        let of = &self.of.of;
        let (lh, each) = (int(of.windows[0]), of.lane_windows());
        // How many strips have a row.
        let having = |b: &mut Builder, row: Expr| b.div("strips", Expr::from(lh) - row + int(each - 1), each);
        let of_last = having(b, first.clone() + windows.clone() - 1);
        let all = b.min("all", first.clone(), of_last - lanes.clone());
        b.either(
            all,
            Relation::Ge,
            0,
            |b| self.add(b, windows),
            |b| {
                b.repeat("row", (0, windows.clone(), 1), None, |b, row| {
                    let having = having(b, first.clone() + row.clone());
                    b.when(having.clone(), Relation::Gt, 0, |b| self.edge(b, first, &row, &having));
                });
            },
        );
    }

    /// Adds a row of windows, which so many strips have; the first one has none before the plane's first.
    fn edge(&self, b: &mut Builder, first: &Expr, row: &Expr, having: &Expr) {
        let sw = self.of.of.stride[1];
        b.repeat("column", (0, self.columns.clone(), MOST), None, |b, column| {
            let count = b.min("columns", int(MOST), self.columns.clone() - column.clone());
            let window = [row.clone(), column];
            let some = Repeats { window, blocks: [0, 0], repeats: [sw, 1], count: &count };
            let eight = int(PER_BLOCK);
            b.either(
                first.clone() + row.clone(),
                Relation::Lt,
                0,
                |b| self.some(b, &some, 0, Mask::Bits(BUT_THE_FIRST), false),
                |b| {
                    let lanes = b.min("lanes", eight, having.clone());
                    self.some(b, &some, 0, Mask::First(lanes), false);
                },
            );
            b.when(having.clone(), Relation::Gt, eight, |b| {
                let lanes = b.min("lanes", eight, having.clone() - eight);
                self.some(b, &some, 1, Mask::First(lanes), false);
            });
        });
    }

    /// Eight lanes of some repeats; perhaps of others than the instruction before.
    fn some(&self, b: &mut Builder, some: &Repeats<'_>, half: usize, mask: Mask, apart: bool) {
        let of = &self.of.of;
        let ([sh, sw], lw) = (of.stride, of.windows[1]);
        let [row, column] = some.window.clone();
        let element = int(SUMS) * BLOCK;
        let half = int(half) * BLOCK;
        let to = self.target.clone() + row.clone() * int(sh * of.width) + column.clone() * int(sw);
        let to = self.of.sums_at(to).further(half);
        let from = if of.input.is_short() { self.of.apart } else { self.of.turned };
        let from = from.at((self.source.clone() + row * int(lw) + column) * element + half);
        let blocks = some.blocks.map(|elements| stride(SUMS * elements));
        let repeats = some.repeats.map(|elements| stride(SUMS * elements));
        let op = VectorOp::Binary(BinaryOp::Add, Element::F32);
        let add = Vector::new(op, [to.clone(), to, from]).masked(some.count.clone(), mask);
        let add = add.strides(0, blocks[0], repeats[0]).strides(1, blocks[0], repeats[0]);
        let add = add.strides(2, blocks[1], repeats[1]);
        if apart { b.vector_apart(add) } else { b.vector(add) }
    }
}
