//! `ubtile products`: the list, one in full, several side by side, and files of users.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::{fails, json, ok, output};

fn products(args: &str) -> Value {
    json(Path::new("."), &format!("products {args}"))
}

/// The fact of that key.
fn fact<'a>(report: &'a Value, key: &str) -> &'a Value {
    let facts = report["facts"].as_array().unwrap();
    facts.iter().find(|fact| fact["key"] == key).unwrap_or_else(|| panic!("{key}"))
}

#[test]
fn the_list_has_every_soc_and_says_what_is_unknown() {
    let list = products("");
    let socs = list["socs"].as_array().unwrap();
    assert_eq!(socs.len(), 27);
    let line = |name: &str| socs.iter().find(|line| line["soc"] == name).unwrap();
    let b1 = line("Ascend910B1");
    assert_eq!(b1["products"], json!(["atlas-a2", "atlas-800i-a2", "a200i-a2-box"]));
    assert_eq!((&b1["npu_arch"], &b1["vector_units"], &b1["core_mhz"]), (&json!(2201), &json!(48), &json!(1850)));
    assert_eq!((&b1["ub_bytes"], &b1["l2_bytes"]), (&json!(192 << 10), &json!(192 << 20)));
    assert_eq!(line("Ascend910A")["memory_bytes"], Value::Null);
    assert!(line("Ascend910B")["warning"].is_string() && b1["warning"].is_null());

    let text = ok(Path::new("."), "products");
    let row = |name: &str| {
        let start = format!("| {name} ");
        let row = text.lines().find(|line| line.starts_with(&start)).unwrap();
        row.split('|').map(str::trim).filter(|cell| !cell.is_empty()).collect::<Vec<_>>()
    };
    let b4 = ["Ascend910B4", "atlas-a2", "2201", "AIC-C-220", "20", "40", "1500", "192 KiB", "96 MiB", "32 GiB", "760"];
    assert_eq!(row("Ascend910B4"), b4);
    assert_eq!(row("Ascend910A")[9], "unknown");
    assert_eq!(row("Ascend910_5591")[2], "unknown");
}

#[test]
fn one_soc_comes_with_grades_and_sources() {
    let sheet = products("Ascend910B1");
    assert_eq!(sheet["soc"], "Ascend910B1");
    let banks = fact(&sheet, "ub.banks");
    assert_eq!((&banks["value"], &banks["grade"]), (&json!(48), &json!("derived")));
    let unknown = fact(&sheet, "clock.vector_core_mhz");
    assert_eq!((&unknown["value"], &unknown["grade"], &unknown["source"]), (&Value::Null, &Value::Null, &Value::Null));
    assert_eq!(fact(&sheet, "vector.gather")["value"]["cycles_32"], 12.0);
    assert_eq!(fact(&sheet, "instructions.vscatter")["value"], json!([]));

    let text = ok(Path::new("."), "products Ascend910B1");
    let has = |key: &str, cells: &[&str]| {
        let line = text.lines().find(|line| line.starts_with(&format!("| {key} "))).unwrap();
        assert!(cells.iter().all(|cell| line.contains(&format!("| {cell} "))), "{line}");
    };
    has("ub.plan_bytes", &["184 KiB", "cited", "asc: the framework keeps the last 8 KiB"]);
    has("clock.vector_core_mhz", &["unknown"]);
    assert!(text.contains("\n- asc: asc-devkit"), "the short names are explained");
}

#[test]
fn a_comparison_marks_what_differs() {
    let both = products("Ascend910B1 Ascend910B4");
    assert_eq!(both["socs"], json!(["Ascend910B1", "Ascend910B4"]));
    let clock = fact(&both, "clock.core_mhz");
    assert_eq!((&clock["differs"], &clock["values"][0]["value"]), (&json!(true), &json!(1850)));
    assert_eq!(clock["values"][1]["value"], json!(1500));
    assert_eq!(fact(&both, "ub.bytes")["differs"], false);
    assert_eq!(fact(&both, "clock.board_mhz")["differs"], true, "known of one only");
    let differing = both["facts"].as_array().unwrap().iter().filter(|fact| fact["differs"] == true).count();
    assert_eq!(both["differences"], differing);

    let text = ok(Path::new("."), "products Ascend910B1 Ascend910B4");
    assert_eq!(text.lines().filter(|line| line.starts_with("| * ")).count(), differing);
    assert!(text.contains(&format!("* {differing} of ")));
    assert_eq!(products("Ascend910B1 Ascend910B1")["differences"], 0);
    assert_eq!(products("Ascend910B1 Ascend310P3 Ascend910_95")["socs"].as_array().unwrap().len(), 3);
}

#[test]
fn a_file_is_a_soc_like_any_other() {
    let folder = tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("mine.toml"), "inherits = 'Ascend910B1'\n[clock]\ncore_mhz = 1500\n").unwrap();
    let sheet = json(at, "products --soc mine.toml");
    assert_eq!(sheet["soc"], "mine");
    let clock = fact(&sheet, "clock.core_mhz");
    assert_eq!(
        (&clock["value"], &clock["grade"], &clock["source"]),
        (&json!(1500), &json!("guess"), &json!("mine.toml"))
    );
    let both = json(at, "products Ascend910B1 --soc mine.toml");
    let differing = both["facts"].as_array().unwrap().iter().filter(|fact| fact["differs"] == true);
    let keys: Vec<_> = differing.map(|fact| fact["key"].as_str().unwrap()).collect();
    let derived = ["memory.nominal_ddr_gbps", "memory.nominal_l2_read_gbps", "memory.nominal_l2_write_gbps"];
    assert_eq!(keys, [&["clock.core_mhz"][..], &derived].concat());

    fs::write(at.join("bad.toml"), "inherits = 'Ascend910B1'\n[clock]\ncore_mhz = 'fast'\n").unwrap();
    let line = fails(at, "products --soc bad.toml", 3);
    assert_eq!(line, "error: bad.toml:3: clock.core_mhz: expected a whole number from 1, found \"fast\"\n");
    assert!(fails(at, "products --soc absent.toml", 3).starts_with("error: absent.toml: No such file"));
    assert!(fails(at, "products Ascend910C", 2).starts_with("error: Ascend910C: no such SoC; there are Ascend310P1, "));
}

#[test]
fn the_old_910b_is_told_apart() {
    let named = output(Path::new("."), "products Ascend910B");
    assert!(named.status.success());
    let stderr = String::from_utf8(named.stderr).unwrap();
    assert!(stderr.starts_with("warning: Ascend910B is the old Ascend910 ") && stderr.lines().count() == 1, "{stderr}");
    // Once, however often a command needs it.
    let folder = tempdir().unwrap();
    let sim = "sim im2col-backward --soc Ascend910B --input-size 8,8 --shape grad_output=1,9,64 --kernel-size 3,3 --padding 1,1";
    let stderr = String::from_utf8(output(folder.path(), &format!("{sim} --output out")).stderr).unwrap();
    assert_eq!(stderr.matches("warning: ").count(), 1, "{stderr}");
    assert!(ok(Path::new("."), "products").contains("\nAscend910B is the old Ascend910 "));
    assert!(output(Path::new("."), "products Ascend910B1").stderr.is_empty());
}
