//! Which instructions took the time, and what conflicts took of it.

use serde_json::Value;

use super::html::{Cell, Html, paragraph, table};
use super::value::{Document, Unit};

/// The instructions that took most of the pipes' time.
pub(super) fn instructions(run: &Document<'_>) -> Html {
    let row = |(i, one): (usize, &Value)| {
        let at = |number: &str| format!("/instructions/{i}/{number}");
        let text = |key: &str| one[key].as_str().unwrap_or("");
        let share = run.number(&at("share")).unwrap_or(0.0);
        let pipe = text("pipe").to_lowercase();
        let colour = ["vector", "scalar", "mte2", "mte3"].into_iter().find(|known| *known == pipe).unwrap_or("memory");
        vec![
            Cell::Words(Html::of(format!(
                "{}<br><small>{}</small>",
                Html::code(text("text")),
                Html::text(text("place"))
            ))),
            Cell::text(&pipe),
            Cell::Bar(run.show(&at("share"), Unit::Percent), share, colour),
            Cell::Number(run.show(&at("us"), Unit::Us)),
            Cell::Number(run.show(&at("calls"), Unit::Count)),
        ]
    };
    let rows = run.list("/instructions").iter().enumerate().map(row);
    let table = table(
        "Instructions with the most time, all cores together",
        &["instruction", "pipe", "of all pipes' time", "time", "calls"],
        rows,
    );
    if table.is_empty() {
        table
    } else {
        Html::of(format!("{}{table}", paragraph("Waits for flags, at barriers and for other cores are left out.")))
    }
}

/// What meeting in a bank or in global memory took.
pub(super) fn conflicts(report: &Document<'_>, run: &Document<'_>) -> Html {
    if report.at("/bank_conflict_ratio").is_none() {
        return Html::default();
    }
    let text = paragraph(format_args!(
        "Operands that met in a bank of the unified buffer took {} of the vector pipe's time. Additions in global memory met {} times and \
         waited {} for each other, all cores together.",
        report.show("/bank_conflict_ratio", Unit::Percent),
        report.show("/collisions/count", Unit::Count),
        report.show("/collisions/cycles", Unit::Cycles),
    ));
    let row = |(i, one): (usize, &Value)| {
        let at = format!("/instructions/{i}/conflicts");
        let ratio = run.number(&at).filter(|ratio| *ratio > 0.0)?;
        let code = Html::code(one["text"].as_str().unwrap_or(""));
        Some(vec![Cell::Words(code), Cell::Bar(run.show(&at, Unit::Percent), ratio, "guess")])
    };
    let rows = run.list("/instructions").iter().enumerate().filter_map(row);
    let table =
        table("Conflicts of the instructions above, by the time of each", &["instruction", "of its time"], rows);
    Html::of(format!("{text}{table}"))
}
