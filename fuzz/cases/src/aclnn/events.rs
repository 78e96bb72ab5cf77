//! Events of a session, and the streams that wait for them. What would wait for ever by the client's own fault is left out: what waits for a
//! stream that waits for a record that nobody has asked for yet.

use arbitrary::Arbitrary;

use super::session::Session;
use super::step::{Kind, Pick};
use super::{
    Handle, aclrtCreateEvent, aclrtDestroyStreamForce, aclrtRecordEvent, aclrtStreamWaitEvent, aclrtSynchronizeEvent,
    code, says, stored,
};

/// What a client does with an event.
#[derive(Arbitrary, Clone, Debug)]
pub enum Act {
    /// `aclrtCreateEvent`
    Create,
    /// `aclrtRecordEvent`
    Record(Pick, Pick),
    /// `aclrtStreamWaitEvent`
    Wait(Pick, Pick),
    /// `aclrtSynchronizeEvent`
    Synchronize(Pick),
    /// `aclrtDestroyStreamForce`
    Force(Pick),
}

/// What is known of events and of streams that wait.
#[derive(Debug)]
pub struct Events {
    /// Events that were recorded, and the stream of the latest record.
    recorded: Vec<(Handle, Handle)>,
    /// Events that a stream waited for before any record.
    awaited: Vec<Handle>,
    /// Streams that may wait for ever.
    stuck: Vec<Handle>,
}

impl Events {
    /// Without any.
    pub(super) const fn new() -> Self {
        Self { recorded: Vec::new(), awaited: Vec::new(), stuck: Vec::new() }
    }

    /// Whether a stream may wait for ever.
    #[must_use]
    pub fn is_stuck(&self, stream: Handle) -> bool {
        self.stuck.contains(&stream)
    }

    fn stream_of(&self, event: Handle) -> Option<Handle> {
        self.recorded.iter().find(|(of, _)| *of == event).map(|(_, stream)| *stream)
    }

    /// Whether the latest record of an event comes.
    fn comes(&self, event: Handle) -> bool {
        self.stream_of(event).is_some_and(|stream| !self.is_stuck(stream))
    }
}

impl Session {
    /// Does what an [`Act`] says.
    pub fn act(&mut self, act: &Act) {
        match *act {
            Act::Create => {
                // SAFETY: a place for the handle.
                let (status, event) = stored(|place| unsafe { aclrtCreateEvent(place) });
                let want = if self.has_context() { 0 } else { code::RT_CONTEXT_NULL };
                if says(status, &[want], "aclrtCreateEvent") {
                    self.made(Kind::Event, event);
                }
            }
            Act::Record(event, stream) => {
                let (event, stream) = (self.picked(Kind::Event, event), self.picked(Kind::Stream, stream));
                // Behind the wait for it, it never comes.
                if self.events.is_stuck(stream) && self.events.awaited.contains(&event) {
                    return;
                }
                let want = self.status_of_two(event, stream);
                if says(aclrtRecordEvent(event, stream), &[want], "aclrtRecordEvent") {
                    self.events.recorded.retain(|(of, _)| *of != event);
                    self.events.recorded.push((event, stream));
                }
            }
            Act::Wait(event, stream) => {
                let (event, stream) = (self.picked(Kind::Event, event), self.picked(Kind::Stream, stream));
                let comes = self.events.comes(event);
                // Copies wait for the default stream.
                if stream == 0 && !comes {
                    return;
                }
                let want = self.status_of_two(event, stream);
                if says(aclrtStreamWaitEvent(stream, event), &[want], "aclrtStreamWaitEvent") && !comes {
                    self.events.stuck.push(stream);
                    if self.events.stream_of(event).is_none() {
                        self.events.awaited.push(event);
                    }
                }
            }
            Act::Synchronize(event) => {
                let event = self.picked(Kind::Event, event);
                if self.events.stream_of(event).is_some_and(|stream| self.events.is_stuck(stream)) {
                    return;
                }
                let want: &[i32] = match self.status_of_event(event) {
                    0 if self.events.stream_of(event).is_none() => &[code::RT_PARAM_INVALID],
                    0 => &[0, code::RUNTIME_ERROR],
                    status => &[status],
                };
                says(aclrtSynchronizeEvent(event), want, "aclrtSynchronizeEvent");
            }
            Act::Force(stream) => {
                let stream = self.picked(Kind::Stream, stream);
                let want = match stream {
                    0 => code::INVALID_PARAM,
                    _ if self.is(Kind::Stream, stream) => 0,
                    _ => code::RT_INVALID_HANDLE,
                };
                if says(aclrtDestroyStreamForce(stream), &[want], "aclrtDestroyStreamForce") {
                    self.dies(stream);
                    // Its records have gone with it.
                    self.events.stuck.retain(|stuck| *stuck != stream);
                }
            }
        }
    }

    fn status_of_event(&self, event: Handle) -> i32 {
        match event {
            0 => code::INVALID_PARAM,
            _ if self.is(Kind::Event, event) => 0,
            _ => code::RT_INVALID_HANDLE,
        }
    }

    /// What functions say to an event and a stream.
    fn status_of_two(&self, event: Handle, stream: Handle) -> i32 {
        match self.status_of_event(event) {
            0 if !self.has_context() => code::RT_CONTEXT_NULL,
            0 if stream != 0 && !self.is(Kind::Stream, stream) => code::RT_INVALID_HANDLE,
            status => status,
        }
    }
}
