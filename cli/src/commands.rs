//! One file for each command.

pub(crate) mod disasm;
pub(crate) mod ops;
pub(crate) mod plan;
pub(crate) mod products;
pub(crate) mod run;
pub(crate) mod sim;
pub(crate) mod tour;
