//! Pages of runs: complete in themselves, small, escaped, and every number that they show is one of the JSON that they contain.

mod side_by_side;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use ubtile_sim::clock::{Options, profile};
use ubtile_sim::product::Soc;
use ubtile_sim::program::Program;
use ubtile_sim::report::{
    Executed, Gathered, Lanes, Recorded, Recorder, Work, comparison, pipes_picture, plans, runs, series_picture,
    shown_cores, simulation, tour, whose_program,
};
use ubtile_sim::text;

fn example(name: &str, soc: &Soc) -> Program {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name);
    text::parse(&std::fs::read_to_string(path).unwrap(), soc).unwrap().0
}

/// A report as the command writes it, and what is recorded.
fn run(program: &Program, soc: &Soc) -> (Value, Recorded) {
    let (executed, lanes) = (Executed::new(program, "a.tile"), Lanes::of(soc));
    let mut gathered = Gathered::new(program.source().cores);
    let options = Options::default();
    let run = profile(program, soc, &options, &mut |event| gathered.add(event)).unwrap();
    let mut recorder = Recorder::new(&shown_cores(&run));
    profile(program, soc, &options, &mut |event| recorder.add(event)).unwrap();
    let mut report = serde_json::to_value(&run.timing).unwrap();
    let more = json!({"schema": "ubtile.sim.v1", "tool_version": "0.0.0", "program": "a.tile", "soc": soc.name(), "scheme": "program",
                      "changes": [{"change": "no_issue", "what": "fewer copies", "task_us": 1.5, "saves": 0.25}]});
    report.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    (report, recorder.finish(&executed, lanes, &run, &Work::of(&gathered, soc)))
}

/// The JSON documents of a page by their elements.
fn documents(page: &str) -> BTreeMap<String, Value> {
    let parts = page.split("<script type=\"application/json\" id=\"").skip(1);
    let one = |part: &str| {
        let (id, rest) = part.split_once("\">").unwrap();
        let json = rest.split("</script>").next().unwrap();
        (id.to_owned(), serde_json::from_str(json).unwrap())
    };
    parts.map(one).collect()
}

fn attribute<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = element.split_once(&format!(" {name}=\""))?;
    rest.split('"').next()
}

/// Holds each shown number against the JSON: the one that is meant, and the digits that are seen. Returns how many there are.
fn check_numbers(page: &str) -> usize {
    let documents = documents(page);
    let mut count = 0;
    for element in page.split("<data").skip(1) {
        let (tag, rest) = element.split_once('>').unwrap();
        let [document, at, value] = ["data-in", "data-at", "value"].map(|name| attribute(tag, name).unwrap());
        let stated = documents[document].pointer(at).unwrap_or_else(|| panic!("{document} has no {at}"));
        assert_eq!(stated.to_string(), value, "{at}");
        let scale: f64 = attribute(tag, "data-scale").map_or(1.0, |scale| scale.parse().unwrap());
        let seen = rest.split('<').next().unwrap().split('\u{a0}').next().unwrap();
        let seen = seen.replace('\u{202f}', "").replace('\u{2212}', "-");
        let digits = seen.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        let (number, stated): (f64, f64) = (seen.parse().unwrap(), stated.as_f64().unwrap() * scale);
        assert!((number - stated).abs() <= 0.5001 * 0.1f64.powi(digits as i32), "{at}: {seen} for {stated}");
        count += 1;
    }
    count
}

/// What a page must not have, whatever it shows.
fn check_alone(page: &str) {
    for (i, _) in page.match_indices("http") {
        let here = &page[i..(i + 40).min(page.len())];
        let known = here.starts_with("http-equiv") || here.starts_with("http://www.w3.org/2000/svg");
        assert!(known, "the page asks for {here}");
    }
    for name in [" src=\"", "@import", "url(", "fetch(", "XMLHttpRequest", "<link rel=\"style"] {
        assert!(!page.contains(name), "the page has {name}");
    }
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
}

#[test]
fn numbers_are_those_of_the_report() {
    for (soc, name) in
        [("Ascend910B1", "add_tail.tile"), ("Ascend910B1", "gather_rows.tile"), ("Ascend310P3", "add_serial.tile")]
    {
        let soc = Soc::builtin(soc).unwrap();
        let program = example(name, &soc);
        let (report, recorded) = run(&program, &soc);
        let page = simulation(&report, &recorded, None, "ubtile sim --program a.tile");
        assert_eq!(documents(&page)["report"], report, "{name}");
        assert!(check_numbers(&page) > 60, "{name}");
        check_alone(&page);
        for at in
            ["/task_us", "/cycles", "/roofline/ratio", "/hbm/gbps", "/collisions/count", "/changes/0/saves", "/balance"]
        {
            assert!(page.contains(&format!("data-in=\"report\" data-at=\"{at}\"")), "{at} is not shown");
        }
        for evidence in report["evidence"].as_array().unwrap() {
            assert!(page.contains(&format!("<code>{}</code>", evidence["key"].as_str().unwrap())), "{evidence}");
        }
    }
}

#[test]
fn lanes_have_the_time_that_the_pipes_were_busy() {
    let soc = Soc::builtin("Ascend910B1").unwrap();
    // Four times as many instructions as a lane has blocks.
    let many = "cores 2\nub a: 256\nub b: 256\nfor i in 0..6000 {\n add.f32 a[0], a[0], b[0] repeat 1\n}\n";
    let many = text::parse(many, &soc).unwrap().0;
    for program in [example("add_double_buffer.tile", &soc), many] {
        let (report, recorded) = run(&program, &soc);
        let page = simulation(&report, &recorded, None, "");
        let run = &documents(&page)["run"];
        assert!(page.len() < 1_000_000);
        for timeline in run["timelines"].as_array().unwrap() {
            let core = run["cores"].as_array().unwrap().iter().find(|core| core["core"] == timeline["core"]).unwrap();
            for (lane, blocks) in timeline["lanes"].as_object().unwrap() {
                let number = |value: &Value| value.as_f64().unwrap();
                let busy = |block: &Value| match block.as_array().unwrap().as_slice() {
                    [_, length, node] if number(node) >= 0.0 => number(length),
                    [_, _, busy, _, _] => number(busy),
                    _ => 0.0,
                };
                let blocks = blocks.as_array().unwrap();
                let sum: f64 = blocks.iter().map(busy).sum::<f64>() / 1e4;
                let stated = number(&core[&format!("{lane}_us")]);
                // Each block is rounded to a tenth of a nanosecond; vector pipes set flags beside what they are busy with.
                let off = 1e-4 * (blocks.len() + 1) as f64 + if lane == "scalar" { stated } else { 0.02 * stated };
                assert!((sum - stated).abs() <= off, "{lane}: {sum} and {stated}");
                assert!(blocks.len() <= 1500);
            }
        }
    }
}

/// The same JSON with another text in the place of each.
fn poisoned(value: &Value, evil: &str) -> Value {
    match value {
        Value::String(_) => evil.into(),
        Value::Array(all) => all.iter().map(|value| poisoned(value, evil)).collect(),
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), poisoned(value, evil))).collect(),
        other => other.clone(),
    }
}

fn a_plan() -> Value {
    json!({"operator": "im2col-backward", "product": "atlas-a2", "soc": "Ascend910B1", "supported": true, "scheme": "vendor", "tiling_key": 3010,
        "reason": "this", "early_success": "that", "vendor_route": "aicore", "target": {"name": "Ascend910B1"}, "block_dim": 48,
        "workspace_bytes": 16777216, "kernel_workspace_bytes": 16777216, "aclnn_workspace_bytes": 20000001, "tiling_data": {"ubFactorElement": 832},
        "workspace_regions": [{"name": "sums", "offset": 0, "bytes": 10, "first_phase": 0, "last_phase": 0}],
        "phases": [{"name": "compute", "shares": 48, "tiles": 100, "most_tiles_in_a_share": 3, "largest_tile_bytes": 12345}],
        "decisions": [{"name": "route", "value": "aicore", "why": "it fits", "measures": [{"name": "C", "used": 3, "limit": 2048, "slack": 2045}],
                       "others": [{"value": "aicpu", "by": "C at least 2049"}]}],
        "choices": [{"name": "tile_rows", "value": 8, "bound": "local_bytes", "limit": 188416, "used": 188000, "slack": 416, "alternative": 7,
                     "larger": {"value": 9, "bound": "local_bytes", "limit": 188416, "needs": 190000, "over": 1584}}],
        "prices": [{"name": "grid_passes", "paid": 4, "unlimited": 1}], "means": [{"name": "copies", "how": "in blocks"}],
        "tensors": [{"name": "grad_output", "dtype": "f32", "shape": [1, 2, 3]}],
        "aclnn": {"grade": "derived", "peak_bytes": 20, "bytes_without_reuse": 30, "unmodelled": [],
                  "steps": [{"kernel": "Cast", "tensor": "self", "route": "aicore"}],
                  "regions": [{"name": "wide", "offset": 0, "bytes": 512, "used_bytes": 500, "bucket": 0, "first_step": 0, "last_step": 0}],
                  "savings": [{"name": "all of these", "workspace_bytes": 10, "saves_bytes": -5}]}})
}

fn a_tour() -> Value {
    let product = json!({"product": "atlas-a2", "soc": "Ascend910B1", "supported": true, "reason": null, "route": "aicore", "vendor_route": "aicore",
        "scheme": "native", "task_us": 12.5, "cycles": 20000, "cores_used": 48, "bound": "hbm", "grade": "guess", "workspace_bytes": 0});
    let without = json!({"product": "atlas-inference", "soc": "Ascend310P3", "supported": false, "reason": "no such dtype", "route": null,
        "vendor_route": null, "scheme": null, "task_us": null, "cycles": null, "cores_used": null, "bound": null, "grade": null, "workspace_bytes": null});
    let operator = json!({"operator": "im2col-backward", "problem": "1x2x3", "time_ms": 0.05, "bytes": 100000, "gb_per_s": 12.3, "workspace_bytes": 0,
        "tiles": 3, "agrees": true, "agreement": "equal in bits", "products": [product, without]});
    json!({"schema": "ubtile.tour.v1", "tool_version": "0.1.0", "level": "avx2", "threads": 2, "operators": [operator, operator]})
}

/// Runs of which the third takes twice as long as the second.
fn some_runs(count: u64) -> Value {
    let soc = Soc::builtin("Ascend910B1").unwrap();
    let (report, _) = run(&example("add_tail.tile", &soc), &soc);
    let one = |i: u64| {
        let mut report = report.clone();
        report["vary"] = json!(["TILE", 1024 * (i + 1)]);
        report["task_us"] = json!(if i < 2 { 10.0 + i as f64 / 7.0 } else { 20.0 });
        report
    };
    (0..count).map(one).collect()
}

fn a_comparison() -> Value {
    json!({"schema": "ubtile.compare.v1", "tool_version": "0.1.0", "before": "a/report.json", "after": "b/report.json", "threshold_percent": 5.0,
        "regression": true, "differences": [
            {"name": "task_us", "before": 10.0, "after": 12.5, "change": 0.25}, {"name": "cycles", "before": 100, "after": null, "change": null},
            {"name": "vector ratio", "before": 0.5, "after": 0.25, "change": -0.5}, {"name": "hbm_bytes", "before": 0, "after": 10, "change": null}]})
}

#[test]
fn every_page_shows_what_it_contains() {
    let soc = Soc::builtin("Ascend910B1").unwrap();
    let (report, recorded) = run(&example("add_tail.tile", &soc), &soc);
    let plans_of_all = json!([a_plan(), {"operator": "im2col-backward", "product": "atlas-training", "supported": false, "reason": "no"}]);
    let (plan, several, both) = (a_plan(), some_runs(5), a_comparison());
    let pages = |evil: Option<&str>| {
        let value = |value: &Value| evil.map_or_else(|| value.clone(), |evil| poisoned(value, evil));
        let (report, plan) = (value(&report), value(&plan));
        [
            ("simulation", 60, simulation(&report, &recorded, Some(&plan), "ubtile")),
            ("plan", 25, plans(&plan, "ubtile")),
            ("plans", 5, plans(&value(&plans_of_all), "ubtile")),
            ("series", 40, runs(&value(&several), "ubtile")),
            ("comparison", 30, comparison(&value(&both), Some(&report), Some(&report), "ubtile")),
            ("comparison of tables", 6, comparison(&value(&both), None, None, "ubtile")),
            ("products", 4, runs(&value(&a_tour()["operators"][0]["products"]), "ubtile")),
            ("tour", 17, tour(&value(&a_tour()), "ubtile")),
        ]
    };
    for (name, least, page) in pages(None) {
        let count = check_numbers(&page);
        assert!(count >= least, "{name} shows {count} numbers");
        check_alone(&page);
        assert_eq!(page.matches("<h1>").count(), 1);
    }
    let evil = "</script><script>alert(1)</script><img src=x onerror='x' \"&";
    for (name, _, page) in pages(Some(evil)) {
        assert!(!page.contains("<script>alert") && !page.contains("<img"), "{name}");
        assert_eq!(page.matches("<script").count(), page.matches("</script>").count(), "{name}");
        check_numbers(&page);
    }
}

#[test]
fn pictures_show_the_same_and_nothing_else() {
    let soc = Soc::builtin("Ascend910B1").unwrap();
    let (report, recorded) = run(&example("add_tail.tile", &soc), &soc);
    let pipes = pipes_picture(&report, &recorded).unwrap();
    let task = report["task_us"].as_f64().unwrap();
    assert!(pipes.contains(&format!("a.tile on Ascend910B1: {task:.2}\u{a0}µs")), "{pipes}");
    // All four pipes of this program do something; stores wait for what was computed.
    for lane in ["scalar", "mte2", "vector", "mte3"] {
        assert!(pipes.contains(&format!("class=\"{lane} area\" transform=\"scale(1 0.44)\" d=\"M")), "{lane}");
    }
    let series = series_picture(&some_runs(5)).unwrap();
    assert_eq!(series.matches("h0").count(), 5, "a dot for each run");
    assert!(series_picture(&a_tour()["operators"][0]["products"]).is_none());
    let evil = "</svg><script>alert(1)</script>\"&";
    let evil = [pipes_picture(&poisoned(&report, evil), &recorded), series_picture(&poisoned(&some_runs(3), evil))];
    for picture in evil.into_iter().flatten().chain([pipes, series]) {
        assert!(!picture.contains("<script") && picture.matches("</svg>").count() == 1);
        check_alone(&picture);
    }
}

#[test]
fn a_page_says_whose_program_it_is_and_what_would_help() {
    let soc = Soc::builtin("Ascend910B1").unwrap();
    let (mut report, recorded) = run(&example("add_tail.tile", &soc), &soc);
    let page = |report: &Value| simulation(report, &recorded, None, "");
    assert!(!page(&report).contains("tiling and program"));
    for scheme in ["vendor", "native"] {
        report["scheme"] = scheme.into();
        assert!(page(&report).contains(whose_program(scheme).unwrap()), "{scheme}");
    }
    // The best change is of copies, which is what it is bound by; then of something else.
    report["bound"] = "mte2".into();
    assert!(!page(&report).contains("That spares"));
    report["changes"][0]["change"] = "no_scalar".into();
    assert!(page(&report).contains("That spares the scalar unit, not loads into the unified buffer:"));
    report["roofline"]["by"] = "scalar".into();
    assert!(page(&report).contains("the scalar unit would need"));
    report["cores_used"] = 1.into();
    assert!(page(&report).contains("data-at=\"/cores_used\">1</data> core. "));
    // A failure stands above all.
    assert!(!page(&report).contains("A failure"));
    report["failure"] =
        json!({"kind": "sanitizer", "message": "pipe_race: b < a", "at": "line 3", "core": 2, "present": true});
    let failed = page(&report);
    assert!(
        failed.contains("A failure: <strong>sanitizer</strong>: pipe_race: b &lt; a. At line 3. It is on core <data")
    );
    assert!(failed.find("A failure") < failed.find("Takes <strong>"));
    check_numbers(&failed);
    report["failure"]["present"] = false.into();
    assert!(page(&report).contains("This failure is not there any more: "));
}

#[test]
fn a_report_without_a_time_says_why() {
    let report = json!({"program": "im2col-backward", "soc": "Ascend910B1", "route": "aicpu, not modelled", "task_us": null,
                        "reason": "no unit computes f64"});
    let page = simulation(&report, &Recorded::default(), None, "ubtile");
    assert!(!page.contains("not stated"));
    assert!(page.contains("There is no time") && page.contains("no unit computes f64"));
    check_numbers(&page);
}
