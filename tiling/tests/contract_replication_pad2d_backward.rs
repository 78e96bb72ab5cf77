//! The contract of ReplicationPad2dBackward, rule by rule.

mod contract_common;

use contract_common::{Rule, reshape, resize, restride, rules_hold_in_order, tensor};
use ubtile_testkit::problems::ReplicationPad;
use ubtile_tiling::replication_pad2d_backward::{Desc, check};
use ubtile_tiling::{ContractError, Dtype, EarlySuccess, Edition, Product, Tensor};

fn base() -> Desc<'static> {
    Desc {
        grad_output: tensor(Dtype::Bf16, &[2, 3, 7, 8]),
        self_tensor: tensor(Dtype::Bf16, &[2, 3, 4, 5]),
        padding: &[1, 2, 3, 0],
        grad_input: tensor(Dtype::Bf16, &[2, 3, 4, 5]),
    }
}

#[test]
fn rules_in_order() {
    let rules: &[Rule<Desc<'static>>] = &[
        Rule {
            breaks: |d| d.grad_output.dtype = Dtype::I8,
            says: "grad_output is i8: ReplicationPad2dBackward on atlas-a2 takes f16, bf16, f32, f64, c64, c128 (edition \
                   master)",
        },
        Rule {
            breaks: |d| d.self_tensor.dtype = Dtype::I8,
            says: "self is i8: ReplicationPad2dBackward on atlas-a2 takes f16, bf16, f32, f64, c64, c128 (edition master)",
        },
        Rule {
            breaks: |d| d.grad_input.dtype = Dtype::Bool,
            says: "grad_input is bool: ReplicationPad2dBackward on atlas-a2 takes f16, bf16, f32, f64, c64, c128 \
                   (edition master)",
        },
        Rule { breaks: |d| d.grad_output.dtype = Dtype::F16, says: "grad_output is f16: bf16 is required, as self is" },
        Rule { breaks: |d| d.grad_input.dtype = Dtype::F16, says: "grad_input is f16: bf16 is required, as self is" },
        Rule {
            breaks: |d| resize(&mut d.grad_input, 3, 9),
            says: "grad_input has 9 in dimension 3: self has 5 in dimension 3",
        },
        Rule {
            breaks: |d| {
                reshape(&mut d.self_tensor, &[1, 2, 3, 4, 5]);
                reshape(&mut d.grad_input, &[1, 2, 3, 4, 5]);
            },
            says: "self has 5 dimensions: 3 or 4 are required",
        },
        Rule {
            breaks: |d| reshape(&mut d.grad_output, &[3, 7, 8]),
            says: "grad_output has 3 dimensions: 4 are required, as many as self has",
        },
        Rule { breaks: |d| d.padding = &[1, 2, 3], says: "padding has 3 values: 4 are required" },
        Rule {
            breaks: |d| {
                d.padding = &[1, 2, 8, 0];
                resize(&mut d.grad_output, 2, 12);
            },
            says: "padding[2] is 8: for bf16 on a product 0 to 7 is required, or any left and right from 0 where top and \
                   bottom are 0",
        },
        Rule {
            breaks: |d| resize(&mut d.grad_output, 2, 9),
            says: "grad_output has 9 in dimension 2: self's 4 with padding 3 and 0 is required",
        },
        Rule {
            breaks: |d| resize(&mut d.grad_output, 3, 9),
            says: "grad_output has 9 in dimension 3: self's 5 with padding 1 and 2 is required",
        },
        Rule {
            breaks: |d| {
                for t in [&mut d.grad_output, &mut d.self_tensor, &mut d.grad_input] {
                    resize(t, 1, 0);
                }
            },
            says: "self has 0 in dimension 1: at least 1 is required",
        },
        Rule {
            breaks: |d| resize(&mut d.grad_output, 0, 9),
            says: "grad_output has 9 in dimension 0: self has 2 in dimension 0",
        },
        Rule {
            breaks: |d| resize(&mut d.grad_output, 1, 9),
            says: "grad_output has 9 in dimension 1: self has 3 in dimension 1",
        },
        Rule {
            breaks: |d| restride(&mut d.self_tensor, &[]),
            says: "self has 0 strides: 4 are required, one for each dimension",
        },
        Rule {
            breaks: |d| restride(&mut d.grad_input, &[60, 20, usize::MAX / 4, 1]),
            says: "the sizes of grad_input do not fit this machine's address space",
        },
        Rule {
            breaks: |d| restride(&mut d.grad_input, &[60, 20, 4, 1]),
            says: "grad_input has stride 4 in dimension 2: at least 5 is required, an output must not overlap itself",
        },
    ];
    rules_hold_in_order(base(), rules, |d| check(d, Some(Product::AtlasA2), Edition::Master).map(|_| ()));
}

/// A problem of one image with that padding; sides that would be negative are left at 0.
fn padded(dtype: Dtype, padding: &[i64; 4]) -> Desc<'_> {
    let [left, right, top, bottom] = *padding;
    let (h, w) = ((4 + top + bottom).max(0) as usize, (5 + left + right).max(0) as usize);
    let image = tensor(dtype, &[3, 4, 5]);
    Desc { grad_output: tensor(dtype, &[3, h, w]), self_tensor: image, padding, grad_input: image }
}

#[test]
fn any_padding_on_the_host_and_most_on_products() {
    let cases = [
        ([0, 0, 0, 0], true),
        ([7, 7, 7, 7], true),
        ([0, 0, 8, 0], false),
        ([8, 0, 0, 1], false),
        ([8, 0, 0, 0], true),
        ([1000, 2000, 0, 0], true),
        ([-1, 0, 0, 0], false),
        ([0, 0, 0, -3], false),
        ([-2, 9, 9, -2], false),
    ];
    for (padding, fits_kernel) in cases {
        for dtype in [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64, Dtype::C64, Dtype::C128] {
            let desc = padded(dtype, &padding);
            let problem = check(&desc, None, Edition::Any).unwrap();
            assert_eq!([problem.left, problem.right, problem.top, problem.bottom].map(|p| p as i64), padding);
            for product in [Product::AtlasInference, Product::A200iA2Box, Product::Ascend950] {
                let accepted = check(&desc, Some(product), Edition::Any).is_ok();
                assert_eq!(accepted, fits_kernel || dtype != Dtype::Bf16, "{dtype} {padding:?} on {product}");
            }
        }
    }
}

#[test]
fn empty_images_are_refused_and_no_images_are_fine() {
    for dim in 0..3 {
        let mut desc = padded(Dtype::F32, &[1, 1, 1, 1]);
        for t in [&mut desc.self_tensor, &mut desc.grad_input] {
            resize(t, dim, 0);
        }
        resize(&mut desc.grad_output, dim, if dim == 0 { 0 } else { 2 });
        assert_eq!(
            check(&desc, None, Edition::Any).unwrap_err(),
            ContractError::EmptyDim { tensor: Tensor::SelfTensor, dim }
        );
    }
    // Everything cropped away.
    let error = check(&padded(Dtype::F32, &[-2, -3, 0, 0]), None, Edition::Any).unwrap_err();
    assert_eq!(error, ContractError::EmptyDim { tensor: Tensor::GradOutput, dim: 2 });

    let mut desc = base();
    for t in [&mut desc.grad_output, &mut desc.self_tensor, &mut desc.grad_input] {
        resize(t, 0, 0);
    }
    let problem = check(&desc, None, Edition::Any).unwrap();
    assert_eq!(problem.early_success(), Some(EarlySuccess::Empty(Tensor::SelfTensor)));
    assert!(problem.tensors().all(|slot| slot.span == 0));
    assert_eq!(check(&base(), None, Edition::Any).unwrap().early_success(), None);
}

#[test]
fn padding_at_the_ends_of_i64() {
    let (min, max) = (i64::MIN, i64::MAX);
    let cases = [[min, min, 0, 0], [max, max, 0, 0], [0, 0, min, 0], [0, 0, max, 0], [max, 0, 0, 0], [min, 0, 0, min]];
    for padding in cases {
        let error = check(&Desc { padding: &padding, ..base() }, None, Edition::Any).unwrap_err();
        assert!(matches!(error, ContractError::PaddedSize { .. }), "{padding:?}: {error}");
    }
    // The sum is fine, its terms are not.
    for padding in [[max, 3 - max, 3, 0], [4 - max, max - 1, 3, 0], [-max, max, 6, -3]] {
        let mut desc = Desc { padding: &padding, ..base() };
        resize(&mut desc.grad_output, 3, (5 + (padding[0] + padding[1])) as usize);
        let error = check(&desc, None, Edition::Any).unwrap_err();
        assert!(matches!(error, ContractError::AttributeTooLarge { index: 0, .. }), "{padding:?}: {error}");
    }
    let most = isize::MAX as i64 / 4;
    for (extra, accepted) in [(0, true), (1, false)] {
        let padding = [most + extra, 3 - most - extra, 3, 0];
        assert_eq!(check(&Desc { padding: &padding, ..base() }, None, Edition::Any).is_ok(), accepted);
    }
}

#[test]
fn the_vendor_route_depends_on_padding_and_size() {
    use ubtile_tiling::Route::{AiCore, Aicpu};
    let route = |dtype, padding: &[i64; 4], product| {
        let problem = check(&padded(dtype, padding), None, Edition::Any).unwrap();
        problem.vendor_route(product, Edition::Master)
    };
    assert_eq!(route(Dtype::F32, &[7, 0, 7, 0], Product::AtlasA2), Some(AiCore));
    assert_eq!(route(Dtype::F32, &[8, 0, 7, 0], Product::AtlasA2), Some(Aicpu));
    assert_eq!(route(Dtype::F32, &[-1, 0, 0, 0], Product::AtlasA3), Some(Aicpu));
    assert_eq!(route(Dtype::F32, &[1495, 0, 0, 0], Product::AtlasTraining), Some(AiCore));
    assert_eq!(route(Dtype::F32, &[1496, 0, 0, 0], Product::AtlasTraining), Some(Aicpu));
    assert_eq!(route(Dtype::F16, &[1496, 0, 0, 0], Product::AtlasInference), Some(AiCore));
    // A `grad_output` of 800 rows and 1500 columns in f32, of 950 and 3000 in f16: each by itself, and the padding beside them.
    for (dtype, high, wide) in [(Dtype::F32, 800, 1500), (Dtype::F16, 950, 3000)] {
        for (h, w, pad, on) in [
            (high, 20, 7, AiCore),
            (high + 1, 20, 7, Aicpu),
            (20, wide, 7, AiCore),
            (20, wide + 1, 7, Aicpu),
            (20, 20, 8, Aicpu),
            (20, wide + 1, 8, Aicpu),
            (20, 20, -1, Aicpu),
        ] {
            let padding = [pad, 0, pad, 0];
            let [h, w] = [h, w].map(|padded: usize| padded.checked_add_signed(-pad as isize).unwrap());
            let problem = ReplicationPad { dtype, n: 1, c: 1, h, w, padding, ..Default::default() }.problem();
            for product in [Product::AtlasTraining, Product::AtlasInference] {
                assert_eq!(problem.vendor_route(product, Edition::Master), Some(on), "{problem:?} on {product}");
            }
        }
    }
    assert_eq!(route(Dtype::F64, &[0, 0, 0, 0], Product::AtlasA2), Some(Aicpu));
    assert_eq!(route(Dtype::Bf16, &[8, 0, 1, 0], Product::AtlasA2), None);
    assert_eq!(route(Dtype::F32, &[0, 0, 0, 0], Product::Atlas200iA2), None);
}
