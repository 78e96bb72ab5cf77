//! The roofline: the least time of each resource beside the time that the run took, and the usual chart.

use serde_json::Value;

use super::html::{Cell, Html, paragraph, table};
use super::roof_chart;
use super::value::{Document, Unit};
use super::verdict::{in_short, in_words};

/// A bar for each resource, as long as the share of the run that the resource needs at least.
pub(super) fn roofline(report: &Document<'_>, run: &Document<'_>) -> Html {
    let by = report.string("/roofline/by");
    let row = |(i, limit): (usize, &Value)| {
        let name = limit["by"].as_str().unwrap_or("");
        let at = |number: &str| format!("/roofline/limits/{i}/{number}");
        let ratio = report.number(&at("ratio")).unwrap_or(0.0);
        let mark = if by == Some(name) {
            Html::of(format!("<strong>{}</strong>", Html::text(name)))
        } else {
            Html::text(name)
        };
        vec![
            Cell::Words(mark),
            Cell::Bar(report.show(&at("ratio"), Unit::Percent), ratio, colour(name)),
            Cell::Number(report.show(&at("us"), Unit::Us)),
            Cell::text(in_words(name)),
        ]
    };
    let rows = report.list("/roofline/limits").iter().enumerate().map(row);
    let table = table(
        "Least time of each resource for the work of this run",
        &["resource", "of the time of the cores", "least time", "what it is"],
        rows,
    );
    if table.is_empty() {
        return table;
    }
    let text = paragraph(format_args!(
        "Were nothing in its way, the busiest resource alone would decide: {} would take {}. What is missing to 100\u{a0}% is time in which \
         it waits: for latencies, for flags, for other pipes, for the slowest core. The launch is in neither.",
        in_short(by.unwrap_or("")),
        report.show("/roofline/us", Unit::Us)
    ));
    let chart = roof_chart::chart(report, run);
    Html::of(format!("{text}{table}{chart}"))
}

/// The class of a resource's colour.
pub(super) fn colour(name: &str) -> &'static str {
    match name {
        "vector" => "vector",
        "scalar" => "scalar",
        "mte2" => "mte2",
        "mte3" => "mte3",
        "l2" => "l2",
        "launch" => "guess",
        "sync" => "sync",
        _ => "memory",
    }
}
