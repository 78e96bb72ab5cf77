//! Values for what a program reads.

use std::collections::HashMap;

use half::{bf16, f16};
use ubtile_tiling::Dtype;

use crate::exec::Global;
use crate::program::{
    Assume, BufferId, Instruction, Load, Node, Numbers, Place, Program, Read, Source, TensorId, VectorOp, visit,
};

use super::choices::Choices;

/// Kinds of values. Whole numbers follow what the program assumes of its reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Whole numbers from -8 to 8: few of them have sums that are exact in any order.
    Whole,
    /// Floating-point numbers in -2..2, whole numbers of all sizes.
    Ordinary,
    /// The same, and one in four is what arithmetic treats specially: NaN, infinite, a zero, subnormal, the largest; of whole numbers
    /// the ends.
    Special,
}

impl Values {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Whole, Self::Ordinary, Self::Special];
}

/// Global memory with values in all tensors that are given; `None` where there is not so much memory.
///
/// A tensor that the scalar unit reads, from where it is or from a buffer that it is loaded to, has values that all of these reads
/// assume. Where no range is assumed of whole numbers and the program computes addresses of what it reads (gathers, scatters, reads
/// without one), they are 0.
#[must_use]
pub fn inputs(program: &Program, values: Values, choices: &mut Choices<'_>) -> Option<Global> {
    let mut global = Global::new(program)?;
    let (assumed, addresses) = (assumptions(program.source()), addresses_by_data(program.source()));
    for (id, tensor) in (0..).map(TensorId).zip(&program.source().tensors) {
        if !tensor.role.is_given() {
            continue;
        }
        let size = tensor.dtype.size();
        let whole =
            !matches!(tensor.dtype, Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64 | Dtype::C64 | Dtype::C128);
        for bytes in global.tensor_mut(id).chunks_mut(size) {
            let word = match assumed.get(&id) {
                Some(assume) if whole => assume.pick(choices.bits(64)).cast_unsigned(),
                _ if whole && addresses => 0,
                _ => word(tensor.dtype, values, choices),
            };
            match tensor.dtype {
                // Two numbers.
                Dtype::C64 | Dtype::C128 => {
                    let (first, second) = bytes.split_at_mut(size / 2);
                    let more = self::word(tensor.dtype, values, choices);
                    first.copy_from_slice(&word.to_le_bytes()[..size / 2]);
                    second.copy_from_slice(&more.to_le_bytes()[..size / 2]);
                }
                _ => bytes.copy_from_slice(&word.to_le_bytes()[..size]),
            }
        }
    }
    Some(global)
}

/// From -8 to 8, the simplest ones first.
fn whole(choices: &mut Choices<'_>) -> i64 {
    let number = choices.below(17).cast_signed();
    if number % 2 == 0 { -number / 2 } else { number / 2 + 1 }
}

/// An element, or a part of a complex one, in the lowest bytes.
fn word(dtype: Dtype, values: Values, choices: &mut Choices<'_>) -> u64 {
    let special = values == Values::Special && choices.one_in(4);
    match dtype {
        Dtype::Bool => choices.bits(1),
        Dtype::I8 | Dtype::U8 | Dtype::I16 | Dtype::I32 | Dtype::I64 => match values {
            Values::Whole if dtype == Dtype::U8 => choices.below(17),
            Values::Whole => whole(choices).cast_unsigned(),
            _ if special => {
                *choices.pick(&[0, u64::MAX, 1, 0x7fff_ffff_ffff_ffff, 1 << 31, 1 << 15, 0x7fff_ffff, 0x7fff])
            }
            _ => choices.bits(64),
        },
        _ => {
            #[expect(clippy::cast_precision_loss, reason = "numbers of few digits")]
            let number = match values {
                Values::Whole => whole(choices) as f32,
                _ if special => *choices.pick(&[
                    f32::NAN,
                    f32::INFINITY,
                    f32::NEG_INFINITY,
                    0.0,
                    -0.0,
                    1e-45,
                    6e-8,
                    f32::MIN_POSITIVE,
                    f32::MAX,
                    65504.0,
                    f32::from_bits(0xff81_2345),
                ]),
                // 0 for the bits 0.
                _ => (choices.bits(20) ^ 1 << 19) as f32 / 262_144.0 - 2.0,
            };
            match dtype {
                Dtype::F16 => f16::from_f32(number).to_bits().into(),
                Dtype::Bf16 => bf16::from_f32(number).to_bits().into(),
                Dtype::F32 | Dtype::C64 => number.to_bits().into(),
                _ => f64::from(number).to_bits(),
            }
        }
    }
}

/// Of each tensor that the scalar unit reads, what all reads assume; the first one where they agree on nothing.
fn assumptions(source: &Source) -> HashMap<TensorId, Numbers> {
    let mut loads: Vec<(BufferId, TensorId)> = Vec::new();
    let mut reads: Vec<(&Place, Numbers)> = Vec::new();
    visit(&source.body, &mut |_, node| {
        let Node::Do(statement) = node else { return };
        match &statement.instruction {
            Instruction::Load(Load { to, from, .. }) => loads.push((to.buffer, from.tensor)),
            Instruction::Read(Read { from, assume: Some(Assume::Each(values)), .. }) => reads.push((from, *values)),
            _ => {}
        }
    });
    let mut found: HashMap<TensorId, Numbers> = HashMap::new();
    for (place, assume) in reads {
        let tensors: Vec<_> = match place {
            Place::Global(global) => vec![global.tensor],
            Place::Local(local) => {
                loads.iter().filter(|(buffer, _)| *buffer == local.buffer).map(|(_, tensor)| *tensor).collect()
            }
        };
        for tensor in tensors {
            found.entry(tensor).and_modify(|known| *known = both(*known, assume)).or_insert(assume);
        }
    }
    found
}

/// What two reads assume.
fn both(a: Numbers, b: Numbers) -> Numbers {
    let (from, to) = (a.from.max(b.from), a.to.min(b.to));
    if from < to && a.step == b.step && a.from.wrapping_sub(b.from) % a.step == 0 {
        Numbers { from, to, step: a.step }
    } else {
        a
    }
}

/// Whether data decide where something is.
fn addresses_by_data(source: &Source) -> bool {
    let mut found = false;
    visit(&source.body, &mut |_, node| {
        let Node::Do(statement) = node else { return };
        found |= match &statement.instruction {
            Instruction::Vector(vector) => {
                matches!(vector.op, VectorOp::Gather(_) | VectorOp::GatherBlocks(_) | VectorOp::Scatter(_))
            }
            // Data do not follow registers.
            Instruction::Read(read) => !matches!(read.assume, Some(Assume::Each(_))),
            _ => false,
        };
    });
    found
}
