//! What came out of a run, in plain words.

use serde_json::Value;

use super::html::{Html, paragraph};
use super::value::{Document, Unit};
use crate::report::whose_program;

/// What a bound is, for people who do not know its name.
pub(super) fn in_words(bound: &str) -> &'static str {
    match bound {
        "vector" => "the vector pipe, which computes",
        "scalar" => "the scalar unit, which computes addresses and issues instructions",
        "mte2" => "loads into the unified buffer",
        "mte3" => "stores out of the unified buffer",
        "l2" => "the bandwidth of L2",
        "hbm" => "the bandwidth of main memory",
        "sync" => "barriers of all cores",
        "launch" => "the launch of the kernel, whose cores start one after the other",
        _ => "nothing that the report names",
    }
}

/// The same without what it does, for the middle of a sentence.
pub(super) fn in_short(bound: &str) -> &'static str {
    let words = in_words(bound);
    words.split_once(',').map_or(words, |(short, _)| short)
}

/// The resource that a change spares, as a bound is named; nothing where it is none of these alone.
fn spared(change: &str) -> Option<&'static str> {
    Some(match change {
        "no_load_latency" | "bypass" => "mte2",
        "no_store_latency" => "mte3",
        "no_conflicts" | "no_overhead" => "vector",
        "no_scalar" => "scalar",
        "no_sync" => "sync",
        "no_stagger" => "launch",
        "memory" => "hbm",
        "l2" => "l2",
        _ => return None,
    })
}

/// The failure that ran again, where the run is of one.
fn failure(report: &Document<'_>) -> Html {
    let Some(kind) = report.string("/failure/kind") else { return Html::default() };
    let message = report.string("/failure/message").unwrap_or("");
    let what = match report.at("/failure/present").and_then(Value::as_bool) {
        Some(false) => "This failure is not there any more",
        _ => "A failure",
    };
    let at = report.string("/failure/at").filter(|at| !message.contains(at));
    let at = at.map_or_else(String::new, |at| format!(" At {}.", Html::text(at)));
    let core = report.at("/failure/core").map(|_| report.show("/failure/core", Unit::Count));
    let core = core.map_or_else(String::new, |core| format!(" It is on core {core}."));
    let (kind, message) = (Html::text(kind), Html::text(message));
    Html::of(format!("<p class=\"verdict failure\">{what}: <strong>{kind}</strong>: {message}.{at}{core}</p>\n"))
}

/// A few sentences on top.
pub(super) fn verdict(report: &Document<'_>) -> Html {
    let show = |at: &str, unit| report.show(at, unit);
    let failure = failure(report);
    if report.at("/task_us").is_none() {
        let (route, reason) = (report.show_text("/route"), report.string("/reason").map(Html::text));
        let reason = reason.map_or_else(String::new, |reason| format!(" {reason}."));
        return Html::of(format!(
            "{failure}<p class=\"verdict\">There is no time: the route is {route}.{reason}</p>\n"
        ));
    }
    let bound = report.string("/bound").unwrap_or("");
    let why = match bound {
        "vector" | "scalar" | "mte2" | "mte3" => {
            let ratio = show(&format!("/pipes/{bound}/ratio"), Unit::Percent);
            format!(
                "It is bound by {}: {} is busy for {ratio} of a core's time.",
                in_words(bound),
                bound.to_uppercase()
            )
        }
        "l2" | "hbm" => {
            let ratio = show(&format!("/{bound}/ratio"), Unit::Percent);
            format!("It is bound by {}, of which it uses {ratio}.", in_words(bound))
        }
        _ => format!("It is bound by {}.", in_words(bound)),
    };
    let first = format!(
        "<p class=\"verdict\">Takes <strong>{}</strong> on {}. {why}</p>\n",
        show("/task_us", Unit::Us),
        report.count("/cores_used", "core", "cores"),
    );
    let by = in_short(report.string("/roofline/by").unwrap_or(""));
    let mut second = format!(
        "At full rate {by} would need {} for this work: without its launch, the run reaches {} of that roofline.",
        show("/roofline/us", Unit::Us),
        show("/roofline/ratio", Unit::Percent)
    );
    if let Some(what) = report.string("/changes/0/what") {
        second += &format!(
            " Of the changes that were simulated, the best is \u{201c}{}\u{201d}: it would save {}.",
            Html::text(what),
            show("/changes/0/saves", Unit::Percent)
        );
        let spared = report.string("/changes/0/change").and_then(spared);
        // Copies are what waits for memory.
        let same = |spared: &str| spared == bound || bound.starts_with("mte") && matches!(spared, "l2" | "hbm");
        if let Some(other) = spared.filter(|spared| !same(spared)) {
            second += &format!(
                " That spares {}, not {}: what is busy longest need not be what the others wait for.",
                in_short(other),
                in_short(bound)
            );
        }
    }
    if report.at("/fewer_cores/cores").is_some() {
        second += &format!(
            " With <code>--cores {}</code> it takes {}, which saves {}.",
            show("/fewer_cores/cores", Unit::Count),
            show("/fewer_cores/task_us", Unit::Us),
            show("/fewer_cores/saves", Unit::Percent)
        );
    }
    let mut caution = String::new();
    if let Some(whose) = report.string("/scheme").and_then(whose_program) {
        caution += &format!("{whose} ");
    }
    let guesses = report.list("/evidence").iter().filter(|one| one["grade"] == "guess").count();
    let all = report.list("/evidence").len();
    caution += &match guesses {
        0 => format!("The time is a model's, from {all} numbers of the product, none of them a guess."),
        _ => format!(
            "The time is a model's, from {all} numbers of the product; {guesses} of them are guesses (<a href=\"#evidence\">evidence</a>)."
        ),
    };
    Html::of(format!("{failure}{first}{}{}", paragraph(second), paragraph(format_args!("<small>{caution}</small>"))))
}
