//! How the shares of a phase reach threads.

use core::ops::Range;

use crate::ValuesMut;

/// Runs the shares of a phase, at the same time if it can.
///
/// `run_parallel` calls `for_each` once per phase; when it returns, every item must have been handed to `work`. A share carries the
/// slices of the output that it alone owns, so an implementation needs no `unsafe`, and one that drops an item or runs them
/// in another order cannot corrupt memory. A caller with threads locks the iterator and lets each thread take the next item. A call
/// has up to six phases, and to wake a thread may take longer than one of them, so threads had better stay awake between them.
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
    let mut rest = Rest { values: out, done: 0 };
    ranges.enumerate().map(move |(share, range)| (share, rest.take(range)))
}

/// What is left of an output that is handed out in parts, ascending, behind so many elements.
pub(crate) struct Rest<'a> {
    pub(crate) values: ValuesMut<'a>,
    pub(crate) done: usize,
}

impl<'a> Rest<'a> {
    /// The elements `range`; as many as there are of them.
    pub(crate) fn take(&mut self, range: Range<usize>) -> ValuesMut<'a> {
        let rest = core::mem::replace(&mut self.values, ValuesMut::U8(&mut []));
        let (_, from) = rest.split_at(range.start.saturating_sub(self.done));
        let (mine, others) = from.split_at(range.len());
        (self.values, self.done) = (others, range.end.max(range.start));
        mine
    }
}

/// A slice that is handed out in parts, ascending.
#[derive(Debug)]
pub(crate) struct Front<'a, T> {
    rest: &'a mut [T],
    done: usize,
}

impl<'a, T> Front<'a, T> {
    pub(crate) fn new(rest: &'a mut [T]) -> Self {
        Self::behind(0, rest)
    }

    /// What is behind so many elements.
    pub(crate) fn behind(done: usize, rest: &'a mut [T]) -> Self {
        Self { rest, done }
    }

    /// The elements `range`, behind those taken before; nothing where there are not so many.
    pub(crate) fn take(&mut self, range: Range<usize>) -> &'a mut [T] {
        if range.is_empty() {
            return &mut [];
        }
        let behind = core::mem::take(&mut self.rest).split_at_mut_checked(range.start.wrapping_sub(self.done));
        let (mine, rest) = behind.and_then(|(_, from)| from.split_at_mut_checked(range.len())).unwrap_or_default();
        (self.rest, self.done) = (rest, range.end);
        mine
    }

    /// All behind what has been taken.
    pub(crate) fn rest(self) -> &'a mut [T] {
        self.rest
    }
}
