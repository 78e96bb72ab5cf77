//! The kernel rows that reach some rows of cells.

use ubtile_tiling::im2col_backward::Geometry;

use super::super::TAPS;
use super::super::kernel_rows::KernelRows;
use crate::simd::{Isa, prefetch_run};

/// Some rows of a plane of one rest, and the kernel rows that reach them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Block {
    /// The first of the rows and how many.
    rows: [usize; 2],
    reaching: [Reaching; TAPS],
    count: usize,
    /// Windows of the next plane that are asked for meanwhile: the first one, and how many.
    later: [usize; 2],
}

/// A kernel row that reaches some of the rows. There are many blocks, so it is small.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reaching {
    /// Where cell 0 of the first row would find its window of the first tap, counted from the first window of the plane; wraps.
    pub(super) at: usize,
    /// The rows that have one, counted from the first.
    pub(super) from: u16,
    pub(super) to: u16,
    /// Whether all have.
    pub(super) reaches_all: bool,
}

/// Windows that are asked for, some with each tap: all at once, processors would wait for room for so many.
#[derive(Clone, Copy, Debug)]
pub(super) struct Later {
    at: usize,
    each: usize,
}

impl Later {
    /// Asks for the next ones.
    #[inline(always)]
    pub(super) fn ask<S: Isa, T>(&mut self, isa: S, data: &[T]) {
        prefetch_run(isa, isa.later(), data, self.at, self.each);
        self.at = self.at.wrapping_add(self.each);
    }
}

impl Block {
    /// Finds the kernel rows that reach `count` rows of the rest of row `y`, from that on; nothing where it has found them before.
    #[inline(always)]
    pub(super) fn find(&mut self, kernel_rows: &KernelRows, g: &Geometry, [y, count]: [usize; 2]) {
        if self.rows == [y, count] {
            return;
        }
        (self.rows, self.count) = ([y, count], 0);
        let first = y / g.stride[0];
        let end = first.wrapping_add(count);
        for row in kernel_rows.rows() {
            let (from, to) = (row.from.max(first), row.to.min(end));
            let Some(reaching) = self.reaching.get_mut(self.count).filter(|_| from < to) else { continue };
            let at = first.wrapping_mul(g.columns[1]).wrapping_add(row.at);
            let reaches_all = to.wrapping_sub(from) == count;
            // As few as cells fit the vectors.
            let [from, to] = [from, to].map(|row| row.wrapping_sub(first) as u16);
            *reaching = Reaching { at, from, to, reaches_all };
            self.count = self.count.wrapping_add(1);
        }
    }

    /// Sees to it that so many windows from `at` on are asked for meanwhile; by each class again, as to tell them apart takes longer.
    #[inline(always)]
    pub(super) fn ask(&mut self, at: usize, count: usize) {
        self.later = [at, count];
    }

    /// What is asked for meanwhile, by a class of so many taps.
    #[inline(always)]
    pub(super) fn later(&self, taps: usize) -> Later {
        let [at, count] = self.later;
        let each = count.checked_div(self.count.wrapping_mul(taps)).unwrap_or(0);
        Later { at, each: if count == 0 { 0 } else { each.wrapping_add(1) } }
    }

    pub(super) fn reaching(&self) -> &[Reaching] {
        self.reaching.get(..self.count).unwrap_or(&[])
    }
}
