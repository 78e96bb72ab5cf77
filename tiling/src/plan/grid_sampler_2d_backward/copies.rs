//! Copies of `grad_output` and `input` without gaps, which a plan may make in front of its route.
//!
//! The route reads both by rows, a few columns at a time. Where columns lie far apart each of them is on a cache line of its own,
//! which is read again for every row that it belongs to.

use super::{Plan, Route};
use crate::plan::staging::{Staging, any_step, far_columns};
use crate::plan::{Phase, Price};
use crate::{Tensor, TensorSlot, Workspace};

/// What may be copied, in the order of the phases: the tensor, its region and its phase.
const TENSORS: [(Tensor, &str, &str); 2] =
    [(Tensor::GradOutput, "grad_output", "stage_grad_output"), (Tensor::Input, "input", "stage_input")];

/// A plane of so many bytes is more than a row, which touches all of its pages or most, finds nearby when the next row comes.
/// Smaller ones pay if one by one their elements must be widened, too.
const LARGE_PLANE: usize = 256 << 10;

/// Which of them are copied, and for which it would pay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Copies {
    made: [bool; 2],
    pays: [bool; 2],
}

impl Copies {
    /// No copies.
    pub(super) const NONE: Self = Self { made: [false; 2], pays: [false; 2] };

    /// How many there are, each in a phase of its own.
    pub(super) fn phases(self) -> usize {
        self.made.into_iter().filter(|&made| made).count()
    }

    /// Whether `input` is copied.
    pub(super) const fn of_input(self) -> bool {
        let [_, input] = self.made;
        input
    }
}

impl Plan {
    /// The copies of inputs that the first phases make, in their order, one a phase.
    pub fn stagings(&self) -> impl Iterator<Item = Staging> + use<> {
        let (problem, workspace, shares) = (self.problem, self.common.workspace, self.copy_shares());
        let made = TENSORS.into_iter().zip(self.copies.made).filter(|&(_, made)| made);
        made.filter_map(move |((tensor, region, _), _)| {
            Some(Staging { slot: problem.slot(tensor)?, region: workspace.region(region)?, shares })
        })
    }

    /// The same plan without copies, for inputs that are the copies: how they are computed on. Its workspace is what lies behind
    /// them.
    #[must_use]
    pub fn on_copies(&self) -> Self {
        let [grad_output, input] = self.copies.made;
        let problem = self.problem.without_gaps(grad_output, input);
        let mut plan = Self { problem, copies: Copies::NONE, ..*self };
        // It is a part of one that has been laid out.
        plan.common.workspace = plan.lay_out().unwrap_or(Workspace::EMPTY);
        plan
    }

    /// The phases of the copies.
    pub(super) fn copy_phases(&self) -> impl Iterator<Item = Phase> + Clone + use<> {
        let shares = self.copy_shares();
        TENSORS
            .into_iter()
            .zip(self.copies.made)
            .filter(|&(_, made)| made)
            .map(move |((.., name), _)| Phase { name, shares })
    }

    fn copy_shares(&self) -> usize {
        self.common.block_dim.min(self.problem.n.saturating_mul(self.problem.c)).max(1)
    }

    /// Whether the route reads a tensor in so bad an order that a copy pays.
    fn reads_far(&self, slot: &TensorSlot) -> bool {
        let bad = match self.route {
            // Reads columns one by one unless they lie side by side.
            Route::PointLanes => any_step(slot),
            Route::Zero | Route::Direct(_) => far_columns(slot),
            // A pixel's channels that lie side by side are what these are after.
            Route::Images | Route::Blocks | Route::Bands => far_columns(slot) && slot.strides.get(1) != 1,
        };
        let (size, plane) = (slot.dtype.size(), slot.shape.get(2).saturating_mul(slot.shape.get(3)));
        bad && (size <= 2 || plane.saturating_mul(size) >= LARGE_PLANE)
    }

    /// Decides which copies there are, by strides and by the workspace limit.
    pub(super) fn choose_copies(&self) -> Copies {
        let limit = self.common.options.workspace_limit.unwrap_or(usize::MAX);
        let mut plan = *self;
        let reads = [true, self.reads_input()];
        for (i, ((tensor, ..), reads)) in TENSORS.into_iter().zip(reads).enumerate() {
            let pays = self.common.target.capabilities.caches
                && reads
                && self.problem.slot(tensor).is_some_and(|slot| self.reads_far(&slot));
            let before = plan.copies;
            let [pay, make] = [&mut plan.copies.pays, &mut plan.copies.made].map(|flags| flags.get_mut(i));
            if let (true, Some(pay), Some(make)) = (pays, pay, make) {
                (*pay, *make) = (true, true);
                if plan.lay_out().is_none_or(|workspace| workspace.bytes() > limit) {
                    plan.copies.made = before.made;
                }
            }
        }
        plan.copies
    }

    /// The regions of the copies, which stay to the end.
    pub(super) fn lay_out_copies(&self, last_phase: usize) -> Option<Workspace> {
        let (mut workspace, mut phase) = (Workspace::EMPTY, 0);
        for ((tensor, name, _), _) in TENSORS.into_iter().zip(self.copies.made).filter(|&(_, made)| made) {
            let slot = self.problem.slot(tensor)?;
            let bytes = slot.shape.numel()?.checked_mul(slot.dtype.size())?;
            workspace = workspace.with(name, bytes, phase, last_phase)?;
            phase = phase.saturating_add(1);
        }
        Some(workspace)
    }

    /// What it costs to do without copies that would pay.
    pub(super) fn copy_price(&self) -> Option<Price> {
        let Copies { made, pays } = self.copies;
        let pay = pays.into_iter().filter(|&pays| pays).count();
        let paid = pay.saturating_sub(made.into_iter().filter(|&made| made).count());
        (pay > 0).then_some(Price { name: "strided_passes", paid, unlimited: 0 })
    }
}
