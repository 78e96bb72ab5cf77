//! How evenly the cores are loaded.

use serde_json::Value;

use super::html::{Cell, Html, details, escaped, paragraph, table};
use super::value::{Document, Unit, noun};

/// A column for each core, with what its busiest pipe did in front of it.
pub(super) fn balance(report: &Document<'_>, run: &Document<'_>) -> Html {
    let cores = run.list("/cores");
    let us = |core: &Value, key: &str| core[key].as_f64().unwrap_or(0.0);
    let most = cores.iter().map(|core| us(core, "us")).fold(0.0, f64::max);
    let (Some(first), Some(last)) = (cores.first(), cores.last()) else { return Html::default() };
    if most <= 0.0 {
        return Html::default();
    }
    let pipe = ["vector", "scalar", "mte2", "mte3"]
        .into_iter()
        .map(|pipe| (pipe, cores.iter().map(|core| us(core, &format!("{pipe}_us"))).sum::<f64>()))
        .fold(("vector", -1.0), |a, b| if b.1 > a.1 { b } else { a })
        .0;
    let name = |core: &Value| core["name"].as_str().unwrap_or("").to_owned();
    let step = 1000.0 / cores.len() as f64;
    let column = |(i, core): (usize, &Value)| {
        let (all, busy) = (us(core, "us"), us(core, &format!("{pipe}_us")));
        let (x, width) = (step * i as f64 + step * 0.1, step * 0.8);
        let bar = |class: &str, value: f64| {
            let height = 100.0 * (value / most).min(1.0);
            let y = 100.0 - height;
            format!("<rect class=\"{class}\" x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\"/>")
        };
        let tip = format!("{}: {}, {pipe} busy {}", name(core), Unit::Us.text(all), Unit::Us.text(busy));
        format!("<g><title>{}</title>{}{}</g>\n", escaped(&tip), bar("core", all), bar(pipe, busy))
    };
    let columns: String = cores.iter().enumerate().map(column).collect();
    let slowest =
        cores.iter().enumerate().fold(0, |at, (i, core)| if us(core, "us") > us(&cores[at], "us") { i } else { at });
    let text = paragraph(format_args!(
        "The cores take {} of the slowest one's time on average. The slowest is {} with {}.",
        report.show("/balance", Unit::Percent),
        Html::text(&name(&cores[slowest])),
        run.show(&format!("/cores/{slowest}/us"), Unit::Us)
    ));
    let label = escaped(&format!(
        "Time of {} {}, and busy time of their {pipe} pipe",
        cores.len(),
        noun(cores.len(), "core", "cores")
    ));
    let chart = format!(
        "<figure class=\"columns-chart\"><figcaption>Time of each core; in front of it, how long its {pipe} pipe was busy</figcaption>\n\
         <div class=\"plot\"><span class=\"top\">{}</span>\n\
         <svg viewBox=\"0 0 1000 100\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{label}\"><title>{label}</title>\n{columns}</svg>\n\
         <div class=\"ends\"><span>{}</span><span>{}</span></div></div></figure>\n",
        run.show(&format!("/cores/{slowest}/us"), Unit::Us),
        Html::text(&name(first)),
        Html::text(&name(last)),
    );
    let row = |(i, core): (usize, &Value)| {
        let show = |key: &str| Cell::Number(run.show(&format!("/cores/{i}/{key}"), Unit::Us));
        vec![
            Cell::text(&name(core)),
            show("us"),
            show("vector_us"),
            show("scalar_us"),
            show("mte2_us"),
            show("mte3_us"),
        ]
    };
    let header = ["core", "time", "vector busy", "scalar busy", "mte2 busy", "mte3 busy"];
    let rows = table("Each core", &header, cores.iter().enumerate().map(row));
    Html::of(format!("{text}{chart}{}", details("The same as a table", &rows)))
}
