//! The command as people run it: arguments in; files, stdout, stderr and exit code out.

mod calls;
mod documents;
mod failures;
mod faults;
mod files;
mod fuzz;
mod fuzz_program;
mod lowered;
mod plan;
mod plan_decisions;
mod plan_soc;
mod products;
mod programs;
mod run;
mod saved;
mod schemas;
mod tables;
mod timing;

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// The command, to be run in a folder.
fn ubtile(folder: &Path, args: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ubtile"));
    command.current_dir(folder).args(args.split_whitespace());
    command
}

/// Runs it to its end.
fn output(folder: &Path, args: &str) -> Output {
    ubtile(folder, args).output().expect("the command starts")
}

/// Runs it well and returns what it printed.
fn ok(folder: &Path, args: &str) -> String {
    let Output { status, stdout, stderr } = output(folder, args);
    assert!(status.success(), "ubtile {args}: {status}\n{}", String::from_utf8_lossy(&stderr));
    // A slow machine is told what it is busy with.
    let stderr = String::from_utf8(stderr).expect("text on stderr");
    assert!(stderr.lines().all(|line| line.starts_with("ubtile: ")), "ubtile {args}: {stderr}");
    String::from_utf8(stdout).expect("text on stdout")
}

/// Runs it well and returns the one JSON object that it printed.
fn json(folder: &Path, args: &str) -> Value {
    let value: Value = serde_json::from_str(&ok(folder, &format!("{args} --format json"))).expect("one JSON object");
    assert!(value["schema"].as_str().is_some_and(|schema| schema.starts_with("ubtile.") && schema.ends_with(".v1")));
    assert_eq!(value["tool_version"], env!("CARGO_PKG_VERSION"));
    value
}

/// Runs it in vain and returns what it wrote to stderr. Nothing on stdout, no temporary file left.
fn fails(folder: &Path, args: &str, code: i32) -> String {
    let Output { status, stdout, stderr } = output(folder, args);
    let stderr = String::from_utf8(stderr).expect("text on stderr");
    assert_eq!(status.code(), Some(code), "ubtile {args}: {stderr}");
    assert!(stdout.is_empty(), "ubtile {args}: {}", String::from_utf8_lossy(&stdout));
    for entry in folder.read_dir().expect("the folder is there") {
        let name = entry.expect("the folder can be read").file_name();
        assert!(!name.to_string_lossy().ends_with(".tmp"), "ubtile {args} left {name:?}");
    }
    stderr
}

/// Runs it in vain: one line on stderr, this one.
fn refuses(folder: &Path, args: &str, code: i32, line: &str) {
    assert_eq!(fails(folder, args, code), format!("error: {line}\n"), "ubtile {args}");
}
