//! What the fuzz targets share: descriptions, plans and runs of any operator, made of the fuzzer's bytes.

// C takes pointers.
#[allow(unsafe_code)]
pub mod aclnn;
#[allow(unsafe_code)]
pub mod c_abi;
pub mod generate;
pub mod native;
pub mod plan;
pub mod programs;
pub mod run;
