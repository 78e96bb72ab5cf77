//! Pages of runs: complete in themselves, small, escaped, and every number that they show is one of the JSON that they contain.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use ubtile_sim::clock::{Options, profile};
use ubtile_sim::product::Soc;
use ubtile_sim::program::Program;
use ubtile_sim::report::{Executed, Gathered, Lanes, Recorded, Recorder, Work, shown_cores, simulation};
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
    for name in [" src=", "@import", "url(", "fetch(", "XMLHttpRequest", "<link rel=\"style"] {
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

#[test]
fn nothing_gets_out_of_its_place() {
    let soc = Soc::builtin("Ascend910B1").unwrap();
    let (mut report, recorded) = run(&example("add_tail.tile", &soc), &soc);
    let evil = "</script><script>alert(1)</script><img onerror='x' \"&";
    for at in [
        "/program",
        "/soc",
        "/scheme",
        "/l2_start",
        "/bound",
        "/roofline/by",
        "/grade",
        "/changes/0/what",
        "/tool_version",
    ] {
        *report.pointer_mut(at).unwrap() = evil.into();
    }
    for key in ["key", "source", "grade"] {
        report["evidence"][0][key] = evil.into();
    }
    report["assumptions"] = json!([evil]);
    report["model_hash"] = evil.into();
    let plan = json!({"scheme": evil, "operator": evil, "reason": evil, "early_success": evil, "vendor_route": evil, "soc": evil,
        "target": {"name": evil}, "block_dim": 1, "workspace_bytes": 2, "tiling_data": {"a": 1},
        "workspace_regions": [{"name": evil, "offset": 0, "bytes": 10, "first_phase": 0, "last_phase": 0}],
        "phases": [{"name": evil, "shares": 1, "tiles": 1, "most_tiles_in_a_share": 1, "largest_tile_bytes": 5}],
        "decisions": [{"name": evil, "value": evil, "why": evil, "measures": [{"name": evil, "used": 1, "limit": 2, "slack": 1}],
                       "others": [{"value": evil, "by": evil}]}],
        "choices": [{"name": evil, "value": 1, "bound": evil, "limit": 2, "used": 1, "slack": 1, "alternative": null,
                     "larger": {"value": 2, "bound": evil, "limit": 2, "needs": 3, "over": 1}}],
        "prices": [{"name": evil, "paid": 1, "unlimited": 0}], "means": [{"name": evil, "how": evil}],
        "tensors": [{"name": evil, "dtype": evil, "shape": [1, 2]}], "aclnn": null});
    let page = simulation(&report, &recorded, Some(&plan), evil);
    assert_eq!(documents(&page)["plan"], plan);
    assert_eq!(documents(&page)["report"], report);
    assert!(!page.contains("<script>alert") && !page.contains("<img"));
    assert_eq!(page.matches("<script").count(), page.matches("</script>").count());
    check_numbers(&page);
}

#[test]
fn a_report_without_a_time_says_why() {
    let soc = Soc::builtin("Ascend910B1").unwrap();
    let (_, recorded) = run(&example("add_tail.tile", &soc), &soc);
    let report = json!({"program": "im2col-backward", "soc": "Ascend910B1", "route": "aicpu, not modelled", "task_us": null,
                        "reason": "no unit computes f64"});
    let page = simulation(&report, &recorded, None, "ubtile");
    assert!(page.contains("There is no time") && page.contains("no unit computes f64"));
    check_numbers(&page);
}
