//! What a simulation says.

use std::fmt::Write as _;

use ubtile_sim::clock::{PipeTime, Spread};
use ubtile_sim::product::Grade;
use ubtile_sim::report::{Failure, Simulated, whose_program};
use ubtile_tiling::Route;

use crate::lowered::{Lowered, NotMade};
use crate::output::{self, Report};

/// Of an operator, as far as no run is needed.
pub(super) fn of_operator(name: &str, lowered: &Lowered) -> Simulated {
    let Lowered { soc, product, vendor_route, refused, made, .. } = lowered;
    let (scheme, route, reason) = match made {
        Ok(made) => (Some(made.scheme()), Some(Route::AiCore.name()), refused.clone()),
        Err(NotMade::Refused) => (None, None, refused.clone()),
        Err(NotMade::Cpu) => (None, Some(Simulated::ON_CPU), Some(lowered.not_modelled())),
    };
    Simulated {
        product: Some(product.name()),
        scheme,
        tiling_key: made.as_ref().ok().and_then(|made| made.tiling_key),
        route,
        vendor_route: vendor_route.map(Route::name),
        supported: refused.is_none(),
        reason,
        workspace_bytes: made.as_ref().ok().map(|made| made.workspace_bytes),
        ..Simulated::of_program(name, soc)
    }
}

fn percent(ratio: f64) -> String {
    format!("{:.1} %", 100.0 * ratio)
}

impl Report for Simulated {
    const SCHEMA: &'static str = Self::SCHEMA;

    fn text(&self) -> String {
        let Self { program, soc, .. } = self;
        let failure = self.failure.as_ref().map_or_else(String::new, failure);
        let Some(t) = &self.timing else {
            let reason = self.reason.as_deref().unwrap_or_default();
            let route = self.route.map_or_else(String::new, |route| format!(", route {route}"));
            return format!("{failure}{program} on {soc}: no time{route}. {reason}\n");
        };
        let (cores, bound) = (output::count(t.cores_used, "core"), t.bound.name());
        let spread = self.task_us_over_seeds.map_or_else(String::new, |Spread { mean, min, max }| {
            format!(" (mean {mean:.2}, from {min:.2} to {max:.2} over 8 seeds)")
        });
        let mut text =
            format!("{failure}{program} on {cores} of {soc}: {:.2} us{spread}, bound by {bound}\n\n", t.task_us);
        if let Some(whose) = whose(self) {
            let vendor = match (self.product, self.vendor_route) {
                (Some(product), Some(route)) => format!(" The vendor runs the problem on {product} on the {route}."),
                _ => String::new(),
            };
            let _ = writeln!(text, "{whose}{vendor}\n");
        }
        if let Some(reason) = &self.reason {
            let _ = writeln!(text, "The product does not take it: {reason}\n");
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
        let header = ["pipe, mean of cores", "busy cycles", "of all", "waits for flags", "instructions, all cores"];
        text += &output::table(header, pipes.map(|(name, time)| pipe(name, time)));
        let pool = |pool: &ubtile_sim::clock::Pool| {
            format!("{} bytes, {:.1} of {:.1} GB/s ({})", pool.bytes, pool.gbps, pool.peak_gbps, percent(pool.ratio))
        };
        let hits = t.l2_hit_ratio.map_or_else(|| "-".into(), percent);
        let rows = [
            ("cycles of the slowest core", t.cycles.to_string()),
            ("mean by slowest core", percent(t.balance)),
            ("asked to read, to write", format!("{}, {} bytes", t.gm_read_bytes, t.gm_write_bytes)),
            ("L2", format!("{}, {hits} hits, {} at the start", pool(&t.l2), t.l2_start)),
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
            let row = |what: String, task_us: f64, saves: f64| [what, format!("{task_us:.2}"), percent(saves)];
            let fewer = self.fewer_cores.map(|f| row(format!("--cores {}", f.cores), f.task_us, f.saves));
            let changes = self.changes.iter().map(|a| row(a.what.to_owned(), a.task_us, a.saves));
            text += &output::table(["what would help", "us", "saves"], changes.chain(fewer));
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

/// The failure that ran again, in front of all else.
fn failure(Failure { kind, message, at, core, present }: &Failure) -> String {
    let what = if *present { "A failure" } else { "This failure is not there any more" };
    let at = at.as_ref().filter(|at| !message.contains(*at)).map_or_else(String::new, |at| format!("\nat {at}"));
    let core = core.map_or_else(String::new, |core| format!("\non core {core}"));
    format!("{what}: {kind}: {message}{at}{core}\n\n")
}

/// Runs side by side, by what was varied.
pub(super) fn by_value(name: &str, points: &[Simulated]) -> String {
    let row = |point: &Simulated| {
        let value = point.vary.as_ref().map_or(0, |(_, value)| *value);
        [vec![value.to_string()], cells(point)].concat()
    };
    let mut text = output::table(header([name]), points.iter().map(row));
    let refused = points.iter().filter_map(|point| Some((point.vary.as_ref()?.1.to_string(), point)));
    text += &reasons(refused);
    text
}

/// The same by product line.
pub(super) fn by_product(operator: &str, points: &[Simulated]) -> String {
    let row = |point: &Simulated| {
        let [product, route, scheme] =
            [point.product, point.vendor_route, point.scheme].map(|text| text.unwrap_or("-").to_owned());
        [vec![product, point.soc.clone(), route, scheme], cells(point)].concat()
    };
    let mut text = format!("{operator} on each product\n\n");
    let mut said: Vec<_> =
        points.iter().filter_map(|point| Some(format!("{}: {}\n", point.scheme?, whose(point)?))).collect();
    said.sort_unstable();
    said.dedup();
    text += &said.concat();
    text += "\n";
    text += &output::table(header(["product", "SoC", "vendor's route", "scheme"]), points.iter().map(row));
    text += &reasons(points.iter().map(|point| (point.product.unwrap_or("-").to_owned(), point)));
    text
}

/// Whose program a run is of.
fn whose(of: &Simulated) -> Option<&'static str> {
    of.scheme.and_then(whose_program)
}

/// Why some runs did not happen, or are of what the product does not take.
fn reasons<'a>(points: impl Iterator<Item = (String, &'a Simulated)>) -> String {
    let lines: String =
        points.filter_map(|(name, point)| Some(format!("- {name}: {}\n", point.reason.as_deref()?))).collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

fn header<const N: usize>(first: [&str; N]) -> Vec<&str> {
    let common = ["us", "cycles", "bound", "vector", "scalar", "mte2", "mte3", "main memory"];
    first.into_iter().chain(common).collect()
}

/// What runs side by side show.
fn cells(point: &Simulated) -> Vec<String> {
    let Some(t) = &point.timing else { return vec!["-".into(); 8] };
    let p = &t.pipes;
    let ratios = [p.vector.ratio, p.scalar.ratio, p.mte2.ratio, p.mte3.ratio, t.hbm.ratio].map(percent);
    [vec![format!("{:.2}", t.task_us), t.cycles.to_string(), t.bound.name().into()], ratios.into()].concat()
}
