//! The vendor's tiling of MaxUnpool2dBackward on 950 (GatherElements), restated from its published op_host code.
//!
//! Rows that fit the unified buffer are loaded whole; else a thread gathers each element. Older generations run a compiled
//! gather whose tiling is not published.

use super::key::{Change, MOST, across, neighbours};
use super::{Neighbour, SYSTEM_WORKSPACE, VendorArch, VendorError, VendorMachine, VendorPlan, ceil_to, spread};
use crate::max_unpool2d_backward::Geometry;
use crate::plan::cores;
use crate::plan::shares::largest;
use crate::{Dtype, Operator};

/// Bytes of the unified buffer that the threads' cache keeps.
const SIMT_CACHE: usize = 32 * 1024;

pub(super) fn plan(problem: &Geometry, machine: &VendorMachine) -> Result<VendorPlan, VendorError> {
    const OPERATOR: Operator = Operator::MaxUnpool2dBackward;
    if machine.arch != VendorArch::Dav3510 {
        return Err(VendorError::NotPublished { operator: OPERATOR, arch: machine.arch });
    }
    if matches!(problem.dtype, Dtype::F64 | Dtype::Bf16 | Dtype::C64 | Dtype::C128) {
        return Err(VendorError::NoKernel { operator: OPERATOR, dtype: problem.dtype });
    }
    let planes = problem.n.checked_mul(problem.c).ok_or(VendorError::TooLarge)?;
    let axis = problem.out_h.checked_mul(problem.out_w).ok_or(VendorError::TooLarge)?;
    let inner = problem.h.checked_mul(problem.w).ok_or(VendorError::TooLarge)?;
    let sizes = Sizes {
        planes,
        axis,
        inner,
        value: problem.dtype.size(),
        index: problem.index_dtype.size(),
        ub_bytes: machine.ub_bytes,
    };
    let key = sizes.key();
    let others = sizes.other_keys();
    if key == FULL_LOAD {
        let [used, each, tail] = spread(planes, machine.vector_cores);
        let block = cores::block_dim(machine.vector_cores, |cores| planes.min(cores));
        return Ok(VendorPlan::new(OPERATOR, key, block, SYSTEM_WORKSPACE)
            .keyed(
                "both rows and the indices' fit the unified buffer twice, and are of the sizes that its gather takes",
                others,
            )
            .with(&[
                ("usedCoreNum", used),
                ("perCoreNum", each),
                ("tailCoreNum", tail),
                ("xAxis", axis),
                ("idxAxis", inner),
                ("tilingKey", key),
            ]));
    }
    // N and C have the same size in both tensors, so they merge to one leading dimension.
    let results = planes.checked_mul(inner).ok_or(VendorError::TooLarge)?;
    let [used, each, threads] = threads_per_core(results, machine.vector_cores);
    let block = cores::block_dim(machine.vector_cores, |cores| {
        let [used, ..] = threads_per_core(results, cores);
        used
    });
    Ok(VendorPlan::new(OPERATOR, key, block, SYSTEM_WORKSPACE)
        .keyed("rows are not loaded whole: a thread gathers each element", others)
        .with(&[
            ("usedCoreNum", used),
            ("perCoreNum", each),
            ("tailCoreNum", results.saturating_sub(each.saturating_mul(used.saturating_sub(1)))),
            ("threadNum", threads),
            ("xAxis", axis),
            ("idxAxis", inner),
            ("localMemorySize", machine.ub_bytes.saturating_sub(SIMT_CACHE)),
            ("tilingKey", key),
        ]))
}

/// Used cores, elements of each, and threads that gather them on a core.
fn threads_per_core(results: usize, cores: usize) -> [usize; 3] {
    let threads = if results.div_ceil(1024) < cores / 2 { 512 } else { 1024 };
    let each = if results < threads { results } else { results.div_ceil(cores.max(1)) };
    [results.div_ceil(each.max(1)), each, threads]
}

/// The key of the kernel that loads whole rows: three dimensions, the last but one is gathered along.
const FULL_LOAD: usize = 1320;

/// What decides the key.
#[derive(Clone, Copy)]
struct Sizes {
    planes: usize,
    /// Elements of a plane that is gathered from.
    axis: usize,
    /// Elements of a plane that is gathered.
    inner: usize,
    /// Bytes of an element and of an index.
    value: usize,
    index: usize,
    ub_bytes: usize,
}

impl Sizes {
    /// Bytes that a plane, what is gathered from it and the indices take twice.
    fn rows(&self) -> usize {
        let row = |elements: usize, size: usize| ceil_to(elements.saturating_mul(size), 32);
        let (source, gathered, indices) =
            (row(self.axis, self.value), row(self.inner, self.value), row(self.inner, self.index));
        source.saturating_add(gathered).saturating_add(indices).saturating_mul(2)
    }

    fn key(&self) -> usize {
        let fits = self.rows() <= self.ub_bytes && self.axis <= 65_535;
        if fits && self.inner > 32 && self.axis / self.inner.max(1) < 32 {
            return FULL_LOAD;
        }
        let wide = self.planes.saturating_mul(self.axis) > i32::MAX as usize;
        201 + if wide { 10 } else { 0 }
    }

    fn other_keys(&self) -> [Option<Neighbour>; MOST] {
        let Self { planes, axis, inner, ub_bytes, .. } = *self;
        let full = self.key() == FULL_LOAD;
        let rows = self.rows();
        let sized = |name, from, to, changed: Self| (Change::Size { name, from, to }, Some(changed.key()));
        let ub = if full { rows.saturating_sub(1) } else { rows };
        let most = |rows: &dyn Fn(usize) -> usize| largest(usize::MAX / 2, ub_bytes, |n| Some(rows(n))).unwrap_or(0);
        let cells = across(inner, [33.max(axis / 32 + 1), most(&|inner| Self { inner, ..*self }.rows())]);
        let source = most(&|axis| Self { axis, ..*self }.rows());
        let source = across(axis, [1, source.min(65_535).min(inner.saturating_mul(32).saturating_sub(1))]);
        let limit = i32::MAX as usize / axis.max(1);
        let fewer = if planes > limit { limit } else { limit.saturating_add(1) };
        let changes = [
            sized("bytes of the unified buffer", ub_bytes, ub, Self { ub_bytes: ub, ..*self }),
            sized("elements of a plane of indices", inner, cells, Self { inner: cells, ..*self }),
            sized("elements of a plane of grad_output", axis, source, Self { axis: source, ..*self }),
            (
                Change::Size { name: "N x C", from: planes, to: fewer },
                (fewer > 0).then(|| Self { planes: fewer, ..*self }.key()),
            ),
        ];
        neighbours(self.key(), changes)
    }
}
