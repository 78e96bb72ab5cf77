//! `grid_grad`: points side by side, channel by channel, or some channels at a time where nothing gathers.

mod beside;
mod channels;
mod corners;
mod lanes;
mod offsets;
mod planes;
mod sixteen;
mod sizes;

use std::ops::Range;

use ubtile_tiling::grid_sampler_2d_backward::{CHANNEL_BLOCK, Plan};

use super::bicubic::{AxisTaps, Taps};
use super::coordinates::Coordinates;
use super::touched::Touched;
use crate::lower::builder::{Builder, int};
use crate::lower::pieces::{Limits, choice};
use crate::lower::ring::Ring;
use crate::lower::shape::{add, binary, cast, fill, scalar};
use crate::lower::{LowerError, bits_of, shares};
use crate::product::Element;
use crate::program::{BinaryOp, BufferId, Burst, Expr, Local, Pipe, Relation, ScalarOp, TensorId, Vector, VectorOp};

use beside::Beside;
use corners::Corners;
use planes::{Planes, Slices};
use sixteen::Sixteen;
use sizes::{LANES, MOST_POINTS, Sizes};

/// The program's part.
struct Lowering {
    sizes: Sizes,
    channels: usize,
    size: [usize; 2],
    points: usize,
    gradient: TensorId,
    output: TensorId,
    coordinates: Coordinates,
    /// `grad_output`, and in f32, of short types.
    loaded: Ring,
    gradient_wide: Option<BufferId>,
    around: Around,
    pixels: Pixels,
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

/// Where they come from.
enum Pixels {
    Planes(Planes),
    /// Where nothing gathers.
    Beside(Beside),
}

impl Around {
    /// Where they are in a plane.
    const fn offsets(&self) -> &[BufferId] {
        match self {
            Self::Four(corners) => corners.offsets(),
            Self::Sixteen(sixteen) => sixteen.offsets(),
        }
    }

    /// Where they go, those of one channel.
    fn pixels(&self) -> Vec<Local> {
        let places = match self {
            Self::Four(corners) => corners.pixels(),
            Self::Sixteen(sixteen) => sixteen.pixels(),
        };
        places.iter().copied().map(lanes::at).collect()
    }

    /// What pixels or sums of them are multiplied with.
    fn weights(&self, of: &Coordinates) -> Vec<BufferId> {
        match self.taps() {
            None => of.axes().iter().flat_map(|axis| [axis.before, axis.after]).collect(),
            Some(taps) => {
                let of_axis = |axis: &AxisTaps| axis.weights.into_iter().chain(axis.slopes.into_iter().flatten());
                taps.axes().iter().flat_map(of_axis).collect()
            }
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
    b.piece(choice("tile_points", sizes.points, sizes.step(), limits, |points| Sizes { points, ..sizes }.bytes()));
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
        let (name, bytes) = match sizes.channels {
            Some(channels) => ("planes", sizes.staged_bytes(channels, size)),
            None => ("plane", sizes.plane_bytes()),
        };
        let planes = Ring::new(b, (name, bytes, sizes.planes), Some("local_bytes"), &pipes);
        let gradients = sizes.channels.unwrap_or(1);
        let loaded = Ring::new(b, ("gradient", sizes.gradient_bytes(gradients, size), 2), field, &pipes);
        let pairs = Ring::new(b, ("pairs", 2 * size * sizes.points, 2), field, &[Pipe::V, Pipe::Mte3]);
        let gathers = sizes.channels.is_none();
        let table = (short && gathers).then(|| b.buffer("plane_f32", sizes.table_bytes(), 1, Some("local_bytes")));
        let taps = sizes.bicubic.then(|| Taps::new(b, problem, sizes.points, true));
        let mut vectors = |name: &str, count: usize| b.buffer(name, 4 * sizes.points * count, 1, field);
        let lanes_of = (sizes.points, sizes.together());
        let around = match taps {
            Some(taps) => Around::Sixteen(Sixteen::new(taps, lanes_of, &mut vectors)),
            None => Around::Four(Corners::new(lanes_of, &mut vectors)),
        };
        let sliced = ["within", "part"].map(|name| (gathers && sizes.is_sliced()).then(|| vectors(name, 1)));
        let [lanes_x, lanes_y] = ["x_lanes", "y_lanes"].map(|name| vectors(name, LANES));
        let [totals, order] = ["totals", "order"].map(|name| vectors(name, 2));
        let gradient_wide = short.then(|| vectors("gradient_f32", gradients));
        let pairs_wide = short.then(|| vectors("pairs_f32", 2));
        let pixels = match sizes.channels {
            Some(channels) => Pixels::Beside(Beside::new(b, problem, (sizes, channels), (input, planes))),
            None => {
                let slices = match sliced {
                    [Some(within), Some(part)] => Some(Slices::new(b, problem, sizes.points, [within, part])),
                    _ => None,
                };
                Pixels::Planes(Planes { sizes, input, width: problem.wi, ring: planes, table, slices })
            }
        };
        Ok(Self {
            sizes,
            channels: problem.c,
            size: [problem.wi, problem.hi],
            points: plan.points(),
            gradient,
            output,
            coordinates,
            loaded,
            gradient_wide,
            around,
            pixels,
            lanes: [lanes_x, lanes_y],
            totals,
            order,
            pairs_wide,
            pairs,
        })
    }

    fn begin(&self, b: &mut Builder) {
        match &self.pixels {
            Pixels::Planes(planes) => planes.begin(b),
            Pixels::Beside(beside) => {
                // Channels and points that are not there are computed with, not looked at.
                for weights in self.around.weights(&self.coordinates) {
                    fill(b, weights.at(0), Element::F32, 0.0, int(self.sizes.points));
                }
                let lanes = int(self.sizes.gradient_bytes(beside.channels(), 1));
                for slot in 0..self.loaded.slots() {
                    fill(b, self.loaded.slot_at(slot, 0), bits_of(self.sizes.compute.element), 0, lanes);
                }
                beside.begin(b);
            }
        }
        self.coordinates.begin(b);
        if let Pixels::Planes(planes) = &self.pixels {
            planes.ring.begin(b);
        }
        for ring in [&self.loaded, &self.pairs] {
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
        match &self.pixels {
            Pixels::Planes(planes) => planes.ring.end(b),
            Pixels::Beside(beside) => beside.end(b),
        }
        for ring in [&self.loaded, &self.pairs] {
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
        let touched = self.touched();
        let rows = touched.map(|touched| touched.find(b, &self.coordinates, taps, (point, count)));
        // Numbers of pixels become offsets in each slice.
        let sliced = touched.is_some() || matches!(self.pixels, Pixels::Beside(_));
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
            match &self.pixels {
                Pixels::Planes(planes) => {
                    b.repeat("channel", (block_at, to, 1), Some("tile_channels"), |b, channel| {
                        self.channel(b, planes, (image, &channel), (point, count), rows.as_ref());
                    });
                }
                Pixels::Beside(beside) => {
                    let step = beside.channels();
                    b.repeat("channel", (block_at, to.clone(), step), Some("tile_channels"), |b, channel| {
                        let n = b.min("channels", int(step), to - channel.clone());
                        self.some_channels(b, beside, (image, &channel, &n), (point, count), rows.as_ref());
                    });
                }
            }
            for (axis, lanes) in self.lanes.into_iter().enumerate() {
                for half in [4, 2, 1] {
                    add(b, &lanes.at(0), lanes.at(all * 4 * half), all * half);
                }
                add(b, &self.totals.at(all * 4 * int(axis)), lanes.at(0), all);
            }
        });
        self.finish(b, &at, count);
    }

    fn touched(&self) -> Option<&Touched> {
        match &self.pixels {
            Pixels::Planes(planes) => planes.touched(),
            Pixels::Beside(beside) => beside.touched(),
        }
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
