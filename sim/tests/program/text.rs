//! The textual form of programs: reading what was written gives the same, and errors say where and what.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use ubtile_sim::generate::{Choices, Programs};
use ubtile_sim::product::Soc;
use ubtile_sim::text::{parse, print};

fn a2() -> Soc {
    Soc::builtin("Ascend910B1").unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_stops_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..400), at in any::<prop::sample::Index>(), with in "[ -~\n]{0,3}") {
        let programs = Programs::new(&a2()).unwrap();
        let mut text = print(&programs.any(&mut Choices::of_bytes(&bytes)));
        let at = at.index(text.len());
        text.replace_range(at..(at + with.len()).min(text.len()), &with);
        if let Err(error) = parse(&text, &a2()) {
            prop_assert!(error.position.line as usize <= text.lines().count() + 1);
            prop_assert!(error.position.column > 0 && !error.problem.is_empty());
        }
    }
}

fn error(text: &str) -> String {
    parse(text, &a2()).err().map_or_else(|| format!("accepted: {text}"), |e| e.to_string())
}

#[test]
fn errors_say_where_and_what_was_expected() {
    let head = "cores 2\ntensor x: f32[64] in\nub a: 256 slots 2\n";
    let in_code = |line: &str| error(&format!("{head}{line}\n"));
    for (line, expected) in [
        ("lod a[0], x[0] bytes 32", "line 4, column 1: expected a declaration or an instruction, found `lod`"),
        ("load a[0] x[0] bytes 32", "line 4, column 11: expected `,`, found `x`"),
        ("load a[0], x[0]", "line 4, column 16: expected `bytes` and the length of a block, found the end of the line"),
        ("load a[0], y[0] bytes 32", "line 4, column 12: expected a tensor, found `y`"),
        (
            "load a[k], x[0] bytes 32",
            "line 4, column 8: expected a number, a constant or a register, found the unknown name `k`",
        ),
        ("  load a[0], x[0] bytes 33", "line 4, column 3: bytes is 33, expected 32 to 2097120 in multiples of 32"),
        ("add.f32 a[0], a[0], a[0] repeat 256", "line 4, column 1: repeat is 256, expected 0 to 255"),
        ("add.f32 a[0](1, 256), a[0], a[0]", "line 4, column 1: repeat stride is 256, expected 0 to 255"),
        (
            "adds.f32 a[0], a[0], 1",
            "line 4, column 22: expected a floating-point number, as `1.0`, or a register of one, found `1`",
        ),
        ("muls.f64 a[0], a[0], 1.0", "line 4, column 1: expected `muls` with a type, as `muls.f32`, found `muls.f64`"),
        ("add a[0], a[0], a[0]", "line 4, column 1: expected `add` with a type, as `add.f32`, found `add`"),
        ("set_flag v mte2 8", "line 4, column 1: flag is 8, expected 0 to 7"),
        ("set_flag v v 0", "line 4, column 1: expected two different pipes"),
        ("let n = n", "line 4, column 9: expected a number, a constant or a register, found the unknown name `n`"),
        (
            "for i in 0..n {",
            "line 4, column 13: expected a number, a constant or a register, found the unknown name `n`",
        ),
        (
            "let n = read.i32 a[0] assume 3..3",
            "line 4, column 1: end of the assumption is 3, expected 4 to 9223372036854775807",
        ),
        (
            "let n = read.i32 a[0] assume div(core, 0)",
            "line 4, column 1: divisor of the assumption is 0, expected 1 to 9223372036854775807",
        ),
        (
            "let n = read.i32 a[0] assume core..9",
            "line 4, column 30: expected a constant, found a register in the expression",
        ),
        ("int m\nlet n = read.i32 a[0] assume 2*m", "line 5, column 1: m has no value yet on some way to here"),
        ("for i in 0..2 {\nlet i = 3\n}", "line 5, column 1: i cannot be set here"),
        ("if core < 1 {\nlet n = 1\n}\nlet m = n", "line 7, column 1: n has no value yet on some way to here"),
        ("for i in 0..2 {\n", "line 5, column 1: expected an instruction or `}`, found the end of the text"),
        (
            "add.bf16 a[0], a[0], a[0]",
            "line 4, column 1: Ascend910B1 has no add.bf16; expected one of f16, f32, i16, i32",
        ),
        ("scatter.f32 a[0], a[0], a[0]", "line 4, column 1: Ascend910B1 has no scatter.f32"),
        ("load a[2; 0], x[0] bytes 32", "line 4, column 1: slot is 2, expected 0 to 1"),
        ("tensor a: f32[1] in", "line 4, column 8: expected a new name, found `a` again"),
        ("ub c: 33", "line 4, column 1: size is 33, expected a multiple of 32"),
        ("per_core p: 1", "line 4, column 1: 1 values, expected one for each of 2 cores"),
        ("let n = 1 $", "line 4, column 11: expected a name, a number or a sign, found `$`"),
    ] {
        assert_eq!(in_code(line), expected, "{line}");
    }
    assert_eq!(error(""), "line 1, column 1: expected a line `cores N` before the code");
    assert_eq!(error("# many\n\n  cores 0\n"), "line 3, column 3: cores is 0, expected 1 to 65535");
    assert_eq!(error("# many\ncores 10000\n").split_once(" is ").unwrap().0, "line 2, column 1: cores 10000");
}

/// Constants do not wrap, as registers do.
#[test]
fn constants_fit_in_64_bits() {
    let low = i64::MIN;
    for (fits, wraps) in [
        (format!("mul({low}, 1)"), format!("mul({low}, -1)")),
        ("mul(4611686018427387904, -2)".into(), "mul(4611686018427387904, 2)".into()),
        (format!("div({low}, 1)"), format!("div({low}, -1)")),
        (format!("mod({low}, -1)"), "shr(1, -1)".into()),
        ("shl(1, 62)".into(), "shl(1, 63)".into()),
        ("shl(-1, 63)".into(), "shl(-2, 63)".into()),
        ("shl(0, 63)".into(), "shl(0, 64)".into()),
        ("shr(-1, 63)".into(), "shr(-1, 64)".into()),
    ] {
        let text = |value: &str| format!("cores 1\nconst N = {value}\n");
        assert!(parse(&text(&fits), &a2()).is_ok(), "{fits}");
        let problem = format!("expected numbers that fit in 64 bits and shifts by 0 to 63, found {wraps}");
        assert_eq!(error(&text(&wraps)), format!("line 2, column 11: {problem}"));
    }
}

/// What a run without data finds is an element.
#[test]
fn assumptions_fit_in_the_element() {
    for (element, least, most) in [
        ("i8", -128, 127),
        ("u8", 0, 255),
        ("i16", -32768, 32767),
        ("u16", 0, 65535),
        ("f16", -65504, 65504),
        ("i32", i32::MIN.into(), i32::MAX.into()),
        ("u32", 0, u32::MAX.into()),
    ] {
        let read = |from: i64, to: i64, step: i64| {
            error(&format!("cores 1\nub a: 32\nlet n = read.{element} a[0] assume {from}..{to} step {step}\n"))
        };
        let range = format!("expected {least} to {most}");
        assert!(read(least, most + 1, 1).starts_with("accepted"));
        // No number between the last and the end.
        assert!(read(most - 2, most + 9, 11).starts_with("accepted"));
        let start = format!("line 3, column 1: start of the assumption is {}, {range}", least - 1);
        assert_eq!(read(least - 1, most + 1, 1), start);
        let last = format!("line 3, column 1: last value of the assumption is {}, {range}", most + 1);
        assert_eq!(read(least, most + 2, 1), last);
    }
    assert!(
        error(&format!("cores 1\nub a: 32\nlet n = read.i64 a[0] assume {}..{}", i64::MIN, i64::MAX))
            .starts_with("accepted")
    );
}

/// Each word is looked at once, however many come before it in its line: this took 20 seconds.
#[test]
fn long_lines_take_no_time() {
    let text = format!("cores 1\nlet n = 1{}\n", " + 1".repeat(300_000));
    let start = Instant::now();
    parse(&text, &a2()).unwrap();
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

/// A mark in front of a text is no part of it, and of no line; it is wrong elsewhere.
#[test]
fn a_byte_order_mark_is_skipped() {
    assert!(error("\u{feff}cores 1\n").starts_with("accepted"));
    assert!(error("\u{feff}lod\n").starts_with("line 1, column 1: expected a"));
    assert!(error("cores 1\n\u{feff}\n").starts_with("line 2, column 1: expected a name, a number or a sign"));
}

#[test]
fn what_nests_too_deeply_is_an_error() {
    let head = "cores 2\ntensor x: f32[64] in\nub a: 256 slots 2\n";
    for (line, start) in [
        (
            format!("let n = {}1{}", "(".repeat(200_000), ")".repeat(200_000)),
            "line 4, column 138: nested more than 128 times",
        ),
        (format!("let n = {}1", "-".repeat(200_000)), "line 4, column 138: nested more than 128 times"),
        ("tile a {\n".repeat(30_000), "line 132, column 8: nested more than 128 times"),
        ("if core < 1 {\n".repeat(30_000), "line 132, column 13: nested more than 128 times"),
    ] {
        let found = error(&format!("{head}{line}\n"));
        assert!(found.starts_with(start), "{start}: {found}");
    }
    let deep = format!("{head}{}barrier v\n{}", "tile a {\n".repeat(127), "}\n".repeat(127));
    parse(&deep, &a2()).unwrap();
}

#[test]
fn products_have_what_their_files_say() {
    let text = "cores 1\ntensor x: f16[99] in\nub a: 256\nload_pad a[0], x[2] bytes 6\n";
    for soc in Soc::names() {
        let soc = Soc::builtin(soc).unwrap();
        let has = *soc.capabilities.data_copy_pad.get().unwrap();
        assert_eq!(parse(text, &soc).is_ok(), has, "{}", soc.name());
        let event_ids = soc.sync.event_ids.get().unwrap().get();
        for (id, ok) in [(event_ids - 1, true), (event_ids, false)] {
            assert_eq!(parse(&format!("cores 1\nset_flag v mte2 {id}"), &soc).is_ok(), ok, "{} {id}", soc.name());
        }
    }
}
