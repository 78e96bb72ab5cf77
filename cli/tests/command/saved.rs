//! The files of a timed run: that they are there, complete, and say what the command says.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{fails, json, ok, output};

fn program(folder: &Path) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sim/examples/add_double_buffer.tile");
    fs::copy(from, folder.join("add.tile")).unwrap();
}

/// The profile in a folder.
fn profile(folder: &Path) -> PathBuf {
    profile_of(folder, "add")
}

/// That of an operator or program.
fn profile_of(folder: &Path, name: &str) -> PathBuf {
    let mut found = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let begins = format!("OPPROF_{name}_");
    found.find(|path| path.file_name().unwrap().to_string_lossy().starts_with(&begins)).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

#[test]
fn a_run_is_saved_as_it_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    program(folder);
    let printed = json(folder, "sim --program add.tile --output out --trace-cores 1");
    let report: Value = serde_json::from_str(&fs::read_to_string(folder.join("out/report.json")).unwrap()).unwrap();
    assert_eq!(report, printed);
    assert_eq!(names(folder), ["add.tile", "out"]);
    let page = fs::read_to_string(folder.join("out/report.html")).unwrap();
    assert!(page.contains(
        "<code id=\"command\">ubtile sim --program add.tile --output out --trace-cores 1 --format json</code>"
    ));
    let text = fs::read_to_string(folder.join("out/report.txt")).unwrap();
    assert_eq!(text, ok(folder, "sim --program add.tile"));
    // The tables and the trace name its lines.
    let profile = profile(&folder.join("out"));
    assert_eq!(fs::read(profile.join("add.tile")).unwrap(), fs::read(folder.join("add.tile")).unwrap());
    let expected = [
        "ArithmeticUtilization.csv",
        "L2Cache.csv",
        "Memory.csv",
        "MemoryUB.csv",
        "OpBasicInfo.csv",
        "PipeUtilization.csv",
        "ResourceConflictRatio.csv",
        "add.tile",
        "op_summary_add.csv",
        "simulator",
    ];
    assert_eq!(names(&profile), expected);
    let simulator = profile.join("simulator");
    assert_eq!(names(&simulator).len(), 1 + printed["cores_used"].as_u64().unwrap() as usize);
    let files = ["core0.veccore1_code_exe.csv", "core0.veccore1_instr_exe.csv"];
    assert_eq!(names(&simulator.join("core0.veccore1")), files);
    let trace = fs::read_to_string(simulator.join("trace.json")).unwrap();
    let trace: Value = serde_json::from_str(&trace).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    assert!(!events.is_empty() && events.iter().all(|event| event["pid"] == "core0.veccore1"));

    // The tables say what the report does, as the command reads tables of devices.
    let tables = profile.display();
    let comparison = json(folder, &format!("compare out/report.json {tables} --threshold 0.001"));
    let differences = comparison["differences"].as_array().unwrap();
    for name in ["task_us", "cores_used", "gm_read_bytes", "gm_write_bytes"] {
        let found = differences.iter().find(|difference| difference["name"] == name).unwrap();
        assert!(found["change"].as_f64().unwrap().abs() < 1e-5, "{found}");
    }
    // What reads profilers' lists reads this one; no operator of its kind is in it.
    let line = fails(folder, &format!("plan --calls {tables}/op_summary_add.csv --soc Ascend910B1"), 3);
    assert!(line.contains("its row does not call one"), "{line}");
}

#[test]
fn files_replace_what_an_earlier_run_left() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    program(folder);
    ok(folder, "sim --program add.tile --output out");
    let profile = profile(&folder.join("out"));
    fs::write(folder.join("out/mine.txt"), "mine").unwrap();
    fs::write(profile.join("old.csv"), "old").unwrap();
    ok(folder, "sim --program add.tile --output out --trace-window 1..2.5");
    assert_eq!(fs::read_to_string(folder.join("out/mine.txt")).unwrap(), "mine");
    assert!(!profile.join("old.csv").exists());
    assert_eq!(names(&folder.join("out")).len(), 6);
    assert_eq!(names(folder), ["add.tile", "out"]);
}

/// What else is in the way stays, and so does all that would be replaced.
#[test]
fn a_folder_in_the_way_of_a_file_stays() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    program(folder.path());
    fs::create_dir_all(out.join("report.json")).unwrap();
    fs::write(out.join("report.json/mine"), "mine").unwrap();
    fs::write(out.join("report.txt"), "old").unwrap();
    let message = fails(folder.path(), "sim --program add.tile --output out", 3);
    assert!(message.contains("report.json: is a folder, where a file is to be written"), "{message}");
    assert_eq!(names(&out), ["report.json", "report.txt"]);
    assert_eq!(fs::read_to_string(out.join("report.txt")).unwrap(), "old");
    assert_eq!(fs::read_to_string(out.join("report.json/mine")).unwrap(), "mine");
}

#[test]
fn nothing_is_written_when_something_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    program(folder);
    let line = fails(folder, "sim --program add.tile --output out --trace-cores 8", 2);
    assert!(line.contains("cores 0 to 7"), "{line}");
    for wrong in ["--trace-window 2..1", "--trace-window x", "--trace-window=-1..2"] {
        fails(folder, &format!("sim --program add.tile --output out {wrong}"), 2);
    }
    fails(folder, "sim --program add.tile --trace-cores 1", 2);
    // What computes values has no trace.
    let pad = "replication-pad2d-backward --in in.npz --padding 1,1,1,1";
    for what in ["--program add.tile --in in.npz", pad] {
        for option in ["--trace-cores 0", "--trace-window 1..2", "--trace-format json", "--seed 3"] {
            let line = fails(folder, &format!("sim {what} --out out.npz {option}"), 2);
            let name = option.split(' ').next().unwrap();
            assert!(line.contains("'--out <FILE>'") && line.contains(&format!("'{name} <")), "{line}");
        }
    }
    // Folders around it that were new go again, and no others.
    fs::create_dir(folder.join("mine")).unwrap();
    for out in ["new/below/out", "mine/below/out"] {
        let line = fails(folder, &format!("sim --program add.tile --output {out} --trace-cores 8"), 2);
        assert!(line.contains("cores 0 to 7"), "{line}");
    }
    assert_eq!((names(folder), names(&folder.join("mine"))), (vec!["add.tile".into(), "mine".into()], Vec::new()));
    fs::remove_dir(folder.join("mine")).unwrap();
    let line = fails(folder, "sim --program add.tile --output add.tile", 3);
    assert!(line.contains("add.tile: is no folder"), "{line}");
    assert_eq!(names(folder), ["add.tile"]);
}

#[test]
fn long_runs_have_a_short_trace() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let many = "cores 1\nub a: 256\nfor i in 0..600000 {\n  adds.f32 a[0], a[0], 1.0 repeat 1\n}\n";
    fs::write(folder.join("add.tile"), many).unwrap();
    let simulator = |out: &str| profile(&folder.join(out)).join("simulator");
    // 1.2 million events.
    ok(folder, "sim --program add.tile --output long");
    assert_eq!(names(&simulator("long")), ["core0.veccore0", "trace.pftrace"]);
    ok(folder, "sim --program add.tile --output part --trace-window 100..110");
    assert_eq!(names(&simulator("part")), ["core0.veccore0", "trace.json"]);
    ok(folder, "sim --program add.tile --output part --trace-window 100..110 --trace-format perfetto");
    assert_eq!(names(&simulator("part")), ["core0.veccore0", "trace.pftrace"]);
}

/// The clock that a product is rated at is its file's, whatever its name and whatever is set.
#[test]
fn the_rated_clock_is_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    program(folder);
    fs::write(folder.join("Ascend910B1.toml"), "inherits = \"Ascend910B4\"\n[clock]\ncore_mhz = 1500\n").unwrap();
    let operator = "im2col-backward --shape grad_output=1,36,64 --input-size 8,8 --kernel-size 3,3 --padding 1,1";
    for (what, name) in [("--program add.tile", "add"), (operator, "im2col-backward")] {
        ok(folder, &format!("sim {what} --soc Ascend910B1.toml --set clock=1000 --output {name}"));
        let table = fs::read_to_string(profile_of(&folder.join(name), name).join("OpBasicInfo.csv")).unwrap();
        let row = table.lines().nth(1).unwrap();
        assert!(row.ends_with(",1000,1500"), "{table}");
    }
}

#[test]
fn an_empty_window_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    program(folder);
    let of = |window: &str| {
        let ran = output(folder, &format!("sim --program add.tile --output out --trace-window {window}"));
        assert!(ran.status.success());
        String::from_utf8(ran.stderr).unwrap()
    };
    assert!(!of("0..1000").contains("warning"));
    // The time of a trace begins with the launch's arrival at the cores, so it is shorter than the task; a core begins later still.
    let trace = fs::read_to_string(profile(&folder.join("out")).join("simulator/trace.json")).unwrap();
    let trace: Value = serde_json::from_str(&trace).unwrap();
    let shown = trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X");
    let times: Vec<f64> = shown.map(|event| event["ts"].as_f64().unwrap()).collect();
    let (first, last) = (times.iter().copied().fold(f64::MAX, f64::min), times.iter().copied().fold(0.0, f64::max));
    let task = json(folder, "sim --program add.tile")["task_us"].as_f64().unwrap();
    let told = "warning: --trace-window: the trace is empty, as the cores that it shows run from ";
    for empty in [format!("0..{}", first - 0.01), format!("{}..{task}", task - 0.05), "1000..2000".to_owned()] {
        assert!(of(&empty).contains(&format!("{told}{first:.2} to ")), "{empty}");
    }
    assert!(!of(&format!("{}..{task}", last - 0.01)).contains("warning"));
}

#[test]
fn comparisons_are_saved() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    program(folder);
    ok(folder, "sim --program add.tile --output slow --set clock=900");
    ok(folder, "sim --program add.tile --output fast");
    let mut printed = json(folder, "compare slow/report.json fast --output better");
    assert_eq!(printed["differences"], json(folder, "compare slow fast/report.json")["differences"]);
    let saved = fs::read_to_string(folder.join("better/report.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&saved).unwrap(), printed);
    // A folder is its report; the tables in it say the same.
    let tables = profile(&folder.join("fast"));
    printed = json(folder, &format!("compare fast {}", tables.display()));
    let task = &printed["differences"][0];
    assert!(task["name"] == "task_us" && task["change"].as_f64().unwrap().abs() < 1e-5, "{task}");
    // What is slower is saved too, and then an error.
    super::output(folder, "compare fast/report.json slow/report.json --output worse");
    let text = fs::read_to_string(folder.join("worse/report.txt")).unwrap();
    assert!(text.contains("| task_us"), "{text}");
}

#[test]
fn an_interrupted_run_leaves_nothing_under_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let long = "cores 1\nub a: 256\nfor i in 0..60000000 {\n  adds.f32 a[0], a[0], 1.0 repeat 1\n}\n";
    fs::write(folder.join("add.tile"), long).unwrap();
    let mut child = super::ubtile(folder, "sim --program add.tile --output out").spawn().unwrap();
    let begun = std::time::Instant::now();
    while names(folder).len() < 2 {
        assert!(begun.elapsed().as_secs() < 60, "nothing is written");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!folder.join("out").exists());
}

const UNPOOL: &str = "max-unpool2d-backward --shape self=2,8,6,6 --output-size 12,12 --dtype f16";

#[test]
fn an_operators_program_is_saved_with_its_text() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let printed = json(folder, &format!("sim {UNPOOL} --output out"));
    let read = |path: &str| -> Value { serde_json::from_slice(&fs::read(folder.join(path)).unwrap()).unwrap() };
    assert_eq!(read("out/report.json"), printed);
    let files = names(&folder.join("out"));
    let [profile, rest @ ..] = files.as_slice() else { panic!("{files:?}") };
    assert!(profile.starts_with("OPPROF_max-unpool2d-backward_"), "{profile}");
    assert_eq!(rest, ["pipes.svg", "report.html", "report.json", "report.txt"]);
    // The text is the program.
    let again = json(folder, &format!("sim --program out/{profile}/max-unpool2d-backward.tile"));
    assert_eq!((&again["cycles"], &again["gm_read_bytes"]), (&printed["cycles"], &printed["gm_read_bytes"]));
    // What reads profilers' lists knows the call.
    let list = format!("out/{profile}/op_summary_max-unpool2d-backward.csv");
    let calls = json(folder, &format!("plan --calls {list} --soc Ascend910B1"));
    assert_eq!(calls["calls"][0]["plan"]["operator"], "max-unpool2d-backward", "{calls}");
    let trace = fs::read_to_string(folder.join("out").join(profile).join("simulator/trace.json")).unwrap();
    assert!(trace.contains("\"code\":\"max-unpool2d-backward.tile:"));

    // Where the device's CPU computes, there is nothing but the report.
    let printed = json(
        folder,
        "sim replication-pad2d-backward --shape grad_output=2,8,8 --padding 1,1,1,1 --dtype f64 --output cpu",
    );
    assert_eq!(read("cpu/report.json"), printed);
    assert_eq!(names(&folder.join("cpu")), ["report.html", "report.json", "report.txt"]);
}

#[test]
fn runs_side_by_side_are_saved() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    program(folder);
    let saved = |out: &str, args: &str| -> Value {
        let printed = ok(folder, &format!("{args} --output {out} --format json"));
        let report = fs::read_to_string(folder.join(out).join("report.json")).unwrap();
        assert_eq!(report, printed, "{args}");
        let text = fs::read_to_string(folder.join(out).join("report.txt")).unwrap();
        assert_eq!(text, ok(folder, args), "{args}");
        serde_json::from_str(&report).unwrap()
    };
    let series = saved("series", "sim --program add.tile --vary clock=1000..1800:400");
    assert_eq!(series.as_array().unwrap().len(), 3);
    assert_eq!(names(&folder.join("series")), ["report.html", "report.json", "report.txt", "series.svg"]);
    let cores = saved("cores", &format!("sim {UNPOOL} --vary cores=1..2"));
    assert_eq!(cores.as_array().unwrap().len(), 2);
    let all = saved("all", &format!("sim {UNPOOL} --product all"));
    for run in all.as_array().unwrap() {
        let files = folder.join("all").join(run["product"].as_str().unwrap());
        // Those that were refused have no time and no folder, or one that says why.
        let timed = run["task_us"].is_f64();
        let ran = files.exists() && names(&files).iter().any(|name| name.starts_with("OPPROF_"));
        assert_eq!(ran, timed, "{run}");
        if timed {
            let own: Value = serde_json::from_slice(&fs::read(files.join("report.json")).unwrap()).unwrap();
            assert_eq!(&own, run);
        }
    }
    fails(folder, "sim --program add.tile --vary clock=1000..1800:400 --output x --trace-cores 0", 2);
}

#[test]
fn a_program_is_not_replaced_by_what_ran_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    program(folder);
    let mine = fs::read(folder.join("add.tile")).unwrap();
    ok(folder, "sim --program add.tile --output . --set cores=4");
    assert_eq!(fs::read(folder.join("add.tile")).unwrap(), mine);
    let ran = fs::read_to_string(profile(folder).join("add.tile")).unwrap();
    assert!(ran.lines().any(|line| line.split_whitespace().eq(["cores", "4"])), "{ran}");
}

/// The page says why the program has the scheme that it has; that somebody asked for it only where somebody did.
#[test]
fn a_page_says_why_its_scheme_is_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let why = |args: &str| {
        ok(folder, &format!("sim {args} --output out"));
        let page = fs::read_to_string(folder.join("out/report.html")).unwrap();
        let plan = page.split("id=\"plan\">").nth(1).unwrap().split("</script>").next().unwrap();
        let plan: Value = serde_json::from_str(plan).unwrap();
        let decision = &plan["decisions"][0];
        assert_eq!(decision["name"], "scheme");
        [&decision["value"], &decision["why"]].map(|text| text.as_str().unwrap().to_owned())
    };
    let grid = "grid-sampler-2d-backward --shape input=1,3,8,8 --shape grid=1,4,4,2";
    let [scheme, reason] = why(grid);
    assert!(scheme == "vendor" && reason.starts_with("its tiling for "), "{scheme}: {reason}");
    assert_eq!(why(&format!("{grid} --scheme native")), ["native", "asked for"]);
    assert_eq!(why(&format!("{grid} --scheme vendor")), ["vendor", "asked for"]);
    let [scheme, reason] = why(&format!("{grid} --soc Ascend910_95"));
    assert_eq!(
        (&*scheme, &*reason),
        ("native", "the simulator has no program of the vendor's kernel for this problem")
    );
    let [scheme, reason] = why(UNPOOL);
    assert!(scheme == "native" && reason != "asked for", "{reason}");
}
