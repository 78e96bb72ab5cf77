//! Widening and narrowing of the 16-bit floats, against `half`.

use half::{bf16, f16};

use super::everywhere;
use crate::level::Kernel;
use crate::simd::{Isa, Real, Vector};

/// The two 16-bit floats, by their bits.
#[derive(Clone, Copy, Debug)]
enum Short {
    F16,
    Bf16,
}

struct Widen<'a>(Short, &'a [u16]);

impl Kernel for Widen<'_> {
    type Output = Vec<u32>;

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) -> Vec<u32> {
        let lanes = S::F32::LANES;
        let mut out = vec![0_f32; self.1.len()];
        for (src, out) in self.1.chunks(lanes).zip(out.chunks_mut(lanes)) {
            match self.0 {
                Short::F16 => isa.load_f16(bytemuck::cast_slice(src)),
                Short::Bf16 => isa.load_bf16(bytemuck::cast_slice(src)),
            }
            .store(out);
        }
        out.iter().map(|v| v.to_bits()).collect()
    }
}

struct Narrow<'a>(Short, &'a [f32]);

impl Kernel for Narrow<'_> {
    type Output = Vec<u16>;

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) -> Vec<u16> {
        let lanes = S::F32::LANES;
        let mut out = vec![0_u16; self.1.len()];
        for (src, out) in self.1.chunks(lanes).zip(out.chunks_mut(lanes)) {
            let v = S::F32::load(isa, src);
            match self.0 {
                Short::F16 => isa.store_f16(v, bytemuck::cast_slice_mut(out)),
                Short::Bf16 => isa.store_bf16(v, bytemuck::cast_slice_mut(out)),
            }
        }
        out
    }
}

#[test]
fn every_short_float_widens_exactly() {
    // One more than a multiple of every lane count, so that a tail is among them.
    let all: Vec<u16> = (0..=u16::MAX).chain([1]).collect();
    for (level, got) in everywhere(|| Widen(Short::F16, &all)) {
        for (&h, got) in all.iter().zip(got) {
            assert_eq!(got, f16::from_bits(h).to_f32().to_bits(), "{level}: f16 {h:#06x}");
        }
    }
    for (level, got) in everywhere(|| Widen(Short::Bf16, &all)) {
        for (&h, got) in all.iter().zip(got) {
            assert_eq!(got, u32::from(h) << 16, "{level}: bf16 {h:#06x}");
        }
    }
}

fn narrows(values: &[f32]) {
    for (level, got) in everywhere(|| Narrow(Short::F16, values)) {
        for (&v, got) in values.iter().zip(got) {
            assert_eq!(got, f16::from_f32(v).to_bits(), "{level}: {v:e} ({:#010x}) to f16", v.to_bits());
        }
    }
    for (level, got) in everywhere(|| Narrow(Short::Bf16, values)) {
        for (&v, got) in values.iter().zip(got) {
            assert_eq!(got, bf16::from_f32(v).to_bits(), "{level}: {v:e} ({:#010x}) to bf16", v.to_bits());
        }
    }
}

#[test]
fn narrowing_rounds_to_nearest_even() {
    // Around every value of either type and every midpoint of two: the bits that decide, one less and one more.
    let mut values = Vec::new();
    for h in 0..=u16::MAX {
        let half = f16::from_bits(h).to_f32();
        let next = f16::from_bits(h.wrapping_add(1)).to_f32();
        for v in [
            half,
            half / 2.0 + next / 2.0,
            f32::from_bits(u32::from(h) << 16),
            f32::from_bits(u32::from(h) << 16 | 0x8000),
        ] {
            values.extend([v.to_bits().wrapping_sub(1), v.to_bits(), v.to_bits().wrapping_add(1)].map(f32::from_bits));
        }
    }
    values.extend([65504.0, 65519.99, 65520.0, 65536.0, 1e9, f32::MAX, f32::INFINITY, 5.96e-8, 2.98e-8, 2.9802323e-8]);
    values.extend((0..10).map(f32::from_bits));
    values.retain(|v| !v.is_nan());
    let negative: Vec<f32> = values.iter().map(|v| -v).collect();
    narrows(&values);
    narrows(&negative);
    narrows(&[f32::NAN.canonical()]);
}

#[test]
fn narrowing_agrees_over_a_dense_sample() {
    // A step that is odd, so that every low bit pattern turns up.
    let values: Vec<f32> = (0..=u32::MAX).step_by(1 << 9 | 1).map(f32::from_bits).filter(|v| !v.is_nan()).collect();
    narrows(&values);
}

#[test]
fn a_nan_stays_one() {
    // With any payload, also one that rounding would carry away.
    let values: Vec<f32> = [0x7f80_0001, 0x7fff_ffff, 0xffff_ffff, 0xff80_8000, 0x7fc0_0000].map(f32::from_bits).into();
    for (level, got) in everywhere(|| Narrow(Short::F16, &values)) {
        assert!(got.into_iter().all(|h| f16::from_bits(h).is_nan()), "{level}");
    }
    for (level, got) in everywhere(|| Narrow(Short::Bf16, &values)) {
        assert!(got.into_iter().all(|h| bf16::from_bits(h).is_nan()), "{level}");
    }
}
