//! Instructions that move elements to other lanes, by the scalar unit.

use super::Substitute;
use super::scalar_unit::{further, read, read_float, transport};
use crate::lower::bits_of;
use crate::lower::builder::{Builder, int};
use crate::lower::shape::BLOCK_BYTES;
use crate::product::Element;
use crate::program::{
    Expr, Extent, Float, FloatOp, Instruction, Local, Mask, Pattern, Pipe, ReduceOp, Rows, Transpose, Value, Vector,
    VectorOp, Write, size_of,
};

/// Rows of a transposition, and elements of one in each row of 32-bit ones.
const ROWS: usize = 16;
const WORDS: usize = BLOCK_BYTES / 4;

impl Substitute<'_> {
    pub(super) fn permutation(&mut self, b: &mut Builder, vector: Vector) {
        let operands: Vec<_> = vector.operands.iter().map(|operand| operand.at.clone()).collect();
        let Some(count) = elements(&vector) else { return b.emit(Instruction::Vector(vector)) };
        match (vector.op, &*operands) {
            (VectorOp::Cast { to: target, from: source, .. }, [to, from]) => {
                let low_halves = (target, source) == (Element::I32, Element::I64);
                if !(low_halves && self.every_second(b, (to, from), 0, &count)) {
                    self.convert(b, (to, target), (from, source), count);
                }
            }
            (VectorOp::Gather(element), [to, table, offsets]) => {
                let size = size_of(element) as usize;
                self.by_scalar(b, Pipe::V, |_, b| {
                    b.repeat("k", (0, count, 1), None, |b, k| {
                        let offset = read(b, further(offsets, k.clone() * 4), Element::U32);
                        transport(b, further(to, k * int(size)), further(table, offset), size);
                    });
                });
            }
            (VectorOp::GatherMask(element, pattern), [to, from]) => {
                self.keep(b, (to, from), (element, pattern), &count)
            }
            (VectorOp::Broadcast(element), [to, from]) => {
                if !self.broadcast_turned(b, (to, from), size_of(element) as usize, &count) {
                    self.broadcast(b, (to, from), element, count);
                }
            }
            (VectorOp::Reduce(op @ (ReduceOp::Max | ReduceOp::Min), Element::F32), [to, from]) => {
                let op = if op == ReduceOp::Max { FloatOp::Max } else { FloatOp::Min };
                self.extreme(b, op, (to, from), &count);
            }
            _ => b.emit(Instruction::Vector(vector)),
        }
    }

    /// One of each few elements.
    fn keep(
        &mut self,
        b: &mut Builder,
        (to, from): (&Local, &Local),
        (element, pattern): (Element, Pattern),
        count: &Expr,
    ) {
        let (of, first) = pattern.one_of();
        let size = size_of(element) as usize;
        let kept = b.div("kept", count.clone() + (int(of) - 1 - int(first)), of);
        if of == 2 && size == 4 && self.every_second(b, (to, from), first, &kept) {
            return;
        }
        self.by_scalar(b, Pipe::V, |_, b| {
            b.repeat("k", (0, kept, 1), None, |b, k| {
                let from = further(from, k.clone() * int(of * size) + int(first * size));
                transport(b, further(to, k * int(size)), from, size);
            });
        });
    }

    /// The scalar unit reads each element, and a vector instruction fills a block with it.
    fn broadcast(&self, b: &mut Builder, (to, from): (&Local, &Local), element: Element, count: Expr) {
        let (bits, size) = (bits_of(element), size_of(element) as usize);
        let lanes = int(BLOCK_BYTES / size);
        b.after(Pipe::V, Pipe::S, self.room.stand_in_flag());
        b.repeat("k", (0, count, 1), None, |b, k| {
            let number = read(b, further(from, k.clone() * int(size)), bits);
            let fill = Vector::new(VectorOp::Duplicate(bits), [to.further(k * int(BLOCK_BYTES))]).scalar(number);
            b.emit(Instruction::Vector(fill.masked(1, Mask::First(lanes.into()))));
        });
        // What it has read may change again.
        b.after(Pipe::S, Pipe::V, self.room.stand_in_flag());
    }

    /// The largest or the least number of each repeat; of a number and a NaN, the number.
    fn extreme(&mut self, b: &mut Builder, op: FloatOp, (to, from): (&Local, &Local), count: &Expr) {
        const LANES: usize = 64;
        let [extreme, other] = ["extreme", "other"].map(|name| b.float_register(name));
        let repeats = b.div("repeats", count.clone() + (int(LANES) - 1), LANES);
        let take = |b: &mut Builder, by| {
            let value = Value::FloatOp(op, Float::Reg(extreme), Float::Reg(by));
            b.emit(Instruction::Let(extreme, value));
        };
        self.by_scalar(b, Pipe::V, |_, b| {
            b.repeat("repeat", (0, repeats, 1), None, |b, repeat| {
                let first = repeat.clone() * int(LANES);
                let last = b.min("last", count.clone(), first.clone() + int(LANES));
                read_float(b, extreme, further(from, first.clone() * 4), Element::F32);
                take(b, extreme);
                b.repeat("k", (first + 1, last, 1), None, |b, k| {
                    read_float(b, other, further(from, k * 4), Element::F32);
                    take(b, other);
                });
                let (to, value) = (further(to, repeat * 4), Float::Reg(extreme).into());
                b.emit(Instruction::Write(Write { to, element: Element::F32, value }));
            });
        });
    }

    /// A transposition of 32-bit elements: of block `i`, element `c` goes to half `i / 8` of column `c`.
    pub(super) fn transpose(&mut self, b: &mut Builder, transpose: Transpose) {
        if size_of(transpose.element) != 4 {
            return b.emit(Instruction::Transpose(transpose));
        }
        if self.transpose_turned(b, &transpose) {
            return;
        }
        let Transpose { element, to, from, repeats, .. } = transpose;
        let size = size_of(element) as usize;
        let blocks = |count: u16| int(usize::from(count) * BLOCK_BYTES);
        let at = |rows: &Rows, repeat: &Expr, [pair, row]: [&Expr; 2]| {
            repeat.clone() * blocks(rows.repeat) + pair.clone() * blocks(rows.pair) + row.clone() * blocks(rows.row)
        };
        self.by_scalar(b, Pipe::V, |_, b| {
            b.repeat("repeat", (0, repeats, 1), None, |b, repeat| {
                b.repeat("half", (0, 2, 1), None, |b, half| {
                    b.repeat("pair", (0, int(ROWS / 4), 1), None, |b, pair| {
                        b.repeat("odd", (0, 2, 1), None, |b, odd| {
                            let row = at(&from, &repeat, [&(half.clone() * int(ROWS / 4) + pair.clone()), &odd]);
                            let place = (pair.clone() * 2 + odd.clone()) * int(size);
                            b.repeat("word", (0, int(WORDS), 1), None, |b, word| {
                                let column = at(&to, &repeat, [&word, &half]) + place.clone();
                                let from = further(&from.at, row.clone() + word * int(size));
                                transport(b, further(&to.at, column), from, size);
                            });
                        });
                    });
                });
            });
        });
    }
}

/// Elements of an instruction on operands without gaps, from the first one on; `None` of any other.
fn elements(vector: &Vector) -> Option<Expr> {
    let dense = Vector::new(vector.op, vector.operands.iter().map(|operand| operand.at.clone()));
    if dense.operands != vector.operands {
        return None;
    }
    match (&vector.extent, vector.op) {
        (Extent::Count(count), _) => Some(count.clone()),
        // Each repeat takes eight.
        (Extent::Repeats { repeats, mask: Mask::All }, VectorOp::Broadcast(_)) => Some(repeats.clone() * 8),
        (Extent::Repeats { repeats, mask: Mask::All }, op) => Some(repeats.clone() * i64::from(op.lanes())),
        _ => None,
    }
}
