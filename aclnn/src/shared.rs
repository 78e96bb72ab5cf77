//! Shares of a value, the last of which ends it.

use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::Arc;

use crate::monitor::Monitor;

/// Taken while a share is given up.
static GATE: Monitor<()> = Monitor::new(());

/// An [`Arc`] of which sanitizers see that all other shares are gone before the value is ended: they see locks of POSIX threads,
/// not the counter of an `Arc` in a library that is not instrumented.
#[derive(Debug)]
pub(crate) struct Shared<T>(ManuallyDrop<Arc<T>>);

impl<T> Shared<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(ManuallyDrop::new(Arc::new(value)))
    }
}

impl<T> From<T> for Shared<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(ManuallyDrop::new(Arc::clone(&self.0)))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        let gate = GATE.lock();
        // SAFETY: the field is not used again.
        let last = Arc::into_inner(unsafe { ManuallyDrop::take(&mut self.0) });
        drop(gate);
        // Behind the gate, since the value may hold shares itself.
        drop(last);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn a_value_ends_once_with_its_last_share() {
        static ENDED: AtomicUsize = AtomicUsize::new(0);
        struct Counted;
        impl Drop for Counted {
            fn drop(&mut self) {
                ENDED.fetch_add(1, Ordering::Relaxed);
            }
        }
        let nested = Shared::new(Shared::new(Counted));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let mine = nested.clone();
                thread::spawn(move || drop(mine))
            })
            .collect();
        assert_eq!(ENDED.load(Ordering::Relaxed), 0);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        drop(nested);
        assert_eq!(ENDED.load(Ordering::Relaxed), 1);
    }
}
