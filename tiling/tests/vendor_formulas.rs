//! The vendor's tilings against their formulas, written down a second time as sums over arrays that a kernel keeps.

use ubtile_testkit::problems::{GridSampler, Im2col, MaxUnpool, ReplicationPad};
use ubtile_tiling::grid_sampler_2d_backward::{Interpolation, PaddingMode};
use ubtile_tiling::{Dtype, Problem, VendorArch, VendorMachine, VendorPlan, vendor_plan};

const SYSTEM: usize = 16 << 20;
const KIB: usize = 1024;

fn dav_2201(vector_cores: usize, ub_bytes: usize) -> VendorMachine {
    VendorMachine { arch: VendorArch::Dav2201, vector_cores, ub_bytes, deterministic: false }
}

fn dav_3510(deterministic: bool) -> VendorMachine {
    VendorMachine { arch: VendorArch::Dav3510, vector_cores: 64, ub_bytes: 248 * KIB, deterministic }
}

/// The largest multiple of `step` for which `bytes` fit `room`, found by trying.
fn largest(step: usize, room: usize, bytes: impl Fn(usize) -> usize) -> usize {
    (1..).map(|n| n * step).take_while(|&n| bytes(n) <= room).last().unwrap_or(0)
}

/// `items` dealt out one after the other: cores that get any, the fewest of one, and how many get one more.
fn dealt(items: usize, cores: usize) -> [usize; 3] {
    let mut hands = vec![0; cores];
    (0..items).for_each(|i| hands[i % cores] += 1);
    hands.retain(|&hand| hand > 0);
    let least = hands.iter().copied().min().unwrap_or(0);
    [hands.len(), least, hands.iter().filter(|&&hand| hand > least).count()]
}

fn has(plan: &VendorPlan, case: &dyn std::fmt::Debug, fields: &[(&str, usize)]) {
    for &(name, value) in fields {
        assert_eq!(plan.field(name), Some(value), "{name} of {case:?}");
    }
}

#[test]
fn grid_sampler_on_a2() {
    // F32 arrays of a point, and vectors of channels beside them.
    let arrays = |interpolation, c| match interpolation {
        Interpolation::Bilinear => (57, 17, 1),
        Interpolation::Bicubic => (62, 19, 1),
        Interpolation::Nearest => {
            let group = if c > 1024 { 1 } else { 32 >> [256, 512].iter().filter(|&&most| c > most).count() };
            (27, 2 * (group + 1), group)
        }
    };
    for (cores, ub) in [(40, 192 * KIB), (48, 192 * KIB), (64, 256 * KIB)] {
        for (d, dtype) in [Dtype::F32, Dtype::F16, Dtype::Bf16].into_iter().enumerate() {
            for interpolation in [Interpolation::Bilinear, Interpolation::Nearest, Interpolation::Bicubic] {
                for (n, c) in [(1, 3), (2, 256), (49, 257), (100, 513), (3, 1025)] {
                    for deterministic in [false, true] {
                        let size = GridSampler {
                            dtype,
                            n,
                            c,
                            hi: 5,
                            wi: 4,
                            ho: 3,
                            wo: 7,
                            interpolation,
                            ..Default::default()
                        };
                        let machine = VendorMachine { deterministic, ..dav_2201(cores, ub) };
                        let plan = vendor_plan(&Problem::GridSampler2dBackward(size.problem()), &machine).unwrap();

                        let key = if interpolation == Interpolation::Bicubic {
                            7 + d
                        } else {
                            1 + 2 * d + interpolation as usize
                        };
                        let room = ub - 2048 - 896;
                        let (per_point, vectors, group) = arrays(interpolation, c);
                        let channels = c.next_multiple_of(if key < 3 { 8 } else { 16 });
                        let at_once = largest(64, room, |n| (per_point * n + vectors * channels) * 4);
                        // Only F32 is summed by several cores.
                        let cores = if dtype == Dtype::F32 { cores } else { 1 };
                        let [used, each, tail] = if deterministic { dealt(n, cores) } else { dealt(n * 21, cores) };
                        let (points, tail_points, tail_images) =
                            if deterministic { (each * 21, 0, tail) } else { (each, tail, 0) };
                        let [used_cast, each_cast, tail_cast] = dealt(n * c * 20, used);
                        let sums = if dtype == Dtype::F32 { 0 } else { n * c * 20 * 4 };
                        let got = (plan.tiling_key(), plan.block_dim(), plan.kernel_workspace_bytes());
                        assert_eq!(got, (key, used, SYSTEM + sums), "{size:?}");
                        let fields = [
                            ("batch", n),
                            ("pNumPerCore", points),
                            ("tailPNum", tail_points),
                            ("channel", c),
                            ("blockNum", used),
                            ("ubFactorElement", at_once),
                            ("group", group),
                            ("tilingKey", key),
                            ("usedCoreNumCast", used_cast),
                            ("pNumPerCoreCast", each_cast),
                            ("tailPNumCast", tail_cast),
                            ("castElement", largest(1, room - 20_480, |n| n * 6)),
                            ("isDeterministic", usize::from(deterministic)),
                            ("tailBNum", tail_images),
                        ];
                        has(&plan, &size, &fields);
                    }
                }
            }
        }
    }
}

#[test]
fn grid_sampler_on_950() {
    for (c, padding_mode, simd) in [
        (31, PaddingMode::Border, false),
        (32, PaddingMode::Border, true),
        (127, PaddingMode::Reflection, false),
        (128, PaddingMode::Reflection, true),
        (2048, PaddingMode::Border, true),
        (2049, PaddingMode::Border, false),
        (200, PaddingMode::Zeros, false),
    ] {
        for (deterministic, dtype) in
            [(false, Dtype::F32), (true, Dtype::F32), (false, Dtype::F16), (true, Dtype::Bf16)]
        {
            // More than the cores, and not as many in rounds as over.
            let n = 200;
            let size = GridSampler { dtype, n, c, hi: 2, wi: 3, ho: 9, wo: 11, padding_mode, ..Default::default() };
            let size = GridSampler { interpolation: Interpolation::Bilinear, ..size };
            let machine = dav_3510(deterministic);
            let plan = vendor_plan(&Problem::GridSampler2dBackward(size.problem()), &machine).unwrap();
            // With more channels the mode is not honoured.
            let deterministic = deterministic && c <= 2048;
            let simd = simd && dtype == Dtype::F32 && !deterministic;
            let points = n * 99;
            let d = match dtype {
                Dtype::F32 => 0,
                Dtype::F16 => 1,
                _ => 2,
            };
            // 512 points keep a core's 1024 threads busy.
            let (key, used, workspace) = match (simd, deterministic) {
                (true, _) => (19, 64, SYSTEM),
                (false, false) => (1 + 2 * d, 64.min(points.div_ceil(512)), 0),
                (false, true) => (7 + 2 * d, 64, SYSTEM + 256 * 4 * 2 * 16 * n * 3),
            };
            let got = (plan.tiling_key(), plan.block_dim(), plan.kernel_workspace_bytes());
            assert_eq!(got, (key, used, workspace), "{size:?}");
            let beside = if simd { 17 * c.next_multiple_of(16) * 4 } else { 0 };
            let at_once = largest(64, 248 * KIB - 2048 - 896, |n| 57 * n * 4 + beside);
            let images = if deterministic { (3 * 99, 0, 8) } else { (points / used, points % used, 0) };
            let fields = [
                ("ubFactorElement", at_once),
                ("pNumPerCore", images.0),
                ("tailPNum", images.1),
                ("tailBNum", images.2),
                ("isDeterministic", usize::from(deterministic)),
            ];
            has(&plan, &size, &fields);
        }
    }
}

#[test]
fn replication_padding_on_a2() {
    /// Height and width of `grad_input`, padding, the F32 key, strips of the buffer in F32 and in 16 bits.
    type Class = ([usize; 2], [i64; 4], usize, [usize; 2]);
    let classes: [Class; 8] = [
        ([30, 40], [1, 7, 2, 3], 1000, [4 * 64, 8 * 64]),
        ([64, 64], [0, 0, 0, 0], 1000, [4 * 64, 8 * 64]),
        ([60, 70], [1, 2, 2, 2], 1100, [3 * 64, 6 * 64]),
        ([61, 62], [1, 1, 2, 2], 1010, [3 * 64, 6 * 64]),
        ([64, 64], [1, 0, 0, 1], 1111, [4 * 16, 8 * 16]),
        ([300, 9], [31, 32, 0, 0], 1101, [2, 6]),
        ([9, 300], [0, 0, 7, 0], 1110, [8, 12]),
        ([1, 64], [3, 4, 40, 40], 11111, [4 * 16, 8 * 16]),
    ];
    for (cores, ub) in [(40, 192 * KIB), (48, 192 * KIB), (64, 256 * KIB)] {
        for ([h, w], padding, key, strips) in classes {
            for (d, dtype) in [Dtype::F32, Dtype::F16, Dtype::Bf16].into_iter().enumerate() {
                let size = ReplicationPad { dtype, n: 3, c: 17, h, w, padding, ..Default::default() };
                let plan =
                    vendor_plan(&Problem::ReplicationPad2dBackward(size.problem()), &dav_2201(cores, ub)).unwrap();

                let bytes = dtype.size();
                let [left, right, top, bottom] = padding.map(|pad| pad as usize);
                let (height, width) = (h + top + bottom, w + left + right);
                let run = if matches!(key, 1100 | 1010) { 16 * bytes } else { 256 };
                let room = ub - 32 * KIB - 896;
                let at_once = largest(run, room, |n| n * strips[usize::from(bytes == 2)]) / bytes;
                let columns = key == 1101;
                let [used, each, tail] = dealt(3 * 17 * if columns { height } else { 1 }, cores);
                let edge = (left.max(right) + 1).next_multiple_of(32);
                let per_core = match key {
                    1110 => 0,
                    1101 => 2 * edge * bytes,
                    _ => 64 * height.max(width).next_multiple_of(16) * bytes,
                };
                let key = if key == 11111 { key * (d + 1) } else { key + 1000 * d };
                let got = (plan.tiling_key(), plan.block_dim(), plan.kernel_workspace_bytes());
                assert_eq!(got, (key, used, SYSTEM + per_core * used), "{size:?}");
                let fields = [
                    ("height", height),
                    ("width", width),
                    ("alignHeight", height.next_multiple_of(16)),
                    ("outWidth", w),
                    ("alignOutWidth", w.next_multiple_of(16)),
                    ("padBottom", bottom),
                    ("blockNum", used),
                    ("ubFactorElement", at_once),
                    ("ncPerCore", each),
                    ("tailNC", tail),
                    ("tilingKey", key),
                    ("wCalCount", edge),
                    ("workspacePerCore", per_core),
                ];
                has(&plan, &size, &fields);
            }
        }
    }
}

#[test]
fn unpooling_and_im2col_on_950() {
    // Planes, pooled, source; whether rows are loaded whole; threads.
    for (c, [h, w], [out_h, out_w], full) in [
        (70, [8, 8], [16, 16], true),
        (70, [4, 8], [16, 16], false),
        (3, [5, 7], [35, 31], true),
        (3, [5, 7], [35, 32], false),
        (900, [4, 8], [8, 8], false),
        (3, [90, 90], [130, 130], true),
        (3, [100, 100], [130, 130], false),
        (3, [200, 200], [255, 255], false),
        // As many results as threads, and so many that there are more threads.
        (64, [2, 2], [4, 4], false),
        (512, [4, 8], [8, 8], false),
    ] {
        let size = MaxUnpool { dtype: Dtype::F16, n: 2, c, h, w, out_h, out_w, ..Default::default() };
        let plan = vendor_plan(&Problem::MaxUnpool2dBackward(size.problem()), &dav_3510(false)).unwrap();
        let (planes, results) = (2 * c, 2 * c * h * w);
        if full {
            let [used, each, tail] = dealt(planes, 64);
            assert_eq!((plan.tiling_key(), plan.block_dim()), (1320, used), "{size:?}");
            has(&plan, &size, &[("perCoreNum", each), ("tailCoreNum", tail)]);
        } else {
            let threads = if results.div_ceil(1024) < 32 { 512 } else { 1024 };
            let each = if results < threads { results } else { results.div_ceil(64) };
            let used = results.div_ceil(each);
            assert_eq!((plan.tiling_key(), plan.block_dim()), (201, used), "{size:?}");
            let beside_the_cache = 248 * KIB - 32 * KIB;
            let fields = [("threadNum", threads), ("perCoreNum", each), ("localMemorySize", beside_the_cache)];
            has(&plan, &size, &fields);
        }
        assert_eq!(plan.kernel_workspace_bytes(), SYSTEM);
    }
    for (key, dtype) in [Dtype::F32, Dtype::F16, Dtype::Bf16].into_iter().enumerate() {
        for (n, c) in [(1, 1), (2, 3), (9, 50)] {
            let size = Im2col { dtype, out_dtype: dtype, n, c, ..Default::default() };
            let problem = size.problem();
            let plan = vendor_plan(&Problem::Im2colBackward(problem), &dav_3510(false)).unwrap();
            let total = n * c * problem.h * problem.w;
            let used = (1..=64).find(|used| used * total.div_ceil(64) >= total).unwrap();
            assert_eq!((plan.tiling_key(), plan.block_dim(), plan.kernel_workspace_bytes()), (key, used, SYSTEM));
            has(&plan, &size, &[("total", total), ("colH", problem.columns[0]), ("sw", problem.stride[1].get())]);
        }
    }
}

/// A change that is told is a change that gives the key.
#[test]
fn neighbours_are_where_they_are_said_to_be() {
    let a2 = dav_2201(48, 192 * KIB);
    let pad = |h, w| {
        let size = ReplicationPad { n: 1, c: 1, h, w, padding: [1; 4], ..Default::default() };
        vendor_plan(&Problem::ReplicationPad2dBackward(size.problem()), &a2).unwrap()
    };
    let said = |plan: &VendorPlan| plan.neighbours().map(|n| (n.tiling_key, n.change.to_string())).collect::<Vec<_>>();
    assert!(said(&pad(62, 30)).contains(&(pad(63, 30).tiling_key(), "height of grad_output 65, 1 more".into())));
    assert!(said(&pad(70, 80)).contains(&(pad(62, 80).tiling_key(), "height of grad_output 64, 8 less".into())));
    let grid = |c, padding_mode| {
        let size = GridSampler { c, padding_mode, dtype: Dtype::F32, ..Default::default() };
        let size = GridSampler { interpolation: Interpolation::Nearest, ..size };
        vendor_plan(&Problem::GridSampler2dBackward(size.problem()), &dav_3510(false)).unwrap()
    };
    let (below, above) = (grid(31, PaddingMode::Border), grid(32, PaddingMode::Border));
    assert!(said(&below).contains(&(above.tiling_key(), "C 32, 1 more".into())));
    assert!(said(&above).contains(&(below.tiling_key(), "C 31, 1 less".into())));
    let unpool = |h, w| {
        let size = MaxUnpool { n: 1, c: 3, h, w, out_h: 16, out_w: 16, ..Default::default() };
        vendor_plan(&Problem::MaxUnpool2dBackward(size.problem()), &dav_3510(false)).unwrap()
    };
    assert!(
        said(&unpool(3, 11)).contains(&(unpool(4, 8).tiling_key(), "elements of a plane of indices 32, 1 less".into()))
    );
}
