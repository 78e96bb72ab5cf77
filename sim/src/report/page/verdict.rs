//! What came out of a run, in plain words.

use super::html::{Html, paragraph};
use super::value::{Document, Unit};

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
        "launch" => "the launch of the kernel",
        _ => "nothing that the report names",
    }
}

/// A few sentences on top.
pub(super) fn verdict(report: &Document<'_>) -> Html {
    let show = |at: &str, unit| report.show(at, unit);
    if report.at("/task_us").is_none() {
        let (route, reason) = (report.show_text("/route"), report.string("/reason").map(Html::text));
        let reason = reason.map_or_else(String::new, |reason| format!(" {reason}."));
        return Html::of(format!("<p class=\"verdict\">There is no time: the route is {route}.{reason}</p>\n"));
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
        "<p class=\"verdict\">Takes <strong>{}</strong> on {} cores. {why}</p>\n",
        show("/task_us", Unit::Us),
        show("/cores_used", Unit::Count),
    );
    let by = in_words(report.string("/roofline/by").unwrap_or(""));
    let mut second = format!(
        "At full rate {by} would need {} for this work: the run reaches {} of that roofline.",
        show("/roofline/us", Unit::Us),
        show("/roofline/ratio", Unit::Percent)
    );
    if let Some(what) = report.string("/changes/0/what") {
        second += &format!(
            " Of the changes that were simulated, the best is \u{201c}{}\u{201d}: it would save {}.",
            Html::text(what),
            show("/changes/0/saves", Unit::Percent)
        );
    }
    let mut caution = String::new();
    if report.string("/scheme") == Some("native") {
        caution += "This is ubtile's own tiling and program, not the vendor's kernel. ";
    }
    let guesses = report.list("/evidence").iter().filter(|one| one["grade"] == "guess").count();
    let all = report.list("/evidence").len();
    caution += &match guesses {
        0 => format!("The time is a model's, from {all} numbers of the product, none of them a guess."),
        _ => format!(
            "The time is a model's, from {all} numbers of the product; {guesses} of them are guesses (<a href=\"#evidence\">evidence</a>)."
        ),
    };
    Html::of(format!("{first}{}{}", paragraph(second), paragraph(format_args!("<small>{caution}</small>"))))
}
