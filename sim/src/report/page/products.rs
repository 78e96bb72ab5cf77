//! One problem on several products, side by side.

use serde_json::Value;

use super::html::{Cell, Html, Section, paragraph, table};
use super::roofline::colour;
use super::shell::Shell;
use super::simulation::name;
use super::value::{Document, Unit, noun};
use super::verdict::in_words;
use crate::report::whose_program;

/// The page of a problem on several products, of the JSON array of their reports, and the command that makes it again.
pub(super) fn page(reports: &Value, command: &str) -> String {
    let document = Document { id: "report", value: reports };
    let title = format!("{} on several products", name(document.string("/0/program").unwrap_or("A program")));
    let sections = Section::new("products", "Products", rows(&document, "", true)).into_iter().collect();
    Shell { title: &title, verdict: verdict(&document), sections, documents: vec![document], command }.page()
}

/// Whether the vendor runs the problem on that product's AI Cores.
fn on_ai_core(one: &Value) -> bool {
    one["supported"] == true && one["vendor_route"] == "aicore"
}

/// The fastest product of those that can be compared, and what was left out of that.
fn verdict(document: &Document<'_>) -> Html {
    let all = document.list("");
    let timed: Vec<(usize, f64)> =
        all.iter().enumerate().filter_map(|(i, one)| Some((i, one["task_us"].as_f64()?))).collect();
    let ranked: Vec<(usize, f64)> = timed.iter().copied().filter(|(i, _)| on_ai_core(&all[*i])).collect();
    let Some((i, _)) = ranked.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1)) else {
        let none =
            if timed.is_empty() { "No product has a time." } else { "No product's AI Cores run it for the vendor." };
        return Html::of(format!("<p class=\"verdict\">{none}</p>\n"));
    };
    let (soc, us) = (document.show_text(&format!("/{i}/soc")), document.show(&format!("/{i}/task_us"), Unit::Us));
    let count = ranked.len();
    let first = match count {
        1 => format!(
            "On {soc} it takes <strong>{us}</strong>; on no other product with a time do the vendor's AI Cores run it."
        ),
        _ => format!(
            "Of {count} products with a time whose AI Cores run it for the vendor, the fastest is {soc} with <strong>{us}</strong>."
        ),
    };
    let mut rest = String::new();
    let others = timed.len() - count;
    if others > 0 {
        let (noun, have) = (noun(others, "product", "products"), noun(others, "has", "have"));
        rest += &format!(
            "{others} more {noun} {have} a time, in brackets, and no part in this: the vendor runs the problem elsewhere there, or does not \
             take it. "
        );
    }
    let of = |scheme: &str| ranked.iter().filter(|(i, _)| all[*i]["scheme"] == scheme).count();
    let (native, vendor) = (of("native"), of("vendor"));
    if native > 0 && vendor > 0 {
        rest += &format!(
            "Schemes are mixed: {vendor} of these times {are} of the vendor's tiling and kernel, {native} of ubtile's own; \
             <code>--scheme native</code> compares like with like. ",
            are = noun(vendor, "is", "are")
        );
    }
    for scheme in ["native", "vendor"] {
        if timed.iter().any(|(i, _)| all[*i]["scheme"] == scheme)
            && let Some(whose) = whose_program(scheme)
        {
            rest += &format!("{scheme}: {whose} ");
        }
    }
    let rest = if rest.is_empty() { Html::default() } else { paragraph(rest.trim_end()) };
    Html::of(format!("<p class=\"verdict\">{first}</p>\n{rest}"))
}

/// The time of a run at a place; in brackets where the vendor does not run the problem on the product's AI Cores.
pub(super) fn time(document: &Document<'_>, at: &str) -> Html {
    let time = document.show(&format!("{at}/task_us"), Unit::Us);
    if document.at(at).is_some_and(on_ai_core) { time } else { Html::of(format!("({time})")) }
}

/// A table of runs in a list, with bars; with links to the pages of the products' own folders where the page stands above them.
pub(super) fn rows(document: &Document<'_>, list: &str, linked: bool) -> Html {
    let products = document.list(list);
    let times = || products.iter().filter_map(|one| one["task_us"].as_f64()).filter(|us| *us > 0.0);
    let [least, most] = [times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max)].map(f64::log10);
    // From a power of ten to a power of ten, so that both ends can be told from the middle.
    let (from, to) = (least.floor(), most.ceil().max(least.floor() + 1.0));
    let row = |(k, one): (usize, &Value)| {
        let at = |key: &str| format!("{list}/{k}/{key}");
        let show = |key: &str, unit| document.show(&at(key), unit);
        let text = |key: &str| one[key].as_str().unwrap_or("");
        let or_none = |key: &str| Cell::text(one[key].as_str().unwrap_or("none"));
        let timed = document.number(&at("task_us"));
        let shown = match timed {
            Some(us) => Cell::Bar(
                time(document, &format!("{list}/{k}")),
                (us.log10() - from) / (to - from),
                colour(text("bound")),
            ),
            None => Cell::Words(Html::of("<span class=\"none\">none</span>".into())),
        };
        let said = match (timed, one["reason"].as_str()) {
            (_, Some(reason)) => Html::text(reason),
            (Some(_), None) => Html::text(in_words(text("bound"))),
            (None, None) => document.show_text(&at("route")),
        };
        let product = Html::text(text("product"));
        // What was refused has no route, and may have no folder.
        let product = match linked && !one["route"].is_null() {
            true => Html::of(format!("<a href=\"{product}/report.html\">{product}</a>")),
            false => product,
        };
        vec![
            Cell::Words(Html::of(format!("{product}<br><small>{}</small>", Html::text(text("soc"))))),
            or_none("vendor_route"),
            or_none("scheme"),
            shown,
            Cell::text(text("bound")),
            Cell::Number(if timed.is_some() { show("cores_used", Unit::Count) } else { Html::default() }),
            Cell::Number(if timed.is_some() { show("workspace_bytes", Unit::Bytes) } else { Html::default() }),
            Cell::Words(Html::of(format!("<span class=\"grade {0}\">{0}</span>", Html::text(text("grade"))))),
            Cell::Words(said),
        ]
    };
    let header =
        ["product", "vendor's route", "scheme", "time", "bound", "cores", "workspace", "grade", "what that is"];
    let caption = "Simulated on each product; bars grow with the power of ten, brackets are for where the vendor has no AI Core kernel";
    table(caption, &header, products.iter().enumerate().map(row))
}
