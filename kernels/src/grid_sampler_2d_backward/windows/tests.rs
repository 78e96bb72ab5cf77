use super::*;
use crate::level::Level;

/// Points lie here that lie nowhere, those of a vector behind the last one too.
const NOWHERE: f64 = -4_294_967_296.0;

/// Cells of a chunk of points.
fn cells<A: Real>(at: &[[f64; 2]], nearest: bool, number: impl Fn(f64) -> A) -> Cells<A> {
    let mut cells = Cells::none(nearest);
    cells.count = at.len();
    (cells.y.cell, cells.x.cell) = ([number(NOWHERE); CHUNK], [number(NOWHERE); CHUNK]);
    for (k, &[y, x]) in at.iter().enumerate() {
        (cells.y.cell[k], cells.x.cell[k]) = (number(y), number(x));
    }
    cells
}

fn squares_are_those_of_corners<A: Real>(number: impl Fn(f64) -> A + Copy) {
    for (first, size) in [
        ([0, 0], [5, 7]),
        ([3, 0], [2, 7]),
        ([0, 0], [1, 1]),
        ([0, 0], [1, 9]),
        ([0, 0], [9, 1]),
        ([40_000, 0], [3, 90_000]),
        ([0, 0], [16_000, 30_000]),
        ([0, 0], [1 << 24, 2]),
    ] {
        let window = Window { first, size, strides: [size[1] * 8, 8] };
        let edges = |axis: usize| {
            let (from, to) = (first[axis] as f64, (first[axis] + size[axis]) as f64);
            [NOWHERE, from - 2.0, from - 1.0, from, from + 1.0, to - 2.0, to - 1.0, to, to + 1.0]
        };
        let points: Vec<_> = edges(0).into_iter().flat_map(|y| edges(1).map(|x| [y, x])).collect();
        for nearest in [false, true] {
            // All numbers of points, so that vectors are cut anywhere.
            for at in (0..points.len()).map(|from| &points[from..points.len().min(from + from % CHUNK + 1)]) {
                let cells = cells(at, nearest, number);
                for level in Level::available() {
                    let mut to = [0; CHUNK];
                    let any = level.dispatch_widest(true, FindSquares { cells: &cells, window: &window, to: &mut to });
                    let mut reached = false;
                    for (k, &square) in to.iter().enumerate().take(at.len()) {
                        let corners = cells.corners_of(k, &window);
                        let there = corners.iter().filter(|&&at| at < ABSENT).count();
                        reached |= there > 0;
                        let all = if nearest { 1 } else { 4 };
                        let counted = size.iter().all(|&size| size < COUNTABLE);
                        let want = match there {
                            _ if !counted => PARTLY,
                            0 => NONE,
                            _ if there == all => (corners[0] / 8) as u32,
                            _ => PARTLY,
                        };
                        assert_eq!(square, want, "{level}: {:?} in {window:?}", at[k]);
                    }
                    assert!(any || !reached, "{level}: {window:?}");
                    assert!(any == reached || size[0] >= COUNTABLE, "{level}: {window:?}");
                }
            }
        }
    }
}

#[test]
fn squares_are_those_of_corners_of_f32() {
    squares_are_those_of_corners(|n| n as f32);
}

#[test]
fn squares_are_those_of_corners_of_f64() {
    squares_are_those_of_corners(|n| n);
}

#[test]
fn four_rows_are_in_a_window_where_one_of_them_is() {
    for (first, rows) in (0..7).flat_map(|first| (1..7).map(move |rows| (first, rows))) {
        let window = Window { first: [first, 0], size: [rows, 3], strides: [3, 1] };
        for y in 0..20 {
            let want = (y..y + 4).any(|y| window.row(y) < ABSENT);
            assert_eq!(window.has_any_of_four(y), want, "{y} in {window:?}");
        }
    }
}
