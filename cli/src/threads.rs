//! Shares on threads of the operating system, which wait for the next call: to start some takes longer than small problems do.

use std::num::NonZeroUsize;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

use rayon::{ThreadPool, ThreadPoolBuilder};
use ubtile_kernels::Parallel;
use ubtile_tiling::Problem;

/// One for each core; none where the system refuses.
static OTHERS: OnceLock<Option<ThreadPool>> = OnceLock::new();

/// Up to so many threads, the caller's included; each takes the next share when it is done with one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Threads(pub(crate) NonZeroUsize);

impl Threads {
    /// As many as this machine offers.
    pub(crate) fn available() -> Self {
        Self(thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
    }

    /// As many of them as a problem keeps busy.
    pub(crate) fn busy_with(self, problem: &Problem) -> Self {
        Self(self.0.min(problem.worthwhile_threads()))
    }
}

impl Parallel for Threads {
    fn for_each<I, F>(&self, items: I, work: F)
    where
        I: Iterator + Send,
        I::Item: Send,
        F: Fn(I::Item) + Sync,
    {
        let shares = items.size_hint().1.unwrap_or(usize::MAX);
        let items = Mutex::new(items);
        let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
        let drain = || {
            // `next` has released the lock when `work` begins.
            while let Some(item) = next() {
                work(item);
            }
        };
        let count = self.0.get().min(shares);
        let others = (count > 1).then(|| OTHERS.get_or_init(|| ThreadPoolBuilder::new().build().ok()).as_ref());
        // Without another thread this one does all the work.
        let Some(others) = others.flatten() else { return drain() };
        others.in_place_scope(|scope| {
            (1..count).for_each(|_| scope.spawn(|_| drain()));
            drain();
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn every_share_runs_once() {
        for threads in 1..5 {
            for shares in 0..9 {
                let counts: Vec<_> = (0..shares).map(|_| AtomicUsize::new(0)).collect();
                let threads = Threads(NonZeroUsize::new(threads).unwrap());
                threads.for_each(counts.iter(), |count| {
                    count.fetch_add(1, Ordering::Relaxed);
                });
                assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 1));
            }
        }
    }
}
