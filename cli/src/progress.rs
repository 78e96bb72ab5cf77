//! A sign of life on stderr, for what takes longer than a second.

use std::io::{IsTerminal, Write, stderr};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;

/// Silent for so long.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often a log that is no terminal is told.
const LOG_EVERY: Duration = Duration::from_secs(30);

/// How often a terminal is told of another step.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Announces a step until it is dropped: a spinner on a terminal, lines in a log.
#[derive(Debug)]
pub(crate) struct Progress {
    step: Arc<Mutex<String>>,
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Begins a step, such as `reading x.npz`.
    pub(crate) fn new(step: impl Into<String>) -> Self {
        let (step, (stop, stopped)) = (Arc::new(Mutex::new(step.into())), mpsc::channel());
        let now = {
            let step = Arc::clone(&step);
            move || step.lock().unwrap_or_else(PoisonError::into_inner).clone()
        };
        let started = Instant::now();
        let announce = move || {
            if stopped.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            if stderr().is_terminal() {
                let bar = ProgressBar::new_spinner().with_message(now()).with_elapsed(started.elapsed());
                bar.enable_steady_tick(Duration::from_millis(200));
                while stopped.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                    bar.set_message(now());
                }
                bar.finish_and_clear();
                return;
            }
            loop {
                let _ = writeln!(stderr(), "ubtile: {} ({} s)", now(), started.elapsed().as_secs());
                if stopped.recv_timeout(LOG_EVERY) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        };
        Self { step, stop: Some(stop), thread: thread::Builder::new().spawn(announce).ok() }
    }

    /// Goes on with another step.
    pub(crate) fn say(&self, step: String) {
        *self.step.lock().unwrap_or_else(PoisonError::into_inner) = step;
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
