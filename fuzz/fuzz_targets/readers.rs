//! Any bytes as a file of each kind that the command reads: an error in one line, or contents, those of tensors, repro files and programs
//! the same when they are written and read again. The first byte tells the kind: `n` npz, `s` safetensors, `t` a product in TOML, `r` a repro file in JSON, `p` a tile program,
//! `c` a profiler's list of calls, `j` a result in JSON, `o` the tables of a profiler's folder, each behind a byte 0.
#![no_main]

// The readers are parts of a binary, which no other crate can name: they are compiled here again. Moving one of them is seen when
// `.ci/fuzz.sh` builds the targets.
#[allow(dead_code, reason = "only the readers are used here")]
#[path = "../../cli/src"]
mod cli {
    pub mod error;
    pub mod files;
    pub mod fuzzing {
        mod bits;
        mod case;
        mod document;

        use case::{Case, Way};

        /// The case of a repro file's JSON; `None` where it is none.
        pub fn read(json: &[u8]) -> Option<Result<Case, String>> {
            serde_json::from_slice::<document::Document>(json).ok().map(|document| document.case())
        }

        /// The JSON of a case.
        pub fn write(case: &Case) -> Vec<u8> {
            serde_json::to_vec(&document::Document::new(case)).expect("a document is JSON")
        }
    }
    pub mod op_summary;
    pub mod results;
    pub mod tensors;
}

use std::fs;
use std::path::Path;

use cli::error::Error;
use cli::fuzzing;
use cli::op_summary::Summary;
use cli::results::{self, TASK};
use cli::tensors::{Input, Output, Stored};
// As the readers name them.
use cli::{error, files};
use libfuzzer_sys::{Corpus, fuzz_target};
use tempfile::TempDir;
use ubtile_sim::product::Soc;
use ubtile_sim::text;
use ubtile_testkit::bits_equal;
use ubtile_tiling::{Tensor, TensorDesc};

/// The names that files are asked for.
const NAMES: [Tensor; 9] = [
    Tensor::GradOutput,
    Tensor::Input,
    Tensor::Grid,
    Tensor::InputGrad,
    Tensor::GridGrad,
    Tensor::SelfTensor,
    Tensor::Indices,
    Tensor::Out,
    Tensor::GradInput,
];

fuzz_target!(|bytes: &[u8]| -> Corpus {
    match bytes {
        [b'n', file @ ..] => tensor_file("npz", file),
        [b's', file @ ..] => tensor_file("safetensors", file),
        [b't', file @ ..] => product(file),
        [b'r', file @ ..] => repro(file),
        [b'p', file @ ..] => program(file),
        [b'c', file @ ..] => calls(file),
        [b'j', file @ ..] => result("report.json", &[("report.json", file)]),
        [b'o', tables @ ..] => {
            let names = ["OpBasicInfo.csv", "PipeUtilization.csv", "Memory_1.csv"];
            result("", &names.into_iter().zip(tables.split(|&byte| byte == 0)).collect::<Vec<_>>());
        }
        _ => return Corpus::Reject,
    }
    Corpus::Keep
});

/// An error is one line that says something.
fn one_line(error: &impl ToString) {
    let line = error.to_string();
    assert!(!line.is_empty() && line.lines().count() == 1, "{line:?}");
}

/// A folder that a run has to itself, in memory where there is such a one.
fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    tempfile::tempdir_in(parent).expect("a folder of its own")
}

fn tensor_file(extension: &str, bytes: &[u8]) {
    let folder = folder();
    let path = folder.path().join("in").with_extension(extension);
    fs::write(&path, bytes).expect("a file of its own");
    let read = match contents(&path) {
        Ok(read) => read,
        Err(error) => return one_line(&error),
    };
    let again = folder.path().join("again").with_extension(extension);
    let output = Output::create(&again, read.iter().map(|(tensor, desc, _)| (tensor.name(), desc.dtype)));
    let stored: Vec<_> =
        read.iter().map(|(tensor, desc, bytes)| Stored { name: tensor.name(), desc: *desc, bytes }).collect();
    output.and_then(|output| output.save(&stored)).expect("what was read can be written");
    assert!(contents(&again).expect("what was written can be read") == read, "another file");
}

/// All tensors of a file that an operator could ask for.
fn contents(path: &Path) -> Result<Vec<(Tensor, TensorDesc, Vec<u8>)>, Error> {
    let mut file = Input::open(path)?;
    let _ = file.names();
    let mut read = Vec::new();
    for tensor in NAMES {
        let Some(desc) = file.desc(tensor.name())? else { continue };
        let bytes = file.read(tensor.name())?.to_vec();
        let size = desc.shape.numel().expect("so many elements were read") * desc.dtype.size();
        assert_eq!(bytes.len(), size, "{tensor} {desc:?}");
        read.push((tensor, desc, bytes));
    }
    Ok(read)
}

fn product(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Soc::parse("mine", "mine.toml", text) {
        Ok(soc) => assert!(!soc.facts().is_empty(), "a product without a fact"),
        Err(error) => one_line(&error),
    }
}

fn repro(bytes: &[u8]) {
    let case = match fuzzing::read(bytes) {
        None => return,
        Some(Err(problem)) => return one_line(&problem),
        Some(Ok(case)) => case,
    };
    let again = fuzzing::read(&fuzzing::write(&case)).expect("a document").expect("the case was fine");
    assert_eq!((again.problem, again.way), (case.problem, case.way));
    for ((tensor, a), (_, b)) in again.inputs.tensors().into_iter().zip(case.inputs.tensors()) {
        assert!(bits_equal(a, b).is_ok(), "{tensor} has changed");
    }
}

fn program(bytes: &[u8]) {
    let Ok(written) = std::str::from_utf8(bytes) else { return };
    match text::parse_source(written) {
        Ok((source, _)) => {
            let printed = text::print(&source);
            let (again, _) = text::parse_source(&printed).unwrap_or_else(|error| panic!("{error}\n{printed}"));
            assert_eq!(again, source, "{printed}");
            assert_eq!(text::print(&again), printed);
        }
        Err(error) => one_line(&error),
    }
    // What a product says of it comes with the same places.
    if let Err(error) = text::parse(written, &Soc::builtin("Ascend910B1").expect("a product of this model")) {
        one_line(&error);
    }
}

fn calls(bytes: &[u8]) {
    let folder = folder();
    let path = folder.path().join("op_summary.csv");
    fs::write(&path, bytes).expect("a file of its own");
    match Summary::read(&path) {
        Ok(summary) => {
            let lines = bytes.iter().filter(|&&byte| matches!(byte, b'\n' | b'\r')).count() + 1;
            let calls: usize = summary.calls.iter().map(|call| call.count).sum();
            assert!(calls + summary.skipped_rows <= lines, "{summary:?} of {lines} lines");
            for call in &summary.calls {
                match &call.words {
                    Ok(words) => assert!(!words.is_empty(), "{call:?}"),
                    Err(problem) => one_line(problem),
                }
            }
        }
        Err(error) => one_line(&error),
    }
}

/// Files of a result in a folder, of which `name` is read.
fn result(name: &str, files: &[(&str, &[u8])]) {
    let folder = folder();
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).expect("a file of its own");
    }
    match results::read(&folder.path().join(name)) {
        Ok((numbers, _)) => assert!(numbers[TASK] > 0.0, "{numbers:?}"),
        Err(error) => one_line(&error),
    }
}
