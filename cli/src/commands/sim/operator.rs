//! An operator's plan as a program: how long it takes on a product, on all of them, or while a number varies.

use std::num::NonZeroUsize;
use std::path::Path;

use ubtile_sim::clock::{Change, ClockError, Options, simulate};
use ubtile_sim::program::Program;
use ubtile_sim::report::{Failure, FewerCores, Folder, Recorded, Simulated, simulation};
use ubtile_sim::text;

use super::refusals::Refusals;
use super::report::{by_product, by_value, of_operator};
use super::saved::{self, Run};
use super::timing::each;
use crate::args::{Attributes, Named, PlaceArgs, Products, Range, SimOperatorArgs};
use crate::error::Error;
use crate::invocation;
use crate::lowered::{Lowered, Made};
use crate::output::{self, Format, Report as _};
use crate::place::Place;
use crate::problem::Known;
use crate::progress::Progress;
use crate::settings::{must_be_free, warn_of_idle};

/// Times it where the options say.
pub(super) fn run(attributes: &Attributes, args: &SimOperatorArgs, format: Format) -> Result<(), Error> {
    let known = Known::new(attributes.operator(), &args.lowered.inputs)?;
    let place = &args.lowered.place;
    let job = Job { attributes, known: &known, args, failure: None };
    let path = args.save.folder.as_deref();
    path.map_or(Ok(()), Folder::probe)?;
    let (points, folder, text) = match (&args.vary, place.product) {
        (Some(_), Some(Products::All)) => {
            return Err(Error::Usage("--vary: on one machine at a time, not on --product all".into()));
        }
        (Some(vary), _) => {
            must_be_free(&vary.name, &place.set, "")?;
            if vary.name == "cores" && place.cores.is_some() {
                return Err(Error::Usage("--vary cores: it has a value, by --cores".into()));
            }
            let points = job.varied(place, vary)?;
            let text = by_value(&vary.name, &points);
            (points, saved::begin(path)?, text)
        }
        (None, Some(Products::All)) => {
            let folder = saved::begin(path)?;
            let points = job.of_every_product(place, folder.as_ref())?;
            let text = by_product(attributes.operator().name(), &points);
            (points, folder, text)
        }
        (None, _) => {
            let report = job.single(place, path)?;
            warn_of_idle(&place.set, None, std::slice::from_ref(&report));
            return output::print(format, &report);
        }
    };
    warn_of_idle(&place.set, args.vary.as_ref().map(|vary| vary.name.as_str()), &points);
    folder.as_ref().map_or(Ok(()), |folder| saved::write_all(folder, &points, &text))?;
    saved::keep(folder)?;
    output::print_all(format, &points, &text)
}

/// Times it once and writes what is asked for.
pub(super) fn save(attributes: &Attributes, args: &SimOperatorArgs, failure: Failure) -> Result<(), Error> {
    let known = Known::new(attributes.operator(), &args.lowered.inputs)?;
    let job = Job { attributes, known: &known, args, failure: Some(failure) };
    job.single(&args.lowered.place, args.save.folder.as_deref()).map(drop)
}

struct Job<'a> {
    attributes: &'a Attributes,
    known: &'a Known,
    args: &'a SimOperatorArgs,
    /// What a kernel got wrong of the problem.
    failure: Option<Failure>,
}

impl Job<'_> {
    fn name(&self) -> &'static str {
        self.attributes.operator().name()
    }

    fn lower(&self, place: &PlaceArgs, compare: bool) -> Result<Lowered, Error> {
        Lowered::on(self.attributes, self.known, place, compare)
    }

    /// What is known of a run that cannot be: without what the machine does not have, where that is why.
    fn outlined(&self, place: &PlaceArgs, compare: bool) -> Result<Simulated, Error> {
        let outline = |place: &PlaceArgs| Lowered::outline(self.attributes, self.known, place, compare);
        let plain = || PlaceArgs { cores: None, set: Vec::new(), ..place.clone() };
        let lowered = outline(place).or_else(|_| outline(&plain()))?;
        Ok(of_operator(self.name(), &lowered))
    }

    /// What a run needs beside the program, and what its report says without a time.
    fn outline(&self, lowered: &Lowered) -> (Options, Simulated) {
        let options = Options { seed: self.args.seed, start: lowered.start, ..Options::default() };
        (options, Simulated { failure: self.failure.clone(), ..of_operator(self.name(), lowered) })
    }

    fn failed(&self, program: &Program, error: &ClockError) -> Error {
        Error::Unusable(format!("{}: {}", self.name(), error.describe(program)))
    }

    fn single(&self, place: &PlaceArgs, folder: Option<&Path>) -> Result<Simulated, Error> {
        let lowered = self.lower(place, false)?;
        let (options, mut report) = self.outline(&lowered);
        if let Ok(Made { program, .. }) = &lowered.made {
            let _progress = Progress::new(format!("timing {}", self.name()));
            let measured = report.measure(program, &lowered.soc, &options);
            report = measured.map_err(|e| self.failed(program, &e))?;
            if place.cores.is_none() {
                report.fewer_cores = self.fewer_cores(place, &report)?;
            }
        }
        saved::write(folder, |folder| self.save((folder, ""), place, &lowered, &report))?;
        Ok(report)
    }

    /// The fastest of plans for half as many cores, a quarter, ..., where it would help if all started at once.
    fn fewer_cores(&self, place: &PlaceArgs, all: &Simulated) -> Result<Option<FewerCores>, Error> {
        let Some(timing) = &all.timing else { return Ok(None) };
        let mut best = None;
        if all.changes.iter().any(|advice| advice.change == Change::NoStagger) {
            let mut cores = timing.cores_used / 2;
            while cores > 0 {
                let (_, fewer) = self.point(&set(place, "cores", cores.into())?, false)?;
                let task_us = fewer.timing.map_or(f64::INFINITY, |timing| timing.task_us);
                let fastest = best.map_or(timing.task_us, |best: FewerCores| best.task_us);
                if task_us < fastest {
                    best = Some(FewerCores { cores, task_us, saves: 1.0 - task_us / timing.task_us });
                }
                cores /= 2;
            }
        }
        Ok(best)
    }

    /// Writes what other programs open; where there is no run, why.
    fn save(&self, to: (&Folder, &str), place: &PlaceArgs, lowered: &Lowered, report: &Simulated) -> Result<(), Error> {
        let (folder, prefix) = to;
        let Ok(Made { program, .. }) = &lowered.made else {
            folder.text(&format!("{prefix}report.json"), &output::json(report)?)?;
            folder.text(&format!("{prefix}report.txt"), &report.text())?;
            let page = simulation(&output::value(report)?, &Recorded::default(), None, &invocation::command());
            folder.text(&format!("{prefix}report.html"), &page)?;
            return Ok(());
        };
        // Its text has lines that tables and traces can name.
        let (text, program) = text::printed(program, &lowered.soc).map_err(|e| Error::Unusable(e.to_string()))?;
        let (options, _) = self.outline(lowered);
        let plan = lowered.plan(self.attributes, self.known, place)?;
        let plan = output::value(&plan)?;
        let (soc, rated_mhz, options, plan) = (&lowered.soc, lowered.rated_mhz, &options, Some(&plan));
        let run = Run { program: &program, text: &text, name: self.name(), soc, rated_mhz, options, plan };
        run.write((&self.args.save, folder, prefix), report, |e| self.failed(&program, e))
    }

    /// One run of one seed.
    fn point(&self, place: &PlaceArgs, compare: bool) -> Result<(Lowered, Simulated), Error> {
        let lowered = self.lower(place, compare)?;
        let (options, mut report) = self.outline(&lowered);
        if let Ok(Made { program, .. }) = &lowered.made {
            let timing = simulate(program, &lowered.soc, &options);
            let timing = timing.map_err(|e| self.failed(program, &e))?;
            report.timing = Some(timing.of_a_plan(&lowered.soc));
        }
        Ok((lowered, report))
    }

    /// A run for each value, or why there is none; an error if there is none at all.
    fn varied(&self, place: &PlaceArgs, Named { name, value: range }: &Named<Range>) -> Result<Vec<Simulated>, Error> {
        let values: Vec<_> = range.values().collect();
        let mut refusals = Refusals::default();
        let points = each(
            &values,
            |value| format!("{name} = {value}"),
            |&value| {
                let run = set(place, name, value).and_then(|place| self.point(&place, false));
                let mut point = refusals.or(run.map(|(_, report)| report), || self.outlined(place, false))?;
                point.vary = Some((name.clone(), value));
                Ok(point)
            },
        )?;
        refusals.unless_some(points)
    }

    /// A run on the usual SoC of each product line, or why there is none; an error if there is none at all.
    fn of_every_product(&self, place: &PlaceArgs, folder: Option<&Folder>) -> Result<Vec<Simulated>, Error> {
        let lines: Vec<_> = Place::lines(place)?.collect();
        let label = |line: &Products| match line {
            Products::One(product) => format!("{} on {product}", self.name()),
            Products::All => self.name().to_owned(),
        };
        let mut refusals = Refusals::default();
        let points = each(&lines, label, |&line| {
            let on_line = PlaceArgs { product: Some(line), ..place.clone() };
            let run = self.point(&on_line, true);
            // What cannot be written is no matter of the product.
            if let (Ok((lowered, report)), Some(folder)) = (&run, folder) {
                self.save((folder, &format!("{}/", lowered.product)), &on_line, lowered, report)?;
            }
            refusals.or(run.map(|(_, report)| report), || self.outlined(&on_line, true))
        })?;
        refusals.unless_some(points)
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
