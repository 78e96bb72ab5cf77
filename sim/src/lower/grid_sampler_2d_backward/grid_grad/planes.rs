//! Pixels around points, gathered plane by plane: planes as a whole, or in slices where the UB does not hold one.

use ubtile_tiling::grid_sampler_2d_backward::Problem;

use super::Around;
use super::sizes::{FRONT, Sizes};
use crate::lower::builder::{Builder, int};
use crate::lower::grid_sampler_2d_backward::touched::Touched;
use crate::lower::ring::Ring;
use crate::lower::shape::{BLOCK_BYTES, binary, cast, fill, scalar};
use crate::product::Element;
use crate::program::{BinaryOp, BufferId, Burst, Expr, Local, ScalarOp, TensorId, Vector, VectorOp};

/// Where a plane of the input, or a slice of it, lies in the UB.
pub(super) struct Planes {
    pub(super) sizes: Sizes,
    pub(super) input: TensorId,
    /// Columns of the image.
    pub(super) width: usize,
    pub(super) ring: Ring,
    /// The plane in f32, of short types.
    pub(super) table: Option<BufferId>,
    /// Where the UB does not hold a plane.
    pub(super) slices: Option<Slices>,
}

/// What slices need beside a table.
pub(super) struct Slices {
    touched: Touched,
    /// Places of pixels in the slice, and those pixels.
    within: BufferId,
    part: BufferId,
}

impl Slices {
    pub(super) fn new(b: &mut Builder, problem: &Problem, points: usize, [within, part]: [BufferId; 2]) -> Self {
        Self { touched: Touched::new(b, problem, points), within, part }
    }
}

impl Planes {
    /// Zeros in front of the plane, and behind a slice of it.
    pub(super) fn begin(&self, b: &mut Builder) {
        let sizes = &self.sizes;
        let ends = if sizes.is_sliced() { vec![0, sizes.table_bytes() - BLOCK_BYTES] } else { vec![0] };
        for end in ends {
            let guard = |b: &mut Builder, at: Local| fill(b, at, Element::F32, 0.0, int(FRONT));
            match self.table {
                Some(table) => guard(b, table.at(int(end))),
                None => (0..self.ring.slots()).for_each(|slot| guard(b, self.ring.slot_at(slot, end))),
            }
        }
    }

    /// What says which rows points mix, where that matters.
    pub(super) fn touched(&self) -> Option<&Touched> {
        self.slices.as_ref().map(|slices| &slices.touched)
    }

    /// The pixels of a plane around points; `rows` of the image are those that the points mix.
    pub(super) fn gather(
        &self,
        b: &mut Builder,
        around: &Around,
        (plane, rows): (&Expr, Option<&[Expr; 2]>),
        count: &Expr,
    ) {
        match (&self.slices, rows) {
            (Some(slices), Some(rows)) => self.gather_slices(b, slices, around, (plane, rows), count),
            _ => self.gather_whole(b, around, plane, count),
        }
    }

    /// Loads so many pixels of a plane from one on, and gives the table that has them in f32 behind its zeros.
    fn load(&self, b: &mut Builder, plane: &Expr, (first, pixels): (&Expr, &Expr)) -> Local {
        let compute = self.sizes.compute;
        let size = int(compute.size);
        self.ring.enter(b);
        let front = if self.table.is_some() { 0 } else { int(BLOCK_BYTES) };
        let from = self.input.at((plane.clone() * int(self.sizes.pixels) + first.clone()) * size);
        b.load(self.ring.at(front), from, Burst::of(pixels.clone() * size), None);
        self.ring.pass(b, 0);
        let Some(table) = self.table else { return self.ring.at(0) };
        let from = (self.ring.at(0), compute.element);
        cast(b, (table.at(int(BLOCK_BYTES)), Element::F32), from, pixels.clone());
        table.at(0)
    }

    /// From a plane that is there as a whole.
    fn gather_whole(&self, b: &mut Builder, around: &Around, plane: &Expr, count: &Expr) {
        let table = self.load(b, plane, (&0.into(), &int(self.sizes.pixels).into()));
        for (to, offsets) in around.pixels().into_iter().zip(around.offsets()) {
            let operands = [to, table.clone(), offsets.at(0)];
            b.vector(Vector::new(VectorOp::Gather(Element::F32), operands).count(count.clone()));
        }
        self.ring.leave(b);
    }

    /// Slice by slice of those with the rows that the points mix. What another slice has is 0 in this one, so that bits can be put
    /// together.
    fn gather_slices(
        &self,
        b: &mut Builder,
        slices: &Slices,
        around: &Around,
        (plane, rows): (&Expr, &[Expr; 2]),
        count: &Expr,
    ) {
        let pixels = around.pixels();
        for pixel in &pixels {
            fill(b, pixel.clone(), Element::F32, 0.0, count.clone());
        }
        let (cells, all, width) = (self.sizes.cells, self.sizes.pixels, int(self.width));
        let first = b.div("first_slice", rows[0].clone() * width, cells);
        let last = b.div("last_slice", rows[1].clone() * width + (width - 1), cells);
        b.repeat("slice", (first, last + 1, 1), Some("local_bytes"), |b, slice| {
            let first = slice * int(cells);
            let n = b.min("cells", int(cells), Expr::from(int(all)) - first.clone());
            let table = self.load(b, plane, (&first, &n));
            for (to, offsets) in pixels.iter().zip(around.offsets()) {
                let within = slices.within.at(0);
                place(b, &within, offsets.at(0), &first, (cells, FRONT, 4), count);
                let part = slices.part.at(0);
                let operands = [part.clone(), table.clone(), within];
                b.vector(Vector::new(VectorOp::Gather(Element::F32), operands).count(count.clone()));
                binary(b, BinaryOp::Or, Element::U16, [to.clone(), to.clone(), part], count.clone() * 2);
            }
            self.ring.leave(b);
        });
    }
}

/// Byte offsets of pixels in a slice of so many that begins with a pixel: `front` elements lie before it, each of so many bytes. Pixels
/// before the slice become what lies there last, those behind it what lies behind.
pub(super) fn place(
    b: &mut Builder,
    within: &Local,
    pixels: Local,
    first: &Expr,
    (cells, front, size): (usize, usize, usize),
    count: &Expr,
) {
    let mut step = |op, from: Local, number: Expr| {
        scalar(b, op, Element::I32, [within.clone(), from], number, count.clone());
    };
    step(ScalarOp::Adds, pixels, Expr::from(0) - first.clone());
    step(ScalarOp::Mins, within.clone(), int(cells).into());
    step(ScalarOp::Maxs, within.clone(), (-1).into());
    step(ScalarOp::Adds, within.clone(), int(front).into());
    step(ScalarOp::Muls, within.clone(), int(size).into());
}
