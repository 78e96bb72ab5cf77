//! Handles: numbers that stand for objects, never addresses, so that a destroyed or invented one is an error and no crash.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::failure::{Failure, Outcome};
use crate::monitor::Monitor;
use crate::shared::Shared;

/// The number of the next handle. No number is given twice.
static NEXT: AtomicUsize = AtomicUsize::new(1);

/// In a handle this stands where no address of a 64-bit process has bits.
const MARK: usize = 0x5542 << (usize::BITS - 16);

/// The living objects of one kind.
pub(crate) struct Registry<T> {
    kind: &'static str,
    objects: Monitor<BTreeMap<usize, Shared<T>>>,
}

impl<T> Registry<T> {
    /// `kind` is the vendor's name of the type.
    pub(crate) const fn new(kind: &'static str) -> Self {
        Self { kind, objects: Monitor::new(BTreeMap::new()) }
    }

    /// Gives an object a handle.
    pub(crate) fn insert(&self, object: impl Into<Shared<T>>) -> usize {
        let handle = MARK | NEXT.fetch_add(1, Ordering::Relaxed) << 4;
        self.objects.lock().insert(handle, object.into());
        handle
    }

    /// The object of a handle; `null` and `code` are the statuses for no handle and for one that is not alive.
    pub(crate) fn get(&self, name: &str, handle: usize, null: i32, code: i32) -> Outcome<Shared<T>> {
        if handle == 0 {
            return Err(Failure::new(null, format!("{name} is null")));
        }
        self.objects.lock().get(&handle).cloned().ok_or_else(|| self.dead(name, handle, code))
    }

    /// Takes the object from its handle, which is dead then.
    pub(crate) fn remove(&self, name: &str, handle: usize, code: i32) -> Outcome<Shared<T>> {
        self.objects.lock().remove(&handle).ok_or_else(|| self.dead(name, handle, code))
    }

    /// All objects of which `choose` says so.
    pub(crate) fn all(&self, choose: impl Fn(&T) -> bool) -> Vec<Shared<T>> {
        self.objects.lock().values().filter(|object| choose(object)).cloned().collect()
    }

    /// Takes all objects of which `choose` says so.
    pub(crate) fn remove_where(&self, choose: impl Fn(&T) -> bool) -> Vec<Shared<T>> {
        self.objects.lock().extract_if(.., |_, object| choose(object)).map(|(_, object)| object).collect()
    }

    fn dead(&self, name: &str, handle: usize, code: i32) -> Failure {
        let known = handle & MARK == MARK && handle < MARK | NEXT.load(Ordering::Relaxed) << 4;
        let kind = self.kind;
        let what = if known {
            format!("no living {kind}; it was destroyed or used up, or is a handle of another kind")
        } else {
            format!("no {kind}")
        };
        Failure::new(code, format!("{name} is {handle:#x}: {what}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_die_and_do_not_return() {
        static NUMBERS: Registry<u32> = Registry::new("aclNumber");
        let (a, b) = (NUMBERS.insert(1), NUMBERS.insert(2));
        assert_ne!(a, b);
        assert_eq!(*NUMBERS.get("x", a, 1, 2).unwrap(), 1);
        assert_eq!(*NUMBERS.remove("x", a, 2).unwrap(), 1);
        assert_eq!(NUMBERS.get("x", a, 1, 2).unwrap_err().code, 2);
        assert_eq!(NUMBERS.get("x", 0, 1, 2).unwrap_err().code, 1);
        assert_eq!(NUMBERS.get("x", 4096, 1, 2).unwrap_err().message, "x is 0x1000: no aclNumber");
        assert!(!NUMBERS.remove_where(|&n| n == 2).is_empty());
        assert!(NUMBERS.remove("x", b, 2).is_err());
    }
}
