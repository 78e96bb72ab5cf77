//! Short axes, large paddings, channels without end, buffers at odd addresses, and tensors that are empty.

use ubtile_kernels::{Level, Values};
use ubtile_testkit::problems::{GridSampler, Im2col, Layout, MaxUnpool, POISON, ReplicationPad};
use ubtile_testkit::{Coordinates, Data, Fill, IndexFill, Inputs, Kinds, Rng};
use ubtile_tiling::{Dtype, PlanError, PlanOptions, Problem, TargetSpec, Tensor, plan};

use crate::indices::gaps_of_ones;
use crate::run::{Way, agrees, named, numbers, run, same_bits};

const KINDS: Kinds =
    Kinds { values: Fill::Integers, coordinates: Coordinates::Random, indices: IndexFill::Permutation };

/// All operators with a last axis of that length.
fn of_width(dtype: Dtype, w: usize, inputs: Layout, outputs: Layout) -> [Problem; 4] {
    let (h, c, n) = (2, 3, 2);
    let grid = GridSampler { dtype, n, c, hi: h, wi: w, ho: h, wo: w, inputs, outputs, ..Default::default() };
    let (out_h, out_w, out_dtype) = (h, w, dtype);
    let unpool = MaxUnpool { dtype, out_dtype, n, c, h, w, out_h, out_w, inputs, outputs, ..Default::default() };
    let pad = ReplicationPad { dtype, n, c, h, w, padding: [1, 0, 0, 1], inputs, outputs };
    let fold =
        Im2col { dtype, out_dtype, n, c, h, w, kernel: [1, 2], padding: [0, 1], inputs, outputs, ..Default::default() };
    [
        Problem::GridSampler2dBackward(grid.problem()),
        Problem::MaxUnpool2dBackward(unpool.problem()),
        Problem::ReplicationPad2dBackward(pad.problem()),
        Problem::Im2colBackward(fold.problem()),
    ]
}

/// Whatever lies behind a row, it is not in the result, and nothing is written there: vectors do not reach beyond a short row.
#[test]
fn reads_and_writes_stay_within_a_short_last_axis() {
    for (dtype, w) in [Dtype::F16, Dtype::F32, Dtype::F64].into_iter().flat_map(|d| (1..=19).map(move |w| (d, w))) {
        for (layout, problem) in [Layout::Contiguous, Layout::Pitched, Layout::Spread]
            .into_iter()
            .flat_map(|layout| of_width(dtype, w, layout, layout).map(|problem| (layout, problem)))
        {
            let mut inputs = Inputs::random(&problem, KINDS, &mut Rng::new(w as u64));
            for (_, data) in inputs.tensors_mut().into_iter().filter(|(tensor, _)| *tensor != Tensor::Indices) {
                let numbers: Vec<_> = data.offsets().map(|offset| data.number(offset)).collect();
                *data = gaps_of_ones(*data.desc(), |i| numbers[i]);
            }
            for level in Level::available() {
                agrees(&problem, &inputs, Way::plain(level), &format!("{layout:?} {problem:?}"));
            }
        }
    }
}

/// Rows of bytes at odd addresses, and a padding that makes each row start at another.
#[test]
fn misaligned_int8_rows_with_padding() {
    for (dtype, w) in [Dtype::I8, Dtype::U8, Dtype::Bool].into_iter().flat_map(|d| (1..=35).map(move |w| (d, w))) {
        let spec = MaxUnpool {
            dtype,
            out_dtype: dtype,
            index_dtype: Dtype::I32,
            n: 1,
            c: 2,
            h: 2,
            w,
            out_h: 2,
            out_w: w,
            inputs: Layout::Pitched,
            outputs: Layout::Pitched,
        };
        let problem = Problem::MaxUnpool2dBackward(spec.problem());
        let inputs = Inputs::random(&problem, KINDS, &mut Rng::new(w as u64));
        for level in Level::available() {
            agrees(&problem, &inputs, Way::plain(level), &format!("{spec:?}"));
        }
        // The same bytes one further in memory.
        let Inputs::MaxUnpool2dBackward(data) = &inputs else { unreachable!() };
        let shifted = [&[POISON], data.grad_output.bytes()].concat();
        assert!(Values::from_bytes(dtype, &shifted[1..]).is_some(), "bytes may lie anywhere");
        let want = numbers(&run(&problem, &inputs, Way::plain(Level::scalar())).unwrap(), Tensor::Out);
        let Problem::MaxUnpool2dBackward(problem) = problem else { unreachable!() };
        let plan = ubtile_tiling::max_unpool2d_backward::plan(&problem, &TargetSpec::host(1), &PlanOptions::default());
        for level in Level::available() {
            use ubtile_kernels::max_unpool2d_backward::{Inputs, Outputs, run};
            let mut out = ubtile_testkit::problems::output(problem.slot(Tensor::Out));
            let mut out_bytes = vec![POISON; out.bytes().len() + 1];
            let inputs = Inputs {
                grad_output: Values::from_bytes(dtype, &shifted[1..]).unwrap(),
                indices: crate::common::values(&data.indices),
            };
            let to = ubtile_kernels::ValuesMut::from_bytes(dtype, &mut out_bytes[1..]).unwrap();
            run(plan.as_ref().unwrap(), level, inputs, Outputs { out: to }, &mut []).unwrap();
            out.bytes_mut().copy_from_slice(&out_bytes[1..]);
            assert_eq!(out.offsets().map(|o| out.number(o)).collect::<Vec<_>>(), want, "{spec:?} {level}");
            assert!(out_bytes[0] == POISON && out.gaps_hold(POISON), "{spec:?} {level}");
        }
    }
    // Wider elements must be aligned: a buffer that is not is no buffer, and nothing is read through it.
    let bytes = [0u64; 4];
    let bytes: &[u8] = bytemuck::cast_slice(&bytes);
    for dtype in Dtype::ALL.into_iter().filter(|dtype| dtype.size() > 1) {
        assert!(Values::from_bytes(dtype, &bytes[1..1 + dtype.size()]).is_none(), "{dtype}");
    }
}

/// A left padding beyond a vector, a row and a tile: its columns fold into the first, in whole numbers and so exactly.
#[test]
fn large_left_padding() {
    for (left, w) in [7, 8, 9, 31, 64, 1000, 5000].into_iter().flat_map(|left| [1, 2, 5, 17].map(|w| (left, w))) {
        for dtype in [Dtype::F32, Dtype::F64, Dtype::C64] {
            let spec = ReplicationPad { dtype, n: 1, c: 2, h: 3, w, padding: [left, 2, 1, 0], ..Default::default() };
            let problem = Problem::ReplicationPad2dBackward(spec.problem());
            let grad_output = spec.desc().grad_output;
            let inputs = Inputs::ReplicationPad2dBackward(Data::from_fn(grad_output, |_| 1.0));
            for level in Level::available() {
                for way in [Way::plain(level), Way { cores: 4, ..Way::plain(level) }, Way::tile(level, 1024)] {
                    let got = numbers(&run(&problem, &inputs, way).unwrap(), Tensor::GradInput);
                    let parts = if dtype == Dtype::C64 { 2 } else { 1 };
                    for (i, got) in got.into_iter().enumerate() {
                        let (x, y) = (i / parts % w, i / parts / w % 3);
                        let columns = 1 + if x == 0 { left } else { 0 } + if x == w - 1 { 2 } else { 0 };
                        let rows = if y == 0 { 2 } else { 1 };
                        assert_eq!(got, (columns * rows) as f64, "{spec:?} {way:?} at {x}, {y}");
                    }
                }
            }
        }
    }
}

/// Local memory that does not hold the channels of one point: a smaller block of them, or a refusal that says how much it takes.
#[test]
fn channels_that_leave_no_room_for_a_tile() {
    for (c, dtype) in [1, 64, 65, 1000].into_iter().flat_map(|c| [Dtype::F32, Dtype::F16].map(|dtype| (c, dtype))) {
        let spec = GridSampler { dtype, n: 1, c, hi: 2, wi: 3, ho: 2, wo: 5, ..Default::default() };
        let problem = Problem::GridSampler2dBackward(spec.problem());
        let inputs = Inputs::random(&problem, KINDS, &mut Rng::new(c as u64));
        let options = PlanOptions { local_bytes: Some(0), ..Default::default() };
        let Err(PlanError::LocalBytes { want, .. }) = plan(&problem, &TargetSpec::host(1), &options) else {
            panic!("{spec:?}: a tile in no memory")
        };
        let smallest = agrees(&problem, &inputs, Way::tile(Level::detect(), want), &format!("{spec:?}"));
        let largest = agrees(&problem, &inputs, Way::plain(Level::detect()), &format!("{spec:?}"));
        same_bits(&smallest, &largest, &format!("{spec:?}"));
    }
}

#[test]
fn empty_tensors_in_every_position() {
    let grid = GridSampler::default();
    let unpool = MaxUnpool::default();
    let pad = ReplicationPad::default();
    let fold = Im2col::default();
    let grids = [
        GridSampler { n: 0, ..grid },
        GridSampler { c: 0, ..grid },
        GridSampler { ho: 0, ..grid },
        GridSampler { wo: 0, ..grid },
        GridSampler { output_mask: [false, false], ..grid },
        GridSampler { c: 0, output_mask: [false, true], ..grid },
        GridSampler { wo: 0, output_mask: [true, false], ..grid },
    ];
    let unpools = [
        MaxUnpool { n: 0, ..unpool },
        MaxUnpool { c: 0, ..unpool },
        MaxUnpool { h: 0, ..unpool },
        MaxUnpool { w: 0, ..unpool },
        MaxUnpool { w: 0, out_h: 0, ..unpool },
        MaxUnpool { h: 0, out_w: 0, ..unpool },
    ];
    // One size too small for the window in either direction: it has no position.
    let folds = [
        Im2col { n: 0, ..fold },
        Im2col { c: 0, ..fold },
        Im2col { h: fold.kernel[0] - 1, padding: [0; 2], dilation: [1; 2], ..fold },
        Im2col { w: fold.kernel[1] - 1, padding: [0; 2], dilation: [1; 2], ..fold },
        Im2col { h: 0, kernel: [1, 1], padding: [0; 2], ..fold },
        Im2col { w: 0, kernel: [1, 1], padding: [0; 2], ..fold },
        // No pixel, but windows over the padding.
        Im2col { h: 0, kernel: [2, 2], padding: [2, 2], ..fold },
        Im2col { w: 0, kernel: [2, 2], padding: [2, 2], ..fold },
    ];
    let layouts = [Layout::Contiguous, Layout::Pitched];
    let problems = layouts.into_iter().flat_map(|outputs| {
        let grids = grids.map(|spec| Problem::GridSampler2dBackward(GridSampler { outputs, ..spec }.problem()));
        let unpools = unpools.map(|spec| Problem::MaxUnpool2dBackward(MaxUnpool { outputs, ..spec }.problem()));
        let pads = Problem::ReplicationPad2dBackward(ReplicationPad { n: 0, outputs, ..pad }.problem());
        let folds = folds.map(|spec| Problem::Im2colBackward(Im2col { outputs, ..spec }.problem()));
        grids.into_iter().chain(unpools).chain([pads]).chain(folds).collect::<Vec<_>>()
    });
    for problem in problems {
        let inputs = Inputs::random(&problem, KINDS, &mut Rng::new(1));
        for level in Level::available() {
            for cores in [1, 3] {
                let way = Way { cores, ..Way::plain(level) };
                let outputs = run(&problem, &inputs, way).unwrap();
                for (tensor, data) in &outputs {
                    assert!(data.offsets().all(|o| data.bits(o) == 0), "{problem:?} {way:?}: {tensor} is not 0");
                    assert!(data.gaps_hold(POISON), "{problem:?} {way:?}: {tensor} is written between elements");
                }
                assert_eq!(outputs.len(), problem.tensors().filter(|slot| slot.output).count());
            }
        }
    }
}

/// What is staged of F16 is F32; a sum in F16 would stop growing at 2048.
#[test]
fn sums_of_f16_are_made_in_f32() {
    let ones = |problem: &Problem| {
        Inputs::try_new(problem, |slot| {
            let desc = ubtile_tiling::TensorDesc::strided(slot.dtype, slot.shape.as_slice(), slot.strides.as_slice());
            // Of a grid: everything meets in the pixel in the middle.
            Ok::<_, ()>(Data::from_fn(desc.unwrap(), |_| if slot.tensor == Tensor::Grid { 0.0 } else { 1.0 }))
        })
    };
    // A multiple of 4, so that F16 has it.
    let count = 5000;
    let grid = GridSampler { dtype: Dtype::F16, n: 1, c: 3, hi: 3, wi: 3, ho: 1, wo: count, ..Default::default() };
    let pad = ReplicationPad {
        dtype: Dtype::F16,
        n: 1,
        c: 1,
        h: 1,
        w: 1,
        padding: [count as i64 - 1, 0, 0, 0],
        ..Default::default()
    };
    let fold = Im2col {
        dtype: Dtype::F16,
        out_dtype: Dtype::F16,
        n: 1,
        c: 1,
        h: 1,
        w: 1,
        kernel: [1, count],
        padding: [0, count - 1],
        ..Default::default()
    };
    let cases = [
        (Problem::GridSampler2dBackward(grid.problem()), Tensor::InputGrad),
        (Problem::ReplicationPad2dBackward(pad.problem()), Tensor::GradInput),
        (Problem::Im2colBackward(fold.problem()), Tensor::Out),
    ];
    for (problem, tensor) in cases {
        let inputs = ones(&problem).unwrap();
        for level in Level::available() {
            for workspace_limit in [None, Some(0), Some(400)] {
                let options = PlanOptions { workspace_limit, ..Default::default() };
                let outputs = run(&problem, &inputs, Way { level, cores: 1, options }).unwrap();
                let largest = numbers(&outputs, tensor).into_iter().fold(0.0, f64::max);
                assert_eq!(largest, count as f64, "{problem:?} {level} {workspace_limit:?}");
                assert_eq!(named(&outputs, tensor).dtype(), Dtype::F16);
            }
        }
    }
}
