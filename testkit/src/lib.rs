//! The evidence for everything that computes here: a naive reference of each operator, generators of problems and data, and
//! comparisons with the tolerances of the vendor's accuracy standard.
//!
//! It depends on the contract alone and shares no code with the kernels. Functions panic when they are misused.
//!
//! ```
//! use ubtile_testkit::{Fill, Rng, compare, problems, reference};
//!
//! let problem = problems::Im2col { h: 9, kernel: [3, 3], padding: [1, 1], ..Default::default() }.problem();
//! let grad_output = problems::im2col_inputs(&problem, Fill::Uniform, &mut Rng::new(1));
//! let expected = reference::im2col_backward::run(&problem, &grad_output);
//! let result = expected.to_data(); // here a kernel would write
//! println!("{}", compare(&result, &expected).unwrap());
//! ```

mod compare;
mod data;
mod description;
mod generate;
mod inputs;
mod number;
pub mod problems;
pub mod reference;
mod rng;
mod sizes;
#[cfg(feature = "proptest")]
pub mod strategies;

pub use compare::{Mismatch, Reason, Report, Worst, compare};
pub use data::{Data, FirstDifference, bits_equal};
pub use description::Description;
pub use generate::{Coordinates, Fill, IndexFill, fill, grid, indices};
pub use inputs::{Inputs, Kinds, expected};
pub use number::{Compute, Float, canonical_nan, component, decode, encode, ulp_distance};
pub use rng::Rng;
pub use sizes::{pairwise, sizes_around};
