//! Flags that are set, and the waits that take them.

use std::collections::{BTreeMap, VecDeque};

use crate::program::FlagAt;

/// Flags of a core that are set and that nobody has waited for, each with what is known of its setting.
#[derive(Debug)]
pub(super) struct Pairs<T>(BTreeMap<FlagAt, VecDeque<T>>);

impl<T> Default for Pairs<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> Pairs<T> {
    /// A flag is set.
    pub(super) fn set(&mut self, flag: FlagAt, what: T) {
        self.0.entry(flag).or_default().push_back(what);
    }

    /// A wait takes it.
    pub(super) fn wait(&mut self, flag: FlagAt) -> Option<T> {
        self.0.get_mut(&flag)?.pop_front()
    }
}
