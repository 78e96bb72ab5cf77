//! `ubtile fuzz --program` and `replay` of what it finds.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

use super::fuzz::{finds, finds_without_a_file};
use crate::{fails, files, json, ok, output, refuses, ubtile};

/// A folder with the example programs.
fn folder() -> TempDir {
    let folder = tempdir().unwrap();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sim/examples");
    for entry in fs::read_dir(examples).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "tile") {
            fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
        }
    }
    folder
}

/// Each of some cores adds a tenth of its row to a result of all: a sum that depends on who comes first.
const TENTHS: &str = "cores 4
tensor x: f32[4, 64] in
tensor z: f32[64] zeroed out
ub a: 256
load a[0], x[256*core] bytes 256
set_flag mte2 v 0
wait_flag mte2 v 0
muls.f32 a[0], a[0], 0.1
set_flag v mte3 0
wait_flag v mte3 0
store z[0], a[0] bytes 256 add.f32
";

/// A program that does one thing to each of 64 numbers.
fn one(instruction: &str) -> String {
    format!(
        "cores 1\ntensor x: f32[64] in\ntensor z: f32[64] out\nub a: 256\nload a[0], x[0] bytes 256\n\
         set_flag mte2 v 0\nwait_flag mte2 v 0\n{instruction}\nset_flag v mte3 0\nwait_flag v mte3 0\n\
         store z[0], a[0] bytes 256\n"
    )
}

fn words(repro: &Value, tensor: &str) -> Vec<String> {
    let bits = repro["tensors"][tensor]["bits"].as_str().unwrap();
    bits.split(' ').filter(|word| word.bytes().any(|digit| digit != b'0')).map(Into::into).collect()
}

#[test]
fn nothing_is_wrong_with_the_examples() {
    let folder = folder();
    let at = folder.path();
    let before = fs::read_dir(at).unwrap().count();
    for name in ["add_single_buffer", "add_double_buffer", "add_tail", "gather_rows", "strided_copy"] {
        let report = json(at, &format!("fuzz --program {name}.tile --cases 3 --seed 5"));
        assert_eq!((&report["schema"], &report["cases"]), (&json!("ubtile.fuzz.program.v1"), &json!(3)), "{name}");
        // Cores of one of them add floats in any order: only whole numbers have one sum.
        assert!(report["orders"].as_u64() >= Some(if name == "gather_rows" { 7 } else { 15 }), "{report}");
        assert_eq!((&report["failure"], &report["repro"]), (&Value::Null, &Value::Null));
    }
    let same = json(at, "fuzz --program add_double_buffer.tile --against add_serial.tile --cases 3");
    assert_eq!(same["failure"], Value::Null);
    assert_eq!(fs::read_dir(at).unwrap().count(), before);
    // The last line says it all.
    let text = ok(at, "fuzz --program add_tail.tile --time 100ms");
    assert!(
        text.starts_with("add_tail.tile on Ascend910B1, seed 1: ") && text.ends_with(", nothing wrong\n"),
        "{text}"
    );
}

#[test]
fn a_race_is_found_and_run_again_and_opened() {
    let folder = folder();
    let at = folder.path();
    let text = fs::read_to_string(at.join("add_double_buffer.tile")).unwrap();
    let without = |line: &str| text.replace(&format!("    {line} mte2 v s\n"), "");
    fs::write(
        at.join("racy.tile"),
        text.replace("    set_flag mte2 v s\n", "").replace("    wait_flag mte2 v s\n", ""),
    )
    .unwrap();
    let (report, repro) = finds(at, "--program racy.tile --output found");
    assert_eq!(
        (&report["repro"], &report["failure"]["kind"]),
        (&json!("found/racy-sanitizer-1.repro.json"), &json!("sanitizer"))
    );
    let message = report["failure"]["message"].as_str().unwrap();
    assert!(message.starts_with("pipe_race: line ") && message.contains("add.f16 zb[s; 0]"), "{message}");
    // It needs no values.
    assert_eq!((words(&repro, "x").len(), words(&repro, "y").len(), &repro["delays"]), (0, 0, &json!([])));
    assert_eq!(repro["program"]["text"], fs::read_to_string(at.join("racy.tile")).unwrap());

    // The file is all that is needed.
    fs::remove_file(at.join("racy.tile")).unwrap();
    let file = report["repro"].as_str().unwrap();
    let again = output(at, &format!("replay {file} --format json --output page --trace-cores 1"));
    assert_eq!(again.status.code(), Some(4));
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!((&again["was"], &again["now"]), (&report["failure"], &report["failure"]));
    let page = fs::read_to_string(at.join("page/report.html")).unwrap();
    assert!(page.contains("racy.tile") && page.contains("--trace-cores 1"));
    let saved: Value = serde_json::from_str(&fs::read_to_string(at.join("page/report.json")).unwrap()).unwrap();
    assert_eq!(saved["schema"], "ubtile.sim.v1");
    // What is wrong stands on top, with its line and core.
    let failure = &saved["failure"];
    assert_eq!((&failure["kind"], &failure["message"]), (&json!("sanitizer"), &json!(message)));
    assert_eq!((&failure["core"], &failure["present"]), (&json!(0), &json!(true)));
    let line = failure["at"].as_str().unwrap();
    assert!(line.starts_with("line ") && message.contains(line), "{line}: {message}");
    let text = fs::read_to_string(at.join("page/report.txt")).unwrap();
    assert!(text.starts_with(&format!("A failure: sanitizer: {message}\non core 0\n\nracy.tile on 8 cores")), "{text}");
    assert!(
        page.find("A failure: <strong>sanitizer</strong>: pipe_race: line")
            .is_some_and(|i| i < page.find("<main").unwrap())
    );
    // The command itself says it once.
    let again = output(at, &format!("replay {file}"));
    let [text, error] = [again.stdout, again.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(text.contains(&format!("was: sanitizer: {message}\nnow: the same\n")), "{text}");
    assert_eq!(error, "error: racy.tile: sanitizer: as it was when the file was written\n");
    let profile = fs::read_dir(at.join("page")).unwrap().map(|entry| entry.unwrap().path());
    let profile = profile.into_iter().find(|path| path.to_string_lossy().contains("OPPROF_racy_")).unwrap();
    assert!(profile.join("simulator/trace.json").is_file());

    // A clock stops at a flag that is set twice: then there is no page, and the failure is told all the same, also in the reports.
    fs::write(at.join("twice.tile"), without("wait_flag")).unwrap();
    let stderr = fails_with(at, &format!("replay {file} --program twice.tile --output none"));
    assert!(stderr.starts_with("warning: no page and no trace: twice.tile: "), "{stderr}");
    assert!(stderr.contains("error: twice.tile: sanitizer: "), "{stderr}");
    assert!(fs::read_dir(at.join("none")).unwrap().count() == 2);
    let saved: Value = serde_json::from_str(&fs::read_to_string(at.join("none/report.json")).unwrap()).unwrap();
    assert_eq!((&saved["failure"]["kind"], &saved["task_us"]), (&json!("sanitizer"), &Value::Null));
    let text = fs::read_to_string(at.join("none/report.txt")).unwrap();
    let reason = saved["reason"].as_str().unwrap();
    assert!(stderr.contains(reason) && text.starts_with("A failure: sanitizer: ") && text.contains(reason), "{text}");

    let fixed = json(at, &format!("replay {file} --program add_double_buffer.tile"));
    assert_eq!((&fixed["schema"], &fixed["now"]), (&json!("ubtile.replay.program.v1"), &Value::Null));
    let text = ok(at, &format!("replay {file} --program add_double_buffer.tile"));
    assert!(text.ends_with("now: nothing is wrong any more\n"), "{text}");
}

#[test]
fn a_sum_that_depends_on_the_order_is_found() {
    let folder = tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("tenths.tile"), TENTHS).unwrap();
    let (report, repro) = finds(at, "--program tenths.tile --seed 3");
    let message = report["failure"]["message"].as_str().unwrap();
    assert_eq!(report["failure"]["kind"], "order", "{message}");
    assert!(message.starts_with("z, and that in program order: ") && message.contains("waiting: step "), "{message}");
    // One core waits, and few numbers are no zeros.
    let delays = repro["delays"].as_array().unwrap();
    assert!(delays.len() == 1 && words(&repro, "x").len() <= 3, "{repro}");
    let file = report["repro"].as_str().unwrap();
    let text = String::from_utf8(output(at, &format!("replay {file}")).stdout).unwrap();
    assert!(
        text.contains("\nwaits: step ") && text.contains(&format!("\nwas: order: {message}\nnow: the same\n")),
        "{text}"
    );
    // It is not lost without a file.
    let (lost, line) =
        finds_without_a_file(at, "--program tenths.tile --seed 4 --output .", "tenths-order-4.repro.json");
    assert_eq!((&lost["failure"]["kind"], &lost["repro"]), (&json!("order"), &Value::Null));
    assert!(line.starts_with("error: tenths.tile: order: z, and that in program order: "), "{line}");
    // Whole numbers have one sum.
    fs::write(at.join("whole.tile"), TENTHS.replace("0.1", "10.0")).unwrap();
    assert_eq!(json(at, &format!("replay {file} --program whole.tile"))["now"], Value::Null);
    assert_eq!(json(at, "fuzz --program whole.tile --cases 9")["failure"], Value::Null);
}

/// Of a step that never comes nobody knows what would happen if it waited: that is no sign that all is well.
#[test]
fn a_step_that_does_not_come_is_no_all_clear() {
    let folder = tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("tenths.tile"), TENTHS).unwrap();
    let (_, mut repro) = finds(at, "--program tenths.tile --seed 3");
    // The scalar unit of a core hands out seven instructions, and then comes to its end.
    let mut replayed = |step: u64| {
        repro["delays"][0]["pipe"] = json!("s");
        repro["delays"][0]["step"] = json!(step);
        fs::write(at.join("changed.repro.json"), repro.to_string()).unwrap();
        let output = output(at, "replay changed.repro.json --format json");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        (output, report)
    };
    assert_eq!(replayed(7).1["unreached"], json!([]));
    let (late, report) = replayed(8);
    let step = report["delays"][0].as_str().unwrap();
    assert!(step.starts_with("step 8 of s of core "), "{step}");
    assert_eq!((&report["now"], &report["unreached"]), (&Value::Null, &json!([step])));
    assert_eq!(late.status.code(), Some(3));
    let line = format!("this is not the order that was wrong: tenths.tile ends without {step}");
    assert_eq!(String::from_utf8(late.stderr).unwrap(), format!("error: changed.repro.json: {line}\n"));
    let text = String::from_utf8(output(at, "replay changed.repro.json").stdout).unwrap();
    assert!(text.contains(&format!("\ndoes not come: {step}\n")), "{text}");
    assert!(text.ends_with("now: nothing is wrong in another order\n"), "{text}");
}

/// Adding 0 makes -0 a 0 and every NaN the usual one. Of these, only the first is a difference.
#[test]
fn what_differs_from_another_program_is_found() {
    let folder = tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("adds.tile"), one("adds.f32 a[0], a[0], 0.0")).unwrap();
    fs::write(at.join("copies.tile"), one("barrier v")).unwrap();
    let (report, repro) = finds(at, "--program adds.tile --against copies.tile");
    let message = report["failure"]["message"].as_str().unwrap();
    assert_eq!((report["failure"]["kind"].as_str(), words(&repro, "x")), (Some("differ"), vec!["80000000".to_owned()]));
    assert!(message.starts_with("z, and that of the program to compare with: "), "{message}");
    let file = report["repro"].as_str().unwrap();
    let text = String::from_utf8(output(at, &format!("replay {file}")).stdout).unwrap();
    assert!(text.contains("was: differ: z, and that of") && text.contains("now: the same"), "{text}");
    assert_eq!(json(at, &format!("replay {file} --program copies.tile"))["now"], Value::Null);
}

/// A file is named as a shell takes it.
#[test]
fn the_command_that_runs_a_failure_again_is_one_for_a_shell() {
    let folder = tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("tenths.tile"), TENTHS).unwrap();
    let mut command = ubtile(at, "fuzz --program tenths.tile --seed 3");
    let stderr = String::from_utf8(command.args(["--output", "my folder"]).output().unwrap().stderr).unwrap();
    let line = "; run it again with: ubtile replay 'my folder/tenths-order-3.repro.json'\n";
    assert!(stderr.ends_with(line), "{stderr}");
}

fn fails_with(at: &Path, args: &str) -> String {
    let output = output(at, args);
    assert_eq!(output.status.code(), Some(4), "{args}");
    String::from_utf8(output.stderr).unwrap()
}

/// A tensor that comes from a file keeps its values, also while a failure is made smaller.
#[test]
fn values_of_a_file_stay() {
    let folder = tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("root.tile"), one("sqrt.f32 a[0], a[0]")).unwrap();
    fs::write(at.join("other.tile"), one("abs.f32 a[0], a[0]")).unwrap();
    let desc = ubtile_tiling::TensorDesc::contiguous(ubtile_tiling::Dtype::F32, &[64]).unwrap();
    let nines = ubtile_testkit::Data::from_fn(desc, |_| 9.0);
    files::write(&at.join("nines.npz"), &[("x", &nines), ("more", &nines)]);
    let (_, repro) = finds(at, "--program root.tile --against other.tile --in nines.npz");
    assert_eq!(words(&repro, "x"), ["41100000"; 64]);
    files::write(&at.join("none.npz"), &[("more", &nines)]);
    refuses(at, "fuzz --program root.tile --in none.npz", 3, "none.npz: has nothing that the program reads");
}

#[test]
fn what_cannot_be_tried_is_refused() {
    let folder = folder();
    let at = folder.path();
    fs::write(at.join("one.tile"), one("barrier v")).unwrap();
    for args in [
        "fuzz",
        "fuzz im2col-backward --program one.tile",
        "fuzz --program one.tile --kernel mine.so",
        "fuzz im2col-backward --against one.tile",
        "fuzz im2col-backward --soc Ascend910A",
        "replay one.json --trace-cores 1",
    ] {
        fails(at, args, 2);
    }
    assert!(fails(at, "fuzz --program none.tile", 3).starts_with("error: none.tile: No such file"));
    refuses(at, "fuzz --program one.tile --time 0s", 3, "one.tile: no case was run");
    fs::write(at.join("bad.tile"), "cores 1\nlod\n").unwrap();
    assert!(fails(at, "fuzz --program bad.tile", 3).starts_with("error: bad.tile: line 2, column 1: expected"));
    refuses(
        at,
        "fuzz --program one.tile --against add_tail.tile",
        3,
        "--against: only one of the two programs has x: f32 [64]",
    );
}

#[test]
fn repro_files_that_lie() {
    let folder = tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("tenths.tile"), TENTHS).unwrap();
    let (_, repro) = finds(at, "--program tenths.tile");
    let changed = |pointer: &str, to: Value| {
        let mut changed = repro.clone();
        *changed.pointer_mut(pointer).unwrap() = to;
        fs::write(at.join("bad.repro.json"), changed.to_string()).unwrap();
        fails(at, "replay bad.repro.json", 3)
    };
    assert!(changed("/tensors", json!({})).contains("bad.repro.json: has no tensor 'x'"));
    assert!(changed("/tensors/x/bits", json!("0")).contains("x has 1 words: its shape takes 256"));
    assert!(changed("/tensors/x/shape", json!([256])).contains("has x as f32 [256], and the program reads f32"));
    assert!(changed("/delays/0/pipe", json!("cube")).contains("'cube' is no pipe"));
    assert!(
        changed("/delays/0/core", json!(4)).contains("a step of core 4 that waits, and the program has cores 0 to 3")
    );
    assert!(changed("/delays", Value::Null).contains("is no repro file"));
    assert!(changed("/program/text", json!("cores 0")).contains("tenths.tile: "));
    assert!(changed("/schema", json!("ubtile.sim.v1")).contains("has the schema 'ubtile.sim.v1'"));
    assert!(changed("/soc", json!("Ascend911")).starts_with("error: bad.repro.json: "));
    assert!(changed("/soc", json!("none.toml")).starts_with("error: bad.repro.json: none.toml"));
    assert!(!fails(at, "replay bad.repro.json --soc Ascend911", 2).contains("bad.repro.json"));
    fs::write(at.join("right.repro.json"), repro.to_string()).unwrap();
    assert!(fails(at, "replay right.repro.json --kernel none.so", 2).contains("--kernel is for failures of operators"));
}
