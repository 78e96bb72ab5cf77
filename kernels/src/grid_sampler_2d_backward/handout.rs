//! `input_grad` as the shares of a phase get it, ascending: a run of it, or a run of each plane of an image that bands share.

use ubtile_tiling::grid_sampler_2d_backward::Runs;

use super::share::{RUNS, one_run};
use crate::parallel::Front;

/// What no share has yet.
#[derive(Debug)]
pub(crate) struct Handout<'a, T> {
    rest: Front<'a, T>,
    /// The planes of the image that the last band was of, each of so many pixels, and where the first one ends.
    planes: [Front<'a, T>; RUNS],
    pixels: usize,
    end: usize,
}

impl<'a, T> Handout<'a, T> {
    pub(crate) fn new(all: &'a mut [T], pixels: usize) -> Self {
        Self { rest: Front::new(all), planes: core::array::from_fn(|_| Front::new(&mut [])), pixels, end: 0 }
    }

    /// The runs of the next share.
    pub(crate) fn take(&mut self, runs: &Runs) -> [&'a mut [T]; RUNS] {
        let first = runs.get(0);
        if runs.get(1).is_empty() {
            return one_run(self.rest.take(first));
        }
        if first.start >= self.end {
            self.end = first.start.wrapping_add(self.pixels);
            for (i, plane) in self.planes.iter_mut().enumerate() {
                let run = runs.get(i);
                let pixels = if run.is_empty() { 0 } else { self.pixels };
                *plane = Front::behind(run.start, self.rest.take(run.start..run.start.wrapping_add(pixels)));
            }
        }
        let mut planes = self.planes.iter_mut().enumerate().map(|(i, plane)| plane.take(runs.get(i)));
        core::array::from_fn(|_| planes.next().unwrap_or_default())
    }
}
