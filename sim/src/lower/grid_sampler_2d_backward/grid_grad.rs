//! `grid_grad`: points side by side, channel by channel.

mod corners;
mod offsets;
mod sixteen;
mod sizes;
mod slices;

use std::ops::Range;

use ubtile_tiling::grid_sampler_2d_backward::{CHANNEL_BLOCK, Plan};

use super::bicubic::Taps;
use super::coordinates::Coordinates;
use super::touched::Touched;
use crate::lower::builder::{Builder, int};
use crate::lower::pieces::{Limits, choice};
use crate::lower::ring::Ring;
use crate::lower::shape::{BLOCK_BYTES, add, binary, cast, fill, scalar};
use crate::lower::{LowerError, shares};
use crate::product::Element;
use crate::program::{
    BinaryOp, BufferId, Burst, Expr, IntOp, Local, Pipe, Relation, ScalarOp, TensorId, Vector, VectorOp,
};

use corners::Corners;
use sixteen::Sixteen;
use sizes::{FRONT, LANES, MOST_POINTS, STEP, Sizes};
use slices::Slices;

/// The program's part.
struct Lowering {
    sizes: Sizes,
    channels: usize,
    size: [usize; 2],
    points: usize,
    gradient: TensorId,
    input: TensorId,
    output: TensorId,
    coordinates: Coordinates,
    planes: Ring,
    /// The plane in f32, of short types, and `grad_output`.
    table: Option<BufferId>,
    gradient_wide: Option<BufferId>,
    loaded: Ring,
    around: Around,
    /// Where the UB does not hold a plane.
    slices: Option<Slices>,
    /// Of x and y: eight lanes, and the blocks' sum.
    lanes: [BufferId; 2],
    totals: BufferId,
    order: BufferId,
    pairs_wide: Option<BufferId>,
    pairs: Ring,
}

/// The pixels around a point that its gradient follows from.
enum Around {
    Four(Corners),
    Sixteen(Sixteen),
}

impl Around {
    /// Offsets, and where their pixels go.
    fn parts(&self) -> (&[BufferId], &[BufferId]) {
        match self {
            Self::Four(corners) => corners.parts(),
            Self::Sixteen(sixteen) => sixteen.parts(),
        }
    }

    const fn taps(&self) -> Option<&Taps> {
        match self {
            Self::Four(_) => None,
            Self::Sixteen(sixteen) => Some(sixteen.taps()),
        }
    }
}

/// Lowers it.
pub(super) fn lower(
    b: &mut Builder,
    plan: &Plan,
    points: &[Range<usize>],
    ([gradient, input, grid], output): ([TensorId; 3], TensorId),
) -> Result<(), LowerError> {
    if !plan.reads_input() {
        return zero(b, plan, points, output);
    }
    let sizes = Sizes::new(plan, b.room())?;
    let limits = Limits { all: plan.points(), instructions: MOST_POINTS, bytes: b.room().local_bytes };
    b.piece(choice("tile_points", sizes.points, STEP, limits, |points| Sizes { points, ..sizes }.bytes()));
    let lowering = Lowering::new(b, plan, sizes, ([gradient, input, grid], output))?;
    lowering.begin(b);
    shares::planes(b, points, plan.points(), |b, image, from, to| {
        let step = sizes.points;
        b.repeat("point", (from.clone(), to.clone(), step), Some("tile_points"), |b, point| {
            let count = b.min("points", int(step), to.clone() - point.clone());
            b.tile("points", |b| lowering.tile(b, image, &point, &count));
        });
    });
    lowering.end(b);
    Ok(())
}

impl Lowering {
    fn new(
        b: &mut Builder,
        plan: &Plan,
        sizes: Sizes,
        ([gradient, input, grid], output): ([TensorId; 3], TensorId),
    ) -> Result<Self, LowerError> {
        let (problem, field) = (plan.problem(), Some("tile_points"));
        let (size, short) = (sizes.compute.size, sizes.compute.is_short());
        let coordinates = Coordinates::new(b, problem, grid, sizes.points)?;
        let pipes = [Pipe::Mte2, Pipe::V];
        let planes = Ring::new(b, ("plane", sizes.plane_bytes(), sizes.planes), Some("local_bytes"), &pipes);
        let loaded = Ring::new(b, ("gradient", size * sizes.points, 2), field, &pipes);
        let pairs = Ring::new(b, ("pairs", 2 * size * sizes.points, 2), field, &[Pipe::V, Pipe::Mte3]);
        let table = short.then(|| b.buffer("plane_f32", sizes.table_bytes(), 1, Some("local_bytes")));
        let taps = sizes.bicubic.then(|| Taps::new(b, problem, sizes.points, true));
        let mut vectors = |name: &str, count: usize| b.buffer(name, 4 * sizes.points * count, 1, field);
        let mut vector = |name: &str| vectors(name, 1);
        let around = match taps {
            Some(taps) => Around::Sixteen(Sixteen::new(taps, &mut vector)),
            None => Around::Four(Corners::new(&mut vector)),
        };
        let [within, part] = ["within", "part"].map(|name| sizes.is_sliced().then(|| vectors(name, 1)));
        let [lanes_x, lanes_y] = ["x_lanes", "y_lanes"].map(|name| vectors(name, LANES));
        let [totals, order] = ["totals", "order"].map(|name| vectors(name, 2));
        let gradient_wide = short.then(|| vectors("gradient_f32", 1));
        let pairs_wide = short.then(|| vectors("pairs_f32", 2));
        let slices = within.zip(part).map(|(within, part)| {
            let touched = Touched::new(b, problem, sizes.points);
            Slices { touched, within, part }
        });
        Ok(Self {
            sizes,
            channels: problem.c,
            size: [problem.wi, problem.hi],
            points: plan.points(),
            gradient,
            input,
            output,
            coordinates,
            planes,
            table,
            gradient_wide,
            loaded,
            around,
            slices,
            lanes: [lanes_x, lanes_y],
            totals,
            order,
            pairs_wide,
            pairs,
        })
    }

    fn begin(&self, b: &mut Builder) {
        // Zeros in front of the plane, and behind a slice of it.
        let sizes = &self.sizes;
        let ends = if sizes.is_sliced() { vec![0, sizes.table_bytes() - BLOCK_BYTES] } else { vec![0] };
        for end in ends {
            let guard = |b: &mut Builder, at: Local| fill(b, at, Element::F32, 0.0, int(FRONT));
            match self.table {
                Some(table) => guard(b, table.at(int(end))),
                None => (0..self.planes.slots()).for_each(|slot| guard(b, self.planes.slot_at(slot, end))),
            }
        }
        self.coordinates.begin(b);
        for ring in [&self.planes, &self.loaded, &self.pairs] {
            ring.begin(b);
        }
        // x and y of a point, one after the other: of eight points one by one, then of twice as many each time.
        b.repeat("k", (0, 8, 1), None, |b, k| {
            for (axis, first) in [0, self.sizes.points].into_iter().enumerate() {
                let at = self.order.at(k.clone() * 8 + int(4 * axis));
                b.write(at, Element::U32, k.clone() * 4 + int(4 * first));
            }
        });
        let flag = b.flag_id(Pipe::S, Pipe::V);
        b.after(Pipe::S, Pipe::V, flag);
        let (mut done, all) = (16, 2 * self.sizes.points);
        while done < all {
            let more = done.min(all - done);
            let operands = [self.order.at(int(4 * done)), self.order.at(0)];
            scalar(b, ScalarOp::Adds, Element::I32, operands, int(done / 2 * 4), int(more));
            done += more;
        }
    }

    fn end(&self, b: &mut Builder) {
        self.coordinates.finish(b);
        for ring in [&self.planes, &self.loaded, &self.pairs] {
            ring.end(b);
        }
    }

    fn tile(&self, b: &mut Builder, image: &Expr, point: &Expr, count: &Expr) {
        let all = int(self.sizes.points);
        let at = image.clone() * int(self.points) + point.clone();
        self.coordinates.find(b, &at, count);
        let taps = self.around.taps();
        if let Some(taps) = taps {
            taps.find(b, &self.coordinates, count);
        }
        let rows = self.slices.as_ref().map(|slices| slices.touched.find(b, &self.coordinates, taps, (point, count)));
        let sliced = self.slices.is_some();
        match &self.around {
            Around::Four(corners) => corners.find(b, &self.coordinates, self.size, (sliced, count)),
            Around::Sixteen(sixteen) => sixteen.find(b, &self.coordinates, self.size, (sliced, count)),
        }
        fill(b, self.totals.at(0), Element::F32, 0.0, all * 2);
        let (channels, block) = (int(self.channels), CHANNEL_BLOCK.get());
        b.repeat("block", (0, channels, block), Some("tile_channels"), |b, block_at| {
            let to = b.min("to", channels, block_at.clone() + int(block));
            for lanes in self.lanes {
                fill(b, lanes.at(0), Element::F32, 0.0, all * int(LANES));
            }
            b.repeat("channel", (block_at, to, 1), Some("tile_channels"), |b, channel| {
                self.channel(b, image, &channel, (point, count), rows.as_ref());
            });
            for (axis, lanes) in self.lanes.into_iter().enumerate() {
                for half in [4, 2, 1] {
                    add(b, &lanes.at(0), lanes.at(all * 4 * half), all * half);
                }
                add(b, &self.totals.at(all * 4 * int(axis)), lanes.at(0), all);
            }
        });
        self.finish(b, &at, count);
    }

    /// Loads so many pixels of a plane from one on, and gives the table that has them in f32 behind its zeros.
    fn load_plane(&self, b: &mut Builder, plane: &Expr, (first, pixels): (&Expr, &Expr)) -> Local {
        let compute = self.sizes.compute;
        let size = int(compute.size);
        self.planes.enter(b);
        let front = if self.table.is_some() { 0 } else { int(BLOCK_BYTES) };
        let from = self.input.at((plane.clone() * int(self.sizes.pixels) + first.clone()) * size);
        b.load(self.planes.at(front), from, Burst::of(pixels.clone() * size), None);
        self.planes.pass(b, 0);
        let Some(table) = self.table else { return self.planes.at(0) };
        let from = (self.planes.at(0), compute.element);
        cast(b, (table.at(int(BLOCK_BYTES)), Element::F32), from, pixels.clone());
        table.at(0)
    }

    /// The pixels around points, from a plane that is there as a whole.
    fn gather(&self, b: &mut Builder, plane: &Expr, count: &Expr) {
        let table = self.load_plane(b, plane, (&0.into(), &int(self.sizes.pixels).into()));
        let (offsets, pixels) = self.around.parts();
        for (to, offsets) in pixels.iter().zip(offsets) {
            let operands = [to.at(0), table.clone(), offsets.at(0)];
            b.vector(Vector::new(VectorOp::Gather(Element::F32), operands).count(count.clone()));
        }
        self.planes.leave(b);
    }

    /// Adds a channel's part of the gradients; `rows` of the image are those that the points mix.
    fn channel(
        &self,
        b: &mut Builder,
        image: &Expr,
        channel: &Expr,
        (point, count): (&Expr, &Expr),
        rows: Option<&[Expr; 2]>,
    ) {
        let Sizes { compute, points, .. } = self.sizes;
        let size = int(compute.size);
        let plane = image.clone() * int(self.channels) + channel.clone();
        self.loaded.enter(b);
        let from = self.gradient.at((plane.clone() * int(self.points) + point.clone()) * size);
        b.load(self.loaded.at(0), from, Burst::of(count.clone() * size), None);
        self.loaded.pass(b, 0);
        match (&self.slices, rows) {
            (Some(slices), Some(rows)) => self.gather_slices(b, slices, (&plane, rows), count),
            _ => self.gather(b, &plane, count),
        }
        if let Around::Sixteen(sixteen) = &self.around {
            sixteen.add_up(b, count);
        }
        let gradient = match self.gradient_wide {
            Some(to) => {
                cast(b, (to.at(0), Element::F32), (self.loaded.at(0), compute.element), count.clone());
                to.at(0)
            }
            None => self.loaded.at(0),
        };

        let lane = b.op("lane", IntOp::Mod, channel.clone(), int(LANES)) * int(4 * points);
        for (axis, lanes) in self.lanes.into_iter().enumerate() {
            let slope = match &self.around {
                Around::Four(corners) => corners.slope(b, &self.coordinates, axis, count),
                Around::Sixteen(sixteen) => sixteen.slope(axis),
            };
            binary(b, BinaryOp::Mul, Element::F32, [slope.clone(), gradient.clone(), slope.clone()], count.clone());
            let sum = lanes.at(lane.clone());
            binary(b, BinaryOp::Add, Element::F32, [sum.clone(), sum, slope], count.clone());
        }
        self.loaded.leave(b);
    }

    /// Multiplies, puts pairs together and stores them.
    fn finish(&self, b: &mut Builder, at: &Expr, count: &Expr) {
        let all = int(self.sizes.points);
        let compute = self.sizes.compute;
        for (axis, of) in self.coordinates.axes().iter().enumerate() {
            let sum = self.totals.at(all * 4 * int(axis));
            binary(b, BinaryOp::Mul, Element::F32, [sum.clone(), of.multiplier.at(0), sum.clone()], count.clone());
            for of in self.coordinates.axes() {
                let there = (Relation::Ge, self.coordinates.first_cell());
                self.coordinates.keep(b, &of.cell.at(0), there, (&sum, 0.0), count);
            }
        }
        self.pairs.enter(b);
        let to = self.pairs_wide.map_or_else(|| self.pairs.at(0), |wide| wide.at(0));
        let operands = [to.clone(), self.totals.at(0), self.order.at(0)];
        b.vector(Vector::new(VectorOp::Gather(Element::F32), operands).count(count.clone() * 2));
        if self.pairs_wide.is_some() {
            cast(b, (self.pairs.at(0), compute.element), (to, Element::F32), count.clone() * 2);
        }
        self.pairs.pass(b, 0);
        let size = int(2 * compute.size);
        b.store(self.output.at(at.clone() * size), self.pairs.at(0), Burst::of(count.clone() * size));
        self.pairs.leave(b);
    }
}

/// The nearest pixel does not change with the point.
fn zero(b: &mut Builder, plan: &Plan, points: &[Range<usize>], output: TensorId) -> Result<(), LowerError> {
    let size = 2 * plan.problem().dtype.size();
    let step = plan.points().min(2048).min(b.room().local_bytes / size);
    if step == 0 {
        return Err(LowerError::LocalBytes { got: b.room().local_bytes, want: size });
    }
    let zeros = b.buffer("zeros", step * size, 1, Some("tile_points"));
    let flag = b.flag_id(Pipe::V, Pipe::Mte3);
    fill(b, zeros.at(0), Element::U16, 0, int(step * size / 2));
    b.after(Pipe::V, Pipe::Mte3, flag);
    let first = b.per_core("first_point", points.iter().map(|range| int(range.start)).collect());
    let last = b.per_core("last_point", points.iter().map(|range| int(range.end)).collect());
    b.repeat("point", (first, last.clone(), step), Some("tile_points"), |b, point| {
        let count = b.min("points", int(step), last - point.clone());
        let burst = Burst::of(count * int(size));
        b.tile("points", |b| b.store(output.at(point * int(size)), zeros.at(0), burst));
    });
    Ok(())
}
