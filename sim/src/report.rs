//! Files that people's other programs open: the tables of the vendor's profiler and simulator, and traces.
//!
//! Each format takes what it needs from a [`Profile`](crate::clock::Profile) and the [`Event`](crate::clock::Event)s of its run.
//! What the clock does not model is `NA` in the tables, never 0.

mod executed;
mod gather;
mod names;
mod profiler;
mod trace;

pub use executed::Executed;
pub use gather::{Counted, Gathered};
pub use names::Lanes;
pub use profiler::{Described, Profiler, TABLES};
pub use trace::{Trace, Window};
