//! Flags of a core: whether they are set once, and waited for.

use std::collections::BTreeMap;

use crate::program::FlagAt;

use super::clock::{Clock, Now};
use super::finding::Site;

/// A flag.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// What had happened when it was set.
    set: Clock,
    /// Who set it last, while nobody has waited.
    site: Option<Site>,
    /// The step that waited last.
    waited: u32,
}

/// The flags of a core.
#[derive(Default)]
pub(super) struct Flags(BTreeMap<FlagAt, State>);

impl Flags {
    /// Notes that a flag is set; whether the last wait for it is known to be over.
    pub(super) fn set(&mut self, flag: FlagAt, now: &Now, site: Site) -> bool {
        let state = self.0.entry(flag).or_default();
        let once = state.site.is_none() && state.waited <= now.clock.of(flag.to);
        let mut set = now.clock;
        set.set(flag.from, now.index);
        (state.set, state.site) = (set, Some(site));
        once
    }

    /// Notes that a wait for a flag is over; what had happened when it was set.
    pub(super) fn wait(&mut self, flag: FlagAt, now: &Now) -> Clock {
        let state = self.0.entry(flag).or_default();
        state.site = None;
        state.waited = now.index;
        state.set
    }

    /// Those that are set.
    pub(super) fn left(&self) -> impl Iterator<Item = (FlagAt, Site)> {
        self.0.iter().filter_map(|(flag, state)| Some((*flag, state.site?)))
    }
}
