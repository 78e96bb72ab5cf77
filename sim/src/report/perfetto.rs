//! A trace in Perfetto's own format, a stream of Protocol Buffers: a tenth of the JSON's length, and opened without a conversion.
//!
//! Field numbers are those of Perfetto's published `trace_packet.proto` and what it includes. Each pipe is a sequence of its own, whose
//! times count from the event before and whose words are written once. Times are in whole nanoseconds, the unit of the format; the
//! tables have cycles.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use crate::clock::Event;
use crate::program::{Action, Pipe};

use super::executed::mnemonic;
use super::pairs::Pairs;
use super::protobuf::Message;
use super::trace::picoseconds;
use super::{Executed, Lanes, Window};

// Of a trace, a packet and what is in it.
const PACKET: u32 = 1;
const CLOCK_SNAPSHOT: u32 = 6;
const TIMESTAMP: u32 = 8;
const SEQUENCE: u32 = 10;
const TRACK_EVENT: u32 = 11;
const INTERNED: u32 = 12;
const SEQUENCE_FLAGS: u32 = 13;
const CLOCK: u32 = 58;
const DEFAULTS: u32 = 59;
const TRACK: u32 = 60;

/// The sequence forgets what it has interned.
const CLEARED: u64 = 1;
/// The packet needs what was interned before.
const NEEDS: u64 = 2;
/// The clock of a trace where nothing else is said.
const BOOTTIME: u64 = 6;
/// A clock of a sequence that counts from the packet before.
const SINCE_BEFORE: u64 = 64;

/// Types of events.
const BEGIN: u64 = 1;
const END: u64 = 2;
const COUNTER: u64 = 4;

/// The pipes of a core, in the order of their lanes.
const PIPES: [Pipe; 4] = [Pipe::S, Pipe::Mte2, Pipe::V, Pipe::Mte3];
/// Identifiers of a core's tracks: the core, its pipes, its counters.
const TRACKS: u64 = 8;
const COUNTERS: [(u64, &str); 2] = [(5, "GM_TO_UB"), (6, "UB_TO_GM")];

/// Identifier of a core's track.
fn track(core: u32, which: u64) -> u64 {
    // 0 is none.
    (u64::from(core) + 1) * TRACKS + which
}

/// A trace that is being written. The events of a lane are in the order of time; a failure to write shows in [`Perfetto::finish`].
#[derive(Debug)]
pub struct Perfetto<W> {
    to: W,
    /// Of each node, its name, what it says in full, and its file and line.
    nodes: Vec<(String, String, (String, u64))>,
    mhz: u32,
    window: Window,
    cores: BTreeMap<u32, Shown>,
    flows: u64,
    failed: io::Result<()>,
}

/// A core that is shown.
#[derive(Debug, Default)]
struct Shown {
    lanes: [Lane; 4],
    /// Bytes that came, and that went.
    moved: [u64; 2],
    /// The flow of each flag that is set; `None` where that is not shown.
    set: Pairs<Option<u64>>,
}

/// A sequence of packets.
#[derive(Debug, Default)]
struct Lane {
    id: u64,
    track: u64,
    /// The time of the last packet in nanoseconds; `None` ahead of the first one.
    last: Option<u64>,
    /// Names that were written.
    names: HashMap<String, u64>,
    /// Nodes that were written.
    nodes: HashMap<u32, u64>,
}

impl<W: Write> Perfetto<W> {
    /// Begins a trace of some cores that run at `mhz`.
    pub fn new(to: W, executed: &Executed, lanes: Lanes, mhz: u32, cores: &[u32], window: Window) -> Self {
        let node = |(text, place): (&str, &str)| {
            let (file, line) = place.rsplit_once(':').unwrap_or((place, ""));
            let place = match line.parse() {
                Ok(line) => (file.to_owned(), line),
                Err(_) => (place.to_owned(), 0),
            };
            (mnemonic(text).to_owned(), text.to_owned(), place)
        };
        let nodes = executed.lines().map(node).collect();
        let mut trace = Self { to, nodes, mhz, window, cores: BTreeMap::new(), flows: 1, failed: Ok(()) };
        for &core in cores {
            trace.describe(core, &lanes.core(core));
        }
        trace
    }

    /// The tracks of a core.
    fn describe(&mut self, core: u32, name: &str) {
        let mut shown = Shown::default();
        self.track(track(core, 0), None, |to| {
            to.message(3, |process| {
                process.number(1, u64::from(core) + 1);
                process.text(6, name);
            });
            to.number(11, 3);
        });
        for ((which, pipe), lane) in (1..).zip(PIPES).zip(&mut shown.lanes) {
            *lane = Lane { id: track(core, which), track: track(core, which), ..Lane::default() };
            self.track(lane.track, Some((track(core, 0), which)), |to| to.text(2, Lanes::pipe(pipe)));
        }
        for (which, name) in COUNTERS {
            self.track(track(core, which), Some((track(core, 0), which)), |to| {
                to.text(2, name);
                // Of bytes.
                to.message(8, |counter| counter.number(3, 3));
            });
        }
        self.cores.insert(core, shown);
    }

    /// Describes a track, with the one above it and its place among that one's.
    fn track(&mut self, id: u64, above: Option<(u64, u64)>, rest: impl FnOnce(&mut Message)) {
        self.put(|packet| {
            packet.number(SEQUENCE, 1);
            packet.message(TRACK, |to| {
                to.number(1, id);
                if let Some((above, place)) = above {
                    to.number(5, above);
                    to.number(12, place);
                }
                rest(to);
            });
        });
    }

    fn put(&mut self, write: impl FnOnce(&mut Message)) {
        if self.failed.is_ok() {
            let mut trace = Message::default();
            trace.message(PACKET, write);
            self.failed = self.to.write_all(trace.bytes());
        }
    }

    /// Adds an instruction.
    pub fn add(&mut self, event: &Event<'_>) {
        let Some(mut shown) = self.cores.remove(&event.core) else { return };
        self.add_to(&mut shown, event);
        self.cores.insert(event.core, shown);
    }

    fn add_to(&mut self, shown: &mut Shown, event: &Event<'_>) {
        let inside = self.window.shows(event.start, event.end, self.mhz);
        // Flags are followed outside of the window too, or those inside would find the wrong partner.
        let (mut begins, mut ends) = (None, None);
        match event.step.action {
            Action::SetFlag(flag) => {
                begins = inside.then_some(self.flows);
                self.flows += 1;
                shown.set.set(flag, begins);
            }
            Action::WaitFlag(flag) => ends = shown.set.wait(flag).flatten(),
            _ => {}
        }
        let mut counted = None;
        if let Action::Transfer(transfer) = &event.step.action {
            let which = usize::from(!transfer.load);
            shown.moved[which] += transfer.moved();
            counted = Some((COUNTERS[which].0, shown.moved[which]));
        }
        if !inside {
            return;
        }
        let pipe = event.step.action.pipe();
        let Some(lane) = PIPES.iter().position(|of| *of == pipe).and_then(|at| shown.lanes.get_mut(at)) else { return };
        let [start, end] = [event.start, event.end].map(|ticks| picoseconds(ticks, self.mhz) / 1000);
        let node = event.step.node.0;
        let Some((name, text, place)) = self.nodes.get(node as usize).cloned() else { return };
        let name = match event.step.action {
            Action::SetFlag(_) => "SET_FLAG".to_owned(),
            Action::WaitFlag(_) => "WAIT_FLAG".to_owned(),
            _ => name,
        };
        self.begin(lane, start);
        let (of_name, of_node) = (lane.names.len() as u64 + 1, lane.nodes.len() as u64 + 1);
        let (new_name, new_node) = (!lane.names.contains_key(&name), !lane.nodes.contains_key(&node));
        let name_id = *lane.names.entry(name.clone()).or_insert(of_name);
        let node_id = *lane.nodes.entry(node).or_insert(of_node);
        self.event(lane, start, |packet| {
            packet.message(TRACK_EVENT, |to| {
                to.number(9, BEGIN);
                to.number(10, name_id);
                to.number(34, node_id);
                // Its only annotation.
                to.message(4, |annotation| {
                    annotation.number(1, 1);
                    annotation.number(17, node_id);
                });
                begins.into_iter().for_each(|flow| to.fixed(47, flow));
            });
            if new_name || new_node {
                packet.message(INTERNED, |to| {
                    if new_name {
                        to.message(2, |entry| {
                            entry.number(1, name_id);
                            entry.text(2, &name);
                        });
                    }
                    if new_node {
                        to.message(4, |entry| {
                            entry.number(1, node_id);
                            entry.text(2, &place.0);
                            entry.number(4, place.1);
                        });
                        to.message(29, |entry| {
                            entry.number(1, node_id);
                            entry.text(2, &text);
                        });
                    }
                });
            }
        });
        self.event(lane, end, |packet| {
            packet.message(TRACK_EVENT, |to| {
                to.number(9, END);
                // Not where the wait begins: that may be before the flag is set, and who reads in the order of time would not know it yet.
                ends.into_iter().for_each(|flow| to.fixed(48, flow));
            });
        });
        if let Some((which, bytes)) = counted {
            self.event(lane, end, |packet| {
                packet.message(TRACK_EVENT, |to| {
                    to.number(9, COUNTER);
                    to.number(11, track(event.core, which));
                    to.number(30, bytes);
                });
            });
        }
    }

    /// The first packet of a sequence: its clock, and what its events have in common.
    fn begin(&mut self, lane: &mut Lane, at: u64) {
        if lane.last.is_some() {
            return;
        }
        lane.last = Some(at);
        let (id, of) = (lane.id, lane.track);
        self.put(|packet| {
            packet.number(SEQUENCE, id);
            packet.number(SEQUENCE_FLAGS, CLEARED);
            packet.message(CLOCK_SNAPSHOT, |to| {
                for (clock, since_before) in [(BOOTTIME, 0), (SINCE_BEFORE, 1)] {
                    to.message(1, |to| {
                        to.number(1, clock);
                        to.number(2, at);
                        to.number(3, since_before);
                    });
                }
            });
            packet.message(DEFAULTS, |to| {
                to.number(CLOCK, SINCE_BEFORE);
                to.message(TRACK_EVENT, |to| to.number(11, of));
            });
            packet.message(INTERNED, |to| {
                to.message(3, |entry| {
                    entry.number(1, 1);
                    entry.text(2, "detail");
                });
            });
        });
    }

    /// A packet of a sequence.
    fn event(&mut self, lane: &mut Lane, at: u64, write: impl FnOnce(&mut Message)) {
        let since = at.saturating_sub(lane.last.unwrap_or(at));
        lane.last = Some(at);
        let id = lane.id;
        self.put(|packet| {
            packet.number(TIMESTAMP, since);
            packet.number(SEQUENCE, id);
            packet.number(SEQUENCE_FLAGS, NEEDS);
            write(packet);
        });
    }

    /// Ends the file.
    ///
    /// # Errors
    /// Something could not be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.failed?;
        self.to.flush()
    }
}
