//! How long a program takes, what bounds it, and what would change that.

use std::fs;
use std::io::{Write as _, stderr};
use std::path::Path;
use std::time::Instant;

use ubtile_sim::clock::{ClockError, Options, simulate};
use ubtile_sim::product::Soc;
use ubtile_sim::program::Program;
use ubtile_sim::report::{Folder, Simulated};
use ubtile_sim::text;

use super::report::by_value;
use super::saved::{self, Run};
use crate::args::{Named, SaveArgs, SimArgs};
use crate::error::Error;
use crate::output::{self, Format};
use crate::progress::Progress;
use crate::settings::{Settings, text_with};
use crate::soc::soc;

/// Times a program once, or for each value of a number.
pub(super) fn run(args: &SimArgs, format: Format) -> Result<(), Error> {
    let soc = soc(&args.program.soc)?;
    let text = fs::read_to_string(args.program.path()).map_err(|e| Error::file(args.program.path(), e))?;
    let job =
        Job { path: args.program.path(), text: &text, soc: &soc, set: &args.set, seed: args.seed, save: &args.save };
    let Some(vary) = &args.vary else {
        let report = job.single()?;
        let folder = saved::begin(args.save.folder.as_deref())?;
        folder.as_ref().map_or(Ok(()), |folder| job.save(folder, &report))?;
        saved::keep(folder)?;
        return output::print(format, &report);
    };
    let values: Vec<_> = vary.value.values().collect();
    let points = job.series(&vary.name, &values)?;
    let text = by_value(&vary.name, &points);
    let folder = saved::begin(args.save.folder.as_deref())?;
    folder.as_ref().map_or(Ok(()), |folder| saved::write_all(folder, &points, &text))?;
    saved::keep(folder)?;
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
        if i == 0 && count > 1 {
            let all = begun.elapsed().as_secs_f64() * count as f64;
            // Nothing is left to do when stderr is closed.
            let _ = writeln!(stderr(), "ubtile: {count} runs, {} in all", duration(all));
        }
    }
    Ok(points)
}

/// Times a program once and writes what is asked for.
pub(super) fn save(path: &Path, text: &str, soc: &Soc, save: &SaveArgs) -> Result<(), Error> {
    let job = Job { path, text, soc, set: &[], seed: 0, save };
    let report = job.single()?;
    let folder = saved::begin(save.folder.as_deref())?;
    folder.as_ref().map_or(Ok(()), |folder| job.save(folder, &report))?;
    saved::keep(folder)
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
    fn prepare(&self, varied: Option<(&str, u64)>) -> Result<(Program, String, Soc, Options), Error> {
        let mut settings = Settings::default();
        for setting in self.set {
            settings.add(&setting.name, &setting.value, self.text)?;
        }
        if let Some((name, value)) = varied {
            settings.add(name, &value.to_string(), self.text)?;
        }
        let soc = settings.product(self.soc)?;
        let text = text_with(self.text, &settings.constants);
        let (program, _) = text::parse(&text, &soc).map_err(|e| Error::file(self.path, e))?;
        let options = Options { seed: self.seed, start: settings.start, ..Options::default() };
        Ok((program, text, soc, options))
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
        let (program, _, soc, options) = self.prepare(None)?;
        self.outline(&soc).measure(&program, &soc, &options).map_err(|e| self.failed(&program, &e))
    }

    /// Writes what other programs open.
    fn save(&self, folder: &Folder, report: &Simulated) -> Result<(), Error> {
        let (program, text, soc, options) = self.prepare(None)?;
        let name = self.path.file_stem().unwrap_or_default().to_string_lossy();
        let (soc, options) = (&soc, &options);
        let run = Run { program: &program, text: &text, name: &name, soc, usual: self.soc, options, plan: None };
        run.write((self.save, folder, ""), report, |e| self.failed(&program, e))
    }

    fn series(&self, name: &str, values: &[u64]) -> Result<Vec<Simulated>, Error> {
        each(
            values,
            |value| format!("{name} = {value}"),
            |&value| {
                let (program, _, soc, options) = self.prepare(Some((name, value)))?;
                let timing = simulate(&program, &soc, &options).map_err(|e| self.failed(&program, &e))?;
                let mut point = self.outline(&soc);
                (point.vary, point.timing) = (Some((name.into(), value)), Some(timing));
                Ok(point)
            },
        )
    }
}

fn duration(seconds: f64) -> String {
    if seconds < 1.0 { "less than a second".into() } else { format!("about {seconds:.0} s") }
}
