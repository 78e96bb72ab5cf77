//! What holds of every plan.

use std::ops::Range;

use arbitrary::{Result, Unstructured};
use ubtile_tiling::{
    ALIGN, Capabilities, Dtype, Dtypes, Phase, PlanError, PlanOptions, Problem, TargetSpec, TilingPlan,
};

mod grid_sampler_2d_backward;
mod im2col_backward;
mod max_unpool2d_backward;
mod replication_pad2d_backward;

/// How many tiles of a plan that may have billions are looked at.
const MOST_TILES: usize = 2_000;

/// A machine, most often one with little memory.
pub fn target(u: &mut Unstructured<'_>) -> Result<TargetSpec> {
    if u.ratio(1, 8)? {
        return Ok(TargetSpec::host(u.int_in_range(0..=64)?));
    }
    Ok(TargetSpec {
        cores: u.int_in_range(0..=9)?,
        local_bytes: bytes(u)?,
        block_bytes: *u.choose(&[1, 4, 32, 64, 0])?,
        vector_bytes: *u.choose(&[4, 16, 32, 256, 0])?,
        capabilities: Capabilities {
            atomic_add: if u.arbitrary()? { Dtypes::from_iter([Dtype::F32]) } else { Dtypes::NONE },
            unaligned_copy: u.arbitrary()?,
            gather: u.arbitrary()?,
            bf16: u.arbitrary()?,
            caches: u.arbitrary()?,
        },
    })
}

/// What a caller may ask for.
pub fn options(u: &mut Unstructured<'_>) -> Result<PlanOptions> {
    Ok(PlanOptions {
        workspace_limit: if u.arbitrary()? { Some(bytes(u)?) } else { None },
        local_bytes: if u.ratio(1, 4)? { Some(bytes(u)?) } else { None },
    })
}

fn bytes(u: &mut Unstructured<'_>) -> Result<usize> {
    let most = *u.choose(&[256, 2048, 16 << 10, 0, usize::MAX])?;
    u.int_in_range(0..=most)
}

/// Makes a plan of a problem and checks what all plans have in common; then, if it is `small`, every tile.
pub fn check(problem: &Problem, target: &TargetSpec, options: &PlanOptions, small: bool) {
    let Some(plan) = planned(problem, target, options, small) else { return };
    let local_bytes = options.local_bytes.unwrap_or(target.local_bytes);
    assert_eq!(plan.problem(), *problem);
    assert_eq!(plan.target().local_bytes, local_bytes);
    assert!((1..=target.cores.max(1)).contains(&plan.block_dim()), "{} of {} cores", plan.block_dim(), target.cores);
    intermediates(&plan, options);
    let (_, _) = (plan.choices().count(), plan.prices().count());

    let phases: Vec<Phase> = plan.phases().collect();
    assert!(!phases.is_empty(), "there is always something to do");
    for (i, phase) in phases.iter().enumerate() {
        assert!((1..=plan.block_dim()).contains(&phase.shares), "{phase:?} on {} cores", plan.block_dim());
        for slot in problem.tensors().filter(|slot| slot.output) {
            let ranges = (0..phase.shares).flat_map(|share| plan.share_ranges(i, share));
            let mut ranges: Vec<_> =
                ranges.filter(|(tensor, _)| *tensor == slot.tensor).map(|(_, range)| range).collect();
            ranges.sort_by_key(|range| range.start);
            disjoint(ranges.into_iter(), slot.span);
        }
        for share in 0..phase.shares {
            let most = if small { usize::MAX } else { MOST_TILES };
            assert!(plan.tile_bytes(i, share).take(most).all(|bytes| bytes <= local_bytes), "tiles that do not fit");
        }
        assert_eq!(plan.share_ranges(i, phase.shares).count(), 0, "elements of a share that is not");
        assert_eq!(plan.tile_count(i, phase.shares), 0, "tiles of a share that is not");
    }
    if small {
        match &plan {
            TilingPlan::GridSampler2dBackward(plan) => grid_sampler_2d_backward::check(plan),
            TilingPlan::MaxUnpool2dBackward(plan) => max_unpool2d_backward::check(plan),
            TilingPlan::ReplicationPad2dBackward(plan) => replication_pad2d_backward::check(plan),
            TilingPlan::Im2colBackward(plan) => im2col_backward::check(plan),
        }
    }
}

/// A plan; `None` where it is rightly refused, which is for too little local memory, or with sizes that are not `small` for what they
/// would come to.
pub fn possible<T>(plan: std::result::Result<T, PlanError>, small: bool) -> Option<T> {
    match plan {
        Ok(plan) => Some(plan),
        Err(PlanError::LocalBytes { .. }) => None,
        Err(PlanError::TooLarge) if !small => None,
        Err(error) => panic!("not planned: {error}"),
    }
}

/// The plan of a problem, twice the same one; `None` where it is rightly refused.
fn planned(problem: &Problem, target: &TargetSpec, options: &PlanOptions, small: bool) -> Option<TilingPlan> {
    let plan = ubtile_tiling::plan(problem, target, options);
    assert_eq!(plan, ubtile_tiling::plan(problem, target, options), "a plan depends on nothing else");
    let with = |bytes| ubtile_tiling::plan(problem, target, &PlanOptions { local_bytes: Some(bytes), ..*options });
    if let Err(PlanError::LocalBytes { got, want }) = plan {
        assert_eq!(got, options.local_bytes.unwrap_or(target.local_bytes));
        assert!(want > got, "{want} bytes are wanted, {got} are there");
        assert!(with(want).is_ok(), "{want} bytes are not enough after all");
        assert!(with(want - 1).is_err(), "less than {want} bytes are enough");
    }
    possible(plan, small)
}

/// The workspace stays within its limit, and what lives at the same time lies apart.
fn intermediates(plan: &TilingPlan, options: &PlanOptions) {
    let (bytes, phases) = (plan.workspace_bytes(), plan.phases().count());
    if let Some(limit) = options.workspace_limit {
        assert!(bytes <= limit, "{bytes} bytes, the limit is {limit}");
    }
    let regions = plan.workspace().regions();
    for (i, a) in regions.iter().enumerate() {
        assert!(a.first_phase <= a.last_phase && a.last_phase < phases, "{a:?} lives in no phase");
        // Wherever the caller's buffer starts, its first aligned byte leaves room for all regions.
        assert!(a.offset % ALIGN == 0 && a.end() + (ALIGN - 1) <= bytes, "{a:?} of {bytes}");
        for b in &regions[..i] {
            let together = a.first_phase <= b.last_phase && b.first_phase <= a.last_phase;
            assert!(!together || a.end() <= b.offset || b.end() <= a.offset, "{a:?} overlaps {b:?}");
        }
    }
}

/// The ranges that shares own are ascending, disjoint and within the tensor.
fn disjoint(ranges: impl Iterator<Item = Range<usize>>, span: usize) {
    let mut end = 0;
    for range in ranges {
        assert!(range.start >= end && range.end <= span, "{range:?} begins before {end} or ends beyond {span}");
        end = range.end;
    }
}

/// Where an element lies.
#[must_use]
pub fn offset(index: [usize; 4], strides: [usize; 4]) -> usize {
    index.iter().zip(strides).map(|(i, stride)| i * stride).sum()
}

/// Which cells of `[planes, rows, columns]` were met, and how often.
#[derive(Debug)]
pub struct Cells {
    size: [usize; 3],
    counts: Vec<usize>,
}

/// A box of cells: first and one past the last plane, row and column.
pub type Box3 = [[usize; 2]; 3];

impl Cells {
    /// None met yet.
    #[must_use]
    pub fn new(size: [usize; 3]) -> Self {
        Self { size, counts: vec![0; size.iter().product()] }
    }

    /// The positions of a box that lies within.
    pub fn positions(&self, cells: Box3) -> impl Iterator<Item = [usize; 3]> + use<> {
        for ([start, end], size) in cells.into_iter().zip(self.size) {
            assert!(start <= end && end <= size, "{cells:?} of {:?}", self.size);
        }
        let [planes, rows, columns] = cells.map(|[start, end]| start..end);
        planes.flat_map(move |p| {
            let columns = columns.clone();
            rows.clone().flat_map(move |r| columns.clone().map(move |c| [p, r, c]))
        })
    }

    /// The count of a cell.
    pub fn count(&mut self, [plane, row, column]: [usize; 3]) -> &mut usize {
        let [_, rows, columns] = self.size;
        &mut self.counts[(plane * rows + row) * columns + column]
    }

    /// Meets each cell of a box once more.
    pub fn meet(&mut self, cells: Box3) {
        for position in self.positions(cells) {
            *self.count(position) += 1;
        }
    }

    /// Every cell has this count.
    pub fn all(&self, want: usize, what: &str) {
        let wrong = self.counts.iter().position(|&count| count != want);
        assert!(wrong.is_none(), "cell {wrong:?} of {:?} {what} {:?} times", self.size, wrong.map(|i| self.counts[i]));
    }
}
