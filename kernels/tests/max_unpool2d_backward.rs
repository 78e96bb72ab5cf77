//! MaxUnpool2dBackward: the reference's bits whatever the level, threads, tiles and strides, and the lowest bad index.

#[path = "max_unpool2d_backward/by_pixels.rs"]
mod by_pixels;

mod common;

use common::{Threads, values, values_mut};
use ubtile_kernels::max_unpool2d_backward::{Inputs, Outputs, run, run_parallel, run_share, run_tile};
use ubtile_kernels::{Level, RunError, Values, ValuesMut};
use ubtile_testkit::problems::{Layout, MaxUnpool, POISON, max_unpool_inputs, output};
use ubtile_testkit::reference::max_unpool2d_backward as reference;
use ubtile_testkit::{Data, Fill, IndexFill, Rng, bits_equal, pairwise, sizes_around};
use ubtile_tiling::max_unpool2d_backward::{Plan, Problem, Tile, plan};
use ubtile_tiling::{Dtype, PlanError, PlanOptions, Status, TargetSpec, Tensor, TensorDesc, can_cast};

const DTYPES: [Dtype; 10] = [
    Dtype::F32,
    Dtype::F16,
    Dtype::Bf16,
    Dtype::F64,
    Dtype::I8,
    Dtype::U8,
    Dtype::I16,
    Dtype::I32,
    Dtype::I64,
    Dtype::Bool,
];

fn planned(problem: &Problem, cores: usize, local_bytes: Option<usize>) -> Plan {
    let options = PlanOptions { workspace_limit: Some(0), local_bytes };
    plan(problem, &TargetSpec::host(cores), &options).unwrap()
}

fn inputs(data: &reference::Inputs) -> Inputs<'_> {
    Inputs { grad_output: values(&data.grad_output), indices: values(&data.indices) }
}

/// Runs a problem at every level, on one and more threads, with some tile sizes; all must give the reference's bits or error.
fn check(spec: &MaxUnpool, fill: Fill, index: IndexFill, rng: &mut Rng) {
    let problem = spec.problem();
    let data = max_unpool_inputs(&problem, fill, index, rng);
    let want = reference::run(&problem, &data);
    for level in Level::available() {
        for (threads, local_bytes) in [(1, None), (2, Some(4096)), (3, Some(256))] {
            let plan = planned(&problem, threads, local_bytes);
            let mut got = output(problem.slot(Tensor::Out));
            let outputs = Outputs { out: values_mut(&mut got) };
            let result = run_parallel(&plan, level, &Threads(threads), inputs(&data), outputs, &mut []);
            let context = format!("{spec:?} {level}, {threads} threads, {local_bytes:?} bytes");
            match (&want, result) {
                (Ok(want), Ok(())) => {
                    if let Err(difference) = bits_equal(&got, &want.to_data()) {
                        panic!("{context}: {difference}");
                    }
                }
                (Err(want), Err(RunError::Index { position, index, cells })) => {
                    let lowest = (want.position, want.index, spec.out_h * spec.out_w);
                    assert_eq!((position, index, cells), lowest, "{context}");
                }
                (want, got) => panic!("{context}: {got:?} instead of {want:?}"),
            }
            assert!(got.gaps_hold(POISON), "{context}: wrote between the rows");
        }
    }
}

#[test]
fn sizes_around_the_chunks() {
    let rng = &mut Rng::new(1);
    for index_dtype in [Dtype::I32, Dtype::I64] {
        for w in sizes_around(4, 32).into_iter().filter(|&w| w > 0) {
            for (h, out_h, out_w) in [(1, 1, 1), (1, 7, w), (3, 6, 2 * w), (2, 3, 50)] {
                for index in [IndexFill::Permutation, IndexFill::Duplicates, IndexFill::OutOfRange] {
                    let spec = MaxUnpool { index_dtype, h, w, out_h, out_w, ..Default::default() };
                    check(&spec, Fill::Specials, index, rng);
                }
            }
        }
    }
}

/// A `grad_output` that no cache holds is gathered in rounds, which must give the same bits and the same lowest bad index.
#[test]
fn planes_that_no_cache_holds() {
    let rng = &mut Rng::new(5);
    // Rows of no multiple of anything.
    let (dtype, out_dtype) = (Dtype::F64, Dtype::F64);
    let spec = MaxUnpool { dtype, out_dtype, n: 1, c: 3, h: 350, w: 437, out_h: 701, out_w: 877, ..Default::default() };
    for index in [IndexFill::Permutation, IndexFill::Duplicates, IndexFill::OutOfRange] {
        check(&spec, Fill::Uniform, index, rng);
    }
    let (problem, plane, cells) = (spec.problem(), spec.h * spec.w, (spec.out_h * spec.out_w) as i64);
    assert!(3 * 8 * cells > 14 << 20);
    let data = max_unpool_inputs(&problem, Fill::Uniform, IndexFill::Permutation, rng);
    // Around the rounds of 96, of the first plane and of another one.
    for position in [0, 95, 96, 97, 191, 192, 1000, plane - 1, plane, plane + 96, 2 * plane + 95, 3 * plane - 1] {
        let mut data = data.clone();
        data.indices.set_bits(position, cells as u64);
        // A later one is not the lowest.
        data.indices.set_bits(3 * plane - 1, u64::MAX);
        let index = if position == 3 * plane - 1 { -1 } else { cells };
        for level in Level::available() {
            let mut got = output(problem.slot(Tensor::Out));
            let outputs = Outputs { out: values_mut(&mut got) };
            let result = run(&planned(&problem, 1, None), level, inputs(&data), outputs, &mut []);
            let want = RunError::Index { position, index, cells: cells as usize };
            assert_eq!(result, Err(want), "{level}");
        }
    }
}

#[test]
fn every_cast_with_every_index_type() {
    let rng = &mut Rng::new(2);
    for (dtype, out_dtype) in DTYPES.into_iter().flat_map(|dtype| DTYPES.map(|out_dtype| (dtype, out_dtype))) {
        if !can_cast(dtype, out_dtype) {
            continue;
        }
        for index_dtype in [Dtype::I32, Dtype::I64] {
            for fill in Fill::ALL {
                let spec =
                    MaxUnpool { dtype, out_dtype, index_dtype, h: 5, w: 7, out_h: 11, out_w: 13, ..Default::default() };
                check(&spec, fill, IndexFill::Permutation, rng);
            }
        }
    }
}

/// Integers just beside a tie of F16 or BF16, and beyond what F64 holds.
#[test]
fn integers_are_rounded_once() {
    let numbers: Vec<i64> = (0..63)
        .flat_map(|bit| {
            let tie = 1i64 << bit;
            [8, 9, 11, 12]
                .map(move |below| tie + (tie >> below))
                .into_iter()
                .flat_map(|n| [n - 1, n, n + 1, -n - 1, -n, -n + 1])
        })
        .chain([i64::MAX, i64::MIN, i64::MIN + 1, 65519, 65520, 65504])
        .collect();
    for out_dtype in [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64] {
        let count = numbers.len();
        let spec = MaxUnpool {
            dtype: Dtype::I64,
            out_dtype,
            n: 1,
            c: 1,
            h: 1,
            w: count,
            out_h: 1,
            out_w: count,
            ..Default::default()
        };
        let problem = spec.problem();
        let grad_output = Data::from_bits_fn(spec.desc().grad_output, |i| numbers[i] as u64);
        let indices = Data::from_bits_fn(spec.desc().indices, |i| i as u64);
        let data = reference::Inputs { grad_output, indices };
        let mut got = output(problem.slot(Tensor::Out));
        let outputs = Outputs { out: values_mut(&mut got) };
        run(&planned(&problem, 1, None), Level::detect(), inputs(&data), outputs, &mut []).unwrap();
        bits_equal(&got, &reference::run(&problem, &data).unwrap().to_data()).unwrap();
    }
}

#[test]
fn layouts_and_dtypes() {
    let rng = &mut Rng::new(3);
    let shapes = [(1, 1, 9, 5, 18, 10), (2, 3, 4, 17, 8, 35), (3, 2, 1, 33, 2, 66), (2, 2, 12, 12, 3, 3)];
    let index_fills = [IndexFill::Permutation, IndexFill::Duplicates, IndexFill::OutOfRange];
    let axes =
        [DTYPES.len(), DTYPES.len(), 2, Layout::INPUT.len(), Layout::OUTPUT.len(), shapes.len(), index_fills.len()];
    for row in pairwise(&axes) {
        let &[dtype, out_dtype, index, inputs, outputs, shape, index_fill] = &row[..] else { unreachable!() };
        let (n, c, h, w, out_h, out_w) = shapes[shape];
        let spec = MaxUnpool {
            dtype: DTYPES[dtype],
            out_dtype: if can_cast(DTYPES[dtype], DTYPES[out_dtype]) { DTYPES[out_dtype] } else { DTYPES[dtype] },
            index_dtype: [Dtype::I32, Dtype::I64][index],
            n,
            c,
            h,
            w,
            out_h,
            out_w,
            inputs: Layout::INPUT[inputs],
            outputs: Layout::OUTPUT[outputs],
        };
        check(&spec, Fill::Specials, index_fills[index_fill], rng);
    }
}

/// A single bad index anywhere is found; the elements beside it are right, and it leaves 0.
#[test]
fn one_bad_index_anywhere() {
    let spec = MaxUnpool { n: 2, c: 2, h: 3, w: 5, out_h: 4, out_w: 6, ..Default::default() };
    let problem = spec.problem();
    let clean = max_unpool_inputs(&problem, Fill::Uniform, IndexFill::Permutation, &mut Rng::new(4));
    let want = reference::run(&problem, &clean).unwrap().to_data();
    for bad in [24, 25, -1, -24, i64::MIN, i64::MAX, 1 << 32, (1 << 32) + 3, i64::from(i32::MIN)] {
        for position in 0..60 {
            let mut data = clean.clone();
            data.indices.set_bits(position, bad as u64);
            let plan = planned(&problem, 3, Some(256));
            let mut got = output(problem.slot(Tensor::Out));
            let outputs = Outputs { out: values_mut(&mut got) };
            let error = run(&plan, Level::detect(), inputs(&data), outputs, &mut []).unwrap_err();
            assert_eq!(error, RunError::Index { position, index: bad, cells: 24 });
            assert_eq!(error.status(), Status::RuntimeError);
            assert_eq!(got.bits(position), 0);
            got.set_bits(position, want.bits(position));
            bits_equal(&got, &want).unwrap();
        }
    }
}

#[test]
fn shares_run_by_hand_in_any_order() {
    let spec = MaxUnpool { n: 2, c: 3, h: 7, w: 11, out_h: 14, out_w: 22, ..Default::default() };
    let problem = spec.problem();
    let mut data = max_unpool_inputs(&problem, Fill::Specials, IndexFill::Permutation, &mut Rng::new(5));
    let want = reference::run(&problem, &data).unwrap().to_data();
    let plan = planned(&problem, 5, None);
    assert_eq!(plan.block_dim(), 5);
    let mut got = output(problem.slot(Tensor::Out));
    let share = |share: usize, data: &reference::Inputs, got: &mut Data| {
        let range = plan.share_range(0, share);
        let ValuesMut::F32(out) = values_mut(got) else { unreachable!() };
        let outputs = Outputs { out: ValuesMut::F32(&mut out[range]) };
        run_share(&plan, Level::detect(), 0, share, inputs(data), outputs)
    };
    for number in (0..5).rev() {
        share(number, &data, &mut got).unwrap();
    }
    bits_equal(&got, &want).unwrap();
    // Shares of 93, 93, 92, 92 and 92 elements: the third begins at 186.
    for position in [185, 190, 200] {
        data.indices.set_bits(position, 1000);
    }
    let error = |position| Err(RunError::Index { position, index: 1000, cells: 308 });
    let results: Vec<_> = (0..5).map(|number| share(number, &data, &mut got)).collect();
    assert_eq!(results, [Ok(()), error(185), error(190), Ok(()), Ok(())]);
}

/// Also where the indices lie row by row, and the shares begin within rows.
#[test]
fn a_share_answers_for_its_own_elements() {
    for layout in Layout::INPUT {
        let spec = MaxUnpool { n: 2, c: 3, h: 7, w: 11, out_h: 14, out_w: 22, inputs: layout, ..Default::default() };
        let problem = spec.problem();
        let data = max_unpool_inputs(&problem, Fill::Uniform, IndexFill::Permutation, &mut Rng::new(9));
        let plan = planned(&problem, 5, None);
        let place = |position: usize| {
            let index = [position / 231, position / 77 % 3, position / 11 % 7, position % 11];
            index.iter().zip(problem.indices_strides).map(|(i, stride)| i * stride).sum::<usize>()
        };
        for at in (0..5).map(|share| place(plan.share_range(0, share).start)) {
            let mut bad = data.clone();
            bad.indices.set_bits(at, 308);
            for share in 0..5 {
                let range = plan.share_range(0, share);
                let mut out = vec![0.0; range.len()];
                let outputs = Outputs { out: ValuesMut::F32(&mut out) };
                let result = run_share(&plan, Level::detect(), 0, share, inputs(&bad), outputs);
                // Several shares have it where images or channels are one and the same.
                let first = range.clone().find(|&position| place(position) == at);
                let wanted = first.map_or(Ok(()), |position| Err(RunError::Index { position, index: 308, cells: 308 }));
                assert_eq!(result, wanted, "{layout:?}: share {share}");
            }
        }
    }
}

/// A contiguous box of some elements.
fn boxed(dtype: Dtype, bits: impl Iterator<Item = u64>) -> Data {
    let bits: Vec<_> = bits.collect();
    Data::from_bits_fn(TensorDesc::contiguous(dtype, &[bits.len()]).unwrap(), |i| bits[i])
}

#[test]
fn tiles_on_their_own_boxes() {
    let rng = &mut Rng::new(6);
    for (dtype, out_dtype) in
        [(Dtype::F32, Dtype::F32), (Dtype::I8, Dtype::F16), (Dtype::F64, Dtype::Bf16), (Dtype::Bool, Dtype::Bool)]
    {
        let spec = MaxUnpool { dtype, out_dtype, n: 1, c: 3, h: 6, w: 7, out_h: 12, out_w: 15, ..Default::default() };
        let problem = spec.problem();
        let data = max_unpool_inputs(&problem, Fill::Specials, IndexFill::Permutation, rng);
        let want = reference::run(&problem, &data).unwrap().to_data();
        for local_bytes in [96, 160, 320, 1000, 4096, 1 << 20] {
            let mut target = TargetSpec::host(2);
            target.block_bytes = 32;
            let plan =
                plan(&problem, &target, &PlanOptions { local_bytes: Some(local_bytes), ..Default::default() }).unwrap();
            let mut got = output(problem.slot(Tensor::Out));
            let mut out = boxed(out_dtype, core::iter::empty());
            for tile in (0..plan.block_dim()).flat_map(|share| plan.tiles(0, share)) {
                let Tile { plane, elements: [e0, e1], cells: [c0, c1], .. } = tile;
                if !tile.accumulates {
                    out = Data::filled(TensorDesc::contiguous(out_dtype, &[e1 - e0]).unwrap(), POISON);
                }
                let grad_output = boxed(dtype, (c0..c1).map(|cell| data.grad_output.bits(plane * 180 + cell)));
                let indices = boxed(Dtype::I64, (e0..e1).map(|element| data.indices.bits(plane * 42 + element)));
                let local = reference::Inputs { grad_output, indices };
                run_tile(&plan, Level::detect(), &tile, inputs(&local), Outputs { out: values_mut(&mut out) }).unwrap();
                if tile.last {
                    (e0..e1).for_each(|element| got.set_bits(plane * 42 + element, out.bits(element - e0)));
                }
            }
            if let Err(difference) = bits_equal(&got, &want) {
                panic!("{spec:?} {local_bytes} bytes: {difference}");
            }
        }
    }
}

/// A tile names the first bad index by its position in the whole tensor, whatever slice it has at hand.
#[test]
fn a_tile_names_a_bad_index() {
    for (out_dtype, (local_bytes, whole)) in
        [Dtype::F32, Dtype::F64].into_iter().flat_map(|to| [(512, false), (4096, true)].map(|local| (to, local)))
    {
        let spec = MaxUnpool { out_dtype, n: 1, c: 2, h: 2, w: 40, out_h: 10, out_w: 10, ..Default::default() };
        let plan = planned(&spec.problem(), 1, Some(local_bytes));
        for tile in plan.tiles(0, 0) {
            let ([e0, e1], [c0, c1]) = (tile.elements, tile.cells);
            assert!((c1 - c0 == 100) == whole && e1 - e0 > 3, "{tile:?}");
            let grad_output = boxed(Dtype::F32, (c0..c1).map(|_| 0));
            let mut out = boxed(out_dtype, (e0..e1).map(|_| 0));
            for bad in e0..e1 {
                let indices = boxed(Dtype::I64, (e0..e1).map(|at| if at < bad { 0 } else { 100 }));
                let local = reference::Inputs { grad_output: grad_output.clone(), indices };
                let outputs = Outputs { out: values_mut(&mut out) };
                let error = run_tile(&plan, Level::detect(), &tile, inputs(&local), outputs).unwrap_err();
                assert_eq!(error, RunError::Index { position: tile.plane * 80 + bad, index: 100, cells: 100 });
            }
        }
    }
}

#[test]
fn nothing_to_gather() {
    for (n, c, h, w) in [(0, 3, 2, 3), (2, 0, 2, 3), (2, 3, 0, 3), (2, 3, 2, 0)] {
        let spec = MaxUnpool { n, c, h, w, ..Default::default() };
        check(&spec, Fill::Uniform, IndexFill::Permutation, &mut Rng::new(7));
        check(&MaxUnpool { out_h: 0, ..spec }, Fill::Uniform, IndexFill::Permutation, &mut Rng::new(7));
    }
}

#[test]
fn wrong_buffers_are_refused() {
    let spec = MaxUnpool::default();
    let problem = spec.problem();
    let plan = planned(&problem, 1, None);
    let data = max_unpool_inputs(&problem, Fill::Uniform, IndexFill::Permutation, &mut Rng::new(8));
    let mut out = vec![0f32; 36];
    let attempt = |inputs: Inputs<'_>, out: ValuesMut<'_>| {
        run(&plan, Level::detect(), inputs, Outputs { out }, &mut []).unwrap_err()
    };
    let right = inputs(&data);
    let (tensor, got, want) = (Tensor::Indices, Dtype::I32, Dtype::I64);
    let error = attempt(Inputs { indices: Values::I32(&[0; 36]), ..right }, ValuesMut::F32(&mut out));
    assert_eq!(error, RunError::Dtype { tensor, got, want });
    let error = attempt(Inputs { indices: Values::I64(&[0; 35]), ..right }, ValuesMut::F32(&mut out));
    assert_eq!(error, RunError::Length { tensor, got: 35, want: 36 });
    let error = attempt(Inputs { grad_output: Values::F32(&[0.0; 143]), ..right }, ValuesMut::F32(&mut out));
    assert_eq!(error, RunError::Length { tensor: Tensor::GradOutput, got: 143, want: 144 });
    let error = attempt(right, ValuesMut::F32(&mut out[..35]));
    assert_eq!(error, RunError::Length { tensor: Tensor::Out, got: 35, want: 36 });

    let options = PlanOptions { local_bytes: Some(191), ..Default::default() };
    let error = ubtile_tiling::max_unpool2d_backward::plan(&problem, &TargetSpec::host(1), &options).unwrap_err();
    assert_eq!(error, PlanError::LocalBytes { got: 191, want: 192 });
}
