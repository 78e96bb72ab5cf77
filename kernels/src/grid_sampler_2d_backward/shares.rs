//! Runs the shares of a plan: all of them, or one.

use core::ops::Range;

use ubtile_tiling::grid_sampler_2d_backward::{Plan, Route, Work};

use super::handout::Handout;
use super::share::{Share, one_run};
use super::sources::Sources;
use super::stored::Stored;
use super::{Inputs, Outputs, ShareMemory, ShareOutputs};
use crate::level::Level;
use crate::parallel::{Front, Parallel, Serial};

/// All of it, without shares where a plan needs none.
pub(super) fn whole<T: Stored>(
    plan: &Plan,
    level: Level,
    inputs: Inputs<'_>,
    outputs: Outputs<'_>,
    workspace: &mut [u8],
) {
    let p = plan.problem();
    let images = 0..p.n;
    let work = match plan.route() {
        Route::Zero => Work::Zero,
        Route::Direct(_) => Work::Direct { images },
        // Their only share writes all there is.
        Route::PointLanes if plan.block_dim() == 1 => {
            let points = if p.want_grid_grad { 0..plan.points() } else { 0..0 };
            Work::PointLanes { images, channels: 0..p.c, points }
        }
        Route::Images if plan.block_dim() == 1 => Work::Images { images },
        _ => return all::<T>(plan, level, &Serial, inputs, outputs, workspace),
    };
    T::run(Share {
        sources: sources::<T>(plan, level, &inputs),
        work,
        input_grad: one_run(T::write(outputs.input_grad)),
        grid_grad: T::write(outputs.grid_grad),
        first: [0; 2],
        scratch: workspace.get_mut(..plan.scratch().bytes()).unwrap_or(&mut []),
        write: &mut [],
        read: &[],
    });
}

/// All shares, handed to `parallel` phase by phase.
pub(super) fn all<T: Stored>(
    plan: &Plan,
    level: Level,
    parallel: &impl Parallel,
    inputs: Inputs<'_>,
    outputs: Outputs<'_>,
    workspace: &mut [u8],
) {
    let sources = sources::<T>(plan, level, &inputs);
    let (input_grad, grid_grad) = (T::write(outputs.input_grad), T::write(outputs.grid_grad));
    for (phase, shares) in plan.phases().map(|phase| phase.shares).enumerate() {
        // All of a kind lies in one region, and the regions in this order.
        let (first, last) = (plan.share_workspace(phase, 0), plan.share_workspace(phase, shares.saturating_sub(1)));
        let mut regions = Front::new(&mut *workspace);
        let scratch = first.scratch.start..last.scratch.end;
        let read = first.read.start..last.read.end;
        let write = first.write.start..last.write.end;
        let (scratch_start, read_start, write_start) = (scratch.start, read.start, write.start);
        let mut scratch = Front::new(regions.take(scratch));
        let read = &*regions.take(read);
        let mut write = Front::new(regions.take(write));
        let mut input_grad = Handout::new(&mut *input_grad, plan.pixels());
        let mut grid_grad = Front::new(&mut *grid_grad);
        let items = (0..shares).map(|share| {
            let (range, parts) = (plan.share_range(phase, share), plan.share_workspace(phase, share));
            let within =
                |part: Range<usize>, start: usize| part.start.wrapping_sub(start)..part.end.wrapping_sub(start);
            Share {
                sources,
                work: plan.work(phase, share),
                input_grad: input_grad.take(&range.input_grad),
                grid_grad: grid_grad.take(range.grid_grad.clone()),
                first: [range.input_grad.start(), range.grid_grad.start],
                scratch: scratch.take(within(parts.scratch, scratch_start)),
                write: write.take(within(parts.write, write_start)),
                read: read.get(within(parts.read, read_start)).unwrap_or(&[]),
            }
        });
        parallel.for_each(items, T::run);
    }
}

/// One share, for callers with threads of their own.
pub(super) fn one<T: Stored>(
    plan: &Plan,
    level: Level,
    (phase, share): (usize, usize),
    inputs: Inputs<'_>,
    outputs: ShareOutputs<'_>,
    memory: ShareMemory<'_>,
) {
    let ShareMemory { scratch, write, read } = memory;
    let sources = sources::<T>(plan, level, &inputs);
    let (range, parts) = (plan.share_range(phase, share), plan.share_workspace(phase, share));
    let mut runs = outputs.input_grad.into_iter().map(T::write);
    let share = Share {
        sources,
        work: plan.work(phase, share),
        input_grad: core::array::from_fn(|_| runs.next().unwrap_or_default()),
        grid_grad: T::write(outputs.grid_grad),
        first: [range.input_grad.start(), range.grid_grad.start],
        scratch: scratch.get_mut(..parts.scratch.len()).unwrap_or(&mut []),
        write: write.get_mut(..parts.write.len()).unwrap_or(&mut []),
        read: read.get(..parts.read.len()).unwrap_or(&[]),
    };
    T::run(share);
}

fn sources<'a, T: Stored>(plan: &'a Plan, level: Level, inputs: &Inputs<'a>) -> Sources<'a, T> {
    let (grad_output, input, grid) = (T::read(inputs.grad_output), T::read(inputs.input), T::read(inputs.grid));
    Sources { plan, level, grad_output, input, grid }
}
