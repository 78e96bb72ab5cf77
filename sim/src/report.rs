//! Files that people and their other programs open: pages, the tables of the vendor's profiler and simulator, and traces.
//!
//! Each format takes what it needs from a [`Profile`](crate::clock::Profile) and the [`Event`](crate::clock::Event)s of its run.
//! What the clock does not model is `NA` in the tables, never 0.

mod envelope;
mod executed;
mod folder;
mod gather;
mod names;
mod page;
mod pairs;
mod perfetto;
mod profiler;
mod protobuf;
mod recorded;
mod saved;
mod simulated;
mod trace;

pub use envelope::Envelope;
pub use executed::Executed;
pub use folder::{Folder, NotWritten};
pub use gather::{Counted, Gathered};
pub use names::Lanes;
pub use page::{comparison, pipes_picture, plans, runs, series_picture, simulation, tour, workspace_chart};
pub use perfetto::Perfetto;
pub use profiler::{Described, Profiler, TABLES};
pub use recorded::{Recorded, Recorder, Work, shown_cores};
pub use saved::{SaveError, Saved, TraceFormat, TraceOptions, Traced};
pub use simulated::{Failure, FewerCores, Simulated, whose_program};
pub use trace::{Trace, Window};
