//! What holds of every plan.

use std::fmt::Debug;
use std::ops::Range;

use arbitrary::{Result, Unstructured};
use ubtile_tiling::{Capabilities, Dtype, Dtypes, Phase, PlanError, PlanOptions, TargetSpec, Workspace};

pub mod im2col_backward;
pub mod max_unpool2d_backward;
pub mod replication_pad2d_backward;

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

/// The plan that `make` makes, twice the same one; `None` where it rightly refuses.
pub fn planned<P: PartialEq + Debug>(
    make: impl Fn(&TargetSpec, &PlanOptions) -> Result<P, PlanError>,
    target: &TargetSpec,
    options: &PlanOptions,
) -> Option<P> {
    let plan = make(target, options);
    assert_eq!(plan, make(target, options), "a plan depends on nothing else");
    let with = |bytes| make(target, &PlanOptions { local_bytes: Some(bytes), ..*options });
    if let Err(PlanError::LocalBytes { got, want }) = plan {
        assert_eq!(got, options.local_bytes.unwrap_or(target.local_bytes));
        assert!(want > got, "{want} bytes are wanted, {got} are there");
        assert!(with(want).is_ok(), "{want} bytes are not enough after all");
        assert!(with(want - 1).is_err(), "less than {want} bytes are enough");
    }
    plan.ok()
}

/// What every plan has.
#[derive(Debug)]
pub struct Common<'a> {
    /// Its target, options applied.
    pub target: &'a TargetSpec,
    /// Cores it uses.
    pub block_dim: usize,
    /// Its phases, in order.
    pub phases: Vec<Phase>,
    /// Its intermediates.
    pub workspace: &'a Workspace,
    /// Bytes they take.
    pub workspace_bytes: usize,
}

impl Common<'_> {
    /// Checks shares and workspace.
    pub fn check(&self, target: &TargetSpec, options: &PlanOptions) {
        assert!((1..=target.cores.max(1)).contains(&self.block_dim), "{} of {} cores", self.block_dim, target.cores);
        assert_eq!(self.target.local_bytes, options.local_bytes.unwrap_or(target.local_bytes));
        assert!(!self.phases.is_empty(), "there is always something to do");
        for phase in &self.phases {
            assert!((1..=self.block_dim).contains(&phase.shares), "{phase:?} on {} cores", self.block_dim);
        }
        if let Some(limit) = options.workspace_limit {
            assert!(self.workspace_bytes <= limit, "{} bytes, the limit is {limit}", self.workspace_bytes);
        }
        let regions = self.workspace.regions();
        for (i, a) in regions.iter().enumerate() {
            assert!(a.first_phase <= a.last_phase && a.last_phase < self.phases.len(), "{a:?} lives in no phase");
            // Wherever the caller's buffer starts, its first aligned byte leaves room for all regions.
            assert!(a.offset % 64 == 0 && a.end() + 63 <= self.workspace_bytes, "{a:?} of {}", self.workspace_bytes);
            for b in &regions[..i] {
                let together = a.first_phase <= b.last_phase && b.first_phase <= a.last_phase;
                assert!(!together || a.end() <= b.offset || b.end() <= a.offset, "{a:?} overlaps {b:?}");
            }
        }
    }
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

/// The ranges that shares own are ascending and disjoint.
pub fn disjoint(ranges: impl Iterator<Item = Range<usize>>) {
    let mut end = 0;
    for range in ranges.filter(|range| !range.is_empty()) {
        assert!(range.start >= end, "{range:?} begins before {end}");
        end = range.end;
    }
}
