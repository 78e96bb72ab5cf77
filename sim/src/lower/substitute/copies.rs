//! Copies of single bytes by copies of blocks and the scalar unit.

use super::Substitute;
use super::rows_in::Shape as ShapeIn;
use super::rows_out::Shape as ShapeOut;
use super::shift::{ROWS, block_behind};
use crate::lower::builder::{Builder, int};
use crate::lower::shape::BLOCK_BYTES;
use crate::program::{
    Burst, Content, Expr, Global, Granularity, Instruction, IntOp, Load, Local, Pad, Pipe, Place, Relation, Store,
    TensorId, Write,
};

/// Bytes of a block.
const BLOCK: i64 = BLOCK_BYTES as i64;
/// Elements from which on vector instructions load them, and bytes from which on they store them.
const FEW: i64 = 4;
/// Bytes of a row from which on it is as good as a row of its own.
const LONG: i64 = 2 * BLOCK;
const WORTHWHILE: i64 = 192;

impl Substitute<'_> {
    /// Rows that begin and end at blocks are loaded as such, and others shifted: many by vector instructions, few by the scalar unit.
    pub(super) fn load(&mut self, b: &mut Builder, load: Load) {
        match in_rows(&load).filter(|_| self.room.shifted().is_some()) {
            Some([rows, rest]) => {
                self.load_rows(b, rows);
                b.when(rest.burst.bytes.clone(), Relation::Gt, 0, |b| self.load_rows(b, rest));
            }
            None => self.load_rows(b, load),
        }
    }

    fn load_rows(&mut self, b: &mut Builder, load: Load) {
        let size = element_size(b, load.from.tensor);
        let Load { burst: Burst { blocks: rows, bytes, from_gap, to_gap }, from, pad, .. } = &load;
        let (left, right) = padding(pad.as_ref());
        let to_pitch = block_behind(b, &(left.clone() + bytes.clone() + right)) + to_gap.clone();
        let shape = self.room.shifted().and_then(|bytes| Some((ShapeIn::of(&load, &to_pitch, size, bytes)?, bytes)));
        let Some((shape, shifted)) = shape else { return self.load_slowly(b, &load, &to_pitch) };

        let pitch = bytes.clone() + from_gap.clone();
        let misfit = misfit(b, [&from.offset, &pitch, bytes], rows) + left;
        let many = many(b, misfit, (rows, bytes), FEW * int(size));
        b.when(many.clone(), Relation::Lt, FEW * int(size), |b| self.load_slowly(b, &load, &to_pitch));
        b.when(many, Relation::Ge, FEW * int(size), |b| {
            let tensor = b.bytes_of(from.tensor);
            let inside = tensor / BLOCK * BLOCK;
            if inside == tensor {
                return self.rows_in(b, &load, shape, rows, shifted);
            }
            // Of what is behind the last whole block of the tensor nothing comes in blocks: that is the last row's, or that of as many as
            // are that short.
            let each = pitch.as_constant().unwrap_or(0);
            let apart = (rows.clone() - 1) * each;
            let over = from.offset.clone() + apart + bytes.clone() - inside;
            let short = each.clamp(1, BLOCK);
            let beyond = b.div("beyond", over + (short - 1), usize::try_from(short).unwrap_or(1));
            let beyond = b.max("beyond", 0, beyond);
            let beyond = b.min("beyond", rows.clone(), beyond);
            let rows = rows.clone() - beyond.clone();
            self.rows_in(b, &load, shape, &rows, shifted);
            b.when(beyond.clone(), Relation::Gt, 0, |b| {
                let offset = from.offset.clone() + rows.clone() * each;
                let last = Load {
                    to: load.to.further(rows * to_pitch.as_constant().unwrap_or(0)),
                    from: from.tensor.at(offset),
                    burst: Burst { blocks: beyond, ..load.burst.clone() },
                    ..load.clone()
                };
                self.load_slowly(b, &last, &to_pitch);
            });
        });
    }

    /// Blocks of the UB whose place in global memory is a block, too, are loaded; what is left of each row, and its padding, is written
    /// element by element.
    fn load_slowly(&mut self, b: &mut Builder, load: &Load, to_pitch: &Expr) {
        let Load { to, from, burst: Burst { blocks: rows, bytes, from_gap, .. }, pad, bypass, .. } = load;
        let size = element_size(b, from.tensor);
        let (left, right) = padding(pad.as_ref());
        let start = from.offset.clone() - left.clone();
        let pitch = bytes.clone() + from_gap.clone();
        // Bytes of a row in the UB: with the padding in front, and with all of it.
        let used = left.clone() + bytes.clone();
        let all = used.clone() + right;

        let done = self.whole_blocks(b, &[&start, &pitch], rows, &used, |b, whole| {
            let load = |b: &mut Builder, to: Local, from: Global, burst: Burst| {
                let granularity = Granularity::Blocks;
                b.emit(Instruction::Load(Load { to, from, burst, granularity, pad: None, bypass: *bypass }));
            };
            if far_apart(rows, &pitch) {
                return each_row(b, rows, [(&start, &pitch), (&to.offset, to_pitch)], |b, [from_row, to_row]| {
                    let to = Local { offset: to_row, ..to.clone() };
                    load(b, to, from.tensor.at(from_row), Burst::of(whole.clone()));
                });
            }
            let from = Global { offset: start.clone(), ..from.clone() };
            load(b, to.clone(), from, burst(rows, whole, &pitch, to_pitch));
        });
        // Nothing has come where it is known not to; of the padding in front nothing is right yet.
        let first = b.max("first", done, left.clone());
        let missing = left.clone() + all.clone() - first.clone();
        b.when(missing, Relation::Gt, 0, |b| {
            self.by_scalar(b, Pipe::Mte2, |this, b| {
                let walk = [(&start, &pitch), (&to.offset, to_pitch)];
                each_row(b, rows, walk, |b, [from_row, to_row]| {
                    let local = |k: Expr| Place::Local(Local { offset: to_row.clone() + k, ..to.clone() });
                    let fill = |b: &mut Builder, range: (Expr, Expr)| {
                        let Some(Pad { element, value, .. }) = pad else { return };
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

    /// Rows that begin and end at blocks are stored as such, and others like [`load`](Self::load) loads them.
    pub(super) fn store(&mut self, b: &mut Builder, store: Store) {
        if store.add.is_some() {
            return b.emit(Instruction::Store(store));
        }
        let Store { burst: Burst { blocks: rows, bytes, from_gap, to_gap }, to, from, .. } = &store;
        let size = element_size(b, to.tensor);
        let from_pitch = block_behind(b, bytes) + from_gap.clone();
        let shape =
            self.room.shifted().and_then(|bytes| Some((ShapeOut::of(&store, &from_pitch, size, bytes)?, bytes)));
        let Some((shape, shifted)) = shape else { return self.store_slowly(b, &store, &from_pitch) };

        let pitch = bytes.clone() + to_gap.clone();
        let misfit = misfit(b, [&to.offset, &pitch, bytes], rows);
        let at_once = if shape.is_dense() { rows.clone() } else { 1.into() };
        let many = many(b, misfit, (&at_once, bytes), WORTHWHILE);
        b.when(many.clone(), Relation::Lt, WORTHWHILE, |b| self.store_slowly(b, &store, &from_pitch));
        b.when(many, Relation::Ge, WORTHWHILE, |b| {
            if shape.is_dense() {
                return self.rows_out(b, &store, shape, shifted);
            }
            let walk = [(&from.offset, &from_pitch), (&to.offset, &pitch)];
            each_row(b, rows, walk, |b, [from_row, to_row]| {
                let row = Store {
                    to: to.tensor.at(to_row),
                    from: Local { offset: from_row, ..from.clone() },
                    burst: Burst::of(bytes.clone()),
                    ..store.clone()
                };
                self.rows_out(b, &row, shape, shifted);
            });
        });
    }

    /// Whole blocks whose places are blocks are stored; what is left of each row is written element by element.
    fn store_slowly(&mut self, b: &mut Builder, store: &Store, from_pitch: &Expr) {
        let Store { to, from, burst: Burst { blocks: rows, bytes, to_gap, .. }, bypass, .. } = store;
        let size = element_size(b, to.tensor);
        let pitch = bytes.clone() + to_gap.clone();
        let done = self.whole_blocks(b, &[&to.offset, &pitch], rows, bytes, |b, whole| {
            let store = |b: &mut Builder, to: Global, from: Local, burst: Burst| {
                let granularity = Granularity::Blocks;
                b.emit(Instruction::Store(Store { to, from, burst, granularity, add: None, bypass: *bypass }));
            };
            if far_apart(rows, &pitch) {
                return each_row(
                    b,
                    rows,
                    [(&from.offset, from_pitch), (&to.offset, &pitch)],
                    |b, [from_row, to_row]| {
                        let from = Local { offset: from_row, ..from.clone() };
                        store(b, to.tensor.at(to_row), from, Burst::of(whole.clone()));
                    },
                );
            }
            store(b, to.clone(), from.clone(), burst(rows, whole, from_pitch, &pitch));
        });
        b.when(done.clone(), Relation::Lt, bytes.clone(), |b| {
            self.by_scalar(b, Pipe::Mte3, |this, b| {
                let walk = [(&from.offset, from_pitch), (&to.offset, &pitch)];
                each_row(b, rows, walk, |b, [from_row, to_row]| {
                    let range = (&(to_row.clone() + done), &(to_row.clone() + bytes.clone()));
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

/// A long row as sixteen of whole blocks, which are as far from a block as each other, and what is behind them: of a single row
/// fifteen sixteenths of each transposition would be nothing.
fn in_rows(load: &Load) -> Option<[Load; 2]> {
    let Burst { blocks, bytes, .. } = &load.burst;
    let bytes = bytes.as_constant().filter(|_| blocks.as_constant() == Some(1) && load.pad.is_none())?;
    let each = bytes / int(ROWS) / BLOCK * BLOCK;
    let of = |from: i64, blocks: usize, bytes: i64| Load {
        to: load.to.further(from),
        from: load.from.tensor.at(load.from.offset.clone() + from),
        burst: Burst { blocks: int(blocks).into(), bytes: bytes.into(), from_gap: 0.into(), to_gap: 0.into() },
        ..load.clone()
    };
    let behind = int(ROWS) * each;
    (each >= LONG).then(|| [of(0, ROWS, each), of(behind, 1, bytes - behind)])
}

/// Bytes in front of each row and behind.
pub(super) fn padding(pad: Option<&Pad>) -> (Expr, Expr) {
    pad.map_or_else(Default::default, |pad| (pad.left.clone(), pad.right.clone()))
}

/// Not 0 where rows do not begin and end at blocks: where the first begins, from one to the next one, and what each is.
fn misfit(b: &mut Builder, [start, pitch, bytes]: [&Expr; 3], rows: &Expr) -> Expr {
    let between = if rows.as_constant() == Some(1) { 0.into() } else { within_block(b, pitch) };
    within_block(b, start) + between + within_block(b, bytes)
}

/// Bytes of all rows, of one where that is enough; 0 where they fit.
fn many(b: &mut Builder, misfit: Expr, (rows, bytes): (&Expr, &Expr), enough: i64) -> Expr {
    let misfit = b.min("misfit", misfit, 1);
    let bytes = match bytes.as_constant() {
        Some(bytes) if bytes >= enough => bytes.into(),
        _ => b.op("bytes", IntOp::Mul, rows.clone(), bytes.clone()),
    };
    match (misfit.as_constant(), bytes.as_constant()) {
        (Some(1), _) => bytes,
        (_, Some(bytes)) => misfit * bytes,
        _ => b.op("many", IntOp::Mul, misfit, bytes),
    }
}

/// Most bytes between the rows of a copy of blocks: what its field holds.
pub(super) const MOST_GAP: i64 = 65_535 * BLOCK;

/// Whether rows are so far apart in global memory that a copy takes one at a time.
fn far_apart(rows: &Expr, pitch: &Expr) -> bool {
    rows.as_constant() != Some(1) && pitch.as_constant().is_some_and(|pitch| pitch > MOST_GAP)
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
