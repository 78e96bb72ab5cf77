//! The command `ubtile`.
fn main() {}
