//! A copy of `grad_output` without gaps, for targets that read memory by cache lines.
//!
//! Where the columns of a tensor lie far apart, as in a transposed or channels-last one, each element of a row is on a line of
//! its own, and by the time a kernel comes to the line's other elements it is gone from the cache. A copy that takes all of a
//! line at once, and the kernel on the copy, are several times faster together (`docs/strides.md`). It is a phase in front of
//! the others, `stage`, and a region of the workspace.

use core::ops::Range;

use super::shares::at_least_1;
use super::{Common, Phase, Price, split};
use crate::{Region, TensorSlot, Workspace};

/// Neighbouring columns that far apart in bytes make a copy pay; nearer ones share enough of a line.
const FAR: usize = 16;

/// What the phase `stage` copies, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Staging {
    /// The input, with its strides.
    pub slot: TensorSlot,
    /// Where its elements go, without gaps.
    pub region: Region,
    /// Shares of the copy.
    pub shares: usize,
}

impl Staging {
    /// Planes (the first two dimensions) that a share copies, counted over all.
    #[must_use]
    pub fn planes(&self, share: usize) -> Range<usize> {
        let planes = self.slot.shape.as_slice().iter().take(2).fold(1usize, |n, &size| n.saturating_mul(size));
        if share >= self.shares { 0..0 } else { split(planes, at_least_1(self.shares), share) }
    }

    /// Elements of a plane.
    #[must_use]
    pub fn plane(&self) -> usize {
        self.slot.shape.as_slice().iter().skip(2).fold(1usize, |n, &size| n.saturating_mul(size))
    }

    /// The phase.
    pub(super) const fn phase(&self) -> Phase {
        Phase { name: "stage", shares: self.shares }
    }
}

/// A plan's choice to copy an input or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    /// The copy, where there is one.
    pub(super) staging: Option<Staging>,
    /// Whether it would pay.
    pays: bool,
}

impl Choice {
    /// No copy.
    pub(super) const NONE: Self = Self { staging: None, pays: false };

    /// Decides, and gives the plan its region. `pays` says for which strides the copy does.
    pub(super) fn new(common: &mut Common, slot: Option<TensorSlot>, pays: impl Fn(&TensorSlot) -> bool) -> Self {
        let Some(slot) = slot.filter(|slot| common.target.capabilities.caches && slot.span > 0 && pays(slot)) else {
            return Self::NONE;
        };
        let elements = slot.shape.numel();
        let workspace = elements
            .and_then(|n| n.checked_mul(slot.dtype.size()))
            .and_then(|bytes| Workspace::EMPTY.with("grad_output", bytes, 0, 1))
            .filter(|workspace| common.options.workspace_limit.is_none_or(|limit| workspace.bytes() <= limit));
        let region = workspace.and_then(|workspace| workspace.region("grad_output"));
        let (Some(workspace), Some(region)) = (workspace, region) else { return Self { staging: None, pays: true } };
        common.workspace = workspace;
        let mut staging = Staging { slot, region, shares: 1 };
        staging.shares = common.target.cores.min(staging.planes(0).len()).max(1);
        Self { staging: Some(staging), pays: true }
    }

    /// No more shares than the plan uses cores.
    pub(super) fn limit_shares(&mut self, block_dim: usize) {
        if let Some(staging) = &mut self.staging {
            staging.shares = staging.shares.min(block_dim);
        }
    }

    /// The number of the phase behind the copy, if there is one.
    pub(super) fn compute_phase(&self) -> usize {
        usize::from(self.staging.is_some())
    }

    /// What it costs to do without.
    pub(super) fn price(&self) -> Option<Price> {
        let paid = usize::from(self.staging.is_none());
        self.pays.then_some(Price { name: "strided_passes", paid, unlimited: 0 })
    }
}

/// Whether the columns do not lie side by side: for kernels whose way of walking strides is slower than a copy.
pub(super) fn any_step(slot: &TensorSlot) -> bool {
    slot.shape.as_slice().last() > Some(&1) && slot.strides.as_slice().last() > Some(&1)
}

/// Whether the columns are far apart, with something else between them: for kernels that walk near ones as fast as a copy.
pub(super) fn far_columns(slot: &TensorSlot) -> bool {
    let (shape, strides) = (slot.shape.as_slice(), slot.strides.as_slice());
    let (Some(&columns), Some(&step)) = (shape.last(), strides.last()) else { return false };
    let mut others = shape.iter().zip(strides).rev().skip(1);
    let between = others.any(|(&size, &stride)| size > 1 && stride > 0 && stride < step);
    columns > 1 && between && step.saturating_mul(slot.dtype.size()) >= FAR
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dtype, PlanOptions, TargetSpec, Tensor};

    fn choice(shape: [usize; 4], strides: [usize; 4], limit: Option<usize>) -> (Choice, Common) {
        let options = PlanOptions { workspace_limit: limit, ..Default::default() };
        let mut common = Common::new(&TargetSpec::host(3), &options);
        let slot = TensorSlot::new(Tensor::GradOutput, false, Dtype::F32, shape, strides);
        (Choice::new(&mut common, slot, far_columns), common)
    }

    #[test]
    fn only_rows_across_lines_are_copied() {
        let shape = [2, 5, 6, 7];
        let far = |strides| choice(shape, strides, None).0.staging.is_some();
        assert!(far([210, 1, 35, 5]), "channels last");
        assert!(far([210, 42, 1, 6]), "transposed");
        assert!(far([0, 42, 1, 6]), "transposed, one image for all");
        assert!(!far([210, 42, 7, 1]), "contiguous");
        assert!(!far([0, 42, 7, 1]), "one image for all");
        assert!(!far([420, 84, 14, 2]), "every other element");
        assert!(!far([3360, 672, 112, 16]), "nothing lies between the columns");
        assert!(!far([210, 0, 0, 0]), "one element for all of a plane");
        let any = |strides| any_step(&TensorSlot::new(Tensor::GradOutput, false, Dtype::F32, shape, strides).unwrap());
        assert!(any([420, 84, 14, 2]) && any([210, 1, 35, 5]));
        assert!(!any([210, 42, 7, 1]) && !any([210, 0, 0, 0]));
    }

    #[test]
    fn the_limit_decides_and_the_price_says_so() {
        let (shape, strides) = ([2, 5, 6, 7], [210, 1, 35, 5]);
        let bytes = choice(shape, strides, None).1.workspace.bytes();
        assert!(bytes >= 420 * 4);
        for (limit, staged) in [(bytes - 1, false), (bytes, true), (0, false)] {
            let (choice, common) = choice(shape, strides, Some(limit));
            assert_eq!((choice.staging.is_some(), choice.compute_phase()), (staged, usize::from(staged)));
            assert_eq!(choice.price().map(|price| (price.paid, price.unlimited)), Some((usize::from(!staged), 0)));
            assert_eq!(common.workspace.bytes(), if staged { bytes } else { 0 });
        }
        assert_eq!(choice(shape, [210, 42, 7, 1], Some(0)).0.price(), None);
    }

    #[test]
    fn shares_copy_each_plane_once() {
        let staging = choice([2, 5, 6, 7], [210, 1, 35, 5], None).0.staging.unwrap();
        assert_eq!((staging.shares, staging.plane()), (3, 42));
        let planes: Vec<_> = (0..4).flat_map(|share| staging.planes(share)).collect();
        assert_eq!(planes, (0..10).collect::<Vec<_>>());
    }
}
