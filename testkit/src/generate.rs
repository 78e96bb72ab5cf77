//! Data for problems: ordinary, and the kind that breaks things.

use ubtile_tiling::grid_sampler_2d_backward::Problem as GridSampler;
use ubtile_tiling::max_unpool2d_backward::Problem as MaxUnpool;
use ubtile_tiling::{Dtype, Tensor, TensorDesc, TensorSlot};

use crate::data::Data;
use crate::number::{Float, component, encode, encode_integer};
use crate::rng::Rng;

/// The values of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Floats in -2..2; integers of all sizes; 0 or 1 for BOOL.
    Uniform,
    /// Whole numbers from -8 to 8 (0 or 1 for BOOL): sums of them are exact in any order.
    Integers,
    /// Every fourth one is NaN (quiet, signalling, with payload and sign), infinite, a zero, subnormal or huge; for integers the
    /// extremes. The others are as in `Uniform`.
    Specials,
}

impl Fill {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Uniform, Self::Integers, Self::Specials];
}

/// The points of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coordinates {
    /// An affine warp with a little noise, as a network makes it: neighbours sample neighbours.
    Smooth,
    /// An image moved, and turned a little or not: points in a row sample pixels in a row, with a break here and there.
    Rows,
    /// Uniform in -1.2..1.2.
    Random,
    /// Pixel centres, half-way between them, borders, ±1, far outside, around 2^24 and 2^31, beyond, infinite, NaN.
    Extreme,
    /// All points in one place, so that all gradients meet in the same pixels.
    Collide,
}

impl Coordinates {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::Smooth, Self::Rows, Self::Random, Self::Extreme, Self::Collide];
}

/// The indices of an unpooling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexFill {
    /// Different positions, as pooling makes them, as far as the plane has that many.
    Permutation,
    /// Few positions, again and again.
    Duplicates,
    /// One in eight is outside of the plane, at least one of them.
    OutOfRange,
}

/// A tensor of random values.
#[must_use]
pub fn fill(desc: TensorDesc, fill: Fill, rng: &mut Rng) -> Data {
    let dtype = component(desc.dtype).0;
    Data::from_bits_fn(desc, |_| match dtype {
        Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64 => match fill {
            Fill::Integers => encode(dtype, rng.below(17) as f64 - 8.0),
            Fill::Specials if rng.one_in(4) => special(dtype, rng),
            Fill::Specials | Fill::Uniform => encode(dtype, rng.uniform(-2.0, 2.0)),
        },
        Dtype::Bool => rng.next_u64() & 1,
        integer => match fill {
            Fill::Integers => encode_integer(integer, rng.below(17) as i64 - 8),
            Fill::Specials if rng.one_in(4) => {
                let sign = 1 << (8 * integer.size() - 1);
                rng.pick(&[sign, sign - 1, 0, 1, encode_integer(integer, -1)])
            }
            Fill::Specials | Fill::Uniform => encode_integer(integer, rng.next_u64() as i64),
        },
    })
}

/// A float that arithmetic treats specially, in bits.
fn special(dtype: Dtype, rng: &mut Rng) -> u64 {
    let format = Float::of(dtype);
    let fraction = (1u64 << format.fraction_bits) - 1;
    let infinity = encode(dtype, f64::INFINITY);
    let quiet = infinity | (fraction + 1) >> 1;
    let payload = rng.next_u64() & fraction >> 1;
    let magnitudes =
        [quiet, quiet | payload, infinity | payload | 1, infinity, 0, 1, fraction, fraction + 1, infinity - 1];
    let sign = (rng.next_u64() & 1) << (8 * dtype.size() - 1);
    rng.pick(&magnitudes) | sign
}

/// The grid of a problem.
#[must_use]
pub fn grid(problem: &GridSampler, coordinates: Coordinates, rng: &mut Rng) -> Data {
    let p = problem;
    let desc = desc_of(problem.slot(Tensor::Grid));
    let warp = [rng.uniform(0.7, 1.0), rng.uniform(-0.2, 0.2), rng.uniform(-0.1, 0.1)];
    let turn = rng.pick(&[0.0, 0.02, 0.07]);
    let place = [rng.uniform(-0.9, 0.9), rng.uniform(-0.9, 0.9)];
    Data::from_fn(desc, |i| {
        let (axis, w, h) = (i % 2, i / 2 % p.wo, i / 2 / p.wo % p.ho);
        let size = [p.wi, p.hi][axis];
        match coordinates {
            Coordinates::Smooth => {
                let [x, y] = [(2 * w + 1) as f64 / p.wo as f64 - 1.0, (2 * h + 1) as f64 / p.ho as f64 - 1.0];
                let (along, across) = if axis == 0 { (x, y) } else { (y, x) };
                let noise = rng.uniform(-0.5, 0.5) / size as f64;
                warp[0] * along + warp[1] * across + warp[2] + noise
            }
            Coordinates::Rows => {
                let (along, across, turn) = if axis == 0 { (w, h, -turn) } else { (h, w, turn) };
                let off = if rng.one_in(60) { 1.0 } else { 0.0 };
                grid_value(size, p.align_corners, along as f64 + across as f64 * turn + 3.0 * warp[2] + off)
            }
            Coordinates::Random => rng.uniform(-1.2, 1.2),
            Coordinates::Extreme => extreme(size, p.align_corners, rng),
            Coordinates::Collide => place[axis],
        }
    })
}

/// The grid value of a position in pixels.
fn grid_value(size: usize, align_corners: bool, at: f64) -> f64 {
    let size = size as f64;
    if align_corners && size > 1.0 { 2.0 * at / (size - 1.0) - 1.0 } else { (2.0 * at + 1.0) / size - 1.0 }
}

fn extreme(pixels: usize, align_corners: bool, rng: &mut Rng) -> f64 {
    let size = pixels as f64;
    let normalise = |at: f64| grid_value(pixels, align_corners, at);
    let sign = if rng.one_in(2) { -1.0 } else { 1.0 };
    let pixel = rng.below(pixels) as f64;
    match rng.below(12) {
        0 | 1 => normalise(pixel),
        2 | 3 => normalise(pixel + 0.5),
        4 => normalise(rng.pick(&[-2.0, -1.5, -1.0, -0.5, size - 1.0, size - 0.5, size, size + 0.5, size + 1.0])),
        5 => sign * rng.pick(&[1.0, 0.0, 1.0f64.next_up(), 1.0 + 2f64.powi(-10), 1.0 - 2f64.powi(-10)]),
        6 => sign * rng.uniform(1.0, 20.0),
        // Where the quotient of the reflection or the position itself stops to be exact, and where i32 ends.
        7 => normalise(sign * size * (2f64.powi(24) + rng.pick(&[-1.5, -1.0, 0.0, 1.0, 3.0]))),
        8 => normalise(sign * (2f64.powi(rng.pick(&[24, 25, 31])) + rng.pick(&[-1.0, 0.0, 1.0]))),
        9 => sign * rng.pick(&[1e9, 1e10, 1e20, f64::from(f32::MAX)]),
        10 => sign * f64::INFINITY,
        _ => f64::NAN,
    }
}

/// The indices of a problem. Without a plane to point into, all of them are 0 and outside.
#[must_use]
pub fn indices(problem: &MaxUnpool, kind: IndexFill, rng: &mut Rng) -> Data {
    let p = problem;
    let desc = desc_of(p.slot(Tensor::Indices));
    let (plane, positions) = (p.h * p.w, p.out_h * p.out_w);
    let (count, mut order) = (p.n * p.c * plane, Vec::new());
    let bad = if count > 0 { rng.below(count) } else { 0 };
    Data::from_bits_fn(desc, |i| {
        let good = match kind {
            _ if positions == 0 => 0,
            IndexFill::Permutation => {
                if i % plane == 0 {
                    order = (0..plane.max(positions)).map(|k| k % positions).collect();
                    rng.shuffle(&mut order);
                }
                order[i % plane]
            }
            IndexFill::Duplicates => rng.below(positions.min(3)) * (positions / 3).max(1) % positions,
            IndexFill::OutOfRange => rng.below(positions),
        };
        let plane_size = positions as i64;
        let outside = [-1, plane_size, -plane_size - 1, plane_size + 1, i64::from(i32::MAX), i64::from(i32::MIN)];
        let is_bad = kind == IndexFill::OutOfRange && (i == bad || rng.one_in(8));
        encode_integer(desc.dtype, if is_bad { rng.pick(&outside) } else { good as i64 })
    })
}

/// The description of a tensor of a problem.
///
/// # Panics
/// If the problem has no such tensor.
pub(crate) fn desc_of(slot: Option<TensorSlot>) -> TensorDesc {
    let TensorSlot { dtype, shape, strides, .. } = slot.expect("a tensor of this operator");
    TensorDesc { dtype, shape, strides }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::decode;
    use crate::problems;

    #[test]
    fn the_same_seed_gives_the_same_data() {
        let desc = TensorDesc::contiguous(Dtype::F16, &[100]).unwrap();
        let data = |seed| fill(desc, Fill::Specials, &mut Rng::new(seed));
        assert!(crate::bits_equal(&data(1), &data(1)).is_ok());
        assert!(crate::bits_equal(&data(1), &data(2)).is_err());
    }

    #[test]
    fn specials_are_of_all_kinds() {
        for dtype in [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64] {
            let data = fill(TensorDesc::contiguous(dtype, &[4000]).unwrap(), Fill::Specials, &mut Rng::new(1));
            let has = |kind: &dyn Fn(u64, f64) -> bool| data.offsets().any(|o| kind(data.bits(o), data.number(o)));
            let smallest = 2f64.powi(Float::of(dtype).min_exponent);
            let quiet = 1 << (Float::of(dtype).fraction_bits - 1);
            assert!(has(&|_, x| x == f64::INFINITY) && has(&|_, x| x == f64::NEG_INFINITY));
            assert!(has(&|bits, x| x.is_nan() && bits & quiet == 0) && has(&|bits, x| x.is_nan() && bits & quiet != 0));
            assert!(has(&|_, x| x == 0.0 && x.is_sign_negative()));
            assert!(has(&|_, x| x != 0.0 && x.abs() < smallest) && has(&|_, x| x == Float::of(dtype).max));
        }
    }

    #[test]
    fn extreme_grids_hit_pixel_centres_and_the_end_of_i32() {
        let problem = problems::GridSampler { n: 1, hi: 16, wi: 16, ho: 64, wo: 64, ..Default::default() }.problem();
        let data = grid(&problem, Coordinates::Extreme, &mut Rng::new(1));
        let positions: Vec<_> = data.numbers().into_iter().map(|g| ((g + 1.0) * 16.0 - 1.0) * 0.5).collect();
        let count = |kind: &dyn Fn(f64) -> bool| positions.iter().filter(|&&i| kind(i)).count();
        assert!(count(&|i| i.fract() == 0.0 && (0.0..16.0).contains(&i)) > 500);
        assert!(count(&|i| i.fract().abs() == 0.5 && (0.0..16.0).contains(&i)) > 500);
        let end = 2f64.powi(31);
        assert!(count(&|i| (i.abs() / end - 1.0).abs() < 1e-6) > 20 && count(&|i| i.abs() > 1.1 * end) > 200);
        assert!(count(&f64::is_nan) > 200);
    }

    #[test]
    fn indices_of_each_kind() {
        let problem = problems::MaxUnpool { h: 5, w: 5, out_h: 6, out_w: 6, ..Default::default() }.problem();
        let all = |kind| {
            let data = indices(&problem, kind, &mut Rng::new(1));
            data.offsets().map(|o| decode(data.dtype(), data.bits(o))).collect::<Vec<_>>()
        };
        let mut plane = all(IndexFill::Permutation)[..25].to_vec();
        plane.sort_by(f64::total_cmp);
        plane.dedup();
        assert_eq!(plane.len(), 25);
        assert!(all(IndexFill::Duplicates).iter().all(|&k| [0.0, 12.0, 24.0].contains(&k)));
        let outside = all(IndexFill::OutOfRange).iter().filter(|k| !(0.0..36.0).contains(*k)).count();
        assert!((1..60).contains(&outside));
    }
}
