//! The inputs of a problem, image by image.

use core::ops::Range;

use ubtile_tiling::grid_sampler_2d_backward::{CHANNEL_BLOCK, Interpolation, Plan, Problem};

use super::bicubic::Bicubic;
use super::cells::Axes;
use super::channels_last::ChannelsLast;
use super::direct::Direct;
use super::planes::Planes;
use super::windows::Window;
use crate::element::Element;
use crate::level::Level;

/// The inputs and what to make of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sources<'a, T> {
    pub(crate) plan: &'a Plan,
    pub(crate) level: Level,
    pub(crate) grad_output: &'a [T],
    pub(crate) input: &'a [T],
    pub(crate) grid: &'a [T],
}

impl<'a, T: Element> Sources<'a, T> {
    fn problem(&self) -> &'a Problem {
        self.plan.problem()
    }

    /// `grid` of an image; its channels are x and y.
    pub(crate) fn grid(&self, n: usize) -> Planes<&'a [T]> {
        let [image, row, column, axis] = self.problem().grid_strides;
        Planes::new(self.grid, n.wrapping_mul(image), [self.problem().ho, self.problem().wo], [axis, row, column])
    }

    /// `grad_output` of an image from a channel on.
    pub(crate) fn grad_output(&self, n: usize, c: usize) -> Planes<&'a [T]> {
        let (p, [image, channel, row, column]) = (self.problem(), self.problem().grad_output_strides);
        let base = n.wrapping_mul(image).wrapping_add(c.wrapping_mul(channel));
        Planes::new(self.grad_output, base, [p.ho, p.wo], [channel, row, column])
    }

    /// `input` of an image from a channel on.
    pub(crate) fn input(&self, n: usize, c: usize) -> Planes<&'a [T]> {
        let (p, [image, channel, row, column]) = (self.problem(), self.problem().input_strides);
        let base = n.wrapping_mul(image).wrapping_add(c.wrapping_mul(channel));
        Planes::new(self.input, base, [p.hi, p.wi], [channel, row, column])
    }

    /// What finds the cells of points.
    pub(crate) fn axes(&self) -> Axes<T::Acc> {
        Axes::new(self.problem())
    }

    fn bicubic(&self) -> Option<Bicubic> {
        (self.problem().interpolation == Interpolation::Bicubic).then(|| Bicubic::new(self.problem()))
    }

    /// All pixels of a plane, with the distances from a row and a column to the next.
    pub(crate) fn window(&self, strides: [usize; 2]) -> Window {
        Window { first: [0, 0], size: [self.problem().hi, self.problem().wi], strides }
    }

    /// An image to be computed in place.
    pub(crate) fn direct(&self, n: usize) -> Direct<'a, T> {
        let [_, _, row, column] = self.problem().input_strides;
        Direct {
            level: self.level,
            axes: self.axes(),
            bicubic: self.bicubic(),
            grid: self.grid(n),
            grad_output: self.grad_output(n, 0),
            input: self.input(n, 0),
            image: self.window([row, column]),
            channels: self.problem().c,
        }
    }

    /// First channel and channels of a block.
    pub(crate) fn block(&self, b: usize) -> (usize, usize) {
        let first = b.wrapping_mul(CHANNEL_BLOCK.get());
        (first, self.problem().c.saturating_sub(first).min(CHANNEL_BLOCK.get()))
    }

    /// Some channels of an image, staged in `input`, `pitch` values a pixel, unless that is not read.
    pub(crate) fn channels_last(
        &self,
        n: usize,
        channels: Range<usize>,
        pitch: usize,
        input: &'a [T::Acc],
    ) -> ChannelsLast<'a, T> {
        let image = self.window([self.problem().wi.wrapping_mul(pitch), pitch]);
        ChannelsLast {
            level: self.level,
            axes: self.axes(),
            bicubic: self.bicubic(),
            grid: self.grid(n),
            grad_output: self.grad_output(n, channels.start),
            channels: channels.len(),
            pitch,
            input,
            image,
            window: image,
            beyond: None,
        }
    }
}
