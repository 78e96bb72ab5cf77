//! Events: marks in streams that others wait for.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::failure::{Failure, Outcome, code};
use crate::monitor::Monitor;
use crate::shared::Shared;
use crate::stream::{PATIENCE, Stream};

/// `ACL_EVENT_TIME_LINE`: the event takes times.
pub(crate) const TIME_LINE: u32 = 8;

/// An event. Records are numbered from 1; whoever waits, waits for a number.
pub(crate) struct Event {
    /// What it was created with.
    flags: u32,
    marks: Monitor<Marks>,
}

#[derive(Default)]
struct Marks {
    /// Records that were asked for.
    issued: u64,
    /// Those of them that their streams have not passed. Streams are not equally quick, so it may be any of them.
    pending: BTreeSet<u64>,
    /// When the latest record was passed.
    when: Option<Instant>,
    /// Records up to this one were reset.
    reset: u64,
    /// No client reaches it any more: what was not recorded will not be.
    retired: bool,
    /// The stream of the latest record, whose failures a wait on the host tells.
    stream: Option<Shared<Stream>>,
}

impl Marks {
    /// Whether a record was asked for and its stream has passed it.
    fn passed(&self, number: u64) -> bool {
        number <= self.issued && !self.pending.contains(&number)
    }

    /// Whether there is a record since the last reset.
    const fn recorded(&self) -> bool {
        self.issued > self.reset
    }

    fn complete(&self) -> bool {
        self.recorded() && self.passed(self.issued)
    }
}

impl Event {
    pub(crate) fn new(flags: u32) -> Self {
        Self { flags, marks: Monitor::new(Marks::default()) }
    }

    /// The number of a new record on a stream.
    pub(crate) fn issue(&self, stream: &Shared<Stream>) -> u64 {
        let mut marks = self.marks.lock();
        marks.issued += 1;
        let number = marks.issued;
        marks.pending.insert(number);
        marks.stream = Some(stream.clone());
        number
    }

    /// A stream passes a record, or ends without it.
    pub(crate) fn mark(&self, number: u64) {
        let mut marks = self.marks.lock();
        marks.pending.remove(&number);
        if number == marks.issued {
            marks.when = Some(Instant::now());
        }
        marks.notify();
    }

    /// The record that a wait from now on means: the latest, or the first to come.
    pub(crate) fn awaited(&self) -> u64 {
        let marks = self.marks.lock();
        if marks.recorded() { marks.issued } else { marks.issued + 1 }
    }

    /// Waits for a record as a stream does, unless `aborted`.
    pub(crate) fn wait(&self, number: u64, aborted: impl Fn() -> bool) {
        let mut marks = self.marks.lock();
        let never = |marks: &Marks| marks.retired && number > marks.issued;
        while !marks.passed(number) && !never(&marks) && !aborted() {
            marks.wait(Some(PATIENCE));
        }
    }

    /// Waits for the latest record on the host, and gives its stream's failure, once.
    pub(crate) fn synchronize(&self, most: Option<Duration>) -> Outcome {
        let (number, stream) = self.latest()?;
        self.wait_on_host(number, most)?;
        stream.take_failure()
    }

    /// The latest record and its stream, together: another stream may record the event while the host waits.
    fn latest(&self) -> Outcome<(u64, Shared<Stream>)> {
        let marks = self.marks.lock();
        let none = || Failure::new(code::RT_PARAM_INVALID, "event has not been recorded");
        let stream = marks.stream.clone().filter(|_| marks.recorded()).ok_or_else(none)?;
        Ok((marks.issued, stream))
    }

    fn wait_on_host(&self, number: u64, most: Option<Duration>) -> Outcome {
        let deadline = most.map(|most| Instant::now() + most);
        let mut marks = self.marks.lock();
        while !marks.passed(number) {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(Failure::new(
                    code::RT_EVENT_SYNC_TIMEOUT,
                    "event is not complete when the timeout has passed",
                ));
            }
            marks.wait(left);
        }
        Ok(())
    }

    /// Whether it has been recorded and its stream has passed it.
    pub(crate) fn is_complete(&self) -> bool {
        self.marks.lock().complete()
    }

    /// Forgets its records: it is complete after the next one.
    pub(crate) fn reset(&self) {
        let mut marks = self.marks.lock();
        marks.reset = marks.issued;
    }

    /// Ends it for clients. Whoever waits for a record that nobody has asked for goes on, since no client can any more.
    pub(crate) fn retire(&self) {
        let mut marks = self.marks.lock();
        marks.retired = true;
        marks.notify();
    }

    /// When a stream passed its latest record.
    pub(crate) fn time(&self, name: &str) -> Outcome<Instant> {
        let marks = self.marks.lock();
        let complete = marks.complete() && self.flags & TIME_LINE != 0;
        let what = match marks.recorded() {
            _ if self.flags & TIME_LINE == 0 => "created without ACL_EVENT_TIME_LINE",
            true => "not complete",
            false => "not recorded",
        };
        let none = || Failure::new(code::RT_EVENT_TIMESTAMP_INVALID, format!("{name} has no time: it is {what}"));
        marks.when.filter(|_| complete).ok_or_else(none)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Task;

    #[test]
    fn streams_wait_for_each_other() {
        let (a, b, event) = (Stream::new(0, 0, 0), Stream::new(0, 0, 0), Shared::new(Event::new(TIME_LINE)));
        assert!(!event.is_complete());
        assert_eq!(event.synchronize(None).unwrap_err().code, code::RT_PARAM_INVALID);
        let first = event.awaited();
        b.submit(Task::Wait(event.clone(), first)).unwrap();
        assert_eq!(b.synchronize(Some(Duration::from_millis(30)), 9).unwrap_err().code, 9);
        let number = event.issue(&a);
        assert_eq!((first, number, event.awaited()), (1, 1, 1));
        a.submit(Task::Record(event.clone(), number)).unwrap();
        b.synchronize(None, 9).unwrap();
        event.synchronize(None).unwrap();
        assert!(event.is_complete() && event.time("event").is_ok());
        event.reset();
        assert!(!event.is_complete() && event.time("event").is_err());
        assert_eq!(event.awaited(), 2);
        a.close(false);
        b.close(false);
    }

    #[test]
    fn nobody_waits_for_a_record_that_cannot_come() {
        let (a, b, event) = (Stream::new(0, 0, 0), Stream::new(0, 0, 0), Shared::new(Event::new(TIME_LINE)));
        let (ahead, of_b) = (Shared::new(Event::new(TIME_LINE)), Shared::new(Event::new(TIME_LINE)));
        // The record of b is behind a wait for what nobody records; a waits for both.
        let (number, last) = (ahead.awaited(), event.issue(&b));
        b.submit(Task::Wait(ahead.clone(), number)).unwrap();
        b.submit(Task::Record(event.clone(), last)).unwrap();
        a.submit(Task::Wait(event.clone(), last)).unwrap();
        assert_eq!(a.synchronize(Some(Duration::from_millis(30)), 9).unwrap_err().code, 9);
        assert_eq!(event.synchronize(Some(Duration::from_millis(1))).unwrap_err().code, code::RT_EVENT_SYNC_TIMEOUT);
        // What was asked for still comes.
        event.retire();
        assert_eq!(a.synchronize(Some(Duration::from_millis(30)), 9).unwrap_err().code, 9);
        ahead.retire();
        a.synchronize(None, 9).unwrap();
        b.synchronize(None, 9).unwrap();
        assert!(event.is_complete() && !ahead.is_complete());
        // A stream that is ended by force takes its records with it.
        b.submit(Task::Wait(of_b.clone(), of_b.awaited())).unwrap();
        let [number, later] = [event.issue(&b), event.issue(&b)];
        b.submit(Task::Record(event.clone(), number)).unwrap();
        a.submit(Task::Wait(event.clone(), later)).unwrap();
        b.submit(Task::Record(event.clone(), later)).unwrap();
        b.close(true);
        event.synchronize(None).unwrap();
        a.close(false);
    }

    #[test]
    fn a_record_of_a_quick_stream_does_not_stand_for_one_of_a_slow_stream() {
        let [slow, quick, waiting] = [0; 3].map(|_| Stream::new(0, 0, 0));
        let [gate, event] = [0; 2].map(|_| Shared::new(Event::new(TIME_LINE)));
        let record = |stream: &Shared<Stream>, failure| {
            let number = event.issue(stream);
            stream.submit(Task::Work(Box::new(move || Err(Failure::new(failure, "on purpose"))))).unwrap();
            stream.submit(Task::Record(event.clone(), number)).unwrap();
        };
        slow.submit(Task::Wait(gate.clone(), gate.awaited())).unwrap();
        record(&slow, 3);
        waiting.submit(Task::Wait(event.clone(), event.awaited())).unwrap();
        let (number, stream) = event.latest().unwrap();
        record(&quick, 4);
        assert_eq!(event.synchronize(None).unwrap_err().code, 4);
        let time = event.time("event").unwrap();
        let timeout = event.wait_on_host(number, Some(Duration::from_millis(1))).unwrap_err();
        assert_eq!(timeout.code, code::RT_EVENT_SYNC_TIMEOUT);
        assert_eq!(waiting.synchronize(Some(Duration::from_millis(50)), 9).unwrap_err().code, 9);
        // Neither does the end of the event.
        event.retire();
        assert_eq!(waiting.synchronize(Some(Duration::from_millis(50)), 9).unwrap_err().code, 9);
        gate.mark(gate.issue(&quick));
        waiting.synchronize(None, 9).unwrap();
        event.wait_on_host(number, None).unwrap();
        assert_eq!(stream.take_failure().unwrap_err().code, 3);
        // The time is still that of the latest record.
        assert_eq!(event.time("event").unwrap(), time);
        [slow, quick, waiting].iter().for_each(|stream| stream.close(false));
    }

    #[test]
    fn a_failure_is_told_by_the_next_synchronisation() {
        let (stream, event) = (Stream::new(0, 0, 0), Shared::new(Event::new(TIME_LINE)));
        stream.submit(Task::Work(Box::new(|| Err(Failure::new(3, "three"))))).unwrap();
        let number = event.issue(&stream);
        stream.submit(Task::Record(event.clone(), number)).unwrap();
        assert_eq!(event.synchronize(None).unwrap_err().code, 3);
        assert!(stream.synchronize(None, 0).is_ok());
        stream.close(false);
    }
}
