//! Pages of several runs: series, products, the tour's table, comparisons.

use serde_json::{Value, json};
use ubtile_sim::report::{comparison, runs, series_picture, tour};

use super::{a_comparison, a_tour, check_alone, check_numbers, some_runs};

#[test]
fn cliffs_are_found_and_long_series_stay_small() {
    let page = runs(&some_runs(5), "");
    assert!(page.contains("One step changes the time by a tenth or more."));
    assert!(page.contains("data-at=\"/1/vary/1\">2\u{202f}048</data> to <data"), "the step is named");
    // The step, what is best and what is worst are shown wherever they are.
    let mut many = some_runs(2000);
    many[1000]["task_us"] = 30.0.into();
    many[1501]["task_us"] = 1.0.into();
    let page = runs(&many, "");
    check_alone(&page);
    check_numbers(&page);
    assert!(page.contains("5 steps change the time by a tenth or more."), "{page}");
    assert!(page.contains("Of 2000 runs, one in 7 is shown, and all that are named here."));
    let first = page.split("class=\"verdict\"").nth(1).unwrap().split("</p>").next().unwrap();
    assert!(
        first.contains("1\u{202f}538\u{202f}048</data>") && first.contains("1\u{202f}025\u{202f}024</data>"),
        "{first}"
    );
    assert!(page.contains("data-at=\"/1/vary/1\">2\u{202f}048</data> to <data"), "the first step is named");
}

/// A value that does not fit has one cell with the reason, and moves no number of the others to another run.
#[test]
fn runs_without_a_time_say_why() {
    let mut several = some_runs(4);
    for key in ["task_us", "bound", "cycles", "pipes"] {
        several[0].as_object_mut().unwrap().remove(key);
    }
    several[0]["reason"] = "1024 is too small".into();
    let page = runs(&several, "");
    assert!(page.contains("colspan=\"8\">1024 is too small</td>") && !page.contains("not stated"));
    // The second run is the best, the third the worst.
    assert!(
        page.contains("<strong><data value=\"10.142857142857142\" data-in=\"report\" data-at=\"/1/task_us\">10.14"),
        "{page}"
    );
    assert!(page.contains("data-at=\"/1/vary/1\">2\u{202f}048</data> to <data"), "the step is named");
    check_numbers(&page);
}

/// One value is no line.
#[test]
fn a_series_of_one_run_has_no_charts() {
    let several = some_runs(1);
    let page = runs(&several, "");
    assert!(
        page.contains("With TILE = <data")
            && !page.contains("Worst")
            && !page.contains("Cliffs")
            && !page.contains("class=\"chart"),
        "{page}"
    );
    assert!(series_picture(&several).is_none());
    let same = json!([several[0], several[0]]);
    assert!(runs(&same, "").contains("Every TILE takes"));
}

#[test]
fn products_are_ranked_where_the_vendor_runs_the_problem_on_ai_cores() {
    let product = |name: &str, us: f64, route: Option<&str>, scheme: &str| {
        json!({"program": "im2col-backward", "product": name, "soc": format!("Soc-{name}"), "supported": route.is_some(), "reason": null,
            "route": "aicore", "vendor_route": route, "scheme": scheme, "task_us": us, "cycles": 20000, "cores_used": 48,
            "bound": "hbm", "grade": "guess", "workspace_bytes": 0})
    };
    let refused = json!({"program": "im2col-backward", "product": "refused", "soc": "Soc-refused", "supported": false, "reason": "no such dtype",
        "route": null, "vendor_route": null, "scheme": null, "task_us": null});
    let two = [product("first", 20.0, Some("aicore"), "vendor"), product("second", 30.0, Some("aicore"), "native")];
    let more = [product("cpu", 1.0, Some("aicpu"), "native"), product("unsupported", 2.0, None, "native"), refused];
    let all: Value = two.iter().chain(&more).cloned().collect();
    let page = runs(&all, "");
    let first = "Of 2 products with a time whose AI Cores run it for the vendor, the fastest is Soc-first";
    assert!(page.contains(first), "{page}");
    assert!(page.contains("2 more products have a time, in brackets"), "{page}");
    assert!(
        page.contains("Schemes are mixed: 1 of these times is of the vendor's tiling and kernel, 1 of ubtile's own"),
        "{page}"
    );
    assert!(
        page.contains("vendor: The vendor's tiling, and its kernel") && page.contains("native: ubtile's own"),
        "{page}"
    );
    for head in ["vendor's route", "scheme"] {
        assert!(page.contains(&format!("<th scope=\"col\">{}</th>", head.replace('\'', "&#39;"))), "{head}");
    }
    for (name, bracketed) in [("first", false), ("second", false), ("cpu", true), ("unsupported", true)] {
        let row = page.split("<tr>").find(|row| row.contains(&format!("href=\"{name}/report.html\""))).unwrap();
        assert_eq!(row.contains("class=\"over\">(<data"), bracketed, "{row}");
    }
    assert!(!page.contains("refused/report.html"), "what was refused has no folder");
    check_numbers(&page);
    // The tour has no folders, and marks the same times.
    let mut report = a_tour();
    report["operators"][0]["products"][0]["vendor_route"] = "aicpu".into();
    let page = tour(&report, "");
    assert!(!page.contains("atlas-a2/report.html"));
    let cells = page.split("<h2 id=\"products-title\">").nth(1).unwrap().split("</section>").next().unwrap();
    assert_eq!((cells.matches("(<data").count(), cells.matches("<data").count()), (1, 2), "{cells}");
}

#[test]
fn what_results_do_not_have_in_common_is_said() {
    let mut both = a_comparison();
    assert!(!comparison(&both, None, None, "").contains("not of the same"));
    let condition = |name: &str| json!({"name": name, "before": "a", "after": "b"});
    both["conditions"] = json!([condition("program"), condition("model_hash")]);
    let page = comparison(&both, None, None, "");
    assert!(page.contains("The results are not of the same: program, model of the product ("), "{page}");
}

#[test]
fn comparisons_are_called_by_folders() {
    let mut both = a_comparison();
    let title = |both: &Value| {
        let page = comparison(both, None, None, "");
        page.split("<h1>").nth(1).unwrap().split("</h1>").next().unwrap().to_owned()
    };
    assert_eq!(title(&both), "a and b");
    both["before"] = "x/b/report.json".into();
    assert_eq!(title(&both), "x/b/report.json and b/report.json");
    (both["before"], both["after"]) = ("report.json".into(), "runs/new.json".into());
    assert_eq!(title(&both), "report.json and new.json");
    (both["before"], both["after"]) = ("old/".into(), "x/OPPROF_1".into());
    assert_eq!(title(&both), "old and OPPROF_1");
}
