//! The files of timed runs: their reports, and what people's other programs open.

use std::io::{Write as _, stderr};
use std::path::Path;

use serde_json::Value;
use ubtile_sim::clock::{ClockError, Options};
use ubtile_sim::product::Soc;
use ubtile_sim::program::Program;
use ubtile_sim::report::{Folder, SaveError, Saved, Simulated, TraceFormat, Traced, Window, runs, series_picture};

use crate::args::SaveArgs;
use crate::error::Error;
use crate::invocation;
use crate::output::{self, Report as _};
use crate::progress::Progress;

/// A run that is saved.
pub(super) struct Run<'a> {
    pub(super) program: &'a Program,
    pub(super) text: &'a str,
    /// The operator, or the program's file without what is behind the point.
    pub(super) name: &'a str,
    /// The product as it was set.
    pub(super) soc: &'a Soc,
    /// The clock of the product as it is.
    pub(super) rated_mhz: Option<u32>,
    pub(super) options: &'a Options,
    /// The JSON of the plan that it follows.
    pub(super) plan: Option<&'a Value>,
}

impl Run<'_> {
    /// Writes all files of it, under a prefix that is empty or ends with `/`.
    pub(super) fn write(
        &self,
        (args, folder, prefix): (&SaveArgs, &Folder, &str),
        report: &Simulated,
        failed: impl Fn(&ClockError) -> Error,
    ) -> Result<(), Error> {
        let Run { program, text, name, soc, rated_mhz, options, plan } = *self;
        let (cores, trace) = (program.source().cores, args.trace());
        if let Some(core) = trace.cores.iter().flatten().find(|core| **core >= cores) {
            return Err(Error::Usage(format!("--trace-cores {core}: the program has cores 0 to {}", cores - 1)));
        }
        let _progress = Progress::new(format!("writing {}", folder.path().display()));
        folder.text(&format!("{prefix}report.txt"), &report.text())?;
        let command = &invocation::command();
        let saved = Saved { program, text, name, soc, rated_mhz, options, trace: &trace, plan, command };
        let written = saved.write(folder, prefix, &output::envelope(report));
        let Traced { format, bytes, events, busy } = written.map_err(|error| match error {
            SaveError::Clock(error) => failed(&error),
            SaveError::NotWritten(error) => error.into(),
        })?;
        if events == 0 && trace.window != Window::ALL {
            let [first, last] = busy.map(|ns| ns as f64 / 1000.0);
            // Nothing is left to do when stderr is closed.
            let _ = writeln!(
                stderr(),
                "warning: --trace-window: the trace is empty, as the cores that it shows run from {first:.2} to {last:.2} us"
            );
        }
        if format == TraceFormat::Json && bytes > Traced::MOST_JSON_BYTES {
            let _ = writeln!(
                stderr(),
                "warning: trace.json has {bytes} bytes, and MindStudio Insight opens no more than {}: \
                 --trace-window and --trace-cores make it smaller",
                Traced::MOST_JSON_BYTES
            );
        }
        Ok(())
    }
}

/// Writes the report of a program that cannot be timed.
pub(super) fn write_untimed(folder: &Folder, report: &Simulated) -> Result<(), Error> {
    folder.text("report.json", &output::json(report)?)?;
    Ok(folder.text("report.txt", &report.text())?)
}

/// Writes reports side by side, their page, and their comparison.
pub(super) fn write_all(folder: &Folder, reports: &[Simulated], comparison: &str) -> Result<(), Error> {
    folder.text("report.json", &output::json_all(reports)?)?;
    folder.text("report.txt", comparison)?;
    let values = reports.iter().map(output::value).collect::<Result<_, _>>()?;
    let values = Value::Array(values);
    folder.text("report.html", &runs(&values, &invocation::command()))?;
    series_picture(&values).map_or(Ok(()), |picture| folder.text("series.svg", &picture))?;
    Ok(())
}

/// Writes a whole folder where one is asked for.
pub(super) fn write(path: Option<&Path>, files: impl FnOnce(&Folder) -> Result<(), Error>) -> Result<(), Error> {
    let folder = begin(path)?;
    folder.as_ref().map_or(Ok(()), files)?;
    keep(folder)
}

/// Begins a folder where one is asked for.
pub(super) fn begin(path: Option<&Path>) -> Result<Option<Folder>, Error> {
    Ok(path.map(Folder::create).transpose()?)
}

/// Ends it.
pub(super) fn keep(folder: Option<Folder>) -> Result<(), Error> {
    Ok(folder.map_or(Ok(()), Folder::keep)?)
}
