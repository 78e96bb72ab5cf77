//! Shares on threads of the operating system, which wait for the next phase and the next call: to start or to wake one takes longer
//! than many a phase.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use rayon::{ThreadPool, ThreadPoolBuilder, Yield};
use scopeguard::defer;
use ubtile_kernels::Parallel;
use ubtile_tiling::{Problem, TilingPlan};

/// How many threads work on a problem.
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

    /// As many of them as have a share in some phase of a plan.
    pub(crate) fn sharing(self, plan: &TilingPlan) -> Self {
        Self(self.0.min(NonZeroUsize::new(plan.block_dim()).unwrap_or(NonZeroUsize::MIN)))
    }

    /// Does work with a team of so many threads, but no more than this machine offers. None of them sleeps before it is done.
    pub(crate) fn awake<R>(self, work: impl FnOnce(&Team) -> R) -> R {
        let others = self.0.min(Self::available().0).get().saturating_sub(1);
        let pool = (others > 0).then(|| ThreadPoolBuilder::new().num_threads(others).build().ok());
        // Where the system refuses threads, the caller's does all the work.
        let team = Team { others: pool.flatten() };
        let Some(pool) = &team.others else { return work(&team) };
        let done = &AtomicBool::new(false);
        pool.in_place_scope(|scope| {
            scope.spawn_broadcast(move |_, _| help_until(|| done.load(Ordering::Acquire)));
            defer!(done.store(true, Ordering::Release));
            work(&team)
        })
    }
}

/// The caller's thread and others, if any; each takes the next share when it is done with one.
#[derive(Debug)]
pub(crate) struct Team {
    others: Option<ThreadPool>,
}

impl Team {
    /// How many threads there are.
    pub(crate) fn threads(&self) -> usize {
        1 + self.others.as_ref().map_or(0, ThreadPool::current_num_threads)
    }
}

impl Parallel for Team {
    // A function by itself: what may panic here is not to be found in a kernel's, which are proven to call no panic.
    #[inline(never)]
    fn for_each<I, F>(&self, items: I, work: F)
    where
        I: Iterator + Send,
        I::Item: Send,
        F: Fn(I::Item) + Sync,
    {
        let Some(pool) = &self.others else { return items.for_each(work) };
        let others =
            items.size_hint().1.map_or(usize::MAX, |most| most.saturating_sub(1)).min(pool.current_num_threads());
        let (items, busy) = (Mutex::new(items), AtomicUsize::new(others));
        let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
        let drain = || {
            // `next` has released the lock when `work` begins.
            while let Some(item) = next() {
                work(item);
            }
        };
        pool.in_place_scope(|scope| {
            for _ in 0..others {
                scope.spawn(|_| {
                    defer!(_ = busy.fetch_sub(1, Ordering::Release));
                    drain();
                });
            }
            drain();
            help_until(|| busy.load(Ordering::Acquire) == 0);
        });
    }
}

/// Waits until something holds and does not fall asleep. A thread of a pool does meanwhile what that has to do.
fn help_until(holds: impl Fn() -> bool) {
    while !holds() {
        if rayon::yield_now() != Some(Yield::Executed) {
            thread::yield_now();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    /// How often each of the shares of a phase has run.
    fn runs(team: &Team, shares: usize) -> Vec<usize> {
        let counts: Vec<_> = (0..shares).map(|_| AtomicUsize::new(0)).collect();
        team.for_each(counts.iter(), |count| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        counts.into_iter().map(AtomicUsize::into_inner).collect()
    }

    #[test]
    fn every_share_of_every_phase_runs_once() {
        for threads in 1..5 {
            let phases = [0, 1, 2, 3, 8, 1, 0];
            let done =
                Threads(NonZeroUsize::new(threads).unwrap()).awake(|team| phases.map(|shares| runs(team, shares)));
            assert_eq!(done, phases.map(|shares| vec![1; shares]));
        }
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_team_goes_on() {
        Threads::available().awake(|team| {
            for panicking in 0..4 {
                let shares = AssertUnwindSafe(|| team.for_each(0..4, |share| assert_ne!(share, panicking)));
                assert!(catch_unwind(shares).is_err());
                assert_eq!(runs(team, 4), [1; 4]);
            }
        });
        assert!(catch_unwind(|| Threads::available().awake(|_| panic!("between phases"))).is_err());
    }
}
