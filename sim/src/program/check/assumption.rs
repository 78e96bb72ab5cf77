//! What a run without data may find at a read.

use super::{Checked, within};
use crate::product::Element;
use crate::program::isa::Field;
use crate::program::scalar::Numbers;

/// Whether there are such numbers, and an element can be each of them.
pub(super) fn numbers(element: Element, numbers: Numbers) -> Checked {
    let Numbers { from, to, step } = numbers;
    let field = |name, min, max| Field { name, min, max, multiple: 1 };
    within(field("end of the assumption", from.saturating_add(1), i64::MAX), to)?;
    within(field("step of the assumption", 1, i64::MAX), step)?;
    let (least, most) = range(element);
    within(field("start of the assumption", least, most), from)?;
    within(field("last value of the assumption", least, most), numbers.pick(u64::MAX))
}

/// The least and the largest whole number that an element can be.
const fn range(element: Element) -> (i64, i64) {
    match element {
        Element::I8 => (i8::MIN as i64, i8::MAX as i64),
        Element::U8 => (0, u8::MAX as i64),
        Element::I16 => (i16::MIN as i64, i16::MAX as i64),
        Element::U16 => (0, u16::MAX as i64),
        Element::I32 => (i32::MIN as i64, i32::MAX as i64),
        Element::U32 => (0, u32::MAX as i64),
        Element::F16 => (-65504, 65504),
        Element::I64 | Element::F32 | Element::Bf16 => (i64::MIN, i64::MAX),
    }
}
