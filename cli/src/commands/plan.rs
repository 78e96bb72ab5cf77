//! `ubtile plan OP`: the tiling, the workspace, and why.

mod aclnn;
mod calls;
mod decisions;
mod make;
mod means;
mod report;
mod text;

use std::num::NonZeroUsize;
use std::path::Path;

use serde_json::Value;
use ubtile_sim::report::{Folder, plans as page, workspace_chart};

use crate::args::{Attributes, PlaceArgs, PlanArgs, Products};
use crate::error::Error;
use crate::invocation;
use crate::output::{self, Format, Report};
use crate::place::{Place, Settings};
use crate::problem::Known;
use crate::progress::Progress;
use crate::threads::Threads;

pub(super) use calls::Calls;
pub(crate) use calls::run as run_calls;
pub(crate) use make::{make, native, set, vendor};
pub(crate) use means::on_ai_core;
pub(crate) use report::{Plan, count_tiles};

/// Plans and prints.
pub(crate) fn run(attributes: &Attributes, args: &PlanArgs, format: Format) -> Result<(), Error> {
    let operator = attributes.operator();
    let known = Known::new(operator, &args.inputs)?;
    let place = &args.place;
    let compare = place.product == Some(Products::All);
    let threads = Threads::available().0;
    let plans = {
        let _progress = Progress::new(format!("planning {operator}"));
        if compare {
            Settings::new(place)?;
            of_every_product(attributes, &known, place, threads)?
        } else {
            vec![make::make(attributes, &known, &Place::one(place, threads)?, place, false)?]
        }
    };
    if let Some(folder) = &args.output {
        save(folder, &plans, compare)?;
    }
    match plans.as_slice() {
        [plan] if !compare => output::print(format, plan),
        plans => output::print_all(format, plans, &text::comparison(plans)),
    }
}

/// The plans of all product lines. A line that cannot do what the options ask for says so in its place; if none can, that is
/// an error.
fn of_every_product(
    attributes: &Attributes,
    known: &Known,
    args: &PlaceArgs,
    threads: NonZeroUsize,
) -> Result<Vec<Plan>, Error> {
    let (mut plans, mut planned, mut first_error) = (Vec::new(), 0, None);
    for product in Place::lines(args)? {
        let args = PlaceArgs { product: Some(product), ..args.clone() };
        let plan = Place::one(&args, threads).and_then(|place| make::make(attributes, known, &place, &args, true));
        match plan {
            Ok(plan) => {
                planned += usize::from(plan.supported);
                plans.push(plan);
            }
            Err(why) => {
                let plain = PlaceArgs { cores: None, set: Vec::new(), ..args };
                let plan = make::refused(attributes, known, &Place::one(&plain, threads)?, &plain, &why)?;
                if plan.supported {
                    first_error.get_or_insert(why);
                }
                plans.push(plan);
            }
        }
    }
    match first_error {
        Some(error) if planned == 0 => Err(error),
        _ => Ok(plans),
    }
}

/// Writes the report, its page and the charts.
fn save(folder: &Path, plans: &[Plan], compare: bool) -> Result<(), Error> {
    let (json, text) = match plans {
        [plan] if !compare => (output::json(plan)?, plan.text()),
        plans => (output::json_all(plans)?, text::comparison(plans)),
    };
    let values = plans.iter().map(output::value).collect::<Result<Vec<_>, _>>()?;
    let page = match values.as_slice() {
        [value] if !compare => page(value, &invocation::command()),
        values => page(&Value::Array(values.to_vec()), &invocation::command()),
    };
    let files = Folder::create(folder)?;
    files.text("plan.json", &json)?;
    files.text("plan.txt", &text)?;
    files.text("report.html", &page)?;
    for (plan, value) in plans.iter().zip(&values) {
        if let Some(chart) = workspace_chart(value) {
            let name = match (&plan.product, compare) {
                (Some(product), true) => format!("workspace-{product}.svg"),
                _ => "workspace.svg".to_owned(),
            };
            files.text(&name, &chart)?;
        }
    }
    Ok(files.keep()?)
}
