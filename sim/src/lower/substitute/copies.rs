//! Copies of single bytes by copies of blocks and the scalar unit.

use super::Substitute;
use crate::lower::builder::Builder;
use crate::lower::shape::BLOCK_BYTES;
use crate::program::{
    Burst, Content, Expr, Global, Granularity, Instruction, IntOp, Load, Local, Pad, Pipe, Place, Relation, Store,
    TensorId, Write,
};

/// Bytes of a block.
const BLOCK: i64 = BLOCK_BYTES as i64;

impl Substitute<'_> {
    /// Blocks of the UB whose place in global memory is a block, too, are loaded; what is left of each row, and its padding, is written
    /// element by element.
    pub(super) fn load(&mut self, b: &mut Builder, load: Load) {
        let Load { to, from, burst: Burst { blocks: rows, bytes, from_gap, to_gap }, pad, bypass, .. } = load;
        let size = element_size(b, from.tensor);
        let none = || (Expr::default(), Expr::default());
        let (left, right) = pad.as_ref().map_or_else(none, |pad| (pad.left.clone(), pad.right.clone()));
        let start = from.offset.clone() - left.clone();
        let pitch = bytes.clone() + from_gap;
        // Bytes of a row in the UB: with the padding in front, and with all of it.
        let used = left.clone() + bytes;
        let all = used.clone() + right;
        let to_pitch = b.round_up("blocks", all.clone(), BLOCK_BYTES) + to_gap;

        let done = self.whole_blocks(b, &[&start, &pitch], &rows, &used, |b, whole| {
            let burst = burst(&rows, whole, &pitch, &to_pitch);
            let from = Global { offset: start.clone(), ..from.clone() };
            let granularity = Granularity::Blocks;
            b.emit(Instruction::Load(Load { to: to.clone(), from, burst, granularity, pad: None, bypass }));
        });
        // Nothing has come where it is known not to; of the padding in front nothing is right yet.
        let first = b.max("first", done, left.clone());
        let missing = left.clone() + all.clone() - first.clone();
        b.when(missing, Relation::Gt, 0, |b| {
            self.by_scalar(b, Pipe::Mte2, |this, b| {
                let walk = [(&start, &pitch), (&to.offset, &to_pitch)];
                each_row(b, &rows, walk, |b, [from_row, to_row]| {
                    let local = |k: Expr| Place::Local(Local { offset: to_row.clone() + k, ..to.clone() });
                    let fill = |b: &mut Builder, range: (Expr, Expr)| {
                        let Some(Pad { element, value, .. }) = &pad else { return };
                        b.repeat("k", (range.0, range.1, size), None, |b, k| {
                            let (to, element, value) = (local(k), *element, value.clone());
                            b.emit(Instruction::Write(Write { to, element, value }));
                        });
                    };
                    fill(b, (0.into(), left));
                    let range = (&(from_row.clone() + first), &(from_row.clone() + used.clone()));
                    this.fetch(b, (from.tensor, size), range, &|at| local(at - from_row.clone()));
                    fill(b, (used, all));
                });
            });
        });
    }

    /// Whole blocks whose places are blocks are stored; what is left of each row is written element by element.
    pub(super) fn store(&mut self, b: &mut Builder, store: Store) {
        if store.add.is_some() {
            return b.emit(Instruction::Store(store));
        }
        let Store { to, from, burst: Burst { blocks: rows, bytes, from_gap, to_gap }, bypass, .. } = store;
        let size = element_size(b, to.tensor);
        let pitch = bytes.clone() + to_gap;
        let from_pitch = b.round_up("blocks", bytes.clone(), BLOCK_BYTES) + from_gap;
        let done = self.whole_blocks(b, &[&to.offset, &pitch], &rows, &bytes, |b, whole| {
            let burst = burst(&rows, whole, &from_pitch, &pitch);
            let granularity = Granularity::Blocks;
            let (to, from) = (to.clone(), from.clone());
            b.emit(Instruction::Store(Store { to, from, burst, granularity, add: None, bypass }));
        });
        b.when(done.clone(), Relation::Lt, bytes.clone(), |b| {
            self.by_scalar(b, Pipe::Mte3, |this, b| {
                let walk = [(&from.offset, &from_pitch), (&to.offset, &pitch)];
                each_row(b, &rows, walk, |b, [from_row, to_row]| {
                    let range = (&(to_row.clone() + done), &(to_row.clone() + bytes));
                    this.deliver(b, (to.tensor, size), range, &|at| {
                        Place::Local(Local { offset: from_row.clone() + at - to_row.clone(), ..from.clone() })
                    });
                });
            });
        });
    }

    /// Copies the whole blocks of `bytes` where both the first row and what lies from a row to the next one are blocks; gives how many
    /// bytes of each row that is.
    fn whole_blocks(
        &self,
        b: &mut Builder,
        [start, pitch]: &[&Expr; 2],
        rows: &Expr,
        bytes: &Expr,
        copy: impl FnOnce(&mut Builder, &Expr),
    ) -> Expr {
        let between = if rows.as_constant() == Some(1) { 0.into() } else { within_block(b, pitch) };
        if between.as_constant().is_some_and(|bytes| bytes != 0) {
            return 0.into();
        }
        let apart = within_block(b, start) + between;
        let whole = b.div("whole", bytes.clone(), BLOCK_BYTES) * BLOCK;
        match apart.as_constant() {
            Some(0) => {
                b.when(whole.clone(), Relation::Gt, 0, |b| copy(b, &whole));
                whole
            }
            Some(_) => 0.into(),
            None => {
                let done = b.register("done", Content::Int);
                b.assign(done, 0);
                b.when(apart, Relation::Eq, 0, |b| {
                    b.assign(done, whole.clone());
                    b.when(whole.clone(), Relation::Gt, 0, |b| copy(b, &whole));
                });
                done.into()
            }
        }
    }
}

/// Rows of whole blocks.
fn burst(rows: &Expr, whole: &Expr, from_pitch: &Expr, to_pitch: &Expr) -> Burst {
    let gap = |pitch: &Expr| pitch.clone() - whole.clone();
    // A single row has no gaps, whatever would come behind it.
    let single = rows.as_constant() == Some(1);
    let gaps = if single { [0.into(), 0.into()] } else { [gap(from_pitch), gap(to_pitch)] };
    let [from_gap, to_gap] = gaps;
    Burst { blocks: rows.clone(), bytes: whole.clone(), from_gap, to_gap }
}

/// Bytes from the start of a block.
fn within_block(b: &mut Builder, at: &Expr) -> Expr {
    // Multiples of a block do not matter.
    let terms = at.terms().iter().filter(|(_, factor)| factor % BLOCK != 0);
    let rest = terms.fold(Expr::from(at.constant() % BLOCK), |sum, (reg, factor)| sum + *reg * (factor % BLOCK));
    b.op("within", IntOp::Mod, rest, BLOCK)
}

/// Bytes of an element: all that is copied are whole ones.
fn element_size(b: &mut Builder, TensorId(tensor): TensorId) -> usize {
    b.source().tensors.get(usize::from(tensor)).map_or(1, |tensor| tensor.dtype.size())
}

/// Each of some rows, whose first places and distances are given.
fn each_row(b: &mut Builder, rows: &Expr, walk: [(&Expr, &Expr); 2], row: impl FnOnce(&mut Builder, [Expr; 2])) {
    if rows.as_constant() == Some(1) {
        return row(b, walk.map(|(start, _)| start.clone()));
    }
    let at = walk.map(|(start, _)| {
        let at = b.register("row_at", Content::Int);
        b.assign(at, start.clone());
        at
    });
    b.repeat("row", (0, rows.clone(), 1), None, |b, _| {
        row(b, at.map(Expr::from));
        for (at, (_, pitch)) in at.into_iter().zip(walk) {
            b.assign(at, at + pitch.clone());
        }
    });
}
