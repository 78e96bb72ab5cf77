//! Failures that implementations of these operators had in public, each with a test that shows this one does not have it.
//! Those of the contract and of plans are in `tiling/tests/known_diseases.rs`.

#[path = "../common/mod.rs"]
mod common;
mod coordinates;
mod indices;
mod more_cores_than_images;
mod run;
mod shapes;
