//! Any description of any operator: the check never panics, and what it accepts is consistent.
#![no_main]

use arbitrary::{Arbitrary, Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use ubtile_fuzz::generate::{Scale, sensible, spoil};
use ubtile_testkit::Description;
use ubtile_tiling::{Edition, Operator, Problem, Product, TensorSlot};

fuzz_target!(|case: Case| {
    let Case { description, product, edition } = case;
    match description.check(product, edition) {
        Ok(problem) => {
            consistent(&description, &problem);
            // The host and `any` accept what a product and an edition do, and make the same of it.
            assert_eq!(description.check(product, Edition::Any), Ok(problem), "{edition} accepts, any does not");
            assert_eq!(description.check(None, edition), Ok(problem), "{product:?} accepts, the host does not");
        }
        // Every error can be shown.
        Err(error) => assert!(!error.to_string().is_empty() && error.status().code() != 0),
    }
});

/// Something to check.
#[derive(Debug)]
struct Case {
    description: Description,
    product: Option<Product>,
    edition: Edition,
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let operator = *u.choose(&Operator::ALL)?;
        let mut description = sensible(u, operator, Scale::Any)?;
        for _ in 0..u.int_in_range(0..=3)? {
            spoil(u, &mut description)?;
        }
        let product = if u.arbitrary()? { Some(*u.choose(&Product::ALL)?) } else { None };
        Ok(Self { description, product, edition: *u.choose(&Edition::ALL)? })
    }
}

fn consistent(description: &Description, problem: &Problem) {
    assert_eq!(problem.operator(), description.operator);
    for slot in problem.tensors() {
        let desc = description.tensor(slot.tensor);
        assert_eq!(slot.dtype, desc.dtype, "dtype of {}", slot.tensor);
        // A missing batch dimension is a 1 in front.
        let (batch, shape) = slot.shape.as_slice().split_at(slot.shape.rank() - desc.shape.rank());
        assert_eq!(shape, desc.shape.as_slice(), "shape of {}", slot.tensor);
        assert!(batch.iter().all(|&size| size == 1), "shape of {}", slot.tensor);
        let span = span(&slot);
        assert_eq!(slot.span as u128, span, "span of {}", slot.tensor);
        assert_eq!(desc.span(), Some(slot.span), "span of {}", slot.tensor);
        assert!(span * slot.dtype.size() as u128 <= isize::MAX as u128, "bytes of {}", slot.tensor);
        if slot.output {
            distinct(&slot);
        }
        assert!(problem.early_success().is_some() || slot.span > 0, "{} is empty, yet there is work", slot.tensor);
    }
    for (product, edition) in Product::ALL.into_iter().flat_map(|p| Edition::ALL.map(|e| (p, e))) {
        // Only asked: it must not panic.
        let _ = problem.vendor_route(product, edition);
    }
    related(problem);
}

/// One more than the furthest element, in numbers that do not overflow.
fn span(slot: &TensorSlot) -> u128 {
    let dims = || slot.shape.as_slice().iter().zip(slot.strides.as_slice());
    if dims().any(|(&size, _)| size == 0) {
        return 0;
    }
    1 + dims().map(|(&size, &stride)| (size as u128 - 1) * stride as u128).sum::<u128>()
}

/// No two indices of an output reach the same element; looked at one by one where there are few.
fn distinct(slot: &TensorSlot) {
    if slot.shape.numel().is_none_or(|n| n == 0 || n > 10_000) {
        return;
    }
    let mut offsets = vec![0];
    for (&size, &stride) in slot.shape.as_slice().iter().zip(slot.strides.as_slice()) {
        offsets = offsets.iter().flat_map(|&from| (0..size).map(move |i| from + i * stride)).collect();
    }
    let count = offsets.len();
    offsets.sort_unstable();
    offsets.dedup();
    assert_eq!(offsets.len(), count, "{} overlaps itself", slot.tensor);
}

/// What relates the sizes of an operator's tensors.
fn related(problem: &Problem) {
    match problem {
        Problem::GridSampler2dBackward(p) => assert!(p.hi > 0 && p.wi > 0, "an image without an area"),
        Problem::MaxUnpool2dBackward(p) => {
            assert!(problem.early_success().is_some() || p.out_h > 0 && p.out_w > 0, "a plane without cells");
        }
        Problem::ReplicationPad2dBackward(p) => {
            assert_eq!(p.padded_h as i128, p.h as i128 + p.top as i128 + p.bottom as i128);
            assert_eq!(p.padded_w as i128, p.w as i128 + p.left as i128 + p.right as i128);
        }
        Problem::Im2colBackward(p) => {
            for axis in 0..2 {
                let [size, padding, windows] = [[p.h, p.w], p.padding, p.columns].map(|pair| pair[axis] as i128);
                let [kernel, dilation, stride] = [p.kernel, p.dilation, p.stride].map(|pair| pair[axis].get() as i128);
                let end = |window: i128| window * stride + dilation * (kernel - 1) + 1;
                assert!(windows == 0 || end(windows - 1) <= size + 2 * padding, "the last window does not fit");
                assert!(end(windows) > size + 2 * padding, "another window fits");
            }
        }
    }
}
