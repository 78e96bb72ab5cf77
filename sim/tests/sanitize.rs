//! The sanitizer finds what is wrong, and nothing one byte or one step before.

use std::time::{Duration, Instant};

use ubtile_sim::clock::{Options, simulate};
use ubtile_sim::exec::Global;
use ubtile_sim::product::Soc;
use ubtile_sim::program::Program;
use ubtile_sim::sanitize::{Finding, Kind, sanitize};
use ubtile_sim::text::parse;

const EXAMPLES: [(&str, &str); 8] = [
    ("add_single_buffer", include_str!("../examples/add_single_buffer.tile")),
    ("add_serial", include_str!("../examples/add_serial.tile")),
    ("add_bypass", include_str!("../examples/add_bypass.tile")),
    ("add_double_buffer", include_str!("../examples/add_double_buffer.tile")),
    ("add_tail", include_str!("../examples/add_tail.tile")),
    ("strided_copy", include_str!("../examples/strided_copy.tile")),
    ("gather_rows", include_str!("../examples/gather_rows.tile")),
    ("add", include_str!("../examples/add.tile")),
];

fn program(text: &str) -> Program {
    let soc = Soc::builtin("Ascend910B1").unwrap();
    parse(text, &soc).unwrap_or_else(|e| panic!("{e}\n{text}")).0
}

fn findings(text: &str) -> Vec<Finding> {
    sanitize(&program(text), None).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn kinds(text: &str) -> Vec<Kind> {
    findings(text).iter().map(|finding| finding.kind).collect()
}

/// The kinds at t - 1, where nothing is wrong, and at t.
#[track_caller]
fn boundary(text: impl Fn(i64) -> String, at: i64, kind: Kind) {
    assert_eq!(kinds(&text(at - 1)), [], "{}", text(at - 1));
    assert_eq!(kinds(&text(at)), [kind], "{}", text(at));
}

#[test]
fn examples_are_clean() {
    for (name, text) in EXAMPLES {
        assert_eq!(findings(text), [], "{name}");
    }
}

#[test]
fn capacity_is_the_physical_one() {
    // 192 KiB.
    boundary(|blocks| format!("cores 1\nub a: {}\n", 32 * blocks), 6 * 1024 + 1, Kind::Capacity);
}

#[test]
fn bounds_of_slots_and_tensors() {
    let head = "cores 1\ntensor x: u8[256] in\nub a: 256 field rows\nub b: 256\n";
    boundary(|n| format!("{head}load a[0], x[0] bytes {}\n", 32 * n), 9, Kind::Bounds);
    boundary(|n| format!("{head}load a[{}], x[0] bytes 32\n", 32 * n), 8, Kind::Bounds);
    boundary(|n| format!("{head}load_pad a[0], x[{n}] bytes 16\n"), 241, Kind::Bounds);
    boundary(|n| format!("{head}dup.f32 a[0], 1.0 count {n}\n"), 65, Kind::Bounds);
    boundary(|n| format!("{head}dup.f32 a[32], 1.0 lanes {n}\n"), 57, Kind::Bounds);
    boundary(|n| format!("{head}dup.f32 a[0]({n}, 0), 1.0 lanes 16\n"), 8, Kind::Bounds);
    boundary(|n| format!("{head}dup.f32 a[0](1, {n}), 1.0 repeat 2 lanes 8\n"), 8, Kind::Bounds);
    let field = findings(&format!("{head}dup.f32 a[0], 1.0 count 65\n")).remove(0).field;
    assert_eq!(field.as_deref(), Some("rows"));
}

#[test]
fn alignment() {
    let head = "cores 1\ntensor x: u8[256] in\nub a: 256\n";
    assert_eq!(kinds(&format!("{head}load_pad a[32], x[1] bytes 32\n")), []);
    assert_eq!(kinds(&format!("{head}load_pad a[16], x[0] bytes 32\n")), [Kind::Alignment]);
    assert_eq!(kinds(&format!("{head}dup.f32 a[4], 1.0 lanes 1\n")), [Kind::Alignment]);
    assert_eq!(kinds(&format!("{head}write.i32 a[4], 1\n")), []);
    assert_eq!(kinds(&format!("{head}write.i32 a[6], 1\n")), [Kind::Alignment]);
}

#[test]
fn a_field_out_of_range() {
    boundary(|n| format!("cores 1\nub a: 32\nlet n = {n}\ndup.f32 a[0](0, 0), 1.0 repeat n\n"), 256, Kind::Field);
}

#[test]
fn reads_of_what_nobody_has_written() {
    let wait = "set_flag mte2 v 0\nwait_flag mte2 v 0\n";
    let head = format!("cores 1\ntensor x: u8[256] in\nub a: 256\nub b: 256\nload_pad a[0], x[0] bytes 20\n{wait}");
    // The load fills 20 bytes; what is left of its block is undefined.
    boundary(|n| format!("{head}adds.f32 b[0], a[0], 1.0 count {n}\n"), 6, Kind::Uninitialised);
    boundary(|n| format!("{head}adds.f32 b[0], a[0], 1.0 lanes {n}\n"), 6, Kind::Uninitialised);
    boundary(|n| format!("{head}adds.f32 b[0](1, 0), a[0](1, {n}), 1.0 repeat 2 lanes 5\n"), 1, Kind::Uninitialised);
    assert_eq!(kinds(&format!("{head}adds.f32 b[0], a[0], 1.0 mask 0x1f\n")), []);
    assert_eq!(kinds(&format!("{head}adds.f32 b[0], a[0], 1.0 mask 0x21\n")), [Kind::Uninitialised]);
    // A target that is read first.
    assert_eq!(kinds(&format!("{head}axpy.f32 b[0], a[0], 1.0 lanes 5\n")), [Kind::Uninitialised]);
    let found = findings(&format!("{head}adds.f32 b[0], a[0], 1.0 lanes 6\n")).remove(0);
    assert_eq!(found.what, "reads byte 20 of a[0], which nobody has written");
    // A gather without tensors may read anything behind the start of its table, but not where there is nothing.
    let head = "cores 1\nub a: 512\nub b: 512\nub c: 256\ndup.i32 c[0], 0 count 64\n";
    for (filled, found) in [("", vec![Kind::Uninitialised]), ("dup.f32 a[256], 1.0 count 8\n", vec![])] {
        assert_eq!(kinds(&format!("{head}{filled}barrier v\ngather.f32 b[0], a[224], c[0] repeat 1\n")), found);
    }
    let behind = format!("{head}dup.f32 a[0], 1.0 count 8\nbarrier v\ngather.f32 b[0], a[32], c[0] repeat 1\n");
    assert_eq!(kinds(&behind), [Kind::Uninitialised]);
    // Global memory.
    let head = "cores 1\ntensor w: u8[64] workspace\nub a: 64\n";
    assert_eq!(kinds(&format!("{head}load a[0], w[0] bytes 32\n")), [Kind::Uninitialised]);
    assert_eq!(kinds(&format!("{}load a[0], w[0] bytes 32\n", head.replace("work", "zeroed work"))), []);
}

#[test]
fn results_are_written_to_the_last_byte() {
    let text = |n| {
        format!(
            "cores 1\ntensor z: u8[71] out\nub a: 96\ndup.f32 a[0], 0.0 lanes 24\nset_flag v mte3 0\nwait_flag v mte3 0\nstore_pad z[0], a[0] bytes {n}\n"
        )
    };
    assert_eq!(kinds(&text(71)), []);
    assert_eq!(findings(&text(70))[0].what, "1 bytes of z stay unwritten, the first is byte 70");
}

#[test]
fn pipes_that_nothing_orders() {
    let head = "cores 1\ntensor x: u8[256] in\nub a: 256\nub b: 256\ndup.f32 b[0], 0.0\n";
    let load = "load a[0], x[0] bytes 64\n";
    let wait = "set_flag mte2 v 0\nwait_flag mte2 v 0\n";
    let read = |n| format!("adds.f32 b[0], a[0], 1.0 lanes {n}\n");
    assert_eq!(kinds(&format!("{head}{load}{wait}barrier v\n{}", read(16))), []);
    assert_eq!(kinds(&format!("{head}barrier v\n{load}{}", read(16))), [Kind::PipeRace]);
    // What is set too early orders nothing behind it.
    assert_eq!(
        kinds(&format!("{head}set_flag mte2 v 0\n{load}wait_flag mte2 v 0\nbarrier v\n{}", read(16))),
        [Kind::PipeRace]
    );
    // A barrier of one pipe is none between two; one of all is.
    assert_eq!(kinds(&format!("{head}{load}barrier mte2\nbarrier v\n{}", read(16))), [Kind::PipeRace]);
    assert_eq!(kinds(&format!("{head}{load}barrier all\n{}", read(16))), []);
    // A write over what another pipe may still read, where both meet in one element.
    let over = |n| format!("{head}{load}barrier all\n{}load_pad a[{n}], x[0] bytes 4\n", read(8));
    assert_eq!(kinds(&over(32)), []);
    assert_eq!(kinds(&over(0)), [Kind::PipeRace]);
    // Lanes that are off are not touched.
    let masked = |mask| format!("{head}barrier all\ndup.f32 a[0], 1.0 mask {mask}\nwrite.f32 a[8], 1.0\n");
    assert_eq!(kinds(&masked("0xb")), []);
    assert_eq!(kinds(&masked("0xf")), [Kind::PipeRace]);
    let counted = |n| format!("{head}barrier all\ndup.f32 a[0], 1.0 count {n}\nwrite.f32 a[8], 1.0\n");
    boundary(counted, 3, Kind::PipeRace);
    let strided = |n| format!("{head}barrier all\ndup.f32 a[0]({n}, 0), 1.0 lanes 16\nwrite.f32 a[64], 1.0\n");
    boundary(strided, 2, Kind::PipeRace);
}

#[test]
fn the_scalar_unit_hands_out_in_order() {
    let head = "cores 1\ntensor z: i32[8] out\nub a: 32\n";
    let fill = "for i in 0..8 {\n  write.i32 a[4*i], 7\n}\n";
    assert_eq!(kinds(&format!("{head}{fill}store z[0], a[0] bytes 32\n")), []);
    let late = format!("{head}{fill}store z[0], a[0] bytes 32\nwrite.i32 a[28], 8\n");
    let found = findings(&late).remove(0);
    assert_eq!((found.kind, found.at.as_deref()), (Kind::PipeRace, Some("line 8, column 1")));
    assert!(found.what.contains("mte3 reads at line 7"), "{}", found.what);
    let waits = "set_flag mte3 s 0\nwait_flag mte3 s 0\n";
    assert_eq!(kinds(&late.replace("bytes 32\n", &format!("bytes 32\n{waits}"))), []);
}

#[test]
fn global_memory_of_one_core() {
    let head = "cores 1\ntensor z: u8[64] zeroed out\nub a: 64\nub b: 64\ndup.f32 a[0], 0.0 lanes 16\nset_flag v mte3 0\nwait_flag v mte3 0\n";
    let text = |at| format!("{head}store z[0], a[0] bytes 32\nload b[0], z[{at}] bytes 32\n");
    assert_eq!(kinds(&text(32)), []);
    assert_eq!(kinds(&text(0)), [Kind::PipeRace]);
    assert_eq!(kinds(&text(0).replace("load", "set_flag mte3 mte2 0\nwait_flag mte3 mte2 0\nload")), []);
}

#[test]
fn cores_that_nothing_orders() {
    let head = "cores 2\ntensor z: u8[96] zeroed out\nub a: 64\ndup.f32 a[0], 0.0 lanes 16\nbarrier all\n";
    boundary(|n| format!("{head}store_pad z[{}*core], a[0] bytes 33\n", 34 - n), 2, Kind::CoreRace);
    let store = "store z[0], a[0] bytes 32";
    assert_eq!(kinds(&format!("{head}{store} add.f32\n")), []);
    assert_eq!(kinds(&format!("{head}if core == 0 {{\n{store}\n}} else {{\n{store} add.f32\n}}\n")), [Kind::CoreRace]);
    let exchange = |between: &str| {
        format!("{head}store z[32*core], a[0] bytes 32\nbarrier all\n{between}load a[0], z[32 - 32*core] bytes 32\n")
    };
    // The load of core 0 and the store of core 1, the load of core 1 and the store of core 0.
    assert_eq!(kinds(&exchange("")), [Kind::CoreRace; 2]);
    assert_eq!(kinds(&exchange("sync_all hard\n")), []);
    // Reads do not collide, whoever reads; a write collides with any of them.
    let reads =
        format!("{head}load a[0], z[0] bytes 32\nif core == 1 {{\nbarrier all\nstore z[0], a[0] bytes 32\n}}\n");
    assert_eq!(kinds(&reads), [Kind::CoreRace]);
    assert_eq!(kinds(&reads.replace("store z[0]", "store z[32]")), []);
}

#[test]
fn soft_synchronisation_needs_its_memory() {
    let text = |cores: u32, role, bytes| {
        format!("cores {cores}\ntensor w: u8[64] {role}\nub s: {bytes}\nsync_all soft w[0], s[0]\n")
    };
    assert_eq!(kinds(&text(2, "zeroed workspace", 64)), []);
    assert_eq!(kinds(&text(2, "zeroed workspace", 32)), [Kind::Bounds]);
    assert_eq!(kinds(&text(2, "workspace", 64)), [Kind::Uninitialised]);
    assert_eq!(kinds(&text(3, "zeroed workspace", 96)), [Kind::Bounds]);
    // That of the UB and that of the tensor are two findings.
    assert_eq!(kinds(&text(3, "zeroed workspace", 64)), [Kind::Bounds; 2]);
}

#[test]
fn flags() {
    let set = "set_flag v mte2 0\n";
    let wait = "wait_flag v mte2 0\n";
    let head = "cores 1\n";
    assert_eq!(kinds(&format!("{head}{set}{wait}")), []);
    assert_eq!(kinds(&format!("{head}{set}")), [Kind::FlagLeftSet]);
    assert_eq!(kinds(&format!("{head}{wait}")), [Kind::Deadlock]);
    // Only in one order of the pipes.
    assert_eq!(kinds(&format!("{head}{set}{wait}{set}{wait}")), [Kind::FlagSetTwice]);
    let back = "set_flag mte2 v 0\nwait_flag mte2 v 0\n";
    assert_eq!(kinds(&format!("{head}{set}{wait}{back}{set}{wait}")), []);
    // 6 and 7 belong to the vendor's framework.
    boundary(|n| format!("{head}set_flag v mte2 {n}\nwait_flag v mte2 {n}\n"), 6, Kind::ReservedFlag);
}

#[test]
fn deadlock_across_cores() {
    let text = |cores| format!("cores 2\nif core < {cores} {{\nsync_all hard\n}}\n");
    assert_eq!(kinds(&text(2)), []);
    let found = findings(&text(1)).remove(0);
    assert_eq!((found.kind, found.core), (Kind::Deadlock, Some(0)));
    assert_eq!(found.what, "waits for core 1, which has come to its end");
}

/// A flag that is set behind what waits itself is not one that nobody sets.
#[test]
fn a_deadlock_says_who_waits_for_whom() {
    let what = |lines: &str| {
        let found = findings(&format!("cores 1\n{lines}"));
        let deadlocks = found.into_iter().filter(|finding| finding.kind == Kind::Deadlock);
        deadlocks.map(|finding| format!("{}: {}", finding.instruction.unwrap(), finding.what)).collect::<Vec<_>>()
    };
    assert_eq!(what("wait_flag v mte2 0\n"), ["wait_flag v mte2 0: waits for flag v mte2 0, which nobody sets"]);
    let circle = "wait_flag v mte2 0\nset_flag mte2 v 0\nwait_flag mte2 v 0\nset_flag v mte2 0\n";
    assert_eq!(
        what(circle),
        [
            "wait_flag mte2 v 0: waits for flag mte2 v 0, which mte2 sets behind line 2, column 1: wait_flag v mte2 0",
            "wait_flag v mte2 0: waits for flag v mte2 0, which v sets behind line 4, column 1: wait_flag mte2 v 0",
        ]
    );
    let held = "wait_flag v mte2 0\nset_flag mte2 s 0\nwait_flag mte2 s 0\nset_flag v mte2 0\n";
    assert_eq!(
        what(held),
        [
            "wait_flag mte2 s 0: waits for flag mte2 s 0, which mte2 sets behind line 2, column 1: wait_flag v mte2 0",
            "wait_flag v mte2 0: waits for flag v mte2 0, which nobody sets while the scalar unit waits at line 4, \
             column 1: wait_flag mte2 s 0",
        ]
    );
}

#[test]
fn inputs_are_not_written() {
    let text = |role: &str, write: &str| {
        let wait = "set_flag v mte3 0\nwait_flag v mte3 0\n";
        format!("cores 1\ntensor x: i32[8] {role}\nub a: 32\ndup.i32 a[0], 0 lanes 8\n{wait}{write}\n")
    };
    for write in ["store x[0], a[0] bytes 32", "store x[0], a[0] bytes 32 add.i32", "write.i32 x[0], 1"] {
        assert_eq!(kinds(&text("inout", write)), [], "{write}");
        let found = findings(&text("in", write)).remove(0);
        assert_eq!((found.kind, found.what.as_str()), (Kind::ReadOnly, "writes x, which is an input"), "{write}");
    }
}

#[test]
fn a_queue_holds_as_many_as_the_product_says() {
    let soc = Soc::builtin("Ascend910B1").unwrap();
    let depth = i64::from(soc.sync.queue_depth.get().unwrap().get());
    let text = |loads: i64| {
        let head = "cores 1\ntensor x: u8[32] in\nub a: 32 slots 64\nwait_flag v mte2 0\n";
        let loads: String = (0..loads).map(|slot| format!("load a[{slot}; 0], x[0] bytes 32\n")).collect();
        format!("{head}{loads}set_flag v mte2 0\n")
    };
    // The one that waits in front of them takes a place.
    boundary(text, depth, Kind::Deadlock);
    let what = "waits for flag v mte2 0, which nobody sets while the scalar unit waits for room in the queue of mte2";
    assert_eq!(findings(&text(depth))[0].what, what);
    let timed = |loads| simulate(&program(&text(loads)), &soc, &Options::default());
    assert!(timed(depth - 1).is_ok() && timed(depth).unwrap_err().to_string().contains("waits for what never"));
}

#[test]
fn a_queue_needs_a_barrier_between_what_depends() {
    let text =
        |between: &str| format!("cores 1\nub a: 256\nub b: 256\ndup.f32 a[0], 0.0\n{between}abs.f32 b[0], a[0]\n");
    assert_eq!(kinds(&text("barrier v\n")), []);
    let found = findings(&text("")).remove(0);
    assert!(found.kind == Kind::NoBarrier && found.kind.is_warning());
    assert_eq!(
        found.what,
        "reads byte 0 of a[0], which v writes at line 4, column 1: dup.f32 a[0], 0.0, with no barrier between"
    );
}

#[test]
fn findings_say_where() {
    let text = EXAMPLES[1].1.replace("    wait_flag v mte3 0\n", "").replace("    set_flag v mte3 0\n", "");
    let found = findings(&text);
    let store = found.iter().find(|f| f.instruction.as_ref().is_some_and(|line| line.starts_with("store"))).unwrap();
    assert_eq!((store.kind, store.core, store.tile.as_deref()), (Kind::PipeRace, Some(0), Some("add")));
    assert_eq!((store.field.as_deref(), &store.loops[..]), (Some("tiles"), &[("i".to_string(), 0)][..]));
    // 8 cores, 4 tiles.
    assert_eq!(store.count, 32);
}

/// Findings take no look at the whole program each: this took half a minute.
#[test]
fn as_many_findings_as_lines_take_no_time() {
    let text = format!("cores 1\nub a: 256\n{}", "dup.f32 a[0], 1.0\n".repeat(32_000));
    let start = Instant::now();
    assert_eq!(findings(&text).len(), 31_999);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

/// Of ten loops the innermost eight are named, also where the scalar unit waits and has handed out nothing.
#[test]
fn findings_name_the_innermost_loops() {
    for (line, at) in [("read_only", "store x[0], a[0] bytes 32"), ("deadlock", "wait_flag v s 0")] {
        let heads: String = (0..10).map(|depth| format!("for i{depth} in {depth}..{} {{\n", depth + 1)).collect();
        let text = format!("cores 1\ntensor x: u8[32] in\nub a: 32\n{heads}{at}\n{}", "}\n".repeat(10));
        let found = findings(&text);
        let found = found.iter().find(|finding| finding.kind.name() == line).unwrap();
        assert_eq!(found.loops, (2..10).map(|depth| (format!("i{depth}"), depth)).collect::<Vec<_>>());
    }
}

/// Reads without data find the ends of what they assume first, each for itself.
#[test]
fn assumptions_are_tried_at_their_ends() {
    let text = |from: i64, to: i64| {
        format!(
            "cores 1\ntensor x: i32[8] in\ntensor t: f32[64] in\nub b: 256\nfor i in 0..2 {{\n\
             let j = read.i32 x[4*i] assume 0..1\nlet k = read.i32 x[4*i] assume {from}..{to}\nload b[32*i], t[32*k] bytes 32\n}}\n"
        )
    };
    boundary(|to| text(0, to), 9, Kind::Bounds);
    assert_eq!(kinds(&text(-1, 8)), [Kind::Bounds]);
    // What is read once has the last.
    let once = |to: i64| text(0, to).replace("0..2", "0..1");
    boundary(once, 9, Kind::Bounds);
}

/// Bits behind the last active lane need not be there.
#[test]
fn bits_are_read_as_far_as_lanes_are_active() {
    let head = "cores 1\nub a: 256\nub m: 32\nub d: 256\ndup.f32 a[0], 1.0\nbarrier v\ncmps.ge.f32 m[0], a[0], 0.0 count 10\nbarrier v\n";
    boundary(|n| format!("{head}gather_bits.f32 d[0], a[0], m[0] count {n}\n"), 17, Kind::Uninitialised);
}

/// Lanes that are off have no offset.
#[test]
fn offsets_are_read_where_lanes_are_active() {
    let head = "cores 1\nub a: 256\nub c: 512\nub d: 512\ndup.f32 a[0], 1.0 count 64\n\
        dup.i32 c[0], 0 repeat 2 lanes 5\nbarrier v\n";
    boundary(|n| format!("{head}gather.f32 d[0], a[0], c[0] repeat 2 lanes {n}\n"), 6, Kind::Uninitialised);
    assert_eq!(kinds(&format!("{head}gather.f32 d[0], a[0], c[0] repeat 2 mask 0x15\n")), []);
    assert_eq!(kinds(&format!("{head}gather.f32 d[0], a[0], c[0] repeat 2 mask 0x31\n")), [Kind::Uninitialised]);
    // The second repeat begins where its lanes have room, not behind those of the first.
    let moved = head.replace("c[0], 0 repeat 2", "c[0](1, 7), 0 repeat 2");
    assert_eq!(kinds(&format!("{moved}gather.f32 d[0], a[0], c[0] repeat 2 lanes 5\n")), [Kind::Uninitialised]);
}

/// What fails with these data is one finding, also where its results are read.
#[test]
fn what_fails_has_written() {
    let head = "cores 1\nub a: 64\nub m: 32\nub d: 256\ndup.f32 d[0], 1.0 count 64\nbarrier v\n\
        cmps.ge.f32 m[0], d[0], 0.0 count 64\nbarrier v\n";
    let reads = "barrier v\nadds.f32 d[0], a[0], 1.0 count 8\n";
    let found = |text: &str| {
        let program = program(text);
        let global = Global::new(&program).unwrap();
        sanitize(&program, Some(global)).unwrap().iter().map(|finding| finding.kind).collect::<Vec<_>>()
    };
    assert_eq!(found(&format!("{head}gather_bits.f32 a[0], d[0], m[0] count 64\n{reads}")), [Kind::Bounds]);
    assert_eq!(found(&format!("{head}{reads}")), [Kind::Uninitialised]);
}

/// Offsets that nobody has written lead anywhere: they are named beside where they led.
#[test]
fn undefined_offsets_are_found_beside_where_they_lead() {
    let head = "cores 1\nub a: 512\nub b: 256\nub c: 256\ndup.f32 a[0], 1.0 count 128\nbarrier v\n";
    let program = program(&format!("{head}gather.f32 b[0], a[0], c[0] repeat 1\n"));
    let found = sanitize(&program, Global::new(&program)).unwrap();
    let mut kinds: Vec<_> = found.iter().map(|finding| finding.kind).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, [Kind::Bounds, Kind::Uninitialised]);
    let what: Vec<_> = found.iter().map(|finding| finding.what.as_str()).collect();
    assert!(what.contains(&"reads byte 0 of c[0], which nobody has written"), "{what:?}");
}
