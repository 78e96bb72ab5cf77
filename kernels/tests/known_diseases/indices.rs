//! Indices of an unpooling: narrowed, multiplied in 32 bits, split by the wrong width.

use ubtile_kernels::max_unpool2d_backward::{Inputs as Buffers, Outputs, run, run_tile};
use ubtile_kernels::{Level, RunError, Values, ValuesMut};
use ubtile_testkit::problems::{Layout, MaxUnpool};
use ubtile_testkit::{Data, Inputs, encode, reference};
use ubtile_tiling::max_unpool2d_backward::{Desc, check, plan};
use ubtile_tiling::{Dtype, Edition, PlanOptions, Problem, TargetSpec, Tensor, TensorDesc};

use crate::run::{Way, numbers, run as run_any};

/// Indices that are legal once only 32 (or 31, or 8) of their bits are looked at.
const NARROWED: [i64; 8] =
    [1 << 32 | 3, -(1 << 32) + 3, 1 << 33, 1 << 31 | 3, i64::MIN, i64::MAX, i64::MIN | 3, 1 << 40];

#[test]
fn an_index_that_becomes_legal_when_narrowed_is_refused() {
    for (dtype, layout) in
        [Dtype::F32, Dtype::I8, Dtype::F16].map(|d| [(d, Layout::Contiguous), (d, Layout::Spread)]).concat()
    {
        let spec = MaxUnpool { dtype, out_dtype: dtype, n: 1, c: 2, h: 3, w: 19, inputs: layout, ..Default::default() };
        let problem = spec.problem();
        for (bad, position) in NARROWED.into_iter().flat_map(|bad| [0, 1, 7, 31, 57, 113].map(|at| (bad, at))) {
            let desc = |shape: &[usize], dtype| layout.desc(dtype, shape);
            let inputs = Inputs::MaxUnpool2dBackward(reference::max_unpool2d_backward::Inputs {
                grad_output: Data::from_fn(desc(&[1, 2, 4, 6], dtype), |i| (i % 24) as f64),
                indices: Data::from_bits_fn(desc(&[1, 2, 3, 19], Dtype::I64), |i| {
                    if i == position { bad as u64 } else { (i % 24) as u64 }
                }),
            });
            let want = RunError::Index { position, index: bad, cells: 24 };
            for level in Level::available() {
                for way in [Way::plain(level), Way { cores: 3, ..Way::plain(level) }, Way::tile(level, 512)] {
                    let error = run_any(&Problem::MaxUnpool2dBackward(problem), &inputs, way).unwrap_err();
                    assert_eq!(error, want, "{spec:?} {way:?}");
                }
            }
        }
    }
}

/// A tile has but a slice of the plane at hand: what lies outside of the slice is another tile's, what lies outside of the
/// plane nobody's.
#[test]
fn a_tile_refuses_an_index_that_becomes_legal_when_narrowed() {
    let spec = MaxUnpool { n: 1, c: 1, h: 1, w: 40, out_h: 10, out_w: 10, ..Default::default() };
    let options = PlanOptions { local_bytes: Some(512), ..Default::default() };
    let plan = plan(&spec.problem(), &TargetSpec::host(1), &options).unwrap();
    for (tile, bad) in plan.tiles(0, 0).flat_map(|tile| NARROWED.map(|bad| (tile, bad))) {
        let ([e0, e1], [c0, c1]) = (tile.elements, tile.cells);
        for level in Level::available() {
            let mut indices = vec![0i64; e1 - e0];
            indices[e1 - e0 - 1] = bad;
            let (grad, mut out) = (vec![1f32; c1 - c0], vec![0f32; e1 - e0]);
            let inputs = Buffers { grad_output: Values::F32(&grad), indices: Values::I64(&indices) };
            let outputs = Outputs { out: ValuesMut::F32(&mut out) };
            let error = run_tile(&plan, level, &tile, inputs, outputs).unwrap_err();
            assert_eq!(error, RunError::Index { position: e1 - 1, index: bad, cells: 100 });
        }
    }
}

/// A plane of 2^33 cells in four elements: all of its rows are the same one.
#[test]
fn index_products_beyond_int32() {
    let (rows, columns) = (1usize << 31, 4usize);
    let shape = [1, 1, 1, 5];
    let tensor = |dtype| TensorDesc::contiguous(dtype, &shape).unwrap();
    let grad_output = TensorDesc::strided(Dtype::F32, &[1, 1, rows, columns], &[0, 0, 0, 1]).unwrap();
    let desc = Desc {
        grad_output,
        self_tensor: tensor(Dtype::F32),
        indices: tensor(Dtype::I64),
        output_size: &[rows as i64, columns as i64],
        out: tensor(Dtype::F32),
    };
    let problem = check(&desc, None, Edition::Any).unwrap();
    let plan = plan(&problem, &TargetSpec::host(1), &PlanOptions::default()).unwrap();
    let grad = [10.0, 11.0, 12.0, 13.0];
    let cells = rows * columns;
    for level in Level::available() {
        let run = |indices: [i64; 5]| {
            let mut out = [-1f32; 5];
            let inputs = Buffers { grad_output: Values::F32(&grad), indices: Values::I64(&indices) };
            run(&plan, level, inputs, Outputs { out: ValuesMut::F32(&mut out) }, &mut []).map(|()| out)
        };
        // The last cell, and cells beyond 2^31 and 2^32 of every column.
        let good = [cells as i64 - 1, (1 << 32) + 2, (1 << 31) + 1, 1 << 32, 3];
        assert_eq!(run(good), Ok([13.0, 12.0, 11.0, 10.0, 13.0]), "{level}");
        let bad = [0, 1, cells as i64, 2, -1];
        assert_eq!(run(bad), Err(RunError::Index { position: 2, index: bad[2], cells }), "{level}");
    }
}

/// Rows and columns of a cell follow from the width of the plane, not from that of its padded or aligned rows.
#[test]
fn the_row_of_an_index_follows_from_the_true_width() {
    for (out_w, layout) in (1..=19).flat_map(|w| Layout::INPUT.map(|layout| (w, layout))) {
        for dtype in [Dtype::I8, Dtype::F16, Dtype::F32, Dtype::F64] {
            let spec = MaxUnpool {
                dtype,
                out_dtype: dtype,
                n: 1,
                c: 1,
                h: 3,
                w: out_w,
                out_h: 3,
                out_w,
                inputs: layout,
                ..Default::default()
            };
            let (problem, cells) = (spec.problem(), 3 * out_w);
            let desc = |dtype| layout.desc(dtype, &[1, 1, 3, out_w]);
            let inputs = Inputs::MaxUnpool2dBackward(reference::max_unpool2d_backward::Inputs {
                grad_output: gaps_of_ones(desc(dtype), |i| i as f64),
                indices: Data::from_bits_fn(desc(Dtype::I64), |i| (cells - 1 - i) as u64),
            });
            for level in Level::available() {
                for way in [Way::plain(level), Way::tile(level, 320)] {
                    let outputs = run_any(&Problem::MaxUnpool2dBackward(problem), &inputs, way).unwrap();
                    let want: Vec<_> = (0..cells).rev().map(|i| i as f64).collect();
                    assert_eq!(numbers(&outputs, Tensor::Out), want, "{spec:?} {way:?}");
                }
            }
        }
    }
}

/// A tensor whose gaps hold all ones in bits: NaN, or -1.
pub(crate) fn gaps_of_ones(desc: TensorDesc, number: impl Fn(usize) -> f64) -> Data {
    let mut data = Data::filled(desc, 0xff);
    for (i, offset) in data.offsets().enumerate() {
        data.set_bits(offset, encode(desc.dtype, number(i)));
    }
    data
}
