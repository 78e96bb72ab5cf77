//! The tiling of a plan, and why it is what it is.

use serde_json::Value;

use super::html::{Cell, Html, Section, details, paragraph, table};
use super::value::{Document, Unit};
use super::workspace::workspace_chart;

/// The sections of a plan on one machine, with what is said first.
pub(super) fn sections(plan: &Document<'_>, first: Html) -> impl Iterator<Item = Section> {
    let why: Html = [decisions(plan), choices(plan), prices(plan), means(plan)].into_iter().collect();
    let tiling: Html = [first, tiling_data(plan), phases(plan), tensors(plan)].into_iter().collect();
    let sections = [
        Section::new("tiling", "Tiling", tiling),
        Section::new("constraints", "Constraints of the tiling", why),
        Section::new("workspace", "Workspace by lifetime", workspace(plan)),
    ];
    sections.into_iter().flatten()
}

/// A few sentences about a plan.
pub(super) fn head(plan: &Document<'_>) -> Html {
    if plan.at("/scheme").is_none() {
        let why = plan.string("/reason").map_or_else(Html::default, Html::text);
        return paragraph(format_args!("There is no tiling. {why}"));
    }
    let mut text = format!(
        "The {} tiling for {}: block dim {}, workspace {}.",
        plan.show_text("/scheme"),
        plan.show_text("/target/name"),
        plan.show("/block_dim", Unit::Count),
        plan.show("/workspace_bytes", Unit::Bytes)
    );
    if plan.at("/tiling_key").is_some() {
        text += &format!(" Tiling key {}.", plan.show("/tiling_key", Unit::Count));
    }
    if plan.string("/scheme") == Some("native") && plan.at("/soc").is_some() {
        text += " It is ubtile's own, not the vendor's.";
    }
    if plan.at("/vendor_route").is_some() {
        text += &format!(" The vendor runs the problem on the {}.", plan.show_text("/vendor_route"));
    }
    if let Some(why) = plan.string("/reason") {
        text += &format!(" {}.", Html::text(why));
    }
    if let Some(why) = plan.string("/early_success") {
        text += &format!(" There is nothing to compute: {}.", Html::text(why));
    }
    paragraph(text)
}

fn tensors(plan: &Document<'_>) -> Html {
    let row = |one: &Value| {
        let sizes = one["shape"].as_array().map_or(&[][..], Vec::as_slice);
        let shape: Vec<_> = sizes.iter().map(Value::to_string).collect();
        vec![
            Cell::Words(Html::code(one["name"].as_str().unwrap_or(""))),
            Cell::text(one["dtype"].as_str().unwrap_or("")),
            Cell::text(&shape.join(" \u{d7} ")),
        ]
    };
    table("Tensors", &["tensor", "dtype", "shape"], plan.list("/tensors").iter().map(row))
}

fn tiling_data(plan: &Document<'_>) -> Html {
    let fields = plan.at("/tiling_data").and_then(Value::as_object);
    let rows = fields.into_iter().flatten().map(|(name, _)| {
        vec![Cell::Words(Html::code(name)), Cell::Number(plan.show(&format!("/tiling_data/{name}"), Unit::Count))]
    });
    table("Tiling data, by the vendor's names", &["field", "value"], rows)
}

fn phases(plan: &Document<'_>) -> Html {
    let phases = plan.list("/phases");
    let tiles = phases.iter().any(|phase| !phase["tiles"].is_null());
    let row = |(i, phase): (usize, &Value)| {
        let number = |key: &str, unit| Cell::Number(plan.show(&format!("/phases/{i}/{key}"), unit));
        let mut cells = vec![Cell::text(phase["name"].as_str().unwrap_or("")), number("shares", Unit::Count)];
        if tiles {
            cells.push(number("tiles", Unit::Count));
            cells.push(number("most_tiles_in_a_share", Unit::Count));
            cells.push(number("largest_tile_bytes", Unit::Bytes));
        }
        cells
    };
    let header: &[&str] =
        if tiles { &["phase", "shares", "tiles", "most in a share", "largest tile"] } else { &["phase", "cores"] };
    table("Phases, with a barrier between them", header, phases.iter().enumerate().map(row))
}

fn decisions(plan: &Document<'_>) -> Html {
    let row = |(i, one): (usize, &Value)| {
        let text = |value: &Value, key: &str| Html::text(value[key].as_str().unwrap_or(""));
        let measures = one["measures"].as_array().into_iter().flatten().enumerate().map(|(k, measure)| {
            let at = |key: &str| plan.show(&format!("/decisions/{i}/measures/{k}/{key}"), Unit::Count);
            let name = text(measure, "name");
            Html::of(format!("<li>{name}: {} of {}, slack {}</li>", at("used"), at("limit"), at("slack")))
        });
        let others = one["others"].as_array().into_iter().flatten();
        let others = others.map(|o| Html::of(format!("<li>{} by {}</li>", text(o, "value"), text(o, "by"))));
        let list = |items: Html| if items.is_empty() { items } else { Html::of(format!("<ul>{items}</ul>")) };
        vec![
            Cell::text(one["name"].as_str().unwrap_or("")),
            Cell::Words(text(one, "value")),
            Cell::Words(Html::of(format!("{}{}", text(one, "why"), list(measures.collect())))),
            Cell::Words(list(others.collect())),
        ]
    };
    let header = ["decision", "value", "why", "what would make it another"];
    table("Decisions", &header, plan.list("/decisions").iter().enumerate().map(row))
}

fn choices(plan: &Document<'_>) -> Html {
    let row = |(i, one): (usize, &Value)| {
        let show = |key: &str| plan.show(&format!("/choices/{i}/{key}"), Unit::Count);
        let number = |key: &str| plan.number(&format!("/choices/{i}/{key}")).unwrap_or(0.0);
        let bound = one["bound"].as_str().unwrap_or("");
        let used = Html::of(format!("{} of {}", show("used"), show("limit")));
        let next = match number("larger/over") {
            0.0 => Html::of(format!("{}, which is legal", show("larger/value"))),
            _ => Html::of(format!(
                "{}: {} over {}",
                show("larger/value"),
                show("larger/over"),
                Html::text(one["larger"]["bound"].as_str().unwrap_or(""))
            )),
        };
        let smaller = if one["alternative"].is_null() { Html::of("none".into()) } else { show("alternative") };
        vec![
            Cell::Words(Html::code(one["name"].as_str().unwrap_or(""))),
            Cell::Number(show("value")),
            Cell::text(bound),
            Cell::Bar(used, number("used") / number("limit").max(1.0), "memory"),
            Cell::Number(show("slack")),
            Cell::Number(smaller),
            Cell::Words(next),
        ]
    };
    table(
        "Choices: what bound each, and the next value on both sides",
        &["choice", "value", "bound by", "used", "slack", "next smaller", "next larger"],
        plan.list("/choices").iter().enumerate().map(row),
    )
}

fn prices(plan: &Document<'_>) -> Html {
    let row = |(i, one): (usize, &Value)| {
        let show = |key: &str| Cell::Number(plan.show(&format!("/prices/{i}/{key}"), Unit::Count));
        vec![Cell::Words(Html::code(one["name"].as_str().unwrap_or(""))), show("paid"), show("unlimited")]
    };
    table(
        "Price of the workspace limit",
        &["price", "paid", "without a limit"],
        plan.list("/prices").iter().enumerate().map(row),
    )
}

fn means(plan: &Document<'_>) -> Html {
    let row = |one: &Value| ["name", "how"].map(|key| Cell::text(one[key].as_str().unwrap_or(""))).into();
    table("What the machine has and lacks", &["means", "how"], plan.list("/means").iter().map(row))
}

fn workspace(plan: &Document<'_>) -> Html {
    if plan.at("/scheme").is_none() {
        return Html::default();
    }
    let mut rows = vec![("this tiling needs", "/workspace_bytes")];
    for row in [
        ("the vendor's kernel asks for", "/kernel_workspace_bytes"),
        ("aclnn's first phase reports about", "/aclnn_workspace_bytes"),
        ("of that, lives at once at most", "/aclnn/peak_bytes"),
        ("aclnn without reuse of regions", "/aclnn/bytes_without_reuse"),
    ] {
        rows.extend(plan.at(row.1).map(|_| row));
    }
    let sizes = table(
        "Workspace",
        &["what", "bytes"],
        rows.iter().map(|(name, at)| vec![Cell::text(name), Cell::Number(plan.show(at, Unit::Count))]),
    );
    let saving = |(i, one): (usize, &Value)| {
        let show = |key: &str| Cell::Number(plan.show(&format!("/aclnn/savings/{i}/{key}"), Unit::Count));
        vec![Cell::text(one["name"].as_str().unwrap_or("")), show("workspace_bytes"), show("saves_bytes")]
    };
    let savings = table(
        "Instead of aclnn's workspace",
        &["way", "bytes", "saves"],
        plan.list("/aclnn/savings").iter().enumerate().map(saving),
    );
    let chart = match workspace_chart(plan.value) {
        Some(svg) => Html::of(format!(
            "<figure><figcaption>Intermediates from left to right by when they live, from top to bottom by where they lie</figcaption>\n\
             <div class=\"scroll\" role=\"region\" aria-label=\"Chart of the workspace\" tabindex=\"0\">{svg}</div></figure>\n"
        )),
        None => paragraph("No intermediates: nothing lives in the workspace."),
    };
    Html::of(format!("{chart}{sizes}{}", details("What would save some of it", &savings)))
}
