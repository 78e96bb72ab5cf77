//! Times of tile programs, and the comparison of two results.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{fails, json, ok, output, refuses};

fn example(folder: &Path, name: &str) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sim/examples").join(name);
    fs::copy(from, folder.join(name)).unwrap();
}

/// What `sim` prints, in a file.
fn result(folder: &Path, file: &str, args: &str) {
    fs::write(folder.join(file), ok(folder, &format!("sim --program add_serial.tile --format json {args}"))).unwrap();
}

#[test]
fn a_program_is_timed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    example(folder, "add_serial.tile");
    let report = json(folder, "sim --program add_serial.tile");
    assert_eq!(
        (&report["soc"], &report["scheme"], &report["route"]),
        (&"Ascend910B1".into(), &"program".into(), &"aicore".into())
    );
    let number = |pointer: &str| report.pointer(pointer).and_then(serde_json::Value::as_f64).expect(pointer);
    // 32 tiles of 8 KiB are read twice and written once, by eight cores.
    assert_eq!(
        (number("/gm_read_bytes"), number("/gm_write_bytes"), number("/cores_used")),
        (524_288.0, 262_144.0, 8.0)
    );
    for pipe in ["vector", "scalar", "mte2", "mte3"] {
        let (busy, ratio) = (number(&format!("/pipes/{pipe}/busy_cycles")), number(&format!("/pipes/{pipe}/ratio")));
        assert!(busy > 0.0 && busy <= number("/cycles") && ratio > 0.0 && ratio < 1.0, "{pipe}: {busy} {ratio}");
    }
    // 22.2 cycles and two for each of 32 repeats, in four tiles of each core; x and y are in the same bank group.
    assert!((number("/pipes/vector/busy_cycles") - 4.0 * (22.2 + 64.0)).abs() < 0.1);
    assert!(number("/task_us") > number("/cycles") / 1850.0 + 0.6 + 1.25);
    let spread = &report["task_us_over_seeds"];
    assert!(spread["min"].as_f64() <= spread["mean"].as_f64() && spread["mean"].as_f64() <= spread["max"].as_f64());
    let changes = report["changes"].as_array().unwrap();
    assert!(!changes.is_empty() && changes.len() <= 3);
    let saves: Vec<_> = changes.iter().map(|change| change["saves"].as_f64().unwrap()).collect();
    assert!(saves.is_sorted_by(|a, b| a >= b) && saves.iter().all(|saves| (0.0..1.0).contains(saves)), "{saves:?}");
    let grades: Vec<_> = report["evidence"].as_array().unwrap().iter().map(|e| e["grade"].as_str().unwrap()).collect();
    assert!(grades.contains(&"cited") && grades.contains(&"guess") && report["grade"] == "guess");
    let text = ok(folder, "sim --program add_serial.tile --seed 3");
    assert!(text.starts_with("add_serial.tile on 8 cores of Ascend910B1: "), "{text}");
    for part in ["| mte2 ", "over 8 seeds), bound by", "| what would help", "| roofline ", "| bank conflicts "] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn numbers_can_be_set_and_varied() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    example(folder, "add_serial.tile");
    let cycles =
        |args: &str| json(folder, &format!("sim --program add_serial.tile {args}"))["cycles"].as_u64().unwrap();
    let plain = cycles("");
    assert!(cycles("--set start=cold --set bandwidth=50") > plain, "loads have to come from main memory");
    assert!(cycles("--set TILES=2") < plain, "fewer tiles");
    // A latency in nanoseconds is fewer cycles of a slower clock.
    assert!(cycles("--set clock=925") < plain && cycles("--set dma.load_latency_ns=500") > plain);
    let series = ok(folder, "sim --program add_serial.tile --vary TILES=1..4 --format json");
    let series: Vec<serde_json::Value> = serde_json::from_str(&series).unwrap();
    assert_eq!(series.iter().map(|point| point["vary"][1].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2, 3, 4]);
    let times: Vec<_> = series.iter().map(|point| point["cycles"].as_u64().unwrap()).collect();
    assert!(times.is_sorted() && times[3] == plain, "{times:?}");
    assert_eq!(ok(folder, "sim --program add_serial.tile --vary cores=1..8:7").lines().count(), 4);
    // A value that cannot be says why in its place.
    let varied = ok(folder, "sim --program add_serial.tile --vary TILES=3..5");
    assert!(varied.contains("\n- 5: add_serial.tile: core ") && varied.contains(": reaches bytes "), "{varied}");
    assert!(fails(folder, "sim --program add_serial.tile --vary TILES=5..6", 3).contains("reaches bytes"));
    for (args, part) in [
        ("--set speed=2", "speed: no constant of the program, and none of cores, start, clock,"),
        ("--set start=hot", "--set start=hot: warm or cold"),
        ("--set clock=fast", "error: --set: clock.core_mhz: expected a whole number"),
        ("--vary TILES=4..1", "expected a..b"),
        ("--in x.npz", "--out"),
        ("--vary TILES=1..2 --set TILES=3", "--vary TILES: it has a value, by --set TILES=3"),
    ] {
        let line = fails(folder, &format!("sim --program add_serial.tile {args}"), 2);
        assert!(line.contains(part), "{line}");
    }
    // What nothing depends on is said.
    let idle = "sim --program add_serial.tile --set memory.l2_hit_extra_cycles=9 --set dma.issue_cycles=30";
    let idle = String::from_utf8(output(folder, idle).stderr).unwrap();
    assert_eq!(idle, "warning: memory.l2_hit_extra_cycles: nothing here depends on it\n");
    for key in [
        "buffers.l1_bytes",
        "cores.ai_cpu",
        "sync.event_ids_reserved",
        "sync.cross_core_flag_limit",
        "workspace.library_bytes",
        "workspace.kernel_bytes",
    ] {
        let idle = output(folder, &format!("sim --program add_serial.tile --set {key}=5")).stderr;
        assert_eq!(String::from_utf8(idle).unwrap(), format!("warning: {key}: nothing here depends on it\n"));
    }
    // A constant may have a name that stands for something else.
    let named =
        "cores 1\nconst start = 1\ntensor z: f32[64] out\nub a: 256\nfor i in 0..start {\ndup.f32 a[0], 1.0\n}\n";
    fs::write(folder.join("named.tile"), named).unwrap();
    let cycles = |start: u32| json(folder, &format!("sim --program named.tile --set start={start}"))["cycles"].as_u64();
    assert!(cycles(1) < cycles(9), "{:?} {:?}", cycles(1), cycles(9));
    assert_eq!(ok(folder, "sim --program named.tile --vary start=1..3").lines().count(), 5);
    // Where that is no constant, it is no number.
    example(folder, "add_serial.tile");
    let start = "--vary start: it is no number, but --set start=warm or start=cold";
    refuses(folder, "sim --program add_serial.tile --vary start=1..3", 2, start);
    fs::write(folder.join("stuck.tile"), "cores 1\nwait_flag v s 0\n").unwrap();
    assert!(
        fails(folder, "sim --program stuck.tile", 3)
            .contains("line 2, column 1: wait_flag v s 0: waits for what never happens")
    );
}

#[test]
fn a_program_that_a_core_cannot_hold_has_no_time() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    example(folder, "add_serial.tile");
    let line = fails(folder, "sim --program add_serial.tile --soc Ascend310B1", 3);
    assert!(line.contains("cores 8 is 7 more than the 1 of the product"), "{line}");
    // Three buffers of 8 KiB.
    let end = 3 * 8192;
    assert!(json(folder, &format!("sim --program add_serial.tile --set ub={end}"))["cycles"].is_u64());
    let (less, over) = (end - 32, "32 more than its");
    let line = format!("add_serial.tile: zb ends at byte {end} of the UB, {over} {less}");
    refuses(folder, &format!("sim --program add_serial.tile --set ub={less}"), 3, &line);
    let found = output(folder, &format!("sanitize --program add_serial.tile --set ub={less}"));
    assert_eq!(found.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&found.stdout).contains("capacity"));
}

#[test]
fn results_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    example(folder, "add_serial.tile");
    result(folder, "old.json", "");
    result(folder, "slow.json", "--set bandwidth=100 --set start=cold");
    let same = json(folder, "compare old.json old.json");
    assert_eq!(same["regression"], false);
    assert!(same["differences"].as_array().unwrap().iter().all(|d| d["change"].as_f64().unwrap_or(0.0) == 0.0));
    let faster = json(folder, "compare slow.json old.json");
    assert!(faster["differences"][0]["change"].as_f64().unwrap() < 0.0);
    let run = output(folder, "compare old.json slow.json");
    assert_eq!(run.status.code(), Some(5));
    assert!(String::from_utf8_lossy(&run.stdout).contains("| task_us "), "the table is there all the same");
    let line = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(line.starts_with("error: slow.json takes ") && line.contains("longer than the"), "{line}");
    ok(folder, "compare old.json slow.json --threshold 1000");
    refuses(folder, "compare old.json none.json", 3, "none.json: No such file or directory (os error 2)");
    for (text, problem) in [
        ("{}", "has no schema: this version reads 'ubtile.sim.v1'"),
        (r#"{"schema": "ubtile.sim.v1"}"#, "says no time"),
        (
            r#"{"schema": "ubtile.sim.v2", "task_us": 1.5}"#,
            "has the schema 'ubtile.sim.v2': this version reads 'ubtile.sim.v1'",
        ),
        ("[]", "has several results; one is compared with one"),
    ] {
        fs::write(folder.join("other.json"), text).unwrap();
        refuses(folder, "compare old.json other.json", 3, &format!("other.json: {problem}"));
        refuses(folder, "compare other.json old.json", 3, &format!("other.json: {problem}"));
    }
    for threshold in ["-1", "inf", "NaN"] {
        let command = format!("compare old.json old.json --threshold={threshold}");
        refuses(folder, &command, 2, &format!("--threshold {threshold}: expected a percentage from 0"));
    }
}

/// A run that asks nothing of L2 has no share of hits in it: neither 0 nor a number to compare.
#[test]
fn without_accesses_there_are_no_hits() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    example(folder, "add_serial.tile");
    result(folder, "add.json", "");
    fs::write(folder.join("idle.tile"), "cores 1\nub a: 256\nadds.f32 a[0], a[0], 1.0\n").unwrap();
    let idle = json(folder, "sim --program idle.tile");
    assert_eq!(idle.get("l2_hit_ratio"), Some(&Value::Null));
    assert!(ok(folder, "sim --program idle.tile --output idle").contains(", - hits, warm at the start"));
    let page = fs::read_to_string(folder.join("idle/report.html")).unwrap();
    assert!(!page.contains(" hits</") && !page.contains("not stated</span> hits"), "{page}");
    let compared = json(folder, "compare add.json idle --output both");
    let of = |name: &str| compared["differences"].as_array().unwrap().iter().find(|d| d["name"] == name).cloned();
    let hits = json!({"name": "l2_hit_ratio", "before": 1.0, "after": null, "change": null});
    assert_eq!(of("l2_hit_ratio"), Some(hits));
    assert!(ok(folder, "compare idle idle").lines().all(|line| !line.contains("l2_hit_ratio")));
}

/// Other conditions are no error, but it is said which.
#[test]
fn what_results_are_of_is_compared_too() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    example(folder, "add_serial.tile");
    example(folder, "add_double_buffer.tile");
    result(folder, "old.json", "");
    let names = |of: &Value| {
        let conditions = of["conditions"].as_array().unwrap();
        conditions.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let compared = |args: &str| {
        result(folder, "new.json", args);
        json(folder, "compare old.json new.json --threshold 10000")
    };
    assert_eq!(names(&compared("")), [""; 0]);
    assert!(!ok(folder, "compare old.json new.json").contains("not of the same"));
    assert_eq!(names(&compared("--set clock=900")), ["model_hash"]);
    assert_eq!(names(&compared("--set start=cold")), ["l2_start"]);
    let other = compared("--soc Ascend310P3");
    assert_eq!(names(&other), ["soc", "model_hash"]);
    let soc = json!({"name": "soc", "before": "Ascend910B1", "after": "Ascend310P3"});
    assert_eq!(other["conditions"][0], soc);
    let text = ok(folder, "compare old.json new.json --threshold 10000");
    assert!(
        text.contains("\nThe results are not of the same:\n\n- soc: Ascend910B1 and Ascend310P3\n- model_hash: "),
        "{text}"
    );
    let program = ok(folder, "sim --program add_double_buffer.tile --format json");
    fs::write(folder.join("new.json"), program).unwrap();
    assert_eq!(names(&json(folder, "compare old.json new.json --threshold 10000")), ["program"]);
    let operator = "sim replication-pad2d-backward --shape grad_output=1,8,8 --padding 1,1,1,1 --format json";
    fs::write(folder.join("new.json"), ok(folder, operator)).unwrap();
    let other = json(folder, "compare old.json new.json --threshold 10000");
    assert_eq!(names(&other), ["program", "scheme", "product"]);
    assert_eq!(other["conditions"][2], json!({"name": "product", "before": null, "after": "atlas-a2"}));
}

#[test]
fn a_profile_of_a_device_is_a_result() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    example(folder, "add_serial.tile");
    result(folder, "model.json", "");
    let time = json(folder, "sim --program add_serial.tile")["task_us"].as_f64().unwrap();
    let profile = folder.join("OPPROF_20260801_X");
    fs::create_dir(&profile).unwrap();
    let basic = format!("Op Name,Op Type,Task Duration(us),Block Dim\nadd,vector,{},8\n", time / 2.0);
    fs::write(profile.join("OpBasicInfo.csv"), &basic).unwrap();
    let pipes = "block_id,sub_block_id,aiv_total_cycles,aiv_vec_ratio,aiv_mte2_ratio\n0,vector0,100,0.25,0.5\n1,vector0,300,0.75,NA\n";
    fs::write(profile.join("PipeUtilization.csv"), pipes).unwrap();
    fs::write(profile.join("Memory.csv"), "GM_to_UB_datas(KB),UB_to_GM_datas(KB)\n256,128\n256,128\n").unwrap();
    let report = json(folder, "compare OPPROF_20260801_X model.json --threshold 200");
    let before = |name: &str| {
        let all = report["differences"].as_array().unwrap();
        all.iter().find(|d| d["name"] == name).unwrap()["before"].as_f64()
    };
    // A core that takes three times as long counts three times.
    assert_eq!((before("cycles"), before("cores_used"), before("vector ratio")), (Some(300.0), Some(2.0), Some(0.625)));
    assert_eq!(
        (before("mte2 ratio"), before("gm_read_bytes"), before("scalar ratio")),
        (Some(0.5), Some(524_288.0), None)
    );
    assert!((before("task_us").unwrap() - time / 2.0).abs() < 1e-9);
    // Neither is that a number.
    fs::write(profile.join("PipeUtilization.csv"), pipes.replace("NA", "nan").replace("0.25", "inf")).unwrap();
    let report = json(folder, "compare OPPROF_20260801_X model.json --threshold 200");
    let all = report["differences"].as_array().unwrap();
    let ratio = |name: &str| all.iter().find(|d| d["name"] == name).unwrap()["before"].as_f64();
    assert_eq!([ratio("vector ratio"), ratio("mte2 ratio")], [Some(0.75), Some(0.5)]);
    fs::write(profile.join("PipeUtilization.csv"), pipes).unwrap();
    assert_eq!(report["conditions"], json!([]), "a profile says none");
    assert_eq!(output(folder, "compare OPPROF_20260801_X model.json").status.code(), Some(5));
    // One row with the means of all cores does not say how long the slowest took.
    fs::write(profile.join("PipeUtilization.csv"), pipes.replace("aiv_", "aic_")).unwrap();
    let report = json(folder, "compare OPPROF_20260801_X model.json --threshold 200");
    let all = report["differences"].as_array().unwrap();
    let before = |name: &str| all.iter().find(|d| d["name"] == name).and_then(|d| d["before"].as_f64());
    assert_eq!((before("cycles"), before("cores_used"), before("vector ratio")), (None, None, Some(0.5)));
    // What is cut off, and several tasks.
    fs::write(profile.join("PipeUtilization.csv"), format!("{pipes}2,vector0\n")).unwrap();
    let line = "OPPROF_20260801_X/PipeUtilization.csv: line 4 has 2 of 5 fields";
    refuses(folder, "compare OPPROF_20260801_X model.json", 3, line);
    fs::write(profile.join("PipeUtilization.csv"), pipes).unwrap();
    fs::write(profile.join("OpBasicInfo.csv"), format!("{basic}add,vector,3.5,8\n")).unwrap();
    let tasks = "OPPROF_20260801_X: has 2 tasks: a folder of one is compared";
    refuses(folder, "compare OPPROF_20260801_X model.json", 3, tasks);
    // Also where how long one took is no number.
    fs::write(profile.join("OpBasicInfo.csv"), format!("{basic}add,vector,NA,8\n")).unwrap();
    refuses(folder, "compare OPPROF_20260801_X model.json", 3, tasks);
    fs::remove_file(profile.join("OpBasicInfo.csv")).unwrap();
    refuses(folder, "compare OPPROF_20260801_X model.json", 3, "OPPROF_20260801_X: has no OpBasicInfo.csv");
}
