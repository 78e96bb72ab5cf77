//! How the shares of a phase reach threads.

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
