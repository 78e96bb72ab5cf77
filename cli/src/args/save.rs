//! Where the files of a timed run go, and what is in its trace.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use ubtile_sim::report::{TraceFormat, TraceOptions, Window};

use super::values::List;

/// Options that save a timed run.
#[derive(Args, Clone, Debug)]
pub(crate) struct SaveArgs {
    /// A folder, made if it is not there, for report.json and report.txt, their page, report.html, and its timeline, pipes.svg; and for
    /// what other programs open: OPPROF_*, with the program's text, the tables of the vendor's profiler, and simulator/trace.json for
    /// MindStudio Insight, Perfetto and chrome://tracing. With --product all, reports and page of all products, and a folder of these
    /// for each; with --vary, reports and page alone, and a picture, series.svg
    #[arg(long = "output", value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Cores of the trace, such as 0,7 [default: of cores that do as much as each other, the first one]
    #[arg(long, value_name = "LIST", requires = "folder")]
    trace_cores: Option<List<u32>>,
    /// Microseconds of the trace, from the launch's arrival at the cores, such as 10..12.5 [default: all]
    #[arg(long, value_name = "a..b", requires = "folder", allow_hyphen_values = true)]
    trace_window: Option<TraceWindow>,
    /// What the trace is written as [default: json, perfetto above a million events]
    #[arg(long, value_enum, requires = "folder")]
    trace_format: Option<Format>,
}

/// A trace's file.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// trace.json: MindStudio Insight, Perfetto, chrome://tracing
    Json,
    /// trace.pftrace: Perfetto, for long runs
    Perfetto,
}

impl SaveArgs {
    /// Whether there is a folder.
    pub(crate) const fn is_wanted(&self) -> bool {
        self.folder.is_some()
    }

    /// What is traced.
    pub(crate) fn trace(&self) -> TraceOptions {
        TraceOptions {
            cores: self.trace_cores.as_ref().map(|list| list.0.clone()),
            window: self.trace_window.map_or(Window::ALL, |TraceWindow(window)| window),
            format: self.trace_format.map(|format| match format {
                Format::Json => TraceFormat::Json,
                Format::Perfetto => TraceFormat::Perfetto,
            }),
        }
    }
}

/// `a..b` in microseconds.
#[derive(Clone, Copy, Debug)]
struct TraceWindow(Window);

impl FromStr for TraceWindow {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("'{text}': expected microseconds a..b, such as 10..12.5");
        // In nanoseconds; a week is far more than any run.
        let number = |text: &str| match text.trim().parse::<f64>() {
            Ok(us) if (0.0..1e12).contains(&us) => Ok((us * 1000.0).round() as u64),
            _ => Err(expected()),
        };
        let (from, to) = text.split_once("..").ok_or_else(expected)?;
        let (from, to) = (number(from)?, number(to)?);
        if from > to { Err(expected()) } else { Ok(Self(Window { from, to })) }
    }
}
