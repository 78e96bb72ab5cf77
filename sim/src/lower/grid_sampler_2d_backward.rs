//! GridSampler2DBackward from a native plan: first `grid_grad`, then `input_grad`.
//!
//! Both find the cells of some points with vector instructions, as `docs/numerics.md` says. `grid_grad` keeps points side by side:
//! channel by channel, four gathers take their pixels from the plane in the UB, or without a gather what copies pixels with all of their
//! channels. `input_grad` adds points one after the other to
//! pixels that stay in the UB, channels side by side in f32, with a margin around the image where all goes that lies outside of it,
//! so that no point needs a branch.

mod bicubic;
mod coordinates;
mod grid_grad;
mod input_grad;
mod reflection;
mod touched;
mod vendor;

use std::ops::Range;

use ubtile_tiling::grid_sampler_2d_backward::{CHANNEL_BLOCK, Plan, Work};
use ubtile_tiling::{Choice, Problem, Tensor};

pub(super) use vendor::vendor;

use super::builder::Builder;
use super::room::Room;
use super::{LowerError, tensor};
use crate::program::Source;

/// The part of `input_grad` that a core makes: blocks of channels over all images, and of each some channels and rows.
#[derive(Clone, Debug)]
struct Pixels {
    blocks: Range<usize>,
    channels: Range<usize>,
    rows: Range<usize>,
}

/// The program.
pub(super) fn native(plan: &Plan, room: Room) -> Result<(Source, Vec<Choice>), LowerError> {
    let problem = plan.problem();
    let shares = plan.block_dim();
    let mut b = Builder::new(shares, room);
    let of = Problem::GridSampler2dBackward(*problem);
    let reads = [Tensor::GradOutput, Tensor::Input, Tensor::Grid].map(|t| tensor(&mut b, &of, t));
    let [grad_output, input, grid] = reads;
    let (grad_output, input, grid) = (grad_output?, input?, grid?);
    let mut output = |wanted, t| if wanted { tensor(&mut b, &of, t).map(Some) } else { Ok(None) };
    let input_grad = output(problem.want_input_grad, Tensor::InputGrad)?;
    let grid_grad = output(problem.want_grid_grad, Tensor::GridGrad)?;
    // Whole images of each core come before its part of one that is cut.
    let computing = plan.phases().enumerate().filter(|(_, phase)| matches!(phase.name, "images" | "compute"));
    for (number, (phase, _)) in computing.enumerate() {
        let (pixels, points): (Vec<_>, Vec<_>) = (0..shares).map(|share| part(plan, phase, share)).unzip();
        if number > 0 {
            b.begin_anew();
        }
        if let Some(to) = grid_grad {
            grid_grad::lower(&mut b, plan, &points, ([grad_output, input, grid], to))?;
        }
        if let Some(to) = input_grad {
            if problem.want_grid_grad {
                b.begin_anew();
            }
            input_grad::lower(&mut b, plan, &pixels, ([grad_output, grid], to))?;
        }
    }
    Ok(b.finish_in_pieces())
}

/// What a share makes of `input_grad`, and of `grid_grad` the points, counted over all images.
fn part(plan: &Plan, compute: usize, share: usize) -> (Pixels, Range<usize>) {
    let problem = plan.problem();
    let (blocks, points) = (plan.blocks().get(), plan.points());
    let all = Pixels { blocks: 0..0, channels: 0..problem.c, rows: 0..problem.hi };
    let of_images = |images: &Range<usize>, each: usize| images.start * each..images.end * each;
    let of_image = |image: usize| of_images(&(image..image + 1), blocks);
    let of_points = |image: usize, run: &Range<usize>| image * points + run.start..image * points + run.end;
    let (pixels, made) = match plan.work(compute, share) {
        Work::Direct { images } | Work::Images { images } => {
            (Pixels { blocks: of_images(&images, blocks), ..all }, of_images(&images, points))
        }
        Work::PointLanes { images, channels, points: run } => {
            let whole = run == (0..points) || run.is_empty();
            let made = if whole { of_images(&images, points) } else { of_points(images.start, &run) };
            let made = if run.is_empty() { 0..0 } else { made };
            (Pixels { blocks: of_images(&images, blocks), channels, ..all }, made)
        }
        Work::Channels { image, channels, points: run } => {
            (Pixels { blocks: of_image(image), channels, ..all }, of_points(image, &run))
        }
        Work::Band { image, rows, points: run } => {
            (Pixels { blocks: of_image(image), rows, ..all }, of_points(image, &run))
        }
        Work::Blocks { blocks } => (Pixels { blocks, ..all }, 0..0),
        _ => (all, 0..0),
    };
    // Sums over all channels need no second phase where a core makes them of points of its own.
    match plan.work(compute + 1, share) {
        Work::Combine { points } | Work::Points { points } => (pixels, points),
        _ => (pixels, made),
    }
}

const _: () = assert!(CHANNEL_BLOCK.get() == 64);
