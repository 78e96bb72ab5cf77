use half::f16;
use ubtile_testkit::problems::GridSampler;

use super::*;
use crate::grid_sampler_2d_backward::cells::Axes;
use crate::level::Level;
use crate::simd::scalar::Scalar;

/// Whether a point that lies `at` a row of an image, as placed, mixes any of some rows.
fn mixes(problem: &Problem, at: f64, rows: &Range<usize>) -> bool {
    if at < -4e9 {
        return false;
    }
    let (cell, last) = (at.floor() as i64, problem.hi as i64 - 1);
    let taps = if problem.interpolation == Interpolation::Bicubic { cell - 1..=cell + 2 } else { cell..=cell + 1 };
    taps.into_iter().any(|tap| {
        let tap = if problem.padding_mode == PaddingMode::Zeros { tap } else { tap.clamp(0, last) };
        usize::try_from(tap).is_ok_and(|tap| rows.contains(&tap))
    })
}

/// Grid values around those that the rows' neighbours have, one after the other.
fn values_around<T: Element>(problem: &Problem, rows: &Range<usize>, narrow: impl Fn(f64) -> T) -> Vec<T> {
    let size = problem.hi as f64;
    let around = |row: usize| (0..40).map(move |k| row as f64 - 5.0 + f64::from(k) / 4.0);
    let near = around(rows.start).chain(around(rows.end)).map(|at| (2.0 * at + 1.0) / size - 1.0);
    let far = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -3.0, 3.0, 1e30, -1e30, -0.0];
    near.chain(far).map(narrow).collect()
}

/// All interpolations, paddings and alignments, in images of few rows and of more than can be told.
fn problems() -> impl Iterator<Item = Problem> {
    let interpolations = [Interpolation::Bilinear, Interpolation::Nearest, Interpolation::Bicubic];
    let paddings = [PaddingMode::Zeros, PaddingMode::Border, PaddingMode::Reflection];
    let heights = [2, 3, 9, 1000, MOST_ROWS, MOST_ROWS + 1];
    (0..108).map(move |k| {
        let (interpolation, padding_mode) = (interpolations[k % 3], paddings[k / 3 % 3]);
        let size = GridSampler { n: 1, c: 1, hi: heights[k / 9 % 6], wi: 2, ho: 1, wo: 1, ..Default::default() };
        GridSampler { interpolation, padding_mode, align_corners: k >= 54, ..size }.problem()
    })
}

fn are_beyond<T: Element<Acc = A>, A: Real>(narrow: impl Fn(f64) -> T + Copy, to_f64: impl Fn(A) -> f64) {
    let levels: Vec<_> = Level::available().collect();
    for problem in problems() {
        let hi = problem.hi;
        let can_be_told = problem.padding_mode != PaddingMode::Reflection && hi <= MOST_ROWS;
        for rows in [0..hi / 2, hi / 2..hi, hi / 3..hi / 3 + 1, hi - 1..hi, 0..hi] {
            let beyond = Beyond::new(&problem, &rows);
            for value in values_around(&problem, &rows, narrow) {
                let grid = [T::narrow(A::default()), value].repeat(16);
                let grid = Planes::new(&grid[..], 0, [1, 16], [1, 32, 2]);
                let kernel = |beyond| AreBeyond { beyond, grid: &grid, points: 0..16 };
                let are = beyond.is_some_and(|beyond| kernel(beyond).run(Scalar));
                for level in &levels {
                    let also = beyond.is_some_and(|beyond| level.dispatch_widest(true, kernel(beyond)));
                    assert_eq!(also, are, "{level}");
                }
                let y = Axes::new(&problem).cells(Level::scalar(), &grid, 0, 1).y;
                let at = to_f64(y.cell[0]) + to_f64(y.after[0]);
                assert!(!(are && mixes(&problem, at, &rows)), "row {at} is not beyond {rows:?} of {problem:?}");
                assert!(can_be_told || !are, "{problem:?}");
                // A few rows further all are.
                let far = rows.start > 2 && (-1.0..rows.start as f64 - 4.0).contains(&at)
                    || rows.end + 3 < hi && (rows.end as f64 + 4.0..hi as f64).contains(&at);
                assert!(are || !far || !can_be_told, "row {at} is beyond {rows:?} of {problem:?}");
            }
        }
    }
}

#[test]
fn points_that_mix_no_row_of_a_band() {
    are_beyond::<f32, _>(|value| value as f32, f64::from);
    are_beyond::<f64, _>(|value| value, |value| value);
    are_beyond::<f16, _>(f16::from_f64, f64::from);
}

/// One point within is enough, wherever it lies among the others.
#[test]
fn one_point_within() {
    let problem = GridSampler { n: 1, c: 1, hi: 100, wi: 2, ..Default::default() }.problem();
    let beyond = Beyond::new(&problem, &(50..60)).unwrap();
    for level in Level::available() {
        for (k, count) in (0..64).map(|k| (k, 64)).chain([(64, 64), (64, 63), (64, 1)]) {
            let mut grid = [5.0_f32, -0.9].repeat(64);
            if let Some(y) = grid.get_mut(2 * k + 1) {
                *y = 0.1;
            }
            let grid = Planes::new(&grid[..], 0, [1, 64], [1, 128, 2]);
            let are = level.dispatch(AreBeyond { beyond, grid: &grid, points: 0..count });
            // Fewer are told at levels of which they are whole vectors.
            assert!(if k < 64 { !are } else { are || count < 64 }, "{level}: {k} of {count}");
        }
    }
}
