//! What vector instructions make of memory, read from their definition: one lane at a time, addresses by the formula.

use half::{bf16, f16};
use ubtile_sim::product::{Element, Rounding};
use ubtile_sim::program::*;

/// Where lane `lane` of repeat `repeat` is.
fn address(operand: &OperandAt, size: usize, repeat: usize, lane: usize) -> usize {
    let bytes = lane * size;
    let blocks = repeat * usize::from(operand.repeat_stride) + bytes / 32 * usize::from(operand.block_stride);
    operand.at.address as usize + 32 * blocks + bytes % 32
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    Int(i64),
    Float(f32),
}

fn get(element: Element, memory: &[u8], at: usize) -> Number {
    let bytes: [u8; 8] = std::array::from_fn(|i| memory.get(at + i).copied().unwrap_or(0));
    let word = u64::from_le_bytes(bytes);
    match element {
        Element::F16 => Number::Float(f16::from_bits(word as u16).to_f32()),
        Element::Bf16 => Number::Float(bf16::from_bits(word as u16).to_f32()),
        Element::F32 => Number::Float(f32::from_bits(word as u32)),
        Element::I8 => Number::Int((word as i8).into()),
        Element::U8 => Number::Int((word as u8).into()),
        Element::I16 => Number::Int((word as i16).into()),
        Element::U16 => Number::Int((word as u16).into()),
        Element::I32 => Number::Int((word as i32).into()),
        Element::U32 => Number::Int((word as u32).into()),
        Element::I64 => Number::Int(word as i64),
    }
}

fn put(element: Element, memory: &mut [u8], at: usize, number: Number) {
    let quiet = |nan: bool, bits: u64, canonical: u64| if nan { canonical } else { bits };
    let bits = match (element, number) {
        (Element::F16, Number::Float(x)) => quiet(x.is_nan(), f16::from_f32(x).to_bits().into(), 0x7e00),
        (Element::Bf16, Number::Float(x)) => quiet(x.is_nan(), bf16::from_f32(x).to_bits().into(), 0x7fc0),
        (_, Number::Float(x)) => quiet(x.is_nan(), x.to_bits().into(), 0x7fc0_0000),
        (_, Number::Int(n)) => n as u64,
    };
    let size = size_of(element) as usize;
    memory[at..at + size].copy_from_slice(&bits.to_le_bytes()[..size]);
}

fn larger(a: f32, b: f32) -> f32 {
    if a.is_nan() {
        b
    } else if b.is_nan() || a > b {
        a
    } else {
        b
    }
}

fn smaller(a: f32, b: f32) -> f32 {
    if a.is_nan() {
        b
    } else if b.is_nan() || a < b {
        a
    } else {
        b
    }
}

/// What the instruction makes of the target's and the operands' lanes; `None` where this test does not say.
fn lane(op: VectorOp, d: Number, a: Number, b: Number, s: Number) -> Option<Number> {
    use BinaryOp as B;
    use Number::{Float, Int};
    use ScalarOp as S;
    Some(match (op, d, a, b, s) {
        (VectorOp::Binary(op, _), Float(d), Float(a), Float(b), _) => Float(match op {
            B::Add => a + b,
            B::Sub => a - b,
            B::Mul => a * b,
            B::Div => a / b,
            B::Max => larger(a, b),
            B::Min => smaller(a, b),
            B::AddRelu => {
                if a + b <= 0.0 {
                    0.0
                } else {
                    a + b
                }
            }
            B::SubRelu => {
                if a - b <= 0.0 {
                    0.0
                } else {
                    a - b
                }
            }
            B::MulAddDst => d + a * b,
            B::DstMulAdd => d * a + b,
            B::DstMulAddRelu => {
                if d * a + b <= 0.0 {
                    0.0
                } else {
                    d * a + b
                }
            }
            B::And | B::Or => return None,
        }),
        (VectorOp::Binary(op, _), Int(d), Int(a), Int(b), _) => Int(match op {
            B::Add => a + b,
            B::Sub => a - b,
            B::Mul => a.wrapping_mul(b),
            B::Max => a.max(b),
            B::Min => a.min(b),
            B::And => a & b,
            B::Or => a | b,
            // Of i16 only; the sum wraps first.
            B::AddRelu => i64::from((a + b) as i16).max(0),
            B::SubRelu => i64::from((a - b) as i16).max(0),
            B::MulAddDst => d.wrapping_add(a.wrapping_mul(b)),
            B::DstMulAdd => d.wrapping_mul(a).wrapping_add(b),
            _ => return None,
        }),
        (VectorOp::WithScalar(op, _), Float(d), Float(a), _, Float(s)) => Float(match op {
            S::Adds => a + s,
            S::Muls => a * s,
            S::Maxs => larger(a, s),
            S::Mins => smaller(a, s),
            S::LeakyRelu => {
                if a < 0.0 {
                    a * s
                } else {
                    a
                }
            }
            S::Axpy => d + a * s,
            S::Shl | S::Shr => return None,
        }),
        (VectorOp::WithScalar(op, _), Int(d), Int(a), _, Int(s)) => Int(match op {
            S::Adds => a + s,
            S::Muls => a.wrapping_mul(s),
            S::Maxs => a.max(s),
            S::Mins => a.min(s),
            S::Axpy => d.wrapping_add(a.wrapping_mul(s)),
            S::Shl => a << s,
            S::Shr => a >> s,
            S::LeakyRelu => return None,
        }),
        (VectorOp::Unary(op, _), _, Float(a), ..) => Float(match op {
            UnaryOp::Abs => a.abs(),
            UnaryOp::Relu => {
                if a <= 0.0 {
                    0.0
                } else {
                    a
                }
            }
            UnaryOp::Rec => 1.0 / a,
            UnaryOp::Sqrt => a.sqrt(),
            UnaryOp::Rsqrt => 1.0 / a.sqrt(),
            UnaryOp::Exp => a.exp(),
            UnaryOp::Ln => a.ln(),
            UnaryOp::Not | UnaryOp::Copy => return None,
        }),
        (VectorOp::Unary(UnaryOp::Not, _), _, Int(a), ..) => Int(!a),
        (VectorOp::Unary(UnaryOp::Relu, _), _, Int(a), ..) => Int(a.max(0)),
        _ => return None,
    })
}

/// The memory behind the instruction; `None` where this test does not say.
pub(super) fn expected(step: &VectorStep, memory: &[u8]) -> Option<Vec<u8>> {
    let (op, element, parts) = (step.op, step.op.element(), step.op.parts());
    let size = size_of(element) as usize;
    let mut result = memory.to_vec();
    let at = |i: usize, repeat, lane| address(&step.operands[i], parts[i].size as usize, repeat, lane);
    let scalar = get(element, &step.scalar.to_le_bytes(), 0);
    for repeat in 0..step.repeats as usize {
        let active = step.active(repeat as u32);
        let lanes: Vec<usize> = (0..op.lanes() as usize).filter(|lane| active >> lane & 1 == 1).collect();
        let before = result.clone();
        let row = repeat * op.lanes() as usize;
        let start = |i: usize| step.operands[i].at.address as usize;
        let bit = |i: usize, lane: usize| before[start(i) + (row + lane) / 8] >> (lane % 8) & 1 == 1;
        match op {
            VectorOp::Select(_) | VectorOp::SelectScalar(_) => {
                for lane in lanes {
                    let value: Vec<u8> = match (bit(1, lane), op) {
                        (true, _) => before[at(2, repeat, lane)..][..size].into(),
                        (false, VectorOp::Select(_)) => before[at(3, repeat, lane)..][..size].into(),
                        _ => step.scalar.to_le_bytes()[..size].into(),
                    };
                    result[at(0, repeat, lane)..][..size].copy_from_slice(&value);
                }
            }
            VectorOp::Compare(relation, e) | VectorOp::CompareScalar(relation, e) => {
                let last = *lanes.last()?;
                for lane in 0..(last + 1).next_multiple_of(8) {
                    let holds = active >> lane & 1 == 1 && {
                        let a = get(e, &before, at(1, repeat, lane));
                        let other = if parts.len() == 3 { get(e, &before, at(2, repeat, lane)) } else { scalar };
                        match (a, other) {
                            (Number::Int(a), Number::Int(b)) => relation.holds(Some(a.cmp(&b))),
                            (Number::Float(a), Number::Float(b)) => relation.holds(a.partial_cmp(&b)),
                            _ => return None,
                        }
                    };
                    let byte = &mut result[start(0) + (row + lane) / 8];
                    *byte = *byte & !(1 << (lane % 8)) | u8::from(holds) << (lane % 8);
                }
            }
            VectorOp::Cast { to, from, rounding } => {
                for lane in lanes {
                    let value = match (get(from, &before, at(1, repeat, lane)), rounding) {
                        // Other roundings have tests of their own; the payload of a NaN stays.
                        (Number::Float(x), _) if x.is_nan() && is_float(to) => return None,
                        (Number::Float(x), Rounding::Even) if is_float(to) => {
                            Number::Float(if to == from { x.round_ties_even() } else { x })
                        }
                        (Number::Int(n), Rounding::Even)
                            if is_float(to) && (to == Element::F32 || n.abs() < 1 << 24) =>
                        {
                            Number::Float(n as f32)
                        }
                        (Number::Float(x), Rounding::Floor) if !is_float(to) && x.abs() < 100.0 => {
                            Number::Int(x.floor() as i64)
                        }
                        _ => return None,
                    };
                    let value = match value {
                        Number::Int(n) if matches!(to, Element::U8 | Element::U16 | Element::U32) => {
                            Number::Int(n.max(0))
                        }
                        value => value,
                    };
                    put(to, &mut result, at(0, repeat, lane), value);
                }
            }
            VectorOp::Index(_) => {
                for lane in lanes {
                    let value = match scalar {
                        Number::Int(n) => Number::Int(n + (row + lane) as i64),
                        Number::Float(x) => Number::Float(x + (row + lane) as f32),
                    };
                    put(element, &mut result, at(0, repeat, lane), value);
                }
            }
            VectorOp::Duplicate(_) => {
                for lane in lanes {
                    result[at(0, repeat, lane)..][..size].copy_from_slice(&step.scalar.to_le_bytes()[..size]);
                }
            }
            VectorOp::Unary(UnaryOp::Copy, _) => {
                for lane in lanes {
                    let value: Vec<u8> = before[at(1, repeat, lane)..][..size].into();
                    result[at(0, repeat, lane)..][..size].copy_from_slice(&value);
                }
            }
            VectorOp::GatherMask(_, pattern) => {
                let (of, which) = pattern.one_of();
                // Whole repeats keep the same number; the last one begins behind them.
                let kept = repeat * op.lanes() as usize / of;
                for (n, lane) in lanes.into_iter().filter(|lane| lane % of == which).enumerate() {
                    let value: Vec<u8> = before[at(1, repeat, lane)..][..size].into();
                    result[start(0) + (kept + n) * size..][..size].copy_from_slice(&value);
                }
            }
            VectorOp::Broadcast(_) => {
                for lane in lanes {
                    let from = start(1) + (repeat * 8 + lane * size / 32) * size;
                    let value: Vec<u8> = before[from..][..size].into();
                    result[at(0, repeat, lane)..][..size].copy_from_slice(&value);
                }
            }
            VectorOp::ReducePair(_) | VectorOp::ReduceBlock(..) | VectorOp::Reduce(..) if is_float(element) => {
                let (kind, group) = match op {
                    VectorOp::Reduce(kind, _) => (kind, op.lanes() as usize),
                    VectorOp::ReduceBlock(kind, _) => (kind, 32 / size),
                    _ => (ReduceOp::Sum, 2),
                };
                let groups = op.lanes() as usize / group;
                for g in 0..groups {
                    let value = |lane: usize| match get(element, &before, at(1, repeat, lane)) {
                        Number::Float(x) if active >> lane & 1 == 1 => x,
                        _ => match kind {
                            ReduceOp::Sum => -0.0,
                            ReduceOp::Max => f32::NEG_INFINITY,
                            ReduceOp::Min => f32::INFINITY,
                        },
                    };
                    let mut values: Vec<f32> = (g * group..(g + 1) * group).map(value).collect();
                    while values.len() > 1 {
                        let round = |x: f32| match element {
                            Element::F16 => f16::from_f32(x).to_f32(),
                            Element::Bf16 => bf16::from_f32(x).to_f32(),
                            _ => x,
                        };
                        values = values
                            .chunks(2)
                            .map(|pair| match kind {
                                ReduceOp::Sum => round(pair[0] + pair[1]),
                                ReduceOp::Max => larger(pair[0], pair[1]),
                                ReduceOp::Min => smaller(pair[0], pair[1]),
                            })
                            .collect();
                    }
                    let unit = groups * size;
                    let to = start(0) + repeat * usize::from(step.operands[0].repeat_stride) * unit + g * size;
                    put(element, &mut result, to, Number::Float(values[0]));
                }
            }
            _ => {
                for lane in lanes {
                    let number = |i: usize| match parts.get(i) {
                        Some(_) => get(element, &before, at(i, repeat, lane)),
                        None => Number::Int(0),
                    };
                    let second = if parts.len() > 2 { number(2) } else { number(1) };
                    let value = self::lane(op, number(0), number(1), second, scalar)?;
                    put(element, &mut result, at(0, repeat, lane), value);
                }
            }
        }
    }
    Some(result)
}
