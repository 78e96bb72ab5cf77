//! `ubtile fuzz` and `replay`: this tool's kernels, and somebody's own with mistakes in it.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

use crate::{fails, json, ok, output};

const WRONG_KERNEL: &str = include_str!("../../kernel/wrong_kernel.c");
const MISTAKE: &str = "a * high + b";
const RIGHT: &str = "a * wide + b";

/// Compiles a kernel to `NAME.so` in the folder, with the header as it is given to people.
fn compile(folder: &Path, name: &str, source: &str) {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernel");
    let file = folder.join(name).with_extension("c");
    fs::write(&file, source).unwrap();
    let status = Command::new("cc")
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", "-I"])
        .arg(kernels)
        .arg("-o")
        .args([&file.with_extension("so"), &file])
        .status()
        .unwrap();
    assert!(status.success(), "{name}");
}

/// A folder with the example's kernel, `wrong.so`.
pub(super) fn folder() -> TempDir {
    let folder = tempdir().unwrap();
    compile(folder.path(), "wrong", WRONG_KERNEL);
    folder
}

/// Fuzzes in vain: the JSON report, and the repro file that it names.
pub(super) fn finds(folder: &Path, args: &str) -> (Value, Value) {
    let output = output(folder, &format!("fuzz {args} --format json"));
    assert_eq!(output.status.code(), Some(4), "{args}: {}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let of = if args.contains("--program") { "program." } else { "" };
    assert_eq!(report["schema"], format!("ubtile.fuzz.{of}v1"));
    let repro = fs::read_to_string(folder.join(report["repro"].as_str().unwrap())).unwrap();
    let repro: Value = serde_json::from_str(&repro).unwrap();
    assert_eq!((&repro["schema"], &repro["failure"]), (&json!(format!("ubtile.repro.{of}v1")), &report["failure"]));
    (report, repro)
}

#[test]
fn nothing_is_wrong_with_this_tools_kernels() {
    let folder = tempdir().unwrap();
    for operator in
        ["grid-sampler-2d-backward", "max-unpool2d-backward", "replication-pad2d-backward", "im2col-backward"]
    {
        let report = json(folder.path(), &format!("fuzz {operator} --cases 300 --seed 7"));
        assert_eq!((&report["schema"], &report["operator"]), (&json!("ubtile.fuzz.v1"), &json!(operator)));
        // Not every drawn tile holds something.
        assert_eq!(report["cases"].as_u64().zip(report["skipped"].as_u64()).map(|(a, b)| a + b), Some(300));
        assert!(report["cases"].as_u64() > Some(250), "{report}");
        assert_eq!((&report["failure"], &report["repro"]), (&Value::Null, &Value::Null));
    }
    let text = ok(folder.path(), "fuzz replication-pad2d-backward --cases 1 --seed 7");
    assert!(text.contains(", seed 7: 1 case and 0 skipped in "), "{text}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// The mistake of the example shows as soon as an image is not square: a column of windows and no more than that is left of it.
#[test]
fn the_examples_mistake_is_found_made_small_and_run_again() {
    let folder = folder();
    let at = folder.path();
    let (report, repro) = finds(at, "im2col-backward --kernel wrong.so --seed 5 --output found/here");
    assert_eq!((&report["failure"]["kind"], &repro["kernel"]), (&json!("mismatch"), &json!("wrong.so")));
    let out = &repro["tensors"]["out"]["shape"];
    assert!(out[0] == 1 && out[1] == 1, "one image, one channel: {repro}");
    let bits = repro["tensors"]["grad_output"]["bits"].as_str().unwrap();
    let set = bits.split(' ').filter(|word| **word != *"00000000").count();
    assert!(set <= 1 && bits.split(' ').count() <= 12, "no more than one element matters: {repro}");

    let file = report["repro"].as_str().unwrap();
    assert!(file.starts_with("found/here/im2col-backward-mismatch-5.repro"), "{file}");
    let again = output(at, &format!("replay {file} --format json"));
    assert_eq!(again.status.code(), Some(4));
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!((&again["schema"], &again["was"]), (&json!("ubtile.replay.v1"), &report["failure"]));
    assert_eq!(again["now"]["kind"], "mismatch");

    fails(at, &format!("replay {file} --soc nope"), 2);

    // The problem as page and trace, and the command that makes them.
    assert_eq!(output(at, &format!("replay {file} --output page --soc Ascend310P3")).status.code(), Some(4));
    let page = fs::read_to_string(at.join("page/report.html")).unwrap();
    assert!(page.contains("im2col-backward") && page.contains("Ascend310P3"));
    assert!(page.contains("A failure: <strong>mismatch</strong>: out: "), "{page}");
    let saved = fs::read_to_string(at.join("page/report.json")).unwrap();
    let saved: Value = serde_json::from_str(&saved).unwrap();
    assert_eq!((&saved["failure"]["message"], &saved["failure"]["core"]), (&again["now"]["message"], &Value::Null));
    assert!(fs::read_to_string(at.join("page/report.txt")).unwrap().starts_with("A failure: mismatch: out: "));
    let simulated = again["sim"].as_str().unwrap().strip_prefix("ubtile ").unwrap();
    assert_eq!(json(at, simulated)["schema"], "ubtile.sim.v1", "{simulated}");

    // Put right, the kernel passes: this case, and many more.
    compile(at, "right", &WRONG_KERNEL.replace(MISTAKE, RIGHT));
    let fixed = json(at, &format!("replay {file} --kernel right.so"));
    assert_eq!(fixed["now"], Value::Null);
    assert!(json(at, "fuzz im2col-backward --kernel right.so --cases 1500")["cases"].as_u64() > Some(50));
    assert!(ok(at, &format!("replay {file} --kernel right.so")).ends_with("now: nothing is wrong any more\n"));
}

/// Fuzzes in vain where a folder has the name of the repro file: what is printed, and why there is no such file.
pub(super) fn finds_without_a_file(folder: &Path, args: &str, repro: &str) -> (Value, String) {
    fs::create_dir(folder.join(repro)).unwrap();
    let text = output(folder, &format!("fuzz {args}"));
    assert!(String::from_utf8(text.stdout).unwrap().contains(", WRONG ("), "{args}");
    let output = output(folder, &format!("fuzz {args} --format json"));
    assert_eq!((text.status.code(), output.status.code()), (Some(4), Some(4)), "{args}");
    let line = String::from_utf8(output.stderr).unwrap();
    let why = format!("; there is no file that shows it, ./{repro}: is a folder, where a file is to be written; ");
    assert!(line.contains(&why) && line.ends_with(" finds it again\n"), "{line}");
    (serde_json::from_slice(&output.stdout).unwrap(), line)
}

#[test]
fn a_finding_without_a_file_is_not_lost() {
    let folder = folder();
    let at = folder.path();
    let args = "im2col-backward --kernel wrong.so --seed 5";
    let (report, line) = finds_without_a_file(at, args, "im2col-backward-mismatch-5.repro.json");
    assert_eq!((&report["failure"]["kind"], &report["repro"]), (&json!("mismatch"), &Value::Null));
    let message = report["failure"]["message"].as_str().unwrap();
    assert!(line.starts_with(&format!("error: im2col-backward: mismatch: {message}; ")), "{line}");
    assert!(line.ends_with("; --seed 5 finds it again\n"), "{line}");
    // It does.
    let (again, _) = finds(at, &format!("{args} --output elsewhere"));
    assert_eq!((&again["failure"], &again["cases"]), (&report["failure"], &report["cases"]));
}

#[test]
fn crashes_and_writes_elsewhere_are_findings() {
    let folder = folder();
    let at = folder.path();
    let start = "#include \"ubtile_kernel.h\"\n#include <stdlib.h>\nint32_t ubtile_kernel(const ubtile_call *call) {";
    let with = |body: &str| format!("{start} float *to = call->outputs[0].data; (void)to; {body} return UBTILE_OK; }}");
    let cases = [
        ("crash", with("if (call->inputs[0].shape[1] > 1) abort();"), "crash"),
        ("leave", with("exit(0);"), "crash"),
        ("before", with("((char *)to)[-1] = 0;"), "outside"),
        ("input", with("((char *)call->inputs[0].data)[0] ^= 1;"), "outside"),
        ("status", with("return 77;"), "error"),
        ("nothing", with(""), "mismatch"),
    ];
    for (name, source, kind) in cases {
        compile(at, name, &source);
        let (report, repro) = finds(at, &format!("replication-pad2d-backward --kernel {name}.so"));
        assert_eq!(report["failure"]["kind"], kind, "{name}: {report}");
        if name == "crash" {
            assert_eq!(repro["tensors"]["self"]["shape"], json!([1, 2, 1, 1]), "the least that has two channels");
        }
        let file = report["repro"].as_str().unwrap();
        assert_eq!(output(at, &format!("replay {file}")).status.code(), Some(4), "{name}");
    }
    // Integers have no NaN to be told apart.
    let floats =
        "if (d == UBTILE_F32 || d == UBTILE_F16 || d == UBTILE_BF16 || d == UBTILE_F64) return UBTILE_SKIPPED;";
    compile(at, "integers", &with(&format!("int32_t d = call->outputs[0].dtype; {floats}")));
    let (report, repro) = finds(at, "max-unpool2d-backward --kernel integers.so");
    assert_eq!(report["failure"]["kind"], "mismatch", "{report}");
    assert!(
        ["i8", "u8", "i16", "i32", "i64", "bool"].iter().any(|d| repro["tensors"]["out"]["dtype"] == *d),
        "{repro}"
    );
    // What a kernel prints, even half a line of no text, is not taken for its answer.
    compile(
        at,
        "talks",
        &WRONG_KERNEL
            .replace(MISTAKE, RIGHT)
            .replace("const float *from", PRINTS)
            .replace("#include <string.h>", "#include <stdio.h>\n#include <string.h>"),
    );
    assert!(json(at, "fuzz im2col-backward --kernel talks.so --cases 200")["cases"].as_u64() > Some(0));
}

const PRINTS: &str = "printf(\"ubtile-answer:{} \\xff\"); fflush(stdout); const float *from";

#[test]
fn libraries_without_a_kernel_are_refused() {
    let folder = tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("text.so"), "no library").unwrap();
    compile(at, "empty", "int nothing;\n");
    compile(
        at,
        "skips",
        "#include \"ubtile_kernel.h\"\nint32_t ubtile_kernel(const ubtile_call *c) { (void)c; return 1; }",
    );
    for (library, line) in [
        ("text.so", "error: text.so: cannot be loaded (/"),
        ("none.so", "error: none.so: cannot be loaded (/"),
        ("empty.so", "error: empty.so: exports no function ubtile_kernel\n"),
        ("skips.so", "error: no case was computed, 20 were skipped\n"),
    ] {
        let stderr = fails(at, &format!("fuzz im2col-backward --cases 20 --kernel {library}"), 3);
        assert!(stderr.starts_with(line), "{library}: {stderr}");
        // The loader says which file it tried, and what it made of it.
        assert!(!line.ends_with("(/") || stderr.contains(&format!("/{library}: ")), "{stderr}");
    }
}

/// Its kernel is named as it was when it was found, which may not be so from here.
#[test]
fn a_repro_file_whose_kernel_is_not_there_names_the_option() {
    let folder = folder();
    let at = folder.path();
    let (report, _) = finds(at, "im2col-backward --kernel wrong.so");
    let file = report["repro"].as_str().unwrap();
    fs::create_dir(at.join("elsewhere")).unwrap();
    let elsewhere = at.join("elsewhere");
    let stderr = fails(&elsewhere, &format!("replay ../{file}"), 3);
    assert!(stderr.starts_with(&format!("error: ../{file}: its kernel wrong.so: cannot be loaded (/")), "{stderr}");
    assert!(stderr.ends_with("; --kernel FILE names another one\n"), "{stderr}");
    assert!(!fails(&elsewhere, &format!("replay ../{file} --kernel wrong.so"), 3).contains("--kernel"));
    assert_eq!(output(&elsewhere, &format!("replay ../{file} --kernel ../wrong.so")).status.code(), Some(4));
}

#[test]
fn repro_files_that_are_damaged_or_lie() {
    let folder = folder();
    let at = folder.path();
    let (report, repro) = finds(at, "im2col-backward --kernel wrong.so");
    let whole = fs::read_to_string(at.join(report["repro"].as_str().unwrap())).unwrap();
    let line = |text: &str| {
        fs::write(at.join("bad.repro.json"), text).unwrap();
        let line = fails(at, "replay bad.repro.json", 3);
        assert!(line.starts_with("error: bad.repro.json: ") && line.lines().count() == 1, "{line}");
        line
    };
    for len in (0..whole.len() - 2).step_by(97) {
        assert!(line(&whole[..len]).contains("is no repro file ("));
    }
    let changed = |pointer: &str, to: Value| {
        let mut changed = repro.clone();
        *changed.pointer_mut(pointer).unwrap() = to;
        line(&changed.to_string())
    };
    assert!(
        changed("/schema", json!("ubtile.repro.v9")).contains("has the schema 'ubtile.repro.v9': this version reads")
    );
    assert!(changed("/operator", json!("conv2d")).contains("'conv2d' is no operator"));
    assert!(changed("/attributes", json!({})).contains("has no attribute 'input-size' of im2col-backward"));
    assert!(changed("/attributes/stride", json!([])).contains("stride has 0 values: 2 are required"));
    assert!(changed("/tensors/out", Value::Null).contains("is no repro file"));
    assert!(changed("/tensors", json!({})).contains("has no tensor 'grad_output' of im2col-backward"));
    assert!(changed("/tensors/out/dtype", json!("f8")).contains("out has the unknown dtype 'f8'"));
    assert!(changed("/tensors/out/shape", json!(vec![1; 9])).contains("9 dimensions"));
    assert!(
        changed("/tensors/out/strides", json!([1_u64 << 50, 1_u64 << 50, 1_u64 << 40, 1]))
            .contains("more than 1073741824 bytes")
    );
    assert!(changed("/tensors/grad_output/bits", json!("0")).contains("grad_output has 1 words"));
    assert!(changed("/tensors/grad_output/bits", Value::Null).contains("grad_output has no bits"));
    assert!(changed("/way/level", json!("mmx")).contains("'mmx' is no level"));
    assert!(changed("/way/cores", json!(1_u64 << 40)).contains("cores"));
    assert!(fails(at, "replay none.json", 3).starts_with("error: none.json: No such file"));
    assert!(fails(at, "replay .", 3).starts_with("error: .: "));
}

/// Seeds of the fuzz target `readers`, whose first byte names the kind: what nobody can read any more leads nowhere.
#[test]
fn seeds_of_readers_are_read() {
    let folder = tempdir().unwrap();
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds/readers");
    for (seed, name, command) in [
        ("repro-im2col", "seed.json", "replay seed.json"),
        ("repro-grid-sampler", "seed.json", "replay seed.json"),
        ("result-in-json", "seed.json", "compare seed.json seed.json"),
        ("op-summary", "seed.csv", "plan --calls seed.csv"),
        ("toml-of-a-soc", "seed.toml", "products seed.toml"),
        ("program-gather_rows", "seed.tile", "sim --program seed.tile"),
        ("program-strided_copy", "seed.tile", "sim --program seed.tile"),
    ] {
        let file = fs::read(seeds.join(seed)).unwrap();
        fs::write(folder.path().join(name), &file[1..]).unwrap();
        assert!(!ok(folder.path(), command).is_empty(), "{seed}");
    }
}
