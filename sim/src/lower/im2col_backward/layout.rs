//! How a box of sums lies in the UB.

use crate::lower::LowerError;
use crate::lower::shape::{Compute, MOST_STRIDE, PER_BLOCK, blocks, largest};
use crate::lower::substitute::{ROWS, TURNED};

/// Most rows of windows that an instruction works on.
const MOST_ROWS: usize = 240;

/// Bytes of windows that are on their way at the same time: more than a load's latency is times its rate, on every product.
const IN_FLIGHT: usize = 64 << 10;
/// Most slots: each takes a flag.
const MOST_SLOTS: usize = 5;

/// How a box lies in the UB. Its columns are of `phases` kinds by their remainder; `columns` of each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) input: Compute,
    pub(super) output: Compute,
    pub(super) kernel: [usize; 2],
    pub(super) dilation: [usize; 2],
    pub(super) padding: [usize; 2],
    pub(super) stride: [usize; 2],
    /// Whether rows of sums that windows reach one after the other lie side by side: those with the same remainder by the stride.
    pub(super) apart: bool,
    /// Whether rows are stored as one piece.
    pub(super) packed: bool,
    /// Whether transpositions put sums in order that are not, instead of a gather.
    pub(super) turned: bool,
    /// Window positions.
    pub(super) windows: [usize; 2],
    /// Rows and columns of the plane, and columns of a phase.
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) all: usize,
    pub(super) phases: usize,
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Windows of taps that are in the UB at the same time.
    pub(super) slots: u32,
}

impl Layout {
    /// Lanes from the sums of a phase to those of the next one: whole blocks of every type involved.
    pub(super) fn lanes(&self) -> usize {
        self.columns.next_multiple_of(self.input.per_block().max(self.output.per_block()))
    }

    /// Rows of sums from one that a window reaches to the one that the next window does.
    pub(super) fn row_step(&self) -> usize {
        if self.apart { 1 } else { self.stride[0] }
    }

    /// Blocks of f32 between these.
    pub(super) fn row_stride(&self) -> usize {
        self.row_step() * self.phases * self.lanes() / PER_BLOCK
    }

    /// Remainders of rows by the stride.
    pub(super) fn kinds(&self) -> usize {
        self.stride[0].min(self.rows)
    }

    /// Rows that sums have room for.
    pub(super) fn sum_rows(&self) -> usize {
        if self.apart {
            (self.kinds() - 1) * self.window_rows() + self.at_once(self.window_rows())
        } else {
            self.at_once(self.rows)
        }
    }

    /// Rows that are put in order where there are so many: transpositions take sixteen.
    fn at_once(&self, rows: usize) -> usize {
        if self.is_turned() { rows.next_multiple_of(ROWS) } else { rows }
    }

    /// Columns of a box of the output.
    pub(super) fn out_columns(&self) -> usize {
        (self.columns * self.stride[1]).min(self.width)
    }

    /// Rows of windows that reach a box.
    pub(super) fn window_rows(&self) -> usize {
        self.rows.div_ceil(self.stride[0])
    }

    pub(super) fn is_stored_as_summed(&self) -> bool {
        !self.output.is_short() && !self.needs_order()
    }

    /// Whether sums are not in the order of the output.
    pub(super) fn needs_order(&self) -> bool {
        self.phases > 1 || self.packed
    }

    /// Whether transpositions put them in order: of so many lanes as they reach.
    pub(super) fn is_turned(&self) -> bool {
        self.turned && self.phases > 1 && self.phases * self.lanes() <= MOST_STRIDE * PER_BLOCK
    }

    /// Rows whose sums a gather takes at once.
    pub(super) fn gathered_rows(&self) -> usize {
        if self.packed { self.rows } else { 1 }
    }

    pub(super) fn out_pitch(&self) -> usize {
        if self.packed {
            self.width * self.output.size
        } else if self.phases == 1 {
            self.lanes() * self.output.size
        } else {
            blocks(self.out_columns() * self.output.size)
        }
    }

    pub(super) fn order_bytes(&self) -> usize {
        let first = PER_BLOCK * if self.packed { self.width } else { self.phases };
        blocks(4 * (self.gathered_rows() * self.out_columns()).max(first))
    }

    /// Bytes of a box as it is stored.
    pub(super) fn box_bytes(&self) -> usize {
        let rows = match (self.is_turned(), self.apart) {
            (false, _) => self.rows,
            (true, false) => self.at_once(self.rows),
            // Those of a kind, and what lies between them.
            (true, true) => self.at_once(self.window_rows()) * self.stride[0],
        };
        blocks(rows * self.out_pitch())
    }

    /// Bytes of sixteen rows of sums whose lanes are blocks, and of such rows in order in f32.
    pub(super) fn turned_bytes(&self) -> usize {
        self.phases * self.lanes() / PER_BLOCK * TURNED
    }

    pub(super) fn turned_rows_bytes(&self) -> usize {
        if self.output.is_short() { ROWS * self.out_pitch() / self.output.size * 4 } else { 0 }
    }

    pub(super) fn sums_bytes(&self) -> usize {
        self.sum_rows() * self.phases * self.lanes() * 4
    }

    pub(super) fn window_bytes(&self) -> usize {
        self.window_rows() * self.lanes() * self.input.size
    }

    pub(super) fn bytes(&self) -> usize {
        let wide = if self.input.is_short() { self.window_rows() * self.lanes() * 4 } else { 0 };
        let sums = if self.is_stored_as_summed() {
            2 * self.sums_bytes()
        } else {
            let order = if self.is_turned() {
                self.turned_bytes() + self.turned_rows_bytes()
            } else if self.needs_order() {
                self.order_bytes() + self.gathered_bytes()
            } else {
                0
            };
            self.sums_bytes() + 2 * self.box_bytes() + order
        };
        self.slots as usize * self.window_bytes() + wide + sums
    }

    pub(super) fn gathered_bytes(&self) -> usize {
        if self.output.is_short() { blocks(4 * self.gathered_rows() * self.out_columns()) } else { 0 }
    }

    /// The largest box that fits, and that instructions reach: as many rows and columns of a phase as they do are returned.
    pub(super) fn fit(&mut self, budget: usize) -> Result<[usize; 2], LowerError> {
        let least = self.input.per_block().max(self.output.per_block());
        self.turned &= (Self { rows: 1, columns: 1, apart: true, ..*self }).bytes() <= budget;
        // A repeat for each row of windows: the next one is at most 255 blocks further.
        let reach = |step: usize| MOST_STRIDE * PER_BLOCK / (step * self.phases) / least * least;
        self.apart = self.phases > 1 && self.stride[0] > 1 && reach(self.stride[0]) < self.columns;
        let most = reach(self.row_step());
        // Rows that are so far apart are reached one at a time.
        let most_rows = self.stride[0] * if most == 0 { 1 } else { MOST_ROWS };
        let most = if most == 0 { MOST_STRIDE * PER_BLOCK / least * least } else { most };
        self.columns = self.columns.min(most);
        self.rows = self.rows.min(most_rows);
        while self.columns > 1 && (Self { rows: 1, ..*self }).bytes() > budget {
            self.columns = self.columns.div_ceil(2);
        }
        self.packed &= !self.apart && self.columns == self.all;
        let wanted = *self;
        self.rows = largest(self.rows, budget, |rows| Self { rows, ..wanted }.bytes())?;
        // Of small windows more are on their way, where there is room for them.
        let slots = (IN_FLIGHT / self.window_bytes().max(1)).clamp(2, MOST_SLOTS);
        let slots = largest(slots, budget, |slots| Self { slots: slots as u32, ..*self }.bytes())?;
        self.slots = slots as u32;
        Ok([most_rows, most])
    }
}
