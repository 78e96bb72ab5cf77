//! Bank conflicts: the vendor's example of them, whose times are published, and closed forms.

use ubtile_sim::product::Soc;

use super::{plain, time, with};

/// Cycles of an addition of 64 repeats with operands at addresses of the UB.
fn add(soc: &Soc, [a, b, to]: [u32; 3], strides: &str) -> f64 {
    let text = format!(
        "cores 1\nub a: 16384 at {a}\nub b: 16384 at {b}\nub c: 16384 at {to}\n\
         for i in 0..100 {{\nadd.f32 c[0], a[0]{strides}, b[0] repeat 64\n}}\n"
    );
    time(&text, soc).pipes.vector.busy_cycles / 100.0
}

/// The eight rows, in ticks of 20 ns for a thousand additions. Their clock is not stated; 1.80 GHz fits the rows without a conflict and
/// those with one of two reads alike. The times include the overhead of 22.2 cycles.
#[test]
fn the_published_example() {
    let soc = Soc::builtin("Ascend910B2").unwrap();
    assert_eq!(soc.clock.core_mhz.get().unwrap().get(), 1800);
    let rows = [
        (1, [0, 0x10100, 0x20000], "", 2390, 0.01),
        (2, [0, 0x4000, 0x10000], "", 4167, 0.01),
        (3, [0, 0x10000, 0x14100], "", 4167, 0.01),
        (4, [0, 0x10100, 0x4000], "", 2389, 0.01),
        (5, [0, 0x10100, 0x4020], "", 3751, 0.02),
        (6, [0, 0x10100, 0x10100], "", 2390, 0.01),
        // A read that stalls half of the repeats: what else it delays is not modelled.
        (7, [0, 0x10100, 0x10100], "(0, 1)", 3584, 0.1),
        (8, [0, 0x10100, 0x10100], "(0, 8)", 2389, 0.01),
    ];
    for (row, addresses, strides, ticks, limit) in rows {
        let measured = f64::from(ticks) * 20.0 / 1000.0 * 1.8;
        let model = add(&soc, addresses, strides);
        assert!((model / measured - 1.0).abs() <= limit, "row {row}: {model:.1} cycles, {measured:.1} measured");
    }
}

#[test]
fn the_same_address_is_read_once() {
    assert_eq!(add(&plain(), [0, 0, 0x10000], ""), 84.0);
}

#[test]
fn a_target_that_is_added_to_is_read() {
    let of = |code: &str| {
        let text = format!("cores 1\nub a: 8192\nub b: 8192 at 65792\nub c: 8192 at 131072\n{code} repeat 32\n");
        time(&text, &plain()).pipes.vector.busy_cycles
    };
    // `a` and `c` begin in the same group, `b` does not.
    for code in ["add.f32 c[0], c[0], FROM[0]", "axpy.f32 c[0], FROM[0], 2.0", "dst_mul_add.f32 c[0], FROM[0], b[0]"] {
        let [same, other] = ["a", "b"].map(|from| of(&code.replace("FROM", from)));
        assert!((same - other - 32.0).abs() < 1e-9, "{code}: {same} {other}");
    }
}

#[test]
fn blocks_of_one_operand_collide() {
    // Strides of 16 blocks are the same group, of 17 are not: 8 cycles a repeat.
    let of = |stride: u32| {
        let text =
            format!("cores 1\nub a: 65536\nub b: 512 at 131072\nabs.f32 b[0](1, 0), a[0]({stride}, 1) repeat 10\n");
        time(&text, &plain()).pipes.vector.busy_cycles
    };
    assert_eq!([of(16), of(17), of(8), of(4)], [100.0, 30.0, 60.0, 40.0].map(|c| c));
}

#[test]
fn slow_instructions_hide_conflicts() {
    let slow = with(&plain(), &[("vector.add", "{ overhead_cycles = 20, cycles_32 = 2 }")]);
    assert_eq!(add(&slow, [0, 0x4000, 0x10000], ""), add(&slow, [0, 0x10100, 0x20000], ""));
}

/// What is looked up once is what is counted repeat by repeat, also across the end of a bank.
#[test]
fn long_instructions_are_sums_of_short_ones() {
    for (a, b, to) in [(0, 0x4000, 0x10000), (0xf000, 0x1000, 0x20000), (32, 0x10040, 0x4020)] {
        let code =
            |repeats: u32, from: u32| format!("add.f32 c[{0}], a[{0}](1, 3), b[{0}] repeat {repeats}\n", from * 32);
        let of = |code: &str| {
            let text = format!("cores 1\nub a: 16384 at {a}\nub b: 16384 at {b}\nub c: 16384 at {to}\n{code}");
            let timing = time(&text, &plain());
            timing.bank_conflict_ratio * timing.pipes.vector.busy_cycles
        };
        let whole = of(&code(16, 0));
        let twice = of(&(code(16, 0) + &code(16, 16)));
        assert!((twice - 2.0 * whole).abs() < 1e-6, "{a} {b} {to}: {twice} {whole}");
    }
}
