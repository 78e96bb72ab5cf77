//! Streams: tasks in order on a thread of their own, and the first failure until somebody synchronises.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::client::{self, Callback};
use crate::event::Event;
use crate::failure::{Failure, Outcome, code, defect};
use crate::monitor::Monitor;
use crate::reports::Reports;
use crate::shared::Shared;

/// Number of the next stream.
static NEXT_ID: AtomicI32 = AtomicI32::new(0);

/// What a stream does.
pub(crate) enum Task {
    /// Computes or copies. What it holds is dropped before the next task.
    Work(Box<dyn FnOnce() -> Outcome + Send>),
    /// Takes the time of an event's record of this number.
    Record(Shared<Event>, u64),
    /// Waits for an event's record of this number.
    Wait(Shared<Event>, u64),
    /// Calls the client on this thread.
    Call(Callback),
    /// Hands a callback to the thread that takes this stream's reports; waits for it if told so.
    Report(Shared<Reports>, Callback, bool),
}

/// A stream of a context.
pub(crate) struct Stream {
    /// A small number for clients.
    pub(crate) id: i32,
    /// The handle of the context that it belongs to.
    pub(crate) context: usize,
    /// What it was created with.
    pub(crate) flags: u32,
    /// What it was created with.
    pub(crate) priority: u32,
    /// Whether work behind a failure is skipped until somebody synchronises.
    pub(crate) stops_on_failure: AtomicBool,
    queue: Monitor<Queue>,
    /// Set when it ends without finishing.
    aborted: AtomicBool,
}

#[derive(Default)]
struct Queue {
    tasks: VecDeque<Task>,
    busy: bool,
    /// The thread that has closed it and waits for its end.
    closed_by: Option<u64>,
    failure: Option<Failure>,
    worker: Option<Worker>,
    reports: Option<Shared<Reports>>,
}

/// A stream's thread.
struct Worker {
    thread: JoinHandle<()>,
    /// A forked child has the memory of this process, but not the thread.
    process: u32,
}

impl Worker {
    /// Waits for its end, if it is there and not the current thread: a stream that is destroyed by its own callback ends when that
    /// returns.
    fn join(self) {
        if self.process != std::process::id() {
            std::mem::forget(self.thread);
        } else if self.thread.thread().id() != thread::current().id() {
            // It catches what panics.
            let _ = self.thread.join();
        }
    }
}

impl Stream {
    pub(crate) fn new(context: usize, priority: u32, flags: u32) -> Shared<Self> {
        Shared::new(Self {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            context,
            flags,
            priority,
            stops_on_failure: AtomicBool::new(false),
            queue: Monitor::new(Queue::default()),
            aborted: AtomicBool::new(false),
        })
    }

    /// What the thread does until the stream closes.
    fn work(&self) {
        loop {
            let mut queue = self.queue.lock();
            while queue.tasks.is_empty() && queue.closed_by.is_none() {
                queue.wait(None);
            }
            let Some(task) = queue.tasks.pop_front() else { return };
            queue.busy = true;
            let skips = queue.failure.is_some() && self.stops_on_failure.load(Ordering::Relaxed);
            drop(queue);
            let outcome =
                catch_unwind(AssertUnwindSafe(|| self.perform(task, skips))).unwrap_or_else(|_| Err(defect()));
            let mut queue = self.queue.lock();
            queue.busy = false;
            if let Err(failure) = outcome {
                queue.failure.get_or_insert(failure);
            }
            queue.notify();
        }
    }

    fn perform(&self, task: Task, skips: bool) -> Outcome {
        match task {
            Task::Work(_) | Task::Call(_) | Task::Report(..) if skips => {}
            Task::Work(work) => return work(),
            Task::Call(callback) => callback.call(),
            Task::Record(event, number) => event.mark(number),
            Task::Wait(event, number) => event.wait(number, || self.aborted()),
            Task::Report(reports, callback, blocks) => {
                let report = reports.add(callback);
                if blocks {
                    report.wait(|| self.aborted(), || self.expects(&reports));
                }
            }
        }
        Ok(())
    }

    fn aborted(&self) -> bool {
        self.aborted.load(Ordering::Relaxed)
    }

    /// Waits until all tasks are done, and gives the first failure since the last time, once. `timeout` is the status when
    /// `most` has passed before that.
    pub(crate) fn synchronize(&self, most: Option<Duration>, timeout: i32) -> Outcome {
        self.finish(most.map(|most| Instant::now() + most), timeout)?;
        self.take_failure()
    }

    /// Waits until all tasks are done; a failure stays for whoever takes it. `timeout` is the status when the deadline has passed
    /// before that.
    pub(crate) fn finish(&self, deadline: Option<Instant>, timeout: i32) -> Outcome {
        let mut queue = self.queue.lock();
        while queue.busy || !queue.tasks.is_empty() {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                let tasks = queue.tasks.len() + usize::from(queue.busy);
                return Err(Failure::new(
                    timeout,
                    format!("stream has {tasks} tasks left when the timeout has passed"),
                ));
            }
            queue.wait(left);
        }
        Ok(())
    }

    /// Gives the first failure since the last time, once, without waiting.
    pub(crate) fn take_failure(&self) -> Outcome {
        self.queue.lock().failure.take().map_or(Ok(()), Err)
    }

    /// Whether all tasks are done.
    pub(crate) fn is_idle(&self) -> bool {
        let queue = self.queue.lock();
        !queue.busy && queue.tasks.is_empty()
    }

    /// Whether the stream's callbacks are for this thread, and it does not wait for the stream's end instead of taking them.
    fn expects(&self, reports: &Reports) -> bool {
        let queue = self.queue.lock();
        let subscribed = queue.reports.as_ref().is_some_and(|own| own.thread == reports.thread);
        subscribed && queue.closed_by != Some(reports.thread)
    }

    /// Takes no more tasks, since the current thread waits for its end.
    pub(crate) fn shut(&self) {
        let mut queue = self.queue.lock();
        queue.closed_by.get_or_insert(client::thread_id());
        queue.notify();
    }

    /// Takes no more tasks, and waits for nothing that others do.
    pub(crate) fn abort(&self) {
        self.aborted.store(true, Ordering::Relaxed);
        self.shut();
    }

    /// Ends the thread: after all tasks, or after the one that it is at.
    pub(crate) fn close(&self, abort: bool) {
        if abort {
            self.abort()
        } else {
            self.shut()
        }
        let mut queue = self.queue.lock();
        let dropped = if abort { std::mem::take(&mut queue.tasks) } else { VecDeque::new() };
        // Whoever waits for these tasks need not wait any more.
        queue.notify();
        let worker = queue.worker.take();
        drop(queue);
        if let Some(worker) = worker {
            worker.join();
        }
        // Others may wait for records that no stream passes now.
        for task in dropped {
            if let Task::Record(event, number) = task {
                event.mark(number);
            }
        }
    }

    /// Sets the thread of the client's that takes callbacks, or takes it away.
    pub(crate) fn subscribe(&self, subscription: Option<Shared<Reports>>) {
        self.queue.lock().reports = subscription;
    }

    /// The thread of the client's that takes callbacks.
    pub(crate) fn subscriber(&self) -> Option<Shared<Reports>> {
        self.queue.lock().reports.clone()
    }
}

impl Shared<Stream> {
    /// Puts a task behind the others. The thread is made for the first one.
    pub(crate) fn submit(&self, task: Task) -> Outcome {
        self.submit_made(|| task)
    }

    /// The same of a task that is not made where the stream takes none.
    pub(crate) fn submit_made(&self, task: impl FnOnce() -> Task) -> Outcome {
        let mut queue = self.queue.lock();
        if queue.closed_by.is_some() {
            return Err(Failure::new(code::RT_INVALID_HANDLE, "stream is being destroyed"));
        }
        if queue.worker.is_none() {
            let stream = self.clone();
            let worker = thread::Builder::new().name(format!("acl stream {}", self.id)).spawn(move || stream.work());
            let failed = |e| Failure::new(code::RT_RESOURCE_ALLOC_FAIL, format!("there is no thread for stream: {e}"));
            queue.worker = Some(Worker { thread: worker.map_err(failed)?, process: std::process::id() });
        }
        queue.tasks.push_back(task());
        queue.notify();
        Ok(())
    }
}

/// How soon a thread that waits for another stream or for the client sees that its stream was aborted.
pub(crate) const PATIENCE: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    fn work(work: impl FnOnce() -> Outcome + Send + 'static) -> Task {
        Task::Work(Box::new(work))
    }

    #[test]
    fn tasks_run_in_order_and_the_first_failure_waits() {
        let stream = Stream::new(0, 0, 0);
        let seen = Shared::new(Monitor::new(Vec::new()));
        for i in 0..100 {
            let seen = seen.clone();
            let task = work(move || {
                seen.lock().push(i);
                if i % 10 == 5 { Err(Failure::new(i, "five")) } else { Ok(()) }
            });
            stream.submit(task).unwrap();
        }
        assert_eq!(stream.synchronize(None, 0).unwrap_err().code, 5);
        assert!(stream.synchronize(None, 0).is_ok());
        assert_eq!(*seen.lock(), (0..100).collect::<Vec<_>>());
        stream.close(false);
        assert!(stream.submit(work(|| Ok(()))).is_err());
    }

    #[test]
    fn a_timeout_leaves_the_work() {
        let stream = Stream::new(0, 0, 0);
        let gate = Shared::new(Monitor::new(false));
        let held = gate.clone();
        let task = work(move || {
            let mut open = held.lock();
            while !*open {
                open.wait(None);
            }
            Ok(())
        });
        stream.submit(task).unwrap();
        assert_eq!(stream.synchronize(Some(Duration::from_millis(5)), 9).unwrap_err().code, 9);
        assert!(!stream.is_idle());
        let mut open = gate.lock();
        *open = true;
        open.notify();
        drop(open);
        assert!(stream.synchronize(None, 9).is_ok());
        stream.close(false);
    }

    #[test]
    fn what_follows_a_failure_can_be_skipped() {
        let stream = Stream::new(0, 0, 0);
        stream.stops_on_failure.store(true, Ordering::Relaxed);
        stream.submit(work(|| panic!("on purpose"))).unwrap();
        stream.submit(work(|| unreachable!())).unwrap();
        assert_eq!(stream.synchronize(None, 0).unwrap_err().code, code::INTERNAL_ERROR);
        stream.close(false);
    }

    #[test]
    fn an_aborted_stream_does_not_wait() {
        let (stream, event) = (Stream::new(0, 0, 0), Shared::new(Event::new(0)));
        let number = event.awaited();
        stream.submit(Task::Wait(event, number)).unwrap();
        stream.close(true);
    }
}
