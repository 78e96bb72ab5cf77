//! Why a tiling has its key, and what would give it another.

use core::fmt;

/// Most neighbours of a key that are told.
pub(super) const MOST: usize = 8;

/// Another key of the same operator on the same machine, one change away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// The key.
    pub tiling_key: usize,
    /// What gives it.
    pub change: Change,
}

/// A change of the problem or the machine. [`Display`](fmt::Display) says it in a few words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// An attribute, a dtype or a mode takes another value.
    Value {
        /// What.
        name: &'static str,
        /// Its new value.
        to: &'static str,
    },
    /// A size becomes another.
    Size {
        /// What.
        name: &'static str,
        /// Its size now.
        from: usize,
        /// The nearest size that gives the other key.
        to: usize,
    },
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Value { name, to } => write!(f, "{name} {to}"),
            Self::Size { name, from, to } => {
                write!(f, "{name} {to}, {} {}", from.abs_diff(to), if to > from { "more" } else { "less" })
            }
        }
    }
}

/// Of the sizes on the other side of an end of `least..=most`, the nearest to `from`; `least` if there are none between.
pub(super) const fn across(from: usize, [least, most]: [usize; 2]) -> usize {
    let (below, above) = (least.saturating_sub(1), most.saturating_add(1));
    if from < least || most < least {
        least
    } else if from > most {
        most
    } else if below > 0 && from - below <= above - from {
        below
    } else {
        above
    }
}

/// Those of the changes that give another key, by the key that each gives.
pub(super) fn neighbours(
    key: usize,
    changes: impl IntoIterator<Item = (Change, Option<usize>)>,
) -> [Option<Neighbour>; MOST] {
    let mut found = [None; MOST];
    let others = changes.into_iter().filter_map(|(change, other)| {
        let tiling_key = other.filter(|&other| other != key)?;
        Some(Neighbour { tiling_key, change })
    });
    for (slot, neighbour) in found.iter_mut().zip(others) {
        *slot = Some(neighbour);
    }
    found
}

#[cfg(test)]
mod tests {
    #[test]
    fn across_is_nearest() {
        for (least, most, from) in (1..8).flat_map(|l| (0..9).flat_map(move |m| (1..12).map(move |from| (l, m, from))))
        {
            let within = |size: &usize| (least..=most).contains(size);
            let got = super::across(from, [least, most]);
            let away = (1..20usize).filter(|size| within(size) != within(&from)).map(|size| size.abs_diff(from)).min();
            // There may be none to become.
            let away = away.filter(|_| most >= least);
            assert_eq!(got > 0 && within(&got) != within(&from), away.is_some(), "{from} {least}..={most}: {got}");
            assert!(away.is_none_or(|away| got.abs_diff(from) == away), "{from} {least}..={most}: {got}");
        }
    }
}
