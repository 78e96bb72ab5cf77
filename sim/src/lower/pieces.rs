//! How large the pieces are in which a native program streams its work through the UB.

use ubtile_tiling::{Bound, Choice, Larger};

/// What keeps pieces of a name from being any larger.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// All that there is.
    pub(super) all: usize,
    /// What instructions take, or beyond which more of it saves nothing.
    pub(super) instructions: usize,
    /// Bytes of the UB.
    pub(super) bytes: usize,
}

/// Why pieces are of such a size: sizes are multiples of `step`, and `bytes` says what pieces take of the UB, all other sizes as they are.
/// The next smaller size is what another program has.
pub(super) fn choice(
    name: &'static str,
    size: usize,
    step: usize,
    limits: Limits,
    bytes: impl Fn(usize) -> usize,
) -> Choice {
    let Limits { all, instructions, bytes: budget } = limits;
    let value = size.min(all);
    let next = value / step * step + step;
    let (bound, limit, used, needs) = if value == all {
        (Bound::Work, all, value, next)
    } else if next > instructions {
        (Bound::Instructions, instructions, value, next)
    } else if bytes(next) <= budget {
        // Larger ones would fit, and were found to save nothing.
        (Bound::Instructions, value, value, next)
    } else {
        (Bound::LocalBytes, budget, bytes(size), bytes(next))
    };
    Choice { name, value, bound, limit, used, alternative: None, larger: Larger { value: next, bound, limit, needs } }
}

/// The most in steps: one at least.
pub(super) const fn whole_steps(most: usize, step: usize) -> usize {
    let steps = most / step;
    if steps == 0 { step } else { steps * step }
}

/// The most that a caller lets pieces have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Most {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) points: usize,
    pub(super) elements: usize,
    pub(super) cells: usize,
    /// Of the grid sampler's `input_grad`.
    pub(super) input_points: usize,
    pub(super) input_rows: usize,
    pub(super) input_columns: usize,
}

impl Most {
    /// Whatever fits.
    pub(super) const ALL: Self = Self {
        rows: usize::MAX,
        columns: usize::MAX,
        points: usize::MAX,
        elements: usize::MAX,
        cells: usize::MAX,
        input_points: usize::MAX,
        input_rows: usize::MAX,
        input_columns: usize::MAX,
    };

    /// What a caller asks for, by name; other names mean nothing.
    pub(super) fn of<'a>(sizes: impl Iterator<Item = (&'a str, usize)>) -> Self {
        let mut most = Self::ALL;
        for (name, size) in sizes {
            if let Some(most) = most.named(name) {
                *most = size.max(1);
            }
        }
        most
    }

    /// Whether a size has such a name.
    pub(super) fn can_have(mut self, name: &str) -> bool {
        self.named(name).is_some()
    }

    fn named(&mut self, name: &str) -> Option<&mut usize> {
        match name {
            "tile_rows" => Some(&mut self.rows),
            "tile_columns" => Some(&mut self.columns),
            "tile_points" => Some(&mut self.points),
            "tile_elements" => Some(&mut self.elements),
            "tile_cells" => Some(&mut self.cells),
            "tile_input_points" => Some(&mut self.input_points),
            "tile_input_rows" => Some(&mut self.input_rows),
            "tile_input_columns" => Some(&mut self.input_columns),
            _ => None,
        }
    }
}
