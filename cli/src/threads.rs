//! Shares on threads of the operating system, which wait for the next phase and the next call: to start or to wake one takes longer
//! than many a phase.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

use rayon::{ThreadPool, ThreadPoolBuilder, Yield};
use ubtile_kernels::Parallel;
use ubtile_tiling::Problem;

/// One for each core; none where the system refuses.
static POOL: OnceLock<Option<ThreadPool>> = OnceLock::new();

/// Held while threads are kept awake: by two callers at once, they might wait for each other.
static AWAKE: Mutex<()> = Mutex::new(());

/// Up to so many threads; each takes the next share when it is done with one.
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

    /// Does work that has phases in it on one of the threads. The others stay awake until it is done.
    pub(crate) fn awake<R: Send>(self, work: impl FnOnce() -> R + Send) -> R {
        if self.0.get() == 1 || rayon::current_thread_index().is_some() {
            return work();
        }
        let Some(pool) = POOL.get_or_init(|| ThreadPoolBuilder::new().build().ok()) else { return work() };
        let _one = AWAKE.lock().unwrap_or_else(PoisonError::into_inner);
        let (done, woken) = (&AtomicBool::new(false), &AtomicUsize::new(1));
        pool.scope(|scope| {
            let own = rayon::current_thread_index();
            scope.spawn_broadcast(move |_, context| {
                let other = Some(context.index()) != own && woken.fetch_add(1, Ordering::Relaxed) < self.0.get();
                if other {
                    help_until(|| done.load(Ordering::Acquire));
                }
            });
            let _done = Finally(|| done.store(true, Ordering::Release));
            work()
        })
    }
}

impl Parallel for Threads {
    // A function by itself: what may panic here is not to be found in a kernel's, which are proven to call no panic.
    #[inline(never)]
    fn for_each<I, F>(&self, items: I, work: F)
    where
        I: Iterator + Send,
        I::Item: Send,
        F: Fn(I::Item) + Sync,
    {
        let count = self.0.get().min(items.size_hint().1.unwrap_or(usize::MAX));
        if count < 2 {
            return items.for_each(work);
        }
        let work = &work;
        self.awake(|| {
            if rayon::current_thread_index().is_none() {
                // There is no other thread.
                return items.for_each(work);
            }
            let (items, busy) = (Mutex::new(items), AtomicUsize::new(count));
            let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
            let drain = || {
                let _done = Finally(|| _ = busy.fetch_sub(1, Ordering::Release));
                // `next` has released the lock when `work` begins.
                while let Some(item) = next() {
                    work(item);
                }
            };
            rayon::in_place_scope(|scope| {
                (1..count).for_each(|_| scope.spawn(|_| drain()));
                drain();
                help_until(|| busy.load(Ordering::Acquire) == 0);
            });
        });
    }
}

/// Does what there is to do until something holds, and does not fall asleep.
fn help_until(holds: impl Fn() -> bool) {
    while !holds() {
        if rayon::yield_now() != Some(Yield::Executed) {
            thread::yield_now();
        }
    }
}

/// Calls something when it is dropped, so also behind a panic.
struct Finally<F: Fn()>(F);

impl<F: Fn()> Drop for Finally<F> {
    fn drop(&mut self) {
        self.0();
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    fn threads(count: usize) -> Threads {
        Threads(NonZeroUsize::new(count).unwrap())
    }

    /// How often each of the shares of a phase has run.
    fn runs(threads: Threads, shares: usize) -> Vec<usize> {
        let counts: Vec<_> = (0..shares).map(|_| AtomicUsize::new(0)).collect();
        threads.for_each(counts.iter(), |count| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        counts.into_iter().map(AtomicUsize::into_inner).collect()
    }

    #[test]
    fn every_share_runs_once() {
        for count in 1..5 {
            for shares in 0..9 {
                assert_eq!(runs(threads(count), shares), vec![1; shares]);
            }
        }
    }

    #[test]
    fn every_share_of_all_phases_of_several_callers_runs_once() {
        thread::scope(|scope| {
            for count in 1..5 {
                scope.spawn(move || {
                    let phases = threads(count).awake(|| [0, 1, 2, 9].map(|shares| runs(threads(count), shares)));
                    assert_eq!(phases, [0, 1, 2, 9].map(|shares| vec![1; shares]));
                });
            }
        });
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_threads_serve_the_next_one() {
        for panicking in 0..4 {
            let panics = catch_unwind(|| threads(3).for_each(0..4, |share| assert_ne!(share, panicking)));
            assert!(panics.is_err());
            let panics = catch_unwind(AssertUnwindSafe(|| threads(3).awake(|| panic!("between phases"))));
            assert!(panics.is_err());
            assert_eq!(runs(threads(3), 4), [1; 4]);
        }
    }
}
