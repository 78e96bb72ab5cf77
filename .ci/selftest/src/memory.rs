//! Tensors' memory: one block, handed out from the front.

use half::{bf16, f16};
use ubtile_tiling::Dtype;

const BYTES: usize = 48 << 10;

/// Memory for the tensors and the workspace of one case.
#[repr(C, align(64))]
pub struct Memory([u8; BYTES]);

impl Memory {
    /// All zeros.
    #[must_use]
    pub const fn new() -> Self {
        Self([0; BYTES])
    }

    /// An arena of all of it.
    pub(crate) fn arena(&mut self) -> Arena<'_> {
        Arena(&mut self.0)
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

/// What is left of the memory.
pub(crate) struct Arena<'a>(&'a mut [u8]);

impl<'a> Arena<'a> {
    /// The next bytes, aligned for every dtype; nothing where there are not so many.
    pub(crate) fn take(&mut self, bytes: usize) -> &'a mut [u8] {
        let whole = bytes.next_multiple_of(64);
        let (mine, rest) = core::mem::take(&mut self.0).split_at_mut_checked(whole).unwrap_or_default();
        self.0 = rest;
        mine.get_mut(..bytes).unwrap_or_default()
    }

    /// Elements made from a seed: small numbers with few bits, and now and then one that is special.
    pub(crate) fn filled(&mut self, dtype: Dtype, count: usize, seed: u32) -> &'a mut [u8] {
        let bytes = self.take(count * dtype.size());
        let scalar = match dtype {
            Dtype::C64 => Dtype::F32,
            Dtype::C128 => Dtype::F64,
            other => other,
        };
        let mut state = seed;
        for element in bytes.chunks_exact_mut(scalar.size().max(1)) {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let number = i32::from((state >> 20) as u16 & 0xff) - 128;
            let value = match state >> 24 {
                7 => f64::NAN,
                8 => f64::INFINITY,
                9 => -0.0,
                _ => f64::from(number) / 37.0,
            };
            // Of a NaN only that it is one is the same everywhere.
            let canonical = value.is_nan();
            match scalar {
                Dtype::F16 => put(element, if canonical { 0x7e00 } else { f16::from_f64(value).to_bits() }.to_le_bytes()),
                Dtype::Bf16 => put(element, if canonical { 0x7fc0 } else { bf16::from_f64(value).to_bits() }.to_le_bytes()),
                Dtype::F32 => {
                    put(element, if canonical { 0x7fc0_0000 } else { (value as f32).to_bits() }.to_le_bytes());
                }
                Dtype::F64 => {
                    let nan = 0x7ff8_0000_0000_0000;
                    put(element, if canonical { nan } else { value.to_bits() }.to_le_bytes());
                }
                _ => put(element, i64::from(number).to_le_bytes()),
            }
        }
        bytes
    }
}

/// The first bytes of `value` that there is room for.
pub(crate) fn put<const N: usize>(to: &mut [u8], value: [u8; N]) {
    for (to, byte) in to.iter_mut().zip(value) {
        *to = byte;
    }
}

/// FNV-1a, 64 bits.
pub(crate) fn digest(outputs: &[&[u8]]) -> u64 {
    outputs.iter().flat_map(|bytes| bytes.iter()).fold(0xcbf2_9ce4_8422_2325, |digest, &byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
