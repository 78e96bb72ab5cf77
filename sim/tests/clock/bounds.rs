//! What holds for every program: lower bounds, more of anything is never faster for one core, nothing is lost by what is left out.

use proptest::prelude::*;
use ubtile_sim::clock::{Options, Start, profile, simulate};
use ubtile_sim::product::Soc;
use ubtile_sim::text;

use super::{plain, run, with};

/// A piece of a program on one slot of each buffer, flags included.
#[derive(Clone, Debug)]
enum Piece {
    Load {
        bytes: u32,
        at: u32,
        waits: bool,
    },
    Vector {
        repeats: u32,
        a: u32,
        b: u32,
        counter: bool,
    },
    Store {
        bytes: u32,
        at: u32,
        add: bool,
    },
    Barrier,
    /// The scalar unit moves so many words of the UB.
    Words {
        count: u32,
        at: u32,
    },
    Loop(Vec<Piece>, u32),
}

fn piece() -> impl Strategy<Value = Piece> {
    let leaf = prop_oneof![
        (1u32..64, 0u32..64, any::<bool>()).prop_map(|(n, at, waits)| Piece::Load {
            bytes: 128 * n,
            at: 512 * at,
            waits
        }),
        (0u32..40, 0u32..64, 0u32..64, any::<bool>()).prop_map(|(repeats, a, b, counter)| Piece::Vector {
            repeats,
            a: 32 * a,
            b: 32 * b,
            counter
        }),
        (1u32..64, 0u32..64, any::<bool>()).prop_map(|(n, at, add)| Piece::Store { bytes: 128 * n, at: 512 * at, add }),
        Just(Piece::Barrier),
        (0u32..40, 0u32..64).prop_map(|(count, at)| Piece::Words { count, at: 4 * at }),
    ];
    leaf.prop_recursive(2, 12, 4, |piece| {
        (proptest::collection::vec(piece, 1..5), 1u32..30).prop_map(|(body, n)| Piece::Loop(body, n))
    })
}

/// A flag is not set again before it was waited for.
const DONE: &str = "set_flag mte3 s 0\nwait_flag mte3 s 0\n";

fn write(pieces: &[Piece], depth: usize, text: &mut String) {
    for piece in pieces {
        text.push_str(&match piece {
            Piece::Load { bytes, at, waits } => {
                let flag = if *waits { "set_flag mte2 s 0\nwait_flag mte2 s 0\n" } else { "" };
                format!("load a[0], x[65536*core + {at}] bytes {bytes}\n{flag}")
            }
            Piece::Vector { repeats, a, b, counter } => {
                let extent = if *counter { format!("count {}", repeats * 50) } else { format!("repeat {repeats}") };
                format!("add.f32 c[0], a[{a}], b[{b}] {extent}\nset_flag v s 0\nwait_flag v s 0\n")
            }
            Piece::Store { bytes, at, add } => {
                let add = if *add { " add.f32" } else { "" };
                format!("set_flag v mte3 0\nwait_flag v mte3 0\nstore z[{at}], c[0] bytes {bytes}{add}\n{DONE}")
            }
            Piece::Barrier => "barrier v\n".into(),
            Piece::Words { count, at } => format!(
                "for k{depth} in 0..{count} {{\nlet e{depth} = read.u32 a[4*k{depth}] assume 3..4\n\
                 write.u32 b[4*k{depth} + e{depth} + {at} - 3], e{depth}\n}}\n"
            ),
            Piece::Loop(body, n) => {
                let mut inner = String::new();
                write(body, depth + 1, &mut inner);
                format!("for i{depth} in 0..{n} {{\n{inner}}}\n")
            }
        });
    }
}

fn program(cores: u32, pieces: &[Piece]) -> String {
    let mut text = format!(
        "cores {cores}\ntensor x: f32[{cores}, 16384] in\ntensor z: f32[16384] zeroed out\nub a: 16384\nub b: 16384\nub c: 16384\n"
    );
    write(pieces, 0, &mut text);
    text
}

fn programs() -> impl Strategy<Value = String> {
    (1u32..5, proptest::collection::vec(piece(), 1..8)).prop_map(|(cores, pieces)| program(cores, &pieces))
}

/// Every cost whose growth makes things slower.
const COSTS: [(&str, &str); 8] = [
    ("dma.issue_cycles", "40"),
    ("dma.load_latency_ns", "500"),
    ("dma.store_latency_ns", "333"),
    ("dma.load_bytes_per_cycle", "20"),
    ("dma.store_bytes_per_cycle", "20"),
    ("memory.hbm_gbps", "11"),
    ("vector.add", "{ overhead_cycles = 33, cycles_16 = 4, cycles_32 = 3 }"),
    ("sync.queue_depth", "2"),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_faster_than_its_parts(text in programs(), small in any::<bool>(), cold in any::<bool>(), seed in 0u64..9) {
        let l2 = if small { "64 KiB" } else { "192 MiB" };
        let soc = with(&Soc::builtin("Ascend910B1").unwrap(), &[("memory.l2_bytes", l2), ("memory.hbm_gbps", "100")]);
        let start = if cold { Start::Cold } else { Start::Warm };
        let t = run(&text, &soc, &Options { seed, start, ..Options::default() }).unwrap();
        let mhz = 1850.0;
        let cores = t.task_us - 0.6 - 1.25;
        prop_assert!(cores >= t.cycles as f64 / mhz - 1e-3, "the slowest core is part of the task");
        for (name, pipe) in [("v", t.pipes.vector), ("s", t.pipes.scalar), ("mte2", t.pipes.mte2), ("mte3", t.pipes.mte3)] {
            prop_assert!(pipe.busy_cycles <= t.cycles as f64 && pipe.ratio <= 1.0 + 1e-9, "{name}: {pipe:?} of {}", t.cycles);
        }
        prop_assert!(t.hbm.ratio <= 1.0001 && t.l2.ratio <= 1.0001, "{:?} {:?}", t.hbm, t.l2);
        prop_assert!(t.roofline.ratio <= 1.0001, "{:?}", t.roofline);
        let (n, used) = (t.gm_read_bytes as f64, f64::from(t.cores_used.max(1)));
        prop_assert!(t.cycles as f64 * 68.0 * used >= n - 1.0);
        prop_assert!((0.0..=1.0).contains(&t.balance) && t.bank_conflict_ratio < 1.0);
    }

    #[test]
    fn the_same_again_is_the_same(text in programs(), seed in 0u64..9) {
        let soc = with(&Soc::builtin("Ascend910B1").unwrap(), &[("memory.l2_bytes", "64 KiB")]);
        let options = Options { seed, ..Options::default() };
        prop_assert_eq!(run(&text, &soc, &options).unwrap(), run(&text, &soc, &options).unwrap());
    }

    #[test]
    fn what_is_left_out_changes_nothing(text in programs(), seed in 0u64..9) {
        let soc = Soc::builtin("Ascend910B1").unwrap();
        let options = Options { seed, ..Options::default() };
        let mut skipped = run(&text, &soc, &options).unwrap();
        let walked = run(&text, &soc, &Options { walk_all: true, ..options }).unwrap();
        prop_assert_eq!(walked.skipped_ratio, 0.0);
        skipped.skipped_ratio = 0.0;
        prop_assert_eq!(skipped, walked);
    }

    #[test]
    fn being_looked_at_changes_nothing(text in programs(), seed in 0u64..9) {
        let soc = with(&Soc::builtin("Ascend910B1").unwrap(), &[("memory.l2_bytes", "64 KiB")]);
        let options = Options { seed, walk_all: true, ..Options::default() };
        let (program, _) = text::parse(&text, &soc).unwrap();
        let mut seen = 0;
        let profile = profile(&program, &soc, &options, &mut |_| seen += 1).unwrap();
        prop_assert_eq!(&profile.timing, &simulate(&program, &soc, &options).unwrap());
        prop_assert_eq!(profile.timing.instructions, seen);
    }

    #[test]
    fn one_core_is_never_faster_when_something_costs_more(
        pieces in proptest::collection::vec(piece(), 1..8),
        cost in proptest::sample::select(COSTS.to_vec()),
    ) {
        let text = program(1, &pieces);
        let base = with(&plain(), &[("memory.hbm_gbps", "30"), ("memory.l2_bytes", "64 KiB")]);
        let cycles = |soc: &Soc| run(&text, soc, &Options::default()).unwrap().cycles;
        prop_assert!(cycles(&with(&base, &[cost])) + 1 >= cycles(&base), "{cost:?}\n{text}");
    }
}

#[test]
fn the_scalar_units_loops_are_left_out_and_their_faults_are_not() {
    let soc = Soc::builtin("Ascend910B1").unwrap();
    let text = |words: u32| {
        format!(
            "cores 1\nub a: 4096\nub b: 4096\nfor i in 0..100 {{\nfor j in 0..{words} {{\n\
             let e = read.u32 a[4*j] assume 0..1\nwrite.u32 b[4*j], e\n}}\n}}\n"
        )
    };
    let t = run(&text(1024), &soc, &Options::default()).unwrap();
    assert!(t.skipped_ratio > 0.99 && t.instructions > 100 * 1024 * 3, "{} of {}", t.skipped_ratio, t.instructions);
    let outside = |walk_all| run(&text(1030), &soc, &Options { walk_all, ..Options::default() }).unwrap_err();
    assert_eq!(outside(false), outside(true));
}

#[test]
fn loops_are_walked_through_where_reads_follow_their_variable() {
    let soc = Soc::builtin("Ascend910B1").unwrap();
    let timed = |assume: &str, condition: &str, walk_all| {
        let text = format!(
            "cores 1\nub a: 4096\nfor i in 0..40 {{\nfor j in 0..100 {{\nlet n = read.u32 a[4*j] assume {assume}\n\
             if {condition} {{\nabs.f32 a[0], a[0] repeat 9\n}}\n}}\n}}\n"
        );
        run(&text, &soc, &Options { walk_all, ..Options::default() }).unwrap()
    };
    for (assume, skips) in
        [("j", true), ("i + j", false), ("div(3*i + j, 2)", false), ("div(3*i, 2)", true), ("60", true)]
    {
        let [t, all] = [false, true].map(|walk_all| timed(assume, "50 < n", walk_all));
        assert_eq!((t.cycles, t.instructions), (all.cycles, all.instructions), "{assume}");
        let alike = timed(assume, "50 < 60", false).skipped_ratio;
        assert_eq!(alike > 0.5, skips, "{assume}: {alike}");
    }
}

#[test]
fn loops_that_repeat_are_left_out() {
    let soc = Soc::builtin("Ascend910B1").unwrap();
    let text = "cores 2\nub a: 16384\nfor i in 0..1000 {\nfor j in 0..1000 {\nadd.f32 a[0], a[0], a[8192] repeat 8\nset_flag v s 0\nwait_flag v s 0\n}\nabs.f32 a[0], a[0] repeat 1\n}\n";
    let t = run(text, &soc, &Options::default()).unwrap();
    assert!(t.skipped_ratio > 0.999 && t.instructions > 2 * 1000 * 4000, "{} of {}", t.skipped_ratio, t.instructions);
}

/// What an inner loop leaves in its variable is what the next iteration of the outer one finds there.
#[test]
fn loops_are_walked_through_where_they_read_what_an_inner_one_left() {
    let soc = Soc::builtin("Ascend910B1").unwrap();
    let timed = |read: &str, walk_all| {
        let text = format!(
            "cores 1\nub a: 65536\nub b: 512\nint j\nint n\nlet j = 200\nlet n = 200\n\
             for w in 0..4 {{\nfor k in 0..2 {{\nadds.f32 b[0], b[0], 1.0 repeat 1\n}}\nset_flag v s 0\nwait_flag v s 0\n}}\n\
             for i in 0..100 {{\nadds.f32 a[0], a[0], 1.0 repeat {read}\nset_flag v s 0\nwait_flag v s 0\n\
             for j in 0..2 {{\nadds.f32 b[0], b[0], 1.0 repeat 1\n}}\nset_flag v s 0\nwait_flag v s 0\n}}\n"
        );
        run(&text, &soc, &Options { walk_all, ..Options::default() }).unwrap()
    };
    for (read, skips) in [("j", false), ("n", true)] {
        let [t, all] = [false, true].map(|walk_all| timed(read, walk_all));
        assert_eq!((t.cycles, t.task_us.to_bits()), (all.cycles, all.task_us.to_bits()), "{read}");
        assert_eq!(t.skipped_ratio > 0.5, skips, "{read}: {}", t.skipped_ratio);
    }
}
