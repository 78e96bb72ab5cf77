//! Elements that the vendor works on at a time, and the unified buffer that they take.

use crate::plan::Larger;
use crate::{Bound, Choice};

/// How many elements the vendor works on at a time, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Factor {
    /// The field of the tiling data that holds it.
    pub(crate) name: &'static str,
    /// Elements.
    pub(crate) value: usize,
    /// It is a multiple of so many.
    pub(crate) step: usize,
    /// Bytes of the unified buffer that `step` elements take.
    pub(crate) step_bytes: usize,
    /// Bytes that it takes beside them: what is reserved, the tiling object, vectors of channels.
    pub(crate) beside: usize,
    /// Bytes of the unified buffer.
    pub(crate) limit: usize,
}

impl Factor {
    /// Bytes of the unified buffer that `elements` take.
    pub(super) fn bytes(&self, elements: usize) -> usize {
        let steps = elements.div_ceil(self.step.max(1));
        steps.saturating_mul(self.step_bytes).saturating_add(self.beside)
    }

    pub(super) fn choice(&self) -> Choice {
        let Self { name, value, step, limit, .. } = *self;
        let bound = Bound::LocalBytes;
        let alternative = value.checked_sub(step).filter(|&less| less > 0);
        let more = value.saturating_add(step);
        let larger = Larger { value: more, bound, limit, needs: self.bytes(more) };
        Choice { name, value, bound, limit, used: self.bytes(value), alternative, larger }
    }
}
