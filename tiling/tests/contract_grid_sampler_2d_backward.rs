//! The contract of GridSampler2DBackward, rule by rule.

mod contract_common;

use contract_common::{Rule, reshape, resize, restride, rules_hold_in_order, tensor};
use ubtile_tiling::grid_sampler_2d_backward::{Desc, Interpolation, PaddingMode, check};
use ubtile_tiling::{Attribute, ContractError, Dtype, EarlySuccess, Edition, Product, Tensor};

fn base() -> Desc<'static> {
    Desc {
        grad_output: tensor(Dtype::F32, &[2, 3, 4, 6]),
        input: tensor(Dtype::F32, &[2, 3, 5, 7]),
        grid: tensor(Dtype::F32, &[2, 4, 6, 2]),
        input_grad: tensor(Dtype::F32, &[2, 3, 5, 7]),
        grid_grad: tensor(Dtype::F32, &[2, 4, 6, 2]),
        interpolation: 0,
        padding_mode: 0,
        align_corners: false,
        output_mask: &[true, true],
    }
}

#[test]
fn rules_in_order() {
    let rules: &[Rule<Desc<'static>>] = &[
        Rule { breaks: |d| d.grad_output.dtype = Dtype::F16, says: "grad_output is f16: f32 is required, as input is" },
        Rule { breaks: |d| d.grid.dtype = Dtype::Bf16, says: "grid is bf16: f32 is required, as input is" },
        Rule { breaks: |d| d.input_grad.dtype = Dtype::F16, says: "input_grad is f16: f32 is required, as input is" },
        Rule { breaks: |d| d.grid_grad.dtype = Dtype::F16, says: "grid_grad is f16: f32 is required, as input is" },
        Rule {
            breaks: |d| {
                for t in [&mut d.grad_output, &mut d.input, &mut d.grid, &mut d.input_grad, &mut d.grid_grad] {
                    t.dtype = Dtype::I32;
                }
            },
            says: "input is i32: GridSampler2DBackward on atlas-a2 takes f16, bf16, f32, f64 (edition master)",
        },
        Rule { breaks: |d| d.interpolation = 3, says: "interpolation is 3: 0 to 2 is required" },
        Rule { breaks: |d| d.padding_mode = -1, says: "padding-mode is -1: 0 to 2 is required" },
        Rule { breaks: |d| reshape(&mut d.input, &[3, 5, 7]), says: "input has 3 dimensions: 4 are required" },
        Rule { breaks: |d| reshape(&mut d.grid, &[2, 4, 6, 2, 1]), says: "grid has 5 dimensions: 4 are required" },
        Rule { breaks: |d| reshape(&mut d.grad_output, &[]), says: "grad_output has 0 dimensions: 4 are required" },
        Rule { breaks: |d| resize(&mut d.grid, 0, 9), says: "grid has 9 in dimension 0: input has 2 in dimension 0" },
        Rule {
            breaks: |d| resize(&mut d.grad_output, 0, 9),
            says: "grad_output has 9 in dimension 0: input has 2 in dimension 0",
        },
        Rule {
            breaks: |d| resize(&mut d.grad_output, 1, 9),
            says: "grad_output has 9 in dimension 1: input has 3 in dimension 1",
        },
        Rule { breaks: |d| resize(&mut d.input, 2, 0), says: "input has 0 in dimension 2: at least 1 is required" },
        Rule { breaks: |d| resize(&mut d.input, 3, 0), says: "input has 0 in dimension 3: at least 1 is required" },
        Rule {
            breaks: |d| resize(&mut d.grid, 1, 9),
            says: "grid has 9 in dimension 1: grad_output has 4 in dimension 2",
        },
        Rule {
            breaks: |d| resize(&mut d.grid, 2, 9),
            says: "grid has 9 in dimension 2: grad_output has 6 in dimension 3",
        },
        Rule { breaks: |d| resize(&mut d.grid, 3, 3), says: "grid has 3 in dimension 3: 2 is required (x and y)" },
        Rule {
            breaks: |d| reshape(&mut d.input_grad, &[2, 3, 35]),
            says: "input_grad has 3 dimensions: 4 are required, as many as input has",
        },
        Rule {
            breaks: |d| resize(&mut d.grid_grad, 2, 9),
            says: "grid_grad has 9 in dimension 2: grid has 6 in dimension 2",
        },
        Rule { breaks: |d| d.output_mask = &[true; 3], says: "output-mask has 3 values: 2 are required" },
        Rule {
            breaks: |d| restride(&mut d.input, &[1, 1, 1]),
            says: "input has 3 strides: 4 are required, one for each dimension",
        },
        Rule {
            breaks: |d| restride(&mut d.grid, &[usize::MAX / 2, 12, 2, 1]),
            says: "the sizes of grid do not fit this machine's address space",
        },
        Rule {
            breaks: |d| restride(&mut d.input_grad, &[105, 35, 0, 1]),
            says: "input_grad has stride 0 in dimension 2: at least 1 is required, an output must not overlap itself",
        },
        Rule {
            breaks: |d| restride(&mut d.grid_grad, &[47, 12, 2, 1]),
            says: "grid_grad has stride 47 in dimension 0: at least 48 is required, an output must not overlap itself",
        },
    ];
    rules_hold_in_order(base(), rules, |d| check(d, Some(Product::AtlasA2), Edition::Master).map(|_| ()));
}

#[test]
fn geometry_of_a_sensible_problem() {
    let desc = Desc { interpolation: 2, padding_mode: 1, align_corners: true, output_mask: &[false, true], ..base() };
    let problem = check(&desc, None, Edition::Any).unwrap();
    assert_eq!((problem.n, problem.c, problem.hi, problem.wi, problem.ho, problem.wo), (2, 3, 5, 7, 4, 6));
    assert_eq!((problem.interpolation, problem.padding_mode), (Interpolation::Bicubic, PaddingMode::Border));
    assert!(problem.align_corners && !problem.want_input_grad && problem.want_grid_grad);
    assert_eq!(problem.input_strides, [105, 35, 7, 1]);
    assert_eq!(problem.early_success(), None);
}

#[test]
fn editions_differ_on_modes() {
    let accepted = |interpolation, padding_mode, product, edition| {
        check(&Desc { interpolation, padding_mode, ..base() }, product, edition).is_ok()
    };
    for product in [None, Some(Product::AtlasA2)] {
        for (edition, bicubic, reflection) in [
            (Edition::V8_0, false, true),
            (Edition::V8_3, false, false),
            (Edition::Master, true, true),
            (Edition::Any, true, true),
        ] {
            assert_eq!(accepted(2, 0, product, edition), bicubic, "bicubic in {edition}");
            assert_eq!(accepted(0, 2, product, edition), reflection, "reflection in {edition}");
            assert!(accepted(1, 1, product, edition), "nearest and border in {edition}");
        }
    }
    let error = check(&Desc { padding_mode: 2, ..base() }, None, Edition::V8_3).unwrap_err();
    let want = ContractError::AttributeEdition { attribute: Attribute::PaddingMode, got: 2, edition: Edition::V8_3 };
    assert_eq!(error, want);
    assert_eq!(error.to_string(), "padding-mode is 2 (reflection): edition 8.3 does not have that value");
    for edition in [Edition::V8_0, Edition::V8_3] {
        let error = check(&Desc { interpolation: 2, ..base() }, None, edition).unwrap_err();
        assert_eq!(error, ContractError::AttributeEdition { attribute: Attribute::Interpolation, got: 2, edition });
        assert!(error.to_string().starts_with("interpolation is 2 (bicubic): edition"), "{error}");
    }
}

#[test]
fn modes_at_the_ends_of_i64() {
    for value in [i64::MIN, -1, 3, 256, i64::MAX] {
        assert!(check(&Desc { interpolation: value, ..base() }, None, Edition::Any).is_err());
        assert!(check(&Desc { padding_mode: value, ..base() }, None, Edition::Any).is_err());
    }
}

/// Sets the sizes that the tensors share.
fn sized(n: usize, c: usize, ho: usize, wo: usize) -> Desc<'static> {
    let mut desc = base();
    reshape(&mut desc.grad_output, &[n, c, ho, wo]);
    for t in [&mut desc.input, &mut desc.input_grad] {
        reshape(t, &[n, c, 5, 7]);
    }
    for t in [&mut desc.grid, &mut desc.grid_grad] {
        reshape(t, &[n, ho, wo, 2]);
    }
    desc
}

#[test]
fn empty_tensors_succeed_early_except_in_8_3() {
    for desc in [sized(0, 3, 4, 6), sized(2, 0, 4, 6), sized(2, 3, 0, 6), sized(2, 3, 4, 0)] {
        for edition in [Edition::V8_0, Edition::Master, Edition::Any] {
            let problem = check(&desc, None, edition).unwrap();
            assert_eq!(problem.early_success(), Some(EarlySuccess::Empty(Tensor::GradOutput)));
        }
        let error = check(&desc, None, Edition::V8_3).unwrap_err();
        assert_eq!(error.to_string(), "grad_output is empty: edition 8.3 takes no empty tensors");
    }
    assert_eq!(check(&sized(1, 1, 1, 1), None, Edition::V8_3).unwrap().early_success(), None);
}

#[test]
fn nothing_wanted_succeeds_early() {
    let problem = check(&Desc { output_mask: &[false, false], ..base() }, None, Edition::Any).unwrap();
    assert_eq!(problem.early_success(), Some(EarlySuccess::NothingWanted));
    assert!(problem.tensors().all(|slot| !slot.output));
    for mask in [&[true, false][..], &[false, true]] {
        let problem = check(&Desc { output_mask: mask, ..base() }, None, Edition::Any).unwrap();
        assert_eq!(problem.early_success(), None);
    }
    for mask in [&[][..], &[true]] {
        assert!(check(&Desc { output_mask: mask, ..base() }, None, Edition::Any).is_err());
    }
}

#[test]
fn an_unwanted_output_may_overlap_itself() {
    let mut desc = base();
    restride(&mut desc.grid_grad, &[0, 0, 0, 0]);
    assert!(check(&desc, None, Edition::Any).is_err());
    desc.output_mask = &[true, false];
    let problem = check(&desc, None, Edition::Any).unwrap();
    assert_eq!(problem.slot(Tensor::GridGrad), None);
}

#[test]
fn tensors_know_their_spans() {
    let mut desc = base();
    // Channels last, with a gap after each pixel.
    restride(&mut desc.input, &[175, 1, 35, 5]);
    restride(&mut desc.grad_output, &[0, 0, 0, 0]);
    let problem = check(&desc, None, Edition::Any).unwrap();
    let spans: Vec<_> = problem.tensors().map(|slot| (slot.tensor.name(), slot.span, slot.output)).collect();
    let want = [
        ("grad_output", 1, false),
        ("input", 175 + 2 + 4 * 35 + 6 * 5 + 1, false),
        ("grid", 96, false),
        ("input_grad", 210, true),
        ("grid_grad", 96, true),
    ];
    assert_eq!(spans, want);
    assert_eq!(problem.slot(Tensor::Grid).unwrap().shape.as_slice(), [2, 4, 6, 2]);
    assert_eq!(problem.slot(Tensor::Indices), None);
}

#[test]
fn dimensions_of_size_1_get_strides_that_merge() {
    let mut desc = sized(1, 1, 4, 6);
    restride(&mut desc.input, &[0, 99, 7, 1]);
    let problem = check(&desc, None, Edition::Any).unwrap();
    assert_eq!(problem.input_strides, [35, 35, 7, 1]);
    let problem = check(&sized(1, 1, 0, 6), None, Edition::Any).unwrap();
    assert_eq!(problem.grad_output_strides, [6, 6, 6, 1], "as of any contiguous tensor");
}

#[test]
fn sizes_beyond_the_address_space_are_refused() {
    let huge = usize::MAX;
    for desc in [sized(huge, 1, 1, 1), sized(1, huge, 1, 1), sized(1, 1, huge, huge), sized(0, huge, huge, 1)] {
        let error = check(&desc, None, Edition::Any).unwrap_err();
        assert_eq!(error, ContractError::TooLarge { tensor: Tensor::GradOutput });
    }
    // Zeros and ones elsewhere do not help: the elements fit, the bytes do not.
    let elements = isize::MAX as usize / 4;
    let mut desc = sized(1, 1, 1, elements / 2);
    assert!(check(&desc, None, Edition::Any).is_ok());
    desc = sized(1, 1, 1, elements / 2 + 1);
    assert_eq!(check(&desc, None, Edition::Any).unwrap_err(), ContractError::TooLarge { tensor: Tensor::Grid });
}

#[test]
fn the_vendor_route_depends_on_the_channels() {
    use ubtile_tiling::Route::{AiCore, Aicpu};
    let route = |c, product| {
        let problem = check(&sized(1, c, 1, 1), None, Edition::Any).unwrap();
        problem.vendor_route(product, Edition::Master)
    };
    assert_eq!(route(2048, Product::AtlasA2), Some(AiCore));
    assert_eq!(route(2049, Product::AtlasA3), Some(Aicpu));
    assert_eq!(route(2049, Product::Ascend950), Some(AiCore));
    assert_eq!(route(1, Product::AtlasTraining), Some(Aicpu));
    assert_eq!(route(1, Product::AtlasInference), None);
}
