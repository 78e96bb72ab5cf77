//! Which tests reach a mutant, and whether one of them notices it.

use std::{
    collections::{BTreeMap, HashSet},
    io::Read as _,
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::{Command, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use wait4::{ResUse, Wait4 as _};

use crate::{
    compile::{Binary, Built},
    list::Mutant,
};

/// What became of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A test failed.
    Found,
    /// A test did not end in many times its time.
    Hangs,
    /// All tests that reach it passed.
    Survives,
    /// No test reaches it.
    NotReached,
    /// It does not compile.
    Unviable,
}

impl Outcome {
    pub fn word(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::Hangs => "hangs",
            Self::Survives => "survives",
            Self::NotReached => "not reached",
            Self::Unviable => "does not compile",
        }
    }
}

/// A test, what it takes and which mutants it reaches.
struct Test {
    binary: usize,
    name: String,
    time: Duration,
    reached: HashSet<usize>,
}

/// Runs the tests of every mutant.
pub fn all(built: &Built, mutants: &[Mutant]) -> Result<Vec<Outcome>> {
    let folder = std::env::temp_dir().join(format!("mutants-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let mut names = Vec::new();
    for (binary, Binary { path, folder, .. }) in built.binaries.iter().enumerate() {
        let list = Command::new(path)
            .current_dir(folder)
            .args(["--list", "--format", "terse"])
            .output()
            .context("a test binary")?;
        let list = String::from_utf8(list.stdout)?;
        names.extend(list.lines().filter_map(|line| Some((binary, line.strip_suffix(": test")?.to_owned()))));
    }
    let mut tests = side_by_side(names.len(), "tests", |at| {
        let (binary, name) = &names[at];
        let file = folder.join(at.to_string());
        let (end, time) = run(&built.binaries[*binary], &[name], "reached", &file, Duration::from_secs(600))?;
        ensure!(end == End::Passed, "{name} fails without a mutant");
        let reached = std::fs::read_to_string(&file).unwrap_or_default();
        Ok(Test { binary: *binary, name: name.clone(), time, reached: reached.lines().flat_map(str::parse).collect() })
    })?;
    tests.sort_by_key(|test| test.time);
    let all: Duration = tests.iter().map(|test| test.time).sum();
    eprintln!("{} tests of {} s", tests.len(), all.as_secs());
    std::fs::remove_dir_all(&folder)?;

    side_by_side(mutants.len(), "mutants", |number| {
        if built.left_out.contains(&number) {
            return Ok(Outcome::Unviable);
        }
        let reaching: Vec<&Test> = tests.iter().filter(|test| test.reached.contains(&number)).collect();
        let outcome = one(&built.binaries, number, &reaching)?;
        if outcome == Outcome::Survives {
            eprintln!("\rsurvives {} tests: {}", reaching.len(), mutants[number]);
        }
        Ok(outcome)
    })
}

/// What the tests of a mutant may take together. A few that go through millions of cells would take most of the time, and find
/// little more.
const ENOUGH: Duration = Duration::from_secs(20);

/// Runs the tests that reach a mutant, the fastest first, more and more of them in one process, and at least one.
fn one(binaries: &[Binary], number: usize, mut tests: &[&Test]) -> Result<Outcome> {
    if tests.is_empty() {
        return Ok(Outcome::NotReached);
    }
    let mut all = Duration::ZERO;
    let enough = tests.iter().position(|test| {
        all += test.time;
        all > ENOUGH
    });
    tests = &tests[..enough.unwrap_or(tests.len()).max(1)];
    let mut budget = Duration::from_millis(50);
    while !tests.is_empty() {
        let mut time = Duration::ZERO;
        let count = tests.iter().position(|test| {
            time += test.time;
            time >= budget
        });
        let count = count.map_or(tests.len(), |last| last + 1);
        let (batch, rest) = tests.split_at(count);
        let mut by_binary = BTreeMap::<usize, Vec<&str>>::new();
        for test in batch {
            by_binary.entry(test.binary).or_default().push(&test.name);
        }
        for (binary, names) in by_binary {
            match run(&binaries[binary], &names, &number.to_string(), Path::new(""), time)?.0 {
                End::Passed => {}
                End::Failed => return Ok(Outcome::Found),
                End::Late => return Ok(Outcome::Hangs),
            }
        }
        tests = rest;
        budget *= 8;
    }
    Ok(Outcome::Survives)
}

#[derive(Debug, PartialEq, Eq)]
enum End {
    Passed,
    Failed,
    Late,
}

/// The signal of Linux to a process whose seconds are used up.
const SIGXCPU: i32 = 24;

/// Runs some tests of a binary that take so long without a mutant: in 8 GB of address space, since a wrong size is soon a large
/// one, and in many times the time. Tells what it took of a core.
fn run(binary: &Binary, names: &[&str], active: &str, reached: &Path, time: Duration) -> Result<(End, Duration)> {
    // Seconds of a core, which others at work do not use up; by the clock only for what waits for itself.
    let seconds = 5 + 4 * time.as_secs();
    let mut child = Command::new("sh")
        .args(["-c", &format!("ulimit -v 8000000; ulimit -t {seconds}; exec \"$0\" \"$@\"")])
        .arg(&binary.path)
        .args(["--exact", "--test-threads", "1", "--quiet"])
        .args(names)
        .current_dir(&binary.folder)
        .env("UBTILE_MUTANT", active)
        .env("UBTILE_REACHED", reached)
        .env("CARGO_MANIFEST_DIR", &binary.folder)
        .env("PROPTEST_MAX_SHRINK_ITERS", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .context("a test binary")?;
    let mut out = child.stdout.take().context("a pipe")?;
    // Whoever reads knows when the last writer is gone, and a full pipe stops nobody.
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut said = Vec::new();
        let _ = out.read_to_end(&mut said);
        let _ = sender.send(());
    });
    if receiver.recv_timeout(Duration::from_secs(60 * seconds)).is_err() {
        child.kill()?;
        child.wait()?;
        return Ok((End::Late, time));
    }
    let ResUse { status, rusage } = child.wait4()?;
    let end = match status.signal() {
        Some(SIGXCPU) => End::Late,
        _ if status.success() => End::Passed,
        _ => End::Failed,
    };
    Ok((end, rusage.utime + rusage.stime))
}

/// Does something for each number below `count`, on every core, and says how far it is.
fn side_by_side<T: Send>(count: usize, what: &str, each: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(count));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= count {
                        return;
                    }
                    let result = each(at);
                    let mut done = done.lock().expect("no thread panics");
                    done.push((at, result));
                    eprint!("\r{} of {count} {what} ", done.len());
                }
            });
        }
    });
    eprintln!();
    let mut done = done.into_inner().expect("no thread panics");
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}
