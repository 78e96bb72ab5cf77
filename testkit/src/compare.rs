//! Whether a result is what the reference expects, by the thresholds of the vendor's accuracy standard; it has none for F64, whose own sums
//! are held to what fits their precision.

use std::fmt;

use ubtile_tiling::Dtype;

use crate::data::{Data, index_of};
use crate::number::{Compute, Float, canonical_nan, component, decode, encode, ulp_distance};
use crate::reference::{Cell, Expected, Sum};

/// A sum below this part of the magnitudes of its terms has cancelled.
const CANCELLED: f64 = 1.0 / 256.0;

/// What is allowed a dtype.
struct Limits {
    /// Relative errors are below this on average and below ten times this at most.
    relative: f64,
    /// Magnitudes below this are small.
    small: f64,
    /// Absolute error allowed of a small value.
    absolute: f64,
}

impl Limits {
    /// Of a dtype whose sums are made in another one.
    fn of(dtype: Dtype, compute: Compute) -> Self {
        let (relative, small, absolute) = match (dtype, compute) {
            (Dtype::F16, _) => (-10, -11, -16),
            (Dtype::Bf16, _) => (-7, -8, -16),
            // A sum of some thousand terms, each rounded to 2^-53 of itself.
            (Dtype::F64, Compute::F64) => (-42, -43, -88),
            _ => (-13, -14, -30),
        };
        Self { relative: 2f64.powi(relative), small: 2f64.powi(small), absolute: 2f64.powi(absolute) }
    }
}

/// How far a correct result is from the reference.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Components that were compared bit by bit.
    pub exact: usize,
    /// Components whose relative error was taken; a sum that cancelled has its error taken relative to its terms' magnitudes.
    pub relative: usize,
    /// Small components, whose absolute error was taken.
    pub small: usize,
    /// Components that are infinite or NaN, as they must be.
    pub non_finite: usize,
    /// Components whose intermediate sums may have overflowed; of them, only a NaN's bits are looked at.
    pub unjudged: usize,
    /// Mean relative error.
    pub mean: f64,
    /// The largest relative error.
    pub worst: Option<Worst>,
    /// The largest distance in ulps from the correctly rounded reference, among sums that did not cancel.
    pub max_ulps: u64,
}

/// A component and its error.
#[derive(Clone, Debug, PartialEq)]
pub struct Worst {
    /// Index of the element.
    pub index: Vec<usize>,
    /// 1 for an imaginary part.
    pub part: usize,
    /// What it is, in bits.
    pub got: u64,
    /// The same as a number.
    pub got_number: f64,
    /// What it must be.
    pub want: Cell,
    /// The same as a number.
    pub want_number: f64,
    /// Relative error of a sum; the absolute one where it is small or not finite; none where the bits decide.
    pub error: Option<f64>,
}

/// A result that is not what the reference expects.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// Which rule it breaks.
    pub reason: Reason,
    /// The first component that breaks it, or the worst when a limit on relative errors is broken.
    pub at: Worst,
    /// What was found until then.
    pub report: Report,
}

/// A rule of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// An exact value differs in bits.
    Bits,
    /// A NaN that arithmetic made is not the canonical one.
    Nan,
    /// Infinite or NaN where the reference is not, or not where it is.
    NonFinite,
    /// Too large an absolute error of a small value.
    Absolute,
    /// Too large a relative error.
    Relative,
    /// Too large a mean of the relative errors.
    Mean,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { exact, relative, small, non_finite, unjudged, mean, worst, max_ulps } = self;
        write!(f, "{exact} in bits, {relative} relative, {small} small, {non_finite} not finite, {unjudged} unjudged")?;
        if let Some(worst) = worst {
            let error = worst.error.unwrap_or_default();
            write!(f, "; mean error {mean:.3e}, max {error:.3e} at {:?}, {max_ulps} ulps", worst.index)?;
        }
        Ok(())
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rule = match self.reason {
            Reason::Bits => "exact value differs",
            Reason::Nan => "NaN is not canonical",
            Reason::NonFinite => "infinity or NaN does not match",
            Reason::Absolute => "absolute error of a small value",
            Reason::Relative => "relative error",
            Reason::Mean => "mean relative error",
        };
        let Worst { index, part, got, got_number, want, want_number, error } = &self.at;
        write!(f, "{rule} at {index:?} part {part}: {got_number:e} ({got:#x}), expected {want_number:e}")?;
        match want {
            Cell::Bits(bits) => write!(f, " ({bits:#x})")?,
            Cell::Sum(s) => write!(f, " from {} terms of magnitude {:e}", s.terms, s.magnitude)?,
        }
        if let Some(error) = error {
            write!(f, ", error {error:e}")?;
        }
        write!(f, " ({})", self.report)
    }
}

impl std::error::Error for Mismatch {}

/// How a component fared.
enum Verdict {
    Unjudged,
    NonFinite,
    Small,
    Relative { error: f64, cancelled: bool },
    Wrong(Reason),
}

/// Compares a result with the reference: in bits where it is exact, otherwise by the limits of its dtype.
///
/// # Errors
/// The first component that breaks a rule, or the worst one when the relative errors are too large.
///
/// # Panics
/// If dtype or shape are not those of the reference. A result without its N dimension is read as one with N = 1.
pub fn compare(result: &Data, expected: &Expected) -> Result<Report, Box<Mismatch>> {
    let without_ones = |shape: &[usize]| shape.iter().copied().skip_while(|&d| d == 1).collect::<Vec<_>>();
    let shape = result.desc().shape;
    assert_eq!(result.dtype(), expected.dtype, "the result's dtype");
    assert_eq!(without_ones(shape.as_slice()), without_ones(&expected.shape), "the result's shape");
    let (dtype, parts) = component(expected.dtype);
    let limits = Limits::of(dtype, expected.compute);
    let mut report = Report::default();
    let mut total = 0.0;
    for (i, (offset, &want)) in result.offsets().zip(&expected.cells).enumerate() {
        let got = result.bits(offset);
        let at = |error| Worst {
            index: index_of(shape.as_slice(), i / parts),
            part: i % parts,
            got,
            got_number: decode(dtype, got),
            want,
            want_number: match want {
                Cell::Bits(bits) => decode(dtype, bits),
                Cell::Sum(sum) => sum.value,
            },
            error,
        };
        let sum = match want {
            Cell::Bits(bits) if bits == got => {
                report.exact += 1;
                continue;
            }
            Cell::Bits(_) => return Err(Box::new(Mismatch { reason: Reason::Bits, at: at(None), report })),
            Cell::Sum(sum) => sum,
        };
        match judge(dtype, &limits, expected.compute, got, &sum) {
            Verdict::Unjudged => report.unjudged += 1,
            Verdict::NonFinite => report.non_finite += 1,
            Verdict::Small => report.small += 1,
            Verdict::Relative { error, cancelled } => {
                report.relative += 1;
                total += error;
                report.mean = total / report.relative as f64;
                if !cancelled {
                    let ulps = ulp_distance(dtype, got, encode(dtype, sum.value)).unwrap_or(0);
                    report.max_ulps = report.max_ulps.max(ulps);
                }
                if report.worst.as_ref().is_none_or(|worst| Some(error) > worst.error) {
                    report.worst = Some(at(Some(error)));
                }
            }
            Verdict::Wrong(reason) => {
                let error = (decode(dtype, got) - sum.value).abs();
                return Err(Box::new(Mismatch { reason, at: at(Some(error)), report }));
            }
        }
    }
    match report.worst.clone() {
        Some(at) if at.error >= Some(10.0 * limits.relative) => {
            Err(Box::new(Mismatch { reason: Reason::Relative, at, report }))
        }
        Some(at) if report.mean >= limits.relative => Err(Box::new(Mismatch { reason: Reason::Mean, at, report })),
        _ => Ok(report),
    }
}

fn judge(dtype: Dtype, limits: &Limits, compute: Compute, bits: u64, sum: &Sum) -> Verdict {
    let (got, want) = (decode(dtype, bits), sum.value);
    if got.is_nan() && bits != canonical_nan(dtype) {
        return Verdict::Wrong(Reason::Nan);
    }
    if sum.peak > compute.max() {
        return Verdict::Unjudged;
    }
    if !want.is_finite() {
        let same = got == want || got.is_nan() && want.is_nan();
        return if same { Verdict::NonFinite } else { Verdict::Wrong(Reason::NonFinite) };
    }
    // A result near the largest number may be on either side of it.
    let (max, slack) = (Float::of(dtype).max, 10.0 * limits.relative);
    if got.is_infinite() && want.abs() * (1.0 + slack) >= max && got.signum() == want.signum() {
        return Verdict::NonFinite;
    }
    if !got.is_finite() || want.abs() * (1.0 - slack) > max {
        return Verdict::Wrong(Reason::NonFinite);
    }
    let error = ((got - want).abs() - sum.underflows * compute.smallest() / 2.0).max(0.0);
    if want.abs() < sum.magnitude * CANCELLED {
        // Terms may be so small that the dtype has no number nearer than this.
        let error = (error - Float::of(dtype).smallest() / 2.0).max(0.0);
        return Verdict::Relative { error: error / (sum.magnitude + 1e-7), cancelled: true };
    }
    if want.abs() < limits.small {
        // Near the border of cancellation the terms are not small: no more is asked than of a sum just beyond it.
        let allowed = limits.absolute.max(limits.relative * CANCELLED * sum.magnitude);
        return if error <= allowed { Verdict::Small } else { Verdict::Wrong(Reason::Absolute) };
    }
    Verdict::Relative { error: error / (want.abs() + 1e-7), cancelled: false }
}

#[cfg(test)]
mod tests {
    use ubtile_tiling::TensorDesc;

    use super::*;

    fn sum(value: f64, magnitude: f64) -> Cell {
        Cell::Sum(Sum { value, magnitude, peak: magnitude, underflows: 0.0, terms: 2 })
    }

    /// Compares results, given in bits, with sums.
    fn verdict(dtype: Dtype, cells: &[(u64, Cell)]) -> Result<Report, Reason> {
        let desc = TensorDesc::contiguous(dtype, &[cells.len()]).unwrap();
        let result = Data::from_bits_fn(desc, |i| cells[i].0);
        let cells = cells.iter().map(|c| c.1).collect::<Vec<_>>();
        let expected = Expected { dtype, shape: vec![cells.len()], compute: Compute::of(dtype), cells };
        compare(&result, &expected).map_err(|mismatch| mismatch.reason)
    }

    #[test]
    fn relative_limits_of_each_dtype() {
        for (dtype, limit) in [(Dtype::F16, -10), (Dtype::Bf16, -7), (Dtype::F32, -13), (Dtype::F64, -42)] {
            let value = |factor: f64| (encode(dtype, 1.0), sum(1.0 / (1.0 + factor * 2f64.powi(limit)), 1.0));
            assert_eq!(verdict(dtype, &[value(9.0), value(0.0), value(0.0)]), Err(Reason::Mean), "{dtype}");
            let many = [&[value(9.0)][..], &[value(0.0); 19]].concat();
            assert!(verdict(dtype, &many).is_ok(), "{dtype}");
            let wrong = [&[value(11.0)][..], &[value(0.0); 19]].concat();
            assert_eq!(verdict(dtype, &wrong), Err(Reason::Relative), "{dtype}");
        }
    }

    #[test]
    fn small_values_and_cancelled_sums() {
        let f32 = |x: f64| encode(Dtype::F32, x);
        let tiny = 2f64.powi(-20);
        assert_eq!(verdict(Dtype::F32, &[(f32(tiny + 2f64.powi(-31)), sum(tiny, tiny))]).unwrap().small, 1);
        assert_eq!(verdict(Dtype::F32, &[(f32(tiny + 2f64.powi(-29)), sum(tiny, tiny))]), Err(Reason::Absolute));
        // 100 % off, but 2^-24 of its terms: noise.
        let report = verdict(Dtype::F32, &[(f32(2.0 * tiny), sum(tiny, 16.0))]).unwrap();
        assert_eq!((report.relative, report.max_ulps), (1, 0));
        assert_eq!(verdict(Dtype::F32, &[(f32(0.1), sum(0.0, 16.0))]), Err(Reason::Relative));
    }

    #[test]
    fn a_cancelled_sum_may_be_rounded_to_the_smallest_number() {
        // F16 has nothing between 0 and 2^-24; the terms are a hundred times that.
        let (smallest, magnitude) = (2f64.powi(-24), 100.0 * 2f64.powi(-24));
        for bits in [0, 1] {
            assert_eq!(verdict(Dtype::F16, &[(bits, sum(smallest / 2.0, magnitude * 2.0))]).unwrap().relative, 1);
        }
        assert_eq!(verdict(Dtype::F16, &[(2, sum(smallest / 2.0, magnitude * 2.0))]), Err(Reason::Mean));
    }

    #[test]
    fn a_product_that_underflowed_costs_what_it_is_multiplied_with() {
        let smallest = Compute::F32.smallest();
        let (mut change, mut gradient) = (Sum::default(), Sum::default());
        change.add(-0.5, 0.5, smallest);
        gradient.add_product(&change, 3e38);
        let got = |x: f64| verdict(Dtype::F32, &[(encode(Dtype::F32, x), Cell::Sum(gradient))]);
        // Half of the smallest number is a tie that goes to 0.
        assert_eq!(got(0.0).unwrap().small, 1);
        assert_eq!(got(-smallest * 3e38).unwrap().small, 1);
        assert_eq!(got(smallest * 3e38), Err(Reason::Absolute));
        // A difference of pixels that are no smaller than the smallest normal number loses nothing that counts.
        let (mut change, mut gradient) = (Sum::default(), Sum::default());
        change.add(1.0, 1.0, f64::from(f32::MIN_POSITIVE));
        gradient.add_product(&change, 3e38);
        let wrong = encode(Dtype::F32, gradient.value * (1.0 + 2f64.powi(-9)));
        assert_eq!(verdict(Dtype::F32, &[(wrong, Cell::Sum(gradient))]), Err(Reason::Relative));
    }

    #[test]
    fn infinities_and_nans() {
        let nan = 0x7fc0_0000u64;
        let infinity = encode(Dtype::F32, f64::INFINITY);
        assert_eq!(
            verdict(Dtype::F32, &[(nan, sum(f64::NAN, 1.0)), (infinity, sum(f64::INFINITY, 1.0))]).unwrap().non_finite,
            2
        );
        assert_eq!(verdict(Dtype::F32, &[(nan | 1, sum(f64::NAN, 1.0))]), Err(Reason::Nan));
        assert_eq!(verdict(Dtype::F32, &[(nan | 1 << 31, sum(f64::NAN, 1.0))]), Err(Reason::Nan));
        assert_eq!(verdict(Dtype::F32, &[(infinity, sum(f64::NEG_INFINITY, 1.0))]), Err(Reason::NonFinite));
        assert_eq!(verdict(Dtype::F32, &[(infinity, sum(1.0, 1.0))]), Err(Reason::NonFinite));
        assert_eq!(verdict(Dtype::F32, &[(0, sum(f64::NAN, 1.0))]), Err(Reason::NonFinite));
        // Beyond the largest number of the dtype, and beyond that of the intermediate sums.
        assert_eq!(verdict(Dtype::F16, &[(0x7c00, sum(1e6, 1e6))]).unwrap().non_finite, 1);
        assert_eq!(verdict(Dtype::F16, &[(0xfc00, sum(1e6, 1e6))]), Err(Reason::NonFinite));
        assert_eq!(verdict(Dtype::F16, &[(0x7bff, sum(1e6, 1e6))]), Err(Reason::NonFinite));
        assert_eq!(verdict(Dtype::F16, &[(0x7bff, sum(65530.0, 65530.0))]).unwrap().relative, 1);
        assert_eq!(verdict(Dtype::F32, &[(infinity, sum(1.0, 1e39))]).unwrap().unjudged, 1);
    }

    #[test]
    fn exact_cells_are_bits() {
        assert_eq!(verdict(Dtype::F32, &[(0, Cell::Bits(0)), (1 << 31, sum(0.0, 0.0))]).unwrap().exact, 1);
        assert_eq!(verdict(Dtype::F32, &[(1 << 31, Cell::Bits(0))]), Err(Reason::Bits));
        assert_eq!(verdict(Dtype::I8, &[(5, Cell::Bits(5)), (5, Cell::Bits(6))]), Err(Reason::Bits));
    }
}
