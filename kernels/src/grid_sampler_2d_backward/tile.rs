//! One tile on boxes of its own, which are computed like an image in place.

use ubtile_tiling::Tensor;
use ubtile_tiling::grid_sampler_2d_backward::{Plan, Tile};

use super::TileBoxes;
use super::direct::{Direct, PixelSums};
use super::grid_grad::GridGrad;
use super::planes::Planes;
use super::sources::Sources;
use super::stored::Stored;
use super::windows::Window;
use crate::RunError;
use crate::level::Level;

/// A tile and its boxes, checked.
#[derive(Debug)]
pub(crate) struct OneTile<'a, T: Stored> {
    sources: Sources<'a, T>,
    tile: Tile,
    input_grad: &'a mut [T],
    /// Empty where `input_grad` holds the sums.
    sums: &'a mut [T::Acc],
    grid_grad: &'a mut [T],
    totals: &'a mut [T::Acc],
}

const fn length([start, end]: [usize; 2]) -> usize {
    end.saturating_sub(start)
}

impl<'a, T: Stored<Acc: Stored>> OneTile<'a, T> {
    pub(crate) fn new(plan: &'a Plan, level: Level, tile: &Tile, boxes: TileBoxes<'a>) -> Result<Self, RunError> {
        let (p, channels, points) = (plan.problem(), length(tile.channels), length(tile.points));
        let band = length(tile.rows).saturating_mul(p.wi);
        let (planes, bands) = (channels.saturating_mul(plan.pixels()), channels.saturating_mul(band));
        let pairs = points.saturating_mul(2);
        boxes.grad_output.check_box(Tensor::GradOutput, p.dtype, channels.saturating_mul(points))?;
        boxes.input.check_box(Tensor::Input, p.dtype, planes)?;
        boxes.grid.check_box(Tensor::Grid, p.dtype, pairs)?;
        if p.want_input_grad {
            boxes.input_grad.as_values().check_box(Tensor::InputGrad, p.dtype, bands)?;
            if plan.sums_apart() {
                boxes.input_grad_sums.as_values().check_box(Tensor::InputGrad, plan.sums_dtype(), bands)?;
            }
        }
        let blocks = plan.blocks().get() > 1;
        if tile.makes_grid_grad {
            boxes.grid_grad.as_values().check_box(Tensor::GridGrad, p.dtype, pairs)?;
            if blocks {
                boxes.totals.as_values().check_box(Tensor::GridGrad, plan.sums_dtype(), pairs)?;
            }
        }
        let (grad_output, input, grid) = (T::read(boxes.grad_output), T::read(boxes.input), T::read(boxes.grid));
        Ok(Self {
            sources: Sources { plan, level, grad_output, input, grid },
            tile: *tile,
            input_grad: T::write(boxes.input_grad),
            sums: if plan.sums_apart() { <T::Acc as Stored>::write(boxes.input_grad_sums) } else { &mut [] },
            grid_grad: T::write(boxes.grid_grad),
            totals: if blocks { <T::Acc as Stored>::write(boxes.totals) } else { &mut [] },
        })
    }
}

impl<T: Stored> OneTile<'_, T> {
    pub(crate) fn run(self) {
        let (plan, tile, sources) = (self.sources.plan, self.tile, self.sources);
        let p = plan.problem();
        let (channels, points) = (length(tile.channels), length(tile.points));
        let line = [1, points];
        let pairs = [1, points.wrapping_mul(2), 2];
        let image = Direct {
            grid: Planes::new(sources.grid, 0, line, pairs),
            grad_output: Planes::new(sources.grad_output, 0, line, [points, points, 1]),
            input: Planes::new(sources.input, 0, [p.hi, p.wi], [plan.pixels(), p.wi, 1]),
            image: sources.window([p.wi, 1]),
            channels,
            ..sources.direct(0)
        };
        let mut grid_grad = tile.makes_grid_grad.then(|| GridGrad {
            out: Planes::new(self.grid_grad, 0, line, pairs),
            totals: self.totals.as_chunks_mut::<2>().0,
            first: tile.channels[0] == 0,
            last: tile.channels[1] == p.c,
        });
        let rows = length(tile.rows);
        let channel = rows.wrapping_mul(p.wi);
        let all = channels.wrapping_mul(channel);
        let apart = plan.sums_apart();
        let data = if apart { Some(&mut *self.sums) } else { T::as_sums(&mut *self.input_grad) };
        let data = data.filter(|_| p.want_input_grad).and_then(|data| data.get_mut(..all));
        let mut sums = data.map(|data| {
            if tile.first_points {
                data.fill(T::Acc::default());
            }
            let window = Window { first: [tile.rows[0], 0], size: [rows, p.wi], strides: [p.wi, 1] };
            PixelSums { data, base: 0, channel, window, channels: 0..channels }
        });
        image.visit(0..points, plan.reads_input(), grid_grad.as_mut(), sums.as_mut());
        if !tile.last_points || !p.want_input_grad {
            return;
        }
        if apart {
            for (to, &sum) in self.input_grad.iter_mut().zip(&*self.sums).take(all) {
                *to = T::narrow(sum);
            }
        } else {
            for sum in self.input_grad.iter_mut().take(all) {
                *sum = T::narrow(sum.widen());
            }
        }
    }
}
