//! What would make a run faster.

use super::html::{Cell, Html, paragraph, table};
use super::value::{Document, Unit};

/// Each change with what it would save.
pub(super) fn advice(report: &Document<'_>) -> Html {
    let changes = report.list("/changes");
    let row = |at: &str, what: Html| {
        let [task_us, saves] = ["task_us", "saves"].map(|number| format!("{at}/{number}"));
        vec![
            Cell::Words(what),
            Cell::Number(report.show(&task_us, Unit::Us)),
            Cell::Bar(report.show(&saves, Unit::Percent), report.number(&saves).unwrap_or(0.0), "gain"),
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
         not what a rewrite will. With an option in front it is the run that the option makes.",
    );
    let one = |i: usize| format!("/changes/{i}");
    let rows = (0..changes.len()).map(|i| row(&one(i), report.show_text(&format!("{}/what", one(i)))));
    let cores = || Html::of(format!("<code>--cores {}</code>", report.show("/fewer_cores/cores", Unit::Count)));
    let fewer = report.at("/fewer_cores/cores").map(|_| row("/fewer_cores", cores()));
    let table = table("Changes, each simulated", &["change", "task", "saves"], rows.chain(fewer));
    Html::of(format!("{text}{table}"))
}
