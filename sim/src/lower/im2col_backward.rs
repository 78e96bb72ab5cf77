//! Im2colBackward from a native plan.
//!
//! Sums of a box of one plane lie in the UB in f32. Each tap, in the order of the kernel, brings the windows that reach the box; they are
//! loaded with so many zeros in front that they lie as their sums do, so that whole blocks can be added: a sum that began at +0.0 does
//! not change when +0.0 is added. With a stride between columns, sums of columns with the same remainder lie side by side, and a gather
//! puts them in order at the end, or transpositions where there is none. So it does with rows of less than a block, which are stored as
//! one piece: each by itself would take as long as a whole one.

mod abreast;
mod layout;
mod order;

use std::num::NonZeroUsize;

use ubtile_tiling::im2col_backward::Plan;
use ubtile_tiling::{Choice, Problem, Tensor};

use super::builder::{Builder, int};
use super::pieces::{Limits, choice};
use super::ring::Ring;
use super::room::Room;
use super::shape::{BLOCK_BYTES, Compute, LANES, MOST_STRIDE, PER_BLOCK, Run, cast, cast_op, fill, stride};
use super::{LowerError, shares, tensor};
use crate::product::Element;
use crate::program::{
    BinaryOp, BufferId, Burst, Expr, IntOp, Local, Mask, Pipe, Relation, Source, TensorId, Vector, VectorOp,
};

use abreast::Abreast;
use layout::Layout;
use order::Order;

/// The program's parts.
struct Lowering {
    layout: Layout,
    source: TensorId,
    target: TensorId,
    loaded: Ring,
    wide: Option<BufferId>,
    sums: Sums,
}

/// Where sums are, and how they leave.
enum Sums {
    /// As they are stored.
    Stored(Ring),
    /// In an order or type of their own.
    Apart {
        sums: BufferId,
        stored: Ring,
        /// What puts them in order.
        order: Option<Order>,
    },
}

/// The largest stride, dilation and padding: with the bytes that they count, addresses stay in 64 bits.
const MOST_SIZE: usize = i32::MAX.unsigned_abs() as usize;

/// The program.
pub(super) fn native(plan: &Plan, room: Room) -> Result<(Source, Vec<Choice>), LowerError> {
    let problem = plan.problem();
    let [stride, dilation] = [problem.stride, problem.dilation].map(|sizes| sizes.map(NonZeroUsize::get));
    if [stride, dilation, problem.padding].as_flattened().iter().any(|&size| size > MOST_SIZE) {
        return Err(LowerError::NotLowered("strides, dilations and paddings above 2147483647"));
    }
    if let Some(abreast) = Abreast::of(plan, room) {
        return abreast.program(plan, room);
    }
    let all = problem.w.div_ceil(stride[1]);
    let mut layout = Layout {
        input: Compute::of(problem.dtype)?,
        output: Compute::of(problem.out_dtype)?,
        kernel: problem.kernel.map(NonZeroUsize::get),
        dilation,
        padding: problem.padding,
        stride,
        apart: false,
        packed: room.scratch.is_none()
            && room.gathers
            && problem.h > 1
            && problem.w * problem.out_dtype.size() < BLOCK_BYTES,
        turned: !room.gathers && room.transposes,
        windows: problem.columns,
        height: problem.h,
        width: problem.w,
        all,
        phases: stride[1].min(problem.w),
        rows: problem.h.min(room.most.rows),
        // All of them where the last steps are cut short.
        columns: if room.most.columns >= problem.w { all } else { (room.most.columns / stride[1]).max(1) },
        slots: 2,
    };
    let [most_rows, most_columns] = layout.fit(room.local_bytes)?;

    let mut b = Builder::new(plan.block_dim(), room);
    let limits = Limits { all: problem.h, instructions: most_rows, bytes: room.local_bytes };
    b.piece(choice("tile_rows", layout.rows, 1, limits, |rows| Layout { rows, ..layout }.bytes()));
    let limits = Limits { all: problem.w, instructions: most_columns * stride[1], ..limits };
    b.piece(choice("tile_columns", layout.out_columns(), stride[1], limits, |columns| {
        Layout { columns: columns.div_ceil(stride[1]), ..layout }.bytes()
    }));
    let of = Problem::Im2colBackward(*problem);
    let source = tensor(&mut b, &of, Tensor::GradOutput)?;
    let target = tensor(&mut b, &of, Tensor::Out)?;
    let lowering = Lowering::new(&mut b, layout, source, target);
    let rows: Vec<_> = (0..plan.block_dim())
        .map(|share| plan.share_range(0, share))
        .map(|range| range.start / problem.w..range.end / problem.w)
        .collect();
    shares::planes(&mut b, &rows, problem.h, |b, plane, from, to| lowering.plane(b, plane, from, to));
    lowering.end(&mut b);
    Ok(b.finish_in_pieces())
}

impl Lowering {
    fn new(b: &mut Builder, layout: Layout, source: TensorId, target: TensorId) -> Self {
        let loaded =
            Ring::new(b, ("windows", layout.window_bytes(), layout.slots), Some("tile_taps"), &[Pipe::Mte2, Pipe::V]);
        let wide = layout.input.is_short();
        let wide =
            wide.then(|| b.buffer("windows_f32", layout.window_rows() * layout.lanes() * 4, 1, Some("tile_rows")));
        let out = [Pipe::V, Pipe::Mte3];
        let sums = if layout.is_stored_as_summed() {
            Sums::Stored(Ring::new(b, ("sums", layout.sums_bytes(), 2), Some("tile_rows"), &out))
        } else {
            let sums = b.buffer("sums", layout.sums_bytes(), 1, Some("tile_rows"));
            let stored = Ring::new(b, ("box", layout.box_bytes(), 2), Some("tile_rows"), &out);
            let order = Order::new(b, &layout);
            Sums::Apart { sums, stored, order }
        };
        let lowering = Self { layout, source, target, loaded, wide, sums };
        lowering.loaded.begin(b);
        match &lowering.sums {
            Sums::Stored(stored) => stored.begin(b),
            Sums::Apart { stored, order, .. } => {
                stored.begin(b);
                if let Some(order) = order {
                    order.begin(b, &layout);
                }
            }
        }
        lowering
    }

    fn end(&self, b: &mut Builder) {
        self.loaded.end(b);
        match &self.sums {
            Sums::Stored(stored) | Sums::Apart { stored, .. } => stored.end(b),
        }
    }

    fn plane(&self, b: &mut Builder, plane: &Expr, from: &Expr, to: &Expr) {
        let Layout { rows: most, columns: step, all, .. } = self.layout;
        b.repeat("row", (from.clone(), to.clone(), most), Some("tile_rows"), |b, row| {
            let rows = b.min("rows", int(most), to.clone() - row.clone());
            b.repeat("column", (0, int(all), step), Some("tile_columns"), |b, column| {
                let columns = b.min("columns", int(step), Expr::from(int(all)) - column.clone());
                b.tile("box", |b| self.tile(b, plane, [&row, &rows], [&column, &columns]));
            });
        });
    }

    fn tile(&self, b: &mut Builder, plane: &Expr, rows: [&Expr; 2], columns: [&Expr; 2]) {
        let layout = &self.layout;
        let row = int(layout.phases * layout.lanes());
        let all = layout.apart || layout.is_turned();
        let lanes = if all { int(layout.sum_rows()).into() } else { rows[1].clone() } * row;
        if let Sums::Stored(stored) = &self.sums {
            stored.enter(b);
        }
        fill(b, self.sums(), Element::F32, 0.0, lanes.clone());
        self.taps(b, plane, rows, columns);

        let out = match &self.sums {
            Sums::Stored(stored) => stored,
            Sums::Apart { sums, stored, order } => {
                stored.enter(b);
                match order {
                    Some(order) => {
                        let count = self.out_columns(b, columns);
                        order.put(b, layout, (rows[1], &count), (*sums, stored));
                    }
                    None => cast(b, (stored.at(0), layout.output.element), (sums.at(0), Element::F32), lanes),
                }
                stored
            }
        };
        out.pass(b, 0);
        self.store(b, plane, (rows, columns), out);
        out.leave(b);
    }

    fn sums(&self) -> Local {
        match &self.sums {
            Sums::Stored(stored) => stored.at(0),
            Sums::Apart { sums, .. } => sums.at(0),
        }
    }

    /// Adds what all taps bring.
    fn taps(&self, b: &mut Builder, plane: &Expr, [row, rows]: [&Expr; 2], columns: [&Expr; 2]) {
        let Layout { kernel: [kh, kw], dilation: [dh, _], padding: [ph, _], stride: [sh, _], windows: [lh, _], .. } =
            self.layout;
        b.repeat("i", (0, int(kh), 1), Some("tile_taps"), |b, i| {
            // The first row of the box in the rows that windows begin at, and the windows that reach it or a later one.
            let top = row.clone() + (int(ph)) - i.clone() * int(dh);
            let first = b.div("window", top.clone() + (int(sh) - 1), sh);
            let first = b.max("window", 0, first);
            let last = b.div("window_end", top.clone() + rows.clone() + (int(sh) - 1), sh);
            let last = b.min("window_end", int(lh), last);
            b.when(first.clone(), Relation::Lt, last.clone(), |b| {
                let sums = self.sums_row(b, first.clone() * int(sh) - top.clone());
                b.repeat("j", (0, int(kw), 1), Some("tile_taps"), |b, j| {
                    let windows = [&first, &(last.clone() - first.clone()), &sums];
                    self.tap(b, (plane, &i, &j), windows, columns);
                });
            });
        });
    }

    /// Where a row of the box lies in the rows of sums.
    fn sums_row(&self, b: &mut Builder, row: Expr) -> Expr {
        let Layout { apart, stride: [sh, _], .. } = self.layout;
        if !apart {
            return row;
        }
        let kind = b.op("kind", IntOp::Mod, row.clone(), int(sh));
        kind * int(self.layout.window_rows()) + b.div("row_of_kind", row, sh)
    }

    /// Adds what a tap brings in some rows of windows; the first one is that row of the sums.
    fn tap(
        &self,
        b: &mut Builder,
        (plane, i, j): (&Expr, &Expr, &Expr),
        [window, windows, row]: [&Expr; 3],
        [column, columns]: [&Expr; 2],
    ) {
        let layout = self.layout;
        let (Layout { input, phases, .. }, lanes) = (layout, layout.lanes());
        let ([kh, kw], [lh, lw]) = (layout.kernel, layout.windows);
        let (size, sw) = (input.size, layout.stride[1]);
        let offset = j.clone() * int(layout.dilation[1]) - int(layout.padding[1]);
        let phase = b.op("phase", IntOp::Mod, offset.clone(), int(sw));
        let shift = b.div("shift", offset, sw);
        let first = b.max("first", 0, column.clone() - shift.clone());
        let last = b.min("last", int(lw), column.clone() + columns.clone() - shift.clone());
        b.when(first.clone(), Relation::Lt, last.clone(), |b| {
            // Where the stride is wider than the image, some remainders have no column.
            let within = if phases == sw { Expr::from(-1) } else { phase.clone() };
            b.when(within, Relation::Lt, int(phases), |b| {
                let at = first.clone() + shift - column.clone();
                let run = Run::new(b, at * int(size), (last - first.clone()) * int(size));
                let taps = (plane.clone() * int(kh) + i.clone()) * int(kw) + j.clone();
                let from = (taps * int(lh) + window.clone()) * int(lw) + first;
                self.loaded.enter(b);
                let to = self.loaded.at(run.start.clone());
                let from = self.source.at(from * int(size));
                let pitch = (Expr::from(int(lw * size)), input.element);
                run.load(b, to.clone(), from, windows.clone(), lanes * size, pitch);
                self.loaded.pass(b, 0);
                // Start and length in lanes.
                let start = b.div("lane", run.start.clone(), size);
                let count = b.div("lanes", run.whole.clone(), size);
                let offset = (row.clone() * int(phases) + phase) * int(lanes) + start;
                let sums = self.sums().further(offset * 4);
                if lanes <= LANES {
                    self.add(b, [sums, to], (&0.into(), &count), windows);
                } else {
                    b.repeat("lane", (0, count.clone(), LANES), None, |b, lane| {
                        let n = b.min("lanes", int(LANES), count - lane.clone());
                        self.add(b, [sums, to], (&lane, &n), windows);
                    });
                }
                self.loaded.leave(b);
            });
        });
    }

    /// Adds some lanes of some rows of windows, at most a repeat each.
    fn add(&self, b: &mut Builder, [sums, windows]: [Local; 2], (lane, lanes): (&Expr, &Expr), rows: &Expr) {
        let (input, pitch) = (self.layout.input, self.layout.lanes());
        let (sums, windows) = (sums.further(lane.clone() * 4), windows.further(lane.clone() * int(input.size)));
        let wide_stride = stride(pitch / PER_BLOCK);
        let mask = || Mask::First(lanes.clone());
        let from = match self.wide {
            None => windows,
            Some(wide) => {
                let to = wide.at(lane.clone() * 4);
                let cast = Vector::new(cast_op(Element::F32, input.element), [to.clone(), windows]);
                let cast = cast.strides(0, 1, wide_stride).strides(1, 1, stride(pitch / input.per_block()));
                b.vector(cast.masked(rows.clone(), mask()));
                to
            }
        };
        let row_stride = self.layout.row_stride();
        // Where it is more than an instruction takes, there is one row.
        let row_stride = if row_stride > MOST_STRIDE { 0 } else { stride(row_stride) };
        let add = Vector::new(VectorOp::Binary(BinaryOp::Add, Element::F32), [sums.clone(), sums, from]);
        let add = add.strides(0, 1, row_stride).strides(1, 1, row_stride).strides(2, 1, wide_stride);
        b.vector(add.masked(rows.clone(), mask()));
    }

    fn out_columns(&self, b: &mut Builder, [column, columns]: [&Expr; 2]) -> Expr {
        let Layout { stride: [_, sw], width, .. } = self.layout;
        if sw == 1 {
            return columns.clone();
        }
        b.min("width", columns.clone() * int(sw), Expr::from(int(width)) - column.clone() * int(sw))
    }

    fn store(&self, b: &mut Builder, plane: &Expr, ([row, rows], columns): ([&Expr; 2], [&Expr; 2]), out: &Ring) {
        let Layout { stride: [_, sw], width, output, .. } = self.layout;
        let size = output.size;
        let bytes = self.out_columns(b, columns) * int(size);
        let whole = b.round_up("blocks", bytes.clone(), BLOCK_BYTES);
        let at = plane.clone() * int(self.layout.height * width * size) + row.clone() * int(width * size);
        let to = self.target.at(at + columns[0].clone() * int(sw * size));
        if self.layout.packed {
            return b.store(to, out.at(0), Burst::of(rows.clone() * int(width * size)));
        }
        let from_gap = Expr::from(int(self.layout.out_pitch())) - whole;
        let to_gap = Expr::from(int(width * size)) - bytes.clone();
        b.store(to, out.at(0), Burst { blocks: rows.clone(), bytes, from_gap, to_gap });
    }
}
