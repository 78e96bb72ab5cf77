//! Images whose channels lie side by side in both tensors (channels last): vectors run along the channels.
//!
//! A pixel is then a run of memory like another tensor's row, and what folds into it are whole pixels, so nothing is exchanged
//! between layouts. Inside of the image, where one pixel folds into one, a row of pixels without gaps is one copy.

use core::ops::Range;

use super::fold::{Fold, copied_only};
use super::sources::V;
use crate::bits;
use crate::element::Element;
use crate::level::Kernel;
use crate::simd::{Isa, Vector};

/// Whole images to make, of which `channels` scalars lie side by side in a pixel.
pub(super) struct Pixels<'a, T> {
    pub(super) fold: Fold<'a, T>,
    pub(super) channels: usize,
    /// The images.
    pub(super) images: Range<usize>,
}

/// The pixels of `grad_output` that fold into one.
#[derive(Clone, Copy)]
struct Sources<'a, T> {
    data: &'a [T],
    rows: usize,
    columns: usize,
    /// From a row and a column to the next.
    strides: [usize; 2],
}

impl<T: Element> Kernel for Pixels<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) {
        let Self { fold: Fold { run, rows, columns, source, from, dest, to, .. }, channels, images } = self;
        let inner = copied_only(columns, run);
        let strides = [from.pitch(), from.step()];
        let is_packed = [from.step(), to.step()] == [channels; 2];
        for image in images {
            let (from_image, to_image) = (from.image(image), to.image(image));
            for y in 0..rows.size {
                let [top, bottom] = rows.sources(y);
                let row = from_image.wrapping_add(top.wrapping_mul(from.pitch()));
                let to_row = to_image.wrapping_add(y.wrapping_mul(to.pitch()));
                let mut x = run[0];
                while x < run[1] {
                    let [left, right] = columns.sources(x);
                    let data = source.get(row.wrapping_add(left.wrapping_mul(from.step()))..).unwrap_or(&[]);
                    let there = to_row.wrapping_add(x.wrapping_mul(to.step()));
                    let (rows, columns) = (bottom.wrapping_sub(top), right.wrapping_sub(left));
                    let count = if is_packed && inner.contains(&x) { inner.end.wrapping_sub(x) } else { 1 };
                    let end = there.wrapping_add(count.wrapping_mul(channels));
                    let Some(dest) = dest.get_mut(there..end) else { return };
                    Sources { data, rows, columns, strides }.fold(isa, dest);
                    x = x.wrapping_add(count);
                }
            }
        }
    }
}

impl<T: Element> Sources<'_, T> {
    /// Makes a pixel, or several that a single column each folds into.
    #[inline(always)]
    fn fold<S: Isa>(self, isa: S, dest: &mut [T]) {
        match (self.rows, self.columns) {
            (0, _) | (_, 0) => dest.fill(T::zeroed()),
            (1, 1) => bits::copy(self.data, dest),
            _ => self.sum(isa, dest),
        }
    }

    #[inline(always)]
    fn sum<S: Isa>(self, isa: S, dest: &mut [T]) {
        let [pitch, step] = self.strides;
        for (number, dest) in dest.chunks_mut(V::<S, T>::LANES).enumerate() {
            let first = number.wrapping_mul(V::<S, T>::LANES);
            let (mut total, mut left) = (V::<S, T>::splat(isa, T::Acc::default()), first);
            for column in 0..self.columns {
                let (mut sum, mut at) = (total, left);
                for row in 0..self.rows {
                    let values = self.data.get(at..at.wrapping_add(dest.len())).unwrap_or(&[]);
                    let values = T::load(isa, values);
                    sum = if row == 0 { values } else { sum + values };
                    at = at.wrapping_add(pitch);
                }
                total = if column == 0 { sum } else { total + sum };
                left = left.wrapping_add(step);
            }
            T::store(isa, total, dest);
        }
    }
}
