//! The files of a timed run: its report, and what people's other programs open.

use std::io::{self, Write as _, stderr};
use std::path::Path;

use serde_json::Value;
use ubtile_sim::clock::{ClockError, Options, profile};
use ubtile_sim::product::Soc;
use ubtile_sim::program::Program;
use ubtile_sim::report::{
    Described, Executed, Gathered, Lanes, Profiler, Recorder, TABLES, Trace, Window, Work, shown_cores, simulation,
};

use crate::args::{SimArgs, TraceWindow};
use crate::error::Error;
use crate::files::Folder;
use crate::invocation;
use crate::progress::Progress;

/// A run that is saved.
pub(super) struct Saved<'a> {
    /// Where the program is.
    pub(super) path: &'a Path,
    pub(super) program: &'a Program,
    /// The product as it was set.
    pub(super) soc: &'a Soc,
    /// The product as it is.
    pub(super) usual: &'a Soc,
    pub(super) options: &'a Options,
    pub(super) args: &'a SimArgs,
}

/// What MindStudio Insight opens.
const MOST: u64 = 1 << 30;

impl Saved<'_> {
    /// Writes all files, or none.
    pub(super) fn write(
        &self,
        report: &str,
        value: &Value,
        model: &str,
        folder: &Path,
        failed: impl Fn(ClockError) -> Error,
    ) -> Result<(), Error> {
        let Self { program, soc, options, .. } = *self;
        let lanes = Lanes::of(soc);
        let cores = program.source().cores;
        let wanted = self.args.trace_cores.as_ref().map(|list| list.0.clone());
        if let Some(core) = wanted.iter().flatten().find(|core| **core >= cores) {
            return Err(Error::Usage(format!("--trace-cores {core}: the program has cores 0 to {}", cores - 1)));
        }
        let _progress = Progress::new(format!("writing {}", folder.display()));
        let staged = Folder::create(folder)?;
        staged.write("report.json", |to| to.write_all(report.as_bytes()))?;

        let file = self.path.file_name().unwrap_or_default().to_string_lossy();
        let name = self.path.file_stem().unwrap_or_default().to_string_lossy();
        let executed = Executed::new(program, &file);
        let mut gathered = Gathered::new(cores);
        let run = profile(program, soc, options, &mut |event| gathered.add(event)).map_err(&failed)?;
        let rated_mhz = self.usual.clock.core_mhz.get().ok().map(|mhz| mhz.get());
        let described = Described { name: &name, rated_mhz };
        let tables = Profiler { program, lanes, profile: &run, gathered: &gathered, described };
        let root = format!("OPPROF_{name}_{model}");
        for table in TABLES {
            let suffix = if table == "op_summary" { format!("_{name}") } else { String::new() };
            staged.write(&format!("{root}/{table}{suffix}.csv"), |to| tables.write(table, to))?;
        }
        for core in &run.cores {
            let Some(counted) = gathered.cores.get(core.core as usize) else { continue };
            let of = lanes.core(core.core);
            let path = format!("{root}/simulator/{of}/{of}");
            staged.write(&format!("{path}_instr_exe.csv"), |to| executed.instructions(counted, &run, to))?;
            staged.write(&format!("{path}_code_exe.csv"), |to| executed.code(counted, &run, to))?;
        }

        let mut recorder = Recorder::new(&shown_cores(&run));
        let shown = wanted.unwrap_or_else(|| run.classes());
        let window = self.args.trace_window.map_or(Window::ALL, |TraceWindow(window)| window);
        let mut halted = None;
        let mut size = 0;
        staged.write(&format!("{root}/simulator/trace.json"), |to| {
            let mut trace = Trace::new(&mut *to, &executed, lanes, run.mhz, &shown, window);
            halted = profile(program, soc, options, &mut |event| {
                trace.add(event);
                recorder.add(event);
            })
            .err();
            trace.finish()?;
            size = to.get_ref().metadata()?.len();
            Ok::<_, io::Error>(())
        })?;
        if let Some(halt) = halted {
            return Err(failed(halt));
        }
        let recorded = recorder.finish(&executed, lanes, &run, &Work::of(&gathered, soc));
        let page = simulation(value, &recorded, None, &invocation::command());
        staged.write("report.html", |to| to.write_all(page.as_bytes()))?;
        if size > MOST {
            // Nothing is left to do when stderr is closed.
            let _ = writeln!(
                stderr(),
                "warning: trace.json has {size} bytes, and MindStudio Insight opens no more than {MOST}: \
                 --trace-window and --trace-cores make it smaller"
            );
        }
        staged.keep()
    }
}
