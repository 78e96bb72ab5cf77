//! Programs so simple that their time can be written down.

use ubtile_sim::clock::{Bound, Change, Options, Start, advise, simulate};
use ubtile_sim::product::Soc;
use ubtile_sim::text::parse;

use super::{PLAIN, cycles, plain, run, time, with};

#[test]
fn one_pipe() {
    let add = |repeats: u32| cycles(&format!("cores 1\nub a: 65536\nabs.f32 a[0], a[0] repeat {repeats}\n"), &plain());
    assert_eq!([add(1), add(8), add(255)], [21, 28, 275]);
    let load = |bytes: u32| {
        cycles(&format!("cores 1\ntensor x: f32[16384] in\nub a: 65536\nload a[0], x[0] bytes {bytes}\n"), &plain())
    };
    assert_eq!([load(512), load(4096), load(65536)], [20 + 8 + 200, 20 + 64 + 200, 20 + 1024 + 200]);
    let stores = "cores 1\ntensor x: f32[1024] out\nub a: 4096\nfor i in 0..3 {\nstore x[0], a[0] bytes 4096\n}\n";
    // The issue and the latency of all but one hide behind the transfers.
    assert_eq!(cycles(stores, &plain()), 20 + 3 * 64 + 100);
    let small = "cores 1\ntensor x: f32[1024] out\nub a: 4096\nfor i in 0..3 {\nstore x[0], a[0] bytes 512\n}\n";
    assert_eq!(cycles(small, &plain()), 3 * 20 + 8 + 100, "the issue of small ones does not");
}

#[test]
fn the_launch_is_part_of_the_task_alone() {
    let timing = time("cores 1\nub a: 256\nabs.f32 a[0], a[0] repeat 1\n", &plain());
    assert_eq!(timing.cycles, 21);
    assert!((timing.task_us - (1.0 + 2.0 + 0.021)).abs() < 1e-9, "{}", timing.task_us);
    assert_eq!(timing.bound, Bound::Launch);
    let late = with(&plain(), &[("launch.stagger_us", "0.5")]);
    let timing = time("cores 3\nub a: 256\nabs.f32 a[0], a[0] repeat 1\n", &late);
    assert!((timing.task_us - (1.0 + 2.0 + 2.0 * 0.5 + 0.021)).abs() < 1e-9, "the third core starts 1 us late");
}

#[test]
fn whoever_waits_for_the_last_core_to_start_is_bound_by_the_launch() {
    // 4.4 us of work, and 3 us until the first core begins it.
    let text = "cores 3\nub a: 256\nfor i in 0..16 {\nabs.f32 a[0](1, 0), a[0](1, 0) repeat 255\n}\n";
    let (program, _) = parse(text, &plain()).unwrap();
    let staggered = |us: &str| {
        let soc = with(&plain(), &[("launch.stagger_us", us)]);
        let timing = simulate(&program, &soc, &Options::default()).unwrap();
        let first = advise(&program, &soc, &Options::default(), &timing, 1).unwrap().remove(0);
        (timing.bound, first.change, (first.task_us * 1000.0).round())
    };
    // With the last core 1.4 us later, half of 8.8 us.
    assert_eq!(staggered("0.7").0, Bound::Vector);
    assert_eq!(staggered("0.701"), (Bound::Launch, Change::NoStagger, 7400.0));
    assert_eq!(staggered("0.001").1, Change::NoOverhead);
}

fn tiles(slots: u32, tiles: u32, repeats: u32) -> String {
    format!(
        "cores 1\ntensor x: f32[{tiles}, 1024] in\nub a: 4096 slots {slots}\n\
         for s in 0..{slots} {{\n set_flag v mte2 s\n}}\n\
         for i in 0..{tiles} {{\n let s = mod(i, {slots})\n wait_flag v mte2 s\n load a[s; 0], x[4096*i] bytes 4096\n \
         set_flag mte2 v s\n wait_flag mte2 v s\n abs.f32 a[s; 0](1, 0), a[s; 0](1, 0) repeat {repeats}\n set_flag v mte2 s\n}}\n"
    )
}

#[test]
fn two_pipes() {
    let (load, n) = (20 + 64 + 200, 50);
    for repeats in [16, 255] {
        let add = 20 + u64::from(repeats);
        let single = cycles(&tiles(1, n, repeats), &plain());
        assert_eq!(single, u64::from(n) * (load + add), "one buffer: one after the other");
        // Two buffers: a load begins when the instruction two tiles before is over, so two tiles take a load and an instruction, or two
        // instructions if those are longer.
        let double = cycles(&tiles(2, n, repeats), &plain());
        let pair = (load + add).max(2 * add).max(2 * 64);
        let expected = u64::from(n) / 2 * pair;
        assert!(double >= expected && double <= expected + load + add, "{repeats}: {double}, {expected}");
        // With enough buffers, what takes longest.
        let many = cycles(&tiles(8, n, repeats), &plain());
        let expected = load + u64::from(n) * add.max(64);
        assert!(many.abs_diff(expected) <= add, "{repeats}: {many}, {expected}");
    }
}

#[test]
fn what_cores_share() {
    // 64 bytes a cycle for all: 16 cores, each of which could have them alone.
    let slow = with(&plain(), &[("memory.hbm_gbps", "64")]);
    let text = "cores 16\ntensor x: f32[16, 64, 1024] in\nub a: 4096\nfor i in 0..64 {\nload a[0], x[262144*core + 4096*i] bytes 4096\n}\n";
    let cold = Options { start: Start::Cold, ..Options::default() };
    let timing = run(text, &slow, &cold).unwrap();
    let least = 16 * 64 * 4096 / 64;
    assert!(timing.cycles >= least && timing.cycles <= least + least / 100 + 250, "{} {least}", timing.cycles);
    assert_eq!((timing.bound, timing.hbm.bytes), (Bound::Hbm, 16 * 64 * 4096));
    assert!(timing.hbm.ratio > 0.98 && timing.balance > 0.99 && timing.roofline.by == Bound::Hbm);
    // Warm, they all fit into L2, and nobody waits.
    let warm = time(text, &slow);
    assert_eq!((warm.cycles, warm.hbm.bytes, warm.l2_hit_ratio), (20 + 64 * 64 + 200, 0, Some(1.0)));
    let l2 = with(&plain(), &[("memory.l2_gbps", "64")]);
    let timing = time(text, &l2);
    assert!(timing.cycles >= least && timing.bound == Bound::L2, "{} {:?}", timing.cycles, timing.bound);
}

#[test]
fn scalar_work() {
    let soc = with(&plain(), &[("scalar.loop_cycles", "7"), ("scalar.instruction_cycles", "3")]);
    assert_eq!(cycles("cores 1\nfor i in 0..10 {\nlet n = i\n}\n", &soc), 10 * (7 + 3));
    let read = "cores 1\ntensor x: i32[64] in\nub a: 256\nfor i in 0..4 {\nlet n = read.i32 PLACE assume 0..2\n}\n";
    assert_eq!(cycles(&read.replace("PLACE", "a[0]"), &soc), 4 * (7 + 10));
    // The first of a line of 64 bytes is waited for.
    assert_eq!(cycles(&read.replace("PLACE", "x[16*i]"), &soc), 4 * (7 + 10) + 200);
    assert_eq!(cycles(&read.replace("PLACE", "x[32*i]"), &soc), 4 * (7 + 10) + 2 * 200);
    // It is busy meanwhile, and with its part of a flag: less work for it is what helps.
    let busy = |text: &str, soc: &Soc| time(text, soc).pipes.scalar.busy_cycles;
    assert_eq!(busy(&read.replace("PLACE", "x[32*i]"), &soc), 4.0 * (7.0 + 10.0) + 2.0 * 200.0);
    let flags = "cores 1\nfor i in 0..50 {\nset_flag s v 0\nwait_flag s v 0\nset_flag v s 0\nwait_flag v s 0\n}\n";
    let costly = with(&soc, &[("sync.flag_cycles", "4")]);
    for (text, soc) in [(read.replace("PLACE", "x[32*i]"), &soc), (flags.to_owned(), &costly)] {
        let (program, _) = parse(&text, soc).unwrap();
        let timing = time(&text, soc);
        let advice = advise(&program, soc, &Options::default(), &timing, 12).unwrap();
        let scalar = advice.iter().find(|advice| advice.change == Change::NoScalar).unwrap();
        let us = |cycles: f64| cycles / 1000.0;
        let left = timing.task_us - us(timing.pipes.scalar.busy_cycles);
        assert!(scalar.task_us >= left - 1e-9 && scalar.task_us < timing.task_us, "{text}: {advice:?}");
        assert!(advice.iter().all(|advice| advice.change != Change::NoLoadLatency), "{text}: {advice:?}");
    }
}

#[test]
fn reads_find_what_the_program_assumes() {
    let soc = with(&plain(), &[("scalar.loop_cycles", "7"), ("scalar.instruction_cycles", "3")]);
    let read = |assume: &str| {
        let text = format!(
            "cores 1\nub a: 256\nfor i in 0..8 {{\nlet n = read.i32 a[0] assume {assume}\nfor j in 0..n {{\nlet m = j\n}}\n}}\n"
        );
        cycles(&text, &soc) - 8 * (7 + 10)
    };
    assert_eq!(read("3"), 8 * 3 * (7 + 3));
    assert_eq!(read("i"), 28 * (7 + 3));
    // 1 1 2 2 3 3 4 4
    assert_eq!(read("div(2*i + 5, 4)"), 20 * (7 + 3));
    assert_eq!(read("div(i - 8, 3)"), 0);
    assert_eq!(read("div(7, 2)..4"), 8 * 3 * (7 + 3));
    // Each of six numbers is found now and then.
    let (least, most) = (0, 8 * 5 * (7 + 3));
    assert!((least + 1..most).contains(&read("0..6")));
}

#[test]
fn vector_instructions() {
    let soc = with(
        &plain(),
        &[("vector.counter_mode_cycles", "13"), ("vector.barrier_cycles", "25"), ("vector.dependent_cycles", "15")],
    );
    let of = |code: &str| cycles(&format!("cores 1\nub a: 16384\nub b: 16384\n{code}\n"), &soc);
    assert_eq!(of("abs.f32 a[0], a[0] count 64"), 20 + 13 + 1);
    assert_eq!(of("abs.f32 a[0], a[0] count 65"), 20 + 13 + 2);
    let two =
        |first: u32, second: &str| of(&format!("abs.f32 a[0], b[0] repeat {first}\n{second}")) - 20 - u64::from(first);
    assert_eq!(two(4, "abs.f32 b[4096], b[0] repeat 1"), 21, "it reads something else");
    assert_eq!(two(1, "abs.f32 b[4096], a[0] repeat 1"), 21 + 15, "it waits until the result is there");
    assert_eq!(two(4, "abs.f32 b[4096], a[0] repeat 1"), 21 + 15 - 3, "while the other repeats go in");
    assert_eq!(two(16, "abs.f32 b[4096], a[0] repeat 1"), 21);
    assert_eq!(two(4, "barrier v\nabs.f32 b[4096], b[0] repeat 1"), 21 + 25);
    // 11.6 cycles, and one for each 256 bytes or less of a block.
    assert_eq!(of("move a[0], b[0] blocks 3 bytes 288"), 16, "without gaps they are one of 864");
    assert_eq!(of("move a[0], b[0] blocks 3 bytes 288 from_gap 32"), 18);
}

/// Lanes that go where data say take their time one by one, whatever the data are.
#[test]
fn gathers_and_scatters() {
    let costs = [
        ("vector.gather", "{ overhead_cycles = 17, cycles_16 = 24, cycles_32 = 12 }"),
        ("vector.gather_blocks", "{ overhead_cycles = 18, cycles_16 = 3, cycles_32 = 3 }"),
        ("vector.scatter", "{ overhead_cycles = 19, cycles_16 = 20, cycles_32 = 10 }"),
    ];
    let [gathers, scatters] = ["Ascend910B1", "Ascend310P3"].map(|name| {
        let soc = with(&Soc::builtin(name).unwrap(), PLAIN);
        with(&soc, &costs)
    });
    for repeats in [1, 4, 16] {
        let of = |soc, code: &str| {
            cycles(&format!("cores 1\nub a: 8192\nub b: 8192\nub o: 8192\n{code} repeat {repeats}\n"), soc)
        };
        let expected = [17 + 12 * repeats, 17 + 24 * repeats, 18 + 3 * repeats, 19 + 10 * repeats];
        let got = [
            of(&gathers, "gather.f32 a[0], b[0], o[0]"),
            of(&gathers, "gather.f16 a[0], b[0], o[0]"),
            of(&gathers, "gather_blocks.f32 a[0], b[0], o[0]"),
            of(&scatters, "scatter.f32 a[0], o[0], b[0]"),
        ];
        assert_eq!(got, expected, "{repeats}");
    }
}

#[test]
fn the_scalar_unit_waits_for_flags() {
    let loads = |n: u32| {
        let text = format!(
            "cores 1\ntensor x: f32[128] in\nub a: 512\nfor i in 0..{n} {{\nload a[0], x[0] bytes 512\n\
             set_flag mte2 s 0\nwait_flag mte2 s 0\n}}\n"
        );
        let timing = time(&text, &plain());
        (timing.pipes.scalar.wait_cycles, timing.cycles)
    };
    assert_eq!(loads(1), (228.0, 20 + 8 + 200));
    assert_eq!(loads(7), (7.0 * 228.0, 7 * 228));
    // Also where equal passes of a loop are left out.
    let adds = |n: u32| {
        let text = format!(
            "cores 1\nub a: 256\nfor i in 0..{n} {{\nadd.f32 a[0], a[0], a[0] repeat 1\nset_flag v s 0\nwait_flag v s 0\n}}\n"
        );
        let timing = time(&text, &plain());
        assert!(timing.skipped_ratio > 0.5, "{}", timing.skipped_ratio);
        timing.pipes.scalar.wait_cycles
    };
    assert_eq!(adds(200), 2.0 * adds(100));
}

/// Of 8-bit elements half of each block takes part: 256 bytes a repeat.
#[test]
fn a_transposition_takes_as_long_as_its_bytes() {
    let soc =
        with(&plain(), &[("vector.transpose", "{ overhead_cycles = 20, cycles_8 = 1, cycles_16 = 1, cycles_32 = 1 }")]);
    let of = |element: &str| {
        cycles(
            &format!("cores 1\nub a: 8192\nub b: 8192\ntranspose.{element} b[0](1, 2, 16), a[0](1, 2, 16) repeat 10\n"),
            &soc,
        )
    };
    assert_eq!(["u8", "u16", "f32"].map(of), [20 + 10, 20 + 20, 20 + 20]);
}
