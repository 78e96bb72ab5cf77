//! What the fuzz targets share: descriptions, plans and runs of any operator, made of the fuzzer's bytes.

pub mod generate;
pub mod plan;
pub mod run;
