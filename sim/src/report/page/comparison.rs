//! The page of two results side by side.

use serde_json::Value;

use super::html::{Cell, Html, Section, escaped, paragraph, table};
use super::series::{is_none, signed};
use super::shell::Shell;
use super::simulation::name;
use super::value::{Document, Unit};
use super::verdict::in_short;

/// The page of a comparison, of its JSON, of the reports of both results where they are any, and the command that makes it again.
#[must_use]
pub fn comparison(report: &Value, before: Option<&Value>, after: Option<&Value>, command: &str) -> String {
    let report = Document { id: "report", value: report };
    let before = before.map(|value| Document { id: "before", value });
    let after = after.map(|value| Document { id: "after", value });
    let both = before.as_ref().zip(after.as_ref());
    let called = called(["/before", "/after"].map(|at| report.string(at).unwrap_or("a result")));
    let title = format!("{} and {}", called[0], called[1]);
    let sections = [
        Section::new("differences", "Differences", differences(&report)),
        Section::new("pipes", "Pipes side by side", both.map_or_else(Html::default, |(a, b)| pipes(a, b))),
        Section::new("roofline", "Rooflines side by side", both.map_or_else(Html::default, |(a, b)| rooflines(a, b))),
        Section::new("advice", "What would help now", after.as_ref().map_or_else(Html::default, super::advice::advice)),
        Section::new("model", "What was compared", both.map_or_else(Html::default, |(a, b)| compared(a, b))),
    ];
    let verdict = verdict(&report, both);
    let documents = [Some(report), before, after].into_iter().flatten().collect();
    Shell { title: &title, verdict, sections: sections.into_iter().flatten().collect(), documents, command }.page()
}

/// Two results by the last of their paths that says something: `report.json` is its folder's. In full where both have the same.
fn called([before, after]: [&str; 2]) -> [&str; 2] {
    let short = |path| match path {
        path if name(path) == "report.json" => {
            let folder = path[..path.len() - "report.json".len()].trim_end_matches(['/', '\\']);
            if folder.is_empty() { path } else { name(folder) }
        }
        path => name(path.trim_end_matches(['/', '\\'])),
    };
    let both = [short(before), short(after)];
    if both[0] == both[1] || both.contains(&"") { [before, after] } else { both }
}

fn change(report: &Document<'_>, i: usize) -> Option<f64> {
    report.number(&format!("/differences/{i}/change"))
}

fn verdict(report: &Document<'_>, both: Option<(&Document<'_>, &Document<'_>)>) -> Html {
    let time = report.list("/differences").iter().position(|one| one["name"] == "task_us");
    let Some((i, by)) = time.and_then(|i| Some((i, change(report, i)?))) else { return Html::default() };
    let show = |which: &str| report.show(&format!("/differences/{i}/{which}"), Unit::Us);
    let faster = match by {
        by if is_none(100.0 * by) => "neither faster nor slower",
        by if by < 0.0 => "faster",
        _ => "slower",
    };
    let verdict = format!(
        "<p class=\"verdict\">{}: from {} to <strong>{}</strong>, {}.</p>\n",
        capital(faster),
        show("before"),
        show("after"),
        signed(100.0 * by)
    );
    let allowed = report.show("/threshold_percent", Unit::Plain);
    let judged = match report.at("/regression").and_then(Value::as_bool) {
        Some(true) => format!("That is a regression: at most {allowed}\u{a0}% were allowed."),
        _ => format!("That is no regression: up to {allowed}\u{a0}% are allowed."),
    };
    let bounds = both.map_or_else(String::new, |(a, b)| {
        let of = |document: &Document<'_>| document.string("/bound").map(str::to_owned).unwrap_or_default();
        match (of(a), of(b)) {
            (a, b) if a == b => format!(" Both are bound by {}.", in_short(&a)),
            (a, b) => format!(" The first is bound by {}, the second by {}.", in_short(&a), in_short(&b)),
        }
    });
    let conditions = conditions(report);
    Html::of(format!("{verdict}{}", paragraph(format_args!("{judged}{bounds}{conditions}"))))
}

/// What the results do not have in common, so that nobody takes another machine for a better program.
fn conditions(report: &Document<'_>) -> String {
    let in_words = |one: &Value| match one["name"].as_str().unwrap_or("") {
        "soc" => "SoC".to_owned(),
        "model_hash" => "model of the product".to_owned(),
        "l2_start" => "start of L2".to_owned(),
        name => escaped(name),
    };
    match report.list("/conditions").iter().map(in_words).collect::<Vec<_>>().join(", ") {
        differ if differ.is_empty() => differ,
        differ => format!(" The results are not of the same: {differ} (<a href=\"#model\">what was compared</a>)."),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn differences(report: &Document<'_>) -> Html {
    let row = |(i, one): (usize, &Value)| {
        let name = one["name"].as_str().unwrap_or("");
        let unit = match name {
            "task_us" => Unit::Us,
            name if name.ends_with("ratio") => Unit::Percent,
            name if name.ends_with("bytes") => Unit::Bytes,
            _ => Unit::Count,
        };
        let show = |which: &str| Cell::Number(report.show(&format!("/differences/{i}/{which}"), unit));
        let change = change(report, i).map_or_else(Html::default, |change| Html::text(&signed(100.0 * change)));
        vec![Cell::Words(Html::code(name)), show("before"), show("after"), Cell::Number(change)]
    };
    let [before, after] = ["/before", "/after"].map(|at| report.string(at).unwrap_or("a result"));
    let rows = report.list("/differences").iter().enumerate().map(row);
    table("Numbers of both results", &["number", before, after, "change"], rows)
}

/// Two bars for each of some shares.
fn side_by_side(caption: &str, rows: &[(String, String, &'static str)], both: [&Document<'_>; 2]) -> Html {
    let row = |(name, at, colour): &(String, String, &'static str)| {
        let bar = |document: &Document<'_>| {
            Cell::Bar(document.show(at, Unit::Percent), document.number(at).unwrap_or(0.0), colour)
        };
        vec![Cell::text(name), bar(both[0]), bar(both[1])]
    };
    table(caption, &["", "before", "after"], rows.iter().map(row))
}

fn pipes(before: &Document<'_>, after: &Document<'_>) -> Html {
    let pipes = ["vector", "scalar", "mte2", "mte3"];
    let mut rows: Vec<_> = pipes.map(|pipe| (pipe.to_owned(), format!("/pipes/{pipe}/ratio"), pipe)).into();
    rows.push(("main memory".into(), "/hbm/ratio".into(), "memory"));
    rows.push(("L2".into(), "/l2/ratio".into(), "memory"));
    rows.push(("L2 hits".into(), "/l2_hit_ratio".into(), "memory"));
    rows.push(("mean by slowest core".into(), "/balance".into(), "memory"));
    rows.push(("bank conflicts, of the vector pipe".into(), "/bank_conflict_ratio".into(), "guess"));
    side_by_side("Shares of a core's time, and of bandwidths", &rows, [before, after])
}

fn rooflines(before: &Document<'_>, after: &Document<'_>) -> Html {
    let limits = after.list("/roofline/limits").iter().enumerate();
    let rows: Vec<_> = limits
        .map(|(i, limit)| {
            let name = limit["by"].as_str().unwrap_or("");
            (name.to_owned(), format!("/roofline/limits/{i}/ratio"), super::roofline::colour(name))
        })
        .collect();
    side_by_side("Least time of each resource, of the time of the cores", &rows, [before, after])
}

/// What the results are of, and on which numbers they disagree.
fn compared(before: &Document<'_>, after: &Document<'_>) -> Html {
    let text = |document: &Document<'_>, at: &str| document.show_text(at);
    let rows = [
        ("program", "/program"),
        ("SoC", "/soc"),
        ("scheme", "/scheme"),
        ("model", "/model_hash"),
        ("weakest grade", "/grade"),
    ];
    let rows =
        rows.map(|(name, at)| vec![Cell::text(name), Cell::Words(text(before, at)), Cell::Words(text(after, at))]);
    let table = table("What the results are of", &["", "before", "after"], rows);
    let keys = |document: &Document<'_>| -> Vec<String> {
        document.list("/evidence").iter().filter_map(|one| Some(one["key"].as_str()?.to_owned())).collect()
    };
    let (a, b) = (keys(before), keys(after));
    let only = |of: &[String], other: &[String]| {
        let list: Vec<_> = of.iter().filter(|key| !other.contains(key)).map(|key| escaped(key)).collect();
        if list.is_empty() { "none".to_owned() } else { list.join(", ") }
    };
    let text = paragraph(format_args!(
        "Numbers that only the first rests on: {}. Only the second: {}.",
        only(&a, &b),
        only(&b, &a)
    ));
    Html::of(format!("{table}{text}"))
}
