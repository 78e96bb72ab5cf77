//! One file for each command.

pub(crate) mod compare;
pub(crate) mod disasm;
pub(crate) mod fuzz;
pub(crate) mod manual;
pub(crate) mod ops;
pub(crate) mod plan;
pub(crate) mod products;
pub(crate) mod replay;
pub(crate) mod run;
pub(crate) mod sanitize;
pub(crate) mod schema;
pub(crate) mod sim;
pub(crate) mod tour;
