//! The sizes of a plan's tiles: why they are what they are, and other ones that a caller asks for.

use super::{Plan, Size};
use crate::plan::shares::largest;
use crate::plan::{Bound, Choice, Larger, Price};
use crate::{Operator, PlanError};

impl Plan {
    /// The same plan with a tile of another size, `tile_rows` or `tile_columns`; the other one shrinks if it must. The taps of a
    /// tile follow from the rest.
    ///
    /// # Errors
    /// [`PlanError::Tile`] if it does not fit, [`PlanError::NoTile`] for another name.
    pub fn with_tile(mut self, name: &str, value: usize) -> Result<Self, PlanError> {
        const NAMES: [&str; 2] = ["tile_rows", "tile_columns"];
        let [of_rows, of_columns] = NAMES;
        let (old, budget) = (self.size, self.common.target.local_bytes);
        let bytes = |rows, columns| self.bytes(Size { rows, columns, ..old });
        let (rows, columns) = if name == of_rows {
            let rows = self.common.wanted_tile(of_rows, value, self.problem.h, |n| bytes(n, 1))?;
            (rows, largest(old.columns, budget, |n| bytes(rows, n)).unwrap_or(1))
        } else if name == of_columns {
            let columns = self.common.wanted_tile(of_columns, value, self.problem.w, |n| bytes(1, n))?;
            (largest(old.rows, budget, |n| bytes(n, columns)).unwrap_or(1), columns)
        } else {
            return Err(PlanError::NoTile { operator: Operator::Im2colBackward, names: &NAMES });
        };
        self.size = Size { rows, columns, ..old };
        Ok(self)
    }

    /// Sizes of its largest tile, by name.
    #[must_use]
    pub const fn tile_sizes(&self) -> [(&'static str, usize); 3] {
        let Size { rows, columns, taps: [ti, tj] } = self.size;
        [("tile_rows", rows), ("tile_columns", columns), ("tile_taps", ti.saturating_mul(tj))]
    }

    /// Why it is what it is.
    pub fn choices(&self) -> impl Iterator<Item = Choice> + use<> {
        let (size, common) = (self.size, &self.common);
        let [rows, columns, taps] = self.tile_sizes();
        let [kh, kw] = self.cut_taps();
        // A part of a kernel row, or whole rows of it.
        let of = |n: usize| if n <= kw { [1, n] } else { [n.div_ceil(kw.max(1)), kw] };
        let bytes = |n| self.bytes(Size { taps: of(n), ..size });
        let taps = common.tile_choice(taps, kh.saturating_mul(kw), bytes);
        let more = taps.value.saturating_add(if taps.value < kw { 1 } else { kw });
        // A part of the kernel may need sums apart from the output, and more room for them than its windows take less.
        let most = taps.value.saturating_sub(if size.taps[0] > 1 { kw } else { 1 });
        let less = largest(most, common.target.local_bytes, bytes);
        let less = less.map(|n| if n > kw { n.saturating_sub(n.checked_rem(kw).unwrap_or(0)) } else { n });
        let needs = if taps.bound == Bound::Work { more } else { taps.larger.needs };
        let larger = Larger { value: more, needs, ..taps.larger };
        let taps = Choice { alternative: less, larger, ..taps };
        [
            common.block_dim_choice(&self.units(), self.problem.early_success().is_some()),
            common.tile_choice(rows, self.problem.h, |rows| self.bytes(Size { rows, ..size })),
            common.tile_choice(columns, self.problem.w, |columns| self.bytes(Size { columns, ..size })),
            taps,
        ]
        .into_iter()
    }

    /// What a workspace limit costs: a `grad_output` whose columns lie far apart is read as it is.
    pub fn prices(&self) -> impl Iterator<Item = Price> + use<> {
        self.copies.price().into_iter()
    }
}
