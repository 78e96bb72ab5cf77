//! The page of a plan, or of the plans of one problem on several machines.

use serde_json::Value;

use super::html::{Cell, Html, Section, paragraph, table};
use super::plan;
use super::shell::Shell;
use super::value::{Document, Unit, noun};

/// The page of plans, of their JSON: one object, or an array of them. And the command that makes it again.
#[must_use]
pub fn plans(report: &Value, command: &str) -> String {
    let document = Document { id: "report", value: report };
    let (title, verdict, sections) = match report.as_array() {
        None => {
            let [operator, target] = ["/operator", "/target/name"].map(|at| document.string(at).unwrap_or(""));
            let verdict = Html::of(format!("<div class=\"verdict\">{}</div>\n", plan::head(&document)));
            (format!("Plan of {operator} for {target}"), verdict, plan::sections(&document, Html::default()).collect())
        }
        Some(all) => {
            let operator = document.string("/0/operator").unwrap_or("");
            (format!("Plans of {operator}"), several(all), sections(&document, all))
        }
    };
    Shell { title: &title, verdict, sections, documents: vec![document], command }.page()
}

fn several(all: &[Value]) -> Html {
    let supported = all.iter().filter(|plan| plan["supported"] == true).count();
    let vendor = all.iter().filter(|plan| plan["scheme"] == "vendor").count();
    let text = format!(
        "{supported} of {} product lines {} the problem; {vendor} {} a tiling of the vendor's.",
        all.len(),
        noun(supported, "takes", "take"),
        noun(vendor, "has", "have")
    );
    Html::of(format!("<p class=\"verdict\">{text}</p>\n"))
}

fn sections(document: &Document<'_>, all: &[Value]) -> Vec<Section> {
    let row = |(i, one): (usize, &Value)| {
        let at = |key: &str| format!("/{i}/{key}");
        let is_there = |key: &str| document.at(&at(key)).is_some();
        let text_or = |key: &str, other: &str| {
            Cell::Words(if is_there(key) { document.show_text(&at(key)) } else { Html::text(other) })
        };
        let text = |key: &str| text_or(key, "none");
        let number = |key: &str, unit| {
            Cell::Number(if is_there(key) { document.show(&at(key), unit) } else { Html::text("none") })
        };
        let route = if is_there("reason") { "refused" } else { "none" };
        let tile = one["choices"].as_array().into_iter().flatten().enumerate();
        let tile: Vec<_> = tile
            .filter(|(_, choice)| choice["name"] != "block_dim")
            .map(|(k, choice)| {
                let value = document.show(&format!("/{i}/choices/{k}/value"), Unit::Count);
                format!("{} {value}", Html::text(choice["name"].as_str().unwrap_or("")))
            })
            .collect();
        vec![
            text("product"),
            text("target/name"),
            text("scheme"),
            text_or("vendor_route", route),
            number("tiling_key", Unit::Count),
            number("block_dim", Unit::Count),
            Cell::Words(Html::of(tile.join(", "))),
            number("workspace_bytes", Unit::Bytes),
            number("aclnn_workspace_bytes", Unit::Bytes),
        ]
    };
    let header =
        ["product", "SoC", "scheme", "vendor's route", "key", "block dim", "tile", "workspace", "aclnn's workspace"];
    let rows = table("The plan on each product", &header, all.iter().enumerate().map(row));
    let why = all.iter().filter_map(|plan| Some((plan["product"].as_str()?, plan["reason"].as_str()?)));
    let why: Html =
        why.map(|(product, why)| paragraph(format_args!("{}: {}", Html::text(product), Html::text(why)))).collect();
    let chart = |plan: &Value| {
        let svg = super::workspace::workspace_chart(plan)?;
        let label = Html::text(plan["product"].as_str().unwrap_or("a machine"));
        Some(Html::of(format!(
            "<h3>{label}</h3>\n<div class=\"scroll\" role=\"region\" aria-label=\"Workspace on {label}\" tabindex=\"0\">{svg}</div>\n"
        )))
    };
    let sections = [
        Section::new("products", "Products", rows),
        Section::new("reasons", "Why some have none, or another", why),
        Section::new("workspace", "Workspace by lifetime", all.iter().filter_map(chart).collect()),
    ];
    sections.into_iter().flatten().collect()
}
