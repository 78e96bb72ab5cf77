//! Commands in documents and in help: those with an example program work as they stand, from the root of the repository.

use std::fs;
use std::path::Path;

use ubtile_testkit::Data;
use ubtile_tiling::{Dtype, TensorDesc};

use super::{files, ok, output};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Lines of a text that run an example program.
fn commands(text: &str) -> Vec<String> {
    let text = text.replace("\\\n", " ");
    let line = |line: &str| {
        let line = line.trim_start().trim_start_matches("$ ").strip_prefix("ubtile ")?;
        let line = line.split(['#', '>']).next().unwrap_or_default().trim();
        // What `replay` runs again, others find first. How a command may be put is none.
        let runs = line.contains("--program") && !line.starts_with("replay") && !line.contains("[OPTIONS]");
        runs.then(|| line.to_owned())
    };
    text.lines().filter_map(line).collect()
}

#[test]
fn example_programs_run_as_documents_say() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let programs = folder.join("sim/examples");
    fs::create_dir_all(&programs).unwrap();
    for entry in fs::read_dir(Path::new(ROOT).join("sim/examples")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "tile") {
            fs::copy(&path, programs.join(path.file_name().unwrap())).unwrap();
        }
    }
    let tensor = Data::filled(TensorDesc::contiguous(Dtype::F16, &[32, 4096]).unwrap(), 0);
    files::write(&folder.join("in.npz"), &[("x", &tensor), ("y", &tensor)]);

    let mut texts = vec![fs::read_to_string(Path::new(ROOT).join("README.md")).unwrap()];
    for entry in fs::read_dir(Path::new(ROOT).join("docs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "md") {
            texts.push(fs::read_to_string(path).unwrap());
        }
    }
    for command in ["", "sim ", "compare ", "sanitize ", "disasm ", "fuzz "] {
        texts.push(ok(folder, &format!("{command}--help")));
    }
    let mut all: Vec<String> = texts.iter().flat_map(|text| commands(text)).collect();
    all.sort_unstable();
    all.dedup();
    let (examples, others): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|line| line.contains("--program sim/examples/"));
    assert!(examples.len() > 15, "{examples:#?}");
    for mut line in examples {
        if line.starts_with("fuzz") {
            // As long as somebody wants to wait; here a few cases will do.
            let words: Vec<_> = line.split_whitespace().collect();
            let time = words.iter().position(|word| *word == "--time");
            let words = words.iter().enumerate().filter(|(i, _)| time.is_none_or(|at| *i != at && *i != at + 1));
            line = words.map(|(_, word)| *word).collect::<Vec<_>>().join(" ") + " --cases 2";
            fs::create_dir_all(folder.join("findings")).unwrap();
        }
        let result = output(folder, &line);
        assert!(result.status.success(), "ubtile {line}: {}", String::from_utf8_lossy(&result.stderr));
    }
    // The others say what their programs are, and where they come from.
    for line in others {
        let known = ["race.tile", "racy.tile"];
        assert!(known.iter().any(|name| line.contains(name)), "nobody has the program of: ubtile {line}");
    }
}
