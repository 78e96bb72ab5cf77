//! The files of a timed run: that they are there, complete, and say what the command says.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{fails, json, ok};

fn program(folder: &Path) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sim/examples/add_double_buffer.tile");
    fs::copy(from, folder.join("add.tile")).unwrap();
}

/// The profile in a folder.
fn profile(folder: &Path) -> PathBuf {
    let mut found = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    found.find(|path| path.file_name().unwrap().to_string_lossy().starts_with("OPPROF_add_")).unwrap()
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
    let profile = profile(&folder.join("out"));
    let expected = [
        "ArithmeticUtilization.csv",
        "L2Cache.csv",
        "Memory.csv",
        "MemoryUB.csv",
        "OpBasicInfo.csv",
        "PipeUtilization.csv",
        "ResourceConflictRatio.csv",
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
    assert!(line.contains("none of its 1 rows"), "{line}");
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
    assert_eq!(names(&folder.join("out")).len(), 4);
    assert_eq!(names(folder), ["add.tile", "out"]);
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
    fails(folder, "sim --program add.tile --output add.tile", 3);
    assert_eq!(names(folder), ["add.tile"]);
}
