//! A value behind a lock that threads can wait at for it to change.
//!
//! It is made of POSIX threads and not of the standard library's locks so that ThreadSanitizer sees the order that it makes:
//! clients are run under sanitizers while this library is not instrumented, and they intercept POSIX calls, not futexes.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use libc::{clockid_t, pthread_cond_t, pthread_mutex_t, timespec};

unsafe extern "C" {
    /// Of POSIX.1-2024, which the bindings lack: a wait by a clock that nobody sets.
    fn pthread_cond_clockwait(
        changed: *mut pthread_cond_t,
        mutex: *mut pthread_mutex_t,
        clock: clockid_t,
        until: *const timespec,
    ) -> i32;
}

/// The value, its lock and the signal that it has changed. It must not move while it is locked, which its borrow ensures.
pub(crate) struct Monitor<T> {
    mutex: UnsafeCell<pthread_mutex_t>,
    changed: UnsafeCell<pthread_cond_t>,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached through a `Guard` alone, which one thread has at a time; so it only moves between threads.
unsafe impl<T: Send> Sync for Monitor<T> {}
// SAFETY: a monitor that can be moved is not locked, and an unlocked mutex and a signal without waiters are plain data.
unsafe impl<T: Send> Send for Monitor<T> {}

impl<T> Monitor<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self {
            mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
            changed: UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER),
            value: UnsafeCell::new(value),
        }
    }

    /// Waits for the lock. A thread must not lock twice.
    pub(crate) fn lock(&self) -> Guard<'_, T> {
        // SAFETY: the mutex is initialised and lives as long as `self`.
        unsafe { libc::pthread_mutex_lock(self.mutex.get()) };
        Guard { monitor: self }
    }
}

impl<T> Drop for Monitor<T> {
    fn drop(&mut self) {
        // SAFETY: nobody else can have a borrow, so neither a lock nor a waiter is left.
        unsafe {
            libc::pthread_cond_destroy(self.changed.get());
            libc::pthread_mutex_destroy(self.mutex.get());
        }
    }
}

/// The locked value; unlocks when it goes.
pub(crate) struct Guard<'a, T> {
    monitor: &'a Monitor<T>,
}

impl<T> Guard<'_, T> {
    /// Wakes all threads that wait.
    pub(crate) fn notify(&self) {
        // SAFETY: the signal is initialised and lives as long as the monitor.
        unsafe { libc::pthread_cond_broadcast(self.monitor.changed.get()) };
    }

    /// Unlocks until woken, or for `most` if that is less. Whoever calls looks again at what it waits for.
    pub(crate) fn wait(&mut self, most: Option<Duration>) {
        let (changed, mutex) = (self.monitor.changed.get(), self.monitor.mutex.get());
        match most.map(from_now) {
            // SAFETY: both are initialised, live as long as the monitor, and this thread holds the lock.
            None => unsafe { libc::pthread_cond_wait(changed, mutex) },
            // SAFETY: as above; `until` outlives the call.
            Some(until) => unsafe { pthread_cond_clockwait(changed, mutex, libc::CLOCK_MONOTONIC, &raw const until) },
        };
    }
}

/// What the clock will show.
fn from_now(wait: Duration) -> timespec {
    const SECOND: libc::c_long = 1_000_000_000;
    // A year is for ever, and no overflow.
    let wait = wait.min(Duration::from_secs(365 * 24 * 3600));
    let mut now = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` outlives the call, and every system has this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    let nanoseconds = now.tv_nsec + libc::c_long::from(wait.subsec_nanos());
    let seconds = now.tv_sec + wait.as_secs() as libc::time_t + nanoseconds / SECOND;
    timespec { tv_sec: seconds, tv_nsec: nanoseconds % SECOND }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: this thread holds the lock until the guard goes.
        unsafe { &*self.monitor.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this thread holds the lock, and the guard is borrowed mutably.
        unsafe { &mut *self.monitor.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        // SAFETY: this thread holds the lock.
        unsafe { libc::pthread_mutex_unlock(self.monitor.mutex.get()) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;
    use std::time::Instant;

    use super::*;

    #[test]
    fn counts_of_many_threads_add_up() {
        let count = Arc::new(Monitor::new(0));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let count = Arc::clone(&count);
                thread::spawn(move || (0..1000).for_each(|_| *count.lock() += 1))
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(*count.lock(), 4000);
    }

    #[test]
    fn waits_end_by_signal_or_by_time() {
        let gate = Arc::new(Monitor::new(false));
        let opener = {
            let gate = Arc::clone(&gate);
            thread::spawn(move || {
                let mut open = gate.lock();
                *open = true;
                open.notify();
            })
        };
        let mut open = gate.lock();
        while !*open {
            open.wait(None);
        }
        let start = Instant::now();
        open.wait(Some(Duration::from_millis(20)));
        assert!(start.elapsed() >= Duration::from_millis(19));
        drop(open);
        opener.join().unwrap();
    }
}
