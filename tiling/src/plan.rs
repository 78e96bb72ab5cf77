//! Plans: how a problem is cut into phases, shares and tiles, and why.
//!
//! Each operator has its own `Plan`; [`TilingPlan`] wraps them where code serves all four. Here is what they share.

use core::num::NonZeroUsize;

use crate::{PlanError, TargetSpec, Tensor, TensorSlot, Workspace};

use staging::Copies;

mod any;
pub(crate) mod cores;
pub(crate) mod grid_sampler_2d_backward;
pub(crate) mod im2col_backward;
pub(crate) mod max_unpool2d_backward;
pub(crate) mod replication_pad2d_backward;
pub(crate) mod shares;
mod staging;

pub use any::{Problem, TilingPlan, plan};
pub use staging::Staging;

/// A part of a plan that ends before the next one begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// What it does: `zero`, `stage_grad_output`, `compute`, `convert`, ...
    pub name: &'static str,
    /// Shares that may run at the same time; each owns its part of what the phase writes.
    pub shares: usize,
}

/// One decision of a plan, with the bound that held it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What was chosen, a field of the plan: `tile_rows`, `block_dim`, `route`, ...
    pub name: &'static str,
    /// The value.
    pub value: usize,
    /// What kept it from being larger (for `block_dim` and tiles) or forced it.
    pub bound: Bound,
    /// The bound's limit, in its unit.
    pub limit: usize,
    /// How much of the limit the value uses.
    pub used: usize,
    /// The nearest smaller value that is legal; `None` where there is none.
    pub alternative: Option<usize>,
    /// The next larger value and what it takes.
    pub larger: Larger,
}

/// The next larger value of a choice, with the other choices as they are: a size of a tile that is too large may be had where others
/// shrink for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Larger {
    /// The value.
    pub value: usize,
    /// What holds it.
    pub bound: Bound,
    /// That bound's limit, in its unit.
    pub limit: usize,
    /// How much of it the value takes; at most `limit` where the value is legal.
    pub needs: usize,
}

impl Larger {
    /// By how much it breaks the bound; 0 where it is legal with the other choices as they are.
    #[must_use]
    pub const fn over(&self) -> usize {
        self.needs.saturating_sub(self.limit)
    }
}

impl Choice {
    /// What is left of the limit.
    #[must_use]
    pub const fn slack(&self) -> usize {
        self.limit.saturating_sub(self.used)
    }
}

/// What bounds a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The tile's buffers fill the local memory (bytes).
    LocalBytes,
    /// The workspace limit (bytes).
    WorkspaceLimit,
    /// The cores of the target.
    Cores,
    /// There is no more work to cut (items).
    Work,
    /// The fixed order of sums (channels in a block of 64).
    Numerics,
    /// A rule of the vendor's tiling, such as one core for F16.
    Vendor,
    /// What an instruction of a program can do, or beyond which more saves nothing (what the choice counts).
    Instructions,
}

impl Bound {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::LocalBytes => "local_bytes",
            Self::WorkspaceLimit => "workspace_limit",
            Self::Cores => "cores",
            Self::Work => "work",
            Self::Numerics => "numerics",
            Self::Vendor => "vendor",
            Self::Instructions => "instructions",
        }
    }
}

/// What a smaller workspace costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// Name of the price: `grid_passes`, ...
    pub name: &'static str,
    /// How often, with this plan.
    pub paid: usize,
    /// How often, with no limit.
    pub unlimited: usize,
}

/// What all plans have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Common {
    pub(crate) target: TargetSpec,
    pub(crate) options: crate::PlanOptions,
    /// Shares of the main phase.
    pub(crate) block_dim: usize,
    pub(crate) workspace: Workspace,
}

impl Phase {
    /// All there is to do on early success: fill the outputs with zeros.
    pub(crate) const ZERO: Self = Self { name: "zero", shares: 1 };
}

/// Cores of a plan at most: shares may be tried one number after the other, and a damaged description may ask for any.
const MOST_CORES: usize = 1 << 16;

/// Whether this build plans for machines whose copies take whole blocks.
const WHOLE_BLOCKS: bool = cfg!(feature = "whole-blocks");

impl Common {
    /// The target with the options applied, and its numbers made sensible.
    pub(crate) fn new(target: &TargetSpec, options: &crate::PlanOptions) -> Result<Self, PlanError> {
        if !WHOLE_BLOCKS && !target.capabilities.unaligned_copy {
            return Err(PlanError::NotBuilt { feature: "whole-blocks" });
        }
        let target = TargetSpec {
            cores: target.cores.clamp(1, MOST_CORES),
            local_bytes: options.local_bytes.unwrap_or(target.local_bytes),
            // Of two outputs that share cuts, blocks of the one are then whole numbers of the other's.
            block_bytes: target.block_bytes.checked_next_power_of_two().unwrap_or(target.block_bytes),
            vector_bytes: target.vector_bytes.max(1),
            ..*target
        };
        Ok(Self { target, options: *options, block_dim: 1, workspace: Workspace::EMPTY })
    }

    /// Which inputs are copied by an operator whose only intermediates are such copies; they get their regions. `pays` says for
    /// which strides.
    pub(crate) fn choose_copies(
        &mut self,
        slot: impl Fn(Tensor) -> Option<TensorSlot>,
        pays: impl Fn(&TensorSlot) -> bool,
    ) -> Copies {
        let lay_out = |copies: Copies| copies.workspace(&slot, copies.count());
        let pays = |tensor| slot(tensor).is_some_and(|slot| !slot.output && pays(&slot));
        let limit = self.options.workspace_limit;
        let copies = Copies::choose(&self.target, limit, pays, |copies| Some(lay_out(copies)?.bytes()));
        self.workspace = lay_out(copies).unwrap_or(Workspace::EMPTY);
        copies
    }

    /// Why a tile has so many of something of which there are `most`, where so many take `bytes` of local memory.
    pub(crate) fn tile_choice(
        &self,
        (name, value): (&'static str, usize),
        most: usize,
        bytes: impl Fn(usize) -> Option<usize>,
    ) -> Choice {
        let local = self.target.local_bytes;
        let bytes = |n| bytes(n).unwrap_or(usize::MAX);
        let (bound, limit, used) =
            if value >= most { (Bound::Work, most, value) } else { (Bound::LocalBytes, local, bytes(value)) };
        let larger = if value >= most {
            one_more(value, bound)
        } else {
            let more = value.saturating_add(1);
            Larger { value: more, bound, limit, needs: bytes(more) }
        };
        Choice { name, value, bound, limit, used, alternative: one_less(value), larger }
    }

    /// A size of a tile that a caller asks for, if there are as many and `bytes` of it fit the local memory.
    pub(crate) fn wanted_tile(
        &self,
        name: &'static str,
        got: usize,
        most: usize,
        bytes: impl Fn(usize) -> Option<usize>,
    ) -> Result<usize, PlanError> {
        let limit = self.target.local_bytes;
        let fits = shares::largest(most, limit, &bytes).unwrap_or(0);
        if got == 0 || got > most {
            return Err(PlanError::Tile { name, got, bound: Bound::Work, used: got, limit: most, fits });
        }
        let used = bytes(got).unwrap_or(usize::MAX);
        if used > limit {
            return Err(PlanError::Tile { name, got, bound: Bound::LocalBytes, used, limit, fits });
        }
        Ok(got)
    }

    /// Whether copies may begin and end inside of a block.
    fn copies_anywhere(&self) -> bool {
        !WHOLE_BLOCKS || self.target.capabilities.unaligned_copy
    }

    /// Bytes of a local box's row that comes from or goes to global memory. Where copies take whole blocks alone it may begin
    /// inside of one, which costs one more.
    pub(crate) fn row_bytes(&self, elements: usize, size: usize) -> Option<usize> {
        let block = self.target.block_bytes;
        let more = if self.copies_anywhere() || elements == 0 { 0 } else { block };
        shares::buffer_bytes(elements, size, block)?.checked_add(more)
    }

    /// Elements of an output of which no two shares may write any: a block where copies take whole blocks alone.
    pub(crate) fn copy_elements(&self, size: usize) -> NonZeroUsize {
        let block = if self.copies_anywhere() { 1 } else { self.target.block_bytes / size.max(1) };
        shares::at_least_1(block)
    }

    /// Why there are so many shares of `units`; one where it is `idle` as there is nothing to compute.
    pub(crate) fn block_dim_choice(&self, units: &shares::Units, idle: bool) -> Choice {
        cores::block_dim(self.target.cores, |cores| if idle { self.block_dim } else { units.shares(cores).get() })
    }
}

/// One less than `value`, unless that is nothing.
pub(crate) fn one_less(value: usize) -> Option<usize> {
    value.checked_sub(1).filter(|&less| less > 0)
}

/// One more than `value` where that is all that a bound lets be.
pub(crate) const fn one_more(value: usize, bound: Bound) -> Larger {
    let more = value.saturating_add(1);
    Larger { value: more, bound, limit: value, needs: more }
}

/// Cuts `items` into `parts` contiguous runs whose lengths differ by at most one, the longer ones first; run `i` as
/// `start..end`. Parts beyond the items are empty.
#[must_use]
pub(crate) fn split(items: usize, parts: NonZeroUsize, i: usize) -> core::ops::Range<usize> {
    let (each, longer) = (items / parts, items % parts);
    let start = |i: usize| i.saturating_mul(each).saturating_add(i.min(longer)).min(items);
    start(i)..start(i.saturating_add(1))
}
