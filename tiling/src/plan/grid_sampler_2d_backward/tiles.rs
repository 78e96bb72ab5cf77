//! The tiles of a share, one after the other.

use core::iter::FusedIterator;
use core::ops::Range;

use super::{CHANNEL_BLOCK, Plan, Tile};
use crate::plan::shares::{at_least_1, ceil_div};

/// Walks blocks of channels, counted over all images, and runs of points.
#[derive(Clone, Debug)]
pub(super) struct Tiles {
    plan: Plan,
    /// Blocks that are left.
    blocks: Range<usize>,
    /// Rows of `input_grad` that the share makes.
    rows: Range<usize>,
    /// Points whose `grid_grad` it makes.
    own: Range<usize>,
    /// Points that it visits: also those of other shares where they reach its rows.
    visited: Range<usize>,
    /// The next of them.
    point: usize,
}

impl Tiles {
    /// The tiles of blocks of channels, of the rows and of the points that belong to a share.
    pub(super) fn new(plan: Plan, blocks: Range<usize>, rows: Range<usize>, own: Range<usize>) -> Self {
        let visited = if plan.problem.want_input_grad { 0..plan.points() } else { own.clone() };
        Self { plan, blocks, rows, own, point: visited.start, visited }
    }
}

impl Iterator for Tiles {
    type Item = Tile;

    fn next(&mut self) -> Option<Tile> {
        if self.blocks.is_empty() || self.visited.is_empty() {
            return None;
        }
        let (plan, from, makes) = (&self.plan, self.point, self.own.contains(&self.point));
        // A tile's points are all the share's own, or none.
        let run_end = if makes {
            self.own.end
        } else if from < self.own.start {
            self.own.start
        } else {
            self.visited.end
        };
        let to = from.saturating_add(plan.tile_points.max(1)).min(run_end);
        let (block, per_image) = (self.blocks.start, plan.blocks());
        let first = (block % per_image).saturating_mul(CHANNEL_BLOCK.get());
        let tile = Tile {
            image: block / per_image,
            channels: [first, first.saturating_add(CHANNEL_BLOCK.get()).min(plan.problem.c)],
            points: [from, to],
            rows: [self.rows.start, self.rows.end],
            makes_grid_grad: makes && plan.problem.want_grid_grad,
            first_points: from == 0,
            last_points: to == plan.points(),
            local_bytes: plan.tile_bytes(to.saturating_sub(from)).unwrap_or(usize::MAX),
        };
        self.point = to;
        if to >= self.visited.end {
            (self.point, self.blocks.start) = (self.visited.start, block.saturating_add(1));
        }
        Some(tile)
    }

    /// Without a look at those before.
    fn nth(&mut self, number: usize) -> Option<Tile> {
        let step = at_least_1(self.plan.tile_points);
        // Points that are the share's own, and those in front of them and behind them.
        let runs = [self.visited.start..self.own.start, self.own.clone(), self.own.end..self.visited.end];
        let tiles = |points: &Range<usize>| ceil_div(points.len(), step);
        // Counted from the first tile of the block.
        let mut number = number;
        for run in &runs {
            let done = run.start..self.point.clamp(run.start, run.end.max(run.start));
            number = number.saturating_add(tiles(&done));
        }
        let each = at_least_1(runs.iter().map(tiles).fold(0, usize::saturating_add));
        self.blocks.start = self.blocks.start.saturating_add(number / each).min(self.blocks.end);
        let mut rest = number % each;
        for run in runs {
            let count = tiles(&run);
            if rest < count {
                self.point = run.start.saturating_add(rest.saturating_mul(step.get()));
                break;
            }
            rest = rest.saturating_sub(count);
        }
        self.next()
    }
}

impl FusedIterator for Tiles {}
