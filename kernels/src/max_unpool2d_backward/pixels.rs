//! Inputs whose channels lie side by side (channels last): the indices of a pixel are read one behind the other, and the cells that
//! they lead to lie in few pixels of `grad_output`, whose lines are still at hand for the next channel.
//!
//! Bits are copied as they are. Where the channels of `out` lie apart, as many are made at once as a line of `grad_output` has, so
//! that a line of each plane of `out` stays at hand.

use bytemuck::Pod;
use ubtile_tiling::max_unpool2d_backward::Problem;

use super::gather::{Copies, Index};
use crate::part::{Part, Piece};
use crate::simd::baseline::Baseline;
use crate::simd::{Cache, Isa, line_of};

/// Where neighbours lie: those of images, of channels, and of pixels or elements.
#[derive(Clone, Copy, Debug)]
struct Strides {
    image: usize,
    channel: usize,
    pixel: usize,
}

/// Tensors of which two are channels last, and the elements to make.
#[derive(Clone, Debug)]
pub(super) struct Pixels {
    channels: usize,
    /// Elements of a plane of indices.
    elements: usize,
    /// Cells of a plane of `grad_output`.
    cells: usize,
    grad_output: Strides,
    indices: Strides,
    out: Strides,
    part: Part,
}

impl Pixels {
    /// Of a problem that [allows it](Problem::by_pixels).
    pub(super) fn new(problem: &Problem, part: Part) -> Self {
        let strides = |[image, channel, _, pixel]: [usize; 4]| Strides { image, channel, pixel };
        Self {
            channels: problem.c,
            elements: problem.h.saturating_mul(problem.w),
            cells: problem.out_h.saturating_mul(problem.out_w),
            grad_output: strides(problem.grad_output_strides),
            indices: strides(problem.indices_strides),
            out: strides(problem.out_strides),
            part,
        }
    }

    /// Picks the elements of a piece. Gives the lowest flat position of a bad index.
    fn pick<W: Pod, I: Index>(&self, piece: &Piece, data: &[W], indices: &[I], out: &mut [W]) -> Option<usize> {
        let start = |of: Strides, channel: usize, pixel: usize| {
            let image = piece.image.wrapping_mul(of.image).wrapping_add(channel.wrapping_mul(of.channel));
            image.wrapping_add(pixel.wrapping_mul(of.pixel))
        };
        let (line, mut bad) = (line_of::<W>(), None);
        let apart = self.out.channel != 1;
        let most = if apart { line } else { usize::MAX };
        let mut elements = piece.units.clone();
        while !elements.is_empty() {
            let next = elements.start.wrapping_add(elements.len().min(line));
            let mut channels = piece.channels.clone();
            while !channels.is_empty() {
                let (channel, count) = (channels.start, channels.len().min(most));
                channels.start = channel.wrapping_add(count);
                let data = data.get(start(self.grad_output, channel, 0)..).unwrap_or(&[]);
                for element in elements.start..next {
                    let from = start(self.indices, channel, element);
                    let to = start(self.out, channel, element).wrapping_sub(self.part.first);
                    let indices = indices.get(from..from.wrapping_add(count)).unwrap_or(&[]);
                    let out = out.get_mut(to..).unwrap_or_default();
                    let wrong = if apart {
                        self.pixel(data, indices, out.iter_mut().step_by(self.out.channel.max(1)))
                    } else {
                        self.pixel(data, indices, out.iter_mut())
                    };
                    if let Some(k) = wrong {
                        let plane = piece.image.wrapping_mul(self.channels).wrapping_add(channel).wrapping_add(k);
                        let position = plane.wrapping_mul(self.elements).wrapping_add(element);
                        bad = Some(bad.map_or(position, |bad: usize| bad.min(position)));
                    }
                }
                if apart {
                    for channel in channel..channels.start {
                        let ahead = start(self.out, channel, next.wrapping_add(line)).wrapping_sub(self.part.first);
                        Baseline.prefetch(Cache::Level1, out, ahead);
                    }
                }
            }
            elements.start = next;
        }
        bad
    }

    /// Picks an element for each of some channels. Gives the first channel whose index is bad.
    #[inline(always)]
    fn pixel<'a, W: Pod, I: Index>(
        &self,
        data: &[W],
        indices: &[I],
        out: impl Iterator<Item = &'a mut W>,
    ) -> Option<usize> {
        let mut bad = None;
        for (k, (index, to)) in indices.iter().zip(out).enumerate() {
            let cell = index.cell();
            let at = cell.wrapping_mul(self.grad_output.pixel).wrapping_add(k);
            *to = match data.get(at) {
                Some(value) if cell < self.cells => *value,
                _ => {
                    bad = bad.or(Some(k));
                    W::zeroed()
                }
            };
        }
        bad
    }
}

impl Copies for Pixels {
    fn gather<W: Pod, I: Index>(&self, data: &[W], indices: &[I], out: &mut [W]) -> Option<usize> {
        let pieces = self.part.pieces(self.channels, self.elements);
        pieces.filter_map(|piece| self.pick(&piece, data, indices, out)).min()
    }
}
