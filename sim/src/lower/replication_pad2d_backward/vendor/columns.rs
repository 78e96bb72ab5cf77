//! Only left and right are padded: row by row; the scalar unit adds up the ends, which go by way of the workspace.

use ubtile_tiling::Dtype;

use super::Planes;
use crate::lower::builder::{Builder, int};
use crate::lower::ring::Ring;
use crate::program::{
    Burst, Expr, Float, FloatOp, Instruction, Numbers, Pipe, Place, Read, Reg, Role, TensorId, Value,
};

/// Buffers of the ends of a row.
struct Ends {
    /// Elements that are added up.
    loaded: Ring,
    /// The sum, as it goes to the workspace and as it comes back.
    sum: Ring,
    back: Ring,
    workspace: TensorId,
    /// Bytes of it that a core has for an end.
    room: usize,
    /// From MTE3 to MTE2, when the sum is in the workspace, and back, when it may be overwritten.
    staged: [u8; 2],
    total: Reg,
    next: Reg,
}

/// Lowers it; `room` elements hold an end.
pub(super) fn lower(b: &mut Builder, of: &Planes, dtype: Dtype, room: usize) {
    let size = of.compute.size;
    let room_bytes = room * size;
    let elements = [(of.cores * 2 * room) as u64];
    let workspace = b.source().tensor("edges", dtype, &elements, Role::Workspace);
    let field = Some("wCalCount");
    let ends = Ends {
        loaded: Ring::new(b, ("end", room_bytes, 2), field, &[Pipe::Mte2, Pipe::S]),
        sum: Ring::new(b, ("end_sum", size, 1), field, &[Pipe::S, Pipe::Mte3]),
        back: Ring::new(b, ("staged", size, 1), field, &[Pipe::Mte2, Pipe::Mte3]),
        workspace,
        room: room_bytes,
        staged: [b.flag_id(Pipe::Mte3, Pipe::Mte2), b.flag_id(Pipe::Mte2, Pipe::Mte3)],
        total: b.float_register("total"),
        next: b.float_register("next"),
    };
    let step = of.factor.min(of.padded[1]);
    let copied = Ring::new(b, ("copied", step * size, 2), Some("ubFactorElement"), &[Pipe::Mte2, Pipe::Mte3]);
    let rings = [&ends.loaded, &ends.sum, &ends.back, &copied];
    rings.iter().for_each(|ring| ring.begin(b));
    let (width, w) = (of.padded[1], of.size[1]);
    // Rows are counted over all planes, so each is a plane of one row.
    let rows = Planes { padded: [1, width], size: [1, w], ..of.clone() };
    rows.each(b, "row", |b, row| {
        b.tile("row", |b| {
            if w == 1 {
                // All columns: those up to the first one's, and those behind it.
                end(b, &rows, &ends, &row, (&[(0, of.left + 1), (of.left + 1, of.right)], 0));
                return;
            }
            if of.left > 0 {
                end(b, &rows, &ends, &row, (&[(0, of.left + 1)], 0));
            }
            if of.right > 0 {
                end(b, &rows, &ends, &row, (&[(width - 1 - of.right, of.right + 1)], w - 1));
            }
            let (from, to) = (usize::from(of.left > 0), w - usize::from(of.right > 0));
            b.repeat("column", (int(from), int(to), step), Some("ubFactorElement"), |b, column| {
                let columns = b.min("columns", int(step), Expr::from(int(to)) - column.clone());
                let burst = Burst::of(columns * int(size));
                copied.enter(b);
                b.load(copied.at(0), rows.from(&row, 0, column.clone() + int(of.left)), burst.clone(), None);
                copied.pass(b, 0);
                b.store(rows.to(&row, 0, column), copied.at(0), burst);
                copied.leave(b);
            });
        });
    });
    rings.iter().for_each(|ring| ring.end(b));
}

/// Runs of columns, each the first one and how many, add up to one column.
fn end(b: &mut Builder, of: &Planes, ends: &Ends, row: &Expr, (runs, to): (&[(usize, usize)], usize)) {
    let (size, element) = (of.compute.size, of.compute.element);
    let mut first = true;
    for (column, count) in runs.iter().filter(|(_, count)| *count > 0) {
        ends.loaded.enter(b);
        b.load(ends.loaded.at(0), of.from(row, 0, int(*column)), Burst::of(int(count * size)), None);
        ends.loaded.pass(b, 0);
        let read = |b: &mut Builder, into: Reg, at: Expr| {
            let (from, assume) = (Place::Local(ends.loaded.at(at * int(size))), Numbers::one(0).into());
            b.emit(Instruction::Read(Read { into, element, from, assume: Some(assume) }));
        };
        let from = usize::from(first);
        if first {
            read(b, ends.total, 0.into());
            first = false;
        }
        b.repeat("k", (int(from), int(*count), 1), Some("wCalCount"), |b, k| {
            read(b, ends.next, k);
            let sum = Value::FloatOp(FloatOp::Add, Float::Reg(ends.total), Float::Reg(ends.next));
            b.emit(Instruction::Let(ends.total, sum));
        });
        ends.loaded.leave(b);
    }
    ends.sum.enter(b);
    b.write(ends.sum.at(0), element, Float::Reg(ends.total));
    ends.sum.pass(b, 0);
    let burst = Burst::of(int(size));
    let cores = (0..of.cores).map(|core| int(core * 2 * ends.room)).collect();
    let edge = if to == 0 { 0 } else { int(ends.room) };
    let own = b.per_core("edge", cores) + edge;
    b.store(ends.workspace.at(own.clone()), ends.sum.at(0), burst.clone());
    ends.sum.leave(b);
    b.after(Pipe::Mte3, Pipe::Mte2, ends.staged[0]);
    ends.back.enter(b);
    b.load(ends.back.at(0), ends.workspace.at(own), burst.clone(), None);
    ends.back.pass(b, 0);
    b.store(of.to(row, 0, int(to)), ends.back.at(0), burst);
    ends.back.leave(b);
    b.after(Pipe::Mte2, Pipe::Mte3, ends.staged[1]);
}
