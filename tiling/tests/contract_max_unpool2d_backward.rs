//! The contract of MaxUnpool2dBackward, rule by rule.

mod contract_common;

use contract_common::{Rule, reshape, resize, restride, rules_hold_in_order, tensor};
use ubtile_testkit::problems::MaxUnpool;
use ubtile_tiling::max_unpool2d_backward::{Desc, check};
use ubtile_tiling::{ContractError, Dtype, EarlySuccess, Edition, Product, Tensor, can_cast};

fn base() -> Desc<'static> {
    Desc {
        grad_output: tensor(Dtype::F32, &[2, 3, 6, 8]),
        self_tensor: tensor(Dtype::F32, &[2, 3, 4, 5]),
        indices: tensor(Dtype::I64, &[2, 3, 4, 5]),
        output_size: &[6, 8],
        out: tensor(Dtype::F32, &[2, 3, 4, 5]),
    }
}

#[test]
fn rules_in_order() {
    let rules: &[Rule<Desc<'static>>] = &[
        Rule {
            breaks: |d| d.grad_output.dtype = Dtype::C64,
            says: "grad_output is c64: MaxUnpool2dBackward on atlas-a2 takes f16, f32, i8, u8, i16, i32, i64, bool \
                   (edition master)",
        },
        Rule {
            breaks: |d| d.self_tensor.dtype = Dtype::F64,
            says: "self is f64: MaxUnpool2dBackward on atlas-a2 takes f16, f32, i8, u8, i16, i32, i64, bool (edition \
                   master)",
        },
        Rule {
            breaks: |d| d.out.dtype = Dtype::Bf16,
            says: "out is bf16: MaxUnpool2dBackward on atlas-a2 takes f16, f32, i8, u8, i16, i32, i64, bool (edition \
                   master)",
        },
        Rule { breaks: |d| d.out.dtype = Dtype::I32, says: "out is i32: a result of f32 cannot be stored as that" },
        Rule { breaks: |d| d.self_tensor.dtype = Dtype::F16, says: "grad_output is f32: f16 is required, as self is" },
        Rule { breaks: |d| d.indices.dtype = Dtype::I16, says: "indices is i16: i32 or i64 is required" },
        Rule { breaks: |d| reshape(&mut d.self_tensor, &[4, 5]), says: "self has 2 dimensions: 3 or 4 are required" },
        Rule {
            breaks: |d| reshape(&mut d.grad_output, &[3, 6, 8]),
            says: "grad_output has 3 dimensions: 4 are required, as many as self has",
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
            breaks: |d| resize(&mut d.indices, 3, 9),
            says: "indices has 9 in dimension 3: self has 5 in dimension 3",
        },
        Rule { breaks: |d| resize(&mut d.out, 2, 9), says: "out has 9 in dimension 2: self has 4 in dimension 2" },
        Rule { breaks: |d| d.output_size = &[6, 8, 1], says: "output-size has 3 values: 2 are required" },
        Rule {
            breaks: |d| resize(&mut d.grad_output, 2, 9),
            says: "grad_output has 9 in dimension 2: output-size[0] says 6",
        },
        Rule {
            breaks: |d| resize(&mut d.grad_output, 3, 9),
            says: "grad_output has 9 in dimension 3: output-size[1] says 8",
        },
        Rule {
            breaks: |d| {
                resize(&mut d.grad_output, 2, 0);
                d.output_size = &[0, 8];
            },
            says: "grad_output has 0 in dimension 2: at least 1 is required",
        },
        Rule {
            breaks: |d| restride(&mut d.indices, &[60, 20, 5, 1, 1]),
            says: "indices has 5 strides: 4 are required, one for each dimension",
        },
        Rule {
            breaks: |d| restride(&mut d.out, &[60, 20, 5, usize::MAX]),
            says: "the sizes of out do not fit this machine's address space",
        },
        Rule {
            breaks: |d| restride(&mut d.out, &[60, 20, 1, 3]),
            says: "out has stride 3 in dimension 3: at least 4 is required, an output must not overlap itself",
        },
    ];
    rules_hold_in_order(base(), rules, |d| check(d, Some(Product::AtlasA2), Edition::Master).map(|_| ()));
}

#[test]
fn three_dimensions_are_one_image() {
    let mut desc = base();
    reshape(&mut desc.grad_output, &[3, 6, 8]);
    for t in [&mut desc.self_tensor, &mut desc.indices, &mut desc.out] {
        reshape(t, &[3, 4, 5]);
    }
    let problem = check(&desc, None, Edition::Any).unwrap();
    assert_eq!((problem.n, problem.c, problem.h, problem.w, problem.out_h, problem.out_w), (1, 3, 4, 5, 6, 8));
    assert_eq!(problem.grad_output_strides, [144, 48, 8, 1]);
    assert_eq!(problem.slot(Tensor::Out).unwrap().shape.as_slice(), [1, 3, 4, 5]);
    resize(&mut desc.grad_output, 0, 4);
    let error = check(&desc, None, Edition::Any).unwrap_err();
    assert_eq!(error.to_string(), "grad_output has 4 in dimension 0: self has 3 in dimension 0");
}

#[test]
fn out_takes_what_the_result_can_be_cast_to() {
    let floats = [Dtype::F16, Dtype::F32, Dtype::F64, Dtype::Bf16];
    let integers = [Dtype::I8, Dtype::U8, Dtype::I16, Dtype::I32, Dtype::I64];
    let all: Vec<_> = floats.into_iter().chain(integers).chain([Dtype::Bool]).collect();
    for &from in &all {
        for &to in &all {
            let mut desc = base();
            (desc.grad_output.dtype, desc.self_tensor.dtype, desc.out.dtype) = (from, from, to);
            let float_to_integer = floats.contains(&from) && integers.contains(&to);
            let other_to_bool = from != Dtype::Bool && to == Dtype::Bool;
            let result = check(&desc, None, Edition::Any);
            assert_eq!(can_cast(from, to), !float_to_integer && !other_to_bool);
            match result {
                Ok(problem) => {
                    assert!(!float_to_integer && !other_to_bool, "{from} to {to}");
                    assert_eq!((problem.dtype, problem.out_dtype), (from, to));
                }
                Err(error) => {
                    assert!(float_to_integer || other_to_bool, "{from} to {to}");
                    assert_eq!(error, ContractError::Cast { from, to });
                }
            }
        }
    }
}

#[test]
fn output_size_at_the_ends_of_i64() {
    for size in [[i64::MIN, 8], [-6, 8], [6, i64::MAX], [6, -1], [0, 8]] {
        let error = check(&Desc { output_size: &size, ..base() }, None, Edition::Any).unwrap_err();
        assert!(matches!(error, ContractError::AttributeMismatch { .. }), "{error}");
    }
    // -1 is no size even where a size has the same bits.
    let mut desc = base();
    resize(&mut desc.grad_output, 2, usize::MAX);
    desc.output_size = &[-1, 8];
    let error = check(&desc, None, Edition::Any).unwrap_err();
    assert!(matches!(error, ContractError::AttributeMismatch { want: -1, .. }), "{error}");
}

#[test]
fn an_empty_self_succeeds_early() {
    for dim in 0..4 {
        let mut desc = base();
        for t in [&mut desc.self_tensor, &mut desc.indices, &mut desc.out] {
            resize(t, dim, 0);
        }
        if dim < 2 {
            resize(&mut desc.grad_output, dim, 0);
        }
        let problem = check(&desc, None, Edition::Any).unwrap();
        assert_eq!(problem.early_success(), Some(EarlySuccess::Empty(Tensor::SelfTensor)));
        let spans: Vec<_> = problem.tensors().map(|slot| slot.span).collect();
        assert_eq!(spans, [if dim < 2 { 0 } else { 288 }, 0, 0]);
        // With self empty, so may grad_output be.
        resize(&mut desc.grad_output, 3, 0);
        desc.output_size = &[6, 0];
        assert!(check(&desc, None, Edition::Any).is_ok());
    }
    assert_eq!(check(&base(), None, Edition::Any).unwrap().early_success(), None);
}

#[test]
fn an_empty_grad_output_needs_an_empty_self() {
    for (dim, output_size) in [(2, [0, 8]), (3, [6, 0])] {
        let mut desc = Desc { output_size: &output_size, ..base() };
        resize(&mut desc.grad_output, dim, 0);
        let error = check(&desc, None, Edition::Any).unwrap_err();
        assert_eq!(error, ContractError::EmptyDim { tensor: Tensor::GradOutput, dim });
    }
}

#[test]
fn self_is_described_but_never_read() {
    let problem = check(&base(), None, Edition::Any).unwrap();
    let names: Vec<_> = problem.tensors().map(|slot| (slot.tensor.name(), slot.dtype, slot.output)).collect();
    let want = [("grad_output", Dtype::F32, false), ("indices", Dtype::I64, false), ("out", Dtype::F32, true)];
    assert_eq!(names, want);
    assert_eq!(problem.slot(Tensor::SelfTensor), None);
}

/// What decides about the vendor's gather, counted: bytes and elements of `grad_output`, and what as many rows take in the unified
/// buffer as end on 32 bytes, with their indices; those of vectors take offsets in bytes beside them.
#[test]
fn measures_of_the_vendors_gather() {
    let sizes =
        [[2, 3, 4, 4, 2, 2], [1, 1, 1, 7, 1, 5], [1, 2, 3, 5, 2, 3], [4, 64, 32, 32, 16, 16], [1, 3, 8, 2, 8, 1]];
    for [n, c, out_h, out_w, h, w] in sizes {
        for dtype in [Dtype::I8, Dtype::F16, Dtype::F32, Dtype::F64] {
            for (index_dtype, product) in
                [Dtype::I32, Dtype::I64].into_iter().flat_map(|i| Product::ALL.map(|p| (i, p)))
            {
                let spec =
                    MaxUnpool { dtype, out_dtype: dtype, index_dtype, n, c, h, w, out_h, out_w, ..Default::default() };
                let got = spec.problem().gather_measures(192 << 10, product);
                let (plane, pooled) = (out_h * out_w, h * w);
                let [row, out_row] = [plane, pooled].map(|cells| cells * dtype.size());
                let vectors = dtype == Dtype::F16 && product != Product::AtlasTraining;
                let index = index_dtype.size() + if vectors { index_dtype.size() } else { 0 };
                let rows = (1..).find(|rows| rows * row % 32 == 0 && rows * out_row % 32 == 0).unwrap();
                let all = n * c * row;
                let wanted = [
                    (all, i32::MAX as usize),
                    (plane, 1 << 30),
                    // Less than the buffer without 2048 bytes.
                    (rows * (row + out_row + pooled * index), (192 << 10) - 2049),
                    (all, 3000 * 1024),
                    (n * c * pooled, 2000),
                ];
                assert_eq!(got.map(|measure| (measure.used, measure.limit)), wanted, "{spec:?} on {product}");
            }
        }
    }
}

#[test]
fn the_vendor_route_depends_on_the_rows() {
    use ubtile_tiling::Route::{AiCore, Aicpu};
    let route = |shape: &[usize; 4], pooled: usize, dtype, product| {
        let mut desc = base();
        reshape(&mut desc.grad_output, shape);
        let size = [shape[2] as i64, shape[3] as i64];
        for t in [&mut desc.self_tensor, &mut desc.indices, &mut desc.out] {
            reshape(t, &[shape[0], shape[1], 1, pooled]);
        }
        for t in [&mut desc.grad_output, &mut desc.self_tensor, &mut desc.out] {
            t.dtype = dtype;
        }
        let desc = Desc { output_size: &size, ..desc };
        check(&desc, None, Edition::Any).unwrap().vendor_route(product, Edition::Master)
    };
    let big = [1, 1, 1024, 1024];
    // Neither do 4 MiB fit the unified buffer nor are they small, once there are more than 2000 indices.
    assert_eq!(route(&big, 2000, Dtype::F32, Product::AtlasA2), Some(AiCore));
    assert_eq!(route(&big, 2001, Dtype::F32, Product::AtlasA2), Some(Aicpu));
    assert_eq!(route(&big, 2001, Dtype::F32, Product::Ascend950), Some(AiCore));
    // Many small rows.
    assert_eq!(route(&[64, 64, 32, 32], 256, Dtype::F32, Product::AtlasTraining), Some(AiCore));
    assert_eq!(route(&[1, 1, 1, (1 << 30) + 1], 1, Dtype::I8, Product::AtlasA3), Some(Aicpu));
    assert_eq!(route(&[1, 1, 1, 4], 1, Dtype::Bool, Product::AtlasA2), Some(Aicpu));
    assert_eq!(route(&[1, 1, 1, 4], 1, Dtype::Bf16, Product::AtlasA2), None);
}

/// Of `any` a problem is one edition's: BOOL, which came with master, is no result in F64, which went with it. The host takes both.
#[test]
fn any_is_one_edition() {
    for (from, to) in Dtype::ALL.into_iter().flat_map(|from| Dtype::ALL.map(|to| (from, to))) {
        let mut desc = base();
        (desc.grad_output.dtype, desc.self_tensor.dtype, desc.out.dtype) = (from, from, to);
        for product in Product::ALL {
            let of = |edition| check(&desc, Some(product), edition);
            let one = [Edition::V8_0, Edition::V8_3, Edition::Master].into_iter().any(|edition| of(edition).is_ok());
            assert_eq!(of(Edition::Any).is_ok(), one, "{from} to {to} on {product}");
        }
    }
    let mut desc = base();
    (desc.grad_output.dtype, desc.self_tensor.dtype, desc.out.dtype) = (Dtype::Bool, Dtype::Bool, Dtype::F64);
    assert!(check(&desc, None, Edition::Any).is_ok());
    let error = check(&desc, Some(Product::AtlasA2), Edition::Any).unwrap_err();
    let says =
        "out is f64: MaxUnpool2dBackward on atlas-a2 takes f16, f32, i8, u8, i16, i32, i64, bool (edition master)";
    assert_eq!(error.to_string(), says);
}
