//! Shares and tiles that a caller runs one by one, on boxes of their own.

use ubtile_kernels::im2col_backward::{Inputs, Outputs, run_share, run_tile};
use ubtile_kernels::{Level, RunError, ValuesMut};
use ubtile_testkit::problems::{Im2col, Layout, POISON, im2col_tile_input, output};
use ubtile_testkit::{Data, Fill, Rng, bits_equal};
use ubtile_tiling::im2col_backward::plan;
use ubtile_tiling::{PlanOptions, TargetSpec, Tensor, TensorDesc};

use super::common::{values, values_mut};
use super::{DTYPES, planned, prepare};

#[test]
fn shares_run_by_hand_in_any_order() {
    // Of any layout: the plans make no copies, so shares read the tensor itself. A share that is given more keeps to its elements.
    for (inputs, more) in Layout::INPUT.into_iter().flat_map(|inputs| [(inputs, false), (inputs, true)]) {
        let spec = Im2col { n: 2, c: 3, h: 7, w: 11, kernel: [3, 3], padding: [1, 1], inputs, ..Default::default() };
        let (problem, grad_output, want) = prepare(&spec, Fill::Specials, &mut Rng::new(6));
        let plan = planned(&problem, 5, None);
        assert_eq!(plan.block_dim(), 5);
        let mut got = output(problem.slot(Tensor::Out));
        for share in (0..plan.block_dim()).rev() {
            let range = plan.share_range(0, share);
            let ValuesMut::F32(out) = values_mut(&mut got) else { unreachable!() };
            let end = if more { out.len() } else { range.end };
            let outputs = Outputs { out: ValuesMut::F32(&mut out[range.start..end]) };
            run_share(&plan, Level::detect(), 0, share, Inputs { grad_output: values(&grad_output) }, outputs).unwrap();
        }
        bits_equal(&got, &want).unwrap_or_else(|difference| panic!("{spec:?}: {difference}"));
        let outputs = Outputs { out: ValuesMut::F32(&mut []) };
        let ran = run_share(&plan, Level::detect(), 0, 5, Inputs { grad_output: values(&grad_output) }, outputs);
        assert_eq!(ran, Err(RunError::NoShare { phase: 0, share: 5, shares: 5 }));
    }
}

#[test]
fn tiles_on_their_own_boxes() {
    let rng = &mut Rng::new(7);
    let levels: Vec<_> = Level::available().collect();
    let windows = [([3, 3], 1, 1, 1), ([3, 4], 2, 1, 1), ([2, 5], 1, 3, 4), ([3, 3], 3, 2, 2), ([7, 7], 2, 1, 3)];
    for (dtype, out_dtype) in DTYPES.into_iter().flat_map(|dtype| DTYPES.map(|out_dtype| (dtype, out_dtype))) {
        for (kernel, s, d, p) in windows {
            let (stride, dilation, padding) = ([s, s], [d, d], [p, p]);
            let spec = Im2col {
                dtype,
                out_dtype,
                n: 1,
                c: 2,
                h: 9,
                w: 13,
                kernel,
                stride,
                dilation,
                padding,
                ..Default::default()
            };
            let (problem, grad_output, want) = prepare(&spec, Fill::Specials, rng);
            for (round, local_bytes) in [192, 256, 640, 2048, 8192, 1 << 20].into_iter().enumerate() {
                let level = levels[round % levels.len()];
                let mut target = TargetSpec::host(2);
                target.block_bytes = 32;
                let options = PlanOptions { local_bytes: Some(local_bytes), ..Default::default() };
                let plan = plan(&problem, &target, &options).unwrap();
                let mut got = output(problem.slot(Tensor::Out));
                let (sums, apart) = plan.sums();
                let boxed =
                    |dtype, cells: usize| Data::filled(TensorDesc::contiguous(dtype, &[cells]).unwrap(), POISON);
                let (mut out, mut kept) = (boxed(out_dtype, 0), boxed(sums, 0));
                for tile in (0..plan.block_dim()).flat_map(|share| plan.tiles(0, share)) {
                    if !tile.accumulates {
                        out = boxed(out_dtype, tile.cells());
                        kept = boxed(sums, if apart { tile.cells() } else { 0 });
                    }
                    let input = im2col_tile_input(&plan, &tile, &grad_output);
                    let inputs = Inputs { grad_output: values(&input) };
                    let outputs = Outputs { out: values_mut(&mut out) };
                    run_tile(&plan, level, &tile, inputs, outputs, values_mut(&mut kept)).unwrap();
                    if tile.last {
                        let [[y0, _], [x0, x1]] = [tile.rows, tile.columns];
                        for k in 0..tile.cells() {
                            let (y, x) = (y0 + k / (x1 - x0), x0 + k % (x1 - x0));
                            got.set_bits((tile.plane * 9 + y) * 13 + x, out.bits(k));
                        }
                    }
                }
                if let Err(difference) = bits_equal(&got, &want) {
                    panic!("{spec:?} {level} {local_bytes} bytes: {difference}");
                }
            }
        }
    }
}
