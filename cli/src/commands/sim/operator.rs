//! An operator's plan as a program: how long it takes on a product, on all of them, or while a number varies.

use std::num::NonZeroUsize;

use ubtile_sim::clock::{Options, simulate};

use super::report::{Sim, by_product, by_value};
use super::timing::{each, measure};
use crate::args::{Attributes, Named, PlaceArgs, Products, Range, SimOperatorArgs};
use crate::error::Error;
use crate::lowered::{Lowered, Made};
use crate::output::{self, Format};
use crate::place::Place;
use crate::problem::Known;
use crate::progress::Progress;

/// Times it where the options say.
pub(super) fn run(attributes: &Attributes, args: &SimOperatorArgs, format: Format) -> Result<(), Error> {
    let known = Known::new(attributes.operator(), &args.lowered.inputs)?;
    let place = &args.lowered.place;
    let job = Job { attributes, known: &known, seed: args.seed };
    match (&args.vary, place.product) {
        (Some(_), Some(Products::All)) => {
            Err(Error::Usage("--vary: on one machine at a time, not on --product all".into()))
        }
        (Some(vary), _) => {
            let points = job.varied(place, vary)?;
            output::print_all(format, &points, &by_value(&vary.name, &points))
        }
        (None, Some(Products::All)) => {
            let points = job.of_every_product(place)?;
            output::print_all(format, &points, &by_product(attributes.operator().name(), &points))
        }
        (None, _) => output::print(format, &job.single(place)?),
    }
}

struct Job<'a> {
    attributes: &'a Attributes,
    known: &'a Known,
    seed: u64,
}

impl Job<'_> {
    fn name(&self) -> &'static str {
        self.attributes.operator().name()
    }

    fn lower(&self, place: &PlaceArgs, compare: bool) -> Result<Lowered, Error> {
        Lowered::on(self.attributes, self.known, place, compare)
    }

    /// What a run needs beside the program, and what its report says without a time.
    fn outline(&self, lowered: &Lowered) -> (Options, Sim) {
        let options = Options { seed: self.seed, start: lowered.start, ..Options::default() };
        (options, Sim::of_operator(self.name(), lowered))
    }

    fn single(&self, place: &PlaceArgs) -> Result<Sim, Error> {
        let _progress = Progress::new(format!("timing {}", self.name()));
        let lowered = self.lower(place, false)?;
        let (options, report) = self.outline(&lowered);
        let Ok(Made { program, .. }) = &lowered.made else { return Ok(report) };
        let measured = measure((program, &lowered.soc, &options), report);
        measured.map_err(|e| Error::Unusable(format!("{}: {}", self.name(), e.describe(program))))
    }

    /// One run of one seed.
    fn point(&self, place: &PlaceArgs, compare: bool) -> Result<Sim, Error> {
        let lowered = self.lower(place, compare)?;
        let (options, mut report) = self.outline(&lowered);
        if let Ok(Made { program, .. }) = &lowered.made {
            let timing = simulate(program, &lowered.soc, &options);
            report.timing =
                Some(timing.map_err(|e| Error::Unusable(format!("{}: {}", self.name(), e.describe(program))))?);
        }
        Ok(report)
    }

    /// A run for each value, or why there is none; an error if there is none at all.
    fn varied(&self, place: &PlaceArgs, Named { name, value: range }: &Named<Range>) -> Result<Vec<Sim>, Error> {
        let usual = self.lower(place, false)?;
        let values: Vec<_> = range.values().collect();
        let mut refusals = Refusals::default();
        let points = each(
            &values,
            |value| format!("{name} = {value}"),
            |&value| {
                let run = set(place, name, value).and_then(|place| self.point(&place, false));
                let mut point = refusals.or(run, || Ok(Sim::of_operator(self.name(), &usual)))?;
                point.vary = Some((name.clone(), value));
                Ok(point)
            },
        )?;
        refusals.unless_some(points)
    }

    /// A run on the usual SoC of each product line, or why there is none; an error if there is none at all.
    fn of_every_product(&self, place: &PlaceArgs) -> Result<Vec<Sim>, Error> {
        let lines: Vec<_> = Place::lines(place)?.collect();
        let label = |line: &Products| match line {
            Products::One(product) => format!("{} on {product}", self.name()),
            Products::All => self.name().to_owned(),
        };
        let mut refusals = Refusals::default();
        let points = each(&lines, label, |&line| {
            let product = Some(line);
            let run = self.point(&PlaceArgs { product, ..place.clone() }, true);
            refusals.or(run, || {
                // The same without what cannot be there.
                let plain = PlaceArgs { product, cores: None, set: Vec::new(), ..place.clone() };
                Ok(Sim::of_operator(self.name(), &self.lower(&plain, true)?))
            })
        })?;
        refusals.unless_some(points)
    }
}

/// Why some runs of several are not there.
#[derive(Default)]
struct Refusals {
    first: Option<Error>,
    runs: usize,
}

impl Refusals {
    /// A run; where what was asked for cannot be, what is known of it, and why.
    fn or(&mut self, run: Result<Sim, Error>, outline: impl FnOnce() -> Result<Sim, Error>) -> Result<Sim, Error> {
        match run {
            Ok(run) => {
                self.runs += usize::from(run.timing.is_some());
                Ok(run)
            }
            Err(Error::Unusable(why)) => {
                let mut outline = outline()?;
                outline.refuse(why.clone());
                self.first.get_or_insert(Error::Unusable(why));
                Ok(outline)
            }
            Err(other) => Err(other),
        }
    }

    /// The points, unless all were refused.
    fn unless_some(self, points: Vec<Sim>) -> Result<Vec<Sim>, Error> {
        match self.first {
            Some(error) if self.runs == 0 => Err(error),
            _ => Ok(points),
        }
    }
}

/// The options with another value of a number.
fn set(place: &PlaceArgs, name: &str, value: u64) -> Result<PlaceArgs, Error> {
    let mut place = place.clone();
    if name == "cores" {
        let cores = usize::try_from(value).ok().and_then(NonZeroUsize::new);
        place.cores = Some(cores.ok_or_else(|| Error::Unusable("cores: at least 1".into()))?);
    } else {
        place.set.push(Named { name: name.into(), value: value.to_string() });
    }
    Ok(place)
}
