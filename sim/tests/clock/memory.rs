//! L2 and additions in global memory.

use ubtile_sim::clock::{Options, Start, Timing, profile};
use ubtile_sim::text;

use super::{plain, run, time, with};

fn cold(text: &str, soc: &ubtile_sim::product::Soc) -> Timing {
    run(text, soc, &Options { start: Start::Cold, ..Options::default() }).unwrap()
}

#[test]
fn what_bypasses_leaves_the_results_in_l2() {
    // x is larger than L2, z fits.
    let soc = with(&plain(), &[("memory.l2_bytes", "1 MiB")]);
    let text = |hint: &str| {
        format!(
            "cores 2\ntensor x: f32[2, 256, 1024] in\ntensor z: f32[2, 64, 1024] out\nub a: 4096\nfor i in 0..256 {{\n\
             load a[0], x[1048576*core + 4096*i] bytes 4096{hint}\n}}\nfor i in 0..64 {{\n\
             store z[262144*core + 4096*i], a[0] bytes 4096\n}}\n"
        )
    };
    let (x, z) = (2 << 20, 2 * 64 * 4096);
    let with_bypass = time(&text(" bypass"), &soc);
    assert_eq!(with_bypass.hbm.bytes, x, "x alone, once the results are there");
    assert_eq!(cold(&text(" bypass"), &soc).hbm.bytes, x, "there is room for all results");
    // x drives out the results, which are written back, the last of them after the end.
    let without = time(&text(""), &soc).hbm.bytes;
    assert!(without.abs_diff(x + z) <= (1 << 20) / 48, "{without} {}", x + z);
    assert_eq!((with_bypass.gm_read_bytes, with_bypass.gm_write_bytes), (x, z));
}

#[test]
fn a_warm_run_finds_what_the_program_left() {
    let soc = with(&plain(), &[("memory.l2_bytes", "64 KiB")]);
    // Rows of 2 KiB, of which 32 fit: a warm run reads from main memory what the second of two passes does.
    for cores in [1, 2] {
        for rows in [8, 16, 31, 32, 33, 40].map(|rows| rows / cores) {
            let text = |passes: u32| {
                format!(
                    "cores {cores}\ntensor x: f32[{cores}, {rows}, 512] in\nub a: 2048\nfor pass in 0..{passes} {{\n\
                     for i in 0..{rows} {{\nload a[0], x[{}*core + 2048*i] bytes 2048\n}}\n}}\n",
                    2048 * rows
                )
            };
            let bytes = |passes| cold(&text(passes), &soc).hbm.bytes;
            assert_eq!(time(&text(1), &soc).hbm.bytes, bytes(2) - bytes(1), "{cores} cores, {rows} rows each");
        }
    }
    // Results that come behind what was read are found by nobody: until they are written again, that has driven them out.
    let both = "cores 1\ntensor x: f32[32, 512] in\ntensor z: f32[16, 512] out\nub a: 2048\n\
                for i in 0..32 {\nload a[0], x[2048*i] bytes 2048\n}\nset_flag mte2 mte3 0\nwait_flag mte2 mte3 0\n\
                for i in 0..16 {\nstore z[2048*i], a[0] bytes 2048\n}\n";
    assert_eq!(time(both, &soc).l2_hit_ratio, Some(0.0));
    // One core's part comes behind all of the other's, which it drives out. Were they to take turns, a third of the lines would be there.
    let parts = "cores 2\ntensor x: f32[48, 512] in\nper_core n: 32, 0\nper_core m: 0, 16\nub a: 2048\n\
                 for i in 0..n {\nload a[0], x[2048*i] bytes 2048\n}\nsync_all hard\n\
                 for i in 0..m {\nload a[0], x[65536 + 2048*i] bytes 2048\n}\n";
    assert_eq!(time(parts, &soc).l2_hit_ratio, Some(0.0));
    // Of nothing there is no share.
    assert_eq!(time("cores 1\nub a: 256\nadds.f32 a[0], a[0], 1.0\n", &soc).l2_hit_ratio, None);
}

#[test]
fn requests_are_whole_lines() {
    let load = |offset: u32, bytes: u32, blocks: u32, gap: u32| {
        let text = format!(
            "cores 1\ntensor x: f32[65536] in\nub a: 65536\nload_pad a[0], x[{offset}] blocks {blocks} bytes {bytes} from_gap {gap}\n",
        );
        let timing = cold(&text, &plain());
        (timing.hbm.bytes, timing.cycles)
    };
    let bytes = |offset, bytes, blocks| load(offset, bytes, blocks, if blocks > 1 { 2048 - bytes } else { 0 });
    assert_eq!(bytes(0, 512, 1), (512, 20 + 8 + 200));
    assert_eq!(bytes(4, 512, 1), (1024, 20 + 16 + 200), "one more for what crosses the end of a line");
    assert_eq!(bytes(0, 4, 16), (16 * 512, 20 + 16 * 8 + 200));
    for (gap, lines) in [(0, 28), (4, 28), (36, 32), (291, 64), (292, 64)] {
        let lines_once = load(0, 220, 64, gap);
        assert_eq!(lines_once, (lines * 512, 20 + lines * 8 + 200), "64 blocks of 220 bytes with gaps of {gap}");
    }
    let partly = "cores 1\ntensor x: f32[65536] out\nub a: 512\nstore_pad x[OFFSET], a[0] bytes 480\n";
    let moved = |offset: &str| cold(&partly.replace("OFFSET", offset), &plain()).hbm.bytes;
    assert_eq!([moved("0"), moved("256")], [512, 1024], "the rest of each line is fetched");
    assert_eq!(
        cold("cores 1\ntensor x: f32[65536] out\nub a: 512\nstore x[0], a[0] bytes 512\n", &plain()).hbm.bytes,
        0
    );
}

#[test]
fn stores_of_unaligned_length_cost_more() {
    let costs = [
        ("dma.unaligned_store_cycles", "3"),
        ("dma.unaligned_store_bytes_per_cycle", "2"),
        ("dma.tiny_store_cycles", "90"),
        ("dma.tiny_store_cycles_per_core", "9"),
        ("dma.tiny_store_cycles_less_per_byte", "2"),
    ];
    let soc = with(&plain(), &costs);
    let cycles = |bytes: u32, blocks: u32| {
        let gap = if blocks > 1 { 1024 - bytes } else { 0 };
        let text = format!(
            "cores 1\ntensor z: f32[65536] out\nub a: 65536\nstore_pad z[0], a[0] blocks {blocks} bytes {bytes} to_gap {gap}\n"
        );
        time(&text, &soc).cycles
    };
    // The same lines are stored by whole blocks.
    let extra = |bytes: u32, blocks: u32| cycles(bytes, blocks) - cycles(bytes.next_multiple_of(32), blocks);
    // Half a cycle for each byte of a block beyond whole lines, once; of blocks below 32 bytes a sum for each.
    for blocks in [1, 7] {
        assert_eq!([36, 508, 516, 1020].map(|bytes| extra(bytes, blocks)), [3 + 18, 3 + 254, 3 + 2, 3 + 254]);
        assert_eq!([4, 28].map(|bytes| extra(bytes, blocks)), [99 - 8, 99 - 56].map(|one| u64::from(blocks) * one));
    }
}

/// Where nothing is known of them, as is said.
#[test]
fn stores_of_unaligned_length_may_cost_no_more() {
    let soc = with(&plain(), &[("dma.unaligned_store_bytes_per_cycle", "unknown")]);
    let run = |bytes: u32| {
        let text = format!("cores 1\ntensor z: u8[512] out\nub a: 512\nstore_pad z[0], a[0] bytes {bytes}\n");
        time(&text, &soc)
    };
    let unaligned = run(479);
    let assumed = "stores of unaligned length cost no more than others: unknown";
    assert!(unaligned.assumptions.iter().any(|assumption| assumption == assumed), "{:?}", unaligned.assumptions);
    assert_eq!((unaligned.cycles, run(31).cycles), (run(480).cycles, run(32).cycles));
}

#[test]
fn additions_to_the_same_place_wait() {
    let soc = with(&plain(), &[("atomics.same_granule_cycles", "96")]);
    let text = |place: &str| {
        format!(
            "cores 4\ntensor z: f32[4, 128] zeroed out\nub a: 512\nfor i in 0..10 {{\nstore z[{place}], a[0] bytes 256 add.f32\n}}\n"
        )
    };
    let apart = time(&text("512*core"), &soc);
    // A core comes back to its own after 20 cycles.
    assert_eq!(apart.collisions.count, 4 * 9);
    let together = time(&text("0"), &soc);
    assert_eq!(together.collisions.count, 39, "all but the very first");
    assert!(together.cycles >= 39 * 96 && together.cycles <= 39 * 96 + 150, "{}", together.cycles);
    assert!(apart.cycles >= 9 * 96 && apart.cycles <= 9 * 96 + 150, "{}", apart.cycles);
    // What waits for each other is a granule, whatever a line of L2 is.
    let once = text("512*core").replace("0..10", "0..1");
    let count = |key, bytes| time(&once, &with(&soc, &[(key, bytes)])).collisions.count;
    assert_eq!([count("atomics.granule_bytes", "512"), count("atomics.granule_bytes", "1024")], [0, 2]);
    assert_eq!(count("memory.l2_line_bytes", "1024"), 0);
}

/// An addition reads what it adds to: of lines that L2 lacks all of it, also where it writes them wholly.
#[test]
fn additions_fetch_what_they_add_to() {
    let moved = |hints: &str| {
        let text =
            format!("cores 1\ntensor z: f32[65536] zeroed out\nub a: 4096\nstore z[0], a[0] bytes 4096{hints}\n");
        cold(&text, &plain()).hbm.bytes
    };
    assert_eq!([moved(""), moved(" add.f32")], [0, 4096]);
    assert_eq!([moved(" bypass"), moved(" add.f32 bypass")], [4096, 2 * 4096], "written at once, too");
}

/// Blocks of a copy that lie in one line, or granule, ask for it once.
#[test]
fn blocks_of_a_copy_share_lines() {
    let stored = |hints: &str| {
        let copy = format!("store_pad z[0], a[0] blocks 128 bytes 32 to_gap 32{hints}");
        cold(&format!("cores 1\ntensor z: f32[65536] zeroed out\nub a: 4096\n{copy}\n"), &plain())
    };
    let (lines, bytes) = (stored(""), 128 * 64);
    assert_eq!((lines.hbm.bytes, lines.l2_hit_ratio), (bytes, Some(0.0)), "the rest of each line is fetched");
    assert_eq!(stored(" bypass").hbm.bytes, bytes, "written at once");
    let added = stored(" add.f32");
    assert_eq!((added.hbm.bytes, added.collisions.count), (bytes, 0));
}

#[test]
fn the_data_cache_has_as_many_lines_as_fit() {
    let text = "cores 1\ntensor x: i32[512] in\nfor i in 0..2 {\nlet n = read.i32 x[0] assume 0..1\n\
                let m = read.i32 x[1024] assume 0..1\n}\n";
    let cycles = |bytes| {
        let cache = [("scalar.dcache_bytes", bytes), ("scalar.dcache_line_bytes", "512")];
        time(text, &with(&plain(), &cache)).cycles
    };
    assert_eq!([cycles("512"), cycles("1536")], [4 * (10 + 200), 4 * 10 + 2 * 200]);
    assert_eq!([time(text, &plain()).l2_hit_ratio, cold(text, &plain()).l2_hit_ratio], [Some(1.0), Some(0.0)]);
}

#[test]
fn a_write_buffer_takes_what_fits() {
    // Everything has to be written back: L2 is one line.
    let soc = |buffer: &str| {
        with(&plain(), &[("memory.l2_bytes", "512"), ("memory.hbm_gbps", "16"), ("dma.write_buffer_bytes", buffer)])
    };
    let text = |bytes: u32| format!("cores 1\ntensor z: f32[65536] out\nub a: 65536\nstore z[0], a[0] bytes {bytes}\n");
    let alone = |bytes: u64| 20 + bytes / 64 + 100;
    assert_eq!(time(&text(16384), &soc("16 KiB")).cycles, alone(16384));
    let larger = time(&text(32768), &soc("16 KiB")).cycles;
    let unbuffered = time(&text(32768), &soc("0")).cycles;
    assert!(alone(32768) < larger && larger < unbuffered, "{larger} {unbuffered}");
    assert!(unbuffered.abs_diff(20 + 32768 / 16 + 100) <= 2, "{unbuffered}");
}

#[test]
fn seeds_decide_and_nothing_else() {
    let soc = ubtile_sim::product::Soc::builtin("Ascend910B1").unwrap();
    let text = include_str!("../../examples/gather_rows.tile");
    let of = |seed| run(text, &soc, &Options { seed, ..Options::default() }).unwrap();
    assert_eq!(of(1), of(1));
    assert_ne!(of(1).cycles, of(2).cycles);
}

/// A line of the scalar unit's cache can be longer than a tensor, and than a line of L2.
#[test]
fn a_cache_fetches_no_more_than_the_tensor() {
    let text = "cores 1\ntensor x: f32[8] in\ntensor y: f32[8] in\nlet v = read.f32 x[0] assume 0..10\n\
                let w = read.f32 y[0] assume 0..10\n";
    for (l2, cache) in [("32", "64"), ("512", "4096"), ("64", "64")] {
        let soc = with(&plain(), &[("memory.l2_line_bytes", l2), ("scalar.dcache_line_bytes", cache)]);
        let (program, _) = text::parse(text, &soc).unwrap();
        let mut fetched = 0;
        let options = Options { start: Start::Cold, ..Options::default() };
        profile(&program, &soc, &options, &mut |event| fetched += event.accesses.memory_read).unwrap();
        assert_eq!(fetched, 2 * l2.parse::<u64>().unwrap(), "lines of {l2} and {cache}");
    }
}

/// Neighbouring lines do not push each other out of the scalar unit's cache.
#[test]
fn a_table_as_large_as_the_data_cache_is_fetched_once() {
    let soc = with(&plain(), &[("scalar.dcache_bytes", "16 KiB"), ("scalar.dcache_line_bytes", "64")]);
    let of = |lines: u64| {
        let text = format!(
            "cores 1\ntensor x: i32[8192] in\nfor r in 0..10 {{\nfor i in 0..{lines} {{\n\
             let n = read.i32 x[64*i] assume 0..1\n}}\n}}\n"
        );
        time(&text, &soc).cycles
    };
    for lines in [1, 128, 256] {
        assert_eq!(of(lines), lines * (10 * 10 + 200), "{lines}");
    }
    assert_eq!(of(257), 257 * 100 + (257 + 2 * 9) * 200, "the last line and the first have one place");
}

#[test]
fn without_l2_all_is_main_memorys() {
    let copies = |l2: &str| {
        let soc = with(&plain(), &[("memory.l2_bytes", l2), ("memory.hbm_gbps", "16")]);
        let of =
            |text: &str| time(&format!("cores 1\ntensor x: f32[4096] inout\nub a: 16384\n{text}\n"), &soc).hbm.bytes;
        [of("load a[0], x[0] bytes 16384"), of("store x[0], a[0] bytes 16384")]
    };
    assert_eq!([copies("0"), copies("511")], [[16384; 2]; 2]);
}

/// What scalar units fetch takes no bandwidth, so it is none of what main memory reaches of it.
#[test]
fn main_memory_never_does_more_than_it_can() {
    let soc = with(&plain(), &[("memory.hbm_gbps", "16"), ("scalar.ub_access_cycles", "0")]);
    let text = "cores 1\ntensor x: f32[262144] in\ntensor t: i32[16384] in\nub a: 65536\n\
                load a[0], x[0] bytes 65536\nload a[0], x[65536] bytes 65536\n\
                for i in 0..20 {\nlet n = read.i32 t[512*i] assume 0..1\n}\n";
    let timing = cold(text, &soc);
    assert_eq!(timing.hbm.bytes, 2 * 65536);
    assert!(timing.hbm.ratio > 0.9 && timing.hbm.ratio <= 1.0 && timing.roofline.ratio <= 1.0, "{:?}", timing.hbm);
}
