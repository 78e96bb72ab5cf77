//! Arbitrary descriptions: no check panics, and what passes keeps what a problem promises.

use proptest::collection::vec;
use proptest::prelude::*;
use ubtile_testkit::strategies;
use ubtile_tiling::{
    Dtype, Edition, Product, TensorDesc, TensorSlot, grid_sampler_2d_backward, im2col_backward, max_unpool2d_backward,
    replication_pad2d_backward,
};

/// Small sizes that often fit together, and the ones where arithmetic breaks.
fn size() -> impl Strategy<Value = usize> {
    const EDGES: [usize; 6] = [0, 1 << 31, 1 << 32, isize::MAX as usize, isize::MAX as usize + 1, usize::MAX];
    prop_oneof![40 => 1..5usize, 2 => 0..1usize, 1 => prop::sample::select(EDGES.to_vec()), 1 => any::<usize>()]
}

/// Small values, and the ones where arithmetic breaks.
fn value() -> impl Strategy<Value = i64> {
    const EDGES: [i64; 6] = [i64::MIN, i64::MIN + 1, i64::MIN / 2, i64::MAX / 2, i64::MAX - 1, i64::MAX];
    prop_oneof![40 => 0..4i64, 2 => -2..0i64, 1 => prop::sample::select(EDGES.to_vec()), 1 => any::<i64>()]
}

fn values(length: usize) -> impl Strategy<Value = Vec<i64>> {
    prop_oneof![20 => vec(value(), length), 1 => vec(value(), 0..6)]
}

fn dtype() -> impl Strategy<Value = Dtype> {
    prop_oneof![8 => Just(Dtype::F32), 1 => prop::sample::select(Dtype::ALL.to_vec())]
}

/// Any shape, contiguous or with any strides, as often as not of the wrong number.
fn tensor() -> impl Strategy<Value = TensorDesc> {
    let contiguous = (dtype(), vec(size(), 0..=8)).prop_map(|(dtype, shape)| TensorDesc::contiguous(dtype, &shape));
    let strided = (dtype(), vec(size(), 0..=8), vec(size(), 0..=8))
        .prop_map(|(dtype, shape, strides)| TensorDesc::strided(dtype, &shape, &strides));
    prop_oneof![contiguous, strided].prop_map(Result::unwrap)
}

/// Of exactly that shape: contiguous, permuted with gaps, or with any strides.
fn shaped(dtype: Dtype, shape: Vec<usize>) -> impl Strategy<Value = TensorDesc> {
    let rank = shape.len();
    let plain = TensorDesc::contiguous(dtype, &shape).unwrap();
    let with = move |strides: &[usize]| TensorDesc::strided(dtype, &shape, strides).unwrap();
    let nested = (Just((0..rank).collect::<Vec<_>>()).prop_shuffle(), vec(0..3usize, rank)).prop_map({
        let with = with.clone();
        move |(order, gaps)| {
            let (mut strides, mut step) = (vec![0; rank], 1usize);
            for dim in order {
                strides[dim] = step.wrapping_add(gaps[dim]);
                step = strides[dim].wrapping_mul(plain.shape.get(dim).max(1));
            }
            with(&strides)
        }
    });
    let wild = vec(size(), rank).prop_map(move |strides| with(&strides));
    prop_oneof![12 => Just(plain), 6 => nested, 1 => wild]
}

fn product() -> impl Strategy<Value = Option<Product>> {
    prop::option::of(prop::sample::select(Product::ALL.to_vec()))
}

fn edition() -> impl Strategy<Value = Edition> {
    prop::sample::select(Edition::ALL.to_vec())
}

/// What everyone behind a check relies on.
fn promises_hold(slots: impl Iterator<Item = TensorSlot>) {
    for slot in slots {
        let (shape, strides) = (slot.shape.as_slice(), slot.strides.as_slice());
        assert_eq!(shape.len(), strides.len());
        let product = shape.iter().try_fold(slot.dtype.size(), |n, &size| n.checked_mul(size.max(1)));
        assert!(product.is_some_and(|bytes| isize::try_from(bytes).is_ok()), "{slot:?}");
        assert!(slot.span.checked_mul(slot.dtype.size()).is_some_and(|bytes| isize::try_from(bytes).is_ok()));
        if slot.output && shape.iter().all(|&size| size <= 8) {
            let reached = offsets(shape, strides);
            let distinct: std::collections::BTreeSet<_> = reached.iter().collect();
            assert_eq!(distinct.len(), reached.len(), "{slot:?} overlaps itself");
            assert_eq!(reached.iter().max().map_or(0, |last| last + 1), slot.span);
        }
    }
}

/// The offset of every element, by counting.
fn offsets(shape: &[usize], strides: &[usize]) -> Vec<usize> {
    let mut all = vec![0];
    for (&size, &stride) in shape.iter().zip(strides) {
        all = all.iter().flat_map(|&offset| (0..size).map(move |i| offset + i * stride)).collect();
    }
    all
}

fn grid_sampler_tensors() -> impl Strategy<Value = [TensorDesc; 5]> {
    let matching = (dtype(), vec(size(), 6)).prop_flat_map(|(dtype, sizes)| {
        let [n, c, hi, wi, ho, wo] = sizes[..] else { unreachable!("six sizes") };
        let (image, points) = (vec![n, c, hi, wi], vec![n, ho, wo, 2]);
        [vec![n, c, ho, wo], image.clone(), points.clone(), image, points].map(|shape| shaped(dtype, shape))
    });
    prop_oneof![9 => matching, 1 => [tensor(), tensor(), tensor(), tensor(), tensor()]]
}

fn unpool_tensors() -> impl Strategy<Value = ([TensorDesc; 4], Vec<i64>)> {
    let matching = (dtype(), dtype(), 2..5usize, vec(size(), 6)).prop_flat_map(|(dtype, out, rank, sizes)| {
        let pooled = sizes[4 - rank..4].to_vec();
        let unpooled = [&sizes[4 - rank..2], &sizes[4..]].concat();
        let output_size = sizes[4..].iter().map(|&size| size as i64).collect::<Vec<_>>();
        let tensors = [
            shaped(dtype, unpooled),
            shaped(dtype, pooled.clone()),
            shaped(Dtype::I32, pooled.clone()),
            shaped(out, pooled),
        ];
        (tensors, Just(output_size))
    });
    prop_oneof![9 => matching, 1 => ([tensor(), tensor(), tensor(), tensor()], values(2))]
}

fn pad_tensors() -> impl Strategy<Value = ([TensorDesc; 3], Vec<i64>)> {
    let matching =
        (dtype(), 3..5usize, vec(size(), 4), vec(value(), 4)).prop_flat_map(|(dtype, rank, sizes, padding)| {
            let mut padded = sizes[4 - rank..].to_vec();
            padded[rank - 1] = sizes[3].wrapping_add_signed(padding[0].wrapping_add(padding[1]) as isize);
            padded[rank - 2] = sizes[2].wrapping_add_signed(padding[2].wrapping_add(padding[3]) as isize);
            let image = sizes[4 - rank..].to_vec();
            ([padded, image.clone(), image].map(|shape| shaped(dtype, shape)), Just(padding))
        });
    prop_oneof![9 => matching, 1 => ([tensor(), tensor(), tensor()], values(4))]
}

/// Image, kernel, dilation, padding, stride, with tensors that match them wherever the numbers allow it.
fn im2col_case() -> impl Strategy<Value = ([TensorDesc; 2], [Vec<i64>; 5])> {
    // Image, kernel, dilation and stride have larger least values than padding.
    let at_least =
        |min: i64| values(2).prop_map(move |v| v.into_iter().map(|v| v.saturating_add(min)).collect::<Vec<_>>());
    let attributes = || [at_least(3), at_least(1), at_least(1), at_least(0), at_least(1)];
    let matching = (dtype(), dtype(), size(), size(), attributes()).prop_flat_map(|(dtype, out, n, c, attributes)| {
        let at = |which: usize, axis: usize| i128::from(attributes[which].get(axis).copied().unwrap_or(1));
        let windows = |axis| {
            let room = at(0, axis) + 2 * at(3, axis) - at(2, axis).wrapping_mul(at(1, axis) - 1) - 1;
            room.wrapping_add(at(4, axis)) / at(4, axis).max(1)
        };
        let columns = windows(0).wrapping_mul(windows(1)) as usize;
        let rows = c.wrapping_mul(at(1, 0).wrapping_mul(at(1, 1)) as usize);
        let tensors =
            [shaped(dtype, vec![n, rows, columns]), shaped(out, vec![n, c, at(0, 0) as usize, at(0, 1) as usize])];
        (tensors, Just(attributes))
    });
    prop_oneof![9 => matching, 1 => ([tensor(), tensor()], attributes())]
}

proptest! {
    // Most cases are refused.
    #![proptest_config(strategies::cases(4000))]

    #[test]
    fn grid_sampler(
        [grad_output, input, grid, input_grad, grid_grad] in grid_sampler_tensors(),
        (interpolation, padding_mode, align_corners) in (value(), value(), any::<bool>()),
        output_mask in prop_oneof![9 => vec(any::<bool>(), 2), 1 => vec(any::<bool>(), 0..4)],
        (product, edition) in (product(), edition()),
    ) {
        use grid_sampler_2d_backward::{Desc, check};
        let output_mask = &output_mask[..];
        let desc = Desc {
            grad_output, input, grid, input_grad, grid_grad, interpolation, padding_mode, align_corners, output_mask,
        };
        match check(&desc, product, edition) {
            Ok(problem) => {
                promises_hold(problem.tensors());
                prop_assert!(problem.hi > 0 && problem.wi > 0);
                for product in Product::ALL {
                    let _ = problem.vendor_route(product, edition);
                }
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn max_unpool(
        ([grad_output, self_tensor, indices, out], output_size) in unpool_tensors(),
        (product, edition) in (product(), edition()),
    ) {
        use max_unpool2d_backward::{Desc, check};
        let desc = Desc { grad_output, self_tensor, indices, output_size: &output_size, out };
        match check(&desc, product, edition) {
            Ok(problem) => {
                promises_hold(problem.tensors());
                prop_assert!(problem.early_success().is_some() || problem.out_h > 0 && problem.out_w > 0);
                for product in Product::ALL {
                    let _ = problem.vendor_route(product, edition);
                }
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn replication_pad(
        ([grad_output, self_tensor, grad_input], padding) in pad_tensors(),
        (product, edition) in (product(), edition()),
    ) {
        use replication_pad2d_backward::{Desc, check};
        let desc = Desc { grad_output, self_tensor, padding: &padding, grad_input };
        match check(&desc, product, edition) {
            Ok(problem) => {
                promises_hold(problem.tensors());
                prop_assert!(problem.c > 0 && problem.h > 0 && problem.padded_h > 0);
                // Positions of either tensor plus or minus a padding.
                for (padding, size) in [(problem.left, problem.padded_w), (problem.bottom, problem.h)] {
                    prop_assert!(size.checked_add_signed(padding.abs()).is_some_and(|n| isize::try_from(n).is_ok()));
                }
                for product in Product::ALL {
                    let _ = problem.vendor_route(product, edition);
                }
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn im2col(
        ([grad_output, out], attributes) in im2col_case(),
        (product, edition) in (product(), edition()),
    ) {
        use im2col_backward::{Desc, check};
        let [input_size, kernel_size, dilation, padding, stride] = &attributes;
        let desc = Desc { grad_output, input_size, kernel_size, dilation, padding, stride, out };
        match check(&desc, product, edition) {
            Ok(problem) => {
                promises_hold(problem.tensors());
                let [lh, lw] = problem.columns;
                prop_assert_eq!(lh * lw, desc.grad_output.shape.as_slice().last().copied().unwrap_or(0));
                // The last tap of the last window lies inside the padded image.
                if lh > 0 {
                    let last = (lh - 1) * problem.stride[0].get()
                        + (problem.kernel[0].get() - 1) * problem.dilation[0].get();
                    prop_assert!(last < problem.h + 2 * problem.padding[0]);
                }
                for product in Product::ALL {
                    let _ = problem.vendor_route(product, edition);
                }
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}
