//! MaxUnpool2dBackward: a gather, then a cast.

use std::fmt;

use ubtile_tiling::Dtype;
use ubtile_tiling::max_unpool2d_backward::Problem;

use super::{Cell, Expected, at};
use crate::data::Data;
use crate::number::{Compute, decode, decode_integer, encode, encode_integer};

/// The operator's inputs.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// `[N, C, oH, oW]`.
    pub grad_output: Data,
    /// `[N, C, H, W]`.
    pub indices: Data,
}

/// The first index outside of the plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadIndex {
    /// Its flat position in `[N, C, H, W]`.
    pub position: usize,
    /// The index.
    pub index: i64,
}

impl fmt::Display for BadIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "index {} at flat position {} is outside of the plane", self.index, self.position)
    }
}

impl std::error::Error for BadIndex {}

/// `out[n, c, i] = grad_output[n, c, indices[n, c, i]]`, bit by bit; where the dtypes differ the element is converted.
///
/// # Errors
/// The bad index of the lowest flat position.
pub fn run(problem: &Problem, inputs: &Inputs) -> Result<Expected, BadIndex> {
    let p = problem;
    let mut cells = Vec::new();
    for position in 0..p.n * p.c * p.h * p.w {
        let (n, c) = (position / (p.w * p.h * p.c), position / (p.w * p.h) % p.c);
        let (h, w) = (position / p.w % p.h, position % p.w);
        let index = decode_integer(p.index_dtype, inputs.indices.bits(at([n, c, h, w], p.indices_strides)));
        let k = usize::try_from(index).ok().filter(|&k| k < p.out_h * p.out_w).ok_or(BadIndex { position, index })?;
        let from = at([n, c, k / p.out_w, k % p.out_w], p.grad_output_strides);
        cells.push(Cell::Bits(cast(p.dtype, p.out_dtype, inputs.grad_output.bits(from))));
    }
    Ok(Expected::new(p.out_dtype, &[p.n, p.c, p.h, p.w], Compute::of(p.dtype), cells))
}

/// The bits after a conversion: none if the dtypes are the same, integers wrap, everything else is rounded once.
fn cast(from: Dtype, to: Dtype, bits: u64) -> u64 {
    let is_float = |dtype| matches!(dtype, Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64);
    match (is_float(from), is_float(to)) {
        _ if from == to => bits,
        (true, _) => encode(to, decode(from, bits)),
        (false, true) => encode_float(to, decode_integer(from, bits)),
        (false, false) => encode_integer(to, decode_integer(from, bits)),
    }
}

/// An integer as a float, rounded once.
fn encode_float(to: Dtype, integer: i64) -> u64 {
    match to {
        Dtype::F32 => u64::from((integer as f32).to_bits()),
        Dtype::F64 => (integer as f64).to_bits(),
        _ => {
            // f64 holds 53 bits of it; what got lost is kept as a last odd bit, so that it cannot look like a tie.
            let near = integer as f64;
            let lost = near as i128 - i128::from(integer);
            let odd = match lost.signum() * i128::from(integer.signum()) {
                0 => near.to_bits(),
                1 => (near.to_bits() - 1) | 1,
                _ => near.to_bits() | 1,
            };
            encode(to, f64::from_bits(odd))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problems::MaxUnpool;
    use crate::{Fill, IndexFill, Rng, problems};

    #[test]
    fn picks_and_refuses() {
        let spec = MaxUnpool { n: 1, c: 2, h: 1, w: 2, out_h: 2, out_w: 2, ..Default::default() };
        let problem = spec.problem();
        let desc = spec.desc();
        let nan = 0xffa0_0001u64;
        let grad_output = Data::from_bits_fn(desc.grad_output, |i| nan + i as u64);
        let indices = Data::from_fn(desc.indices, |i| [3.0, 0.0, 0.0, 2.0][i]);
        let mut inputs = Inputs { grad_output, indices };
        let expected = run(&problem, &inputs).unwrap();
        assert_eq!(expected.cells, [3, 0, 4, 6].map(|i| Cell::Bits(nan + i)));
        inputs.indices.set_bits(3, 4);
        inputs.indices.set_bits(2, -1i64 as u64);
        assert_eq!(run(&problem, &inputs).unwrap_err(), BadIndex { position: 2, index: -1 });
    }

    #[test]
    fn random_permutations_keep_all_elements() {
        let problem = MaxUnpool { h: 3, w: 4, out_h: 4, out_w: 3, ..Default::default() }.problem();
        let mut rng = Rng::new(5);
        let inputs = problems::max_unpool_inputs(&problem, Fill::Specials, IndexFill::Permutation, &mut rng);
        let sorted = |data: &Data| {
            let mut bits: Vec<_> = data.offsets().map(|o| data.bits(o)).collect();
            bits.sort_unstable();
            bits
        };
        assert_eq!(sorted(&run(&problem, &inputs).unwrap().to_data()), sorted(&inputs.grad_output));
    }

    #[test]
    fn casts() {
        assert_eq!(cast(Dtype::I32, Dtype::I8, 0x1_80), 0x80);
        assert_eq!(cast(Dtype::U8, Dtype::I64, 0xff), 0xff);
        assert_eq!(cast(Dtype::I8, Dtype::I64, 0xff), u64::MAX);
        assert_eq!(cast(Dtype::Bool, Dtype::F16, 1), 0x3c00);
        assert_eq!(cast(Dtype::F32, Dtype::F32, 0x7fa0_0001), 0x7fa0_0001);
        assert_eq!(cast(Dtype::F32, Dtype::F16, 0xffa0_0001), 0x7e00);
        assert_eq!(cast(Dtype::F16, Dtype::F64, 0x8000), 1 << 63);
    }

    #[test]
    fn integers_round_once() {
        // 2^62 + 2^54 is a tie between two bf16; one more is not, but f64 cannot tell.
        let tie = (1i64 << 62) + (1 << 54);
        let bf16 = |x: f64| encode(Dtype::Bf16, x);
        let (low, high) = (bf16(2f64.powi(62)), bf16(2f64.powi(62) + 2f64.powi(55)));
        assert_eq!(encode_float(Dtype::Bf16, tie), low);
        assert_eq!(encode_float(Dtype::Bf16, tie + 1), high);
        assert_eq!(encode_float(Dtype::Bf16, tie - 1), low);
        assert_eq!(encode_float(Dtype::Bf16, -tie - 1), high | 0x8000);
        let odd_tie = (1i64 << 62) + (3 << 54);
        assert_eq!(encode_float(Dtype::Bf16, odd_tie - 1), high);
        assert_eq!(encode_float(Dtype::Bf16, odd_tie), high + 1);
        assert_eq!(encode_float(Dtype::F16, i64::MIN), 0xfc00);
        assert_eq!(encode_float(Dtype::Bf16, i64::MIN), bf16(-(2f64.powi(63))));
    }
}
