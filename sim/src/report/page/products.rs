//! One problem on several products, side by side.

use serde_json::Value;

use super::html::{Cell, Html, Section, table};
use super::roofline::colour;
use super::shell::Shell;
use super::simulation::name;
use super::value::{Document, Unit};
use super::verdict::in_words;

/// The page of a problem on several products, of the JSON array of their reports, and the command that makes it again.
pub(super) fn page(reports: &Value, command: &str) -> String {
    let document = Document { id: "report", value: reports };
    let title = format!("{} on several products", name(document.string("/0/program").unwrap_or("A program")));
    let all = document.list("");
    let timed = || all.iter().enumerate().filter_map(|(i, one)| Some((i, one["task_us"].as_f64()?)));
    let fastest = timed().min_by(|a, b| a.1.total_cmp(&b.1));
    let verdict = fastest.map_or_else(
        || "No product has a time.".to_owned(),
        |(i, _)| {
            let (soc, us) =
                (document.show_text(&format!("/{i}/soc")), document.show(&format!("/{i}/task_us"), Unit::Us));
            format!("The fastest of {} products with a time is {soc} with <strong>{us}</strong>.", timed().count())
        },
    );
    let verdict = Html::of(format!("<p class=\"verdict\">{verdict}</p>\n"));
    let sections = Section::new("products", "Products", rows(&document, "")).into_iter().collect();
    Shell { title: &title, verdict, sections, documents: vec![document], command }.page()
}

/// A table of runs in a list, with bars.
pub(super) fn rows(document: &Document<'_>, list: &str) -> Html {
    let products = document.list(list);
    let times = || products.iter().filter_map(|one| one["task_us"].as_f64()).filter(|us| *us > 0.0);
    let [least, most] = [times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max)].map(f64::log10);
    // From a power of ten to a power of ten, so that both ends can be told from the middle.
    let (from, to) = (least.floor(), most.ceil().max(least.floor() + 1.0));
    let row = |(k, one): (usize, &Value)| {
        let at = |key: &str| format!("{list}/{k}/{key}");
        let show = |key: &str, unit| document.show(&at(key), unit);
        let text = |key: &str| one[key].as_str().unwrap_or("");
        let timed = document.number(&at("task_us"));
        let time = match timed {
            Some(us) => Cell::Bar(show("task_us", Unit::Us), (us.log10() - from) / (to - from), colour(text("bound"))),
            None => Cell::Words(Html::of("<span class=\"none\">none</span>".into())),
        };
        let said = match (timed, one["reason"].as_str()) {
            (_, Some(reason)) => Html::text(reason),
            (Some(_), None) => Html::text(in_words(text("bound"))),
            (None, None) => document.show_text(&at("route")),
        };
        vec![
            Cell::Words(Html::of(format!(
                "{}<br><small>{}</small>",
                Html::text(text("product")),
                Html::text(text("soc"))
            ))),
            time,
            Cell::text(text("bound")),
            Cell::Number(if timed.is_some() { show("cores_used", Unit::Count) } else { Html::default() }),
            Cell::Number(if timed.is_some() { show("workspace_bytes", Unit::Bytes) } else { Html::default() }),
            Cell::Words(Html::of(format!("<span class=\"grade {0}\">{0}</span>", Html::text(text("grade"))))),
            Cell::Words(said),
        ]
    };
    let header = ["product", "time", "bound", "cores", "workspace", "grade", "what that is"];
    table("Simulated on each product; bars grow with the power of ten", &header, products.iter().enumerate().map(row))
}
