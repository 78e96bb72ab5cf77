//! Pages that show reports: one HTML file each, complete in itself, that asks no network for anything.
//!
//! A page is made from the JSON of a report and contains it. Every number that it shows names the place in that JSON where it stands, in
//! the attributes `data-in` and `data-at` of its element. Charts are there without scripts; a script adds zoom and what a pointer or the
//! keyboard asks for.

mod advice;
mod comparison;
mod cores;
mod evidence;
mod html;
mod instructions;
mod picture;
mod plan;
mod plans;
mod products;
mod roof_chart;
mod roofline;
mod series;
mod shell;
mod simulation;
mod ticks;
mod timeline;
mod tour;
mod value;
mod verdict;
mod workspace;

pub use comparison::comparison;
pub use picture::{pipes_picture, series_picture};
pub use plans::plans;
pub use series::runs;
pub use simulation::simulation;
pub use tour::tour;
pub use workspace::workspace_chart;
