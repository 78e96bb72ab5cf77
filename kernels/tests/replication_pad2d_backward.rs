//! ReplicationPad2dBackward: agreement with the reference, and the same bits whatever the level, threads, tiles and strides.

#[path = "replication_pad2d_backward/by_pixels.rs"]
mod by_pixels;

mod common;

use common::{Threads, values, values_mut};
use ubtile_kernels::replication_pad2d_backward::{Inputs, Outputs, run, run_parallel, run_share, run_tile};
use ubtile_kernels::{Level, RunError, Values, ValuesMut};
use ubtile_testkit::problems::{Layout, POISON, ReplicationPad, output, replication_pad_inputs};
use ubtile_testkit::{Data, Fill, Rng, bits_equal, compare, component, encode, pairwise, reference, sizes_around};
use ubtile_tiling::replication_pad2d_backward::{Plan, Problem, plan};
use ubtile_tiling::{Dtype, Edition, PlanError, PlanOptions, Status, TargetSpec, Tensor, TensorDesc};

const DTYPES: [Dtype; 6] = [Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::F64, Dtype::C64, Dtype::C128];

fn planned(problem: &Problem, cores: usize, local_bytes: Option<usize>) -> Plan {
    let options = PlanOptions { workspace_limit: Some(0), local_bytes };
    plan(problem, &TargetSpec::host(cores), &options).unwrap()
}

/// The law of `docs/numerics.md`, one cell after the other.
fn law(problem: &Problem, grad_output: &Data) -> Data {
    let p = problem;
    let (dtype, parts) = component(p.dtype);
    let round = |x: f64| if dtype == Dtype::F64 { x } else { f64::from(x as f32) };
    let sources = |at: usize, size: usize, padded: usize, before: isize| {
        let clamped = move |i: usize| (i as isize - before).clamp(0, size as isize - 1) as usize;
        (0..padded).filter(move |&i| clamped(i) == at).collect::<Vec<_>>()
    };
    let sum = |terms: Vec<f64>| terms.into_iter().reduce(|sum, term| round(sum + term)).unwrap();
    let desc = TensorDesc::contiguous(p.dtype, &[p.n, p.c, p.h, p.w]).unwrap();
    Data::from_bits_fn(desc, |i| {
        let (part, cell) = (i % parts, i / parts);
        let (x, y, plane) = (cell % p.w, cell / p.w % p.h, cell / p.w / p.h);
        let rows = sources(y, p.h, p.padded_h, p.top);
        let columns = sources(x, p.w, p.padded_w, p.left);
        let at = |i: usize, j: usize| {
            let index = [plane / p.c, plane % p.c, i, j];
            index.iter().zip(p.grad_output_strides).map(|(i, stride)| i * stride).sum::<usize>() * parts + part
        };
        match rows.len() * columns.len() {
            0 => 0,
            1 => grad_output.bits(at(rows[0], columns[0])),
            _ => {
                let column = |&j: &usize| sum(rows.iter().map(|&i| grad_output.number(at(i, j))).collect());
                encode(dtype, sum(columns.iter().map(column).collect()))
            }
        }
    })
}

/// Checks one plan at one level against what it must give.
fn check_run(spec: &ReplicationPad, plan: &Plan, level: Level, threads: usize, grad_output: &Data, want: &Data) {
    let mut got = output(plan.problem().slot(Tensor::GradInput));
    let outputs = Outputs { grad_input: values_mut(&mut got) };
    let inputs = Inputs { grad_output: values(grad_output) };
    run_parallel(plan, level, &Threads(threads), inputs, outputs, &mut []).unwrap();
    let local = plan.target().local_bytes;
    if let Err(difference) = bits_equal(&got, want) {
        panic!("{spec:?} {level}, {threads} threads, {local} bytes: {difference}");
    }
    assert!(got.gaps_hold(POISON), "{spec:?} {level}, {threads} threads, {local} bytes: wrote between the rows");
}

/// Checks a problem at every level, on one and more threads, with some tile sizes.
fn check(spec: &ReplicationPad, fill: Fill, rng: &mut Rng) {
    let problem = spec.problem();
    let grad_output = replication_pad_inputs(&problem, fill, rng);
    let want = law(&problem, &grad_output);
    compare(&want, &reference::replication_pad2d_backward::run(&problem, &grad_output))
        .unwrap_or_else(|mismatch| panic!("{spec:?}: {mismatch}"));
    for level in Level::available() {
        for (threads, local_bytes) in [(1, None), (2, Some(4096)), (3, Some(512))] {
            check_run(spec, &planned(&problem, threads, local_bytes), level, threads, &grad_output, &want);
        }
    }
}

#[test]
fn every_small_padding_of_every_small_image() {
    let rng = &mut Rng::new(1);
    let pads = -2..=2i64;
    for (h, w) in (1..=4usize).flat_map(|h| (1..=4usize).map(move |w| (h, w))) {
        for (left, right) in pads.clone().flat_map(|left| pads.clone().map(move |right| (left, right))) {
            for (top, bottom) in pads.clone().flat_map(|top| pads.clone().map(move |bottom| (top, bottom))) {
                if h as i64 + top + bottom < 1 || w as i64 + left + right < 1 {
                    continue;
                }
                let padding = [left, right, top, bottom];
                let spec = ReplicationPad { n: 1, c: 2, h, w, padding, ..Default::default() };
                let problem = spec.problem();
                let grad_output = replication_pad_inputs(&problem, Fill::Specials, rng);
                let want = law(&problem, &grad_output);
                for level in Level::available() {
                    check_run(&spec, &planned(&problem, 1, None), level, 1, &grad_output, &want);
                }
            }
        }
    }
}

#[test]
fn widths_around_the_vectors() {
    let rng = &mut Rng::new(2);
    for dtype in DTYPES {
        for w in sizes_around(4, 8).into_iter().chain(sizes_around(16, 32)).filter(|&w| w > 0) {
            for (left, right) in [(0, 0), (1, 1), (2, 7), (8, 9), (17, 0), (0, 16), (-1, 3)] {
                if w as i64 + left < 1 {
                    continue;
                }
                for (top, bottom) in [(0, 0), (1, 2)] {
                    let spec =
                        ReplicationPad { dtype, h: 3, w, padding: [left, right, top, bottom], ..Default::default() };
                    check(&spec, Fill::Uniform, rng);
                }
            }
        }
    }
}

#[test]
fn the_same_padding_on_all_sides() {
    let rng = &mut Rng::new(8);
    for dtype in DTYPES {
        // Between the ends of short rows are 2 or 3, 4 to 8, 16, 32 or 64 scalars.
        let short = [4, 5, 6, 10, 11, 18, 19, 34, 35, 66, 67];
        for w in sizes_around(4, 8).into_iter().chain(sizes_around(16, 32)).chain(short).chain([63, 64, 65, 130]) {
            if w == 0 {
                continue;
            }
            for pad in 1..=4 {
                for h in [1, 2, 3, 6] {
                    let spec = ReplicationPad { dtype, c: 3, h, w, padding: [pad; 4], ..Default::default() };
                    check(&spec, Fill::Specials, rng);
                }
            }
        }
    }
}

#[test]
fn heights_of_few_rows() {
    let rng = &mut Rng::new(3);
    for dtype in DTYPES {
        for h in sizes_around(4, 8).into_iter().chain([16, 17]).filter(|&h| h > 0) {
            for (top, bottom) in [(0, 0), (1, 1), (3, 9), (-1, 4)] {
                if h as i64 + top < 1 {
                    continue;
                }
                for (left, right) in [(0, 0), (1, 1), (9, 2), (0, 33), (5, 0)] {
                    let spec =
                        ReplicationPad { dtype, h, w: 7, padding: [left, right, top, bottom], ..Default::default() };
                    check(&spec, Fill::Specials, rng);
                }
            }
        }
    }
}

#[test]
fn dtypes_layouts_sizes_and_values_in_pairs() {
    let rng = &mut Rng::new(4);
    let sizes = [(1, 1), (1, 9), (7, 1), (5, 6), (2, 40)];
    let pads = [[0; 4], [1; 4], [2, 0, 0, 5], [0, 3, 4, 0], [30, 20, 10, 40], [-1, 9, 12, 0], [3, -1, 2, 2]];
    let axes = [DTYPES.len(), Layout::INPUT.len(), Layout::OUTPUT.len(), sizes.len(), pads.len(), Fill::ALL.len()];
    for row in pairwise(&axes) {
        let (h, w) = sizes[row[3]];
        let [left, right, top, bottom] = pads[row[4]];
        // Something must be left of the smallest images.
        let padding = [left.max(0), right, top, bottom].map(|pad| if w == 1 || h == 1 { pad.max(0) } else { pad });
        let spec = ReplicationPad {
            dtype: DTYPES[row[0]],
            inputs: Layout::INPUT[row[1]],
            outputs: Layout::OUTPUT[row[2]],
            h,
            w,
            padding,
            ..Default::default()
        };
        check(&spec, Fill::ALL[row[5]], rng);
    }
}

#[test]
fn shares_by_hand() {
    let rng = &mut Rng::new(5);
    // Of any layout: the plans make no copies, so shares read the tensor itself.
    for (inputs, outputs) in
        Layout::INPUT.into_iter().flat_map(|inputs| Layout::OUTPUT.map(|outputs| (inputs, outputs)))
    {
        let spec = ReplicationPad { h: 5, padding: [1, 2, 3, 4], inputs, outputs, ..Default::default() };
        let problem = spec.problem();
        let grad_output = replication_pad_inputs(&problem, Fill::Uniform, rng);
        let want = law(&problem, &grad_output);
        let plan = planned(&problem, 7, Some(256));
        let mut got = output(problem.slot(Tensor::GradInput));
        // Backwards: no share needs another.
        for share in (0..plan.block_dim()).rev() {
            let range = plan.share_range(0, share);
            let ValuesMut::F32(all) = values_mut(&mut got) else { unreachable!() };
            let outputs = Outputs { grad_input: ValuesMut::F32(&mut all[range]) };
            run_share(&plan, Level::detect(), 0, share, Inputs { grad_output: values(&grad_output) }, outputs).unwrap();
        }
        bits_equal(&got, &want).unwrap_or_else(|difference| panic!("{spec:?}: {difference}"));
        assert!(got.gaps_hold(POISON));
    }
}

/// Elements of a box of a tensor, given by its strides and ranges of planes, rows and columns, as offsets in elements.
fn offsets(channels: usize, strides: [usize; 4], ranges: [[usize; 2]; 3]) -> Vec<usize> {
    let [[p0, p1], [y0, y1], [x0, x1]] = ranges;
    let mut offsets = Vec::new();
    for (plane, (y, x)) in (p0..p1).flat_map(|p| (y0..y1).flat_map(move |y| (x0..x1).map(move |x| (p, (y, x))))) {
        let index = [plane / channels, plane % channels, y, x];
        offsets.push(index.iter().zip(strides).map(|(i, stride)| i * stride).sum());
    }
    offsets
}

/// Computes a problem tile by tile on local boxes, as firmware does; also gives the number of tiles that were parts.
fn by_tiles(plan: &Plan, level: Level, grad_output: &Data) -> (Data, usize) {
    let p = plan.problem();
    let size = p.dtype.size();
    let mut got = output(p.slot(Tensor::GradInput));
    let mut sums = Data::filled(TensorDesc::contiguous(plan.sums_dtype(), &[1 << 12]).unwrap(), POISON);
    let mut parts = 0;
    for share in 0..plan.block_dim() {
        for tile in plan.tiles(0, share) {
            let source = offsets(p.c, p.grad_output_strides, [tile.planes, tile.source_rows, tile.source_columns]);
            let dest = offsets(p.c, p.grad_input_strides, [tile.planes, tile.rows, tile.columns]);
            assert_eq!((source.len(), dest.len()), (tile.input_cells(), tile.cells()));
            let state = tile.sums() * plan.sums_dtype().size();
            assert!(source.len() * size + dest.len() * size + state <= tile.local_bytes(), "{tile:?}");
            assert!(tile.local_bytes() <= plan.target().local_bytes, "{tile:?}");
            parts += usize::from(tile.is_part());

            let desc = |n| TensorDesc::contiguous(p.dtype, &[n]).unwrap();
            let mut local_source = Data::filled(desc(source.len()), 0);
            for (to, from) in local_source.bytes_mut().chunks_exact_mut(size).zip(&source) {
                to.copy_from_slice(&grad_output.bytes()[from * size..][..size]);
            }
            let mut local_dest = Data::filled(desc(dest.len()), POISON);
            let inputs = Inputs { grad_output: values(&local_source) };
            let outputs = Outputs { grad_input: values_mut(&mut local_dest) };
            let state = ValuesMut::from_bytes(plan.sums_dtype(), &mut sums.bytes_mut()[..state]).unwrap();
            run_tile(plan, level, &tile, inputs, outputs, state).unwrap();
            if tile.last {
                for (from, to) in local_dest.bytes().chunks_exact(size).zip(&dest) {
                    got.bytes_mut()[to * size..][..size].copy_from_slice(from);
                }
            }
        }
    }
    (got, parts)
}

#[test]
fn tiles_on_local_boxes_of_any_size() {
    let rng = &mut Rng::new(6);
    let small = TargetSpec::from_name("cortex-m4").unwrap();
    let mut cut = 0;
    for dtype in DTYPES {
        for (h, w, padding) in [
            (5, 9, [1, 1, 1, 1]),
            (1, 1, [7, 6, 5, 4]),
            (3, 20, [0, 0, 50, 1]),
            (4, 3, [90, 0, 0, 0]),
            (2, 2, [19, 8, 11, 12]),
            (6, 6, [-2, 5, 3, -1]),
        ] {
            let spec = ReplicationPad { dtype, h, w, padding, inputs: Layout::Pitched, ..Default::default() };
            let problem = spec.problem();
            let grad_output = replication_pad_inputs(&problem, Fill::Specials, rng);
            let want = law(&problem, &grad_output);
            let least = match plan(&problem, &small, &PlanOptions { local_bytes: Some(0), ..Default::default() }) {
                Err(PlanError::LocalBytes { want, .. }) => want,
                other => panic!("{other:?}"),
            };
            for local in [least, least + 4, 2 * least, 5 * least, 10 * least, 40 * least, 1 << 20] {
                let options = PlanOptions { local_bytes: Some(local), ..Default::default() };
                let plan = plan(&problem, &TargetSpec { cores: 3, ..small }, &options).unwrap();
                for level in Level::available() {
                    let (got, parts) = by_tiles(&plan, level, &grad_output);
                    bits_equal(&got, &want).unwrap_or_else(|e| panic!("{spec:?} {level}, {local} bytes: {e}"));
                    cut += parts;
                    check_run(&spec, &plan, level, 1, &grad_output, &want);
                }
            }
        }
    }
    assert!(cut > 1000, "too few sums in parts ({cut}) to have tested them");
}

/// Rows of an input may overlap, here by the padding: as far apart as those of the output, they are still no copies of them.
#[test]
fn rows_that_overlap() {
    let rng = &mut Rng::new(7);
    for (dtype, padding) in DTYPES.into_iter().flat_map(|d| [[1, 0, 0, 0], [0, 1, 0, 0]].map(|p| (d, p))) {
        let spec = ReplicationPad { dtype, h: 5, w: 6, padding, ..Default::default() };
        let plane = spec.h * spec.w + 1;
        let (shape, strides) = ([spec.n, spec.c, spec.h, spec.w + 1], [spec.c * plane, plane, spec.w, 1]);
        let mut desc = spec.desc();
        desc.grad_output = TensorDesc::strided(dtype, &shape, &strides).unwrap();
        let problem = desc.check(None, Edition::Any).unwrap();
        let grad_output = replication_pad_inputs(&problem, Fill::Uniform, rng);
        let want = law(&problem, &grad_output);
        for level in Level::available() {
            check_run(&spec, &planned(&problem, 1, None), level, 1, &grad_output, &want);
        }
    }
}

/// Rows of an input that are one element over and over, and rows whose elements are some apart.
#[test]
fn columns_any_distance_apart() {
    let rng = &mut Rng::new(8);
    for (dtype, step) in DTYPES.into_iter().flat_map(|d| [0, 1, 2, 7].map(|step| (d, step))) {
        let spec = ReplicationPad { dtype, h: 3, w: 9, padding: [1, 2, 0, 1], ..Default::default() };
        let (h, w) = (spec.h + 1, spec.w + 3);
        let (row, plane) = (w * step + 1, h * (w * step + 1));
        let mut desc = spec.desc();
        desc.grad_output =
            TensorDesc::strided(dtype, &[spec.n, spec.c, h, w], &[spec.c * plane, plane, row, step]).unwrap();
        let problem = desc.check(None, Edition::Any).unwrap();
        let grad_output = replication_pad_inputs(&problem, Fill::Specials, rng);
        let want = law(&problem, &grad_output);
        for level in Level::available() {
            check_run(&spec, &planned(&problem, 1, None), level, 1, &grad_output, &want);
        }
    }
}

#[test]
fn one_copy_keeps_its_bits_and_sums_make_canonical_nans() {
    let spec = ReplicationPad { n: 1, c: 1, h: 3, w: 3, padding: [1, 0, 0, 0], ..Default::default() };
    let problem = spec.problem();
    // A signalling NaN with a payload everywhere but in the first column.
    let grad_output =
        Data::from_bits_fn(spec.desc().grad_output, |i| if i % 4 == 0 { 0x8000_0000 } else { 0xff80_1234 });
    let mut got = output(problem.slot(Tensor::GradInput));
    let plan = planned(&problem, 1, None);
    for level in Level::available() {
        let outputs = Outputs { grad_input: values_mut(&mut got) };
        run(&plan, level, Inputs { grad_output: values(&grad_output) }, outputs, &mut []).unwrap();
        for offset in 0..9 {
            let want = if offset % 3 == 0 { 0x7fc0_0000 } else { 0xff80_1234 };
            assert_eq!(got.bits(offset), want, "{level} {offset}");
        }
    }
}

#[test]
fn a_sum_starts_with_its_first_term() {
    for dtype in DTYPES {
        for (h, w, padding) in [(9, 9, [1; 4]), (3, 17, [2, 9, 0, 3]), (9, 1, [0, 40, 5, 0]), (2, 2, [-1, 3, 0, 0])] {
            let spec = ReplicationPad { dtype, h, w, padding, ..Default::default() };
            let problem = spec.problem();
            let component = component(dtype).0;
            let zeros = Data::from_fn(spec.desc().grad_output, |_| -0.0);
            let want = law(&problem, &zeros);
            let negative = want.offsets().filter(|&offset| want.bits(offset) == encode(component, -0.0)).count();
            assert!(negative > 0, "{spec:?}");
            for (level, local_bytes) in Level::available().flat_map(|level| [(level, None), (level, Some(1024))]) {
                check_run(&spec, &planned(&problem, 1, local_bytes), level, 1, &zeros, &want);
                bits_equal(&by_tiles(&planned(&problem, 1, local_bytes), level, &zeros).0, &want).unwrap();
            }
        }
    }
}

/// However its other numbers are, and with boxes that have as many.
#[test]
fn a_tile_without_cells_takes_no_time() {
    let problem = ReplicationPad::default().problem();
    let plan = planned(&problem, 1, None);
    let mut tile = plan.tiles(0, 0).next().unwrap();
    (tile.planes, tile.rows) = ([0, 0], [0, 2]);
    let (inputs, outputs) = (Inputs { grad_output: Values::F32(&[]) }, Outputs { grad_input: ValuesMut::F32(&mut []) });
    assert_eq!(run_tile(&plan, Level::detect(), &tile, inputs, outputs, ValuesMut::F32(&mut [])), Ok(()));
}

#[test]
fn nothing_to_do_and_wrong_buffers() {
    let level = Level::detect();
    let empty = ReplicationPad { n: 0, ..Default::default() }.problem();
    let outputs = Outputs { grad_input: ValuesMut::F32(&mut []) };
    run(&planned(&empty, 4, None), level, Inputs { grad_output: Values::F32(&[]) }, outputs, &mut []).unwrap();

    let problem = ReplicationPad { n: 1, c: 1, h: 2, w: 2, padding: [1, 0, 0, 0], ..Default::default() }.problem();
    let plan = planned(&problem, 1, None);
    let (source, mut dest) = ([1.0f32; 6], [0.0f32; 4]);
    let attempt = |source: Values<'_>, dest: ValuesMut<'_>| {
        run(&plan, level, Inputs { grad_output: source }, Outputs { grad_input: dest }, &mut [])
    };
    let length = |tensor, got, want| Err(RunError::Length { tensor, got, want });
    let short = attempt(Values::F32(&source[..5]), ValuesMut::F32(&mut dest));
    assert_eq!(short, length(Tensor::GradOutput, 5, 6));
    let short = attempt(Values::F32(&source), ValuesMut::F32(&mut dest[..3]));
    assert_eq!(short, length(Tensor::GradInput, 3, 4));
    let other = attempt(Values::F64(&[0.0; 6]), ValuesMut::F32(&mut dest));
    let wrong = RunError::Dtype { tensor: Tensor::GradOutput, got: Dtype::F64, want: Dtype::F32 };
    assert_eq!((other, wrong.status()), (Err(wrong), Status::ParamInvalid));
    attempt(Values::F32(&source), ValuesMut::F32(&mut dest)).unwrap();
    assert_eq!(dest, [2.0, 1.0, 2.0, 1.0]);

    let tile = plan.tiles(0, 0).next().unwrap();
    let outputs = Outputs { grad_input: ValuesMut::F32(&mut dest) };
    let short = run_tile(
        &plan,
        level,
        &tile,
        Inputs { grad_output: Values::F32(&source[..5]) },
        outputs,
        ValuesMut::F32(&mut []),
    );
    assert_eq!(short, length(Tensor::GradOutput, 5, 6));
    let outputs = Outputs { grad_input: ValuesMut::F32(&mut dest[..3]) };
    let short = run_share(&plan, level, 0, 0, Inputs { grad_output: Values::F32(&source) }, outputs);
    assert_eq!(short, length(Tensor::GradInput, 3, 4));
}
