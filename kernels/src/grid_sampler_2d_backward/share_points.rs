//! A share's points side by side: images, parts of images, or bands of rows.

use core::ops::Range;

use ubtile_tiling::grid_sampler_2d_backward::Interpolation;

use super::anywhere::lie_anywhere;
use super::band::Band;
use super::beyond::Beyond;
use super::grid_grad::GridGrad;
use super::nearest::{Nearest, PLANES};
use super::planes::{Canonical, Packed};
use super::point_lanes::{CHANNELS, Kept, PointLanes};
use super::share::{Share, by_image, cast, cast_mut, grid_planes, planes, sum_up};
use super::sources::Sources;
use super::staging::{Pack, Unpack};
use super::stored::Stored;
use super::zeroed::{Zeroed, zero};
use super::{dispatch, dispatch_points};
use crate::parallel::Front;

/// What points add to `input_grad` of an image: rows of some of its channels.
#[derive(Clone, Debug)]
struct Added {
    channels: Range<usize>,
    rows: Range<usize>,
}

impl<T: Stored> Share<'_, T> {
    /// Some channels of an image's `input_grad`, and the gradients of some of its points, points side by side.
    pub(super) fn point_lanes(&mut self, n: usize, channels: Range<usize>, own: Range<usize>, kept: &mut Kept<T::Acc>) {
        let (plan, level, sources) = (self.sources.plan, self.sources.level, self.sources);
        let (p, pixels, layout) = (plan.problem(), plan.pixels(), plan.scratch());
        let mut scratch = Front::new(&mut *self.scratch);
        let (staged_input, staged_sums) = (scratch.take(layout.input), scratch.take(layout.input_grad));
        let input = if plan.stages_input() {
            let packed = cast_mut(staged_input);
            let (planes, positions) = (sources.input(n, 0), 0..pixels);
            dispatch(level, Pack { planes, channels: p.c, positions, packed: &mut *packed });
            Packed { data: &*packed, channel: pixels }
        } else {
            in_place(sources, n)
        };
        let out = grid_planes(plan, self.grid_grad, self.first[1], n);
        let mut grid_grad = GridGrad { out, totals: &mut [], first: true, last: true };
        let added = Added { channels: channels.clone(), rows: 0..p.hi };
        let add = |sums: Packed<&mut [T::Acc]>| {
            add(sources, n, input, sums.split(channels.len(), pixels), &added, own, &mut grid_grad, kept, None)
        };
        let planes = planes(plan, self.input_grad[0], self.first[0], n, channels.start);
        sum_up(sources, planes, channels.len(), cast_mut(staged_sums), add);
    }

    /// The gradients of some points of an image whose rows bands have.
    pub(super) fn lane_gradients(&mut self, n: usize, own: Range<usize>) {
        let (plan, sources) = (self.sources.plan, self.sources);
        let input = of_bands(sources, n, self.read);
        let out = grid_planes(plan, self.grid_grad, self.first[1], n);
        let mut grid_grad = GridGrad { out, totals: &mut [], first: true, last: true };
        let added = Added { channels: 0..0, rows: 0..0 };
        let sums = core::array::from_fn(|_| &mut [][..]);
        add(sources, n, input, sums, &added, own, &mut grid_grad, &mut Kept::new(), None);
    }

    /// A band of rows of an image's `input_grad`, and the gradients of some of its points.
    pub(super) fn point_band(&mut self, n: usize, rows: Range<usize>, own: Range<usize>) {
        let (plan, level, sources) = (self.sources.plan, self.sources.level, self.sources);
        let p = plan.problem();
        let pixels = rows.len().wrapping_mul(p.wi);
        let input = of_bands(sources, n, self.read);
        let out = grid_planes(plan, self.grid_grad, self.first[1], n);
        let mut grid_grad = GridGrad { out, totals: &mut [], first: true, last: true };
        let staged = plan.stages_bands();
        let mut sums = if staged {
            Packed { data: cast_mut(&mut *self.write), channel: pixels }.split(p.c, pixels)
        } else {
            // Of longer ones no more: what lies behind is no sum, and not even +0 is added to it.
            let mut runs = self.input_grad.iter_mut().take(p.c).map(|run| T::as_sums(run)?.get_mut(..pixels));
            core::array::from_fn(|_| runs.next().flatten().unwrap_or_default())
        };
        let finite = if p.interpolation == Interpolation::Nearest {
            grid_grad.out.fill(2, own, T::narrow(T::Acc::default()));
            add_nearest(sources, n, sums.get_mut(..p.c).unwrap_or_default(), 0, rows.clone())
        } else {
            let added = Added { channels: 0..p.c, rows: rows.clone() };
            let (kept, band) = (&mut Kept::new(), &mut Band::new(Beyond::new(p, &rows)));
            add(sources, n, input, sums, &added, own, &mut grid_grad, kept, Some(band))
        };
        if !finite && !staged {
            let positions = rows.start.wrapping_mul(p.wi)..rows.end.wrapping_mul(p.wi);
            for (c, run) in self.input_grad.iter_mut().enumerate().take(p.c) {
                let first = self.first[0].wrapping_add(c.wrapping_mul(p.input_grad_strides[1]));
                let planes = planes(plan, run, first, n, c);
                dispatch(level, Canonical { planes, channels: 1, positions: positions.clone() });
            }
        }
    }

    /// Stages values of the planes of all images as they are.
    pub(super) fn pack(&mut self, values: Range<usize>) {
        let (plan, level) = (self.sources.plan, self.sources.level);
        let mut staged = cast_mut(&mut *self.write);
        for (plane, positions) in by_image(values, plan.pixels()) {
            let planes = self.sources.input(plane / plan.channels(), plane % plan.channels());
            let Some((packed, behind)) = staged.split_at_mut_checked(positions.len()) else { break };
            staged = behind;
            dispatch(level, Pack { planes, channels: 1, positions, packed });
        }
    }

    /// Brings rows of staged bands to where they belong.
    pub(super) fn unpack(&mut self, rows: Range<usize>) {
        let (plan, level) = (self.sources.plan, self.sources.level);
        let (p, all) = (plan.problem(), cast::<T::Acc>(self.read));
        for (plane, rows) in by_image(rows, p.hi) {
            let (n, c) = (plane / plan.channels(), plane % plan.channels());
            for band in plan.bands() {
                let run = rows.start.max(band.start)..rows.end.min(band.end);
                if run.is_empty() {
                    continue;
                }
                // In front lie images that are cut, the bands above, the channels before, and the rows above.
                let above =
                    n.wrapping_sub(plan.whole_images()).wrapping_mul(p.hi).wrapping_add(band.start).wrapping_mul(p.c);
                let before = c.wrapping_mul(band.len()).wrapping_add(run.start.wrapping_sub(band.start));
                let first = above.wrapping_add(before).wrapping_mul(p.wi);
                let positions = run.start.wrapping_mul(p.wi)..run.end.wrapping_mul(p.wi);
                let packed = all.get(first..first.wrapping_add(positions.len())).unwrap_or(&[]);
                let planes = self.input_grad(n, c);
                dispatch(level, Unpack { packed, channels: 1, positions, planes });
            }
        }
    }

    /// Some channels of an image's `input_grad`, as many at a time as a cache holds, from points that add to the nearest pixels. The
    /// gradients of some points are 0.
    pub(super) fn nearest(&mut self, n: usize, channels: Range<usize>, own: Range<usize>) {
        let Self { sources, input_grad, grid_grad, first, scratch, .. } = self;
        let (plan, p) = (sources.plan, sources.plan.problem());
        grid_planes(plan, grid_grad, first[1], n).fill(2, own, T::narrow(T::Acc::default()));
        if !p.want_input_grad {
            return;
        }
        let staged = cast_mut(scratch.get_mut(plan.scratch().input_grad).unwrap_or(&mut []));
        let most = plan.planes_at_once().min(PLANES);
        for c in channels.clone().step_by(most.max(1)) {
            let added = c..channels.end.min(c.wrapping_add(most));
            let planes = planes(plan, input_grad[0], first[0], n, c);
            sum_up(*sources, planes, added.len(), &mut *staged, |input_grad| {
                let mut planes: [_; PLANES] = input_grad.split(added.len(), plan.pixels());
                add_nearest(*sources, n, planes.get_mut(..added.len()).unwrap_or_default(), c, 0..p.hi)
            });
        }
    }
}

/// The planes of an image's `input`, which have no gaps; none where it is not read.
fn in_place<T: Stored>(sources: Sources<'_, T>, n: usize) -> Packed<&[T::Acc]> {
    let planes = sources.input(n, 0);
    let data = planes.data.get(planes.base..).filter(|_| sources.plan.reads_input()).and_then(T::as_acc);
    Packed { data: data.unwrap_or(&[]), channel: planes.channel }
}

/// The same as bands read them: staged, or in place.
fn of_bands<'a, T: Stored>(sources: Sources<'a, T>, n: usize, read: &'a [u8]) -> Packed<&'a [T::Acc]> {
    let plan = sources.plan;
    if plan.stages_input() { Packed { data: cast(read), channel: plan.pixels() } } else { in_place(sources, n) }
}

/// Adds up all points of an image that are nearest to a pixel of some rows, in planes of them from channel `first` on. Gives whether all
/// terms were finite.
fn add_nearest<T: Stored>(
    sources: Sources<'_, T>,
    n: usize,
    input_grad: &mut [&mut [T::Acc]],
    first: usize,
    rows: Range<usize>,
) -> bool {
    let (plan, p) = (sources.plan, sources.plan.problem());
    let image = Nearest {
        axes: sources.axes(),
        width: p.wi,
        beyond: Beyond::new(p, &rows),
        rows,
        points: plan.points(),
        grid: sources.grid(n),
        grad_output: sources.grad_output(n, 0),
        input_grad,
        first,
    };
    dispatch_points(sources.level, image)
}

/// Adds up all points of an image, and makes the gradients of its `own` ones. Gives whether all terms were finite.
#[expect(clippy::too_many_arguments, reason = "all that a share has of an image")]
fn add<'a, T: Stored>(
    sources: Sources<'a, T>,
    n: usize,
    input: Packed<&'a [T::Acc]>,
    mut sums: [&mut [T::Acc]; CHANNELS],
    added: &Added,
    own: Range<usize>,
    grid_grad: &mut GridGrad<'a, T>,
    kept: &mut Kept<T::Acc>,
    mut band: Option<&mut Band<T::Acc>>,
) -> bool {
    let (plan, p) = (sources.plan, sources.plan.problem());
    let (makes, adds) = (p.want_grid_grad, p.want_input_grad && !added.channels.is_empty());
    let (mut finite, all) = (true, plan.points());
    kept.zeroed = Zeroed::default();
    // Points, and whether their gradients are made and they are added.
    let at_once = [(0..own.start, false, adds), (own.clone(), makes, adds), (own.end..all, false, adds)];
    let apart = [(own, makes, false), (0..all, false, adds), (0..0, false, false)];
    let twice = makes && adds && lie_anywhere(&sources, n, added.channels.len());
    for (points, makes, adds) in if twice { apart } else { at_once } {
        if !makes && !adds {
            continue;
        }
        let image = PointLanes {
            axes: sources.axes(),
            size: [p.hi, p.wi],
            points,
            grid: sources.grid(n),
            grad_output: sources.grad_output(n, 0),
            input: Packed { data: if makes { input.data } else { &[] }, ..input },
            input_grad: sums.each_mut().map(|plane| if adds { &mut **plane } else { &mut [] }),
            channels: p.c,
            added: added.channels.clone(),
            rows: added.rows.clone(),
            grid_grad: makes.then_some(&mut *grid_grad),
            kept: Some(&mut *kept),
            band: band.as_deref_mut(),
        };
        finite &= dispatch_points(sources.level, image);
    }
    let behind = kept.zeroed.rest(added.rows.len().wrapping_mul(p.wi));
    zero(&mut sums, behind);
    finite
}
