//! Copies of `grad_output` and `input` without gaps, which a plan may make in front of its route.
//!
//! The route reads both by rows, a few columns at a time. Where columns lie far apart each of them is on a cache line of its own,
//! which is read again for every row that it belongs to.

use super::{Plan, Route};
use crate::plan::staging::{BUILT, Copies, Staging, any_step, far_columns};
use crate::{Tensor, TensorSlot, Workspace};

/// A plane of so many bytes is more than a row, which touches all of its pages or most, finds nearby when the next row comes.
/// Smaller ones pay if one by one their elements must be widened, too.
const LARGE_PLANE: usize = 256 << 10;

/// The same of planes that are staged, which reads each once: from a level-1 cache on.
const STAGED_PLANE: usize = 16 << 10;

/// Channels of a pixel that is read as a whole.
const SMALL_PIXEL: usize = 4;

impl Plan {
    /// The copies of inputs that the first phases make, in their order, one a phase.
    pub fn stagings(&self) -> impl Iterator<Item = Staging> + '_ {
        self.copies.stagings(|tensor| self.problem.slot(tensor), &self.common.workspace, self.common.block_dim)
    }

    /// The same plan without copies, for inputs that are the copies: how they are computed on. Its workspace is what lies behind
    /// them.
    #[must_use]
    pub fn on_copies(&self) -> Self {
        let [grad_output, input] = [Tensor::GradOutput, Tensor::Input].map(|tensor| self.copies.has(tensor));
        let problem = self.problem.without_gaps(grad_output, input);
        let mut plan = Self { problem, copies: Copies::NONE, ..*self };
        // It is a part of one that has been laid out.
        plan.common.workspace = plan.lay_out().unwrap_or(Workspace::EMPTY);
        plan
    }

    /// Whether the route reads a tensor in so bad an order that a copy pays.
    fn reads_far(&self, slot: &TensorSlot) -> bool {
        let (size, plane) = (slot.dtype.size(), slot.shape.get(2).saturating_mul(slot.shape.get(3)));
        match self.route() {
            // Reads columns one by one unless they lie side by side, or whole pixels of `grad_output`.
            Route::PointLanes | Route::PointBands => {
                let pixels = slot.tensor == Tensor::GradOutput && slot.strides.get(1) == 1;
                any_step(slot) && !(pixels && slot.strides.get(3) <= SMALL_PIXEL)
            }
            Route::Zero | Route::Direct(_) => {
                far_columns(slot) && (size <= 2 || plane.saturating_mul(size) >= LARGE_PLANE)
            }
            Route::Images | Route::Blocks | Route::Channels | Route::Bands => {
                let large = plane.saturating_mul(size) >= STAGED_PLANE;
                let far = if size <= 2 { any_step(slot) } else { large && far_columns(slot) };
                // A pixel's channels that lie side by side are what these are after.
                far && slot.strides.get(1) != 1
            }
        }
    }

    /// Whether a copy of a tensor pays.
    fn copy_pays(&self, tensor: Tensor) -> bool {
        let p = &self.problem;
        let ([.., step], reads) = match tensor {
            Tensor::Input => (p.input_strides, self.reads_input() && !self.has_few_points()),
            _ => (p.grad_output_strides, true),
        };
        // Asked first, as the smallest calls take twice the time to describe a tensor.
        step > 1 && reads && p.slot(tensor).is_some_and(|slot| self.reads_far(&slot))
    }

    /// Least bytes of workspace that the route takes with its shares: without copies, or with one of `input`, which can spare each
    /// share one of its own. Leaves no copies.
    pub(super) fn least_bytes(&mut self) -> Option<usize> {
        let bytes = |plan: &Self| Some(plan.lay_out()?.bytes());
        self.copies = Copies::NONE;
        let alone = bytes(self)?;
        if !BUILT || !self.common.target.capabilities.caches || !self.copy_pays(Tensor::Input) {
            return Some(alone);
        }
        self.copies = Copies::OF_INPUT;
        let copied = bytes(self);
        self.copies = Copies::NONE;
        Some(copied.map_or(alone, |copied| alone.min(copied)))
    }

    /// Decides which copies there are, by strides and by the workspace limit.
    pub(super) fn choose_copies(&mut self) {
        if !BUILT {
            return;
        }
        let [grad_output, input] = [Tensor::GradOutput, Tensor::Input].map(|tensor| self.copy_pays(tensor));
        let pays = |tensor| if tensor == Tensor::Input { input } else { tensor == Tensor::GradOutput && grad_output };
        let (target, limit) = (self.common.target, self.common.options.workspace_limit);
        // Tried in place, as a plan is too large for copies of it.
        let bytes = |copies| {
            self.copies = copies;
            Some(self.lay_out()?.bytes())
        };
        self.copies = Copies::choose(&target, limit, pays, bytes);
    }
}
