//! The page of several runs that differ in one number: how the time depends on it, and where it jumps.

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::Value;

use super::html::{Cell, Html, Section, escaped, paragraph, table};
use super::products;
use super::roofline::colour;
use super::shell::Shell;
use super::simulation::name;
use super::ticks::{self, ceiling, share, ticks, ticks_and_ends};
use super::value::{Document, Unit};

/// Runs that are shown; of more, as many that are evenly apart, and those that the page speaks of.
const MOST: usize = 300;
/// What a step from one value to the next has to change of the time to be a cliff.
const CLIFF: f64 = 0.1;
/// What is in the report of each run and the same in all, or in tables of its own.
const LEFT_OUT: [&str; 3] = ["evidence", "assumptions", "changes"];
/// Shares of time: their names, where they stand, and the classes of their colours.
const SHARES: [(&str, &str, &str); 5] = [
    ("vector", "/pipes/vector/ratio", "vector"),
    ("scalar", "/pipes/scalar/ratio", "scalar"),
    ("mte2", "/pipes/mte2/ratio", "mte2"),
    ("mte3", "/pipes/mte3/ratio", "mte3"),
    ("main memory", "/hbm/ratio", "memory"),
];

/// A run.
#[derive(Clone, Copy)]
struct Point<'a> {
    /// Its place in the list of reports, some of which may have no time.
    at: usize,
    /// Its place among all runs with a time, shown or not.
    number: usize,
    value: f64,
    us: f64,
    report: &'a Value,
}

/// The page of several runs, of the JSON array of their reports: by the number that was varied, or by product. And the command that makes
/// it again.
#[must_use]
pub fn runs(reports: &Value, command: &str) -> String {
    match reports.pointer("/0/vary") {
        Some(_) => series(reports, command),
        None => products::page(reports, command),
    }
}

fn series(reports: &Value, command: &str) -> String {
    let all = reports.as_array().map_or(&[][..], Vec::as_slice);
    let step = all.len().div_ceil(MOST).max(1);
    let timed = Point::all(all);
    let mut shown: BTreeSet<usize> = (0..all.len()).step_by(step).collect();
    shown.extend(all.len().checked_sub(1));
    shown.extend(extremes(&timed).into_iter().flatten().map(|i| timed[i].at));
    shown.extend(steps(&timed).flat_map(|i| [i - 1, i]).map(|i| timed[i].at));
    let shown: Vec<usize> = shown.into_iter().collect();
    let kept = shown.iter().map(|&at| {
        let mut report = all[at].clone();
        if let Some(fields) = report.as_object_mut() {
            fields.retain(|key, _| !LEFT_OUT.contains(&key.as_str()));
        }
        report
    });
    let kept = Value::Array(kept.collect());
    let document = Document { id: "report", value: &kept };
    let place = |point: &Point<'_>| shown.binary_search(&point.at).ok();
    let points = timed.iter().filter_map(|point| Some(Point { at: place(point)?, ..*point }));
    let points: Vec<Point<'_>> = points.collect();
    let varied = document.string("/0/vary/0").unwrap_or("value");
    let title = format!(
        "{} on {} by {varied}",
        name(document.string("/0/program").unwrap_or("Runs")),
        document.string("/0/soc").unwrap_or("an unnamed SoC")
    );
    let sections = [
        Section::new("time", "Time", time(varied, &points)),
        Section::new("cliffs", "Cliffs", cliffs(&document, &points)),
        Section::new("shares", "What the time consists of", shares(varied, &points)),
        Section::new("runs", "Runs", all_runs(varied, &document, step == 1)),
    ];
    let thinned = match step {
        1 => String::new(),
        _ => format!(" Of {} runs, one in {step} is shown, and all that are named here.", all.len()),
    };
    let verdict = verdict(varied, &document, &points, &thinned);
    let sections = sections.into_iter().flatten().collect();
    Shell { title: &title, verdict, sections, documents: vec![document], command }.page()
}

impl<'a> Point<'a> {
    /// Those of some runs that have a time.
    fn all(reports: &'a [Value]) -> Vec<Self> {
        let numbers = |report: &Value| Some((report.pointer("/vary/1")?.as_f64()?, report["task_us"].as_f64()?));
        let timed = reports.iter().enumerate().filter_map(|(at, report)| Some((at, numbers(report)?, report)));
        timed.enumerate().map(|(number, (at, (value, us), report))| Self { at, number, value, us, report }).collect()
    }

    fn bound(&self) -> &'a str {
        self.report["bound"].as_str().unwrap_or("")
    }
}

/// The run of the least and that of the most time.
fn extremes(points: &[Point<'_>]) -> Option<[usize; 2]> {
    let by = |a: &&usize, b: &&usize| points[**a].us.total_cmp(&points[**b].us);
    let all: Vec<usize> = (0..points.len()).collect();
    Some([*all.iter().min_by(by)?, *all.iter().max_by(by)?])
}

fn verdict(varied: &str, document: &Document<'_>, points: &[Point<'_>], thinned: &str) -> Html {
    let Some([best, worst]) = extremes(points) else { return paragraph("There are no runs with a time.") };
    let varied = escaped(varied);
    let show = |i: usize, at: &str, unit| document.show(&format!("/{i}/{at}"), unit);
    let (least, most) = (points[best].us, points[worst].us);
    let [best, worst] = [best, worst].map(|i| points[i].at);
    let time = show(best, "task_us", Unit::Us);
    let value = show(best, "vary/1", Unit::Count);
    let first = match points.len() {
        1 => format!("With {varied} = {value}: <strong>{time}</strong>."),
        _ if least == most => format!("Every {varied} takes <strong>{time}</strong>."),
        _ => format!(
            "Best with {varied} = {value}: <strong>{time}</strong>. Worst with {}: {}.",
            show(worst, "vary/1", Unit::Count),
            show(worst, "task_us", Unit::Us),
        ),
    };
    let first = format!("<p class=\"verdict\">{first}</p>\n");
    if points.len() == 1 {
        return Html::of(first);
    }
    let count = steps(points).count();
    let steps = match count {
        0 => "No step changes the time by a tenth.".to_owned(),
        1 => "One step changes the time by a tenth or more.".to_owned(),
        _ => format!("{count} steps change the time by a tenth or more."),
    };
    Html::of(format!("{first}{}", paragraph(format_args!("{steps}{thinned}"))))
}

/// Where the time jumps from a run to the next one, of which none is left out: each with its second run.
fn steps<'a>(points: &'a [Point<'a>]) -> impl Iterator<Item = usize> + 'a {
    (1..points.len()).filter(|&i| {
        let (before, after) = (&points[i - 1], &points[i]);
        before.number + 1 == after.number && (after.us / before.us - 1.0).abs() >= CLIFF
    })
}

/// The range of some numbers that are not all the same.
fn range(numbers: impl Iterator<Item = f64> + Clone) -> Option<Range<f64>> {
    let (from, to) = (numbers.clone().fold(f64::INFINITY, f64::min), numbers.fold(f64::NEG_INFINITY, f64::max));
    (to > from).then_some(from..to)
}

/// The line of the time, and its dots by what bounds the runs, in a drawing of 1000 by 400.
pub(super) struct Line<'a> {
    pub(super) program: &'a str,
    pub(super) varied: &'a str,
    pub(super) x: Range<f64>,
    /// Microseconds, from 0 to the top.
    pub(super) y: Range<f64>,
    pub(super) path: String,
    /// Of each bound: its name, the class of its colour, and the dots.
    pub(super) dots: Vec<(&'a str, &'static str, String)>,
}

impl<'a> Line<'a> {
    /// Of the JSON array of runs; nothing where none was varied, or to one value alone.
    pub(super) fn of(reports: &'a Value) -> Option<Self> {
        let points = Point::all(reports.as_array()?);
        let first = reports.get(0)?;
        Self::through(first["program"].as_str()?, first.pointer("/vary/0")?.as_str()?, &points)
    }

    fn through(program: &'a str, varied: &'a str, points: &[Point<'a>]) -> Option<Self> {
        let [_, worst] = extremes(points)?;
        let y = 0.0..ceiling(points[worst].us);
        let x = range(points.iter().map(|point| point.value))?;
        let at = |point: &Point<'_>| (1000.0 * share(&x, point.value), 400.0 * (1.0 - share(&y, point.us)));
        let path = points.iter().enumerate().map(|(i, point)| corner(i, at(point))).collect();
        let mut bounds: Vec<&str> = points.iter().map(Point::bound).collect();
        bounds.sort_unstable();
        bounds.dedup();
        let dots = |bound: &'a str| {
            let of = points.iter().filter(|point| point.bound() == bound);
            (bound, colour(bound), of.map(at).map(|(x, y)| format!("M{x:.1} {y:.1}h0")).collect())
        };
        let dots = bounds.into_iter().map(dots).collect();
        Some(Self { program: name(program), varied, x, y, path, dots })
    }
}

/// The chart of the time, with a colour for each bound.
fn time(varied: &str, points: &[Point<'_>]) -> Html {
    let Some(Line { x, y, path, dots, .. }) = Line::through("", varied, points) else { return Html::default() };
    let drawn: String =
        dots.iter().map(|(_, colour, dots)| format!("<path class=\"dots {colour}\" d=\"{dots}\"/>")).collect();
    let said = format!("Time by {varied}, from {} to {}", Unit::Count.text(x.start), Unit::Count.text(x.end));
    chart(
        &format!("Time by {varied}; the colour is what bounds the run"),
        &said,
        &format!("<path class=\"series\" d=\"{path}\"/>{drawn}"),
        (&y, &|tick| ticks::time(tick, &y)),
        &x,
        dots.iter().map(|(bound, colour, _)| (*bound, *colour)),
    )
}

/// The next corner of a line.
fn corner(i: usize, (x, y): (f64, f64)) -> String {
    format!("{}{x:.1} {y:.1}", if i == 0 { 'M' } else { 'L' })
}

/// The chart of what pipes and memory do.
fn shares(varied: &str, points: &[Point<'_>]) -> Html {
    let Some(x) = range(points.iter().map(|point| point.value)) else { return Html::default() };
    let line = |(_, pointer, colour): &(&str, &str, &str)| {
        let corner = |(i, point): (usize, &Point<'_>)| {
            let ratio = point.report.pointer(pointer).and_then(Value::as_f64).unwrap_or(0.0).min(1.0);
            corner(i, (1000.0 * share(&x, point.value), 400.0 * (1.0 - ratio)))
        };
        let line: String = points.iter().enumerate().map(corner).collect();
        format!("<path class=\"series {colour}\" d=\"{line}\"/>")
    };
    let lines: String = SHARES.iter().map(line).collect();
    let said = format!("Busy shares of pipes and of main memory by {varied}");
    let legend = SHARES.iter().map(|(name, _, colour)| (*name, *colour));
    chart(
        "How much of a core's time its pipes are busy, and how much of its bandwidth main memory gives",
        &said,
        &lines,
        (&(0.0..1.0), &|tick| Unit::Percent.text(tick)),
        &x,
        legend,
    )
}

/// A chart with numbers at its sides and a legend.
fn chart<'a>(
    caption: &str,
    said: &str,
    drawing: &str,
    (y, number): (&Range<f64>, &dyn Fn(f64) -> String),
    x: &Range<f64>,
    legend: impl Iterator<Item = (&'a str, &'static str)>,
) -> Html {
    let legend: String =
        legend.map(|(name, colour)| format!("<li class=\"{colour}\">{}</li>", escaped(name))).collect();
    let (caption, said) = (escaped(caption), escaped(said));
    let label =
        |side: &str, share: f64, text: &str| format!("<span style=\"{side}:{:.2}%\">{text}</span>", 100.0 * share);
    let upwards: String = ticks(y).into_iter().map(|tick| label("top", 1.0 - share(y, tick), &number(tick))).collect();
    let right = |(tick, share): (f64, f64)| label("left", share, &Unit::Count.text(tick));
    let rightwards: String = ticks_and_ends(x).into_iter().map(right).collect();
    let grid = |tick: f64| format!("<path class=\"grid\" d=\"M0 {:.1}H1000\"/>", 400.0 * (1.0 - share(y, tick)));
    let grid: String = ticks(y).into_iter().map(grid).collect();
    Html::of(format!(
        "<figure><figcaption>{caption}</figcaption>\n<ul class=\"legend\">{legend}</ul>\n\
         <div class=\"chart lines\" role=\"img\" aria-label=\"{said}\"><div class=\"y\">{upwards}</div>\
         <div class=\"inside\">\
         <svg viewBox=\"0 0 1000 400\" preserveAspectRatio=\"none\" aria-hidden=\"true\">{grid}{drawing}</svg></div>\
         <div class=\"x\">{rightwards}</div></div></figure>\n"
    ))
}

fn cliffs(document: &Document<'_>, points: &[Point<'_>]) -> Html {
    let row = |i: usize| {
        let show = |i: usize, at: &str, unit| document.show(&format!("/{}/{at}", points[i].at), unit);
        let (was, is) = (points[i - 1].bound(), points[i].bound());
        let bound = if was == is { was.to_owned() } else { format!("{was} \u{2192} {is}") };
        let change = 100.0 * (points[i].us / points[i - 1].us - 1.0);
        vec![
            Cell::Words(Html::of(format!(
                "{} to {}",
                show(i - 1, "vary/1", Unit::Count),
                show(i, "vary/1", Unit::Count)
            ))),
            Cell::Number(show(i - 1, "task_us", Unit::Us)),
            Cell::Number(show(i, "task_us", Unit::Us)),
            Cell::Number(Html::text(&signed(change))),
            Cell::text(&bound),
        ]
    };
    let rows = table(
        "Steps that change the time by a tenth or more",
        &["step", "before", "after", "change", "bound"],
        steps(points).map(row),
    );
    if rows.is_empty() && points.len() > 1 {
        paragraph("There are none: no step changes the time by a tenth.")
    } else {
        rows
    }
}

/// A change in percent.
pub(super) fn signed(percent: f64) -> String {
    let sign = match percent {
        none if is_none(none) => "",
        less if less < 0.0 => "\u{2212}",
        _ => "+",
    };
    format!("{sign}{:.1}\u{a0}%", percent.abs())
}

/// Whether a change in percent is smaller than what is shown of it, and than what is left of the numbers in tables.
pub(super) const fn is_none(percent: f64) -> bool {
    percent.abs() < 0.05
}

fn all_runs(varied: &str, document: &Document<'_>, all: bool) -> Html {
    let header = [varied, "task", "cycles", "bound", "vector", "scalar", "mte2", "mte3", "main memory"];
    let row = |i: usize| {
        let show = |at: &str, unit| document.show(&format!("/{i}{at}"), unit);
        if document.at(&format!("/{i}/task_us")).is_none() {
            let why = document.string(&format!("/{i}/reason")).or_else(|| document.string(&format!("/{i}/route")));
            let why = Cell::Instead(Html::text(why.unwrap_or("no time")), header.len() - 1);
            return vec![Cell::Number(show("/vary/1", Unit::Count)), why];
        }
        let mut cells = vec![
            Cell::Number(show("/vary/1", Unit::Count)),
            Cell::Number(show("/task_us", Unit::Us)),
            Cell::Number(show("/cycles", Unit::Count)),
            Cell::Words(document.show_text(&format!("/{i}/bound"))),
        ];
        cells.extend(SHARES.iter().map(|(_, at, _)| Cell::Number(show(at, Unit::Percent))));
        cells
    };
    let caption = if all { "All runs" } else { "Runs that are shown" };
    table(caption, &header, (0..document.list("").len()).map(row))
}
