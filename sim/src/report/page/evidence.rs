//! What a result rests on.

use serde_json::Value;

use super::html::{Cell, Html, details, paragraph, table};
use super::value::Document;
use crate::product::{Grade, source};

/// How many numbers have which grade, what was assumed, and each number with its source.
pub(super) fn evidence(report: &Document<'_>) -> Html {
    let all = report.list("/evidence");
    if all.is_empty() {
        return Html::default();
    }
    let of = |grade: Grade| all.iter().filter(move |one| one["grade"] == grade.name());
    let text = |one: &Value, key: &str| one[key].as_str().unwrap_or("").to_owned();
    let counts: Html = Grade::ALL
        .into_iter()
        .map(|grade| {
            let (name, count) = (grade.name(), of(grade).count());
            Html::of(format!("<li><span class=\"grade {name}\">{name}</span> {count}: {}</li>\n", meaning(grade)))
        })
        .collect();
    let row = |one: &Value| {
        let grade = text(one, "grade");
        vec![
            Cell::Words(Html::code(&text(one, "key"))),
            Cell::Words(Html::of(format!("<span class=\"grade {}\">{0}</span>", Html::text(&grade)))),
            Cell::text(&text(one, "source")),
        ]
    };
    let header = ["number", "grade", "source"];
    let guesses = table("Guesses that this result rests on", &header, of(Grade::Guess).map(row));
    let founded =
        table("What sources state, or follows from it", &header, of(Grade::Cited).chain(of(Grade::Derived)).map(row));
    let mut short: Vec<(String, String)> = all.iter().filter_map(|one| source(one["source"].as_str()?)).collect();
    short.sort();
    short.dedup();
    let sources: Html = short
        .iter()
        .map(|(short, full)| Html::of(format!("<li><code>{}</code> {}</li>\n", Html::text(short), Html::text(full))))
        .collect();
    let sources =
        if sources.is_empty() { String::new() } else { format!("<p>In sources:</p>\n<ul>\n{sources}</ul>\n") };
    let assumed: Html = report
        .list("/assumptions")
        .iter()
        .filter_map(Value::as_str)
        .map(|one| Html::of(format!("<li>{}</li>\n", Html::text(one))))
        .collect();
    let assumed = if assumed.is_empty() {
        String::new()
    } else {
        format!("<p>Assumed, because nobody knows:</p>\n<ul>\n{assumed}</ul>\n")
    };
    let weakest = paragraph(format_args!("The weakest grade under the time is {}.", report.show_text("/grade")));
    Html::of(format!(
        "{weakest}<ul class=\"grades\">\n{counts}</ul>\n{assumed}{guesses}{}{sources}",
        details("Numbers that are cited or derived", &founded)
    ))
}

const fn meaning(grade: Grade) -> &'static str {
    match grade {
        Grade::Cited => "a source states it",
        Grade::Derived => "arithmetic on what sources state",
        Grade::Guess => "no source was found",
    }
}
