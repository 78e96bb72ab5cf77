//! The vendor's tiling of GridSampler2DBackward on A2, A3 and 950, restated from its published op_host code.
//!
//! A core takes a run of grid points and works on `ubFactorElement` of them at a time: that many fit the unified buffer as 57,
//! 27 or 62 arrays of f32 beside a few vectors of C channels.

use core::num::NonZeroUsize;

use super::key::{Change, MOST, across, neighbours};
use super::{
    Factor, Neighbour, SYSTEM_WORKSPACE, TILING_OBJECT, VendorArch, VendorError, VendorMachine, VendorPlan, ceil_to,
    floor_to, spread, usable,
};
use crate::grid_sampler_2d_backward::{Geometry, Interpolation, PaddingMode};
use crate::plan::{cores, one_more};
use crate::{Bound, Choice, Dtype, Operator};

/// Bytes of the unified buffer that the tiling leaves alone.
const RESERVED: usize = 2048;

/// Bytes that the cast leaves alone beside them.
const CAST_RESERVED: usize = 20_480;

/// The most channels that the 950's vector code takes, and for which the deterministic mode is honoured.
const MOST_CHANNELS: usize = 2048;

/// Which family of kernels runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A2, A3: vector code over points, scalar code over corners.
    Aiv,
    /// 950: a thread for each point.
    Simt,
    /// 950: channels-last vector code.
    Simd,
}

pub(super) fn plan(problem: &Geometry, machine: &VendorMachine) -> Result<VendorPlan, VendorError> {
    let (asked, machine) = (machine, &honoured(problem, machine));
    let on_950 = machine.arch == VendorArch::Dav3510;
    let kind = kind(problem, machine);
    let dtype = problem.dtype;
    let key =
        key(problem, machine).ok_or(VendorError::NoKernel { operator: Operator::GridSampler2dBackward, dtype })?;
    let can = usable(machine.ub_bytes, RESERVED);
    let Buffers { divisor, extra, group } = Buffers::new(problem, key, kind);
    let factor = points_at_once(machine, divisor, extra);
    if factor == 0 {
        let want = extra.saturating_add(divisor.get().saturating_mul(256)).saturating_add(RESERVED + TILING_OBJECT);
        return Err(VendorError::UbInsufficient { got: machine.ub_bytes, want });
    }
    let cast_element = can.saturating_sub(CAST_RESERVED) / 3 / 2;

    let cores = if problem.dtype == Dtype::F32 || on_950 { machine.vector_cores } else { 1 };
    let plane = problem.ho.checked_mul(problem.wo).ok_or(VendorError::TooLarge)?;
    let points = plane.checked_mul(problem.n).ok_or(VendorError::TooLarge)?;
    let pixels = problem.c.saturating_mul(problem.hi).saturating_mul(problem.wi);
    let per_core = |cores| points_per_core(problem.n, plane, points, cores, kind, machine.deterministic);
    let [used, each, tail, tail_images] = per_core(cores);
    // The cast runs in the same launch, so on the cores that the points got.
    let [used_cast, each_cast, tail_cast] = spread(problem.n.saturating_mul(pixels), used);

    let halves = problem.dtype != Dtype::F32;
    let workspace = match kind {
        Kind::Aiv if halves => {
            let accumulator =
                problem.n.checked_mul(pixels).and_then(|e| e.checked_mul(4)).ok_or(VendorError::TooLarge)?;
            accumulator.checked_add(SYSTEM_WORKSPACE).ok_or(VendorError::TooLarge)?
        }
        Kind::Simt if !machine.deterministic => 0,
        Kind::Simt => {
            let rounds = NonZeroUsize::new(cores).map_or(1, |cores| (problem.n / cores).max(1));
            let entries = problem.n.checked_mul(rounds).and_then(|e| e.checked_mul(256 * 4 * 2 * 16));
            entries.and_then(|e| e.checked_add(SYSTEM_WORKSPACE)).ok_or(VendorError::TooLarge)?
        }
        Kind::Aiv | Kind::Simd => SYSTEM_WORKSPACE,
    };
    let points_at_once = Factor {
        name: "ubFactorElement",
        value: factor,
        step: 64,
        step_bytes: divisor.get().saturating_mul(256),
        beside: (RESERVED + TILING_OBJECT).saturating_add(extra),
        limit: machine.ub_bytes,
    };
    let cast_at_once = Factor {
        name: "castElement",
        value: cast_element,
        step: 1,
        step_bytes: 6,
        beside: RESERVED + TILING_OBJECT + CAST_RESERVED,
        // What is usable is whole blocks.
        limit: floor_to(machine.ub_bytes, 32),
    };
    let casts = kind == Kind::Aiv && halves;
    let block = cores::block_dim(cores, |cores| {
        let [used, ..] = per_core(cores);
        used
    });
    // One core whatever there is.
    let block =
        if casts { Choice { bound: Bound::Vendor, larger: one_more(1, Bound::Vendor), ..block } } else { block };
    let factors = [Some(points_at_once), casts.then_some(cast_at_once)];
    let plan = VendorPlan::new(Operator::GridSampler2dBackward, key, block, workspace).at_once(factors);
    let plan = match kind {
        Kind::Aiv if halves => plan.keeping("input_grad in f32", &["zero", "compute", "cast"]),
        _ => plan.keeping("index and value of each thread", &["compute"]),
    };
    plan.keyed(rule(kind), other_keys(problem, asked, key)).with_narrow(
        u32::MAX,
        &[
            ("batch", problem.n),
            ("pNumPerCore", each),
            ("tailPNum", tail),
            ("channel", problem.c),
            ("height", problem.hi),
            ("width", problem.wi),
            ("gridH", problem.ho),
            ("gridW", problem.wo),
            ("blockNum", used),
            ("ubFactorElement", factor),
            ("interpolation", problem.interpolation as usize),
            ("padding", problem.padding_mode as usize),
            ("alignCorners", usize::from(problem.align_corners)),
            ("group", group),
            ("tilingKey", key),
            ("usedCoreNumCast", used_cast),
            ("pNumPerCoreCast", each_cast),
            ("tailPNumCast", tail_cast),
            ("castElement", cast_element),
            ("isDeterministic", usize::from(machine.deterministic)),
            ("tailBNum", tail_images),
        ],
    )
}

/// The machine as the problem finds it: with more channels the deterministic mode changes nothing.
fn honoured(problem: &Geometry, machine: &VendorMachine) -> VendorMachine {
    VendorMachine { deterministic: machine.deterministic && problem.c <= MOST_CHANNELS, ..*machine }
}

fn kind(problem: &Geometry, machine: &VendorMachine) -> Kind {
    match machine.arch {
        VendorArch::Dav2201 => Kind::Aiv,
        VendorArch::Dav3510 if simd_pays(problem, machine) => Kind::Simd,
        VendorArch::Dav3510 => Kind::Simt,
    }
}

const fn rule(kind: Kind) -> &'static str {
    match kind {
        Kind::Aiv => "bilinear and nearest are 1 and 2 in f32, 3 and 4 in f16, 5 and 6 in bf16; bicubic is 7, 8 and 9",
        Kind::Simt => {
            "a thread for each point: 1 to 6 by dtype and interpolation, 7 to 12 if deterministic; bicubic 13 to 15 and 16 to 18"
        }
        Kind::Simd => {
            "channels last, as f32, not deterministic and with channels enough for the padding mode: 19 to 21 by interpolation"
        }
    }
}

/// The tiling key; `None` for a dtype without a kernel.
fn key(problem: &Geometry, machine: &VendorMachine) -> Option<usize> {
    let dtype = match problem.dtype {
        Dtype::F32 => 0,
        Dtype::F16 => 1,
        Dtype::Bf16 => 2,
        _ => return None,
    };
    Some(tiling_key(problem.interpolation, dtype, kind(problem, machine), machine.deterministic))
}

/// The tiling key; `None` too where the unified buffer does not hold one tile.
fn key_of_tiling(problem: &Geometry, machine: &VendorMachine) -> Option<usize> {
    let machine = &honoured(problem, machine);
    let key = key(problem, machine)?;
    let Buffers { divisor, extra, .. } = Buffers::new(problem, key, kind(problem, machine));
    (points_at_once(machine, divisor, extra) > 0).then_some(key)
}

/// Points that the unified buffer holds: `ubFactorElement`.
fn points_at_once(machine: &VendorMachine, divisor: NonZeroUsize, extra: usize) -> usize {
    floor_to(usable(machine.ub_bytes, RESERVED).saturating_sub(extra) / divisor, 256) / 4
}

fn other_keys(problem: &Geometry, machine: &VendorMachine, own: usize) -> [Option<Neighbour>; MOST] {
    let now = *problem;
    let with = |name, to, changed| (Change::Value { name, to }, key_of_tiling(&changed, machine));
    let interpolated = |to, interpolation| with("interpolation", to, Geometry { interpolation, ..now });
    let typed = |to, dtype| with("dtype", to, Geometry { dtype, ..now });
    let padded = |to, padding_mode| with("padding-mode", to, Geometry { padding_mode, ..now });
    let (to, other) = if machine.deterministic { ("0", false) } else { ("1", true) };
    let toggled = VendorMachine { deterministic: other, ..*machine };
    let toggled = (Change::Value { name: "deterministic", to }, key_of_tiling(problem, &toggled));
    // Any number up to the most is honoured.
    let least = if machine.deterministic { Some(0) } else { fewest_simd_channels(now.padding_mode) };
    let least = least.unwrap_or(usize::MAX);
    let c = across(now.c, [least, MOST_CHANNELS]);
    let channels = (Change::Size { name: "C", from: now.c, to: c }, key_of_tiling(&Geometry { c, ..now }, machine));
    let changes = [
        interpolated("bilinear", Interpolation::Bilinear),
        interpolated("nearest", Interpolation::Nearest),
        interpolated("bicubic", Interpolation::Bicubic),
        typed("f32", Dtype::F32),
        typed("f16", Dtype::F16),
        typed("bf16", Dtype::Bf16),
        toggled,
        channels,
        padded("zeros", PaddingMode::Zeros),
        padded("border", PaddingMode::Border),
        padded("reflection", PaddingMode::Reflection),
    ];
    neighbours(own, changes)
}

/// From how many channels on the 950's vector code pays.
const fn fewest_simd_channels(padding_mode: PaddingMode) -> Option<usize> {
    match padding_mode {
        PaddingMode::Zeros => None,
        PaddingMode::Border => Some(32),
        PaddingMode::Reflection => Some(128),
    }
}

/// Whether the 950 transposes to channels-last and runs vector code.
fn simd_pays(problem: &Geometry, machine: &VendorMachine) -> bool {
    let enough = fewest_simd_channels(problem.padding_mode).is_some_and(|least| problem.c >= least);
    problem.dtype == Dtype::F32 && !machine.deterministic && enough && problem.c <= MOST_CHANNELS
}

/// `dtype` is 0 for F32, 1 for F16, 2 for BF16.
fn tiling_key(interpolation: Interpolation, dtype: usize, kind: Kind, deterministic: bool) -> usize {
    let deterministic = kind == Kind::Simt && deterministic;
    match (kind, interpolation) {
        (Kind::Simd, interpolation) => 19 + interpolation as usize,
        (Kind::Aiv, Interpolation::Bicubic) => 7 + dtype,
        (Kind::Simt, Interpolation::Bicubic) => 13 + dtype + if deterministic { 3 } else { 0 },
        (_, interpolation) => 1 + 2 * dtype + interpolation as usize + if deterministic { 6 } else { 0 },
    }
}

/// What the unified buffer is divided into.
struct Buffers {
    divisor: NonZeroUsize,
    /// Bytes of vectors of channels beside it.
    extra: usize,
    group: usize,
}

impl Buffers {
    fn new(problem: &Geometry, key: usize, kind: Kind) -> Self {
        let align_c = ceil_to(problem.c, if key <= 2 { 8 } else { 16 });
        let (divisor, extra, group) = buffers(problem.interpolation, problem.c, align_c);
        Self { divisor, extra: if kind == Kind::Simt { 0 } else { extra }, group }
    }
}

/// Divisor of the unified buffer, bytes beside it, and how many rows of `grad_output` are fetched together.
fn buffers(interpolation: Interpolation, c: usize, align_c: usize) -> (NonZeroUsize, usize, usize) {
    const BILINEAR: NonZeroUsize = NonZeroUsize::new(57).unwrap();
    const NEAREST: NonZeroUsize = NonZeroUsize::new(27).unwrap();
    const BICUBIC: NonZeroUsize = NonZeroUsize::new(62).unwrap();
    let vectors = |n: usize| align_c.saturating_mul(4).saturating_mul(n);
    match interpolation {
        Interpolation::Bilinear => (BILINEAR, vectors(17), 1),
        Interpolation::Bicubic => (BICUBIC, vectors(19), 1),
        Interpolation::Nearest => {
            let group = match c {
                0..=256 => 32,
                257..=512 => 16,
                513..=1024 => 8,
                _ => 1,
            };
            (NEAREST, vectors(2 * (group + 1)), group)
        }
    }
}

/// Used cores, points of each, how many take one more, and how many of them take one image more.
fn points_per_core(n: usize, plane: usize, points: usize, cores: usize, kind: Kind, deterministic: bool) -> [usize; 4] {
    let Some(all) = NonZeroUsize::new(cores) else { return [0; 4] };
    if deterministic {
        // An image is never shared by two cores.
        return if n > cores { [cores, plane.saturating_mul(n / all), 0, n % all] } else { [n, plane, 0, 0] };
    }
    let cores = if kind == Kind::Simt { cores.min(points.saturating_mul(2).div_ceil(1024)) } else { cores };
    let [used, each, tail] = spread(points, cores);
    [used, each, tail, 0]
}
