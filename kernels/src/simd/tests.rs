//! Every operation at every level.

mod conversions;
mod operations;
mod pairs;
mod transpose;
