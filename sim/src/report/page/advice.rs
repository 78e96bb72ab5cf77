//! What would make a run faster.

use super::html::{Cell, Html, paragraph, table};
use super::value::{Document, Unit};

/// Each change with what it would save.
pub(super) fn advice(report: &Document<'_>) -> Html {
    let changes = report.list("/changes");
    let row = |i: usize| {
        let at = |number: &str| format!("/changes/{i}/{number}");
        vec![
            Cell::Words(report.show_text(&at("what"))),
            Cell::Number(report.show(&at("task_us"), Unit::Us)),
            Cell::Bar(report.show(&at("saves"), Unit::Percent), report.number(&at("saves")).unwrap_or(0.0), "gain"),
        ]
    };
    if report.at("/task_us").is_none() {
        return Html::default();
    }
    if changes.is_empty() {
        return paragraph(
            "No change that was tried saves as much as half a percent, or the run was too long to try any.",
        );
    }
    let text = paragraph(
        "Each line is a run of its own in which one thing costs nothing, or half. That is the most the change can bring, \
         not what a rewrite will.",
    );
    let table = table("Changes, each simulated", &["change", "task", "saves"], (0..changes.len()).map(row));
    Html::of(format!("{text}{table}"))
}
