//! Problems and plans of any operator, for code that serves all four.

use core::num::NonZeroUsize;
use core::ops::Range;

use super::grid_sampler_2d_backward::{BUSY, Runs};
use super::{Choice, Phase, Price};
use crate::grid_sampler_2d_backward::Interpolation;
use crate::{
    Dtype, EarlySuccess, Edition, Operator, PlanError, PlanOptions, Product, Route, TargetSpec, Tensor, TensorSlot,
    Workspace,
};
use crate::{
    grid_sampler_2d_backward as grid_sampler, im2col_backward as im2col, max_unpool2d_backward as max_unpool,
    replication_pad2d_backward as replication_pad,
};

/// A problem of any operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// GridSampler2DBackward.
    GridSampler2dBackward(grid_sampler::Problem),
    /// MaxUnpool2dBackward.
    MaxUnpool2dBackward(max_unpool::Problem),
    /// ReplicationPad2dBackward.
    ReplicationPad2dBackward(replication_pad::Problem),
    /// Im2colBackward.
    Im2colBackward(im2col::Problem),
}

/// A plan of any operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TilingPlan {
    /// GridSampler2DBackward.
    GridSampler2dBackward(grid_sampler::Plan),
    /// MaxUnpool2dBackward.
    MaxUnpool2dBackward(max_unpool::Plan),
    /// ReplicationPad2dBackward.
    ReplicationPad2dBackward(replication_pad::Plan),
    /// Im2colBackward.
    Im2colBackward(im2col::Plan),
}

/// Plans a problem.
///
/// # Errors
/// Those of the operator's own `plan`.
pub fn plan(problem: &Problem, target: &TargetSpec, options: &PlanOptions) -> Result<TilingPlan, PlanError> {
    Ok(match problem {
        Problem::GridSampler2dBackward(p) => TilingPlan::GridSampler2dBackward(grid_sampler::plan(p, target, options)?),
        Problem::MaxUnpool2dBackward(p) => TilingPlan::MaxUnpool2dBackward(max_unpool::plan(p, target, options)?),
        Problem::ReplicationPad2dBackward(p) => {
            TilingPlan::ReplicationPad2dBackward(replication_pad::plan(p, target, options)?)
        }
        Problem::Im2colBackward(p) => TilingPlan::Im2colBackward(im2col::plan(p, target, options)?),
    })
}

impl Problem {
    /// Which operator.
    #[must_use]
    pub const fn operator(&self) -> Operator {
        match self {
            Self::GridSampler2dBackward(_) => Operator::GridSampler2dBackward,
            Self::MaxUnpool2dBackward(_) => Operator::MaxUnpool2dBackward,
            Self::ReplicationPad2dBackward(_) => Operator::ReplicationPad2dBackward,
            Self::Im2colBackward(_) => Operator::Im2colBackward,
        }
    }

    /// Element type of `grad_output`.
    #[must_use]
    pub fn dtype(&self) -> Dtype {
        match self {
            Self::GridSampler2dBackward(p) => p.dtype,
            Self::MaxUnpool2dBackward(p) => p.dtype,
            Self::ReplicationPad2dBackward(p) => p.dtype,
            Self::Im2colBackward(p) => p.dtype,
        }
    }

    /// A tensor that it reads or writes.
    #[must_use]
    pub fn slot(&self, tensor: Tensor) -> Option<TensorSlot> {
        match self {
            Self::GridSampler2dBackward(p) => p.slot(tensor),
            Self::MaxUnpool2dBackward(p) => p.slot(tensor),
            Self::ReplicationPad2dBackward(p) => p.slot(tensor),
            Self::Im2colBackward(p) => p.slot(tensor),
        }
    }

    /// All of them, inputs first.
    pub fn tensors(&self) -> impl Iterator<Item = TensorSlot> + '_ {
        use Tensor::{GradInput, GradOutput, Grid, GridGrad, Indices, Input, InputGrad, Out};
        let all = [GradOutput, Input, Grid, Indices, InputGrad, GridGrad, Out, GradInput];
        all.into_iter().filter_map(|tensor| self.slot(tensor))
    }

    /// Threads of a host that it keeps busy, at least one. To wake another one takes as long as to read and write 2 MiB. The grid sampler
    /// computes more than it reads: with 128 Ki elements, bicubic with 32 Ki, it is busy as long.
    #[must_use]
    pub fn worthwhile_threads(&self) -> NonZeroUsize {
        let others = match self {
            Self::GridSampler2dBackward(p) => {
                let elements = self.tensors().map(|slot| slot.span).fold(0, usize::saturating_add);
                elements / if p.interpolation == Interpolation::Bicubic { BUSY / 4 } else { BUSY }
            }
            _ => {
                let bytes = self.tensors().map(|slot| slot.span.saturating_mul(slot.dtype.size()));
                bytes.fold(0, usize::saturating_add) >> 21
            }
        };
        NonZeroUsize::MIN.saturating_add(others)
    }

    /// Why there is nothing to compute, if so.
    #[must_use]
    pub const fn early_success(&self) -> Option<EarlySuccess> {
        match self {
            Self::GridSampler2dBackward(p) => p.early_success(),
            Self::MaxUnpool2dBackward(p) => p.early_success(),
            Self::ReplicationPad2dBackward(p) => p.early_success(),
            Self::Im2colBackward(p) => p.early_success(),
        }
    }

    /// Where the vendor runs it; `None` where it does not.
    #[must_use]
    pub fn vendor_route(&self, product: Product, edition: Edition) -> Option<Route> {
        match self {
            Self::GridSampler2dBackward(p) => p.vendor_route(product, edition),
            Self::MaxUnpool2dBackward(p) => p.vendor_route(product, edition),
            Self::ReplicationPad2dBackward(p) => p.vendor_route(product, edition),
            Self::Im2colBackward(p) => p.vendor_route(product, edition),
        }
    }
}

impl TilingPlan {
    /// What it solves.
    #[must_use]
    pub const fn problem(&self) -> Problem {
        match self {
            Self::GridSampler2dBackward(p) => Problem::GridSampler2dBackward(*p.problem()),
            Self::MaxUnpool2dBackward(p) => Problem::MaxUnpool2dBackward(*p.problem()),
            Self::ReplicationPad2dBackward(p) => Problem::ReplicationPad2dBackward(*p.problem()),
            Self::Im2colBackward(p) => Problem::Im2colBackward(*p.problem()),
        }
    }

    /// Which operator.
    #[must_use]
    pub const fn operator(&self) -> Operator {
        self.problem().operator()
    }

    /// What it is for, options applied.
    #[must_use]
    pub const fn target(&self) -> &TargetSpec {
        match self {
            Self::GridSampler2dBackward(p) => p.target(),
            Self::MaxUnpool2dBackward(p) => p.target(),
            Self::ReplicationPad2dBackward(p) => p.target(),
            Self::Im2colBackward(p) => p.target(),
        }
    }

    /// Cores that it uses.
    #[must_use]
    pub const fn block_dim(&self) -> usize {
        match self {
            Self::GridSampler2dBackward(p) => p.block_dim(),
            Self::MaxUnpool2dBackward(p) => p.block_dim(),
            Self::ReplicationPad2dBackward(p) => p.block_dim(),
            Self::Im2colBackward(p) => p.block_dim(),
        }
    }

    /// Its intermediates.
    #[must_use]
    pub const fn workspace(&self) -> &Workspace {
        match self {
            Self::GridSampler2dBackward(p) => p.workspace(),
            Self::MaxUnpool2dBackward(p) => p.workspace(),
            Self::ReplicationPad2dBackward(p) => p.workspace(),
            Self::Im2colBackward(p) => p.workspace(),
        }
    }

    /// Bytes that a caller must bring for them.
    #[must_use]
    pub fn workspace_bytes(&self) -> usize {
        self.workspace().bytes()
    }

    /// Its phases, in order.
    pub fn phases(&self) -> impl Iterator<Item = Phase> + Clone + use<> {
        let (grid_sampler, max_unpool, replication_pad, im2col) = self.plans();
        let phases = grid_sampler.into_iter().flat_map(|p| p.phases());
        let phases = phases.chain(max_unpool.into_iter().flat_map(|p| p.phases()));
        let phases = phases.chain(replication_pad.into_iter().flat_map(|p| p.phases()));
        phases.chain(im2col.into_iter().flat_map(|p| p.phases()))
    }

    /// The outputs and the elements of each, from the first to one past the last, that a share writes: one run of an output, or
    /// several of a band's `input_grad`, ascending.
    pub fn share_ranges(&self, phase: usize, share: usize) -> impl Iterator<Item = (Tensor, Range<usize>)> + use<> {
        let (tensor, runs, grid_grad) = match self {
            Self::GridSampler2dBackward(p) => {
                let range = p.share_range(phase, share);
                (Tensor::InputGrad, range.input_grad, range.grid_grad)
            }
            Self::MaxUnpool2dBackward(p) => (Tensor::Out, Runs::one(p.share_range(phase, share)), 0..0),
            Self::ReplicationPad2dBackward(p) => (Tensor::GradInput, Runs::one(p.share_range(phase, share)), 0..0),
            Self::Im2colBackward(p) => (Tensor::Out, Runs::one(p.share_range(phase, share)), 0..0),
        };
        let grid_grad = (!grid_grad.is_empty()).then_some((Tensor::GridGrad, grid_grad));
        runs.iter().map(move |run| (tensor, run)).chain(grid_grad)
    }

    /// Bytes of local memory of each of a share's tiles, in order.
    pub fn tile_bytes(&self, phase: usize, share: usize) -> impl Iterator<Item = usize> + Clone + use<> {
        let (grid_sampler, max_unpool, replication_pad, im2col) = self.plans();
        let tiles = move |p: grid_sampler::Plan| p.tiles(phase, share).map(|tile| tile.local_bytes());
        let bytes = grid_sampler.into_iter().flat_map(tiles);
        let tiles = move |p: max_unpool::Plan| p.tiles(phase, share).map(|tile| tile.local_bytes());
        let bytes = bytes.chain(max_unpool.into_iter().flat_map(tiles));
        let tiles = move |p: replication_pad::Plan| p.tiles(phase, share).map(|tile| tile.local_bytes());
        let bytes = bytes.chain(replication_pad.into_iter().flat_map(tiles));
        let tiles = move |p: im2col::Plan| p.tiles(phase, share).map(|tile| tile.local_bytes());
        bytes.chain(im2col.into_iter().flat_map(tiles))
    }

    /// Tiles of a share. Walks them.
    #[must_use]
    pub fn tile_count(&self, phase: usize, share: usize) -> usize {
        self.tile_bytes(phase, share).count()
    }

    /// Bytes of local memory that the largest tile takes. Walks all of them.
    #[must_use]
    pub fn largest_tile_bytes(&self) -> usize {
        let shares = self.phases().enumerate().flat_map(|(number, phase)| (0..phase.shares).map(move |i| (number, i)));
        shares.flat_map(|(phase, share)| self.tile_bytes(phase, share)).max().unwrap_or(0)
    }

    /// Why it is what it is.
    pub fn choices(&self) -> impl Iterator<Item = Choice> + use<> {
        let (grid_sampler, max_unpool, replication_pad, im2col) = self.plans();
        let choices = grid_sampler.into_iter().flat_map(|p| p.choices());
        let choices = choices.chain(max_unpool.into_iter().flat_map(|p| p.choices()));
        let choices = choices.chain(replication_pad.into_iter().flat_map(|p| p.choices()));
        choices.chain(im2col.into_iter().flat_map(|p| p.choices()))
    }

    /// The same plan with a tile of another size, by the name of its choice.
    ///
    /// # Errors
    /// [`PlanError::Tile`] if it does not fit, [`PlanError::NoTile`] for a name that the operator does not have.
    pub fn with_tile(self, name: &str, value: usize) -> Result<Self, PlanError> {
        Ok(match self {
            Self::GridSampler2dBackward(p) => Self::GridSampler2dBackward(p.with_tile(name, value)?),
            Self::MaxUnpool2dBackward(p) => Self::MaxUnpool2dBackward(p.with_tile(name, value)?),
            Self::ReplicationPad2dBackward(p) => Self::ReplicationPad2dBackward(p.with_tile(name, value)?),
            Self::Im2colBackward(p) => Self::Im2colBackward(p.with_tile(name, value)?),
        })
    }

    /// What its workspace limit costs.
    pub fn prices(&self) -> impl Iterator<Item = Price> + use<> {
        let (grid_sampler, max_unpool, replication_pad, im2col) = self.plans();
        let prices = grid_sampler.into_iter().flat_map(|p| p.prices());
        let prices = prices.chain(max_unpool.into_iter().flat_map(|p| p.prices()));
        let prices = prices.chain(replication_pad.into_iter().flat_map(|p| p.prices()));
        prices.chain(im2col.into_iter().flat_map(|p| p.prices()))
    }

    /// The one that it is, so that iterators of four types can be chained to one.
    const fn plans(
        &self,
    ) -> (Option<grid_sampler::Plan>, Option<max_unpool::Plan>, Option<replication_pad::Plan>, Option<im2col::Plan>)
    {
        match *self {
            Self::GridSampler2dBackward(p) => (Some(p), None, None, None),
            Self::MaxUnpool2dBackward(p) => (None, Some(p), None, None),
            Self::ReplicationPad2dBackward(p) => (None, None, Some(p), None),
            Self::Im2colBackward(p) => (None, None, None, Some(p)),
        }
    }
}
