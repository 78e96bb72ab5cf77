//! Perfetto traces, decoded by another reader of Protocol Buffers with the field numbers of the published definitions, and held
//! against the JSON of the same run.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use prost::Message;
use serde_json::Value;
use ubtile_sim::clock::{Options, profile};
use ubtile_sim::product::Soc;
use ubtile_sim::program::Program;
use ubtile_sim::report::{Executed, Lanes, Perfetto, Trace, Window};
use ubtile_sim::text;

#[derive(Message)]
struct File {
    #[prost(message, repeated, tag = "1")]
    packet: Vec<Packet>,
}

#[derive(Message)]
struct Packet {
    #[prost(message, optional, tag = "6")]
    clock_snapshot: Option<ClockSnapshot>,
    #[prost(uint64, optional, tag = "8")]
    timestamp: Option<u64>,
    #[prost(uint32, tag = "10")]
    trusted_packet_sequence_id: u32,
    #[prost(message, optional, tag = "11")]
    track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "12")]
    interned_data: Option<InternedData>,
    #[prost(uint32, tag = "13")]
    sequence_flags: u32,
    #[prost(message, optional, tag = "59")]
    trace_packet_defaults: Option<Defaults>,
    #[prost(message, optional, tag = "60")]
    track_descriptor: Option<TrackDescriptor>,
}

#[derive(Message)]
struct ClockSnapshot {
    #[prost(message, repeated, tag = "1")]
    clocks: Vec<Clock>,
}

#[derive(Message)]
struct Clock {
    #[prost(uint32, tag = "1")]
    clock_id: u32,
    #[prost(uint64, tag = "2")]
    timestamp: u64,
    #[prost(bool, tag = "3")]
    is_incremental: bool,
}

#[derive(Message)]
struct Defaults {
    #[prost(message, optional, tag = "11")]
    track_event_defaults: Option<EventDefaults>,
    #[prost(uint32, tag = "58")]
    timestamp_clock_id: u32,
}

#[derive(Message)]
struct EventDefaults {
    #[prost(uint64, tag = "11")]
    track_uuid: u64,
}

#[derive(Message)]
struct TrackDescriptor {
    #[prost(uint64, tag = "1")]
    uuid: u64,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(message, optional, tag = "3")]
    process: Option<Process>,
    #[prost(uint64, tag = "5")]
    parent_uuid: u64,
    #[prost(message, optional, tag = "8")]
    counter: Option<Counter>,
}

#[derive(Message)]
struct Process {
    #[prost(int32, tag = "1")]
    pid: i32,
    #[prost(string, tag = "6")]
    process_name: String,
}

#[derive(Message)]
struct Counter {
    #[prost(int32, tag = "3")]
    unit: i32,
}

#[derive(Message)]
struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    debug_annotations: Vec<Annotation>,
    #[prost(int32, tag = "9")]
    r#type: i32,
    #[prost(uint64, tag = "10")]
    name_iid: u64,
    #[prost(uint64, tag = "11")]
    track_uuid: u64,
    #[prost(int64, tag = "30")]
    counter_value: i64,
    #[prost(uint64, tag = "34")]
    source_location_iid: u64,
    #[prost(fixed64, repeated, tag = "47")]
    flow_ids: Vec<u64>,
    #[prost(fixed64, repeated, tag = "48")]
    terminating_flow_ids: Vec<u64>,
}

#[derive(Message)]
struct Annotation {
    #[prost(uint64, tag = "1")]
    name_iid: u64,
    #[prost(uint64, tag = "17")]
    string_value_iid: u64,
}

#[derive(Message)]
struct InternedData {
    #[prost(message, repeated, tag = "2")]
    event_names: Vec<Named>,
    #[prost(message, repeated, tag = "3")]
    debug_annotation_names: Vec<Named>,
    #[prost(message, repeated, tag = "4")]
    source_locations: Vec<Location>,
    #[prost(message, repeated, tag = "29")]
    debug_annotation_string_values: Vec<Named>,
}

#[derive(Message)]
struct Named {
    #[prost(uint64, tag = "1")]
    iid: u64,
    #[prost(string, tag = "2")]
    name: String,
}

#[derive(Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    iid: u64,
    #[prost(string, tag = "2")]
    file_name: String,
    #[prost(uint32, tag = "4")]
    line_number: u32,
}

fn example(name: &str, soc: &Soc) -> Program {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name);
    text::parse(&std::fs::read_to_string(path).unwrap(), soc).unwrap().0
}

/// What both formats say of an instruction: core and pipe, name, start and end in nanoseconds, code, detail.
type Slice = (String, String, u64, u64, String, String);

/// All that a trace says.
#[derive(Debug, Default, PartialEq)]
struct Read {
    slices: Vec<Slice>,
    counters: Vec<(String, u64, i64)>,
    flows: usize,
}

impl Read {
    fn sorted(mut self) -> Self {
        self.slices.sort();
        self.counters.sort();
        self
    }
}

fn of_perfetto(bytes: &[u8]) -> Read {
    #[derive(Default)]
    struct Sequence {
        now: u64,
        track: u64,
        names: HashMap<u64, String>,
        annotations: HashMap<u64, String>,
        texts: HashMap<u64, String>,
        places: HashMap<u64, String>,
        open: Vec<Slice>,
    }
    let mut read = Read::default();
    let mut tracks: BTreeMap<u64, String> = BTreeMap::new();
    let mut sequences: HashMap<u32, Sequence> = HashMap::new();
    // When each begins, and its ends.
    let mut flows: HashMap<u64, (u64, usize)> = HashMap::new();
    for packet in File::decode(bytes).unwrap().packet {
        if let Some(track) = packet.track_descriptor {
            let name = match (&track.process, tracks.get(&track.parent_uuid)) {
                (Some(process), None) => {
                    assert!(process.pid > 0);
                    process.process_name.clone()
                }
                (None, Some(above)) => format!("{above}/{}", track.name),
                other => panic!("{other:?}"),
            };
            assert_eq!(track.counter.is_some_and(|counter| counter.unit == 3), name.contains("_TO_"), "{name}");
            assert!(track.uuid != 0 && tracks.insert(track.uuid, name).is_none());
            continue;
        }
        let id = packet.trusted_packet_sequence_id;
        if packet.sequence_flags & 1 != 0 {
            let clocks = packet.clock_snapshot.unwrap().clocks;
            let [trace, own] = clocks.as_slice() else { panic!("{clocks:?}") };
            assert!(trace.clock_id == 6 && !trace.is_incremental && own.is_incremental);
            assert!(trace.timestamp == own.timestamp && (64..128).contains(&own.clock_id));
            let defaults = packet.trace_packet_defaults.unwrap();
            assert_eq!(defaults.timestamp_clock_id, own.clock_id);
            let track = defaults.track_event_defaults.unwrap().track_uuid;
            let new = Sequence { now: own.timestamp, track, ..Sequence::default() };
            assert!(id > 1 && sequences.insert(id, new).is_none());
        } else {
            assert_eq!(packet.sequence_flags, 2);
        }
        let sequence = sequences.get_mut(&id).unwrap();
        let interned = packet.interned_data.unwrap_or_default();
        sequence.names.extend(interned.event_names.into_iter().map(|n| (n.iid, n.name)));
        sequence.annotations.extend(interned.debug_annotation_names.into_iter().map(|n| (n.iid, n.name)));
        sequence.texts.extend(interned.debug_annotation_string_values.into_iter().map(|n| (n.iid, n.name)));
        let place = |at: Location| (at.iid, format!("{}:{}", at.file_name, at.line_number));
        sequence.places.extend(interned.source_locations.into_iter().map(place));
        let Some(event) = packet.track_event else { continue };
        sequence.now += packet.timestamp.unwrap();
        let track = if event.track_uuid == 0 { sequence.track } else { event.track_uuid };
        match event.r#type {
            1 => {
                let [annotation] = event.debug_annotations.as_slice() else { panic!("{event:?}") };
                assert_eq!(sequence.annotations[&annotation.name_iid], "detail");
                let (name, text) = (&sequence.names[&event.name_iid], &sequence.texts[&annotation.string_value_iid]);
                let place = &sequence.places[&event.source_location_iid];
                let (track, name, place, text) = (tracks[&track].clone(), name.clone(), place.clone(), text.clone());
                sequence.open.push((track, name, sequence.now, 0, place, text));
                event.flow_ids.iter().for_each(|id| assert!(flows.insert(*id, (sequence.now, 0)).is_none()));
                assert!(event.terminating_flow_ids.is_empty());
            }
            2 => {
                let mut slice = sequence.open.pop().unwrap();
                slice.3 = sequence.now;
                read.slices.push(slice);
                for id in event.terminating_flow_ids {
                    let (begun, ends) = flows.get_mut(&id).expect("a flow that has begun");
                    assert!(*begun <= sequence.now, "{id}");
                    *ends += 1;
                }
            }
            4 => read.counters.push((tracks[&track].clone(), sequence.now, event.counter_value)),
            other => panic!("{other}"),
        }
    }
    assert!(sequences.values().all(|sequence| sequence.open.is_empty()));
    read.flows = flows.values().filter(|(_, ends)| *ends == 1).count();
    assert!(flows.values().all(|(_, ends)| *ends <= 1));
    read
}

fn of_json(text: &str) -> Read {
    let document: Value = serde_json::from_str(text).unwrap();
    let mut read = Read::default();
    let mut open: HashMap<String, Slice> = HashMap::new();
    for event in document["traceEvents"].as_array().unwrap() {
        let word = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
        let ns = |key: &str| {
            let (us, picoseconds) =
                event[key].to_string().split_once('.').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
            us.parse::<u64>().unwrap() * 1_000_000 + format!("{picoseconds:0<6}").parse::<u64>().unwrap()
        };
        let lane = format!("{}/{}", word("pid"), word("tid"));
        let arg = |key: &str| event["args"][key].as_str().unwrap_or_default().to_owned();
        let slice = |end: u64| (lane.clone(), word("name"), ns("ts") / 1000, end / 1000, arg("code"), arg("detail"));
        match word("ph").as_str() {
            "X" => read.slices.push(slice(ns("ts") + ns("dur"))),
            "B" => drop(open.insert(lane.clone(), slice(0))),
            "E" => {
                let mut slice = open.remove(&lane).unwrap();
                slice.3 = ns("ts") / 1000;
                read.slices.push(slice);
            }
            "C" => {
                let name = format!("{}/{}", word("pid"), word("name"));
                read.counters.push((name, ns("ts") / 1000, event["args"]["bytes"].as_i64().unwrap()));
            }
            "f" => read.flows += 1,
            _ => {}
        }
    }
    read
}

#[test]
fn both_formats_say_the_same() {
    let soc = Soc::builtin("Ascend910B1").unwrap();
    for name in ["add_double_buffer.tile", "add_tail.tile", "strided_copy.tile", "gather_rows.tile"] {
        let program = example(name, &soc);
        let executed = Executed::new(&program, name);
        let lanes = Lanes::of(&soc);
        for window in [Window::ALL, Window { from: 1500, to: 2000 }] {
            let (mut json, mut perfetto) = (Vec::new(), Vec::new());
            let mut trace = Trace::new(&mut json, &executed, lanes, 1850, &[0, 1], window);
            let mut small = Perfetto::new(&mut perfetto, &executed, lanes, 1850, &[0, 1], window);
            let run = profile(&program, &soc, &Options::default(), &mut |event| {
                trace.add(event);
                small.add(event);
            });
            assert_eq!(run.unwrap().mhz, 1850);
            trace.finish().unwrap();
            small.finish().unwrap();
            let (json, read) = (String::from_utf8(json).unwrap(), of_perfetto(&perfetto).sorted());
            assert!(!read.slices.is_empty(), "{name} {window:?}");
            assert_eq!(read, of_json(&json).sorted(), "{name} {window:?}");
            assert!(perfetto.len() * 3 < json.len(), "{name}: {} and {}", perfetto.len(), json.len());
        }
    }
}

#[test]
fn an_event_takes_few_bytes() {
    let soc = Soc::builtin("Ascend910B1").unwrap();
    let text = "cores 1\nub a: 256\nfor i in 0..20000 {\n  adds.f32 a[0], a[0], 1.0 repeat 1\n}\n";
    let (program, _) = text::parse(text, &soc).unwrap();
    let executed = Executed::new(&program, "many.tile");
    let mut bytes = Vec::new();
    let mut trace = Perfetto::new(&mut bytes, &executed, Lanes::of(&soc), 1850, &[0], Window::ALL);
    let mut events = 0;
    profile(&program, &soc, &Options::default(), &mut |event| {
        trace.add(event);
        events += 1;
    })
    .unwrap();
    trace.finish().unwrap();
    assert!(events >= 40_000 && bytes.len() < 48 * events, "{} bytes of {events} events", bytes.len());
}
