//! Callbacks on their way from streams to threads of the client's.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use crate::client::Callback;
use crate::monitor::Monitor;
use crate::shared::Shared;
use crate::stream::PATIENCE;

/// By the POSIX ids of the threads. They stay, since callbacks may wait in them for a thread that comes again.
static THREADS: Monitor<BTreeMap<u64, Shared<Reports>>> = Monitor::new(BTreeMap::new());

/// The callbacks for one thread.
pub(crate) struct Reports {
    pub(crate) thread: u64,
    waiting: Monitor<VecDeque<(Callback, Shared<Report>)>>,
}

/// How far a callback is.
pub(crate) struct Report(Monitor<Stage>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waiting,
    Called,
    Done,
}

impl Reports {
    /// Those for the thread with this POSIX id.
    pub(crate) fn of(thread: u64) -> Shared<Self> {
        let new = || Shared::new(Self { thread, waiting: Monitor::new(VecDeque::new()) });
        Shared::clone(THREADS.lock().entry(thread).or_insert_with(new))
    }

    /// Puts a callback behind the others.
    pub(crate) fn add(&self, callback: Callback) -> Shared<Report> {
        let report = Shared::new(Report(Monitor::new(Stage::Waiting)));
        let mut waiting = self.waiting.lock();
        waiting.push_back((callback, report.clone()));
        waiting.notify();
        report
    }

    /// Takes the next callback and calls it; `false` when none came in time.
    pub(crate) fn process(&self, most: Option<Duration>) -> bool {
        let deadline = most.map(|most| Instant::now() + most);
        let mut waiting = self.waiting.lock();
        let (callback, report) = loop {
            if let Some(next) = waiting.pop_front() {
                break next;
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return false;
            }
            waiting.wait(left);
        };
        drop(waiting);
        report.reach(Stage::Called);
        callback.call();
        report.reach(Stage::Done);
        true
    }
}

impl Report {
    fn reach(&self, next: Stage) {
        let mut stage = self.0.lock();
        *stage = next;
        stage.notify();
    }

    /// Waits until the callback has returned, unless `aborted`, or unless it is not called yet and no longer `expected`.
    pub(crate) fn wait(&self, aborted: impl Fn() -> bool, expected: impl Fn() -> bool) {
        let mut stage = self.0.lock();
        while *stage != Stage::Done && !aborted() && (*stage == Stage::Called || expected()) {
            stage.wait(Some(PATIENCE));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::ffi::c_void;
    use std::ptr;

    use super::*;
    use crate::client;
    use crate::stream::{Stream, Task};

    thread_local! {
        /// Callbacks on this thread, which is a test's own.
        static CALLS: Cell<u32> = const { Cell::new(0) };
    }

    extern "C-unwind" fn count(_: *mut c_void) {
        CALLS.set(CALLS.get() + 1);
    }

    fn submit(stream: &Shared<Stream>, reports: &Shared<Reports>) {
        let callback = Callback::new(Some(count), ptr::null_mut()).unwrap();
        stream.submit(Task::Report(reports.clone(), callback, true)).unwrap();
    }

    #[test]
    fn a_stream_that_is_unsubscribed_goes_on_and_others_wait() {
        // No thread has this id.
        let reports = Reports::of(1);
        let [first, second] = [0; 2].map(|_| Stream::new(0, 0, 0));
        for stream in [&first, &second] {
            stream.subscribe(Some(reports.clone()));
            submit(stream, &reports);
            assert_eq!(stream.synchronize(Some(Duration::from_millis(30)), 9).unwrap_err().code, 9);
        }
        first.subscribe(None);
        first.synchronize(None, 9).unwrap();
        assert_eq!(second.synchronize(Some(Duration::from_millis(30)), 9).unwrap_err().code, 9);
        // Both callbacks are still to come.
        assert!(Reports::of(1).process(Some(Duration::ZERO)) && Reports::of(1).process(Some(Duration::ZERO)));
        second.synchronize(None, 9).unwrap();
        assert_eq!(CALLS.get(), 2);
        assert!(!reports.process(Some(Duration::ZERO)));
        [first, second].iter().for_each(|stream| stream.close(false));
    }

    #[test]
    fn a_callback_that_is_called_is_waited_for() {
        let report = Report(Monitor::new(Stage::Called));
        let asked = Cell::new(false);
        report.wait(|| asked.replace(true), || false);
        // The wait has gone round once, and has ended as it was aborted.
        assert!(asked.get() && *report.0.lock() == Stage::Called);
        report.reach(Stage::Done);
        report.wait(|| false, || true);
    }

    #[test]
    fn a_thread_that_ends_a_stream_is_not_waited_for() {
        let reports = Reports::of(client::thread_id());
        let [first, second] = [0; 2].map(|_| Stream::new(0, 0, 0));
        for stream in [&first, &second] {
            stream.subscribe(Some(reports.clone()));
            submit(stream, &reports);
        }
        first.close(false);
        assert_eq!(second.synchronize(Some(Duration::from_millis(30)), 9).unwrap_err().code, 9);
        second.close(false);
        assert_eq!(CALLS.get(), 0);
    }
}
