//! Rows of global memory that begin anywhere, shifted on their way to where they belong in the UB.
//!
//! MTE2 brings the blocks that rows touch. Rows whose distance from a block is the same are shifted together: sixteen of them are
//! transposed, the lanes in front and behind are cleared, and what is transposed back begins at the lane that is to be the first.

mod fetch;

use super::Substitute;
use super::copies::{MOST_GAP, padding};
use super::shift::{
    ROWS, Shifting, TURNED, block_behind, block_of, clear, hand_over, of_class, period, quotient, turn,
};
use crate::lower::builder::{Builder, int};
use crate::lower::shape::BLOCK_BYTES;
use crate::program::{Burst, Expr, Global, Granularity, Instruction, IntOp, Load, Move, Pipe, Relation, Scalar};

use fetch::Fetch;
pub(in crate::lower) use fetch::{NARROW, SLOTS};

const BLOCK: i64 = BLOCK_BYTES as i64;
/// Bytes of a row that is too long to be shifted at a time.
const LONG: usize = 1 << 20;

/// What is known of rows when the program is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Bytes from a row to the next one: in global memory, and in the UB.
    pitch: usize,
    to_pitch: usize,
    /// After how many rows one is again as far from a block as the first.
    period: usize,
    fetch: Fetch,
    /// Sixteens of rows that are transposed at a time.
    sixteens: usize,
    bypass: bool,
}

/// Bytes of each row: where the first begins in global memory, what comes before, what they are, and what comes behind in the UB.
#[derive(Clone, Debug)]
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
        let period = period(pitch);
        let fetch = Fetch::of(load, [pitch, to_pitch], bytes)?;
        let Fetch { blocks, most, .. } = fetch;
        let sixteens = (most / period / ROWS).min(bytes / ((blocks + 3) * TURNED));
        let (most, sixteens) =
            if blocks <= NARROW && sixteens > 1 { (sixteens * ROWS * period, sixteens) } else { (most, 1) };
        let fetch = Fetch { most, ..fetch };
        Some(Self { pitch, to_pitch, period, fetch, sixteens, bypass: load.bypass })
    }
}

impl Substitute<'_> {
    /// So many rows of a load, padded with zeros.
    pub(super) fn rows_in(&mut self, b: &mut Builder, load: &Load, shape: Shape, rows: &Expr, bytes: usize) {
        let shifting = self.shifting(b, bytes);
        let (left, right) = padding(load.pad.as_ref());
        let used = left.clone() + load.burst.bytes.clone();
        let whole = block_behind(b, &(used.clone() + right));
        let all = shape.to_pitch / BLOCK_BYTES;
        let of = |load, row| In { shifting, load, shape, row, rows: rows.clone() };
        b.interrupt();
        if all <= shape.fetch.blocks {
            let row = Row { at: load.from.offset.clone(), left, bytes: load.burst.bytes.clone(), whole };
            of(load.clone(), row).batches(b);
        } else {
            let step = shape.fetch.blocks * BLOCK_BYTES;
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
                of(Load { to: load.to.further(part), ..load.clone() }, row).batches(b);
            });
        }
        b.settle();
    }
}

/// Rows on their way.
struct In {
    shifting: Shifting,
    load: Load,
    shape: Shape,
    row: Row,
    rows: Expr,
}

impl In {
    /// As many rows at a time as are fetched.
    fn batches(&self, b: &mut Builder) {
        let Fetch { most, slots, .. } = self.shape.fetch;
        let batch = |b: &mut Builder, first: Expr| {
            let rows = b.min("rows", int(most), self.rows.clone() - first.clone());
            let at = self.row.at.clone() + first.clone() * int(self.shape.pitch);
            let load = Load { to: self.load.to.further(first * int(self.shape.to_pitch)), ..self.load.clone() };
            Self { load, row: Row { at, ..self.row.clone() }, rows, shifting: self.shifting, shape: self.shape }
        };
        if slots == 1 {
            return b.repeat("batch", (0, self.rows.clone(), most), None, |b, first| batch(b, first).in_turn(b));
        }
        let flag = i64::from(b.room().stand_in_flag());
        b.when(self.rows.clone(), Relation::Gt, 0, |b| {
            self.early(b, &batch, flag);
            hand_over(b, Pipe::V, Pipe::Mte2);
        });
    }

    /// Rows of some distances after those of others.
    fn in_turn(&self, b: &mut Builder) {
        let Shape { period, fetch: Fetch { classes, .. }, .. } = self.shape;
        b.repeat("classes", (0, int(period), classes), None, |b, first| {
            let last = b.min("last", int(period), first.clone() + int(classes));
            self.fetch(b, 0.into(), [&first, &last]);
            hand_over(b, Pipe::Mte2, Pipe::V);
            self.shifts(b, &0.into(), [&first, &last]);
            hand_over(b, Pipe::V, Pipe::Mte2);
        });
    }

    /// Rows of some distances while those of others come.
    fn early(&self, b: &mut Builder, batch: &dyn Fn(&mut Builder, Expr) -> Self, flag: i64) {
        let Shape { period, fetch: Fetch { most, classes, slots, .. }, .. } = self.shape;
        let end = |first: &Expr| first.clone() + int(classes);
        // Which of the places for some distances those are in that are so many behind the first ones of all.
        let place = |b: &mut Builder, before: Expr| b.op("place", IntOp::Mod, before, int(slots * classes));
        let there = |b: &mut Builder| b.set(Pipe::Mte2, Pipe::V, flag);
        batch(b, 0.into()).fetch(b, 0.into(), [&0.into(), &int(classes).into()]);
        there(b);
        b.repeat("batch", (0, self.rows.clone(), most), None, |b, first_row| {
            let some = batch(b, first_row.clone());
            let before = b.div("before", first_row.clone(), most / period);
            let next_row = first_row + int(most);
            let distances = b.min("distances", int(period), some.rows.clone());
            b.repeat("classes", (0, distances.clone(), classes), None, |b, first| {
                let last = end(&first);
                let here = place(b, before.clone() + first.clone());
                let next = |b: &mut Builder, in_batch: &dyn Fn(&mut Builder), behind: &dyn Fn(&mut Builder)| {
                    b.either(last.clone(), Relation::Lt, distances.clone(), in_batch, |b| {
                        b.when(next_row.clone(), Relation::Lt, self.rows.clone(), behind);
                    });
                };
                let fetch = |b: &mut Builder, all: &dyn Fn(&mut Builder)| {
                    let place = place(b, before.clone() + last.clone());
                    let fetch = |b: &mut Builder, batch: &Self, [first, end]: [&Expr; 2]| {
                        all(b);
                        batch.fetch(b, place.clone(), [first, end]);
                    };
                    next(b, &|b| fetch(b, &some, [&last, &end(&last)]), &|b| {
                        let batch = batch(b, next_row.clone());
                        fetch(b, &batch, [&0.into(), &int(classes).into()]);
                    });
                };
                // Once V has come here, the flag is free, and so is where what it has shifted was.
                let free = |b: &mut Builder| hand_over(b, Pipe::V, Pipe::Mte2);
                if slots > 2 {
                    fetch(b, &|_| {});
                }
                b.wait(Pipe::Mte2, Pipe::V, flag);
                if slots == 2 {
                    fetch(b, &free);
                    next(b, &there, &there);
                } else {
                    let both = |b: &mut Builder| {
                        free(b);
                        there(b);
                    };
                    next(b, &both, &both);
                }
                some.shifts(b, &here, [&first, &last]);
            });
        });
    }

    fn shifts(&self, b: &mut Builder, place: &Expr, [first, end]: [&Expr; 2]) {
        let start = block_of(b, &self.row.at);
        b.repeat("class", (first.clone(), end.clone(), 1), None, |b, class| {
            let place = place.clone() + class.clone() - first.clone();
            self.shift(b, &start, &place, &class);
        });
    }

    /// Where the rows of a distance are fetched to, of so many places for those of one.
    fn place(&self, place: Expr) -> Expr {
        let Shape { period, fetch: Fetch { most, apart, .. }, .. } = self.shape;
        place * (int(most / period * apart) * BLOCK)
    }

    /// The blocks that rows of some distances from a block touch.
    fn fetch(&self, b: &mut Builder, place: Expr, [first, end]: [&Expr; 2]) {
        let Self { shifting, load, shape, row, rows } = self;
        let Shape { pitch, period, fetch: Fetch { apart, together, .. }, bypass, .. } = *shape;
        let copy = |b: &mut Builder, to: Expr, low: Expr, burst: Burst| {
            let (to, from) = (shifting.fetched.at(to), Global { offset: low, ..load.from.clone() });
            let granularity = Granularity::Blocks;
            b.emit(Instruction::Load(Load { to, from, burst, granularity, pad: None, bypass }));
        };
        if together {
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
                let (from_pitch, to_pitch) = (int(period * pitch), int(apart) * BLOCK);
                let to = self.place(place.clone() + class.clone() - first.clone());
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
    fn shift(&self, b: &mut Builder, start: &Expr, place: &Expr, class: &Expr) {
        let Self { shifting, load, shape, row, rows } = self;
        let Shape { pitch, to_pitch, period, fetch: Fetch { blocks, apart, together, .. }, sixteens, .. } = *shape;
        let rows = of_class(b, rows, class, period);
        let at = row.at.clone() + class.clone() * int(pitch);
        let low = if period == 1 { start.clone() } else { block_of(b, &at) };
        let ahead = at - low.clone();
        let touched = quotient(b, "touched", &(ahead.clone() + row.bytes.clone() + (BLOCK - 1)), BLOCK_BYTES);
        let whole = quotient(b, "blocks", &row.whole, BLOCK_BYTES);
        let from = if together { low - start.clone() } else { self.place(place.clone()) };
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
                let from = from.further(sixteen.clone() * (int(apart) * BLOCK));
                turn(b, (turned(0.into()), 1, ROWS), (from, apart, 1), touched);
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
                let from = (from.further(at * BLOCK), apart, ROWS * apart);
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
}
