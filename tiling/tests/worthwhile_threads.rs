//! How many threads of a host a problem keeps busy.

use ubtile_testkit::problems::{GridSampler, Im2col, MaxUnpool, ReplicationPad};
use ubtile_tiling::Problem;
use ubtile_tiling::grid_sampler_2d_backward::Interpolation;

/// Threads of problems of so many rows.
fn threads<const N: usize>(rows: [usize; N], problem: impl Fn(usize) -> Problem) -> [usize; N] {
    rows.map(|rows| problem(rows).worthwhile_threads().get())
}

#[test]
fn small_problems_are_left_to_one_thread() {
    // 512 bytes a row.
    let padded = |h| ReplicationPad { n: 1, c: 1, h, w: 64, padding: [0; 4], ..Default::default() }.problem();
    let padded = threads([1, 4095, 4096, 8191, 8192, 40_960], |h| Problem::ReplicationPad2dBackward(padded(h)));
    assert_eq!(padded, [1, 1, 2, 2, 3, 11]);

    // 1792 bytes: for each element of 4 an index of 8, and four cells of 4.
    let unpooled = |h| MaxUnpool { n: 1, c: 1, h, w: 64, out_h: 2 * h, out_w: 128, ..Default::default() }.problem();
    assert_eq!(threads([1170, 1171], |h| Problem::MaxUnpool2dBackward(unpooled(h))), [1, 2]);

    // 512 bytes a row, half of them windows.
    let summed = |h| Im2col { n: 1, c: 1, h, w: 64, kernel: [1, 1], ..Default::default() }.problem();
    assert_eq!(threads([4095, 4096], |h| Problem::Im2colBackward(summed(h))), [1, 2]);
}

#[test]
fn the_grid_sampler_takes_longer_for_each_byte_and_bicubic_longest() {
    // Seven elements a point, 64 points a row.
    let sampled = |interpolation| {
        move |h| {
            let spec = GridSampler { n: 1, c: 1, hi: h, wi: 64, ho: h, wo: 64, interpolation, ..Default::default() };
            Problem::GridSampler2dBackward(spec.problem())
        }
    };
    assert_eq!(threads([292, 293], sampled(Interpolation::Bilinear)), [1, 2]);
    assert_eq!(threads([292, 293], sampled(Interpolation::Nearest)), [1, 2]);
    assert_eq!(threads([73, 74, 146, 147], sampled(Interpolation::Bicubic)), [1, 2, 2, 3]);
}
