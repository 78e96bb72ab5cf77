//! The page of a simulated run.

use serde_json::Value;

use super::super::Recorded;
use super::html::{Cell, Html, Section, paragraph, table};
use super::shell::Shell;
use super::value::{Document, Unit};
use super::{advice, cores, evidence, instructions, plan, roofline, timeline, verdict};

/// The page of a run: of the JSON of its report, what was recorded of it, the JSON of its plan where it has one, and the command that
/// makes it again.
#[must_use]
pub fn simulation(report: &Value, recorded: &Recorded, plan: Option<&Value>, command: &str) -> String {
    let report = Document { id: "report", value: report };
    let run = Document { id: "run", value: &recorded.0 };
    let plan = plan.map(|value| Document { id: "plan", value });
    let title = format!(
        "{} on {}",
        name(report.string("/program").unwrap_or("A tile program")),
        report.string("/soc").unwrap_or("an unnamed SoC")
    );
    let sections = [
        Section::new("numbers", "Key numbers", numbers(&report)),
        Section::new("roofline", "Roofline", roofline::roofline(&report, &run)),
        Section::new("timeline", "Timeline of a core", timeline::timeline(&run)),
        Section::new("balance", "Load balance", cores::balance(&report, &run)),
        Section::new("instructions", "Where the time goes", instructions::instructions(&run)),
        Section::new("conflicts", "Bank and atomic conflicts", instructions::conflicts(&report, &run)),
        Section::new("advice", "What would help", advice::advice(&report)),
    ];
    let mut all: Vec<_> = sections.into_iter().flatten().collect();
    if let Some(plan) = &plan {
        all.extend(plan::sections(plan, plan::head(plan)));
    }
    all.extend(Section::new("evidence", "Evidence", evidence::evidence(&report)));
    let mut documents = vec![report, run];
    documents.extend(plan);
    Shell { title: &title, verdict: verdict::verdict(&report), sections: all, documents, command }.page()
}

/// What is said of a program: its operator, or its file without folders.
pub(super) fn name(program: &str) -> &str {
    program.rsplit(['/', '\\']).next().unwrap_or(program)
}

/// A number with its name, and what is said below it.
fn tile(name: &str, value: &Html, below: &Html) -> Html {
    let name = Html::text(name);
    Html::of(format!("<div class=\"tile\"><dt>{name}</dt><dd>{value}<small>{below}</small></dd></div>\n"))
}

fn numbers(report: &Document<'_>) -> Html {
    if report.at("/task_us").is_none() {
        return Html::default();
    }
    let show = |at: &str, unit| report.show(at, unit);
    let spread = report.at("/task_us_over_seeds").map_or_else(Html::default, |_| {
        let [min, max] = ["/task_us_over_seeds/min", "/task_us_over_seeds/max"].map(|at| show(at, Unit::Us));
        Html::of(format!("{min} to {max} over eight seeds"))
    });
    let pool = |name: &str| {
        let [gbps, peak] = ["gbps", "peak_gbps"].map(|number| show(&format!("/{name}/{number}"), Unit::Gbps));
        Html::of(format!("{gbps} of {peak}"))
    };
    let hits = report
        .number("/l2_hit_ratio")
        .map_or_else(Html::default, |_| Html::of(format!(", {} hits", show("/l2_hit_ratio", Unit::Percent))));
    let tiles: Html = [
        tile("Task", &show("/task_us", Unit::Us), &spread),
        tile("Slowest core", &show("/cycles", Unit::Count), &Html::text("cycles, without the launch")),
        tile(
            "Cores",
            &show("/cores_used", Unit::Count),
            &Html::of(format!("mean by slowest {}", show("/balance", Unit::Percent))),
        ),
        tile(
            "Bound",
            &report.show_text("/bound"),
            &Html::text(verdict::in_words(report.string("/bound").unwrap_or(""))),
        ),
        tile(
            "Roofline reached",
            &show("/roofline/ratio", Unit::Percent),
            &Html::of(format!("of {}", show("/roofline/us", Unit::Us))),
        ),
        tile("Main memory", &show("/hbm/ratio", Unit::Percent), &pool("hbm")),
        tile("L2", &show("/l2/ratio", Unit::Percent), &Html::of(format!("{}{hits}", pool("l2")))),
        tile(
            "Asked for",
            &show("/gm_read_bytes", Unit::Bytes),
            &Html::of(format!("read, {} written", show("/gm_write_bytes", Unit::Bytes))),
        ),
    ]
    .into_iter()
    .collect();
    let pipes = ["vector", "scalar", "mte2", "mte3"].map(|pipe| {
        let at = |number: &str| format!("/pipes/{pipe}/{number}");
        vec![
            Cell::text(pipe),
            Cell::Bar(show(&at("ratio"), Unit::Percent), report.number(&at("ratio")).unwrap_or(0.0), pipe),
            Cell::Number(show(&at("busy_cycles"), Unit::Cycles)),
            Cell::Number(show(&at("wait_cycles"), Unit::Cycles)),
            Cell::Number(show(&at("instructions"), Unit::Count)),
        ]
    });
    let pipes = table(
        "Pipes, means over the cores that were used",
        &["pipe", "busy, of all time", "busy", "waits for flags", "instructions of all cores"],
        pipes,
    );
    let rest = paragraph(format_args!(
        "Waits for other cores took {} of a core's time on average, full queues held the scalar unit for {}. \
         {} instructions ran, of which {} were skipped as repetitions without changing the result. L2 was {} at the start; seed {}.",
        show("/sync_cycles", Unit::Cycles),
        show("/queue_full_cycles", Unit::Cycles),
        show("/instructions", Unit::Count),
        show("/skipped_ratio", Unit::Percent),
        report.show_text("/l2_start"),
        show("/seed", Unit::Count),
    ));
    Html::of(format!("<dl class=\"tiles\">\n{tiles}</dl>\n{pipes}{rest}"))
}
