//! `input_grad`: points one after the other, channels side by side.

use ubtile_tiling::grid_sampler_2d_backward::{CHANNEL_BLOCK, Interpolation, PaddingMode, Plan};

use super::Pixels;
use super::coordinates::Coordinates;
use crate::lower::builder::{Builder, int};
use crate::lower::ring::Ring;
use crate::lower::shape::{
    BLOCK_BYTES, Compute, MOST_STRIDE, Run, behind, binary, blocks, broadcast, cast, fill, largest, scalar,
};
use crate::lower::{LowerError, bits_of};
use crate::product::{Element, Rounding};
use crate::program::{
    Assume, BinaryOp, BufferId, Burst, Expr, IntOp, Local, Mask, Operand, Pipe, Rows, ScalarOp, TensorId, Transpose,
    Vector, VectorOp,
};

/// Most points whose cells are found together, and most that are weighted together.
const MOST_POINTS: usize = 512;
const WEIGHTED: usize = 32;
/// Rows and columns of the margin in front of the image; behind it is as much, of columns the margin of the next row.
const MARGIN: usize = 2;
/// Elements of a column of a transposition.
const TURNED: usize = 16;
/// Lanes of f32 in a block.
const PER_BLOCK: usize = BLOCK_BYTES / 4;
/// Bytes of `input_grad` that are brought in order together.
const ORDERED: usize = 16 * 1024;

/// Sizes of what lies in the UB.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    compute: Compute,
    padding: PaddingMode,
    corners: usize,
    width: usize,
    /// Points whose cells are found together.
    points: usize,
    /// Channels side by side, a multiple of 16.
    channels: usize,
    /// Rows of the image.
    rows: usize,
}

impl Sizes {
    /// Pixels from a row to the next one: rows begin with a block of every type.
    fn pitch(&self) -> usize {
        (self.width + MARGIN).next_multiple_of(TURNED)
    }

    fn pixel_bytes(&self) -> usize {
        4 * self.channels
    }

    fn image_bytes(&self) -> usize {
        // What is turned comes in sixteens of pixels.
        ((self.rows + 2 * MARGIN) * self.pitch() + TURNED) * self.pixel_bytes()
    }

    /// Rows that are brought in order together.
    fn ordered_rows(&self) -> usize {
        (ORDERED / (PER_BLOCK * 4 * self.pitch())).clamp(1, self.rows)
    }

    fn ordered_bytes(&self, size: usize) -> usize {
        PER_BLOCK * self.ordered_rows() * self.pitch() * size
    }

    fn gradient_bytes(&self, size: usize) -> usize {
        self.channels * WEIGHTED * size
    }

    fn bytes(&self) -> usize {
        let short = if self.compute.is_short() { self.gradient_bytes(4) + self.ordered_bytes(4) } else { 0 };
        let weights = if self.corners > 1 {
            blocks(4 * self.points) * self.corners + WEIGHTED * BLOCK_BYTES + self.corners * self.gradient_bytes(4)
        } else {
            0
        };
        let offsets = 3 * blocks(4 * self.points);
        let gradient = 2 * self.gradient_bytes(self.compute.size) + self.gradient_bytes(4);
        let ordered = 2 * self.ordered_bytes(self.compute.size);
        Coordinates::bytes(self.compute, self.padding, self.points)
            + self.image_bytes()
            + short
            + weights
            + offsets
            + gradient
            + ordered
    }
}

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
    ordered: Ring,
    ordered_wide: Option<BufferId>,
}

/// Weights of each corner, of one corner a block for each point, and the weighted channels of all.
struct Weights {
    vectors: Vec<BufferId>,
    spread: BufferId,
    products: BufferId,
}

/// Lowers it.
pub(super) fn lower(
    b: &mut Builder,
    plan: &Plan,
    parts: &[Pixels],
    ([gradient, grid], output): ([TensorId; 2], TensorId),
) -> Result<(), LowerError> {
    let problem = plan.problem();
    let compute = Compute::of(problem.dtype)?;
    let tile = plan.choices().find(|choice| choice.name == "tile_points").map_or(usize::MAX, |choice| choice.value);
    let most_rows = parts.iter().map(|part| part.rows.len()).max().unwrap_or(1).max(1);
    let most_channels = parts.iter().map(|part| part.channels.len()).max().unwrap_or(1).clamp(1, CHANNEL_BLOCK.get());
    let mut sizes = Sizes {
        compute,
        padding: problem.padding_mode,
        corners: if problem.interpolation == Interpolation::Nearest { 1 } else { 4 },
        width: problem.wi,
        points: plan.points().min(tile).min(MOST_POINTS).next_multiple_of(WEIGHTED),
        channels: most_channels.next_multiple_of(TURNED),
        rows: 1,
    };
    let budget = plan.target().local_bytes;
    // A point costs the same for one channel as for 64, so channels are cut last.
    while sizes.bytes() > budget && sizes.points > WEIGHTED {
        sizes.points = (sizes.points / 2).next_multiple_of(WEIGHTED);
    }
    while sizes.bytes() > budget && sizes.channels > TURNED {
        sizes.channels = (sizes.channels / 2).next_multiple_of(TURNED);
    }
    sizes.rows = largest(most_rows, budget, |rows| Sizes { rows, ..sizes }.bytes())?;
    // Bands of the same height.
    sizes.rows = most_rows.div_ceil(most_rows.div_ceil(sizes.rows));

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
        let offsets = Ring::new(b, ("pixel_offsets", 4 * sizes.points, 2), field, &[Pipe::V, Pipe::S]);
        let scratch = b.buffer("pixel_index", 4 * sizes.points, 1, field);
        let pipes = [Pipe::Mte2, Pipe::V];
        let loaded = Ring::new(b, ("gradient", sizes.gradient_bytes(size), 2), Some("tile_channels"), &pipes);
        let wide = short.then(|| b.buffer("gradient_f32", sizes.gradient_bytes(4), 1, Some("tile_channels")));
        let turned = b.buffer("gradient_channels", sizes.gradient_bytes(4), 1, Some("tile_channels"));
        let weights = (sizes.corners > 1).then(|| Weights {
            vectors: (0..sizes.corners).map(|_| b.buffer("weight", 4 * sizes.points, 1, field)).collect(),
            spread: b.buffer("weight_blocks", WEIGHTED * BLOCK_BYTES, 1, None),
            products: b.buffer("products", sizes.corners * sizes.gradient_bytes(4), 1, Some("tile_channels")),
        });
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
        self.coordinates.end(b);
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
            let step = self.sizes.channels;
            b.repeat("channel", (from, to.clone(), step), Some("tile_channels"), |b, channel| {
                let count = b.min("channels", int(step), to - channel.clone());
                b.repeat("row", (rows.0, rows.1.clone(), self.sizes.rows), Some("local_bytes"), |b, row| {
                    let high = b.min("rows", int(self.sizes.rows), rows.1 - row.clone());
                    self.band(b, &image, (&channel, &count), (&row, &high));
                });
            });
        });
    }

    /// Some rows of some channels of an image.
    fn band(&self, b: &mut Builder, image: &Expr, channels: (&Expr, &Expr), rows: (&Expr, &Expr)) {
        fill(b, self.sums.at(0), Element::F32, 0.0, int(self.sizes.image_bytes() / 4));
        let step = self.sizes.points;
        b.repeat("point", (0, int(self.points), step), Some("tile_points"), |b, point| {
            let count = b.min("points", int(step), Expr::from(int(self.points)) - point.clone());
            b.tile("points", |b| {
                self.coordinates.find(b, &(image.clone() * int(self.points) + point.clone()), &count);
                self.place(b, rows.0, &count);
                self.weigh(b, &count);
                self.offsets.pass(b, 0);
                b.repeat("part", (0, count.clone(), WEIGHTED), None, |b, part| {
                    let n = b.min("n", int(WEIGHTED), count - part.clone());
                    self.load(b, image, channels, (&(point + part.clone()), &n));
                    self.multiply(b, &part);
                    b.repeat("k", (0, n, 1), None, |b, k| self.add(b, &(part + k.clone()), &k));
                });
                self.offsets.leave(b);
            });
        });
        self.put_in_order(b, image, channels, rows);
    }

    /// Byte offsets of the points' north-western pixels; all that mix none, or only other rows', lie in the margin.
    #[expect(clippy::cast_precision_loss, reason = "positions in the UB are exact")]
    fn place(&self, b: &mut Builder, row: &Expr, count: &Expr) {
        let [x, y] = self.coordinates.axes();
        let (index, margin) = (self.scratch.at(0), MARGIN as f32);
        self.offsets.enter(b);
        let step = |b: &mut Builder, op, to: &Local, from: &Local, number: f32| {
            scalar(b, op, Element::F32, [to.clone(), from.clone()], number, count.clone());
        };
        let from = match row.as_constant() {
            Some(0) => y.cell.at(0),
            _ => {
                let row = b.float("row_f32", Expr::from(0) - row.clone());
                scalar(b, ScalarOp::Adds, Element::F32, [index.clone(), y.cell.at(0)], row, count.clone());
                index.clone()
            }
        };
        step(b, ScalarOp::Maxs, &index, &from, -margin);
        step(b, ScalarOp::Mins, &index, &index, self.sizes.rows as f32);
        step(b, ScalarOp::Adds, &index, &index, margin);
        step(b, ScalarOp::Muls, &index, &index, self.sizes.pitch() as f32);
        let offsets = self.offsets.at(0);
        // The column's place, until the offset takes it.
        step(b, ScalarOp::Maxs, &offsets, &x.cell.at(0), -margin);
        step(b, ScalarOp::Adds, &offsets, &offsets, margin);
        binary(b, BinaryOp::Add, Element::F32, [index.clone(), index.clone(), offsets.clone()], count.clone());
        step(b, ScalarOp::Muls, &index, &index, self.sizes.pixel_bytes() as f32);
        let op = VectorOp::Cast { to: Element::I32, from: Element::F32, rounding: Rounding::Even };
        b.vector(Vector::new(op, [offsets, index]).count(count.clone()));
    }

    /// The weights of the corners, row by row.
    fn weigh(&self, b: &mut Builder, count: &Expr) {
        let Some(weights) = &self.weights else { return };
        let [x, y] = self.coordinates.axes();
        let factors = [(x.before, y.before), (x.after, y.before), (x.before, y.after), (x.after, y.after)];
        for (to, (x, y)) in weights.vectors.iter().zip(factors) {
            binary(b, BinaryOp::Mul, Element::F32, [to.at(0), x.at(0), y.at(0)], count.clone());
        }
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
        run.load(b, self.loaded.at(0), from, channels.1.clone(), WEIGHTED * size, pitch);
        self.loaded.pass(b, 0);
        let from = match self.wide {
            Some(wide) => {
                let from = (self.loaded.at(0), compute.element);
                cast(b, (wide.at(0), Element::F32), from, int(all * WEIGHTED));
                wide.at(0)
            }
            None => self.loaded.at(0),
        };
        let row = stride(WEIGHTED * 4);
        for first in (0..all).step_by(TURNED) {
            let to = self.turned.at(int(4 * first));
            b.transpose(Transpose {
                element: Element::F32,
                to: Rows { at: to, row: 1, pair: stride(4 * all), repeat: stride(PER_BLOCK * 4 * all) },
                from: Rows { at: behind(&from, first * WEIGHTED * 4), row, pair: 2 * row, repeat: 1 },
                repeats: int(WEIGHTED / PER_BLOCK).into(),
                to_high: false,
                from_high: false,
            });
        }
        self.loaded.leave(b);
    }

    /// Each point's channels times its weights.
    fn multiply(&self, b: &mut Builder, part: &Expr) {
        let Some(weights) = &self.weights else { return };
        let pixel = self.sizes.pixel_bytes();
        for (corner, vector) in weights.vectors.iter().enumerate() {
            broadcast(b, Element::F32, weights.spread.at(0), vector.at(part.clone() * 4), WEIGHTED);
            let to = weights.products.at(int(corner * pixel));
            let op = VectorOp::Binary(BinaryOp::Mul, Element::F32);
            let product = Vector::new(op, [to, self.turned.at(0), weights.spread.at(0)]);
            let product = product.strides(0, 1, stride(self.sizes.corners * pixel)).strides(1, 1, stride(pixel));
            b.vector(product.strides(2, 0, 1).masked(int(WEIGHTED), self.mask()));
        }
    }

    /// Adds a point, which is so far behind the first one of the chunk and of those that are weighted.
    fn add(&self, b: &mut Builder, point: &Expr, weighted: &Expr) {
        let pixel = self.sizes.pixel_bytes();
        let row = self.sizes.pitch() * pixel;
        let assume = Assume { from: 0, to: int((self.sizes.rows + MARGIN) * row), step: int(pixel) };
        let offset = b.read("offset", self.offsets.at(point.clone() * 4), Element::I32, assume);
        let (from, rows, columns) = match &self.weights {
            Some(weights) => (weights.products, 2, 2),
            None => (self.turned, 1, 1),
        };
        for south in 0..rows {
            let to = self.sums.at(offset.clone() + int(south * row));
            let from = from.at(weighted.clone() * int(self.sizes.corners * pixel) + int(south * columns * pixel));
            let op = VectorOp::Binary(BinaryOp::Add, Element::F32);
            let mut sum = Vector::new(op, [to.clone(), to, from]);
            for Operand { repeat_stride, .. } in &mut sum.operands {
                *repeat_stride = stride(pixel);
            }
            let sum = sum.masked(int(columns), self.mask());
            // The southern row is another one.
            if south == 0 { b.vector(sum) } else { b.vector_apart(sum) }
        }
    }

    /// Rows of channels, from pixels with their channels side by side, and stores them.
    fn put_in_order(&self, b: &mut Builder, image: &Expr, channels: (&Expr, &Expr), rows: (&Expr, &Expr)) {
        let Sizes { compute, width, .. } = self.sizes;
        let (pitch, pixel, high) = (self.sizes.pitch(), self.sizes.pixel_bytes(), self.sizes.ordered_rows());
        let column = stride(high * pitch * 4);
        b.repeat("group", (0, channels.1.clone(), PER_BLOCK), Some("tile_channels"), |b, group| {
            let n = b.min("n", int(PER_BLOCK), channels.1.clone() - group.clone());
            b.repeat("part", (0, rows.1.clone(), high), None, |b, part| {
                let some = b.min("some", int(high), rows.1.clone() - part.clone());
                self.ordered.enter(b);
                let to = self.ordered_wide.map_or_else(|| self.ordered.at(0), |wide| wide.at(0));
                let first = (part.clone() + int(MARGIN)) * int(pitch) + int(MARGIN);
                let from = self.sums.at(first * int(pixel) + group.clone() * int(BLOCK_BYTES / PER_BLOCK));
                let all = high * pitch / TURNED;
                for done in (0..all).step_by(MOST_STRIDE) {
                    b.transpose(Transpose {
                        element: Element::F32,
                        to: Rows { at: behind(&to, done * TURNED * 4), row: 1, pair: column, repeat: 2 },
                        from: Rows {
                            at: behind(&from, done * TURNED * pixel),
                            row: stride(pixel),
                            pair: 2 * stride(pixel),
                            repeat: stride(TURNED * pixel),
                        },
                        repeats: int((all - done).min(MOST_STRIDE)).into(),
                        to_high: false,
                        from_high: false,
                    });
                }
                if let Some(wide) = self.ordered_wide {
                    let lanes = int(PER_BLOCK * high * pitch);
                    cast(b, (self.ordered.at(0), compute.element), (wide.at(0), Element::F32), lanes);
                }
                self.ordered.pass(b, 0);
                b.repeat("k", (0, n, 1), None, |b, k| {
                    let [c, hi, wi] = self.image;
                    let plane = image.clone() * int(c) + channels.0.clone() + group + k.clone();
                    let row = plane * int(hi) + rows.0.clone() + part;
                    let to = self.output.at(row * int(wi * compute.size));
                    let bytes = width * compute.size;
                    let from_gap = int(pitch * compute.size - blocks(bytes)).into();
                    let burst = Burst { blocks: some, bytes: int(bytes).into(), from_gap, to_gap: 0.into() };
                    b.store(to, self.ordered.at(k * int(high * pitch * compute.size)), burst);
                });
                self.ordered.leave(b);
            });
        });
    }

    fn mask(&self) -> Mask {
        Mask::First(int(self.sizes.channels).into())
    }
}

/// Bytes as blocks of a stride; sizes of a program that fits the UB are small enough.
fn stride(bytes: usize) -> u16 {
    u16::try_from(bytes / BLOCK_BYTES).unwrap_or(u16::MAX)
}
