//! The example programs compute what they say.

use bytemuck::{cast_slice, cast_slice_mut};
use half::f16;
use proptest::prelude::*;
use ubtile_sim::exec::{Global, Run};
use ubtile_sim::generate::{Choices, delays};
use ubtile_sim::product::Soc;
use ubtile_sim::program::{Program, TensorId};
use ubtile_sim::text::{parse, parse_source, print};

const EXAMPLES: [(&str, &str); 8] = [
    ("add", include_str!("../../examples/add.tile")),
    ("add_single_buffer", include_str!("../../examples/add_single_buffer.tile")),
    ("add_serial", include_str!("../../examples/add_serial.tile")),
    ("add_bypass", include_str!("../../examples/add_bypass.tile")),
    ("add_double_buffer", include_str!("../../examples/add_double_buffer.tile")),
    ("add_tail", include_str!("../../examples/add_tail.tile")),
    ("strided_copy", include_str!("../../examples/strided_copy.tile")),
    ("gather_rows", include_str!("../../examples/gather_rows.tile")),
];

fn program(name: &str) -> Program {
    let (_, text) = EXAMPLES.into_iter().find(|(known, _)| *known == name).unwrap();
    let soc = Soc::builtin("Ascend910B1").unwrap();
    parse(text, &soc).unwrap_or_else(|e| panic!("{name}: {e}")).0
}

/// Inputs of bytes that differ, all of them finite numbers in f16 and f32.
fn inputs(program: &Program) -> Global {
    let mut global = Global::new(program).unwrap();
    for (i, tensor) in (0..).zip(&program.source().tensors) {
        let bytes = global.tensor_mut(TensorId(i));
        if tensor.role.is_given() {
            for (n, byte) in bytes.iter_mut().enumerate() {
                *byte = (n * 37 + n / 256 * 11 + usize::from(i) * 71 + 5) as u8 & 0xbb;
            }
        }
        if tensor.name == "index" || tensor.name == "slot" {
            let most = if tensor.name == "index" { 1000 } else { 16 };
            for (n, number) in cast_slice_mut::<u8, i32>(bytes).iter_mut().enumerate() {
                *number = if most == 1000 && n % 7 == 3 { -1 } else { (n as i32 * 619 + 17) % most };
            }
        }
    }
    global
}

fn check(name: &str, global: &Global) {
    let tensor = |i| global.tensor(TensorId(i));
    match name {
        "strided_copy" => {
            let (x, z) = (cast_slice::<u8, u16>(tensor(0)), cast_slice::<u8, u16>(tensor(1)));
            for (n, z) in z.iter().enumerate() {
                assert_eq!(*z, x[(n / 96 + 8) * 128 + n % 96 + 16], "{n}");
            }
        }
        "gather_rows" => {
            let x = cast_slice::<u8, f32>(tensor(0));
            let (index, slot) = (cast_slice::<u8, i32>(tensor(1)), cast_slice::<u8, i32>(tensor(2)));
            let mut sums = vec![0f32; 16 * 64];
            for (k, t) in index.iter().zip(slot).filter(|(k, _)| **k >= 0) {
                for c in 0..64 {
                    sums[*t as usize * 64 + c] += x[*k as usize * 64 + c];
                }
            }
            assert_eq!(cast_slice::<u8, f32>(tensor(3)), sums);
        }
        "add_tail" => {
            let [x, y, z] = [0, 1, 2].map(|i| cast_slice::<u8, f32>(tensor(i)));
            for (n, z) in z.iter().enumerate() {
                assert_eq!(*z, x[n] + y[n], "{n}");
            }
        }
        _ => {
            let [x, y, z] = [0, 1, 2].map(|i| cast_slice::<u8, f16>(tensor(i)));
            for (n, z) in z.iter().enumerate() {
                assert_eq!(*z, f16::from_f32(x[n].to_f32() + y[n].to_f32()), "{n}");
            }
        }
    }
}

#[test]
fn values_in_program_order() {
    for (name, _) in EXAMPLES {
        let program = program(name);
        let mut run = Run::new(&program, inputs(&program));
        run.finish().unwrap_or_else(|halt| panic!("{name}: {}", halt.describe(&program)));
        check(name, run.global());
    }
}

/// What the page shows are these files, whole, and every file is on it or named there.
#[test]
fn the_documentation_shows_them() {
    let page = include_str!("../../../docs/tile-programs.md");
    let shown: Vec<&str> = page.split("```tile\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    for text in &shown {
        assert!(EXAMPLES.iter().any(|(_, example)| example == text), "{text}");
    }
    for (name, _) in EXAMPLES {
        assert!(page.contains(name), "{name}");
    }
    assert_eq!(shown.len(), EXAMPLES.len() - 1);
}

#[test]
fn written_programs_are_the_same() {
    for (name, text) in EXAMPLES {
        let (source, _) = parse_source(text).unwrap();
        let again = parse_source(&print(&source)).unwrap_or_else(|e| panic!("{name}: {e}")).0;
        assert_eq!(again, source, "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn values_in_any_order_that_flags_allow(seed in any::<u64>()) {
        for (name, _) in EXAMPLES.into_iter().filter(|(name, _)| *name != "gather_rows") {
            let program = program(name);
            let steps = Run::new(&program, inputs(&program)).finish_with(&[]).unwrap();
            let mut run = Run::new(&program, inputs(&program));
            run.finish_with(&delays(&steps, &mut Choices::of_seed(seed))).unwrap();
            check(name, run.global());
        }
    }
}
