//! aclnnReflectionPad2dBackward: the gradient of padding by mirror images, without the edge.
//!
//! `grad_input[n, c, h, w]` is the sum of `grad_output[n, c, i, j]` over the positions whose mirror image is `(h, w)`: row `i` of
//! the padded image shows row `|i - top|`, and behind the last row `H - 1` row `2 (H - 1) - (i - top)`. Computed here, one element
//! after the other in the order of `grad_output`; F16 and BF16 in f32, rounded once.

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
    let add = |sum: [f64; 2], x: [f64; 2]| [sum[0] + x[0], sum[1] + x[1]];
    match (elements.read(Tensor::GradOutput)?, elements.write(Tensor::GradInput)?) {
        (Values::F16(from), ValuesMut::F16(to)) => {
            fold(problem, from, to, 0f32, |sum, x| sum + x.to_f32(), f16::from_f32)
        }
        (Values::Bf16(from), ValuesMut::Bf16(to)) => {
            fold(problem, from, to, 0f32, |sum, x| sum + x.to_f32(), bf16::from_f32)
        }
        (Values::F32(from), ValuesMut::F32(to)) => fold(problem, from, to, 0f32, |sum, x| sum + x, |sum| sum),
        (Values::F64(from), ValuesMut::F64(to)) => fold(problem, from, to, 0f64, |sum, x| sum + x, |sum| sum),
        (Values::C64(from), ValuesMut::C64(to)) => {
            fold(problem, from, to, [0f32; 2], |sum, x| [sum[0] + x[0], sum[1] + x[1]], |sum| sum)
        }
        (Values::C128(from), ValuesMut::C128(to)) => fold(problem, from, to, [0f64; 2], add, |sum| sum),
        // The contract has no other.
        _ => Ok(()),
    }
}

/// Adds every element of `from` to its mirror image.
fn fold<T: Copy, S: Copy>(
    problem: &pad::Problem,
    from: &[T],
    to: &mut [T],
    zero: S,
    add: impl Fn(S, T) -> S,
    narrow: impl Fn(S) -> T,
) -> Outcome {
    let &pad::Geometry { n, c, h, w, padded_h, padded_w, top, left, .. } = &**problem;
    let at = |[n, c, h, w]: [usize; 4], strides: [usize; 4]| {
        n * strides[0] + c * strides[1] + h * strides[2] + w * strides[3]
    };
    let mut sums = Vec::new();
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
                *sum = add(*sum, element);
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
    use super::*;

    #[test]
    fn positions_of_a_padded_row() {
        let shown: Vec<_> = (0..8).map(|i| mirrored(i, 2, 4)).collect();
        assert_eq!(shown, [2, 1, 0, 1, 2, 3, 2, 1]);
        let cropped: Vec<_> = (0..2).map(|i| mirrored(i, -1, 4)).collect();
        assert_eq!(cropped, [1, 2]);
        assert_eq!(mirrored(0, 0, 1), 0);
    }
}
