//! The contract of Im2colBackward, rule by rule.

mod contract_common;

use contract_common::{Rule, reshape, resize, restride, rules_hold_in_order, tensor};
use ubtile_tiling::im2col_backward::{Desc, check};
use ubtile_tiling::{Attribute, ContractError, Dtype, EarlySuccess, Edition, Product, Tensor};

fn base() -> Desc<'static> {
    Desc {
        grad_output: tensor(Dtype::F32, &[2, 18, 12]),
        input_size: &[5, 6],
        kernel_size: &[2, 3],
        dilation: &[1, 1],
        padding: &[1, 0],
        stride: &[2, 1],
        out: tensor(Dtype::F32, &[2, 3, 5, 6]),
    }
}

#[test]
fn rules_in_order() {
    let rules: &[Rule<Desc<'static>>] = &[
        Rule {
            breaks: |d| d.grad_output.dtype = Dtype::I8,
            says: "grad_output is i8: Im2colBackward on atlas-a2 takes f16, bf16, f32 (edition master)",
        },
        Rule {
            breaks: |d| d.out.dtype = Dtype::F64,
            says: "out is f64: Im2colBackward on atlas-a2 takes f16, bf16, f32 (edition master)",
        },
        Rule {
            breaks: |d| reshape(&mut d.grad_output, &[2, 3, 6, 12]),
            says: "grad_output has 4 dimensions: 2 or 3 are required",
        },
        Rule { breaks: |d| reshape(&mut d.out, &[3, 5, 6]), says: "out has 3 dimensions: 4 are required" },
        Rule { breaks: |d| d.input_size = &[5], says: "input-size has 1 values: 2 are required" },
        Rule { breaks: |d| d.kernel_size = &[], says: "kernel-size has 0 values: 2 are required" },
        Rule { breaks: |d| d.dilation = &[1; 3], says: "dilation has 3 values: 2 are required" },
        Rule { breaks: |d| d.padding = &[1; 4], says: "padding has 4 values: 2 are required" },
        Rule { breaks: |d| d.stride = &[1; 3], says: "stride has 3 values: 2 are required" },
        Rule { breaks: |d| d.kernel_size = &[2, 0], says: "kernel-size[1] is 0: at least 1 is required" },
        Rule { breaks: |d| d.stride = &[0, 1], says: "stride[0] is 0: at least 1 is required" },
        Rule { breaks: |d| d.dilation = &[1, -1], says: "dilation[1] is -1: at least 1 is required" },
        Rule { breaks: |d| d.padding = &[-1, 0], says: "padding[0] is -1: at least 0 is required" },
        Rule {
            breaks: |d| resize(&mut d.grad_output, 1, 19),
            says: "grad_output has 19 in dimension 1: a multiple of kernel-size 2 x 3 is required",
        },
        Rule {
            breaks: |d| d.dilation = &[20, 1],
            says: "the window has -6 positions along the height: 0 is the least, the kernel must fit the image",
        },
        Rule {
            breaks: |d| resize(&mut d.grad_output, 2, 13),
            says: "grad_output has 13 in dimension 2: 3 x 4 is required, one per window position",
        },
        Rule {
            breaks: |d| resize(&mut d.out, 0, 9),
            says: "out has 9 in dimension 0: grad_output has 2 in dimension 0",
        },
        Rule {
            breaks: |d| resize(&mut d.out, 1, 9),
            says: "out has 9 in dimension 1: 3 is required (rows of grad_output by taps of the kernel)",
        },
        Rule { breaks: |d| resize(&mut d.out, 2, 9), says: "out has 9 in dimension 2: input-size[0] says 5" },
        Rule { breaks: |d| resize(&mut d.out, 3, 9), says: "out has 9 in dimension 3: input-size[1] says 6" },
        Rule {
            breaks: |d| restride(&mut d.grad_output, &[12, 1]),
            says: "grad_output has 2 strides: 3 are required, one for each dimension",
        },
        Rule {
            breaks: |d| restride(&mut d.out, &[usize::MAX, 30, 6, 1]),
            says: "the sizes of out do not fit this machine's address space",
        },
        Rule {
            breaks: |d| restride(&mut d.out, &[90, 29, 6, 1]),
            says: "out has stride 29 in dimension 1: at least 30 is required, an output must not overlap itself",
        },
    ];
    rules_hold_in_order(base(), rules, |d| check(d, Some(Product::AtlasA2), Edition::Master).map(|_| ()));
}

#[test]
fn two_dimensions_are_one_image() {
    let mut desc = base();
    reshape(&mut desc.grad_output, &[18, 12]);
    reshape(&mut desc.out, &[3, 5, 6]);
    desc.out.dtype = Dtype::Bf16;
    let problem = check(&desc, Some(Product::Ascend950), Edition::Master).unwrap();
    assert_eq!((problem.n, problem.c, problem.h, problem.w, problem.columns), (1, 3, 5, 6, [3, 4]));
    assert_eq!((problem.dtype, problem.out_dtype), (Dtype::F32, Dtype::Bf16));
    assert_eq!(problem.grad_output_strides, [216, 12, 1]);
    assert_eq!(problem.out_strides, [90, 30, 6, 1]);
    assert_eq!(problem.early_success(), None);
    let slots: Vec<_> = problem.tensors().map(|slot| (slot.tensor, slot.span, slot.output)).collect();
    assert_eq!(slots, [(Tensor::GradOutput, 216, false), (Tensor::Out, 90, true)]);
}

/// One channel, one row of pixels: height 1, and along the width what is given. The window has `columns` positions.
fn line<'a>(w: &'a [i64; 2], k: &'a [i64; 2], d: &'a [i64; 2], p: &'a [i64; 2], s: &'a [i64; 2], l: usize) -> Desc<'a> {
    Desc {
        grad_output: tensor(Dtype::F32, &[1, k[1] as usize, l]),
        input_size: w,
        kernel_size: k,
        dilation: d,
        padding: p,
        stride: s,
        out: tensor(Dtype::F32, &[1, 1, 1, w[1] as usize]),
    }
}

#[test]
fn window_positions_truncate_as_in_c() {
    for w in 0..=6_i64 {
        for k in 1..=5_i64 {
            for d in 1..=3_i64 {
                for p in 0..=2_i64 {
                    for s in 1..=4_i64 {
                        // E may be negative; Rust's division truncates as C's does.
                        let room = w + 2 * p - d * (k - 1) - 1;
                        let want = (room + s) / s;
                        let (w, k, d, p, s) = ([1, w], [1, k], [1, d], [0, p], [1, s]);
                        let desc = line(&w, &k, &d, &p, &s, want.max(0) as usize);
                        match check(&desc, None, Edition::Any) {
                            Ok(problem) => {
                                assert_eq!(problem.columns[1] as i64, want);
                                assert_eq!(problem.early_success().is_some(), want == 0 || w[1] == 0);
                            }
                            Err(error) => {
                                assert!(want < 0, "{desc:?}: {error}");
                                assert_eq!(error, ContractError::Windows { axis: 1, got: want });
                            }
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn two_negative_numbers_of_positions_do_not_cancel() {
    // -1 x -1 = 1 column.
    let desc = Desc {
        grad_output: tensor(Dtype::F32, &[1, 9, 1]),
        input_size: &[1, 1],
        kernel_size: &[3, 3],
        dilation: &[1, 1],
        padding: &[0, 0],
        stride: &[1, 1],
        out: tensor(Dtype::F32, &[1, 1, 1, 1]),
    };
    assert_eq!(check(&desc, None, Edition::Any).unwrap_err(), ContractError::Windows { axis: 0, got: -1 });
}

#[test]
fn empties_succeed_early() {
    let empty = |n: usize, c: usize| {
        let mut desc = base();
        reshape(&mut desc.grad_output, &[n, c * 6, 12]);
        reshape(&mut desc.out, &[n, c, 5, 6]);
        check(&desc, None, Edition::Any).unwrap().early_success()
    };
    assert_eq!(empty(0, 3), Some(EarlySuccess::Empty(Tensor::GradOutput)));
    assert_eq!(empty(2, 0), Some(EarlySuccess::Empty(Tensor::GradOutput)));
    assert_eq!(empty(1, 1), None);
    // A kernel one larger than the image: no positions, and an image of zeros.
    let problem = check(&line(&[1, 2], &[1, 3], &[1, 1], &[0, 0], &[1, 1], 0), None, Edition::Any).unwrap();
    assert_eq!(problem.early_success(), Some(EarlySuccess::Empty(Tensor::GradOutput)));
    assert_eq!(problem.slot(Tensor::Out).unwrap().span, 2);
    // All columns in the padding of no image.
    let problem = check(&line(&[1, 0], &[1, 1], &[1, 1], &[0, 1], &[1, 1], 2), None, Edition::Any).unwrap();
    assert_eq!(problem.early_success(), Some(EarlySuccess::Empty(Tensor::Out)));
}

#[test]
fn attributes_at_the_ends_of_i64() {
    let max = i64::MAX;
    let refused = |desc: Desc<'_>| check(&desc, None, Edition::Any).unwrap_err();
    let too_large = |attribute, index| ContractError::AttributeTooLarge { attribute, index, got: max };
    assert_eq!(refused(Desc { padding: &[1, max], ..base() }), too_large(Attribute::Padding, 1));
    assert_eq!(refused(Desc { dilation: &[1, max], ..base() }), too_large(Attribute::Dilation, 1));
    assert_eq!(refused(Desc { kernel_size: &[max, max], ..base() }), too_large(Attribute::KernelSize, 0));
    // Of two that are as large, the padding, which counts twice.
    assert_eq!(refused(Desc { input_size: &[max, 6], padding: &[max, 0], ..base() }), too_large(Attribute::Padding, 0));
    assert!(matches!(refused(Desc { kernel_size: &[1, max], ..base() }), ContractError::Rows { .. }));
    assert_eq!(refused(Desc { input_size: &[max, max], ..base() }), too_large(Attribute::InputSize, 0));
    let lowest = Desc { input_size: &[i64::MIN, 6], ..base() };
    assert!(matches!(refused(lowest), ContractError::Windows { axis: 0, .. }));
    let error = refused(Desc { dilation: &[3, 1], ..lowest });
    assert!(matches!(error, ContractError::AttributeTooLarge { attribute: Attribute::Dilation, .. }));
    assert!(matches!(refused(Desc { input_size: &[5, -6], ..base() }), ContractError::Windows { axis: 1, .. }));
    for value in [[i64::MIN, 1], [1, i64::MIN]] {
        for desc in [
            Desc { kernel_size: &value, ..base() },
            Desc { stride: &value, ..base() },
            Desc { dilation: &value, ..base() },
            Desc { padding: &value, ..base() },
        ] {
            assert!(matches!(refused(desc), ContractError::AttributeRange { got: i64::MIN, .. }));
        }
    }
}

#[test]
fn a_huge_step_is_fine_where_it_is_never_taken() {
    let max = i64::MAX;
    // One tap makes the dilation irrelevant, one position the stride.
    let problem = check(&line(&[1, 5], &[1, 1], &[max, max], &[0, 0], &[max, max], 1), None, Edition::Any).unwrap();
    assert_eq!(problem.columns, [1, 1]);
    assert_eq!(problem.stride[1].get(), max as usize);
}

#[test]
fn positions_in_the_longest_row_are_exact() {
    let width = isize::MAX as usize;
    for stride in [1, 2, 3, width - 1, width] {
        let error =
            check(&line(&[1, width as i64], &[1, 1], &[1, 1], &[0, 0], &[1, stride as i64], 0), None, Edition::Any);
        let windows = [1, width.div_ceil(stride)];
        assert_eq!(error.unwrap_err(), ContractError::Columns { dim: 2, got: 0, windows });
    }
}

#[test]
fn sizes_beyond_the_address_space_are_refused() {
    let huge = 1 << (usize::BITS - 2);
    let mut desc = base();
    reshape(&mut desc.grad_output, &[huge, 18, 12]);
    reshape(&mut desc.out, &[huge, 3, 5, 6]);
    let error = check(&desc, None, Edition::Any).unwrap_err();
    assert_eq!(error, ContractError::TooLarge { tensor: Tensor::GradOutput });
    // Fewer elements than the limit, more bytes.
    let n = isize::MAX as usize / 4 / 216;
    reshape(&mut desc.grad_output, &[n, 18, 12]);
    reshape(&mut desc.out, &[n, 3, 5, 6]);
    assert!(check(&desc, None, Edition::Any).is_ok());
    desc.grad_output.dtype = Dtype::F64;
    let error = check(&desc, None, Edition::Any).unwrap_err();
    assert_eq!(error, ContractError::TooLarge { tensor: Tensor::GradOutput });
}

#[test]
fn outputs_may_be_permuted_sliced_and_padded() {
    for strides in [
        [90, 30, 6, 1],   // contiguous
        [90, 1, 18, 3],   // channels last
        [30, 60, 6, 1],   // images and channels exchanged
        [180, 60, 12, 2], // every second element
        [1000, 100, 7, 1],
    ] {
        let mut desc = base();
        restride(&mut desc.out, &strides);
        assert!(check(&desc, None, Edition::Any).is_ok(), "{strides:?}");
    }
    // The stride of a dimension with one position leads nowhere.
    for stride in [0, 1, 7, 1000] {
        let mut desc = base();
        resize(&mut desc.grad_output, 0, 1);
        resize(&mut desc.out, 0, 1);
        restride(&mut desc.out, &[stride, 30, 6, 1]);
        assert!(check(&desc, None, Edition::Any).is_ok(), "{stride}");
    }
    for (strides, dim, want) in [
        ([90, 30, 6, 0], 3, 1),
        ([90, 0, 6, 1], 1, 1),
        ([89, 30, 6, 1], 0, 90),
        ([90, 30, 5, 1], 2, 6),
        ([1, 1, 1, 1], 1, 2),
        // Without overlap, but not nested: refused all the same.
        ([90, 30, 2, 7], 3, 9),
    ] {
        let mut desc = base();
        restride(&mut desc.out, &strides);
        let error = check(&desc, None, Edition::Any).unwrap_err();
        let got = strides[dim];
        assert_eq!(error, ContractError::Overlap { tensor: Tensor::Out, dim, got, want });
        // An input may be read so.
        let mut desc = base();
        restride(&mut desc.grad_output, &strides[..3]);
        assert!(check(&desc, None, Edition::Any).is_ok());
    }
}

#[test]
fn the_vendor_route_follows_the_table() {
    use ubtile_tiling::Route::AiCore;
    let problem = check(&base(), None, Edition::Any).unwrap();
    assert_eq!(problem.vendor_route(Product::AtlasTraining, Edition::V8_0), Some(AiCore));
    assert_eq!(problem.vendor_route(Product::AtlasTraining, Edition::Master), None);
    let mut desc = base();
    desc.out.dtype = Dtype::Bf16;
    let problem = check(&desc, None, Edition::Any).unwrap();
    assert_eq!(problem.vendor_route(Product::AtlasA2, Edition::V8_0), None);
    assert_eq!(problem.vendor_route(Product::AtlasA2, Edition::Master), Some(AiCore));
}
