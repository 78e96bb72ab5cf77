//! aclnnReflectionPad2dBackward: the gradient of padding by mirror images, without the edge.
//!
//! `grad_input[n, c, h, w]` is the sum of `grad_output[n, c, i, j]` over the positions whose mirror image is `(h, w)`: row `i` of
//! the padded image shows row `|i - top|`, and behind the last row `H - 1` row `2 (H - 1) - (i - top)`. Computed here, one element
//! after the other in the order of `grad_output`, from +0.0; F16 and BF16 in f32, rounded once; a NaN is stored as the canonical one.

use std::ops::AddAssign;

use half::{bf16, f16};
use ubtile_kernels::{Values, ValuesMut};
use ubtile_tiling::{Problem, Tensor, replication_pad2d_backward as pad};

use super::replication_pad2d_backward::{Checked, Handles};
use super::{Elements, Work};
use crate::executor::{Prepared, workspace_of};
use crate::failure::{Failure, Outcome, code};
use crate::soc::Known;

/// Phase 1: the rules of replication padding, and paddings below the sizes they mirror.
pub(crate) fn prepare(handles: &Handles, known: &Known) -> Outcome<Prepared> {
    // Whose rules they are is not whom the caller asked.
    let named = |f: Failure| Failure { message: f.message.replace("ReplicationPad", "ReflectionPad"), ..f };
    let Checked { arguments, padding, problem } = handles.check(known).map_err(named)?;
    for (i, (&got, size)) in padding.iter().zip([problem.w, problem.w, problem.h, problem.h]).enumerate() {
        if usize::try_from(got).is_ok_and(|got| got >= size) {
            let message = format!("padding[{i}] is {got}: less than self's size there, {size}, is required");
            return Err(Failure::new(code::PARAM_INVALID, message));
        }
    }
    let general = Problem::ReplicationPad2dBackward(problem);
    let work = match general.early_success() {
        Some(_) => Work::Nothing,
        None => Work::Reflection { problem, workspace: workspace_of(&general, known)?.unwrap_or(0) },
    };
    Ok(Prepared { arguments, work })
}

/// The kernel.
pub(super) fn run(problem: &pad::Problem, mut elements: Elements<'_>) -> Outcome {
    let single = |sum: f32| if sum.is_nan() { f32::from_bits(0x7fc0_0000) } else { sum };
    let double = |sum: f64| if sum.is_nan() { f64::from_bits(0x7ff8_0000_0000_0000) } else { sum };
    match (elements.read(Tensor::GradOutput)?, elements.write(Tensor::GradInput)?) {
        (Values::F16(from), ValuesMut::F16(to)) => {
            fold(problem, from, to, |x| [x.to_f32()], |[sum]| f16::from_f32(single(sum)))
        }
        (Values::Bf16(from), ValuesMut::Bf16(to)) => {
            fold(problem, from, to, |x| [x.to_f32()], |[sum]| bf16::from_f32(single(sum)))
        }
        (Values::F32(from), ValuesMut::F32(to)) => fold(problem, from, to, |x| [x], |[sum]| single(sum)),
        (Values::F64(from), ValuesMut::F64(to)) => fold(problem, from, to, |x| [x], |[sum]| double(sum)),
        (Values::C64(from), ValuesMut::C64(to)) => fold(problem, from, to, |x| x, |sum| sum.map(single)),
        (Values::C128(from), ValuesMut::C128(to)) => fold(problem, from, to, |x| x, |sum| sum.map(double)),
        // The contract has no other.
        _ => Ok(()),
    }
}

/// Adds every element of `from`, as the components that `widen` gives, to its mirror image.
fn fold<T: Copy, S: Copy + Default + AddAssign, const N: usize>(
    problem: &pad::Problem,
    from: &[T],
    to: &mut [T],
    widen: impl Fn(T) -> [S; N],
    narrow: impl Fn([S; N]) -> T,
) -> Outcome {
    let &pad::Geometry { n, c, h, w, padded_h, padded_w, top, left, .. } = &**problem;
    let at = |[n, c, h, w]: [usize; 4], strides: [usize; 4]| {
        n * strides[0] + c * strides[1] + h * strides[2] + w * strides[3]
    };
    let (mut sums, zero) = (Vec::new(), [S::default(); N]);
    let none = |_| Failure::new(code::RT_MEMORY_ALLOCATION, "no host memory for the sums of a plane");
    sums.try_reserve_exact(h * w).map_err(none)?;
    sums.resize(h * w, zero);
    for plane in 0..n * c {
        let (n, c) = (plane / c, plane % c);
        sums.fill(zero);
        for (i, j) in (0..padded_h).flat_map(|i| (0..padded_w).map(move |j| (i, j))) {
            let (y, x) = (mirrored(i, top, h), mirrored(j, left, w));
            let element = from.get(at([n, c, i, j], problem.grad_output_strides));
            if let (Some(sum), Some(&element)) = (sums.get_mut(y * w + x), element) {
                sum.iter_mut().zip(widen(element)).for_each(|(sum, x)| *sum += x);
            }
        }
        for (cell, &sum) in sums.iter().enumerate() {
            if let Some(to) = to.get_mut(at([n, c, cell / w, cell % w], problem.grad_input_strides)) {
                *to = narrow(sum);
            }
        }
    }
    Ok(())
}

/// The position of an image of `size` that the padded position `i` shows.
fn mirrored(i: usize, before: isize, size: usize) -> usize {
    // Paddings and sizes of a checked problem are far from the ends of their types.
    let i = (i as isize - before).unsigned_abs();
    if i < size { i } else { (2 * (size - 1)).saturating_sub(i) }
}

#[cfg(test)]
mod tests {
    use ubtile_testkit::problems::{Layout, POISON, ReplicationPad, output};
    use ubtile_testkit::{Data, canonical_nan, component, encode};
    use ubtile_tiling::Dtype;

    use super::*;

    const DTYPES: [Dtype; 6] = [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64, Dtype::C64, Dtype::C128];

    /// The gradient of two planes of 3x3 of which [`SHOWN`] is the padded image; component `i` of `grad_output` has `bits(i)`.
    fn gradient(dtype: Dtype, bits: impl FnMut(usize) -> u64) -> Data {
        let (inputs, outputs) = (Layout::Transposed, Layout::Pitched);
        let sizes = ReplicationPad { dtype, n: 1, c: 2, h: 3, w: 3, padding: [1, 2, 1, 1], inputs, outputs };
        let (problem, grad_output) = (sizes.problem(), Data::from_bits_fn(sizes.desc().grad_output, bits));
        let general = Problem::ReplicationPad2dBackward(problem);
        let slot = |tensor| general.slot(tensor).unwrap();
        let mut grad_input = output(Some(slot(Tensor::GradInput)));
        let inputs = vec![(slot(Tensor::GradOutput), grad_output.bytes())];
        run(&problem, Elements { inputs, outputs: vec![(slot(Tensor::GradInput), grad_input.bytes_mut())] }).unwrap();
        assert!(grad_input.gaps_hold(POISON));
        grad_input
    }

    /// The pixels of a plane that are shown in its padded image.
    #[rustfmt::skip]
    const SHOWN: [usize; 30] = [
        4, 3, 4, 5, 4, 3,
        1, 0, 1, 2, 1, 0,
        4, 3, 4, 5, 4, 3,
        7, 6, 7, 8, 7, 6,
        4, 3, 4, 5, 4, 3,
    ];

    /// Checks the gradient where `value(i, part)` is that part of element `i` of each plane, and `sum(cell, part)` what comes of it.
    fn check(dtype: Dtype, value: impl Fn(usize, usize) -> u64, sum: impl Fn(usize, usize) -> u64) {
        let parts = component(dtype).1;
        let got = gradient(dtype, |i| value(i / parts % SHOWN.len(), i % parts)).to_contiguous();
        for offset in got.offsets() {
            let (cell, part) = (offset / parts % 9, offset % parts);
            assert_eq!(got.bits(offset), sum(cell, part), "{dtype}, cell {cell}, part {part}");
        }
    }

    #[test]
    fn every_dtype_adds_mirror_images() {
        for dtype in DTYPES {
            let (kind, _) = component(dtype);
            let number = |i: usize, part: usize| (i + 50 * part) as f64;
            let sum = |cell, part| (0..SHOWN.len()).filter(|&i| SHOWN[i] == cell).map(|i| number(i, part)).sum();
            check(dtype, |i, part| encode(kind, number(i, part)), |cell, part| encode(kind, sum(cell, part)));
        }
    }

    #[test]
    fn short_types_are_rounded_once() {
        for (dtype, large) in [(Dtype::F16, 2048.0), (Dtype::Bf16, 256.0)] {
            // The first three that show pixel 4; each 1 alone would be lost.
            let number = |i| [(0, large), (2, 1.0), (4, 1.0)].iter().find(|(at, _)| *at == i).map_or(0.0, |(_, x)| *x);
            let sum = |cell| if cell == 4 { large + 2.0 } else { 0.0 };
            check(dtype, |i, _| encode(dtype, number(i)), |cell, _| encode(dtype, sum(cell)));
        }
    }

    #[test]
    fn every_nan_is_the_canonical_one() {
        for dtype in DTYPES {
            let (kind, _) = component(dtype);
            // One with a sign and a payload for pixel 3, one made of infinities for pixel 6; in one part of a complex number.
            let value = |i, part| match (i, part) {
                (1, 0) => u64::MAX,
                (19, 0) => encode(kind, f64::INFINITY),
                (23, 0) => encode(kind, f64::NEG_INFINITY),
                _ => 0,
            };
            check(dtype, value, |cell, part| if part == 0 && [3, 6].contains(&cell) { canonical_nan(kind) } else { 0 });
        }
    }

    #[test]
    fn positions_of_a_padded_row() {
        let shown: Vec<_> = (0..8).map(|i| mirrored(i, 2, 4)).collect();
        assert_eq!(shown, [2, 1, 0, 1, 2, 3, 2, 1]);
        let cropped: Vec<_> = (0..2).map(|i| mirrored(i, -1, 4)).collect();
        assert_eq!(cropped, [1, 2]);
        assert_eq!(mirrored(0, 0, 1), 0);
    }
}
