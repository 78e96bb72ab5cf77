//! The page of the tour: four operators on this machine and on every product.

use serde_json::Value;

use super::html::{Cell, Html, Section, paragraph, table};
use super::products;
use super::shell::Shell;
use super::value::{Document, Unit};

/// The page of a tour, of its JSON, and the command that makes it again.
#[must_use]
pub fn tour(report: &Value, command: &str) -> String {
    let document = Document { id: "report", value: report };
    let operators = document.list("/operators");
    let mut sections: Vec<Section> = [
        Section::new("host", "On this machine", host(&document)),
        Section::new("products", "On every product", matrix(&document)),
    ]
    .into_iter()
    .flatten()
    .collect();
    for (i, one) in operators.iter().enumerate() {
        let title = one["operator"].as_str().unwrap_or("An operator");
        sections.extend(Section::new(&format!("operator-{i}"), title, operator(&document, i)));
    }
    let agree = operators.iter().filter(|one| one["agrees"] == true).count();
    let verdict = Html::of(format!(
        "<p class=\"verdict\">{agree} of {} operators agree with the naive reference on this machine.</p>\n{}",
        operators.len(),
        paragraph(
            "Times on this machine are measured. Times on products are a model's, of ubtile's own tilings and programs, not of the vendor's \
             kernels, and in brackets where the vendor has no AI Core kernel for the problem; the grade is that of the weakest number under a \
             time."
        )
    ));
    let title = "Four backward operators on this machine and on every product";
    Shell { title, verdict, sections, documents: vec![document], command }.page()
}

fn host(document: &Document<'_>) -> Html {
    let row = |(i, one): (usize, &Value)| {
        let show = |key: &str, unit| Cell::Number(document.show(&format!("/operators/{i}/{key}"), unit));
        vec![
            Cell::text(one["operator"].as_str().unwrap_or("")),
            Cell::text(one["problem"].as_str().unwrap_or("")),
            show("time_ms", Unit::Ms),
            show("gb_per_s", Unit::Gbps),
            show("bytes", Unit::Bytes),
            show("workspace_bytes", Unit::Bytes),
            Cell::text(one["agreement"].as_str().unwrap_or("")),
        ]
    };
    let text = paragraph(format_args!(
        "Computed with {} on {}.",
        document.show_text("/level"),
        document.count("/threads", "thread", "threads")
    ));
    let header = ["operator", "problem", "time", "rate", "inputs and outputs", "workspace", "against the reference"];
    let rows = table(
        "The fastest of twenty calls, after a tenth of a second of untimed ones",
        &header,
        document.list("/operators").iter().enumerate().map(row),
    );
    Html::of(format!("{text}{rows}"))
}

/// Operators by products.
fn matrix(document: &Document<'_>) -> Html {
    let operators = document.list("/operators");
    let names = document.list("/operators/0/products");
    let row = |(k, one): (usize, &Value)| {
        let name = |key: &str| Html::text(one[key].as_str().unwrap_or(""));
        let mut cells = vec![Cell::Words(Html::of(format!("{}<br><small>{}</small>", name("product"), name("soc"))))];
        cells.extend((0..operators.len()).map(|i| {
            let at = |key: &str| format!("/operators/{i}/products/{k}/{key}");
            match document.string(&at("bound")) {
                Some(bound) => {
                    let time = products::time(document, &format!("/operators/{i}/products/{k}"));
                    Cell::Words(Html::of(format!("{time}<br><small>bound by {}</small>", Html::text(bound))))
                }
                None => Cell::Words(Html::of("<span class=\"none\">none</span>".into())),
            }
        }));
        cells
    };
    let mut header = vec!["product"];
    header.extend(operators.iter().map(|one| one["operator"].as_str().unwrap_or("")));
    let caption = "Times by product and operator; in brackets where the vendor has no AI Core kernel";
    table(caption, &header, names.iter().enumerate().map(row))
}

/// One operator on all products.
fn operator(document: &Document<'_>, i: usize) -> Html {
    let rows = products::rows(document, &format!("/operators/{i}/products"), false);
    if rows.is_empty() {
        return rows;
    }
    Html::of(format!("{}{rows}", paragraph(document.show_text(&format!("/operators/{i}/problem")))))
}
