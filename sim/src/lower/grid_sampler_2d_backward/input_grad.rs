//! `input_grad`: points one after the other, channels side by side.

mod corners;
mod order;
mod sixteen;
mod sizes;
mod survey;

use ubtile_tiling::grid_sampler_2d_backward::{CHANNEL_BLOCK, Plan};

use super::Pixels;
use super::bicubic::Taps;
use super::coordinates::Coordinates;
use super::touched::Touched;
use crate::lower::builder::{Builder, int};
use crate::lower::pieces::{Limits, choice};
use crate::lower::ring::Ring;
use crate::lower::shape::{self, BLOCK_BYTES, PER_BLOCK, Run, cast, fill};
use crate::lower::{LowerError, bits_of};
use crate::product::Element;
use crate::program::{
    BinaryOp, BufferId, Expr, IntOp, Mask, Operand, Pipe, Relation, Rows, TensorId, Transpose, Vector, VectorOp,
};

use corners::Weights;
use sizes::{LOADED, SIXTEEN, Sizes, TURNED};
use survey::Survey;

/// Axes.
const X: usize = 0;
const Y: usize = 1;

/// The program's part.
struct Lowering {
    sizes: Sizes,
    image: [usize; 3],
    points: usize,
    gradient: TensorId,
    output: TensorId,
    coordinates: Coordinates,
    /// The pixels' sums.
    sums: BufferId,
    /// Where in them each point adds, and the vector that it is computed in.
    offsets: Ring,
    scratch: BufferId,
    /// `grad_output`: channels of points, in f32, and points of channels.
    loaded: Ring,
    wide: Option<BufferId>,
    turned: BufferId,
    weights: Option<Weights>,
    /// With bicubic interpolation.
    taps: Option<Taps>,
    /// Where the image passes in parts.
    touched: Option<Touched>,
    /// Where it passes in several windows.
    survey: Option<Survey>,
    ordered: Ring,
    ordered_wide: Option<BufferId>,
}

/// The part of an image that is in the UB.
struct Window {
    row: Expr,
    rows: Expr,
    column: Expr,
    columns: Expr,
}

/// Lowers it.
pub(super) fn lower(
    b: &mut Builder,
    plan: &Plan,
    parts: &[Pixels],
    ([gradient, grid], output): ([TensorId; 2], TensorId),
) -> Result<(), LowerError> {
    let sizes = Sizes::new(plan, b.room(), parts)?;
    let (p, bytes) = (plan.problem(), b.room().local_bytes);
    let limits = |all: usize, instructions: usize| Limits { all, instructions, bytes };
    let of = limits(plan.points(), sizes.most_points());
    b.piece(choice("tile_input_points", sizes.points, LOADED, of, |points| Sizes { points, ..sizes }.bytes()));
    let of = limits(p.c, CHANNEL_BLOCK.get());
    b.piece(choice("tile_input_channels", sizes.channels, TURNED, of, |channels| Sizes { channels, ..sizes }.bytes()));
    let of = limits(p.hi, usize::MAX);
    b.piece(choice("tile_input_rows", sizes.rows, 1, of, |rows| Sizes { rows, ..sizes }.bytes()));
    let of = limits(p.wi, usize::MAX);
    b.piece(choice("tile_input_columns", sizes.columns, 1, of, |columns| Sizes { columns, ..sizes }.bytes()));
    let lowering = Lowering::new(b, plan, sizes, (gradient, grid, output))?;
    lowering.begin(b);
    lowering.share(b, plan, parts);
    lowering.end(b);
    Ok(())
}

impl Lowering {
    fn new(
        b: &mut Builder,
        plan: &Plan,
        sizes: Sizes,
        (gradient, grid, output): (TensorId, TensorId, TensorId),
    ) -> Result<Self, LowerError> {
        let (problem, field) = (plan.problem(), Some("tile_points"));
        let (size, short) = (sizes.compute.size, sizes.compute.is_short());
        let coordinates = Coordinates::new(b, problem, grid, sizes.points)?;
        let sums = b.buffer("pixels", sizes.image_bytes(), 1, Some("tile_channels"));
        let offsets =
            Ring::new(b, ("pixel_offsets", 4 * sizes.points * sizes.offset_vectors(), 2), field, &[Pipe::V, Pipe::S]);
        let scratch = b.buffer("pixel_index", 4 * sizes.points, 1, field);
        let pipes = [Pipe::Mte2, Pipe::V];
        let loaded = Ring::new(b, ("gradient", sizes.gradient_bytes(size), 2), Some("tile_channels"), &pipes);
        let wide = short.then(|| b.buffer("gradient_f32", sizes.gradient_bytes(4), 1, Some("tile_channels")));
        let turned = b.buffer("gradient_channels", sizes.gradient_bytes(4), 1, Some("tile_channels"));
        let weights = (sizes.corners > 1).then(|| Weights {
            vectors: (0..sizes.corners).map(|_| b.buffer("weight", 4 * sizes.points, 1, field)).collect(),
            spread: b.buffer("weight_blocks", sizes.weighted() * BLOCK_BYTES, 1, None),
            products: b.buffer("products", sizes.products_bytes(), 1, Some("tile_channels")),
        });
        let taps = (sizes.corners == SIXTEEN).then(|| Taps::new(b, problem, sizes.points, false));
        let touched = sizes.is_part.then(|| Touched::new(b, problem, sizes.points));
        let survey = (sizes.survey > 0).then(|| Survey::new(b, sizes.survey));
        let pipes = [Pipe::V, Pipe::Mte3];
        let ordered = Ring::new(b, ("planes", sizes.ordered_bytes(size), 2), Some("tile_channels"), &pipes);
        let ordered_wide = short.then(|| b.buffer("planes_f32", sizes.ordered_bytes(4), 1, Some("tile_channels")));
        let image = [problem.c, problem.hi, problem.wi];
        let points = plan.points();
        Ok(Self {
            sizes,
            image,
            points,
            gradient,
            output,
            coordinates,
            sums,
            offsets,
            scratch,
            loaded,
            wide,
            turned,
            weights,
            taps,
            touched,
            survey,
            ordered,
            ordered_wide,
        })
    }

    fn begin(&self, b: &mut Builder) {
        // Channels and points that are not there are computed with, not looked at.
        let lanes = int(self.sizes.gradient_bytes(1));
        for slot in 0..self.loaded.slots() {
            fill(b, self.loaded.slot_at(slot, 0), bits_of(self.sizes.compute.element), 0, lanes);
        }
        if let Some(weights) = &self.weights {
            for vector in &weights.vectors {
                fill(b, vector.at(0), Element::F32, 0.0, int(self.sizes.points));
            }
        }
        self.coordinates.begin(b);
        for ring in [&self.offsets, &self.loaded, &self.ordered] {
            ring.begin(b);
        }
    }

    fn end(&self, b: &mut Builder) {
        self.coordinates.finish(b);
        for ring in [&self.offsets, &self.loaded, &self.ordered] {
            ring.end(b);
        }
    }

    fn share(&self, b: &mut Builder, plan: &Plan, parts: &[Pixels]) {
        let mut each =
            |name: &str, of: &dyn Fn(&Pixels) -> usize| b.per_core(name, parts.iter().map(|p| int(of(p))).collect());
        let blocks = (each("first_block", &|p| p.blocks.start), each("last_block", &|p| p.blocks.end));
        let channels = (each("first_channel", &|p| p.channels.start), each("last_channel", &|p| p.channels.end));
        let rows = (each("first_row", &|p| p.rows.start), each("last_row", &|p| p.rows.end));
        let per_image = plan.blocks().get();
        b.repeat("block", (blocks.0, blocks.1, 1), Some("block_dim"), |b, block| {
            let image = b.div("image", block.clone(), per_image);
            let first = b.op("of_image", IntOp::Mod, block, int(per_image)) * int(CHANNEL_BLOCK.get());
            let from = b.max("from", first.clone(), channels.0);
            let to = b.min("to", first + int(CHANNEL_BLOCK.get()), channels.1);
            self.survey(b, &image);
            let step = self.sizes.channels;
            b.repeat("channel", (from, to.clone(), step), Some("tile_channels"), |b, channel| {
                let count = b.min("channels", int(step), to - channel.clone());
                b.repeat("row", (rows.0, rows.1.clone(), self.sizes.rows), Some("local_bytes"), |b, row| {
                    let high = b.min("rows", int(self.sizes.rows), rows.1 - row.clone());
                    let (width, wide) = (int(self.image[2]), self.sizes.columns);
                    b.repeat("column", (0, width, wide), Some("local_bytes"), |b, column| {
                        let columns = b.min("columns", int(wide), Expr::from(width) - column.clone());
                        let window = Window { row, rows: high, column, columns };
                        self.window(b, &image, (&channel, &count), &window);
                    });
                });
            });
        });
    }

    /// Some rows and columns of some channels of an image.
    fn window(&self, b: &mut Builder, image: &Expr, channels: (&Expr, &Expr), window: &Window) {
        fill(b, self.sums.at(0), Element::F32, 0.0, int(self.sizes.image_bytes() / 4));
        self.chunks(b, |b, chunk, points| {
            b.tile("points", |b| {
                let Some([first, last]) = self.rows(b, image, chunk, points) else {
                    self.load_points(b, image, points);
                    [Y, X].into_iter().for_each(|axis| self.find(b, axis, points.1));
                    self.points(b, image, channels, window, points);
                    return;
                };
                b.when(first, Relation::Lt, window.row.clone() + window.rows.clone(), |b| {
                    b.when(last, Relation::Ge, window.row.clone(), |b| {
                        if self.survey.is_some() {
                            self.load_points(b, image, points);
                            self.find(b, Y, points.1);
                        }
                        self.find(b, X, points.1);
                        self.points(b, image, channels, window, points);
                    });
                });
            });
        });
        self.put_in_order(b, image, channels, window);
    }

    /// `body` for each chunk of an image's points: its number, its first point and how many it has.
    fn chunks(&self, b: &mut Builder, body: impl FnOnce(&mut Builder, &Expr, (&Expr, &Expr))) {
        let (step, all) = (int(self.sizes.points), int(self.points));
        b.repeat("chunk", (0, int(self.points.div_ceil(self.sizes.points)), 1), Some("tile_points"), |b, chunk| {
            let point = chunk.clone() * step;
            let count = b.min("points", step, Expr::from(all) - point.clone());
            body(b, &chunk, (&point, &count));
        });
    }

    /// Loads some points of an image.
    fn load_points(&self, b: &mut Builder, image: &Expr, (point, count): (&Expr, &Expr)) {
        self.coordinates.load(b, &(image.clone() * int(self.points) + point.clone()), count);
    }

    /// Finds the cells of points that are loaded along an axis.
    fn find(&self, b: &mut Builder, axis: usize, count: &Expr) {
        self.coordinates.find_axis(b, axis, count);
        if let Some(taps) = &self.taps {
            taps.find_axis(b, &self.coordinates, axis, count);
        }
    }

    /// Adds some points, whose cells are found.
    fn points(
        &self,
        b: &mut Builder,
        image: &Expr,
        channels: (&Expr, &Expr),
        window: &Window,
        (point, count): (&Expr, &Expr),
    ) {
        match &self.taps {
            None => {
                self.place(b, window, count);
                self.weigh(b, count);
            }
            Some(taps) => {
                self.place_sixteen(b, taps, window, count);
                self.weigh_sixteen(b, taps, count);
            }
        }
        self.offsets.pass(b, 0);
        b.repeat("part", (0, count.clone(), LOADED), None, |b, part| {
            let n = b.min("n", int(LOADED), count.clone() - part.clone());
            self.load(b, image, channels, (&(point.clone() + part.clone()), &n));
            if self.taps.is_none() {
                self.multiply(b, &part, &0.into());
                b.repeat("k", (0, n, 1), None, |b, k| self.add(b, &(part + k.clone()), &k));
            } else {
                let together = self.sizes.weighted();
                b.repeat("some", (0, n.clone(), together), None, |b, some| {
                    let m = b.min("m", int(together), n - some.clone());
                    let first = part + some.clone();
                    self.multiply(b, &first, &some);
                    b.repeat("k", (0, m, 1), None, |b, k| self.add_sixteen(b, &(first + k.clone()), &k));
                });
            }
        });
        self.offsets.leave(b);
    }

    /// Loads `grad_output` of some points, and puts their channels side by side.
    fn load(&self, b: &mut Builder, image: &Expr, channels: (&Expr, &Expr), points: (&Expr, &Expr)) {
        let Sizes { compute, channels: all, .. } = self.sizes;
        let size = compute.size;
        self.loaded.enter(b);
        let plane = image.clone() * int(self.image[0]) + channels.0.clone();
        let from = self.gradient.at((plane * int(self.points) + points.0.clone()) * int(size));
        let run = Run::new(b, 0.into(), points.1.clone() * int(size));
        let pitch = (int(self.points * size).into(), compute.element);
        run.load(b, self.loaded.at(0), from, channels.1.clone(), LOADED * size, pitch);
        self.loaded.pass(b, 0);
        let from = match self.wide {
            Some(wide) => {
                let from = (self.loaded.at(0), compute.element);
                cast(b, (wide.at(0), Element::F32), from, int(all * LOADED));
                wide.at(0)
            }
            None => self.loaded.at(0),
        };
        let row = stride(LOADED * 4);
        for first in (0..all).step_by(TURNED) {
            let to = self.turned.at(int(4 * first));
            b.transpose(Transpose {
                element: Element::F32,
                to: Rows { at: to, row: 1, pair: stride(4 * all), repeat: stride(PER_BLOCK * 4 * all) },
                from: Rows { at: from.further(int(first * LOADED * 4)), row, pair: 2 * row, repeat: 1 },
                repeats: int(LOADED / PER_BLOCK).into(),
                to_high: false,
                from_high: false,
            });
        }
        self.loaded.leave(b);
    }

    /// Adds products of a point, from that one on, to as many pixels side by side.
    fn sum(&self, offset: Expr, (weighted, product): (&Expr, usize), pixels: usize) -> Vector {
        let (pixel, to) = (self.sizes.pixel_bytes(), self.sums.at(offset));
        let from = self.weights.as_ref().map_or(self.turned, |weights| weights.products);
        let from = from.at(weighted.clone() * int(self.sizes.corners * pixel) + int(product * pixel));
        let mut sum = Vector::new(VectorOp::Binary(BinaryOp::Add, Element::F32), [to.clone(), to, from]);
        for Operand { repeat_stride, .. } in &mut sum.operands {
            *repeat_stride = stride(pixel);
        }
        sum.masked(int(pixels), self.mask())
    }

    fn row_bytes(&self) -> usize {
        self.sizes.pitch() * self.sizes.pixel_bytes()
    }

    fn mask(&self) -> Mask {
        Mask::First(int(self.sizes.channels).into())
    }
}

/// Bytes as blocks of a stride.
fn stride(bytes: usize) -> u16 {
    shape::stride(bytes / BLOCK_BYTES)
}
