//! Round numbers on an axis.

use std::ops::Range;

use super::value::{Unit, grouped};

/// Steps between the numbers at an axis, at most.
const STEPS: f64 = 5.0;
/// What a number keeps of an axis free for its digits, as a share.
const ROOM: f64 = 0.1;

/// The step from one round number to the next, of which a length has about [`STEPS`]: 1, 2 or 5, times a power of ten.
fn step(length: f64) -> f64 {
    let power = 10f64.powf((length / STEPS).log10().floor());
    [1.0, 2.0, 5.0].map(|digit| digit * power).into_iter().find(|step| length / step <= STEPS).unwrap_or(10.0 * power)
}

/// The first round number that is no less.
pub(super) fn ceiling(most: f64) -> f64 {
    if most > 0.0 { (most / step(most)).ceil() * step(most) } else { 1.0 }
}

/// Where a number is in a range.
pub(super) fn share(range: &Range<f64>, number: f64) -> f64 {
    (number - range.start) / (range.end - range.start)
}

/// A number at an axis of microseconds, in the unit that suits the axis' end.
pub(super) fn time(us: f64, axis: &Range<f64>) -> String {
    let (scale, unit) = match axis.end {
        end if end < 1e4 => return Unit::Us.text(us),
        end if end < 1e7 => (1e3, "ms"),
        _ => (1e6, "s"),
    };
    format!("{}\u{a0}{unit}", grouped(us / scale, 0))
}

/// The round numbers in a range.
pub(super) fn ticks(range: &Range<f64>) -> Vec<f64> {
    let step = step(range.end - range.start);
    let (first, last) = ((range.start / step).ceil() as i64, (range.end / step + 1e-9).floor() as i64);
    (first..=last).map(|tick| tick as f64 * step).collect()
}

/// Both ends of a range of whole numbers, and the round ones between that leave them room; with where they are.
pub(super) fn ticks_and_ends(range: &Range<f64>) -> Vec<(f64, f64)> {
    let inside = |tick: &f64| tick.fract() == 0.0 && (ROOM..=1.0 - ROOM).contains(&share(range, *tick));
    let inside = ticks(range).into_iter().filter(inside);
    [range.start].into_iter().chain(inside).chain([range.end]).map(|tick| (tick, share(range, tick))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_at_axes_are_round() {
        assert_eq!(
            [45.4, 100.0, 0.37, 6.02, 51.0].map(ceiling).map(|top| format!("{top:.2}")),
            ["50.00", "100.00", "0.40", "8.00", "60.00"]
        );
        assert_eq!(ticks(&(0.0..1.0)).len(), 6);
        assert_eq!(ticks(&(0.0..50.0)), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
        let numbers = |range| ticks_and_ends(&range).into_iter().map(|(tick, _)| tick).collect::<Vec<_>>();
        assert_eq!(numbers(14.0..56.0), [14.0, 20.0, 30.0, 40.0, 50.0, 56.0]);
        // 16384 is too near to the end for 16000.
        assert_eq!(numbers(2048.0..16384.0), [2048.0, 5000.0, 10000.0, 16384.0]);
        assert_eq!(numbers(1.0..2.0), [1.0, 2.0]);
        let times = [(50.0, 60.0), (8000.0, 8000.0), (2000.0, 1e4), (8e6, 8e6), (2e7, 1e8)];
        let times = times.map(|(us, end)| time(us, &(0.0..end)).replace('\u{a0}', " "));
        assert_eq!(times, ["50.00 µs", "8\u{202f}000.0 µs", "2 ms", "8\u{202f}000 ms", "20 s"]);
    }
}
