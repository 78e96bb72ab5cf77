//! The support table: against the vendor's tables restated in other words, and against what the checks accept.

use ubtile_testkit::problems::{GridSampler, Im2col, MaxUnpool, ReplicationPad};
use ubtile_tiling::{
    ContractError, Dtype, Edition, Operator, Problem, Product, TensorDesc, edition_rules, grid_sampler_2d_backward,
    im2col_backward, max_unpool2d_backward, replication_pad2d_backward, support, support_table,
};

/// A small problem of one dtype, checked.
fn check(operator: Operator, dtype: Dtype, product: Option<Product>, edition: Edition) -> Result<(), ContractError> {
    let t = |shape: &[usize]| TensorDesc::contiguous(dtype, shape).unwrap();
    match operator {
        Operator::GridSampler2dBackward => {
            let (image, points) = (t(&[1, 2, 3, 4]), t(&[1, 5, 6, 2]));
            let desc = grid_sampler_2d_backward::Desc {
                grad_output: t(&[1, 2, 5, 6]),
                input: image,
                grid: points,
                input_grad: image,
                grid_grad: points,
                interpolation: 0,
                padding_mode: 0,
                align_corners: false,
                output_mask: &[true, true],
            };
            grid_sampler_2d_backward::check(&desc, product, edition).map(|_| ())
        }
        Operator::MaxUnpool2dBackward => {
            let pooled = t(&[1, 2, 2, 2]);
            let desc = max_unpool2d_backward::Desc {
                grad_output: t(&[1, 2, 4, 4]),
                self_tensor: pooled,
                indices: TensorDesc::contiguous(Dtype::I32, &[1, 2, 2, 2]).unwrap(),
                output_size: &[4, 4],
                out: pooled,
            };
            max_unpool2d_backward::check(&desc, product, edition).map(|_| ())
        }
        Operator::ReplicationPad2dBackward => {
            let image = t(&[1, 2, 3, 4]);
            let desc = replication_pad2d_backward::Desc {
                grad_output: t(&[1, 2, 5, 6]),
                self_tensor: image,
                padding: &[1, 1, 1, 1],
                grad_input: image,
            };
            replication_pad2d_backward::check(&desc, product, edition).map(|_| ())
        }
        Operator::Im2colBackward => {
            let desc = im2col_backward::Desc {
                grad_output: t(&[1, 4, 4]),
                input_size: &[3, 3],
                kernel_size: &[2, 2],
                dilation: &[1, 1],
                padding: &[0, 0],
                stride: &[1, 1],
                out: t(&[1, 1, 3, 3]),
            };
            im2col_backward::check(&desc, product, edition).map(|_| ())
        }
    }
}

/// The host and every product.
fn columns() -> impl Iterator<Item = Option<Product>> {
    Product::ALL.into_iter().map(Some).chain([None])
}

#[test]
fn checks_accept_what_the_table_says() {
    for operator in Operator::ALL {
        for dtype in Dtype::ALL {
            for product in columns() {
                for edition in Edition::ALL {
                    let result = check(operator, dtype, product, edition);
                    let entry = support(operator, dtype, product, edition);
                    assert_eq!(result.is_ok(), entry.accepted, "{operator} {dtype} {product:?} {edition}");
                    // A route is what a product has that accepts.
                    assert_eq!(entry.route.is_some(), entry.accepted && product.is_some());
                    let column_is_empty =
                        !Dtype::ALL.into_iter().any(|d| support(operator, d, product, edition).accepted);
                    match result {
                        Ok(()) => {}
                        Err(ContractError::Product { .. }) => assert!(column_is_empty),
                        Err(error) => assert!(matches!(error, ContractError::Dtype { got, .. } if got == dtype)),
                    }
                }
            }
        }
    }
}

/// The dtypes accepted, by name.
fn accepted(operator: Operator, product: Option<Product>, edition: Edition) -> String {
    let dtypes = Dtype::ALL.into_iter().filter(|&dtype| support(operator, dtype, product, edition).accepted);
    dtypes.map(Dtype::name).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_vendors_documents_edition_by_edition() {
    use Edition::{Any, Master, V8_0, V8_3};
    use Product::{Ascend950, AtlasA2, AtlasA3, AtlasInference, AtlasTraining};
    let old_unpool = "f16 f32 f64 i8 u8 i16 i32 i64";
    let new_unpool = "f16 f32 i8 u8 i16 i32 i64 bool";
    let old_pad = "f16 f32 f64 c64 c128";
    let new_pad = "f16 bf16 f32 f64 c64 c128";
    type Column = (Operator, Product, [(Edition, &'static str); 4]);
    let documents: &[Column] = {
        use Operator::{GridSampler2dBackward, Im2colBackward, MaxUnpool2dBackward, ReplicationPad2dBackward};
        let none = [(V8_0, ""), (V8_3, ""), (Master, ""), (Any, "")];
        let grid = "f16 bf16 f32 f64";
        let (f16_f32, floats) = ("f16 f32", "f16 bf16 f32");
        let all_unpool = "f16 f32 f64 i8 u8 i16 i32 i64 bool";
        &[
            (GridSampler2dBackward, AtlasInference, none),
            (GridSampler2dBackward, AtlasTraining, [V8_0, V8_3, Master, Any].map(|edition| (edition, f16_f32))),
            (GridSampler2dBackward, AtlasA2, [(V8_0, floats), (V8_3, grid), (Master, grid), (Any, grid)]),
            (GridSampler2dBackward, AtlasA3, [(V8_0, ""), (V8_3, grid), (Master, grid), (Any, grid)]),
            (GridSampler2dBackward, Ascend950, [(V8_0, ""), (V8_3, ""), (Master, grid), (Any, grid)]),
            (MaxUnpool2dBackward, AtlasInference, none),
            (
                MaxUnpool2dBackward,
                AtlasTraining,
                [(V8_0, old_unpool), (V8_3, old_unpool), (Master, new_unpool), (Any, all_unpool)],
            ),
            (
                MaxUnpool2dBackward,
                AtlasA2,
                [(V8_0, old_unpool), (V8_3, old_unpool), (Master, new_unpool), (Any, all_unpool)],
            ),
            (MaxUnpool2dBackward, AtlasA3, [(V8_0, ""), (V8_3, ""), (Master, new_unpool), (Any, new_unpool)]),
            (MaxUnpool2dBackward, Ascend950, [(V8_0, ""), (V8_3, ""), (Master, new_unpool), (Any, new_unpool)]),
            (
                ReplicationPad2dBackward,
                AtlasInference,
                [(V8_0, old_pad), (V8_3, old_pad), (Master, new_pad), (Any, new_pad)],
            ),
            (
                ReplicationPad2dBackward,
                AtlasTraining,
                [(V8_0, old_pad), (V8_3, old_pad), (Master, new_pad), (Any, new_pad)],
            ),
            (ReplicationPad2dBackward, AtlasA2, [(V8_0, old_pad), (V8_3, old_pad), (Master, new_pad), (Any, new_pad)]),
            (ReplicationPad2dBackward, AtlasA3, [(V8_0, ""), (V8_3, ""), (Master, new_pad), (Any, new_pad)]),
            (ReplicationPad2dBackward, Ascend950, [(V8_0, ""), (V8_3, ""), (Master, new_pad), (Any, new_pad)]),
            (Im2colBackward, AtlasInference, none),
            (Im2colBackward, AtlasTraining, [(V8_0, f16_f32), (V8_3, f16_f32), (Master, ""), (Any, f16_f32)]),
            (Im2colBackward, AtlasA2, [(V8_0, f16_f32), (V8_3, f16_f32), (Master, floats), (Any, floats)]),
            (Im2colBackward, AtlasA3, [(V8_0, ""), (V8_3, ""), (Master, floats), (Any, floats)]),
            (Im2colBackward, Ascend950, [(V8_0, ""), (V8_3, ""), (Master, floats), (Any, floats)]),
        ]
    };
    assert_eq!(documents.len(), 4 * 5);
    for &(operator, product, editions) in documents {
        for (edition, dtypes) in editions {
            assert_eq!(accepted(operator, Some(product), edition), dtypes, "{operator} on {product} in {edition}");
        }
    }
}

#[test]
fn a2_machines_agree_and_200i_supports_nothing() {
    for operator in Operator::ALL {
        for edition in Edition::ALL {
            let a2 = accepted(operator, Some(Product::AtlasA2), edition);
            assert_eq!(accepted(operator, Some(Product::Atlas800iA2), edition), a2);
            assert_eq!(accepted(operator, Some(Product::A200iA2Box), edition), a2);
            assert_eq!(accepted(operator, Some(Product::Atlas200iA2), edition), "");
        }
    }
    let error = check(Operator::Im2colBackward, Dtype::F32, Some(Product::Atlas200iA2), Edition::Any).unwrap_err();
    assert_eq!(error.to_string(), "Im2colBackward is not supported on atlas-200i-a2 (edition any)");
}

#[test]
fn the_host_is_the_widest_whatever_the_edition() {
    for edition in Edition::ALL {
        assert_eq!(accepted(Operator::GridSampler2dBackward, None, edition), "f16 bf16 f32 f64");
        let unpool = "f16 bf16 f32 f64 i8 u8 i16 i32 i64 bool";
        assert_eq!(accepted(Operator::MaxUnpool2dBackward, None, edition), unpool);
        assert_eq!(accepted(Operator::ReplicationPad2dBackward, None, edition), "f16 bf16 f32 f64 c64 c128");
        assert_eq!(accepted(Operator::Im2colBackward, None, edition), "f16 bf16 f32 f64");
    }
    let error = check(Operator::Im2colBackward, Dtype::C64, None, Edition::V8_0).unwrap_err();
    assert_eq!(error.to_string(), "grad_output is c64: Im2colBackward on the host takes f16, bf16, f32, f64");
}

#[test]
fn a_refusal_lists_what_is_taken() {
    let product = Some(Product::AtlasTraining);
    let error = check(Operator::GridSampler2dBackward, Dtype::Bf16, product, Edition::Master).unwrap_err();
    assert_eq!(
        error.to_string(),
        "input is bf16: GridSampler2DBackward on atlas-training takes f16, f32 (edition master)"
    );
}

#[test]
fn rows_are_unique() {
    let rows = support_table();
    for (i, row) in rows.iter().enumerate() {
        let twin = |other: &&ubtile_tiling::Row| other.operator == row.operator && other.dtype == row.dtype;
        assert_eq!(rows[i + 1..].iter().find(twin), None);
    }
}

#[test]
fn every_disagreement_of_editions_is_listed() {
    let lines: Vec<_> = edition_rules().map(|rule| rule.to_string()).collect();
    for line in [
        "grid-sampler-2d-backward: interpolation bicubic only in master",
        "grid-sampler-2d-backward: padding-mode reflection only in 8.0, master",
        "grid-sampler-2d-backward: empty tensors only in 8.0, master",
        "grid-sampler-2d-backward on atlas-a2: f64 only in 8.3, master",
        "im2col-backward on atlas-training: f16, f32 only in 8.0, 8.3",
        "max-unpool2d-backward on atlas-a2: f64 only in 8.0, 8.3",
        "max-unpool2d-backward on atlas-a2: bool only in master",
        "replication-pad2d-backward on atlas-inference: bf16 only in master",
    ] {
        assert!(lines.iter().any(|l| l == line), "{line} is missing in {lines:#?}");
    }
    // A cell is in exactly one line when its editions differ, else in none.
    for row in support_table() {
        for product in Product::ALL {
            let takes = |edition| support(row.operator, row.dtype, Some(product), edition).accepted;
            let takes = [Edition::V8_0, Edition::V8_3, Edition::Master].map(takes);
            let differ = takes.contains(&true) && takes.contains(&false);
            let about = format!("{} on {product}:", row.operator);
            let listed = edition_rules()
                .filter(|rule| rule.to_string().starts_with(&about) && rule.dtypes().any(|dtype| dtype == row.dtype));
            let has_column = !matches!(product, Product::Atlas800iA2 | Product::A200iA2Box);
            assert_eq!(listed.count(), usize::from(differ && has_column), "{about} {}", row.dtype);
        }
    }
}

/// A problem of any operator runs where the operator's own does, and somewhere.
#[test]
fn routes_are_those_of_the_operator() {
    let (grid_sampler, max_unpool) = (GridSampler::default().problem(), MaxUnpool::default().problem());
    let (replication_pad, im2col) = (ReplicationPad::default().problem(), Im2col::default().problem());
    let columns = Product::ALL.into_iter().flat_map(|product| Edition::ALL.map(|edition| (product, edition)));
    let mut routes = [0; 4];
    for (product, edition) in columns {
        let pairs = [
            (Problem::GridSampler2dBackward(grid_sampler), grid_sampler.vendor_route(product, edition)),
            (Problem::MaxUnpool2dBackward(max_unpool), max_unpool.vendor_route(product, edition)),
            (Problem::ReplicationPad2dBackward(replication_pad), replication_pad.vendor_route(product, edition)),
            (Problem::Im2colBackward(im2col), im2col.vendor_route(product, edition)),
        ];
        for (count, (any, own)) in routes.iter_mut().zip(pairs) {
            assert_eq!(any.vendor_route(product, edition), own);
            *count += usize::from(own.is_some());
        }
    }
    assert!(routes.iter().all(|&count| count > 0), "{routes:?}");
}
