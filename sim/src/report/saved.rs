//! The files of a run: what people's other programs open, and the program's text.

use std::fmt;
use std::io;

use serde::Serialize;
use serde_json::Value;

use crate::clock::{ClockError, Options, Profile, profile};
use crate::product::Soc;
use crate::program::Program;

use super::folder::{Folder, NotWritten};
use super::trace::picoseconds;
use super::{
    Described, Executed, Gathered, Lanes, Perfetto, Profiler, Recorder, TABLES, Trace, Window, Work, pipes_picture,
    shown_cores, simulation,
};

/// Why files of a run are not written.
#[derive(Debug)]
pub enum SaveError {
    /// The program cannot be timed.
    Clock(ClockError),
    /// A file cannot be written.
    NotWritten(NotWritten),
}

impl fmt::Display for SaveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clock(error) => error.fmt(f),
            Self::NotWritten(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SaveError {}

impl From<ClockError> for SaveError {
    fn from(error: ClockError) -> Self {
        Self::Clock(error)
    }
}

impl From<NotWritten> for SaveError {
    fn from(error: NotWritten) -> Self {
        Self::NotWritten(error)
    }
}

/// Who opens a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// `trace.json`: MindStudio Insight, chrome://tracing, Perfetto.
    Json,
    /// `trace.pftrace`: Perfetto, also where JSON is too large for it.
    Perfetto,
}

/// Events up to which a trace is written as JSON, where nobody says which one it shall be.
const MOST_JSON_EVENTS: u64 = 1_000_000;

/// Which part of a run is traced, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceOptions {
    /// The cores; `None` for the first one of those that do as much as each other.
    pub cores: Option<Vec<u32>>,
    /// The time.
    pub window: Window,
    /// Who opens it; `None` for what suits its size.
    pub format: Option<TraceFormat>,
}

impl Default for TraceOptions {
    fn default() -> Self {
        Self { cores: None, window: Window::ALL, format: None }
    }
}

/// A run that is saved.
#[derive(Clone, Copy, Debug)]
pub struct Saved<'a> {
    /// The program.
    pub program: &'a Program,
    /// Its text, whose lines the tables and traces name.
    pub text: &'a str,
    /// The operator's name, or that of the program's file without what is behind the point.
    pub name: &'a str,
    /// The product as it was set.
    pub soc: &'a Soc,
    /// The clock that the product has when nothing is changed.
    pub rated_mhz: Option<u32>,
    /// How it runs.
    pub options: &'a Options,
    /// What is traced.
    pub trace: &'a TraceOptions,
    /// The JSON of the plan that the program follows.
    pub plan: Option<&'a Value>,
    /// The command that writes the same again.
    pub command: &'a str,
}

/// A trace that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traced {
    /// What it is.
    pub format: TraceFormat,
    /// Its length.
    pub bytes: u64,
    /// Instructions that it shows.
    pub events: u64,
    /// From when to when the cores that it shows do something, in nanoseconds as those of [`Window`].
    pub busy: [u64; 2],
}

impl Traced {
    /// What MindStudio Insight opens at most.
    pub const MOST_JSON_BYTES: u64 = 1 << 30;
}

impl Saved<'_> {
    /// Writes all files but those of the program's own interface, under a prefix that is empty or ends with `/`: the JSON of the
    /// report and its page, and `OPPROF_*` with the vendor's tables, the trace, and the program's text `NAME.tile`.
    ///
    /// # Errors
    /// The program cannot be timed, or a file cannot be written.
    pub fn write(&self, folder: &Folder, prefix: &str, report: &impl Serialize) -> Result<Traced, SaveError> {
        let Self { program, soc, options, name, .. } = *self;
        let lanes = Lanes::of(soc);
        let source = format!("{name}.tile");
        let page_of = folder.json(&format!("{prefix}report.json"), report)?;

        let executed = Executed::new(program, &source);
        let mut gathered = Gathered::new(program.source().cores);
        let mut inside = Inside::new(program.source().cores, soc, self.trace.window);
        let run = profile(program, soc, options, &mut |event| {
            gathered.add(event);
            inside.add(event);
        })?;
        let described = Described { name, rated_mhz: self.rated_mhz };
        let tables = Profiler { program, lanes, profile: &run, gathered: &gathered, described };
        let root = format!("{prefix}{}", Self::root(name, soc));
        // Not beside the folder, where the program that somebody works on may be.
        folder.text(&format!("{root}/{source}"), self.text)?;
        for table in TABLES {
            let suffix = if table == "op_summary" { format!("_{name}") } else { String::new() };
            folder.write(&format!("{root}/{table}{suffix}.csv"), |to| tables.write(table, to))?;
        }
        for core in &run.cores {
            let Some(counted) = gathered.cores.get(core.core as usize) else { continue };
            let of = lanes.core(core.core);
            let path = format!("{root}/simulator/{of}/{of}");
            folder.write(&format!("{path}_instr_exe.csv"), |to| executed.instructions(counted, &run, to))?;
            folder.write(&format!("{path}_code_exe.csv"), |to| executed.code(counted, &run, to))?;
        }
        let mut recorder = Recorder::new(&shown_cores(&run));
        let traced = self.trace(folder, &format!("{root}/simulator"), &executed, &run, &inside, &mut recorder)?;
        let recorded = recorder.finish(&executed, lanes, &run, &Work::of(&gathered, soc));
        let page = simulation(&page_of, &recorded, self.plan, self.command);
        folder.text(&format!("{prefix}report.html"), &page)?;
        if let Some(picture) = pipes_picture(&page_of, &recorded) {
            folder.text(&format!("{prefix}pipes.svg"), &picture)?;
        }
        Ok(traced)
    }

    /// The folder that is named as the vendor's profiler names its own.
    #[must_use]
    pub fn root(name: &str, soc: &Soc) -> String {
        format!("OPPROF_{name}_{}", soc.model_hash())
    }

    /// Runs it once more, for the cores that are shown are known only behind the first time.
    fn trace(
        &self,
        folder: &Folder,
        path: &str,
        executed: &Executed,
        run: &Profile,
        inside: &Inside,
        recorder: &mut Recorder,
    ) -> Result<Traced, SaveError> {
        let Self { program, soc, options, .. } = *self;
        let TraceOptions { cores, window, format } = self.trace;
        let (lanes, window) = (Lanes::of(soc), *window);
        let shown = cores.clone().unwrap_or_else(|| run.classes());
        let (events, busy) = inside.of(&shown);
        let usual = if events > MOST_JSON_EVENTS { TraceFormat::Perfetto } else { TraceFormat::Json };
        let format = format.unwrap_or(usual);
        let name = match format {
            TraceFormat::Json => "trace.json",
            TraceFormat::Perfetto => "trace.pftrace",
        };
        let (mut halted, mut bytes) = (None, 0);
        folder.write(&format!("{path}/{name}"), |to| {
            match format {
                TraceFormat::Json => {
                    let mut trace = Trace::new(&mut *to, executed, lanes, run.mhz, &shown, window);
                    halted = profile(program, soc, options, &mut |event| {
                        trace.add(event);
                        recorder.add(event);
                    })
                    .err();
                    trace.finish()?;
                }
                TraceFormat::Perfetto => {
                    let mut trace = Perfetto::new(&mut *to, executed, lanes, run.mhz, &shown, window);
                    halted = profile(program, soc, options, &mut |event| {
                        trace.add(event);
                        recorder.add(event);
                    })
                    .err();
                    trace.finish()?;
                }
            }
            bytes = to.get_ref().metadata()?.len();
            Ok::<_, io::Error>(())
        })?;
        match halted {
            Some(halt) => Err(halt.into()),
            None => Ok(Traced { format, bytes, events, busy }),
        }
    }
}

/// How many instructions of each core a trace would show, and from when to when the core does something.
struct Inside {
    cores: Vec<(u64, [u64; 2])>,
    mhz: u32,
    window: Window,
}

impl Inside {
    fn new(cores: u32, soc: &Soc, window: Window) -> Self {
        // Without a clock there is no run either.
        let mhz = soc.clock.core_mhz.get().map_or(1, |mhz| mhz.get());
        Self { cores: vec![(0, [u64::MAX, 0]); cores as usize], mhz, window }
    }

    fn add(&mut self, event: &crate::clock::Event<'_>) {
        if let Some((events, [first, last])) = self.cores.get_mut(event.core as usize) {
            *events += u64::from(self.window.shows(event.start, event.end, self.mhz));
            *first = event.start.min(*first);
            *last = event.end.max(*last);
        }
    }

    /// Of some cores together, with times in nanoseconds.
    fn of(&self, shown: &[u32]) -> (u64, [u64; 2]) {
        let cores = || shown.iter().filter_map(|core| self.cores.get(*core as usize));
        let first = cores().map(|(_, [first, _])| *first).min().unwrap_or(u64::MAX);
        let last = cores().map(|(_, [_, last])| *last).max().unwrap_or(0);
        let events = cores().map(|(events, _)| events).sum();
        (events, [first.min(last), last].map(|ticks| picoseconds(ticks, self.mhz) / 1000))
    }
}
