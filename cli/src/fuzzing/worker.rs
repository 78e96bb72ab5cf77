//! The process in which a shared library's kernel runs, seen from outside.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use ubtile_testkit::problems::output;
use ubtile_testkit::{Data, expected};
use ubtile_tiling::Tensor;

use super::document::Document;
use super::library::{ANSWER, Answer};
use super::{Case, Finding, Kind, Verdict, bits, judge, with_canonical_nans};
use crate::args::KERNEL_WORKER;
use crate::error::Error;

/// A small case that takes longer will not end.
const PATIENCE: Duration = Duration::from_secs(10);

/// What `ubtile_kernel.h` calls `UBTILE_OK` and `UBTILE_SKIPPED`.
const OK: i32 = 0;
const SKIPPED: i32 = 1;

/// Runs cases in a process, and in another one when that has ended.
#[derive(Debug)]
pub(crate) struct Worker {
    library: PathBuf,
    process: Option<Process>,
}

#[derive(Debug)]
struct Process {
    child: Child,
    stdin: ChildStdin,
    answers: Receiver<Answer>,
}

/// Why there is no answer.
enum Silence {
    Ended(ExitStatus),
    TooLong,
    Io(std::io::Error),
}

impl Worker {
    /// Of a library that has a kernel.
    pub(crate) fn new(library: &Path) -> Result<Self, Error> {
        let mut worker = Self { library: library.into(), process: None };
        worker.process = Some(worker.start()?);
        Ok(worker)
    }

    fn start(&self) -> Result<Process, Error> {
        let failed = |e| Error::Unusable(format!("a process for the kernel cannot be started: {e}"));
        let mut child = Command::new(std::env::current_exe().map_err(failed)?)
            .args([KERNEL_WORKER.as_ref(), self.library.as_os_str()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (Some(stdin), Some(stdout)) = (stdin, stdout) else {
            return Err(failed(std::io::ErrorKind::BrokenPipe.into()));
        };
        let (send, answers) = mpsc::channel();
        thread::spawn(move || {
            // Lines that are no answers are the kernel's; they need not be text.
            for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
                let answer = line.strip_prefix(ANSWER.as_bytes()).and_then(|json| serde_json::from_slice(json).ok());
                if answer.is_some_and(|answer| send.send(answer).is_err()) {
                    break;
                }
            }
        });
        let mut process = Process { child, stdin, answers };
        match process.wait() {
            Ok(Answer::Ready) => Ok(process),
            Ok(Answer::NoKernel(problem)) => Err(Error::file(&self.library, problem)),
            Ok(Answer::Returned { .. }) | Err(Silence::TooLong) => {
                Err(Error::file(&self.library, "does not finish loading"))
            }
            Err(Silence::Ended(status)) => Err(Error::file(&self.library, format_args!("ends the process: {status}"))),
            Err(Silence::Io(e)) => Err(failed(e)),
        }
    }

    /// Runs a case and judges it by the reference.
    pub(super) fn attempt(&mut self, case: &Case) -> Verdict {
        let wrong = |kind, message: String| Verdict::Wrong(Finding { kind, message });
        let Ok(expected) = expected(&case.problem, &case.inputs) else { return Verdict::Skipped };
        let mut process = match self.process.take().map_or_else(|| self.start(), Ok) {
            Ok(process) => process,
            Err(error) => return wrong(Kind::Crash, error.to_string()),
        };
        let answer = match process.ask(case) {
            Ok(answer) => answer,
            Err(Silence::Ended(status)) => {
                return wrong(Kind::Crash, format!("the kernel ended its process: {status}"));
            }
            Err(Silence::TooLong) => {
                return wrong(Kind::Hang, format!("the kernel did not return within {} s", PATIENCE.as_secs()));
            }
            Err(Silence::Io(e)) => return wrong(Kind::Crash, format!("the kernel's process is gone: {e}")),
        };
        self.process = Some(process);
        let Answer::Returned { status, outputs, outside } = answer else {
            return wrong(Kind::Error, "the kernel's process has lost count".into());
        };
        match (status, outside) {
            (_, Some(outside)) => return wrong(Kind::Outside, outside),
            (SKIPPED, None) => return Verdict::Skipped,
            (OK, None) => {}
            (status, None) => return wrong(Kind::Error, format!("the kernel returned {status}")),
        }
        let mut results: Vec<(Tensor, Data)> = Vec::new();
        for slot in case.problem.tensors().filter(|slot| slot.output) {
            let mut data = output(Some(slot));
            let bytes = outputs.get(slot.tensor.name()).and_then(|text| bits::read_bytes(text));
            match bytes {
                Some(bytes) if bytes.len() == data.bytes().len() => data.bytes_mut().copy_from_slice(&bytes),
                _ => return wrong(Kind::Error, format!("{} has not come back", slot.tensor)),
            }
            if let Some((_, expected)) = expected.iter().find(|(tensor, _)| *tensor == slot.tensor) {
                with_canonical_nans(&mut data, expected);
            }
            results.push((slot.tensor, data));
        }
        judge(&results, &expected).map_or(Verdict::Fine, Verdict::Wrong)
    }
}

impl Process {
    fn ask(&mut self, case: &Case) -> Result<Answer, Silence> {
        let line = serde_json::to_string(&Document::new(case)).map_err(|e| Silence::Io(e.into()))? + "\n";
        // A process that has ended does not read; how it ended is what matters.
        let _ = self.stdin.write_all(line.as_bytes()).and_then(|()| self.stdin.flush());
        self.wait()
    }

    fn wait(&mut self) -> Result<Answer, Silence> {
        match self.answers.recv_timeout(PATIENCE) {
            Ok(answer) => Ok(answer),
            Err(RecvTimeoutError::Timeout) => Err(Silence::TooLong),
            // Its stdout is closed.
            Err(RecvTimeoutError::Disconnected) => Err(self.child.wait().map_or_else(Silence::Io, Silence::Ended)),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
