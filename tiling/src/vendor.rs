//! The vendor's own tilings, restated as formulas: tiling key, block dim, tiling data field by field, kernel workspace.
//!
//! For reports and for the simulator's vendor programs only; kernels run native plans. What the formulas are and where they
//! come from is in each operator's file. A product without a published tiling has no [`VendorPlan`].

use crate::{Bound, Choice, Dtype, EarlySuccess, Measure, Operator, PlanError, Problem, Region, Tensor};
use factor::Factor;

pub use error::VendorError;
pub use key::{Change, Neighbour};

mod error;
mod factor;
pub(crate) mod grid_sampler_2d_backward;
pub(crate) mod im2col_backward;
mod key;
pub(crate) mod max_unpool2d_backward;
pub(crate) mod replication_pad2d_backward;

/// The generations of the AI Core for which tilings are published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VendorArch {
    /// DAV_2201: Atlas A2 and A3.
    Dav2201,
    /// DAV_3510: Ascend 950.
    Dav3510,
}

/// What the vendor's tiling asks of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VendorMachine {
    /// Generation.
    pub arch: VendorArch,
    /// Vector cores.
    pub vector_cores: usize,
    /// Bytes of a vector core's unified buffer.
    pub ub_bytes: usize,
    /// Whether the deterministic mode is on (`ACL_OPT_DETERMINISTIC`).
    pub deterministic: bool,
}

/// A field of the vendor's tiling data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The vendor's name.
    pub name: &'static str,
    /// Its value.
    pub value: usize,
}

/// The most fields that a tiling has.
const MAX_FIELDS: usize = 24;

/// A vendor tiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VendorPlan {
    operator: Operator,
    tiling_key: usize,
    workspace_bytes: usize,
    fields: [Field; MAX_FIELDS],
    count: usize,
    block: Choice,
    factors: [Option<Factor>; 2],
    limit: Option<Measure>,
    /// Why it has its key.
    rule: &'static str,
    neighbours: [Option<Neighbour>; key::MOST],
    /// What it keeps in the workspace beside the system's part.
    kept: &'static str,
    phases: &'static [&'static str],
}

impl VendorArch {
    /// The vendor's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dav2201 => "DAV_2201",
            Self::Dav3510 => "DAV_3510",
        }
    }
}

impl VendorPlan {
    /// `block` is why it takes so many cores.
    fn new(operator: Operator, tiling_key: usize, block: Choice, workspace_bytes: usize) -> Self {
        let none = Field { name: "", value: 0 };
        Self {
            operator,
            tiling_key,
            workspace_bytes,
            fields: [none; MAX_FIELDS],
            count: 0,
            block,
            factors: [None; 2],
            limit: None,
            rule: "",
            neighbours: [None; key::MOST],
            kept: "",
            phases: &["compute"],
        }
    }

    /// Says what it keeps in the workspace beside the system's part, and in which phases it works.
    fn keeping(mut self, kept: &'static str, phases: &'static [&'static str]) -> Self {
        (self.kept, self.phases) = (kept, phases);
        self
    }

    /// Says how many elements are worked on at a time.
    fn at_once(mut self, factors: [Option<Factor>; 2]) -> Self {
        self.factors = factors;
        self
    }

    /// Says which of the problem's sizes its tiling limits.
    fn limited(mut self, limit: Measure) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Says what decides the key, and what would give another.
    fn keyed(mut self, rule: &'static str, neighbours: [Option<Neighbour>; key::MOST]) -> Self {
        (self.rule, self.neighbours) = (rule, neighbours);
        self
    }

    /// Adds fields that hold no more than `most`.
    fn with_narrow(self, most: u32, fields: &[(&'static str, usize)]) -> Result<Self, VendorError> {
        fields.iter().try_for_each(|&(name, value)| within(name, value, most as usize))?;
        Ok(self.with(fields))
    }

    fn with(mut self, fields: &[(&'static str, usize)]) -> Self {
        for (slot, &(name, value)) in self.fields.iter_mut().skip(self.count).zip(fields) {
            *slot = Field { name, value };
            self.count = self.count.saturating_add(1);
        }
        self
    }

    /// The operator.
    #[must_use]
    pub const fn operator(&self) -> Operator {
        self.operator
    }

    /// Which of the vendor's kernels runs.
    #[must_use]
    pub const fn tiling_key(&self) -> usize {
        self.tiling_key
    }

    /// What decided that, in a few words.
    #[must_use]
    pub const fn key_rule(&self) -> &'static str {
        self.rule
    }

    /// The keys that one change would give instead.
    pub fn neighbours(&self) -> impl Iterator<Item = Neighbour> + use<> {
        self.neighbours.into_iter().flatten()
    }

    /// What the tiling limits of the problem's sizes, where it does: beyond it the tiling fails.
    #[must_use]
    pub const fn limit(&self) -> Option<Measure> {
        self.limit
    }

    /// Cores that are launched.
    #[must_use]
    pub const fn block_dim(&self) -> usize {
        self.block.value
    }

    /// Workspace that the kernel asks for, in bytes, the system's part included.
    #[must_use]
    pub const fn kernel_workspace_bytes(&self) -> usize {
        self.workspace_bytes
    }

    /// The tiling data in the vendor's order and by its names.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        self.fields.get(..self.count).unwrap_or(&[])
    }

    /// What all cores do together, one after the other.
    #[must_use]
    pub const fn phases(&self) -> &'static [&'static str] {
        self.phases
    }

    /// The parts of its workspace: the system's, and what the kernel keeps there from the first phase to the last.
    pub fn regions(&self) -> impl Iterator<Item = Region> + use<> {
        let last_phase = self.phases.len().saturating_sub(1);
        let system = self.workspace_bytes.min(SYSTEM_WORKSPACE);
        let kept = self.workspace_bytes.saturating_sub(system);
        let regions = [("system", 0, system), (self.kept, system, kept)];
        let regions = regions.map(|(name, offset, bytes)| Region { name, offset, bytes, first_phase: 0, last_phase });
        regions.into_iter().filter(|region| region.bytes > 0)
    }

    /// Why it is what it is.
    pub fn choices(&self) -> impl Iterator<Item = Choice> + use<> {
        core::iter::once(self.block).chain(self.factors.into_iter().flatten().map(|factor| factor.choice()))
    }

    /// The same tiling with fewer elements at a time, by the vendor's name of the field.
    ///
    /// # Errors
    /// [`PlanError::Tile`] if the unified buffer does not hold them or they are no multiple of what the kernel takes at once,
    /// [`PlanError::NoTile`] for a field that is not free.
    pub fn with_factor(mut self, name: &str, value: usize) -> Result<Self, PlanError> {
        let operator = self.operator;
        let Some(factor) = self.factors.iter_mut().flatten().find(|f| f.name == "ubFactorElement") else {
            return Err(PlanError::NoTile { operator, names: &[] });
        };
        if name != factor.name {
            return Err(PlanError::NoTile { operator, names: &["ubFactorElement"] });
        }
        let (name, limit) = (factor.name, factor.limit);
        let step = factor.step.max(1);
        let used = factor.bytes(value);
        if value == 0 || used > limit {
            let bound = if value == 0 { Bound::Work } else { Bound::LocalBytes };
            return Err(PlanError::Tile { name, got: value, bound, used, limit, fits: factor.value });
        }
        if value.checked_rem(step) != Some(0) {
            let fits = value.saturating_sub(value.checked_rem(step).unwrap_or(0)).max(step);
            return Err(PlanError::Tile { name, got: value, bound: Bound::Vendor, used: value, limit: step, fits });
        }
        factor.value = value;
        if let Some(field) = self.fields.iter_mut().find(|field| field.name == name) {
            field.value = value;
        }
        Ok(self)
    }

    /// A field by its vendor name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<usize> {
        self.fields().iter().find(|f| f.name == name).map(|f| f.value)
    }
}

/// The vendor's tiling of a problem, as its kernel for the problem's own dtype has it.
///
/// Whether the vendor's library sends the problem there is another question: [`Problem::vendor_route`].
///
/// # Errors
/// [`VendorError`] where the vendor has no kernel or tiling, or its tiling fails.
pub fn vendor_plan(problem: &Problem, machine: &VendorMachine) -> Result<VendorPlan, VendorError> {
    vendor_plan_in(problem, problem.dtype(), machine)
}

/// The vendor's tiling for a caller who converts all tensors to `dtype` first, as the vendor's library does with BF16 for
/// replication padding.
///
/// # Errors
/// Those of [`vendor_plan`].
pub fn vendor_plan_in(problem: &Problem, dtype: Dtype, machine: &VendorMachine) -> Result<VendorPlan, VendorError> {
    // Of an empty output alone im2col's tiling on 950 is asked, and refuses.
    let asked = matches!(problem, Problem::Im2colBackward(_)) && machine.arch == VendorArch::Dav3510;
    if problem.early_success().is_some_and(|why| !asked || why != EarlySuccess::Empty(Tensor::Out)) {
        return Err(VendorError::NoWork);
    }
    match problem {
        Problem::GridSampler2dBackward(p) => {
            grid_sampler_2d_backward::plan(&crate::grid_sampler_2d_backward::Geometry { dtype, ..**p }, machine)
        }
        Problem::MaxUnpool2dBackward(p) => {
            max_unpool2d_backward::plan(&crate::max_unpool2d_backward::Geometry { dtype, ..**p }, machine)
        }
        Problem::ReplicationPad2dBackward(p) => {
            replication_pad2d_backward::plan(&crate::replication_pad2d_backward::Geometry { dtype, ..**p }, machine)
        }
        Problem::Im2colBackward(p) => {
            im2col_backward::plan(&crate::im2col_backward::Geometry { dtype, ..**p }, machine)
        }
    }
}

/// What the framework itself takes of the workspace on these generations.
const SYSTEM_WORKSPACE: usize = 16 * 1024 * 1024;

/// Refuses a number of the tiling beyond what the vendor counts with.
const fn within(name: &'static str, got: usize, most: usize) -> Result<(), VendorError> {
    if got <= most { Ok(()) } else { Err(VendorError::Beyond { name, got, most }) }
}

/// Size in bytes of the tiling object, for which the tilings keep room in the unified buffer (confirmed by worked rows).
const TILING_OBJECT: usize = 896;

/// `n` rounded down to a multiple of `to`, a power of two.
const fn floor_to(n: usize, to: usize) -> usize {
    n & !to.wrapping_sub(1)
}

/// `n` rounded up to a multiple of `to`, a power of two.
const fn ceil_to(n: usize, to: usize) -> usize {
    floor_to(n.saturating_add(to.wrapping_sub(1)), to)
}

/// Bytes of the unified buffer that a tiling may use, `reserved` and the tiling object taken off.
const fn usable(ub_bytes: usize, reserved: usize) -> usize {
    floor_to(floor_to(ub_bytes.saturating_sub(reserved), 32).saturating_sub(TILING_OBJECT), 32)
}

/// The quotient and remainder rule of the vendor's tilings: used cores, items of each, and how many of the first take one more.
fn spread(items: usize, cores: usize) -> [usize; 3] {
    match core::num::NonZeroUsize::new(cores) {
        Some(c) if items > cores => [cores, items / c, items % c],
        _ => [items, 1, 0],
    }
}
