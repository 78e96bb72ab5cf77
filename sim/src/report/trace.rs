//! A trace in the JSON of Chrome's trace viewer, as MindStudio Insight imports simulations of operators: a lane for each core and pipe.
//!
//! It is written while the program runs and needs no more memory than flags that are set and not yet waited for.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::io::{self, Write};

use serde_json::json;

use crate::clock::{Event, Profile};
use crate::program::{Action, Pipe};

use super::executed::{address, mnemonic};
use super::pairs::Pairs;
use super::{Executed, Lanes};

/// What MindStudio Insight looks for in front of the first bracket.
const HEAD: &str = r#"{"schemaVersion":2,"displayTimeUnit":"ns","profilingType":"op","traceEvents":["#;

/// A part of a run, from the launch's arrival at the cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its start in nanoseconds.
    pub from: u64,
    /// Its end in nanoseconds.
    pub to: u64,
}

impl Window {
    /// Everything.
    pub const ALL: Self = Self { from: 0, to: u64::MAX };

    /// Whether it has some of a time in ticks.
    pub(super) fn shows(&self, start: u64, end: u64, mhz: u32) -> bool {
        picoseconds(end, mhz) / 1000 >= self.from && picoseconds(start, mhz) / 1000 <= self.to
    }
}

/// A trace that is being written. The events of a lane are in the order of time; a failure to write shows in [`Trace::finish`].
#[derive(Debug)]
pub struct Trace<W> {
    to: W,
    /// Of each node, its name and its arguments in JSON.
    nodes: Vec<(String, String)>,
    mhz: u32,
    window: Window,
    /// The cores that are shown.
    cores: BTreeMap<u32, Shown>,
    failed: io::Result<()>,
    empty: bool,
    flows: u64,
}

/// A core that is shown.
#[derive(Debug)]
struct Shown {
    /// In JSON.
    name: String,
    /// Bytes that came, and that went.
    moved: [u64; 2],
    /// The flows of flags that were set and nobody has waited for; `None` where that is not shown.
    set: Pairs<Option<u64>>,
}

/// Microseconds from picoseconds, with all digits: a float would lose some in long runs.
#[derive(Clone, Copy, Debug)]
struct Us(u64);

impl Display for Us {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

/// Ticks as picoseconds, which tell all ticks from each other up to a clock of 976 MHz, and cycles up to any.
pub(super) fn picoseconds(ticks: u64, mhz: u32) -> u64 {
    let whole = u128::from(ticks) * 1_000_000 / (u128::from(Profile::CYCLE) * u128::from(mhz.max(1)));
    u64::try_from(whole).unwrap_or(u64::MAX)
}

impl<W: Write> Trace<W> {
    /// Begins a trace of some cores that run at `mhz`.
    pub fn new(to: W, executed: &Executed, lanes: Lanes, mhz: u32, cores: &[u32], window: Window) -> Self {
        let node = |(i, (text, place)): (usize, (&str, &str))| {
            let args = json!({"pc_addr": format!("{:#x}", address(i)), "code": place, "detail": text});
            (json!(mnemonic(text)).to_string(), args.to_string())
        };
        let shown = |&core: &u32| {
            let name = json!(lanes.core(core)).to_string();
            (core, Shown { name, moved: [0; 2], set: Pairs::default() })
        };
        let nodes = executed.lines().enumerate().map(node).collect();
        let cores = cores.iter().map(shown).collect();
        let mut trace = Self { to, nodes, mhz, window, cores, failed: Ok(()), empty: true, flows: 0 };
        trace.failed = trace.to.write_all(HEAD.as_bytes());
        trace.describe_lanes();
        trace
    }

    fn describe_lanes(&mut self) {
        let names: Vec<(u32, String)> = self.cores.iter().map(|(core, shown)| (*core, shown.name.clone())).collect();
        for (core, pid) in names {
            self.put(format_args!(r#"{{"ph":"M","name":"process_name","pid":{pid},"args":{{"name":{pid}}}}}"#));
            self.put(format_args!(
                r#"{{"ph":"M","name":"process_sort_index","pid":{pid},"args":{{"sort_index":{core}}}}}"#
            ));
            for (i, pipe) in [Pipe::S, Pipe::Mte2, Pipe::V, Pipe::Mte3].into_iter().enumerate() {
                let tid = Lanes::pipe(pipe);
                let lane = format_args!(r#""pid":{pid},"tid":"{tid}""#);
                self.put(format_args!(r#"{{"ph":"M","name":"thread_name",{lane},"args":{{"name":"{tid}"}}}}"#));
                self.put(format_args!(r#"{{"ph":"M","name":"thread_sort_index",{lane},"args":{{"sort_index":{i}}}}}"#));
            }
        }
    }

    /// An event of the file.
    fn put(&mut self, event: fmt::Arguments<'_>) {
        if self.failed.is_ok() {
            let separator = if self.empty { "" } else { "," };
            self.failed = self.to.write_fmt(format_args!("{separator}\n{event}"));
            self.empty = false;
        }
    }

    /// Adds an instruction.
    pub fn add(&mut self, event: &Event<'_>) {
        let Some(shown) = self.cores.get_mut(&event.core) else { return };
        let [start, end] = [event.start, event.end].map(|ticks| picoseconds(ticks, self.mhz));
        let inside = self.window.shows(event.start, event.end, self.mhz);
        // Flags are followed outside of the window too, or those inside would find the wrong partner.
        let flag = match event.step.action {
            Action::SetFlag(flag) => {
                let flow = inside.then_some(self.flows);
                self.flows += 1;
                shown.set.set(flag, flow);
                Some(("SET_FLAG", r#""ph":"s""#, flow))
            }
            Action::WaitFlag(flag) => Some(("WAIT_FLAG", r#""ph":"f","bp":"e""#, shown.set.wait(flag).flatten())),
            _ => None,
        };
        if let Action::Transfer(transfer) = &event.step.action {
            shown.moved[usize::from(!transfer.load)] += transfer.moved();
        }
        if !inside {
            return;
        }
        let (pid, moved, tid) = (shown.name.clone(), shown.moved, Lanes::pipe(event.step.action.pipe()));
        let (ts, end_ts, dur) = (Us(start), Us(end), Us(end - start));
        let (name, args) = self.nodes.get(event.step.node.0 as usize).cloned().unwrap_or_default();
        let lane = format_args!(r#""pid":{pid},"tid":"{tid}""#);
        match flag {
            Some((name, end, flow)) => {
                self.put(format_args!(r#"{{"ph":"B","name":"{name}",{lane},"ts":{ts},"args":{args}}}"#));
                // The arrow from a flag's setting to its wait hangs on the slices that are open where its ends stand in the file.
                if let Some(id) = flow {
                    self.put(format_args!(r#"{{{end},"cat":"flag","name":"flag","id":{id},{lane},"ts":{end_ts}}}"#));
                }
                self.put(format_args!(r#"{{"ph":"E","name":"{name}",{lane},"ts":{end_ts}}}"#));
            }
            None => self.put(format_args!(r#"{{"ph":"X","name":{name},{lane},"ts":{ts},"dur":{dur},"args":{args}}}"#)),
        }
        if let Action::Transfer(transfer) = &event.step.action {
            let (name, bytes) = if transfer.load { ("GM_TO_UB", moved[0]) } else { ("UB_TO_GM", moved[1]) };
            let args = format_args!(r#"{{"bytes":{bytes}}}"#);
            self.put(format_args!(r#"{{"ph":"C","name":"{name}","pid":{pid},"ts":{end_ts},"args":{args}}}"#));
        }
    }

    /// Ends the file.
    ///
    /// # Errors
    /// Something could not be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.failed?;
        self.to.write_all(b"\n]}\n")?;
        self.to.flush()
    }
}
