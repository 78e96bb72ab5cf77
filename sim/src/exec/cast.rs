//! From one type of lanes to another.

use std::cmp::Ordering;

use half::{bf16, f16};

use super::float;
use super::lanes::Row;
use crate::product::{Element, Rounding};

/// The first `lanes` of a row in another type.
pub(super) fn cast(to: Element, from: Element, rounding: Rounding, lanes: usize, row: &Row, result: &mut Row) {
    use Element::{Bf16, F16, F32};
    let nearest = matches!(rounding, Rounding::Plain | Rounding::Even);
    match (from, to) {
        // The frequent ones, a row at a time. 64 lanes are half a row of the narrower type.
        (F16 | Bf16, F32) => float::narrow(F32, &float::widen(from, row), result),
        (F32, F16 | Bf16) if nearest => float::narrow(to, &float::widen(F32, row), result),
        (F32, F32) if rounding != Rounding::Odd => {
            for (to, from) in result.of_mut::<f32>().iter_mut().zip(row.of::<f32>()) {
                *to = whole(f64::from(*from), rounding) as f32;
            }
        }
        (F16, F16) => *result = *row,
        _ => {
            for lane in 0..lanes {
                write(to, result, lane, convert(read(from, row, lane), to, rounding));
            }
        }
    }
}

/// The value of a lane.
#[derive(Clone, Copy)]
enum Exact {
    Int(i64),
    Float(f64),
}

fn read(element: Element, row: &Row, lane: usize) -> Exact {
    match element {
        Element::F16 => Exact::Float(row.of::<f16>()[lane].to_f64()),
        Element::Bf16 => Exact::Float(row.of::<bf16>()[lane].to_f64()),
        Element::F32 => Exact::Float(row.of::<f32>()[lane].into()),
        Element::I8 => Exact::Int(row.of::<i8>()[lane].into()),
        Element::U8 => Exact::Int(row.of::<u8>()[lane].into()),
        Element::I16 => Exact::Int(row.of::<i16>()[lane].into()),
        Element::U16 => Exact::Int(row.of::<u16>()[lane].into()),
        Element::I32 => Exact::Int(row.of::<i32>()[lane].into()),
        Element::U32 => Exact::Int(row.of::<u32>()[lane].into()),
        Element::I64 => Exact::Int(row.of::<i64>()[lane]),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the element is in the lowest bytes")]
fn write(element: Element, row: &mut Row, lane: usize, bits: u64) {
    match element {
        Element::I8 | Element::U8 => row.of_mut::<u8>()[lane] = bits as u8,
        Element::F16 | Element::Bf16 | Element::I16 | Element::U16 => row.of_mut::<u16>()[lane] = bits as u16,
        Element::F32 | Element::I32 | Element::U32 => row.of_mut::<u32>()[lane] = bits as u32,
        Element::I64 => row.of_mut::<u64>()[lane] = bits,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "it saturates, as documented")]
fn convert(value: Exact, to: Element, rounding: Rounding) -> u64 {
    let int = |low: i64, high: i64| {
        let value = match value {
            Exact::Int(value) => value,
            Exact::Float(value) => whole(value, rounding) as i64,
        };
        value.clamp(low, high).cast_unsigned()
    };
    match to {
        Element::I8 => int(i8::MIN.into(), i8::MAX.into()),
        Element::U8 => int(0, u8::MAX.into()),
        Element::I16 => int(i16::MIN.into(), i16::MAX.into()),
        Element::U16 => int(0, u16::MAX.into()),
        Element::I32 => int(i32::MIN.into(), i32::MAX.into()),
        Element::U32 => int(0, u32::MAX.into()),
        Element::I64 => int(i64::MIN, i64::MAX),
        Element::F16 | Element::Bf16 | Element::F32 => {
            let exact = match value {
                Exact::Int(value) => odd_f64(value),
                Exact::Float(value) => value,
            };
            narrow(exact, to, rounding)
        }
    }
}

/// A whole number near the value.
fn whole(value: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::Floor => value.floor(),
        Rounding::Ceil => value.ceil(),
        Rounding::Zero => value.trunc(),
        Rounding::Away => value.round(),
        Rounding::Plain | Rounding::Even | Rounding::Odd => value.round_ties_even(),
    }
}

/// The number, or where f64 does not have it the neighbour with an odd mantissa: rounding that again gives what rounding the number
/// itself would give, since f64 has more than two bits to spare.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "what is lost is looked at")]
fn odd_f64(value: i64) -> f64 {
    let near = value as f64;
    let difference = i128::from(value) - near as i128;
    if difference == 0 || near.to_bits() & 1 == 1 {
        near
    } else if (difference > 0) == (near > 0.0) {
        f64::from_bits(near.to_bits() + 1)
    } else {
        f64::from_bits(near.to_bits() - 1)
    }
}

/// The bits of a neighbour of the value in a narrower type.
fn narrow(value: f64, to: Element, rounding: Rounding) -> u64 {
    #[expect(clippy::cast_possible_truncation, reason = "one of the two neighbours is all that is asked for")]
    let single = value as f32;
    // Rounded twice, it may be the farther one.
    let found: u64 = match to {
        Element::F16 => f16::from_f32(single).to_bits().into(),
        Element::Bf16 => bf16::from_f32(single).to_bits().into(),
        _ => single.to_bits().into(),
    };
    let exact = |bits: u64| f64::from(float::scalar(to, bits));
    if value.is_nan() || exact(found) == value {
        return found;
    }
    // Magnitudes of neighbours are neighbouring numbers in all these types, infinity behind the largest.
    let is_above = exact(found).abs() > value.abs();
    let (below, above) = if is_above { (found - 1, found) } else { (found, found + 1) };
    let (size, least) = (value.abs(), exact(below).abs());
    // Behind the largest number the next one would be as far as the one before.
    let most = if exact(above).is_finite() { exact(above).abs() } else { 2.0 * least - exact(below - 1).abs() };
    let order = (size - least).total_cmp(&(most - size));
    let negative = value < 0.0;
    match rounding {
        Rounding::Plain | Rounding::Even => match order {
            Ordering::Less => below,
            Ordering::Equal => below + (below & 1),
            Ordering::Greater => above,
        },
        Rounding::Away => {
            if order == Ordering::Less {
                below
            } else {
                above
            }
        }
        Rounding::Zero => below,
        Rounding::Floor => {
            if negative {
                above
            } else {
                below
            }
        }
        Rounding::Ceil => {
            if negative {
                below
            } else {
                above
            }
        }
        Rounding::Odd => below | 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(to: Element, from: Element, rounding: Rounding, bits: u64) -> u64 {
        let (mut row, mut result) = (Row::ZERO, Row::ZERO);
        write(from, &mut row, 1, bits);
        cast(to, from, rounding, 2, &row, &mut result);
        let size = crate::program::size_of(to) as usize;
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(&result.0[size..2 * size]);
        u64::from_le_bytes(bytes)
    }

    #[test]
    fn every_rounding_of_a_tie_and_its_neighbours() {
        use Rounding::{Away, Ceil, Even, Floor, Odd, Zero};
        // 1 + 2^-11 is between two f16, and so is 1 + 3 * 2^-11, whose even neighbour is the other one.
        for (value, expected) in [
            (
                1.0 + 2f32.powi(-11),
                [(Even, 0x3c00), (Away, 0x3c01), (Zero, 0x3c00), (Floor, 0x3c00), (Ceil, 0x3c01), (Odd, 0x3c01)],
            ),
            (
                -1.0 - 3.0 * 2f32.powi(-11),
                [(Even, 0xbc02), (Away, 0xbc02), (Zero, 0xbc01), (Floor, 0xbc02), (Ceil, 0xbc01), (Odd, 0xbc01)],
            ),
            (1e6, [(Even, 0x7c00), (Away, 0x7c00), (Zero, 0x7bff), (Floor, 0x7bff), (Ceil, 0x7c00), (Odd, 0x7bff)]),
            (-1e-9, [(Even, 0x8000), (Away, 0x8000), (Zero, 0x8000), (Floor, 0x8001), (Ceil, 0x8000), (Odd, 0x8001)]),
        ] {
            for (rounding, bits) in expected {
                let got = one(Element::F16, Element::F32, rounding, value.to_bits().into());
                assert_eq!(got, bits, "{value} {rounding:?}: {got:#x}");
            }
        }
    }

    /// Each bf16 with another number of bits behind it: what is lost decides, down to the last bit of an f32.
    #[test]
    fn every_rounding_of_bf16_looks_at_all_bits() {
        use Rounding::{Away, Ceil, Even, Floor, Odd, Zero};
        const TIE: u32 = 0x8000;
        for (upper, lower) in [0u32, 1, 0x3f80, 0x3f81, 0x7f7f, 0x007f, 0x4000]
            .into_iter()
            .flat_map(|upper| [1, TIE - 1, TIE, TIE + 1, TIE + 2, 0xffff].map(|lower| (upper, lower)))
        {
            let even = upper + u32::from(lower > TIE || lower == TIE && upper & 1 == 1);
            let away = upper + u32::from(lower >= TIE);
            let expected =
                [(Even, even), (Away, away), (Zero, upper), (Floor, upper), (Ceil, upper + 1), (Odd, upper | 1)];
            for (rounding, bits) in expected {
                let got = one(Element::Bf16, Element::F32, rounding, u64::from(upper << 16 | lower));
                assert_eq!(got, u64::from(bits), "{upper:#x} {lower:#x} {rounding:?}: {got:#x}");
            }
        }
    }

    /// What f32 rounds to a tie of the narrower type is none.
    #[test]
    fn whole_numbers_are_rounded_once() {
        // Between two bf16, 2^30 and 2^30 + 2^23, and a bit more, which no f32 has.
        let more = (1i64 << 30) + (1 << 22) + 1;
        let got = one(Element::F32, Element::I64, Rounding::Even, more as u64);
        assert_eq!(f32::from_bits(got as u32), (more - 1) as f32);
        assert_eq!(narrow(more as f64, Element::Bf16, Rounding::Even), 0x4e81);
        assert_eq!(narrow((more - 1) as f64, Element::Bf16, Rounding::Even), 0x4e80);
        assert_eq!(narrow((more - 2) as f64, Element::Bf16, Rounding::Away), 0x4e80);
    }

    #[test]
    fn all_f16_go_to_f32_and_back() {
        for bits in 0..=u16::MAX {
            let wide = one(Element::F32, Element::F16, Rounding::Plain, bits.into());
            let value = f16::from_bits(bits);
            assert_eq!(f32::from_bits(wide as u32).is_nan(), value.is_nan());
            if !value.is_nan() {
                for (rounding, _) in Rounding::ALL {
                    let narrow = one(Element::F16, Element::F32, rounding, wide);
                    assert_eq!(narrow, u64::from(bits), "{bits:#x} {rounding:?}");
                }
            }
        }
    }

    #[test]
    fn whole_numbers_saturate() {
        let f = |value: f32| u64::from(value.to_bits());
        let i32_of = |value| one(Element::I32, Element::F32, Rounding::Zero, f(value)) as u32 as i32;
        assert_eq!((i32_of(1e20), i32_of(-1e20), i32_of(f32::NAN), i32_of(-1.9)), (i32::MAX, i32::MIN, 0, -1));
        assert_eq!(one(Element::I16, Element::I32, Rounding::Plain, 70_000), 32_767);
        // 2^53 + 1 is no f64, and its f32 is 2^53 or the next one.
        let big = (1i64 << 53) + 1;
        let f32_of = |rounding| f32::from_bits(one(Element::F32, Element::I64, rounding, big as u64) as u32);
        assert_eq!(f32_of(Rounding::Even), 2f32.powi(53));
        assert_eq!(f32_of(Rounding::Ceil), 2f32.powi(53) + 2f32.powi(30));
    }
}
