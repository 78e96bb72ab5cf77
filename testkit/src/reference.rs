//! The operators, naively: one loop over what the formula says, no vectors, no tiles.
//!
//! Coordinates, cells, distances and multipliers are computed in the operator's compute type, step by step as numerics v1 has
//! them; everything after that in f64. Results come with the sum of the magnitudes of their terms, from which a comparison knows
//! how much a correct f32 sum may differ.

pub mod grid_sampler_2d_backward;
pub mod im2col_backward;
pub mod max_unpool2d_backward;
pub mod replication_pad2d_backward;

use ubtile_tiling::{Dtype, TensorDesc};

use crate::data::Data;
use crate::number::{Compute, component, encode};

/// What an operator must give.
#[derive(Clone, Debug)]
pub struct Expected {
    /// Element type of the result.
    pub dtype: Dtype,
    /// Its sizes.
    pub shape: Vec<usize>,
    /// What its sums are made in.
    pub compute: Compute,
    /// Its components in row-major order: one for each element, two for a complex one.
    pub cells: Vec<Cell>,
}

/// One component of a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell {
    /// Exact: these bits and no others.
    Bits(u64),
    /// A sum that may be rounded.
    Sum(Sum),
}

/// A sum of products, and how large its terms were.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sum {
    /// The sum in f64.
    pub value: f64,
    /// Sum of the magnitudes of the terms that are made of finite numbers.
    pub magnitude: f64,
    /// The largest such sum on the way to the result: beyond the compute type's range, an intermediate may have overflowed.
    pub peak: f64,
    /// How often a product, times what it was multiplied with afterwards, may have lost half of the compute type's smallest number
    /// above 0: what rounding costs where its relative error does not hold.
    pub underflows: f64,
    /// How many terms there were.
    pub terms: usize,
}

impl Sum {
    /// Adds `weight * value`, where rounding the weight may have cost as much as if it were as large as `scale`.
    pub fn add(&mut self, weight: f64, scale: f64, value: f64) {
        self.value += weight * value;
        if weight.is_finite() && value.is_finite() {
            self.magnitude += (scale * value).abs();
            // The weight is a product too.
            self.underflows += value.abs() + 1.0;
        }
        self.peak = self.peak.max(if undecided(weight, scale, value) { f64::INFINITY } else { self.magnitude });
        self.terms += 1;
    }

    /// Adds another sum times `factor`.
    pub fn add_product(&mut self, sum: &Self, factor: f64) {
        self.value += sum.value * factor;
        if factor.is_finite() {
            self.magnitude += sum.magnitude * factor.abs();
            self.underflows += sum.underflows * factor.abs() + 1.0;
        }
        let undecided = undecided(sum.value, sum.magnitude, factor);
        self.peak = self.peak.max(sum.peak).max(if undecided { f64::INFINITY } else { self.magnitude });
        self.terms += sum.terms;
    }

    /// The cell: exactly +0 where nothing was added.
    #[must_use]
    pub const fn cell(self) -> Cell {
        if self.terms == 0 { Cell::Bits(0) } else { Cell::Sum(self) }
    }
}

/// Whether rounding decides what `weight * value` is: an infinity of either sign or NaN, when the weight is its own rounding noise.
fn undecided(weight: f64, scale: f64, value: f64) -> bool {
    value.is_infinite() && weight.abs() < (scale * 2f64.powi(-16)).max(2f64.powi(-120)) && scale > 0.0
}

impl Expected {
    fn new(dtype: Dtype, shape: &[usize], compute: Compute, cells: impl IntoIterator<Item = Cell>) -> Self {
        let cells: Vec<_> = cells.into_iter().collect();
        assert_eq!(cells.len(), shape.iter().product::<usize>() * component(dtype).1, "a cell for each component");
        Self { dtype, shape: shape.to_vec(), compute, cells }
    }

    /// The result rounded to its dtype, contiguous.
    #[must_use]
    pub fn to_data(&self) -> Data {
        let desc = TensorDesc::contiguous(self.dtype, &self.shape).expect("the rank is legal");
        let dtype = component(self.dtype).0;
        Data::from_bits_fn(desc, |i| match self.cells[i] {
            Cell::Bits(bits) => bits,
            Cell::Sum(sum) => encode(dtype, sum.value),
        })
    }
}

/// Offset of an element in a tensor with these strides.
fn at<const R: usize>(index: [usize; R], strides: [usize; R]) -> usize {
    index.iter().zip(strides).map(|(i, stride)| i * stride).sum()
}
