//! `ubtile plan OP`: the tiling, the workspace, and why.

mod aclnn;
mod calls;
mod chart;
mod make;
mod means;
mod report;
mod text;

use std::path::Path;

use crate::args::{Attributes, PlanArgs, Products};
use crate::error::Error;
use crate::files;
use crate::output::{self, Format, Report};
use crate::place::Place;
use crate::problem::Known;
use crate::progress::Progress;
use crate::tensors::Input;
use crate::threads::Threads;

pub(crate) use calls::run as run_calls;
pub(crate) use report::{Plan, count_tiles};

/// Plans and prints.
pub(crate) fn run(attributes: &Attributes, args: &PlanArgs, format: Format) -> Result<(), Error> {
    let operator = attributes.operator();
    let known = match &args.input {
        Some(path) => Known::in_file(operator, &mut Input::open(path)?)?,
        None => Known::by_shape(operator, &args.shape, &args.dtype)?,
    };
    let place = &args.place;
    let compare = place.product == Some(Products::All);
    let plans = {
        let _progress = Progress::new(format!("planning {operator}"));
        let places = Place::all(place, Threads::available().0)?;
        let plans = places.iter().map(|at| make::make(attributes, &known, at, place, compare));
        plans.collect::<Result<Vec<_>, _>>()?
    };
    if let Some(folder) = &place.output {
        save(folder, &plans, compare)?;
    }
    match plans.as_slice() {
        [plan] if !compare => output::print(format, plan),
        plans => output::print_all(format, plans, &text::comparison(plans)),
    }
}

/// Writes the report and the charts.
fn save(folder: &Path, plans: &[Plan], compare: bool) -> Result<(), Error> {
    let (json, text) = match plans {
        [plan] if !compare => (output::json(plan)?, plan.text()),
        plans => (output::json_all(plans)?, text::comparison(plans)),
    };
    let mut texts = vec![("plan.json".to_owned(), json), ("plan.txt".to_owned(), text)];
    for plan in plans {
        if let Some(chart) = chart::chart(plan) {
            let name = match (&plan.product, compare) {
                (Some(product), true) => format!("workspace-{product}.svg"),
                _ => "workspace.svg".to_owned(),
            };
            texts.push((name, chart));
        }
    }
    files::write_all(folder, &texts)
}
