//! What a caller says, and what of it is sensible: `Desc` → `check` → `Problem`, for each operator.
//!
//! A check applies the rules of the vendor's first phase in their order, then ours (strides, sizes, overlap). A `Problem`
//! can only be made here; it reads as its `Geometry`. Behind a check every product of a tensor's sizes, its span and its
//! bytes fit `isize`.

mod attribute;
mod message;
mod rules;
mod slot;

pub(crate) mod grid_sampler_2d_backward;
pub(crate) mod im2col_backward;
pub(crate) mod max_unpool2d_backward;
pub(crate) mod replication_pad2d_backward;

pub use attribute::Attribute;
pub use slot::{EarlySuccess, TensorSlot};
