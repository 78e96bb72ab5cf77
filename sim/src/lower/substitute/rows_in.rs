//! Rows of global memory that begin anywhere, shifted on their way to where they belong in the UB.
//!
//! MTE2 brings the blocks that rows touch. Rows whose distance from a block is the same are shifted together: sixteen of them are
//! transposed, the lanes in front and behind are cleared, and what is transposed back begins at the lane that is to be the first.

use super::Substitute;
use super::copies::{MOST_GAP, padding};
use super::shift::{
    ROWS, Shifting, TURNED, block_behind, block_of, clear, hand_over, of_class, period, quotient, turn,
};
use crate::lower::builder::{Builder, int};
use crate::lower::shape::BLOCK_BYTES;
use crate::program::{Burst, Expr, Global, Granularity, Instruction, Load, Move, Pipe, Relation, Scalar};

const BLOCK: i64 = BLOCK_BYTES as i64;
/// Bytes of a row that is too long to be shifted at a time.
const LONG: usize = 1 << 20;
/// Most blocks of a row for which one transposition takes a block of all rows, instead of all blocks of sixteen rows.
const NARROW: usize = 4;

/// What is known of rows when the program is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Bytes from a row to the next one: in global memory, and in the UB.
    pitch: usize,
    to_pitch: usize,
    /// After how many rows one is again as far from a block as the first.
    period: usize,
    /// Most blocks of a row that are shifted at a time.
    blocks: usize,
    /// Rows that are fetched at a time, as many of each distance from a block; and the blocks from one to the next of a distance.
    most: usize,
    fetched: usize,
    /// Distances from a block whose rows are fetched at a time.
    classes: usize,
    /// Whether they are fetched together with what lies between them.
    together: bool,
    /// Sixteens of rows that are transposed at a time.
    sixteens: usize,
    bypass: bool,
}

/// Bytes of each row: where the first begins in global memory, what comes before, what they are, and what comes behind in the UB.
struct Row {
    at: Expr,
    left: Expr,
    bytes: Expr,
    whole: Expr,
}

impl Shape {
    /// Of rows that can be shifted; the bytes that are there for it.
    pub(super) fn of(load: &Load, to_pitch: &Expr, size: usize, bytes: usize) -> Option<Self> {
        let constant = |expr: &Expr| usize::try_from(expr.as_constant()?).ok();
        let single = load.burst.blocks.as_constant() == Some(1);
        // A row of a length that nobody knows yet comes in parts.
        let to_pitch = constant(to_pitch).or(single.then_some(LONG))?;
        let pitch =
            if single { Some(to_pitch) } else { constant(&(load.burst.bytes.clone() + load.burst.from_gap.clone())) }?;
        let zero = load.pad.as_ref().is_none_or(|pad| pad.value == Scalar::from(0));
        if !size.is_multiple_of(2) || !zero || pitch == 0 || to_pitch == 0 {
            return None;
        }
        let (period, all) = (period(pitch), to_pitch / BLOCK_BYTES);
        let together = |blocks: usize| {
            let most = (bytes - 2 * BLOCK_BYTES) / pitch;
            let most = most.min(period * bytes / ((blocks | 1) * BLOCK_BYTES)) / (ROWS * period) * ROWS * period;
            (most > 0 && pitch <= 2 * (to_pitch + BLOCK_BYTES) && (blocks | 1) <= bytes / TURNED).then_some((
                blocks,
                most,
                period * pitch / BLOCK_BYTES,
                period,
                true,
            ))
        };
        // Sixteen whole rows of as many distances as there is room for.
        let in_turn = || {
            let classes = (bytes / (TURNED * (all + 1))).min(period);
            let alike = if classes == period { bytes / (TURNED * (all + 1) * period) } else { 1 };
            (classes > 0 && period > 1).then_some((all, alike * ROWS * period, all + 1, classes, false))
        };
        let in_parts = || {
            let widest = (bytes / (TURNED * period)).checked_sub(1)?;
            // Blocks of a row and the next one's are not the same.
            let widest = if period == 1 { widest.min(pitch / BLOCK_BYTES - 2) } else { widest };
            let blocks = all.min(widest);
            let row = (blocks + 1) * BLOCK_BYTES;
            (blocks > 0).then(|| (blocks, bytes / row / (ROWS * period) * ROWS * period, blocks + 1, period, false))
        };
        // Rows that are known not to share a block are fetched one by one, to where no two of sixteen meet in a bank.
        let known = |touched: usize| {
            let fetched = touched | 1;
            let most = bytes / (fetched * BLOCK_BYTES) / ROWS * ROWS;
            (most > 0 && (all | 1) <= bytes / TURNED && touched * BLOCK_BYTES <= pitch)
                .then_some((all, most, fetched, period, false))
        };
        let known = touched(load).filter(|_| period == 1).and_then(known);
        let apart = || (pitch >= 2 * BLOCK_BYTES).then(|| in_turn().or_else(in_parts))?;
        let (blocks, most, fetched, classes, together) = known.or_else(|| together(all)).or_else(apart)?;
        let sixteens = (most / period / ROWS).min(bytes / ((blocks + 3) * TURNED));
        let (most, sixteens) =
            if blocks <= NARROW && sixteens > 1 { (sixteens * ROWS * period, sixteens) } else { (most, 1) };
        Some(Self { pitch, to_pitch, period, blocks, most, fetched, classes, together, sixteens, bypass: load.bypass })
    }
}

/// Blocks that each row of a load touches, where the program's writer knows.
fn touched(load: &Load) -> Option<usize> {
    let from = &load.from.offset;
    let bytes = usize::try_from(load.burst.bytes.as_constant()?).ok()?;
    let ahead = usize::try_from(from.constant().rem_euclid(BLOCK)).ok()?;
    let alike = from.terms().iter().all(|(_, factor)| factor % BLOCK == 0);
    alike.then(|| (ahead + bytes).div_ceil(BLOCK_BYTES))
}

impl Substitute<'_> {
    /// So many rows of a load, padded with zeros.
    pub(super) fn rows_in(&mut self, b: &mut Builder, load: &Load, shape: Shape, rows: &Expr, bytes: usize) {
        let shifting = self.shifting(b, bytes);
        let (left, right) = padding(load.pad.as_ref());
        let used = left.clone() + load.burst.bytes.clone();
        let whole = block_behind(b, &(used.clone() + right));
        let all = shape.to_pitch / BLOCK_BYTES;
        b.interrupt();
        if all <= shape.blocks {
            let row = Row { at: load.from.offset.clone(), left, bytes: load.burst.bytes.clone(), whole };
            batches(b, shifting, load, shape, &row, rows);
        } else {
            let step = shape.blocks * BLOCK_BYTES;
            b.repeat("part", (0, whole.clone(), step), None, |b, part| {
                let first = b.max("first", part.clone(), left.clone());
                let end = part.clone() + int(step);
                let last = b.min("last", end.clone(), used.clone());
                let row = Row {
                    at: load.from.offset.clone() - left.clone() + first.clone(),
                    left: first.clone() - part.clone(),
                    bytes: last - first,
                    whole: b.min("end", end, whole.clone()) - part.clone(),
                };
                batches(b, shifting, &Load { to: load.to.further(part), ..load.clone() }, shape, &row, rows);
            });
        }
        b.settle();
    }
}

/// As many rows at a time as are fetched.
fn batches(b: &mut Builder, shifting: Shifting, load: &Load, shape: Shape, row: &Row, rows: &Expr) {
    b.repeat("batch", (0, rows.clone(), shape.most), None, |b, first| {
        let rows = b.min("rows", int(shape.most), rows.clone() - first.clone());
        let row = Row {
            at: row.at.clone() + first.clone() * int(shape.pitch),
            left: row.left.clone(),
            bytes: row.bytes.clone(),
            whole: row.whole.clone(),
        };
        let load = Load { to: load.to.further(first * int(shape.to_pitch)), ..load.clone() };
        let some = |b: &mut Builder, first: Expr, end: Expr| {
            fetch(b, shifting, &load, shape, &row, &rows, [&first, &end]);
            hand_over(b, Pipe::Mte2, Pipe::V);
            let start = block_of(b, &row.at);
            b.repeat("class", (first.clone(), end, 1), None, |b, class| {
                alike(b, shifting, &load, shape, &row, (&rows, &start), [&first, &class]);
            });
            hand_over(b, Pipe::V, Pipe::Mte2);
        };
        if shape.classes == shape.period {
            return some(b, 0.into(), int(shape.period).into());
        }
        b.repeat("classes", (0, int(shape.period), shape.classes), None, |b, first| {
            let end = b.min("end", int(shape.period), first.clone() + int(shape.classes));
            some(b, first, end);
        });
    });
}

/// The blocks that rows of some distances from a block touch.
fn fetch(
    b: &mut Builder,
    shifting: Shifting,
    load: &Load,
    shape: Shape,
    row: &Row,
    rows: &Expr,
    [first, end]: [&Expr; 2],
) {
    let Shape { pitch, period, .. } = shape;
    let copy = |b: &mut Builder, to: Expr, low: Expr, burst: Burst| {
        let (to, from) = (shifting.fetched.at(to), Global { offset: low, ..load.from.clone() });
        let granularity = Granularity::Blocks;
        b.emit(Instruction::Load(Load { to, from, burst, granularity, pad: None, bypass: shape.bypass }));
    };
    if shape.together {
        let low = block_of(b, &row.at);
        let end = row.at.clone() + (rows.clone() - 1) * int(pitch) + row.bytes.clone();
        let up = block_behind(b, &end);
        return copy(b, 0.into(), low.clone(), Burst::of(up - low));
    }
    b.repeat("class", (first.clone(), end.clone(), 1), None, |b, class| {
        let rows = of_class(b, rows, &class, period);
        b.when(rows.clone(), Relation::Gt, 0, |b| {
            let at = row.at.clone() + class.clone() * int(pitch);
            let low = block_of(b, &at);
            let bytes = block_behind(b, &(at + row.bytes.clone())) - low.clone();
            let (from_pitch, to_pitch) = (int(period * pitch), int(shape.fetched) * BLOCK);
            let to = (class - first.clone()) * (int(shape.most / period * shape.fetched) * BLOCK);
            if from_pitch > MOST_GAP {
                return b.repeat("row", (0, rows, 1), None, |b, row| {
                    let from = low.clone() + row.clone() * from_pitch;
                    copy(b, to.clone() + row * to_pitch, from, Burst::of(bytes.clone()));
                });
            }
            let [from_gap, to_gap] = [from_pitch, to_pitch].map(|pitch| Expr::from(pitch) - bytes.clone());
            copy(b, to, low, Burst { blocks: rows, bytes, from_gap, to_gap });
        });
    });
}

/// The rows that are as far from a block as one, from what was fetched from `start` on, or of the distances from a first one on, to
/// their places.
fn alike(
    b: &mut Builder,
    shifting: Shifting,
    load: &Load,
    shape: Shape,
    row: &Row,
    (rows, start): (&Expr, &Expr),
    [first_class, class]: [&Expr; 2],
) {
    let Shape { pitch, to_pitch, period, sixteens, blocks, .. } = shape;
    let rows = of_class(b, rows, class, period);
    let at = row.at.clone() + class.clone() * int(pitch);
    let low = if period == 1 { start.clone() } else { block_of(b, &at) };
    let ahead = at - low.clone();
    let touched = quotient(b, "touched", &(ahead.clone() + row.bytes.clone() + (BLOCK - 1)), BLOCK_BYTES);
    let whole = quotient(b, "blocks", &row.whole, BLOCK_BYTES);
    let from = if shape.together {
        low - start.clone()
    } else {
        (class.clone() - first_class.clone()) * (int(shape.most / period * shape.fetched) * BLOCK)
    };
    let from = shifting.fetched.at(from);
    // Two bytes are a lane, and a lane is a block of each sixteen.
    let lane = int(sixteens * BLOCK_BYTES / 2);
    let front = int(sixteens * TURNED);
    let turned = |bytes: Expr| shifting.turned.at(bytes * lane + front);
    let first = turned(ahead.clone() - row.left.clone());
    let odd = blocks | 1;
    let cleared = |b: &mut Builder| {
        if load.pad.is_some() {
            let behind = ahead.clone() + row.bytes.clone();
            let right = row.whole.clone() - row.left.clone() - row.bytes.clone();
            clear(b, [(first.clone(), row.left.clone() * (lane / 2)), (turned(behind), right * (lane / 2))]);
        }
    };
    let put = |b: &mut Builder, first: Expr, rows: Expr| {
        let to = load.to.further(class.clone() * int(to_pitch) + first * int(period * to_pitch));
        let gap = |pitch: usize| Expr::from(int(pitch)) - row.whole.clone();
        let burst = Burst {
            blocks: rows,
            bytes: row.whole.clone(),
            from_gap: gap(odd * BLOCK_BYTES),
            to_gap: gap(period * to_pitch),
        };
        b.copy(Move { to, from: shifting.rows.at(0), burst });
    };
    if sixteens == 1 {
        b.repeat("sixteen", (0, rows.clone(), ROWS), None, |b, sixteen| {
            let from = from.further(sixteen.clone() * (int(shape.fetched) * BLOCK));
            turn(b, (turned(0.into()), 1, ROWS), (from, shape.fetched, 1), touched);
            cleared(b);
            turn(b, (shifting.rows.at(0), odd, 1), (first.clone(), 1, ROWS), whole);
            let rows = b.min("rows", int(ROWS), rows - sixteen.clone());
            put(b, sixteen, rows);
        });
        return;
    }
    let repeats = b.div("sixteens", rows.clone() + (int(ROWS) - 1), ROWS);
    b.when(rows.clone(), Relation::Gt, 0, |b| {
        b.repeat("block", (0, touched, 1), None, |b, at| {
            let to = turned(at.clone() * BLOCK);
            let from = (from.further(at * BLOCK), shape.fetched, ROWS * shape.fetched);
            turn(b, (to, sixteens, 1), from, repeats.clone());
        });
        cleared(b);
        b.repeat("block", (0, whole, 1), None, |b, at| {
            let to = (shifting.rows.at(at.clone() * BLOCK), odd, ROWS * odd);
            turn(b, to, (first.further(at * front), sixteens, 1), repeats.clone());
        });
        put(b, 0.into(), rows);
    });
}
