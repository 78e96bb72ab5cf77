//! Copies of inputs without gaps, for targets that read memory by cache lines.
//!
//! Where the columns of a tensor lie far apart, as in a transposed or channels-last one, each element of a row is on a line of
//! its own, and by the time a kernel comes to the line's other elements it is gone from the cache. A copy that takes all of a
//! line at once, and the kernel on the copy, are several times faster together (`docs/strides.md`). Each copy is a phase in front
//! of the others and a region of the workspace.

use core::ops::Range;

use super::shares::at_least_1;
use super::{Phase, Price, split};
use crate::{Region, TargetSpec, Tensor, TensorSlot, Workspace};

/// Whether this build makes copies.
pub(super) const BUILT: bool = cfg!(feature = "copies");

/// Neighbouring columns that far apart in bytes make a copy pay; nearer ones share enough of a line.
const FAR: usize = 16;

/// Inputs that may be copied.
const COUNT: usize = 3;

/// What may be copied, in the order of the phases: the tensor, its region and its phase.
static TENSORS: [(Tensor, &str, &str); COUNT] = [
    (Tensor::GradOutput, "grad_output", "stage_grad_output"),
    (Tensor::Input, "input", "stage_input"),
    (Tensor::Indices, "indices", "stage_indices"),
];

/// What a phase copies, and where.
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
        if share >= self.shares { 0..0 } else { split(planes(&self.slot), at_least_1(self.shares), share) }
    }

    /// Elements of a plane.
    #[must_use]
    pub fn plane(&self) -> usize {
        self.slot.shape.as_slice().iter().skip(2).fold(1usize, |n, &size| n.saturating_mul(size))
    }
}

/// Which of a plan's inputs are copied, and for which it would pay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Copies {
    made: [bool; COUNT],
    pays: [bool; COUNT],
}

impl Copies {
    /// No copies.
    pub(super) const NONE: Self = Self { made: [false; COUNT], pays: [false; COUNT] };

    /// One of `input` alone, if this build makes any.
    pub(super) const OF_INPUT: Self = Self { made: [false, BUILT, false], pays: [false, BUILT, false] };

    /// Decides. `pays` says of which inputs a copy does, on a target with caches; `bytes` how large the workspace is with such
    /// copies. One that would break the limit is not made.
    pub(super) fn choose(
        target: &TargetSpec,
        limit: Option<usize>,
        pays: impl Fn(Tensor) -> bool,
        mut bytes: impl FnMut(Self) -> Option<usize>,
    ) -> Self {
        let mut copies = Self::NONE;
        if !BUILT || !target.capabilities.caches {
            return copies;
        }
        for (i, &(tensor, ..)) in TENSORS.iter().enumerate() {
            let mut more = copies;
            if let (true, Some(pay), Some(make)) = (pays(tensor), more.pays.get_mut(i), more.made.get_mut(i)) {
                (*pay, *make) = (true, true);
                let fits = bytes(more).is_some_and(|bytes| limit.is_none_or(|limit| bytes <= limit));
                copies = if fits { more } else { Self { made: copies.made, ..more } };
            }
        }
        copies
    }

    /// How many there are, each in a phase of its own: the number of the first phase behind them.
    pub(super) fn count(self) -> usize {
        self.copied().count()
    }

    /// Whether a tensor is copied.
    pub(super) fn has(self, tensor: Tensor) -> bool {
        self.copied().any(|(copied, ..)| copied == tensor)
    }

    fn copied(self) -> impl Iterator<Item = (Tensor, &'static str, &'static str)> + Clone {
        let built = if BUILT { TENSORS.len() } else { 0 };
        TENSORS.iter().take(built).zip(self.made).filter(|&(_, made)| made).map(|(&names, _)| names)
    }

    /// Their phases, on so many cores.
    pub(super) fn phases(
        self,
        slot: impl Fn(Tensor) -> Option<TensorSlot> + Clone,
        cores: usize,
    ) -> impl Iterator<Item = Phase> + Clone {
        self.copied().filter_map(move |(tensor, _, name)| Some(Phase { name, shares: shares(&slot(tensor)?, cores) }))
    }

    /// What the phases copy, in their order.
    pub(super) fn stagings(
        self,
        slot: impl Fn(Tensor) -> Option<TensorSlot>,
        workspace: &Workspace,
        cores: usize,
    ) -> impl Iterator<Item = Staging> {
        self.copied().filter_map(move |(tensor, region, _)| {
            let slot = slot(tensor)?;
            Some(Staging { slot, region: workspace.region(region)?, shares: shares(&slot, cores) })
        })
    }

    /// Adds their regions, which stay to the last phase.
    pub(super) fn lay_out(
        self,
        slot: impl Fn(Tensor) -> Option<TensorSlot>,
        last_phase: usize,
        workspace: &mut Workspace,
    ) -> Option<()> {
        let mut phase = 0usize;
        for (tensor, region, _) in self.copied() {
            let slot = slot(tensor)?;
            workspace.add(region, slot.shape.numel()?.checked_mul(slot.dtype.size())?, phase, last_phase)?;
            phase = phase.saturating_add(1);
        }
        Some(())
    }

    /// A workspace of their regions alone.
    pub(super) fn workspace(self, slot: impl Fn(Tensor) -> Option<TensorSlot>, last_phase: usize) -> Option<Workspace> {
        let mut workspace = Workspace::EMPTY;
        self.lay_out(slot, last_phase, &mut workspace).map(|()| workspace)
    }

    /// What it costs to do without those that would pay.
    pub(super) fn price(self) -> Option<Price> {
        let pay = self.pays.into_iter().filter(|&pays| BUILT && pays).count();
        (pay > 0).then_some(Price { name: "strided_passes", paid: pay.saturating_sub(self.count()), unlimited: 0 })
    }
}

/// Planes of a tensor: the first two dimensions.
fn planes(slot: &TensorSlot) -> usize {
    slot.shape.as_slice().iter().take(2).fold(1usize, |n, &size| n.saturating_mul(size))
}

fn shares(slot: &TensorSlot, cores: usize) -> usize {
    cores.min(planes(slot)).max(1)
}

/// Whether the columns do not lie side by side: for kernels whose way of walking strides is slower than a copy.
pub(super) fn any_step(slot: &TensorSlot) -> bool {
    slot.span > 0 && slot.shape.as_slice().last() > Some(&1) && slot.strides.as_slice().last() > Some(&1)
}

/// Whether the columns are far apart, with something else between them: for kernels that walk near ones as fast as a copy.
pub(super) fn far_columns(slot: &TensorSlot) -> bool {
    let (shape, strides) = (slot.shape.as_slice(), slot.strides.as_slice());
    let (Some(&columns), Some(&step)) = (shape.last(), strides.last()) else { return false };
    let mut others = shape.iter().zip(strides).rev().skip(1);
    let between = others.any(|(&size, &stride)| size > 1 && stride > 0 && stride < step);
    slot.span > 0 && columns > 1 && between && step.saturating_mul(slot.dtype.size()) >= FAR
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dtype;

    const SHAPE: [usize; 4] = [2, 5, 6, 7];

    /// A `grad_output` of that shape and these strides.
    fn shaped(shape: [usize; 4], strides: [usize; 4]) -> TensorSlot {
        TensorSlot::new(Tensor::GradOutput, false, Dtype::F32, &shape, &strides).unwrap()
    }

    /// A `grad_output` and an `input` of these strides.
    fn slot(strides: [usize; 4]) -> impl Fn(Tensor) -> Option<TensorSlot> + Clone {
        move |tensor| match tensor {
            Tensor::GradOutput | Tensor::Input => TensorSlot::new(tensor, false, Dtype::F32, &SHAPE, &strides),
            _ => None,
        }
    }

    fn choose(strides: [usize; 4], limit: Option<usize>) -> Copies {
        let slot = slot(strides);
        let pays = |tensor| slot(tensor).is_some_and(|slot| far_columns(&slot));
        let bytes = |copies: Copies| Some(copies.workspace(&slot, copies.count())?.bytes());
        Copies::choose(&TargetSpec::host(3), limit, pays, bytes)
    }

    #[test]
    fn only_rows_across_lines_are_copied() {
        let far = |strides| choose(strides, None).has(Tensor::GradOutput);
        assert!(far([210, 1, 35, 5]), "channels last");
        assert!(far([210, 42, 1, 6]), "transposed");
        assert!(far([0, 42, 1, 6]), "transposed, one image for all");
        assert!(!far([210, 42, 7, 1]), "contiguous");
        assert!(!far([0, 42, 7, 1]), "one image for all");
        assert!(!far([420, 84, 14, 2]), "every other element");
        assert!(!far([3360, 672, 112, 16]), "nothing lies between the columns");
        assert!(!far([210, 0, 0, 0]), "one element for all of a plane");
        assert!(!far([3360, 672, 0, 16]), "one row for all of a plane");
        assert!(!far([3360, 672, 4, 4]), "rows and columns side by side alike");
        let any = |strides| any_step(&shaped(SHAPE, strides));
        assert!(any([420, 84, 14, 2]) && any([210, 1, 35, 5]));
        assert!(!any([210, 42, 7, 1]) && !any([210, 0, 0, 0]));
    }

    #[test]
    fn what_has_no_second_column_or_no_element_is_not_copied() {
        for (shape, strides, near, far) in [
            (SHAPE, [210, 1, 35, 5], true, true),
            ([2, 5, 6, 1], [210, 1, 35, 5], false, false),
            ([0, 5, 6, 7], [210, 1, 35, 5], false, false),
            // Between the columns lies a dimension that has only one position.
            ([2, 1, 6, 7], [210, 1, 35, 5], true, false),
            // 12 bytes, and 16.
            ([2, 3, 6, 7], [126, 1, 21, 3], true, false),
            ([2, 4, 6, 7], [168, 1, 28, 4], true, true),
        ] {
            let slot = shaped(shape, strides);
            assert_eq!((any_step(&slot), far_columns(&slot)), (near, far), "{shape:?} {strides:?}");
        }
    }

    #[test]
    fn the_limit_decides_and_the_price_says_so() {
        let strides = [210, 1, 35, 5];
        let of = |count: usize| count * (420usize * 4).next_multiple_of(crate::ALIGN) + crate::ALIGN - 1;
        let limits =
            [(None, 2), (Some(of(2)), 2), (Some(of(2) - 1), 1), (Some(of(1)), 1), (Some(of(1) - 1), 0), (Some(0), 0)];
        for (limit, count) in limits {
            let copies = choose(strides, limit);
            assert_eq!(copies.count(), count, "{limit:?}");
            assert_eq!(copies.price().map(|price| (price.paid, price.unlimited)), Some((2 - count, 0)));
            assert_eq!([Tensor::GradOutput, Tensor::Input].map(|tensor| copies.has(tensor)), [count > 0, count > 1]);
        }
        assert_eq!(choose([210, 42, 7, 1], Some(0)).price(), None);
        let without_caches = TargetSpec {
            capabilities: crate::Capabilities { caches: false, ..TargetSpec::host(3).capabilities },
            ..TargetSpec::host(3)
        };
        assert_eq!(Copies::choose(&without_caches, None, |_| true, |_| Some(0)), Copies::NONE);
    }

    #[test]
    fn shares_copy_each_plane_once() {
        let (copies, slot) = (choose([210, 1, 35, 5], None), slot([210, 1, 35, 5]));
        let workspace = copies.workspace(&slot, 2).unwrap();
        for (cores, shares) in [(1, 1), (3, 3), (99, 10)] {
            let phases: Vec<_> = copies.phases(&slot, cores).collect();
            let names = ["stage_grad_output", "stage_input"];
            assert_eq!(phases, names.map(|name| Phase { name, shares }));
            for (staging, phase) in copies.stagings(&slot, &workspace, cores).zip(phases) {
                assert_eq!((staging.shares, staging.plane()), (phase.shares, 42));
                let planes: Vec<_> = (0..=cores).flat_map(|share| staging.planes(share)).collect();
                assert_eq!(planes, (0..10).collect::<Vec<_>>());
            }
        }
    }
}
