//! Pixels around points where nothing gathers: with their channels side by side.
//!
//! Transpositions put channels of pixels side by side. The scalar unit reads where each point finds a pixel, and an instruction copies
//! all channels of it. Transpositions then put points side by side again, so that sums are made as of what is gathered.

use ubtile_tiling::grid_sampler_2d_backward::Problem;

use super::Around;
use super::lanes::TOGETHER;
use super::planes::place;
use super::sizes::{PART, Sizes};
use crate::lower::bits_of;
use crate::lower::builder::{Builder, int};
use crate::lower::grid_sampler_2d_backward::touched::Touched;
use crate::lower::ring::Ring;
use crate::lower::shape::{BLOCK_BYTES, PER_BLOCK, Run, cast, fill, stride};
use crate::product::Element;
use crate::program::{
    BinaryOp, BufferId, Expr, Instruction, Local, Mask, Numbers, Pipe, Rows, TensorId, Transpose, Vector, VectorOp,
};

/// Rows of a transposition.
const ROWS: usize = 16;

/// Where pixels lie in the UB.
pub(super) struct Beside {
    sizes: Sizes,
    channels: usize,
    /// Channels of the image.
    all: usize,
    input: TensorId,
    /// Columns of the image.
    width: usize,
    /// Planes as they come, and in f32.
    staged: Ring,
    wide: Option<BufferId>,
    /// Pixels with a pixel of zeros in front and behind.
    table: BufferId,
    /// Where in it points find their pixels.
    within: Ring,
    /// The pixels of points: corner by corner, point by point.
    found: BufferId,
    /// Where not all pixels of an image fit.
    touched: Option<Touched>,
}

impl Beside {
    pub(super) fn new(
        b: &mut Builder,
        problem: &Problem,
        (sizes, channels): (Sizes, usize),
        (input, staged): (TensorId, Ring),
    ) -> Self {
        let field = Some("tile_points");
        let short = sizes.compute.is_short();
        let wide = short.then(|| b.buffer("planes_f32", sizes.staged_bytes(channels, 4), 1, None));
        let table = b.buffer("pixels", sizes.pixels_bytes(channels), 1, Some("local_bytes"));
        let vectors = 4 * sizes.points * sizes.corners();
        let within = Ring::new(b, ("pixel_offsets", vectors, 1), field, &[Pipe::V, Pipe::S]);
        let found = b.buffer("found", vectors * channels, 1, field);
        let touched = sizes.is_sliced().then(|| Touched::new(b, problem, sizes.points));
        Self { sizes, channels, all: problem.c, input, width: problem.wi, staged, wide, table, within, found, touched }
    }

    pub(super) fn begin(&self, b: &mut Builder) {
        let (pixel, all) = (self.pixel_bytes(), self.sizes.pixels_bytes(self.channels));
        if self.touched.is_some() {
            // Behind the end of a slice that is no whole one no point finds a pixel; who knows no points assumes that some do.
            fill(b, self.table.at(0), Element::F32, 0.0, int(all / 4));
        } else {
            for end in [0, all - pixel] {
                fill(b, self.table.at(int(end)), Element::F32, 0.0, int(self.channels));
            }
        }
        // Channels and pixels that are not there are moved, not looked at.
        for slot in 0..self.staged.slots() {
            let lanes = int(self.sizes.staged_bytes(self.channels, 1));
            fill(b, self.staged.slot_at(slot, 0), bits_of(self.sizes.compute.element), 0, lanes);
        }
        [&self.staged, &self.within].into_iter().for_each(|ring| ring.begin(b));
    }

    pub(super) fn end(&self, b: &mut Builder) {
        [&self.staged, &self.within].into_iter().for_each(|ring| ring.end(b));
    }

    /// Channels side by side.
    pub(super) const fn channels(&self) -> usize {
        self.channels
    }

    pub(super) const fn touched(&self) -> Option<&Touched> {
        self.touched.as_ref()
    }

    /// Copies the pixels around points, so many channels from one of an image on; `rows` are those that the points mix.
    pub(super) fn find(
        &self,
        b: &mut Builder,
        around: &Around,
        (image, channel, channels): (&Expr, &Expr, &Expr),
        rows: Option<&[Expr; 2]>,
        count: &Expr,
    ) {
        let (cells, points, pixel) = (self.sizes.cells, self.sizes.points, self.pixel_bytes());
        let plane = image.clone() * int(self.all) + channel.clone();
        fill(b, self.found.at(0), Element::F32, 0.0, int(self.sizes.corners() * points * self.channels));
        let (first, end) = match rows {
            // As far from a block as the plane.
            Some([first, last]) => {
                let width = int(self.width);
                (b.div("first_pixels", first.clone() * width, ROWS) * int(ROWS), (last.clone() + 1) * width)
            }
            None => (0.into(), int(self.sizes.pixels).into()),
        };
        b.repeat("slice", (first, end.clone(), cells), Some("local_bytes"), |b, first| {
            let n = b.min("cells", int(cells), end - first.clone());
            self.load(b, (&plane, channels), (&first, &n));
            self.within.enter(b);
            for (corner, offsets) in around.offsets().iter().enumerate() {
                let within = self.within.at(int(4 * points * corner));
                place(b, &within, offsets.at(0), &first, (cells, 1, pixel), count);
            }
            self.within.pass(b, 0);
            // No two of what follows meet.
            b.settle();
            b.repeat("k", (0, count.clone(), 1), None, |b, k| {
                for corner in 0..self.sizes.corners() {
                    let at = self.within.at(k.clone() * 4 + int(4 * points * corner));
                    let assume = Numbers { from: 0, to: int((cells + 1) * pixel), step: int(pixel) };
                    let offset = b.read("offset", at, Element::I32, assume);
                    let to = self.found.at(k.clone() * int(pixel) + int(corner * points * pixel));
                    let operands = [to.clone(), to, self.table.at(offset)];
                    // What another slice has is 0 in this one.
                    let put = Vector::new(VectorOp::Binary(BinaryOp::Or, Element::U16), operands);
                    b.emit(Instruction::Vector(put.masked(1, Mask::First(int(2 * self.channels).into()))));
                }
            });
            self.within.leave(b);
        });
    }

    /// Loads so many pixels from one on of so many planes, and puts channels side by side.
    fn load(&self, b: &mut Builder, (plane, channels): (&Expr, &Expr), (first, pixels): (&Expr, &Expr)) {
        let (compute, pixel) = (self.sizes.compute, self.pixel_bytes());
        let size = compute.size;
        b.repeat("part", (0, pixels.clone(), PART), None, |b, part| {
            let n = b.min("n", int(PART), pixels.clone() - part.clone());
            self.staged.enter(b);
            let first = plane.clone() * int(self.sizes.pixels) + first.clone() + part.clone();
            let run = Run::new(b, 0.into(), n * int(size));
            let pitch = (int(self.sizes.pixels * size).into(), compute.element);
            run.load(b, self.staged.at(0), self.input.at(first * int(size)), channels.clone(), PART * size, pitch);
            self.staged.pass(b, 0);
            let from = match self.wide {
                Some(wide) => {
                    let from = (self.staged.at(0), compute.element);
                    cast(b, (wide.at(0), Element::F32), from, int(self.channels * PART));
                    wide.at(0)
                }
                None => self.staged.at(0),
            };
            let row = stride(4 * PART / BLOCK_BYTES);
            for some in (0..self.channels).step_by(ROWS) {
                let column = pixel / BLOCK_BYTES;
                b.transpose(Transpose {
                    element: Element::F32,
                    to: Rows {
                        at: self.table.at((part.clone() + 1) * int(pixel) + int(4 * some)),
                        row: 1,
                        pair: stride(column),
                        repeat: stride(PER_BLOCK * column),
                    },
                    from: Rows { at: from.further(int(4 * some * PART)), row, pair: 2 * row, repeat: 1 },
                    repeats: int(PART / PER_BLOCK).into(),
                    to_high: false,
                    from_high: false,
                });
            }
            self.staged.leave(b);
        });
    }

    /// Puts points side by side: of eight channels, so far behind the first that was found, each corner of all points.
    pub(super) fn turn(&self, b: &mut Builder, channel: &Expr, to: &Local) {
        let (pixel, all) = (self.pixel_bytes() / BLOCK_BYTES, self.sizes.corners() * self.sizes.points);
        let row = stride(pixel);
        b.transpose(Transpose {
            element: Element::F32,
            to: Rows { at: to.clone(), row: 1, pair: stride(4 * all / BLOCK_BYTES), repeat: 2 },
            from: Rows { at: self.found.at(channel.clone() * 4), row, pair: 2 * row, repeat: stride(ROWS * pixel) },
            repeats: int(all / ROWS).into(),
            to_high: false,
            from_high: false,
        });
    }

    const fn pixel_bytes(&self) -> usize {
        4 * self.channels
    }
}

const _: () = assert!(TOGETHER == PER_BLOCK);
