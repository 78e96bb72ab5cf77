//! How the shares of a phase reach threads.

use core::ops::Range;

use crate::ValuesMut;

/// Runs the shares of a phase, at the same time if it can.
///
/// `run` calls `for_each` once per phase; when it returns, every item must have been handed to `work`. A share carries the
/// slices of the output that it alone owns, so an implementation needs no `unsafe`, and one that drops an item or runs them
/// in another order cannot corrupt memory. A caller with threads locks the iterator and lets each thread take the next item.
pub trait Parallel {
    /// Calls `work` with each of the items.
    fn for_each<I, F>(&self, items: I, work: F)
    where
        I: Iterator + Send,
        I::Item: Send,
        F: Fn(I::Item) + Sync;
}

/// One share after the other on the calling thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Serial;

impl Parallel for Serial {
    #[inline]
    fn for_each<I, F>(&self, items: I, work: F)
    where
        I: Iterator + Send,
        I::Item: Send,
        F: Fn(I::Item) + Sync,
    {
        items.for_each(work);
    }
}

/// The shares of a phase with the elements of an output that each one owns. `ranges` gives those, ascending and disjoint.
pub(crate) fn shares<'a, R>(out: ValuesMut<'a>, ranges: R) -> impl Iterator<Item = (usize, ValuesMut<'a>)> + Send
where
    R: Iterator<Item = Range<usize>> + Send,
{
    let (mut rest, mut done) = (out, 0usize);
    ranges.enumerate().map(move |(share, range)| {
        let (_, from) =
            core::mem::replace(&mut rest, ValuesMut::U8(&mut [])).split_at(range.start.saturating_sub(done));
        let (mine, others) = from.split_at(range.len());
        (rest, done) = (others, range.end.max(range.start));
        (share, mine)
    })
}
