//! What goes wrong around the command: full disks, kills, folders that take nothing, readers that leave, others in the same folder.
//! Nothing stands half-written under its final name, and the message says what it was about.
#![cfg(unix)]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::{TempDir, tempdir};
use ubtile_testkit::Data;
use ubtile_tiling::{Dtype, TensorDesc};

use crate::{fails, files, ok, output, ubtile};

/// So many bytes that writing them takes a while.
const ROWS: usize = 2048;

/// A folder with an input of several megabytes, `in.npz`.
fn folder() -> TempDir {
    let folder = tempdir().unwrap();
    let grad_output = Data::filled(TensorDesc::contiguous(Dtype::F32, &[1, ROWS, 1024]).unwrap(), 1);
    files::write(&folder.path().join("in.npz"), &[("grad_output", &grad_output)]);
    folder
}

fn run(out: &str) -> String {
    format!("run replication-pad2d-backward --in in.npz --padding 0,0,0,0 --out {out}")
}

/// Whether the result is whole: its elements are those of the input.
fn is_whole(path: &Path) -> bool {
    let data = files::read(path, "grad_input");
    data.desc().shape.as_slice() == [1, ROWS, 1024] && data.bytes().iter().all(|&byte| byte == 1)
}

/// The names in a folder, but for temporary files.
fn final_names(folder: &Path) -> Vec<String> {
    let names = folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| !name.starts_with(".ubtile-")).collect();
    names.sort();
    names
}

/// A program whose two cores read what nobody has written, `wrong.tile`, and a repro file of it.
fn wrong_program(folder: &Path) -> String {
    fs::write(folder.join("wrong.tile"), "cores 2\nub a: 256\nub b: 256\nadd.f32 a[0], a[0], b[0] repeat 1\n").unwrap();
    assert_eq!(output(folder, "fuzz --program wrong.tile").status.code(), Some(4));
    "wrong-sanitizer-1.repro.json".into()
}

/// Compiles a kernel to `NAME.so`.
fn kernel(folder: &Path, name: &str, source: &str) {
    let (library, file) = (format!("{name}.so"), format!("{name}.c"));
    fs::write(folder.join(&file), source).unwrap();
    let cc = Command::new("cc").current_dir(folder).args(["-shared", "-fPIC", "-o", &library, &file]).status();
    assert!(cc.unwrap().success());
}

/// Compiles a kernel that always fails, `fails.so`.
fn failing_kernel(folder: &Path) {
    let source = "#include <stdint.h>\nint32_t ubtile_kernel(const void *call) { (void)call; return 5; }\n";
    kernel(folder, "fails", source);
}

/// Killed at any moment: there is the old result, or the new one.
#[test]
fn a_kill_leaves_the_old_result_or_the_new_one() {
    let folder = folder();
    let at = folder.path();
    for name in ["out.npz", "out.safetensors"] {
        let started = Instant::now();
        ok(at, &run(name));
        let took = started.elapsed();
        let mut killed = 0;
        for part in 0..24 {
            fs::write(at.join(name), "the old result").unwrap();
            let mut child = ubtile(at, &run(name)).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            thread::sleep(took * part / 20);
            child.kill().unwrap();
            killed += usize::from(!child.wait().unwrap().success());
            let is_old = fs::read(at.join(name)).unwrap() == b"the old result";
            assert!(is_old || is_whole(&at.join(name)), "{name}, killed after {part} of 20 parts of its time");
        }
        assert!(killed > 0, "every run was faster than its kill");
    }
    assert_eq!(final_names(at), ["in.npz", "out.npz", "out.safetensors"]);
}

/// Only while it is written a result has a temporary file: what stops the computation leaves none.
#[test]
fn a_computation_that_is_stopped_leaves_no_temporary_file() {
    let folder = folder();
    let at = folder.path();
    let mut command = ubtile(at, &format!("{} --time 1000000000", run("out.npz")));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    // After a second it says what it is busy with.
    let line =
        BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok).find(|l| l.contains("computing"));
    assert!(line.is_some(), "it computes");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(at.read_dir().unwrap().count(), 1, "in.npz alone");
}

/// Two processes that write the same name: one of them wins, whole.
#[test]
fn two_processes_write_one_name() {
    let folder = folder();
    let at = folder.path();
    for name in ["out.npz", "out.safetensors"] {
        for _ in 0..4 {
            let mut both = [(); 3].map(|()| ubtile(at, &run(name)).stdout(Stdio::null()).spawn().unwrap());
            assert!(both.iter_mut().all(|child| child.wait().unwrap().success()));
            assert!(is_whole(&at.join(name)), "{name}");
        }
    }
    assert_eq!(at.read_dir().unwrap().count(), 3, "temporary files are left");
}

/// Killed at any moment, a folder is not there, or whole.
#[test]
fn a_kill_leaves_no_folder_or_a_whole_one() {
    let folder = tempdir().unwrap();
    let at = folder.path();
    let repro = wrong_program(at);
    let started = Instant::now();
    let args = format!("replay {repro} --output");
    assert_eq!(output(at, &format!("{args} page")).status.code(), Some(4));
    let (took, whole) = (started.elapsed(), final_names(&at.join("page")).len());
    let mut missing = 0;
    for part in 0..16 {
        let name = format!("page{part}");
        let mut child =
            ubtile(at, &format!("{args} {name}")).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(took * part / 12);
        child.kill().unwrap();
        child.wait().unwrap();
        let there = at.join(&name).exists();
        missing += usize::from(!there);
        assert!(!there || final_names(&at.join(&name)).len() == whole, "killed after {part} of 12 parts of its time");
    }
    assert!(missing > 0, "every run was faster than its kill");
}

/// Processes that write the same folder: none of them fails, and all files are there.
#[test]
fn many_processes_write_one_folder() {
    let folder = tempdir().unwrap();
    let at = folder.path();
    wrong_program(at);
    for round in 0..4 {
        // The folder is new, and then it is there.
        let args = format!("sim --program wrong.tile --output out{}", round / 2);
        let start = |_| ubtile(at, &args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let children: Vec<_> = (0..4).map(start).collect();
        for child in children {
            let result = child.wait_with_output().unwrap();
            assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
        }
        let out = at.join(format!("out{}", round / 2));
        assert!(["report.html", "report.json", "report.txt"].iter().all(|name| out.join(name).is_file()));
        assert_eq!(out.read_dir().unwrap().count(), final_names(&out).len(), "temporary files are left");
    }
}

/// Two searches that find the same failure in one folder: one file, whole.
#[test]
fn two_searches_write_one_folder() {
    let folder = tempdir().unwrap();
    let at = folder.path();
    failing_kernel(at);
    wrong_program(at);
    for (subject, file) in [
        ("im2col-backward --kernel fails.so", "im2col-backward-error-1.repro.json"),
        ("--program wrong.tile", "wrong-sanitizer-1.repro.json"),
    ] {
        let args = format!("fuzz {subject} --output new/found");
        let start = |_| ubtile(at, &args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let children: Vec<_> = (0..3).map(start).collect();
        for mut child in children {
            assert_eq!(child.wait().unwrap().code(), Some(4));
        }
        let found = at.join("new/found");
        assert_eq!(final_names(&found), [file]);
        assert_eq!(found.read_dir().unwrap().count(), 1, "temporary files are left");
        assert_eq!(output(at, &format!("replay new/found/{file}")).status.code(), Some(4));
        fs::remove_dir_all(at.join("new")).unwrap();
    }
}

/// The limit on the size of files stands for a full disk, in the middle of a report and of a repro file. What was found is said all
/// the same.
#[test]
fn a_full_disk_leaves_no_report() {
    let folder = tempdir().unwrap();
    let at = folder.path();
    failing_kernel(at);
    wrong_program(at);
    let before = final_names(at);
    for args in [
        "fuzz im2col-backward --kernel ./fails.so --output out",
        "fuzz --program wrong.tile --output out",
        "sim --program wrong.tile --output out",
        "plan im2col-backward --shape grad_output=1,9,3136 --input-size 56,56 --kernel-size 3,3 --padding 1,1 --output out",
    ] {
        let script = format!("trap '' XFSZ; ulimit -f 0; exec \"$0\" {args}");
        let mut command = Command::new("sh");
        let result = command.current_dir(at).args(["-c", &script, env!("CARGO_BIN_EXE_ubtile")]).stdout(Stdio::null());
        let result = result.stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
        let line = String::from_utf8(result.stderr).unwrap();
        let (code, begins, ends) = match args.split_once(' ') {
            Some(("fuzz", _)) => (4, "error: ", "; --seed 1 finds it again"),
            _ => (3, "error: out/", ""),
        };
        assert_eq!(result.status.code(), Some(code), "{args}: {line}");
        let full = format!("cannot be written: File too large (os error 27){ends}\n");
        assert!(line.starts_with(begins) && line.contains("out/") && line.ends_with(&full), "{line}");
        // No folder, or one with nothing in it; and nothing beside it.
        assert_eq!(at.join("out").read_dir().map_or(0, Iterator::count), 0, "{args}");
        assert!(final_names(at).iter().all(|name| name == "out" || before.contains(name)), "{args}");
    }
}

/// A folder that takes no file: nothing is computed, and the line says where it was to be.
#[test]
fn read_only_folders() {
    let folder = folder();
    let at = folder.path();
    let closed = at.join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
    // Whoever may do anything is let in all the same.
    if File::create(closed.join("try")).is_ok() {
        fs::remove_file(closed.join("try")).unwrap();
    } else {
        let line = "error: closed/out.npz: cannot be written: Permission denied (os error 13)\n";
        assert_eq!(fails(at, &run("closed/out.npz"), 3), line);
    }
    // Nobody writes to what is no folder, or to one that is none of a disk's.
    fs::write(at.join("file"), "").unwrap();
    let line = "error: file/out.npz: cannot be written: Not a directory (os error 20)\n";
    assert_eq!(fails(at, &run("file/out.npz"), 3), line);
    if Path::new("/proc/self").is_dir() {
        assert!(fails(at, &run("/proc/out.npz"), 3).starts_with("error: /proc/out.npz: cannot be written: "));
    }
    wrong_program(at);
    for args in [
        "plan replication-pad2d-backward --shape self=1,4,4 --padding 1,1,1,1 --output file",
        "sim --program wrong.tile --output file",
        "fuzz --program wrong.tile --output file",
        "fuzz im2col-backward --cases 20 --output file/found",
    ] {
        assert!(fails(at, args, 3).starts_with("error: file: "), "a folder of that name cannot be made: {args}");
    }
    // What was found is said also where its page cannot be.
    let replay = output(at, "replay wrong-sanitizer-1.repro.json --output file");
    let stderr = String::from_utf8(replay.stderr).unwrap();
    assert_eq!(replay.status.code(), Some(4), "{stderr}");
    assert!(stderr.starts_with("warning: no page and no trace: file: is no folder\n"), "{stderr}");
}

/// A pipe in front that breaks, and one behind that is closed, with every command that prints.
#[test]
fn broken_pipes() {
    let folder = folder();
    let at = folder.path();
    let plan = "plan replication-pad2d-backward --shape self=1,4,4 --padding 1,1,1,1";
    fs::write(at.join("right.tile"), "cores 1\nub a: 256\ndup.f32 a[0], 1.0 repeat 1\n").unwrap();
    let commands = ["ops", "products", plan, "fuzz im2col-backward --cases 20", "fuzz --program right.tile --cases 5"];
    for args in commands.into_iter().map(Into::into).chain([run("out.npz")]) {
        for format in ["table", "json"] {
            let args = format!("{args} --format {format}");
            let mut child = ubtile(at, &args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            drop(child.stdout.take());
            let Ok(result) = child.wait_with_output() else { panic!("{args}") };
            let stderr = String::from_utf8(result.stderr).unwrap();
            assert!(result.status.success() && !stderr.contains("error"), "{args}: {stderr}");
        }
    }
    assert!(is_whole(&at.join("out.npz")), "who reads the report is not who reads the result");
}

/// The process of a kernel ends with its parent, killed or not: its stdin does. Also while a case is computed, for ever.
#[test]
fn a_kernels_process_does_not_outlive_its_parent() {
    let folder = tempdir().unwrap();
    let at = folder.path();
    failing_kernel(at);
    // A repro file in one line has all that a case has.
    assert_eq!(output(at, "fuzz im2col-backward --kernel fails.so").status.code(), Some(4));
    let repro = fs::read_to_string(at.join("im2col-backward-error-1.repro.json")).unwrap();
    let case = serde_json::from_str::<serde_json::Value>(&repro).unwrap().to_string() + "\n";
    let spins = "#include <stdint.h>\n#include <stdio.h>\n\
        int32_t ubtile_kernel(const void *call) { (void)call; fclose(fopen(\"spinning\", \"w\")); for (;;) {} }\n";
    kernel(at, "spins", spins);
    for (library, says) in [("fails.so", ""), ("fails.so", "no case\n"), ("spins.so", &case)] {
        let mut worker = ubtile(at, &format!("kernel-worker {library}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdin = worker.stdin.take().unwrap();
        stdin.write_all(says.as_bytes()).unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        let wait = |until: &mut dyn FnMut() -> bool, what: &str| {
            while !until() {
                assert!(Instant::now() < deadline, "{what}");
                thread::sleep(Duration::from_millis(10));
            }
        };
        if library == "spins.so" {
            wait(&mut || at.join("spinning").exists(), "the kernel is not called");
            assert!(worker.try_wait().unwrap().is_none());
        }
        drop(stdin);
        wait(&mut || worker.try_wait().unwrap().is_some(), "the worker is still there");
    }
}
