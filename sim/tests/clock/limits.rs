//! Flags, queues, barriers: what happens one cycle before, at, and one cycle after.

use ubtile_sim::clock::{ClockError, Halt, Options};

use super::{cycles, plain, run, time, with};

#[test]
fn a_flag_holds_exactly_as_long_as_it_must() {
    // The load is done after 20 + 8 + 200 cycles. The vector pipe gets to the wait after 20 + repeats.
    let of = |repeats: u32| {
        cycles(
            &format!(
                "cores 1\ntensor x: f32[128] in\nub a: 65536\nub b: 512\nload b[0], x[0] bytes 512\nset_flag mte2 v 0\n\
                 abs.f32 a[0], a[0] repeat {repeats}\nwait_flag mte2 v 0\nabs.f32 a[0], a[0] repeat 1\n"
            ),
            &plain(),
        )
    };
    assert_eq!([of(207), of(208), of(209)], [228 + 21, 228 + 21, 229 + 21]);
}

#[test]
fn a_full_queue_holds_the_scalar_unit() {
    // Of n instructions of 25 cycles, one runs and `depth` wait. The load behind them shows when the scalar unit had handed over all.
    let of = |depth: u32, n: u32| {
        let soc = with(&plain(), &[("sync.queue_depth", &depth.to_string())]);
        let code = "abs.f32 a[0], a[0] repeat 5\n".repeat(n as usize);
        time(&format!("cores 1\ntensor x: f32[16384] in\nub a: 65536\n{code}load a[0], x[0] bytes 65536\n"), &soc)
    };
    let load = 20 + 1024 + 200;
    for depth in [1, 2, 16] {
        for (n, wait) in [(depth, 0), (depth + 1, 0), (depth + 2, 25), (depth + 3, 50)] {
            let timing = of(depth, n);
            assert_eq!(timing.cycles, load + wait, "{n} of {depth}");
            assert!((timing.queue_full_cycles - wait as f64).abs() < 1e-9);
        }
    }
}

/// A store behind loads that fill their queue shares L2 with the load that makes room, not with all that come later.
#[test]
fn what_a_full_queue_of_copies_held_begins_when_there_is_room() {
    let soc = with(&plain(), &[("memory.l2_gbps", "64")]);
    for (loads, flags) in [(1, ""), (16, ""), (17, ""), (40, ""), (40, "set_flag mte2 s 0\nwait_flag mte2 s 0\n")] {
        let load = format!("load a[0], x[0] bytes 32768\n{flags}");
        let timing = time(
            &format!(
                "cores 1\ntensor x: f32[8192] in\ntensor z: f32[8192] out\nub a: 32768\nub b: 32768\n{}\
                 store z[0], b[0] bytes 32768\n",
                load.repeat(loads)
            ),
            &soc,
        );
        // Issue, the load before, its own bytes and latency; the load has begun as long before as it takes to issue the store.
        let alone = 20 + 512 + 100;
        let wait = if flags.is_empty() { 512 - if loads > 16 { 20 } else { 0 } } else { 0 };
        assert!((timing.pipes.mte3.busy_cycles - f64::from(alone + wait)).abs() < 1e-9, "{loads}: {:?}", timing.pipes);
    }
}

/// What the one before writes, to the byte, and whatever is read: targets that are added to, tables, offsets.
#[test]
fn an_instruction_waits_for_what_it_reads_and_for_nothing_else() {
    for (first, second, waits) in [
        ("abs.f32 a[0], b[0]", "abs.f32 c[0], a[0]", true),
        ("abs.f32 a[0], b[0]", "abs.f32 c[0], a[256]", false),
        ("axpy.f32 a[0], b[0], 2.0", "axpy.f32 a[0], b[0], 2.0", true),
        ("mul_add_dst.f32 a[0], b[0], c[0]", "mul_add_dst.f32 a[0], b[0], c[0]", true),
        ("add.f32 a[0], b[0], c[0]", "add.f32 a[0], b[0], c[0]", false),
        ("cmp.lt.f32 a[0], b[0], c[0] repeat 2", "abs.f32 c[0], a[0]", true),
        ("cmp.lt.f32 a[0], b[0], c[0] repeat 2", "abs.f32 c[0], a[32]", false),
        ("reduce.sum.f32 a[0], b[0]", "abs.f32 c[0], a[0]", true),
        ("reduce.sum.f32 a[0], b[0]", "abs.f32 c[0], a[32]", false),
        ("cast.f16.f32.away a[0], b[0]", "abs.f16 c[0], a[96]", true),
        ("cast.f16.f32.away a[0], b[0]", "abs.f16 c[0], a[128]", false),
        ("dup.u32 a[768], 0", "gather.f32 c[0], b[0], a[0] repeat 4", true),
        ("dup.u32 a[768], 0", "gather.f32 c[0], b[0], a[0] repeat 3", false),
        ("abs.f32 a[512], b[0]", "gather.f32 c[0], a[0], b[0]", true),
        ("abs.f32 a[512], b[0]", "gather.f32 c[0], b[512], b[0]", false),
        ("dup.u32 a[32], 0 lanes 8", "gather_bits.f32 c[0], b[0], a[0] repeat 2", true),
        ("dup.u32 a[32], 0 lanes 8", "gather_bits.f32 c[0], b[0], a[0] repeat 1", false),
    ] {
        let of = |latency: &str| {
            let soc = with(&plain(), &[("vector.dependent_cycles", latency)]);
            cycles(&format!("cores 1\nub a: 1024\nub b: 1024\nub c: 1024\n{first}\n{second}\n"), &soc)
        };
        // Repeats behind the first are on their way meanwhile.
        let waited = of("100") - of("0");
        assert_eq!(waited > 0, waits, "{first}; {second}: {waited}");
    }
}

#[test]
fn what_a_full_queue_held_still_waits_for_its_operand() {
    // The second instruction reads what the first one writes; both come behind a load, the second one only fits into the larger queue.
    let of = |depth: &str, operand: &str| {
        let soc = with(&plain(), &[("vector.dependent_cycles", "15"), ("sync.queue_depth", depth)]);
        let text = format!(
            "cores 1\ntensor x: f32[128] in\nub a: 4096\nub b: 512\nload b[0], x[0] bytes 512\nset_flag mte2 v 0\n\
             wait_flag mte2 v 0\nabs.f32 a[0], b[0] repeat 1\nabs.f32 a[1024], {operand} repeat 1\n"
        );
        cycles(&text, &soc)
    };
    for depth in ["2", "3", "16"] {
        assert_eq!(of(depth, "a[0]"), 228 + 21 + 15 + 21, "a queue of {depth}");
        assert_eq!(of(depth, "a[2048]"), 228 + 21 + 21, "a queue of {depth}");
    }
}

#[test]
fn barriers_wait_for_what_they_name() {
    let of = |between: &str, after: &str| {
        let text = format!(
            "cores 1\ntensor x: f32[128] in\ntensor z: f32[128] out\nub a: 65536\nub b: 512\nload b[0], x[0] bytes 512\n{between}\n{after}\n"
        );
        cycles(&text, &plain())
    };
    let abs = "abs.f32 a[0], a[0] repeat 230";
    assert_eq!(of("", abs), 250, "beside each other");
    assert_eq!(of("barrier v", abs), 250, "nothing of this pipe was before");
    assert_eq!(of("barrier all", abs), 228 + 250);
    let again = "load b[0], x[0] bytes 512";
    assert_eq!(of("", again), 2 * 20 + 8 + 200);
    assert_eq!(of("barrier mte2", again), 2 * 228);
}

#[test]
fn all_cores_wait_for_the_last() {
    let soc = with(&plain(), &[("sync.sync_all_hard_us", "2"), ("launch.stagger_us", "0.1")]);
    let text = "cores 3\nub a: 65536\nper_core n: 100, 10, 50\nabs.f32 a[0], a[0] repeat n\nsync_all hard\nabs.f32 a[0], a[0] repeat 5\n";
    let timing = time(text, &soc);
    // They are there after 120, 100 + 30 and 200 + 70 cycles from the first core's start, and all go on 2000 cycles after the last.
    assert_eq!(timing.cycles, 270 + 2000 + 25);
    assert!((timing.task_us - (1.0 + 2.0 + 2.295)).abs() < 1e-9);
    let waited = ((270.0 - 120.0) + (270.0 - 130.0)) / 3.0 + 2000.0;
    assert!((timing.sync_cycles - waited).abs() < 1e-6, "{}", timing.sync_cycles);
}

#[test]
fn what_never_happens_is_said() {
    let error = |text: &str| run(text, &plain(), &Options::default()).unwrap_err();
    let stuck = |text| match error(text) {
        ClockError::Halt(Halt::Stuck { core, node }) => (core, node.map(|node| node.0)),
        other => panic!("{other}"),
    };
    assert_eq!(stuck("cores 2\nset_flag mte2 v 0\nif core > 0 {\nwait_flag mte2 v 1\n}\n"), (1, Some(2)));
    assert_eq!(stuck("cores 1\nwait_flag v s 0\n"), (0, Some(0)));
    assert_eq!(stuck("cores 2\nif core > 0 {\nsync_all hard\n}\n").0, 0, "one is at its end");
    match error("cores 1\nset_flag mte2 v 0\nset_flag mte2 v 1\nset_flag mte2 v 0\n") {
        ClockError::Halt(Halt::SetTwice { core: 0, node, flag }) => assert_eq!((node.0, flag.id), (2, 0)),
        other => panic!("{other}"),
    }
    // A second set is fine once the wait was due, in whatever order the model sees them: behind two stores, after 40 cycles.
    let again = |repeats: u32| {
        let text = format!(
            "cores 1\ntensor z: f32[128] out\nub a: 65536\nstore z[0], a[0] bytes 512\nstore z[0], a[0] bytes 512\n\
             set_flag v mte3 0\nwait_flag v mte3 0\nabs.f32 a[0], a[0] repeat {repeats}\nset_flag v mte3 0\n"
        );
        run(&text, &plain(), &Options::default()).is_ok()
    };
    assert_eq!([again(1), again(18), again(19), again(20)], [false, false, false, true]);
    // What is handed out first is first in the same tick: a set behind the wait is fine, one before it is not.
    let together = |lines: &str| run(&format!("cores 1\n{lines}"), &plain(), &Options::default()).is_ok();
    let (set, wait) = ("set_flag mte2 v 0\n", "wait_flag mte2 v 0\n");
    assert!(together(&format!("{set}{wait}{set}{wait}")) && !together(&format!("{set}{set}{wait}{wait}")));
    // A wait that is due later than the next set does not take the flag before, though it is seen first.
    let late = |repeats: u32| {
        let text = format!(
            "cores 1\nub a: 4096\nabs.f32 a[0], a[0] repeat {repeats}\n{set}{wait}{}{set}{wait}",
            "write.i32 a[0], 1\n".repeat(3)
        );
        run(&text, &plain(), &Options::default()).is_ok()
    };
    // The set comes after 30 cycles, the wait after 20 and one for each repeat.
    assert_eq!([late(10), late(11)], [true, false]);
    let outside = error("cores 1\ntensor x: f32[128] in\nub a: 256\nload a[0], x[0] bytes 288\n");
    assert!(outside.to_string().contains("statement 0: OutsideBuffer"), "{outside}");
    let repeats = |repeats: u32| {
        let text =
            format!("cores 1\nub a: 512\nub b: 4096\nfor i in 0..9 {{\nabs.f32 a[0], b[0] repeat {repeats}\n}}\n");
        run(&text, &plain(), &Options::default())
    };
    assert!(repeats(2).is_ok() && repeats(3).unwrap_err().to_string().contains("statement 1: OutsideBuffer"));
    let outside = error("cores 1\ntensor x: f32[64] in\nub a: 512\nload a[0], x[0] bytes 288\n");
    assert!(matches!(outside, ClockError::Halt(Halt::Fault(_))), "{outside}");
    for scalar in ["let n = read.i32 x[OFFSET] assume 0..1", "write.i32 x[OFFSET], 1"] {
        let at = |offset: &str| {
            let text = format!("cores 1\ntensor x: i32[64] inout\n{}\n", scalar.replace("OFFSET", offset));
            run(&text, &plain(), &Options::default())
        };
        assert!(at("252").is_ok() && at("256").unwrap_err().to_string().contains("statement 0"), "{scalar}");
    }
    let unknown = with(&plain(), &[("vector.add", "unknown")]);
    let error =
        run("cores 1\nub a: 256\nadd.f32 a[0], a[0], a[0] repeat 1\n", &unknown, &Options::default()).unwrap_err();
    assert!(error.to_string().contains("vector.add is unknown"), "{error}");
}

/// A core that waits by software makes all wait as long, whichever it is.
#[test]
fn a_barrier_is_as_slow_as_the_slowest_cores() {
    let soc = with(&plain(), &[("sync.sync_all_hard_us", "2"), ("sync.sync_all_soft_us", "5")]);
    let of = |soft: u32| {
        let text = format!(
            "cores 2\ntensor w: f32[16] zeroed workspace\nub a: 256\nif core == {soft} {{\nsync_all soft w[0], a[0]\n}} else {{\nsync_all hard\n}}\n"
        );
        cycles(&text, &soc)
    };
    assert_eq!([of(0), of(1)], [5000; 2]);
}

/// A barrier by software has a block of each core in the UB and in the workspace.
#[test]
fn a_barrier_by_software_stays_in_its_memory() {
    let soc = with(&plain(), &[("sync.sync_all_soft_us", "5")]);
    let of = |tensor: u32, buffer: u32| {
        let text =
            format!("cores 4\ntensor w: u8[{tensor}] zeroed workspace\nub a: {buffer}\nsync_all soft w[0], a[0]\n");
        run(&text, &soc, &Options::default()).map(|timing| timing.cycles).map_err(|error| error.to_string())
    };
    assert_eq!(of(128, 128), Ok(5000));
    assert!(of(127, 128).unwrap_err().contains("OutsideTensor { tensor: TensorId(0), first: 0, end: 128 }"));
    assert!(of(128, 96).unwrap_err().contains("OutsideBuffer { buffer: BufferId(0), first: 0, end: 128 }"));
}

#[test]
fn what_cannot_be_counted_is_said() {
    let of = |n: u64| {
        let text = format!(
            "cores 1\nub a: 512\nfor i in 0..{n} {{\nabs.f32 a[0], a[0] repeat 1\nset_flag v s 0\nwait_flag v s 0\n}}\n"
        );
        run(&text, &plain(), &Options::default())
    };
    // An iteration takes 21 cycles of 1024 ticks, and the core's start 2000 cycles.
    let most = (1u64 << 57) / (21 * 1024);
    assert_eq!(of(most - 100).unwrap().cycles, (most - 100) * 21);
    for n in [most - 90, most + 10, i64::MAX as u64] {
        assert!(matches!(of(n), Err(ClockError::Halt(Halt::TooLong { core: 0, node })) if node.0 == 0), "{n}");
    }
}
