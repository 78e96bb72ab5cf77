//! What channels add to the gradients of points.

use super::beside::Beside;
use super::lanes::{Lanes, TOGETHER};
use super::planes::Planes;
use super::sizes::{LANES, Sizes};
use super::{Around, Lowering};
use crate::lower::builder::{Builder, int};
use crate::lower::shape::{Run, cast};
use crate::product::Element;
use crate::program::{BinaryOp, Burst, Expr, IntOp, Local};

impl Lowering {
    /// Adds a channel's part of the gradients; `rows` of the image are those that the points mix.
    pub(super) fn channel(
        &self,
        b: &mut Builder,
        planes: &Planes,
        (image, channel): (&Expr, &Expr),
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
        planes.gather(b, &self.around, (&plane, rows), count);
        if let Around::Sixteen(sixteen) = &self.around {
            sixteen.add_up(b, Lanes::Points(count));
        }
        let gradient = self.widen(b, count);
        let lane = b.op("lane", IntOp::Mod, channel.clone(), int(LANES)) * int(4 * points);
        self.add(b, Lanes::Points(count), (&gradient, &lane));
        self.loaded.leave(b);
    }

    /// Adds some channels' parts.
    pub(super) fn some_channels(
        &self,
        b: &mut Builder,
        beside: &Beside,
        (image, channel, channels): (&Expr, &Expr, &Expr),
        (point, count): (&Expr, &Expr),
        rows: Option<&[Expr; 2]>,
    ) {
        let Sizes { compute, points, .. } = self.sizes;
        let size = compute.size;
        self.loaded.enter(b);
        let plane = image.clone() * int(self.channels) + channel.clone();
        let from = self.gradient.at((plane * int(self.points) + point.clone()) * int(size));
        let run = Run::new(b, 0.into(), count.clone() * int(size));
        let pitch = (int(self.points * size).into(), compute.element);
        run.load(b, self.loaded.at(0), from, channels.clone(), points * size, pitch);
        self.loaded.pass(b, 0);
        let gradient = self.widen(b, &int(beside.channels() * points).into());
        beside.find(b, &self.around, (image, channel, channels), rows, count);
        b.repeat("some", (0, channels.clone(), TOGETHER), Some("tile_channels"), |b, some| {
            let n = b.min("n", int(TOGETHER), channels.clone() - some.clone());
            let lanes = Lanes::Channels(&n, points);
            if let Some(to) = self.around.pixels().first() {
                beside.turn(b, &some, to);
            }
            if let Around::Sixteen(sixteen) = &self.around {
                sixteen.add_up(b, lanes);
            }
            self.add(b, lanes, (&gradient.further(some * int(4 * points)), &0.into()));
        });
        self.loaded.leave(b);
    }

    /// So many lanes of `grad_output` in f32.
    fn widen(&self, b: &mut Builder, count: &Expr) -> Local {
        match self.gradient_wide {
            Some(to) => {
                let from = (self.loaded.at(0), self.sizes.compute.element);
                cast(b, (to.at(0), Element::F32), from, count.clone());
                to.at(0)
            }
            None => self.loaded.at(0),
        }
    }

    /// Adds slopes times `grad_output` to sums, from a lane of them on.
    fn add(&self, b: &mut Builder, lanes: Lanes<'_>, (gradient, lane): (&Local, &Expr)) {
        let pitch = 4 * self.sizes.points;
        for (axis, sums) in self.lanes.into_iter().enumerate() {
            let slope = match &self.around {
                Around::Four(corners) => corners.slope(b, &self.coordinates, axis, lanes),
                Around::Sixteen(sixteen) => sixteen.slope(axis),
            };
            lanes.binary(b, BinaryOp::Mul, [slope.clone(), (gradient.clone(), pitch), slope.clone()]);
            let sum = (sums.at(lane.clone()), pitch);
            lanes.binary(b, BinaryOp::Add, [sum.clone(), sum, slope]);
        }
    }
}
