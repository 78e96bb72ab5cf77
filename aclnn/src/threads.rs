//! Shares of a kernel on threads of the operating system.

use std::num::NonZeroUsize;
use std::sync::OnceLock;
use std::thread;

use ubtile_kernels::Parallel;
use ubtile_tiling::{Problem, TilingPlan};

use crate::monitor::Monitor;

/// Up to so many threads, the stream's own included; each takes the next share when it is done with one.
#[derive(Clone, Copy)]
pub(crate) struct Threads(NonZeroUsize);

impl Threads {
    /// As many as this machine offers. It is asked once, since that reads files.
    pub(crate) fn available() -> Self {
        static COUNT: OnceLock<NonZeroUsize> = OnceLock::new();
        Self(*COUNT.get_or_init(|| thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)))
    }

    /// As many of them as a problem keeps busy.
    pub(crate) fn busy_with(self, problem: &Problem) -> Self {
        Self(self.0.min(problem.worthwhile_threads()))
    }

    /// As many as a plan has cores.
    pub(crate) fn of(plan: &TilingPlan) -> Self {
        Self(NonZeroUsize::new(plan.target().cores).unwrap_or(NonZeroUsize::MIN))
    }

    pub(crate) const fn count(self) -> usize {
        self.0.get()
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
        let items = Monitor::new(items);
        let next = || items.lock().next();
        let drain = || {
            // `next` has released the lock when `work` begins.
            while let Some(item) = next() {
                work(item);
            }
        };
        thread::scope(|scope| {
            let helpers: Vec<_> = (1..self.count().min(shares))
                // Without another thread this one does all the work.
                .filter_map(|_| thread::Builder::new().spawn_scoped(scope, drain).ok())
                .collect();
            drain();
            for helper in helpers {
                // Joined one by one, and not by the end of the scope, so that sanitizers see that their work is done.
                if let Err(panic) = helper.join() {
                    std::panic::resume_unwind(panic);
                }
            }
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
                Threads(NonZeroUsize::new(threads).unwrap()).for_each(counts.iter(), |count| {
                    count.fetch_add(1, Ordering::Relaxed);
                });
                assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 1));
            }
        }
    }
}
