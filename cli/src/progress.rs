//! A sign of life on stderr, for what takes longer than a second.

use std::io::{IsTerminal, Write, stderr};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;

/// Silent for so long.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often a log that is no terminal is told.
const LOG_EVERY: Duration = Duration::from_secs(30);

/// Announces a step until it is dropped: a spinner on a terminal, lines in a log.
#[derive(Debug)]
pub(crate) struct Progress {
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Begins a step, such as `reading x.npz`.
    pub(crate) fn new(step: impl Into<String>) -> Self {
        let (step, (stop, stopped)) = (step.into(), mpsc::channel());
        let started = Instant::now();
        let announce = move || {
            if stopped.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            if stderr().is_terminal() {
                let bar = ProgressBar::new_spinner().with_message(step).with_elapsed(started.elapsed());
                bar.enable_steady_tick(Duration::from_millis(200));
                let _ = stopped.recv();
                bar.finish_and_clear();
                return;
            }
            loop {
                let _ = writeln!(stderr(), "ubtile: {step} ({} s)", started.elapsed().as_secs());
                if stopped.recv_timeout(LOG_EVERY) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        };
        Self { stop: Some(stop), thread: thread::Builder::new().spawn(announce).ok() }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
