//! Caches, and lines that are asked for before they are needed.

use super::Isa;

/// Bytes of a tensor that a processor's last cache holds beside others. To ask for a smaller one ahead costs more than it gains.
pub(crate) const CACHED: usize = 14 << 20;

/// Bytes of a line of a cache.
pub(crate) const LINE: usize = 64;

/// Elements of a line of a cache.
#[inline(always)]
pub(crate) fn line_of<T>() -> usize {
    LINE / size_of::<T>().max(1)
}

/// A cache that lines are asked for to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cache {
    /// For what is needed soon.
    Level1,
    /// For what a level-1 cache would drop before it is needed, as [`Habits::later`](super::Habits::later) says.
    Level2,
}

/// Asks for the lines of `count` elements from `data[from]` on.
#[inline(always)]
pub(crate) fn prefetch_run<S: Isa, T>(isa: S, to: Cache, data: &[T], from: usize, count: usize) {
    let mut at = 0usize;
    while at < count {
        isa.prefetch(to, data, from.wrapping_add(at));
        at = at.wrapping_add(line_of::<T>());
    }
}
