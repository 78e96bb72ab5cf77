//! proptest strategies: small legal problems of each operator, plans for them, and descriptions that the contract must refuse.
//!
//! A kernel of one's own is tried on [`legal`] descriptions with [`kinds`] of data; proptest shrinks what it gets wrong. This one
//! takes the column of a window from the number of rows of windows, which square images hide:
//!
//! ```
//! use proptest::prelude::*;
//! use proptest::test_runner::{TestError, TestRunner};
//! use ubtile_testkit::{Data, Fill, Rng, compare, problems, reference, strategies};
//! use ubtile_tiling::Dtype;
//!
//! /// Adds each element of `grad_output` to the pixel that it was taken from.
//! fn wrong(p: &ubtile_tiling::im2col_backward::Problem, grad_output: &Data) -> Data {
//!     let [[kh, kw], [dh, dw], [sh, sw]] = [p.kernel, p.dilation, p.stride].map(|pair| pair.map(usize::from));
//!     let mut out = problems::output(p.slot(ubtile_tiling::Tensor::Out));
//!     out.bytes_mut().fill(0);
//!     let [high, wide] = p.columns;
//!     for (plane, i, j, a, b) in positions(p.n * p.c, kh, kw, high, wide) {
//!         let (y, x) = ((a * sh + i * dh).checked_sub(p.padding[0]), (b * sw + j * dw).checked_sub(p.padding[1]));
//!         let (Some(y), Some(x)) = (y.filter(|&y| y < p.h), x.filter(|&x| x < p.w)) else { continue };
//!         let (row, column) = ((plane * kh + i) * kw + j, a * high + b); // it should be a * wide + b
//!         let (from, to) = (row * high * wide + column, (plane * p.h + y) * p.w + x);
//!         let term = if from < grad_output.offsets().count() { grad_output.number(from) } else { 0.0 };
//!         out.set_bits(to, ubtile_testkit::encode(Dtype::F64, out.number(to) + term));
//!     }
//!     out
//! }
//!
//! fn positions(
//!     planes: usize, kh: usize, kw: usize, high: usize, wide: usize,
//! ) -> impl Iterator<Item = (usize, usize, usize, usize, usize)> {
//!     (0..planes * kh * kw * high * wide).map(move |k| {
//!         let (b, k) = (k % wide, k / wide);
//!         let (a, k) = (k % high, k / high);
//!         (k / kw / kh, k / kw % kh, k % kw, a, b)
//!     })
//! }
//!
//! let contiguous = strategies::im2col().prop_map(|spec| problems::Im2col {
//!     dtype: Dtype::F64,
//!     out_dtype: Dtype::F64,
//!     inputs: Default::default(),
//!     outputs: Default::default(),
//!     ..spec
//! });
//! let found = TestRunner::deterministic().run(&contiguous, |spec| {
//!     let problem = spec.problem();
//!     let grad_output = problems::im2col_inputs(&problem, Fill::Integers, &mut Rng::new(1));
//!     let expected = reference::im2col_backward::run(&problem, &grad_output);
//!     compare(&wrong(&problem, &grad_output), &expected).map_err(|mismatch| TestCaseError::fail(mismatch.to_string()))?;
//!     Ok(())
//! });
//! let Err(TestError::Fail(reason, smallest)) = found else { panic!("the mistake is not found") };
//! let problem = smallest.problem();
//! assert!(problem.columns[0] != problem.columns[1], "{reason}: {smallest:?}");
//! ```

use proptest::prelude::*;
use proptest::sample::select;
use ubtile_tiling::{Dtype, Operator, PlanOptions, TensorDesc, can_cast};

use crate::description::Description;
use crate::generate::{Coordinates, Fill, IndexFill};
use crate::inputs::Kinds;
use crate::problems::{
    GridSampler, GridSamplerDesc, Im2col, Im2colDesc, Layout, MaxUnpool, MaxUnpoolDesc, ReplicationPad,
    ReplicationPadDesc,
};

const FLOATS: [Dtype; 4] = [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64];
const UNPOOL: [Dtype; 10] = [
    Dtype::F16,
    Dtype::Bf16,
    Dtype::F32,
    Dtype::F64,
    Dtype::I8,
    Dtype::U8,
    Dtype::I16,
    Dtype::I32,
    Dtype::I64,
    Dtype::Bool,
];
const PADDED: [Dtype; 6] = [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64, Dtype::C64, Dtype::C128];

/// At least so many cases, more with `PROPTEST_CASES`; none is kept for later.
pub fn cases(least: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig { cases: default.cases.max(least), failure_persistence: None, ..default }
}

fn layouts() -> impl Strategy<Value = (Layout, Layout)> {
    (select(&Layout::INPUT), select(&Layout::OUTPUT))
}

/// Sizes of an axis: less than `few`, now and then more than a vector has lanes and a band has rows, rarely none.
fn sizes(few: usize) -> impl Strategy<Value = usize> {
    prop_oneof![16 => 1..few, 3 => 15..36usize, 1 => Just(0usize)]
}

/// Numbers of images.
fn images() -> impl Strategy<Value = usize> {
    prop_oneof![19 => 1..3usize, 1 => Just(0usize)]
}

/// Numbers of channels: few, around the lanes of a vector and around the block of 64 in which sums over channels are made; rarely none.
fn channels() -> impl Strategy<Value = usize> {
    prop_oneof![14 => 1..9usize, 3 => 15..18usize, 2 => 62..67usize, 1 => Just(0usize)]
}

/// Numbers of channels where each is computed like the others: few, and as many as fill a vector of one pixel; rarely none.
fn few_channels() -> impl Strategy<Value = usize> {
    prop_oneof![16 => 1..4usize, 4 => 7..18usize, 1 => Just(0usize)]
}

/// Which gradients are wanted.
fn masks() -> impl Strategy<Value = [bool; 2]> {
    prop_oneof![6 => Just([true; 2]), 2 => Just([true, false]), 2 => Just([false, true]), 1 => Just([false; 2])]
}

/// Legal problems of Im2colBackward, windows without a position among them.
pub fn im2col() -> impl Strategy<Value = Im2col> {
    let pair = |range: std::ops::Range<usize>| [range.clone(), range];
    let sizes = (images(), few_channels(), sizes(10), sizes(10));
    let window = (pair(1..5), pair(1..4), pair(0..4), pair(1..5));
    (select(&FLOATS), select(&FLOATS), sizes, window, layouts()).prop_map(
        |(dtype, out_dtype, sizes, window, layouts)| {
            let ((n, c, h, w), (kernel, dilation, mut padding, stride)) = (sizes, window);
            for (axis, size) in [h, w].into_iter().enumerate() {
                // A window may be one too large for the padded image: then it has no position. Beyond that it may have -1.
                let reach = dilation[axis] * (kernel[axis] - 1);
                padding[axis] = padding[axis].max(reach.saturating_sub(size).div_ceil(2));
            }
            let (inputs, outputs) = layouts;
            Im2col { dtype, out_dtype, n, c, h, w, kernel, dilation, padding, stride, inputs, outputs }
        },
    )
}

/// Legal problems of MaxUnpool2dBackward, of every pair of dtypes that a cast exists for.
pub fn max_unpool() -> impl Strategy<Value = MaxUnpool> {
    let pairs =
        UNPOOL.into_iter().flat_map(|from| UNPOOL.map(|to| (from, to))).filter(|&(from, to)| can_cast(from, to));
    let dtypes = (select(pairs.collect::<Vec<_>>()), select(&[Dtype::I32, Dtype::I64]));
    let sizes = (images(), few_channels(), sizes(6), sizes(6), sizes(9), sizes(9));
    (dtypes, sizes, layouts()).prop_map(|(((dtype, out_dtype), index_dtype), sizes, (inputs, outputs))| {
        let (n, c, h, w, out_h, out_w) = sizes;
        // Nothing can be picked from an empty plane.
        let [out_h, out_w] = [out_h.max(1), out_w.max(1)];
        MaxUnpool { dtype, out_dtype, index_dtype, n, c, h, w, out_h, out_w, inputs, outputs }
    })
}

/// Legal problems of ReplicationPad2dBackward, with padding that is large or crops.
pub fn replication_pad() -> impl Strategy<Value = ReplicationPad> {
    let pads = || prop_oneof![2 => Just(0i64), 3 => 1..4i64, 1 => -3..12i64];
    let sizes = (images(), few_channels(), sizes(8), sizes(8));
    (select(&PADDED), sizes, [pads(), pads(), pads(), pads()], layouts()).prop_map(
        |(dtype, sizes, padding, layouts)| {
            let (n, c, mut h, mut w) = sizes;
            // A batch may be empty, an image not.
            let c = c.max(1);
            let [left, right, top, bottom] = padding;
            // Something must be left after cropping.
            h = h.max(usize::try_from((1 - top - bottom).max(1)).unwrap_or(1));
            w = w.max(usize::try_from((1 - left - right).max(1)).unwrap_or(1));
            ReplicationPad { dtype, n, c, h, w, padding, inputs: layouts.0, outputs: layouts.1 }
        },
    )
}

/// Legal problems of GridSampler2DBackward in all modes.
pub fn grid_sampler() -> impl Strategy<Value = GridSampler> {
    let modes = select(GridSampler::modes().collect::<Vec<_>>());
    let sizes = (images(), channels(), sizes(9), sizes(9), sizes(6), sizes(10));
    (select(&FLOATS), modes, sizes, masks(), layouts()).prop_map(
        |(dtype, mode, (n, c, hi, wi, ho, wo), output_mask, (inputs, outputs))| GridSampler {
            dtype,
            n,
            c,
            // An image is never empty.
            hi: hi.max(1),
            wi: wi.max(1),
            ho,
            wo,
            output_mask,
            inputs,
            outputs,
            ..mode
        },
    )
}

/// Legal descriptions of an operator. They shrink to fewer and smaller dimensions.
pub fn legal(operator: Operator) -> BoxedStrategy<Description> {
    match operator {
        Operator::GridSampler2dBackward => grid_sampler().prop_map(|spec| spec.desc().into()).boxed(),
        Operator::MaxUnpool2dBackward => max_unpool().prop_map(|spec| spec.desc().into()).boxed(),
        Operator::ReplicationPad2dBackward => replication_pad().prop_map(|spec| spec.desc().into()).boxed(),
        Operator::Im2colBackward => im2col().prop_map(|spec| spec.desc().into()).boxed(),
    }
}

/// Kinds of data, ordinary ones first: what breaks on them needs no special ones.
pub fn kinds() -> impl Strategy<Value = Kinds> {
    let indices = [IndexFill::Permutation, IndexFill::Duplicates, IndexFill::OutOfRange];
    let values = [Fill::Integers, Fill::Uniform, Fill::Specials];
    (select(values.to_vec()), select(&Coordinates::ALL), select(indices.to_vec()))
        .prop_map(|(values, coordinates, indices)| Kinds { values, coordinates, indices })
}

/// Cores, a seed of the order in which the shares of a phase run (0 for their own), and options of a plan for as many cores: the plainest
/// first, then limits of workspace and of local memory. Not every problem has a plan for all of them; those that there are give the
/// same results in every order.
///
/// ```
/// use proptest::prelude::*;
/// use proptest::test_runner::TestRunner;
/// use ubtile_testkit::strategies;
/// use ubtile_tiling::{Problem, TargetSpec, plan};
///
/// let cases = (strategies::max_unpool(), strategies::plans());
/// let tried = TestRunner::deterministic().run(&cases, |(spec, (cores, _, options))| {
///     let problem = Problem::MaxUnpool2dBackward(spec.problem());
///     let Ok(plan) = plan(&problem, &TargetSpec::host(cores), &options) else { return Ok(()) };
///     prop_assert!(options.workspace_limit.is_none_or(|limit| plan.workspace_bytes() <= limit));
///     // ... and here a kernel would run it
///     Ok(())
/// });
/// tried.unwrap();
/// ```
pub fn plans() -> impl Strategy<Value = (usize, u64, PlanOptions)> {
    let orders = prop_oneof![Just(0), any::<u64>().no_shrink()];
    let limits = prop_oneof![Just(None), Just(Some(0)), (0..50_000usize).prop_map(Some)];
    let tiles = prop_oneof![Just(None), (64..100_000usize).prop_map(Some)];
    (1..9usize, orders, limits, tiles).prop_map(|(cores, order, workspace_limit, local_bytes)| {
        (cores, order, PlanOptions { workspace_limit, local_bytes })
    })
}

/// The same tensor with one size larger by one, contiguous.
fn grown(desc: &TensorDesc, dim: usize) -> TensorDesc {
    let mut shape = desc.shape.as_slice().to_vec();
    shape[dim] += 1;
    Layout::Contiguous.desc(desc.dtype, &shape)
}

/// The same tensor with one dimension more.
fn deeper(desc: &TensorDesc) -> TensorDesc {
    Layout::Contiguous.desc(desc.dtype, &[&[1], desc.shape.as_slice()].concat())
}

fn with_dtype(desc: &TensorDesc, dtype: Dtype) -> TensorDesc {
    TensorDesc { dtype, ..*desc }
}

/// The same tensor with all elements in one place.
fn overlapping(desc: &TensorDesc) -> TensorDesc {
    let shape = desc.shape.as_slice();
    TensorDesc::strided(desc.dtype, shape, &vec![0; shape.len()]).expect("the rank is legal")
}

/// Descriptions of Im2colBackward with one thing wrong.
pub fn illegal_im2col() -> impl Strategy<Value = Im2colDesc> {
    (im2col(), 0..13usize).prop_map(|(legal, what)| {
        let mut desc = Im2col { n: 2, c: 3, h: legal.h + 1, w: legal.w + 1, ..legal }.desc();
        match what {
            0 => desc.grad_output = with_dtype(&desc.grad_output, Dtype::I32),
            1 => desc.out = with_dtype(&desc.out, Dtype::C64),
            2 => desc.grad_output = grown(&desc.grad_output, 2),
            3 => desc.out = grown(&desc.out, 1),
            4 => desc.out = grown(&desc.out, 3),
            5 => desc.grad_output = deeper(&desc.grad_output),
            6 => desc.kernel_size[1] = 0,
            7 => desc.stride[0] = 0,
            8 => desc.dilation[1] = -1,
            9 => desc.padding[0] = -1,
            10 => desc.input_size.push(1),
            11 => desc.out = overlapping(&desc.out),
            _ => desc.stride.clear(),
        }
        desc
    })
}

/// Descriptions of MaxUnpool2dBackward with one thing wrong.
pub fn illegal_max_unpool() -> impl Strategy<Value = MaxUnpoolDesc> {
    (max_unpool(), 0..10usize).prop_map(|(legal, what)| {
        let mut desc = MaxUnpool { n: 2, c: 3, h: legal.h + 1, w: legal.w + 1, ..legal }.desc();
        match what {
            0 => desc.indices = with_dtype(&desc.indices, Dtype::I16),
            1 => desc.out = with_dtype(&desc.out, Dtype::C64),
            2 => desc.self_tensor = with_dtype(&desc.self_tensor, Dtype::C128),
            3 => desc.indices = grown(&desc.indices, 0),
            4 => desc.out = grown(&desc.out, 2),
            5 => desc.self_tensor = deeper(&desc.self_tensor),
            6 => desc.grad_output = grown(&desc.grad_output, 3),
            7 => desc.output_size[0] = -1,
            8 => desc.out = overlapping(&desc.out),
            _ => desc.output_size.push(1),
        }
        desc
    })
}

/// Descriptions of ReplicationPad2dBackward with one thing wrong.
pub fn illegal_replication_pad() -> impl Strategy<Value = ReplicationPadDesc> {
    (replication_pad(), 0..9usize).prop_map(|(legal, what)| {
        let mut desc = ReplicationPad { n: 2, c: 2, ..legal }.desc();
        match what {
            0 => desc.grad_output = with_dtype(&desc.grad_output, Dtype::I32),
            1 => desc.grad_input = with_dtype(&desc.grad_input, Dtype::Bool),
            2 => desc.grad_output = grown(&desc.grad_output, 2),
            3 => desc.grad_output = grown(&desc.grad_output, 0),
            4 => desc.grad_input = grown(&desc.grad_input, 3),
            5 => desc.self_tensor = deeper(&desc.self_tensor),
            6 => desc.padding[3] += 1,
            7 => desc.grad_input = overlapping(&desc.grad_input),
            _ => desc.padding.truncate(2),
        }
        desc
    })
}

/// Descriptions of GridSampler2DBackward with one thing wrong.
pub fn illegal_grid_sampler() -> impl Strategy<Value = GridSamplerDesc> {
    (grid_sampler(), 0..13usize).prop_map(|(legal, what)| {
        let mut desc = GridSampler { n: 2, c: 2, output_mask: [true, true], ..legal }.desc();
        match what {
            0 => desc.grid = with_dtype(&desc.grid, Dtype::I32),
            1 => desc.input = with_dtype(&desc.input, Dtype::C64),
            2 => desc.interpolation = 3,
            3 => desc.padding_mode = -1,
            4 => desc.input = deeper(&desc.input),
            5 => desc.grad_output = grown(&desc.grad_output, 0),
            6 => desc.grad_output = grown(&desc.grad_output, 1),
            7 => desc.grid = grown(&desc.grid, 1),
            8 => desc.grid = grown(&desc.grid, 3),
            9 => desc.input_grad = grown(&desc.input_grad, 2),
            10 => desc.grid_grad = grown(&desc.grid_grad, 0),
            11 => desc.input_grad = overlapping(&desc.input_grad),
            _ => desc.output_mask.push(true),
        }
        desc
    })
}

#[cfg(test)]
mod tests {
    use ubtile_tiling::Edition;

    use super::*;

    proptest! {
        #[test]
        fn legal_problems_are_legal(a in im2col(), b in max_unpool(), c in replication_pad(), d in grid_sampler()) {
            let _ = (a.problem(), b.problem(), c.problem(), d.problem());
        }

        #[test]
        fn illegal_descriptions_are_refused(
            a in illegal_im2col(),
            b in illegal_max_unpool(),
            c in illegal_replication_pad(),
            d in illegal_grid_sampler(),
        ) {
            prop_assert!(a.check(None, Edition::Any).is_err(), "{a:?}");
            prop_assert!(b.check(None, Edition::Any).is_err(), "{b:?}");
            prop_assert!(c.check(None, Edition::Any).is_err(), "{c:?}");
            prop_assert!(d.check(None, Edition::Any).is_err(), "{d:?}");
        }
    }
}
