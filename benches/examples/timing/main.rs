//! Times a kernel beside the bound that no kernel can pass: reading its inputs once and writing its outputs once.
//!
//! `timing [--threads N] [--seconds S] [--level L] [--walk] [--workspace-limit BYTES] [--in FILE] CASE...` prints one JSON object
//! a case. A case is a line like
//! `im2col-backward f32 8,64,56,56 k3 s1 p1`, `max-unpool2d-backward f16 8,64,56,56 x2 i64` or
//! `replication-pad2d-backward c64 8,64,56,56 pad 1,1,1,1`, with `in=LAYOUT` and `out=LAYOUT` behind it where tensors are not
//! contiguous; `--walk` plans without copies of inputs that would pay. Kernel and bound take turns on the same buffers, so they
//! find the same caches; `FILE` brings the tensors that another program was timed on.

mod case;
mod copy;
mod streaming;
mod words;

use std::fmt::Display;
use std::hint::black_box;
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Instant;

use ubtile_kernels::{Level, Parallel};
use ubtile_tiling::{PlanOptions, TargetSpec};

use self::case::Case;

/// Each item on a thread of its own, the last one on the caller's.
#[derive(Clone, Copy)]
struct Threads(NonZeroUsize);

impl Parallel for Threads {
    fn for_each<I, F>(&self, items: I, work: F)
    where
        I: Iterator + Send,
        I::Item: Send,
        F: Fn(I::Item) + Sync,
    {
        if self.0.get() == 1 {
            return items.for_each(work);
        }
        let work = &work;
        std::thread::scope(|scope| {
            let mut items = items.peekable();
            while let Some(item) = items.next() {
                if items.peek().is_none() {
                    work(item);
                } else {
                    scope.spawn(move || work(item));
                }
            }
        });
    }
}

/// Milliseconds of some calls.
#[derive(Default)]
struct Times(Vec<f64>);

impl Times {
    fn time(&mut self, call: impl FnOnce()) {
        let start = Instant::now();
        call();
        self.0.push(start.elapsed().as_secs_f64() * 1e3);
    }

    fn min(&self) -> f64 {
        self.0.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn median(&mut self) -> f64 {
        self.0.sort_by(f64::total_cmp);
        self.0[self.0.len() / 2]
    }
}

fn measure(mut case: Case, level: Level, threads: Threads, seconds: f64, name: &str) {
    let mut workspace = vec![0; case.plan.workspace_bytes()];
    let mut inputs = case.inputs.iter().map(|data| data.bytes().len()).sum::<usize>();
    let outputs = case.output.bytes().len() + case.second.as_ref().map_or(0, |second| second.bytes().len());
    case.run(level, &threads, &mut workspace);
    case.run(level, &threads, &mut workspace);
    let (mut kernel, mut copies) = (Times::default(), Times::default());
    let mut loops = streaming::LOOPS.map(|_| Times::default());
    let end = Instant::now();
    while kernel.0.len() < 5 || (end.elapsed().as_secs_f64() < seconds && kernel.0.len() < 4000) {
        kernel.time(|| case.run(level, &threads, &mut workspace));
        for (times, which) in loops.iter_mut().zip(streaming::LOOPS) {
            let Case { inputs, output, .. } = &mut case;
            times.time(|| {
                black_box(streaming::run(which, threads, inputs, output));
            });
        }
        if let Some(to) = &mut case.contiguous {
            copies.time(|| copy::copy(&case.inputs[0], to));
        }
    }
    let (best, which) = loops
        .iter_mut()
        .zip(streaming::LOOPS)
        .map(|(t, which)| (t.min(), which))
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .expect("there are loops");
    let median = loops.iter_mut().map(Times::median).fold(f64::INFINITY, f64::min);
    if copies.0.is_empty() {
        copies.0.push(0.0);
    }
    inputs += outputs;
    println!(
        "{{\"case\":\"{name}\",\"bytes\":{inputs},\"ms\":{:.6},\"min_ms\":{:.6},\"bound_ms\":{median:.6},\
         \"min_bound_ms\":{best:.6},\"loop\":\"{which:?}\",\"of_bound\":{:.3},\"copy_ms\":{:.6},\"workspace_bytes\":{}}}",
        kernel.median(),
        kernel.min(),
        best / kernel.min(),
        copies.min(),
        workspace.len(),
    );
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("timing: {message}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), String> {
    let (mut level, mut threads, mut seconds, mut file) = (Level::detect(), NonZeroUsize::MIN, 0.3, None);
    let (mut caches, mut options) = (true, PlanOptions::default());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--threads" => threads = parsed(&value()?)?,
            "--seconds" => seconds = parsed(&value()?)?,
            "--level" => {
                let name = value()?;
                level = Level::from_name(&name).ok_or_else(|| format!("`{name}` is no level of this machine"))?;
            }
            "--walk" => caches = false,
            "--workspace-limit" => options.workspace_limit = Some(parsed(&value()?)?),
            "--in" => {
                let path = value()?;
                file = Some(std::fs::read(&path).map_err(|error| format!("{path}: {error}"))?);
            }
            option if option.starts_with("--") => return Err(format!("`{option}` is no option")),
            name => {
                let mut target = TargetSpec::host(threads.get());
                target.capabilities.caches &= caches;
                let case = Case::new(name, &target, &options, file.as_deref());
                let case = case.map_err(|message| format!("{name}: {message}"))?;
                measure(case, level, Threads(threads), seconds, name);
            }
        }
    }
    Ok(())
}

fn parsed<T: FromStr<Err: Display>>(word: &str) -> Result<T, String> {
    word.parse().map_err(|error| format!("`{word}`: {error}"))
}
