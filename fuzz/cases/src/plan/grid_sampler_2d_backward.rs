//! Plans of GridSampler2DBackward: every point meets every row of `input_grad` and makes its own gradient, once and in order;
//! no share touches the memory of another.

use std::ops::Range;

use ubtile_tiling::ALIGN;
use ubtile_tiling::grid_sampler_2d_backward::Plan;

use super::Cells;

/// Checks every tile, and the workspace of every share.
pub(super) fn check(plan: &Plan) {
    let p = plan.problem();
    for (phase, shares) in plan.phases().map(|phase| phase.shares).enumerate() {
        memory(plan, phase, shares);
    }
    if p.early_success().is_some() {
        return;
    }
    let (blocks, points) = (plan.blocks().get(), p.ho * p.wo);
    // For each block of channels of an image: how many points each row has met, and how often each point's gradient was made.
    let mut met = Cells::new([1, p.n * blocks, p.hi]);
    let mut made = Cells::new([1, p.n * blocks, points]);
    for (phase, share) in plan.phases().enumerate().flat_map(|(i, phase)| (0..phase.shares).map(move |s| (i, s))) {
        for tile in plan.tiles(phase, share) {
            let ([first, end], [channel, last_channel]) = (tile.points, tile.channels);
            assert!(first < end && end <= points, "{tile:?} of {points} points");
            assert!(channel % 64 == 0 && last_channel == p.c.min(channel + 64), "{tile:?} of {} channels", p.c);
            assert_eq!((tile.first_points, tile.last_points), (first == 0, end == points), "{tile:?}");
            let block = tile.image * blocks + channel / 64;
            let one = [[0, 1], [block, block + 1]];
            if p.want_input_grad {
                for position in met.positions([one[0], one[1], tile.rows]) {
                    let done = met.count(position);
                    assert_eq!(*done, first, "{tile:?} meets {position:?} out of order");
                    *done = end;
                }
            }
            if tile.makes_grid_grad {
                for position in made.positions([one[0], one[1], tile.points]) {
                    *made.count(position) += 1;
                    // The sum over channels takes the blocks in order.
                    let earlier = position[1].checked_sub(1).filter(|_| channel > 0);
                    let before = earlier.map(|block| *made.count([0, block, position[2]]));
                    let alone = shares_are_blocks(plan);
                    assert!(alone || before.is_none_or(|count| count == 1), "{tile:?} adds its channels out of order");
                }
            }
        }
    }
    if p.want_input_grad {
        met.all(points, "met points");
    }
    made.all(usize::from(p.want_grid_grad), "was made");
}

/// Whether the sums of blocks are kept apart, to be added in a phase of its own.
fn shares_are_blocks(plan: &Plan) -> bool {
    plan.phases().any(|phase| phase.name == "combine")
}

/// The parts of the workspace that the shares of a phase use.
fn memory(plan: &Plan, phase: usize, shares: usize) {
    let bytes = plan.workspace_bytes().saturating_sub(ALIGN - 1);
    let parts: Vec<_> = (0..shares).map(|share| plan.share_workspace(phase, share)).collect();
    let own: Vec<&Range<usize>> = parts.iter().flat_map(|part| [&part.scratch, &part.write]).collect();
    let apart =
        |a: &Range<usize>, b: &Range<usize>| a.is_empty() || b.is_empty() || a.end <= b.start || b.end <= a.start;
    for part in own.iter().copied().chain(parts.iter().map(|part| &part.read)) {
        assert!(part.start <= part.end && part.end <= bytes.max(part.start), "{part:?} of {bytes}");
    }
    for (i, a) in own.iter().enumerate() {
        assert!(own[..i].iter().all(|b| apart(a, b)), "two shares of phase {phase} own {a:?}");
        assert!(parts.iter().all(|part| apart(a, &part.read)), "{a:?} is written and read in phase {phase}");
    }
}
