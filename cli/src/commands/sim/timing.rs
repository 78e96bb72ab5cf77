//! How long a program takes, what bounds it, and what would change that.

use std::fmt::Write as _;
use std::fs;
use std::io::{Write as _, stderr};
use std::path::Path;
use std::time::Instant;

use serde::Serialize;
use ubtile_sim::clock::{Advice, ClockError, Options, PipeTime, Spread, Timing, advise, series, simulate};
use ubtile_sim::product::{Grade, Soc};
use ubtile_sim::program::Program;
use ubtile_sim::text;
use ubtile_tiling::Route;

use super::saved::Saved;
use crate::args::SimArgs;
use crate::error::Error;
use crate::lowered::Lowered;
use crate::output::{self, Format, Report};
use crate::progress::Progress;
use crate::settings::{Settings, text_with};
use crate::soc::soc;

/// Of a single run: changes that are shown.
const CHANGES: usize = 3;
/// Instructions up to which a single run is repeated with other seeds and changes.
const REPEATED: u64 = 20_000_000;

#[derive(Serialize)]
struct Sim {
    program: String,
    soc: String,
    /// Of the product's numbers.
    model_hash: String,
    scheme: &'static str,
    route: &'static str,
    /// Where the vendor runs the problem; nowhere, where this is a program of a file.
    vendor_route: Option<&'static str>,
    /// What was varied, with its value.
    #[serde(skip_serializing_if = "Option::is_none")]
    vary: Option<(String, u64)>,
    #[serde(flatten)]
    timing: Timing,
    /// Over eight seeds, where cores can get into each other's way.
    task_us_over_seeds: Option<Spread>,
    /// What would help, the best first.
    changes: Vec<Advice>,
}

/// Times a program once, or for each value of a number.
pub(super) fn run(args: &SimArgs, format: Format) -> Result<(), Error> {
    let soc = soc(&args.program.soc)?;
    let text = fs::read_to_string(args.program.path()).map_err(|e| Error::file(args.program.path(), e))?;
    let job = Job { path: args.program.path(), text: &text, soc: &soc, args };
    let Some(vary) = &args.vary else {
        let report = job.single()?;
        if let Some(folder) = &args.folder {
            job.save(&report, folder)?;
        }
        return output::print(format, &report);
    };
    let values: Vec<_> = vary.value.values().collect();
    let points = job.series(&vary.name, &values)?;
    output::print_all(format, &points, &table(&vary.name, &points))
}

/// Times the program of an operator's plan.
pub(super) fn run_operator(operator: &str, lowered: &Lowered, seed: u64, format: Format) -> Result<(), Error> {
    let Lowered { program, soc, vendor_route, .. } = lowered;
    let report = {
        let _progress = Progress::new(format!("timing {operator}"));
        let options = Options { seed, ..Options::default() };
        let of = (operator.to_owned(), "native", vendor_route.map(Route::name));
        let report = measure((program, soc, &options), |timing| Sim::new(of, soc, timing));
        report.map_err(|e| Error::Unusable(format!("{operator}: {}", e.describe(program))))?
    };
    output::print(format, &report)
}

/// Times a program, and says what would help; with other seeds too, where they matter.
fn measure(
    (program, soc, options): (&Program, &Soc, &Options),
    report: impl FnOnce(Timing) -> Sim,
) -> Result<Sim, ClockError> {
    let mut report = report(simulate(program, soc, options)?);
    if report.timing.instructions <= REPEATED {
        report.changes = advise(program, soc, options, &report.timing, CHANGES)?;
        if report.timing.cores_used > 1 {
            report.task_us_over_seeds = Some(series(program, soc, options)?.spread(|timing| timing.task_us));
        }
    }
    Ok(report)
}

impl Sim {
    /// A run of a program of that name, scheme and vendor's route.
    fn new(
        (program, scheme, vendor_route): (String, &'static str, Option<&'static str>),
        soc: &Soc,
        timing: Timing,
    ) -> Self {
        Self {
            program,
            soc: soc.name().into(),
            model_hash: format!("{:016x}", hash(soc)),
            scheme,
            route: Route::AiCore.name(),
            vendor_route,
            vary: None,
            timing,
            task_us_over_seeds: None,
            changes: Vec::new(),
        }
    }
}

struct Job<'a> {
    path: &'a Path,
    text: &'a str,
    soc: &'a Soc,
    args: &'a SimArgs,
}

impl Job<'_> {
    /// The program and the product with what was set, and with what is varied.
    fn prepare(&self, varied: Option<(&str, u64)>) -> Result<(Program, Soc, Options), Error> {
        let mut settings = Settings::default();
        for setting in &self.args.set {
            settings.add(&setting.name, &setting.value, self.text)?;
        }
        if let Some((name, value)) = varied {
            settings.add(name, &value.to_string(), self.text)?;
        }
        let soc = settings.product(self.soc)?;
        let text = text_with(self.text, &settings.constants);
        let (program, _) = text::parse(&text, &soc).map_err(|e| Error::file(self.path, e))?;
        let options = Options { seed: self.args.seed, start: settings.start, ..Options::default() };
        Ok((program, soc, options))
    }

    fn failed(&self, program: &Program, error: &ClockError) -> Error {
        Error::file(self.path, error.describe(program))
    }

    fn report(&self, soc: &Soc, timing: Timing) -> Sim {
        Sim::new((self.path.display().to_string(), "program", None), soc, timing)
    }

    fn single(&self) -> Result<Sim, Error> {
        let _progress = Progress::new(format!("timing {}", self.path.display()));
        let (program, soc, options) = self.prepare(None)?;
        let failed = |e: &ClockError| self.failed(&program, e);
        measure((&program, &soc, &options), |timing| self.report(&soc, timing)).map_err(|e| failed(&e))
    }

    /// Writes what other programs open.
    fn save(&self, report: &Sim, folder: &Path) -> Result<(), Error> {
        let (program, soc, options) = self.prepare(None)?;
        let failed = |e: ClockError| self.failed(&program, &e);
        let run = Saved {
            path: self.path,
            program: &program,
            soc: &soc,
            usual: self.soc,
            options: &options,
            args: self.args,
        };
        run.write(&output::json(report)?, &output::value(report)?, &report.model_hash, folder, failed)
    }

    fn series(&self, name: &str, values: &[u64]) -> Result<Vec<Sim>, Error> {
        let say = |line: String| {
            // Nothing is left to do when stderr is closed.
            let _ = writeln!(stderr(), "ubtile: {line}");
        };
        let begun = Instant::now();
        let mut points = Vec::new();
        for (i, &value) in values.iter().enumerate() {
            let _progress = Progress::new(format!("{name} = {value}, {} of {}", i + 1, values.len()));
            let (program, soc, options) = self.prepare(Some((name, value)))?;
            let timing = simulate(&program, &soc, &options).map_err(|e| self.failed(&program, &e))?;
            let mut point = self.report(&soc, timing);
            point.vary = Some((name.into(), value));
            points.push(point);
            if i == 0 {
                let all = begun.elapsed().as_secs_f64() * values.len() as f64;
                say(format!("{} runs, {} in all", values.len(), duration(all)));
            }
        }
        Ok(points)
    }
}

fn duration(seconds: f64) -> String {
    if seconds < 1.0 { "less than a second".into() } else { format!("about {seconds:.0} s") }
}

/// FNV-1a over all that the product states.
fn hash(soc: &Soc) -> u64 {
    let facts = soc.facts().iter().flat_map(|fact| [fact.key.as_bytes(), b"=", fact.text.as_bytes(), b"\n"]);
    facts.flatten().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

fn percent(ratio: f64) -> String {
    format!("{:.1} %", 100.0 * ratio)
}

impl Report for Sim {
    const SCHEMA: &'static str = "ubtile.sim.v1";

    fn text(&self) -> String {
        let Self { program, soc, timing: t, .. } = self;
        let (cores, bound) = (t.cores_used, t.bound.name());
        let spread = self.task_us_over_seeds.map_or_else(String::new, |Spread { mean, min, max }| {
            format!(" (mean {mean:.2}, from {min:.2} to {max:.2} over 8 seeds)")
        });
        let mut text =
            format!("{program} on {cores} cores of {soc}: {:.2} us{spread}, bound by {bound}\n\n", t.task_us);
        if self.scheme == "native" {
            text += "ubtile's own tiling and program, not the vendor's kernel.\n\n";
        }
        let pipe = |name: &str, pipe: &PipeTime| {
            let PipeTime { busy_cycles, ratio, wait_cycles, instructions } = pipe;
            [
                name.into(),
                format!("{busy_cycles:.1}"),
                percent(*ratio),
                format!("{wait_cycles:.1}"),
                instructions.to_string(),
            ]
        };
        let p = &t.pipes;
        let pipes = [("vector", &p.vector), ("scalar", &p.scalar), ("mte2", &p.mte2), ("mte3", &p.mte3)];
        let header = ["pipe, mean of cores", "busy cycles", "of all", "waits for flags", "instructions"];
        text += &output::table(header, pipes.map(|(name, time)| pipe(name, time)));
        let pool = |pool: &ubtile_sim::clock::Pool| {
            format!("{} bytes, {:.1} of {:.1} GB/s ({})", pool.bytes, pool.gbps, pool.peak_gbps, percent(pool.ratio))
        };
        let rows = [
            ("cycles of the slowest core", t.cycles.to_string()),
            ("mean by slowest core", percent(t.balance)),
            ("asked to read, to write", format!("{}, {} bytes", t.gm_read_bytes, t.gm_write_bytes)),
            ("L2", format!("{}, {} hits, {} at the start", pool(&t.l2), percent(t.l2_hit_ratio), t.l2_start)),
            ("main memory", pool(&t.hbm)),
            ("bank conflicts", format!("{} of the vector pipe's time", percent(t.bank_conflict_ratio))),
            ("additions that met", format!("{}, {} cycles", t.collisions.count, t.collisions.cycles)),
            ("waits for other cores", format!("{:.1} cycles", t.sync_cycles)),
            ("full queues", format!("{:.1} cycles", t.queue_full_cycles)),
            (
                "roofline",
                format!("{:.2} us by {}, {} reached", t.roofline.us, t.roofline.by.name(), percent(t.roofline.ratio)),
            ),
            ("instructions", format!("{}, {} skipped", t.instructions, percent(t.skipped_ratio))),
        ];
        text += "\n";
        text += &output::table(["", ""], rows.map(|(name, value)| [name.to_owned(), value]));
        if !self.changes.is_empty() {
            text += "\n";
            let row = |a: &Advice| [a.what.to_owned(), format!("{:.2}", a.task_us), percent(a.saves)];
            text += &output::table(["what would help", "us", "saves"], self.changes.iter().map(row));
        }
        text += "\n";
        for assumption in &t.assumptions {
            let _ = writeln!(text, "Assumed: {assumption}.");
        }
        let of =
            |grade: Grade| t.evidence.iter().filter(|e| e.grade == grade).map(|e| e.key.as_str()).collect::<Vec<_>>();
        let (guesses, derived) = (of(Grade::Guess), of(Grade::Derived));
        let _ = writeln!(
            text,
            "Rests on {} numbers: {} cited, {} derived, {} guessed ({}). docs/accuracy.md says how far that goes.",
            t.evidence.len(),
            t.evidence.len() - guesses.len() - derived.len(),
            derived.len(),
            guesses.len(),
            guesses.join(", ")
        );
        text
    }
}

/// Runs side by side.
fn table(name: &str, points: &[Sim]) -> String {
    let row = |point: &Sim| {
        let t = &point.timing;
        let p = &t.pipes;
        let value = point.vary.as_ref().map_or(0, |(_, value)| *value);
        let ratios = [p.vector.ratio, p.scalar.ratio, p.mte2.ratio, p.mte3.ratio, t.hbm.ratio].map(percent);
        [
            vec![value.to_string(), format!("{:.2}", t.task_us), t.cycles.to_string(), t.bound.name().into()],
            ratios.into(),
        ]
        .concat()
    };
    let header = [name, "us", "cycles", "bound", "vector", "scalar", "mte2", "mte3", "main memory"];
    output::table(header, points.iter().map(row))
}
