//! How long a program takes, what bounds it, and what would change that.

use std::io::{Write as _, stderr};
use std::path::Path;
use std::time::Instant;

use ubtile_sim::clock::{ClockError, Options, simulate};
use ubtile_sim::product::Soc;
use ubtile_sim::program::Program;
use ubtile_sim::report::{Failure, Folder, Simulated};

use super::refusals::Refusals;
use super::report::by_value;
use super::saved::{self, Run};
use crate::args::{Named, SaveArgs, SimArgs};
use crate::error::Error;
use crate::output::{self, Format};
use crate::place::rated_mhz;
use crate::program::{self, Loaded};
use crate::progress::Progress;
use crate::settings::{must_be_free, warn_of_idle};
use crate::soc::soc;

/// Times a program once, or for each value of a number.
pub(super) fn run(args: &SimArgs, format: Format) -> Result<(), Error> {
    let soc = soc(&args.program.soc)?;
    let text = program::text_of(args.program.path())?;
    let job = Job {
        path: args.program.path(),
        text: &text,
        soc: &soc,
        set: &args.program.set,
        seed: args.seed,
        save: &args.save,
    };
    let Some(vary) = &args.vary else {
        let report = job.single()?;
        warn_of_idle(&args.program.set, None, std::slice::from_ref(&report));
        saved::write(args.save.folder.as_deref(), |folder| job.save(folder, &report))?;
        return output::print(format, &report);
    };
    must_be_free(&vary.name, &args.program.set, &text)?;
    let values: Vec<_> = vary.value.values().collect();
    let points = job.series(&vary.name, &values)?;
    warn_of_idle(&args.program.set, Some(&vary.name), &points);
    let text = by_value(&vary.name, &points);
    saved::write(args.save.folder.as_deref(), |folder| saved::write_all(folder, &points, &text))?;
    output::print_all(format, &points, &text)
}

/// Runs one after the other, with how long all of them will take once the first is over.
pub(super) fn each<T>(
    values: &[T],
    label: impl Fn(&T) -> String,
    mut run: impl FnMut(&T) -> Result<Simulated, Error>,
) -> Result<Vec<Simulated>, Error> {
    let (begun, count) = (Instant::now(), values.len());
    let mut points = Vec::new();
    for (i, value) in values.iter().enumerate() {
        let _progress = Progress::new(format!("{}, {} of {count}", label(value), i + 1));
        points.push(run(value)?);
        let all = begun.elapsed().as_secs_f64() * count as f64;
        if i == 0 && count > 1 && all >= 1.0 {
            // Nothing is left to do when stderr is closed.
            let _ = writeln!(stderr(), "ubtile: {count} runs, about {all:.0} s in all");
        }
    }
    Ok(points)
}

/// Times a program once and writes what is asked for; where it cannot be timed, what is known without.
pub(super) fn save(path: &Path, text: &str, soc: &Soc, save: &SaveArgs, failure: Failure) -> Result<(), Error> {
    let job = Job { path, text, soc, set: &[], seed: 0, save };
    let folder = save.folder.as_deref();
    match job.single() {
        Ok(report) => {
            let report = Simulated { failure: Some(failure), ..report };
            saved::write(folder, |folder| job.save(folder, &report))
        }
        Err(untimed) => {
            let reason = Some(untimed.to_string());
            let report = Simulated { failure: Some(failure), reason, ..job.outline(soc) };
            saved::write(folder, |folder| saved::write_untimed(folder, &report))?;
            Err(untimed)
        }
    }
}

struct Job<'a> {
    path: &'a Path,
    text: &'a str,
    soc: &'a Soc,
    set: &'a [Named<String>],
    seed: u64,
    save: &'a SaveArgs,
}

impl Job<'_> {
    /// The program and the product with what was set, and with what is varied.
    fn prepare(&self, varied: Option<(&str, u64)>) -> Result<(Loaded, Options), Error> {
        let varied = varied.map(|(name, value)| Named { name: name.into(), value: value.to_string() });
        let set: Vec<_> = self.set.iter().cloned().chain(varied).collect();
        let loaded = Loaded::of((self.path, self.text), self.soc, &set)?;
        program::fits(&loaded.program, self.path)?;
        let options = Options { seed: self.seed, start: loaded.start, ..Options::default() };
        Ok((loaded, options))
    }

    /// What is known without a run.
    fn outline(&self, soc: &Soc) -> Simulated {
        Simulated::of_program(&self.path.display().to_string(), soc)
    }

    fn failed(&self, program: &Program, error: &ClockError) -> Error {
        Error::file(self.path, error.describe(program))
    }

    fn single(&self) -> Result<Simulated, Error> {
        let _progress = Progress::new(format!("timing {}", self.path.display()));
        let (Loaded { program, soc, .. }, options) = self.prepare(None)?;
        self.outline(&soc).measure(&program, &soc, &options).map_err(|e| self.failed(&program, &e))
    }

    /// Writes what other programs open.
    fn save(&self, folder: &Folder, report: &Simulated) -> Result<(), Error> {
        let (Loaded { program, text, soc, .. }, options) = self.prepare(None)?;
        let name = self.path.file_stem().unwrap_or_default().to_string_lossy();
        let (soc, rated_mhz, options) = (&soc, rated_mhz(self.soc), &options);
        let run = Run { program: &program, text: &text, name: &name, soc, rated_mhz, options, plan: None };
        run.write((self.save, folder, ""), report, |e| self.failed(&program, e))
    }

    /// A run for each value, or why there is none; an error if there is none at all.
    fn series(&self, name: &str, values: &[u64]) -> Result<Vec<Simulated>, Error> {
        let mut refusals = Refusals::default();
        let points = each(
            values,
            |value| format!("{name} = {value}"),
            |&value| {
                let mut point = refusals.or(self.point(name, value), || Ok(self.outline(self.soc)))?;
                point.vary = Some((name.into(), value));
                Ok(point)
            },
        )?;
        refusals.unless_some(points)
    }

    /// One run of one seed.
    fn point(&self, name: &str, value: u64) -> Result<Simulated, Error> {
        let (Loaded { program, soc, .. }, options) = self.prepare(Some((name, value)))?;
        let timing = simulate(&program, &soc, &options).map_err(|e| self.failed(&program, &e))?;
        Ok(Simulated { timing: Some(timing), ..self.outline(&soc) })
    }
}
