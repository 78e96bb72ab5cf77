//! Point after point: channels side by side.

use super::Lowering;
use crate::lower::builder::{Builder, int};
use crate::lower::ring::Ring;
use crate::lower::shape::{Compute, LANES, add, binary, blocks, cast, fill, scalar};
use crate::product::Element;
use crate::program::{
    BinaryOp, BufferId, Burst, Expr, Float, Local, Numbers, Pipe, ReduceOp, Relation, ScalarOp, Vector, VectorOp,
};

/// Buffers for the channels of a point.
pub(super) struct Channels {
    /// `grad_output` of a group of points, and of one in f32 where that is another type.
    gradient: Ring,
    gradient_wide: Option<BufferId>,
    /// A pixel's contributions to `input_grad`.
    products: Ring,
    slopes: Option<Slopes>,
}

/// What `grid_grad` needs of a point.
struct Slopes {
    /// A pixel of `input`.
    pixel: Ring,
    pixel_wide: Option<BufferId>,
    term: BufferId,
    /// Of x and y: sums of each channel, of repeats, and of all.
    sums: [BufferId; 2],
    parts: [BufferId; 2],
    totals: [BufferId; 2],
    /// From V to the scalar unit.
    ready: u8,
}

impl Channels {
    pub(super) fn new(b: &mut Builder, compute: Compute, channels: usize, group: usize, nearest: bool) -> Self {
        let (field, bytes, wide_bytes) = (Some("channel"), blocks(compute.size * channels), blocks(4 * channels));
        let loads = [Pipe::Mte2, Pipe::V];
        let gradient = Ring::new(b, ("gradient", group * bytes, 2), field, &loads);
        let short = compute.is_short() && !nearest;
        let gradient_wide = short.then(|| b.buffer("gradient_f32", wide_bytes, 1, field));
        let products = Ring::new(b, ("products", wide_bytes, 2), field, &[Pipe::V, Pipe::Mte3]);
        let slopes = (!nearest).then(|| Slopes {
            pixel: Ring::new(b, ("pixel", bytes, 2), field, &loads),
            pixel_wide: short.then(|| b.buffer("pixel_f32", wide_bytes, 1, field)),
            term: b.buffer("term", wide_bytes, 1, field),
            sums: ["x_sums", "y_sums"].map(|name| b.buffer(name, wide_bytes, 1, field)),
            parts: ["x_parts", "y_parts"].map(|name| b.buffer(name, 4 * channels.div_ceil(LANES), 1, field)),
            totals: ["x_total", "y_total"].map(|name| b.buffer(name, 4, 1, None)),
            ready: b.flag_id(Pipe::V, Pipe::S),
        });
        Self { gradient, gradient_wide, products, slopes }
    }

    fn rings(&self) -> impl Iterator<Item = &Ring> {
        [&self.gradient, &self.products].into_iter().chain(self.slopes.as_ref().map(|slopes| &slopes.pixel))
    }

    pub(super) fn begin(&self, b: &mut Builder) {
        self.rings().for_each(|ring| ring.begin(b));
    }

    pub(super) fn end(&self, b: &mut Builder) {
        self.rings().for_each(|ring| ring.end(b));
    }
}

impl Lowering {
    /// The point so far behind the first one of a chunk.
    pub(super) fn point(&self, b: &mut Builder, first: &Expr, k: &Expr) {
        let Some(slopes) = &self.rows.slopes else { return };
        let lanes = int(self.channels);
        let point = first.clone() + k.clone();
        let image = b.div("image", point.clone(), self.points);
        self.load(b, &self.rows.gradient, self.grad_output.at(point * self.bytes()), 1.into());
        let gradient = self.widen(b, self.rows.gradient.at(0), self.rows.gradient_wide);
        for sums in slopes.sums {
            fill(b, sums.at(0), Element::F32, 0.0, lanes);
        }
        let [x, y] = self.cell(b, k);
        let axes = self.coordinates.axes();
        let [[bx, ax], [by, ay]] = [("x", &axes[0]), ("y", &axes[1])].map(|(name, axis)| {
            [("before", axis.before), ("after", axis.after)]
                .map(|(side, distance)| b.read_float(&format!("{name}_{side}_f32"), distance.at(k.clone() * 4)))
        });
        let minus = |b: &mut Builder, name: &str, of: Float| b.product(name, of, -1.0);
        let [minus_bx, minus_ax] = [minus(b, "minus_bx", bx), minus(b, "minus_ax", ax)];
        let [minus_by, minus_ay] = [minus(b, "minus_by", by), minus(b, "minus_ay", ay)];
        // How the weights of nw, ne, sw and se change along x and y.
        let changes = [[minus_by, minus_bx], [by, minus_ax], [minus_ay, bx], [ay, ax]];
        for (corner, (weights, changes)) in self.weights.into_iter().zip(changes).enumerate() {
            let (column, row) = (x.clone() + int(corner % 2), y.clone() + int(corner / 2));
            self.inside(b, [&column, &row], |b| {
                let weight = b.read_float("weight", weights.at(k.clone() * 4));
                let pixel = self.pixel(&image, [&column, &row]);
                self.load(b, &slopes.pixel, self.input.at(pixel.clone() * self.bytes()), 1.into());
                let value = self.widen(b, slopes.pixel.at(0), slopes.pixel_wide);
                for (sums, change) in slopes.sums.into_iter().zip(changes) {
                    let term = slopes.term.at(0);
                    scalar(b, ScalarOp::Muls, Element::F32, [term.clone(), value.clone()], change, lanes);
                    binary(b, BinaryOp::Mul, Element::F32, [term.clone(), term.clone(), gradient.clone()], lanes);
                    add(b, &sums.at(0), term, lanes);
                }
                slopes.pixel.leave(b);
                self.rows.products.enter(b);
                let operands = [self.rows.products.at(0), gradient.clone()];
                scalar(b, ScalarOp::Muls, Element::F32, operands, weight, lanes);
                self.put(b, &pixel);
            });
        }
        self.rows.gradient.leave(b);
        self.sum(b, slopes, k);
    }

    /// A group of points, so far behind the first one of a chunk, each of which adds to the nearest pixel.
    pub(super) fn group(&self, b: &mut Builder, first: &Expr, group: &Expr, count: &Expr) {
        let from = self.grad_output.at((first.clone() + group.clone()) * self.bytes());
        self.load(b, &self.rows.gradient, from, count.clone());
        b.repeat("k", (0, count.clone(), 1), Some("group"), |b, k| {
            let at = group.clone() + k.clone();
            let image = b.div("image", first.clone() + at.clone(), self.points);
            let [x, y] = self.cell(b, &at);
            self.inside(b, [&x, &y], |b| {
                self.rows.products.enter(b);
                let to = self.rows.products.at(0);
                let from = self.rows.gradient.at(k * int(blocks(self.channels * self.compute.size)));
                let lanes = int(self.channels);
                if self.compute.is_short() {
                    cast(b, (to, Element::F32), (from, self.compute.element), lanes);
                } else {
                    scalar(b, ScalarOp::Muls, Element::F32, [to, from], 1.0, lanes);
                }
                self.put(b, &self.pixel(&image, [&x, &y]));
            });
        });
        self.rows.gradient.leave(b);
    }

    /// Adds up the changes of all channels, and writes them as `grid_grad`.
    fn sum(&self, b: &mut Builder, slopes: &Slopes, k: &Expr) {
        let op = VectorOp::Reduce(ReduceOp::Sum, Element::F32);
        let repeats = self.channels.div_ceil(LANES);
        for ((sums, parts), totals) in slopes.sums.into_iter().zip(slopes.parts).zip(slopes.totals) {
            b.vector(Vector::new(op, [parts.at(0), sums.at(0)]).count(int(self.channels)));
            b.vector(Vector::new(op, [totals.at(0), parts.at(0)]).count(int(repeats)));
        }
        b.after(Pipe::V, Pipe::S, slopes.ready);
        let axes = self.coordinates.axes().iter().zip(slopes.totals).zip([0, 4]);
        for ((axis, total), at) in axes {
            let total = b.read_float("total", total.at(0));
            let multiplier = b.read_float("multiplier", axis.multiplier.at(k.clone() * 4));
            let gradient = b.product("gradient", total, multiplier);
            b.write(self.pairs.at(k.clone() * 8 + at), Element::F32, gradient);
        }
    }

    /// Column and row of a point's cell.
    fn cell(&self, b: &mut Builder, k: &Expr) -> [Expr; 2] {
        let [[x, wi], [y, hi]] = [0, 1].map(|axis| [axis, self.size[axis]]);
        [("x", x, wi), ("y", y, hi)].map(|(name, axis, size)| {
            let assume = Numbers { from: 0, to: int(size), step: 1 };
            b.read(name, self.cells[axis].at(k.clone() * 4), Element::I32, assume)
        })
    }

    /// What is done with a pixel that is there.
    fn inside(&self, b: &mut Builder, [column, row]: [&Expr; 2], body: impl FnOnce(&mut Builder)) {
        let [wi, hi] = self.size.map(int);
        b.when(column.clone(), Relation::Ge, 0, |b| {
            b.when(column.clone(), Relation::Lt, wi, |b| {
                b.when(row.clone(), Relation::Ge, 0, |b| b.when(row.clone(), Relation::Lt, hi, body));
            });
        });
    }

    /// A pixel, counted over all images.
    fn pixel(&self, image: &Expr, [column, row]: [&Expr; 2]) -> Expr {
        let [wi, hi] = self.size;
        image.clone() * int(wi * hi) + row.clone() * int(wi) + column.clone()
    }

    /// Bytes of the channels of a point or pixel.
    fn bytes(&self) -> i64 {
        int(self.channels * self.compute.size)
    }

    /// The channels of some points or pixels, one behind the other.
    fn load(&self, b: &mut Builder, to: &Ring, from: crate::program::Global, count: Expr) {
        to.enter(b);
        let burst = Burst { blocks: count, bytes: self.bytes().into(), from_gap: 0.into(), to_gap: 0.into() };
        b.load(to.at(0), from, burst, None);
        to.pass(b, 0);
    }

    /// The same channels in f32.
    fn widen(&self, b: &mut Builder, from: Local, wide: Option<BufferId>) -> Local {
        let Some(wide) = wide else { return from };
        cast(b, (wide.at(0), Element::F32), (from, self.compute.element), int(self.channels));
        wide.at(0)
    }

    /// Adds the products to a pixel of `input_grad`.
    fn put(&self, b: &mut Builder, pixel: &Expr) {
        let products = &self.rows.products;
        products.pass(b, 0);
        let bytes = int(4 * self.channels);
        b.store_adding(self.sums.at(pixel.clone() * bytes), products.at(0), Burst::of(bytes), Some(Element::F32));
        products.leave(b);
    }
}
