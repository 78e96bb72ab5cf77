//! The built-in products against the vendor's published tables.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use ubtile_sim::product::{Element, Grade, Rounding, Soc, VectorOp, source};
use ubtile_tiling::{Dtype, Product};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

fn soc(name: &str) -> Soc {
    Soc::builtin(name).unwrap_or_else(|error| panic!("{error}"))
}

fn all() -> impl Iterator<Item = Soc> {
    Soc::names().map(soc)
}

/// One line of the vendor's platform configurations: name, NpuArch, AI or cube cores, cores of a vector-only kernel, MHz, KiB of
/// UB, L1 and L0C, MiB of L2, bytes of memory.
type Row = (&'static str, Option<u32>, u32, u32, u32, u64, u64, u64, u64, Option<u64>);

#[rustfmt::skip]
const TABLE: [Row; 27] = [
    ("Ascend310P1",       Some(2002), 10, 10, 1060, 256, 1024, 256,  16, Some(24_000_000_000)),
    ("Ascend310P3",       Some(2002),  8,  8, 1060, 256, 1024, 256,  16, Some(24_000_000_000)),
    ("Ascend310P5",       Some(2002),  8,  8,  800, 256, 1024, 256,  16, Some(24_000_000_000)),
    ("Ascend310P7",       Some(2002),  8,  8,  550, 256, 1024, 256,  16, Some(24_000_000_000)),
    ("Ascend910A",        Some(1001), 32, 32, 1000, 256, 1024, 256,  32, None),
    ("Ascend910B",        Some(1001), 30, 30,  900, 256, 1024, 256,  32, None),
    ("Ascend910ProA",     Some(1001), 32, 32, 1100, 256, 1024, 256,  32, None),
    ("Ascend910ProB",     Some(1001), 30, 30, 1150, 256, 1024, 256,  32, None),
    ("Ascend910PremiumA", Some(1001), 32, 32, 1220, 256, 1024, 256,  32, None),
    ("Ascend910B1",       Some(2201), 24, 48, 1850, 192,  512, 128, 192, Some(64 * GIB)),
    ("Ascend910B2",       Some(2201), 24, 48, 1800, 192,  512, 128, 192, Some(64 * GIB)),
    ("Ascend910B2C",      Some(2201), 24, 48, 1800, 192,  512, 128, 192, None),
    ("Ascend910B3",       Some(2201), 20, 40, 1800, 192,  512, 128, 192, Some(64 * GIB)),
    ("Ascend910B4",       Some(2201), 20, 40, 1500, 192,  512, 128,  96, Some(32 * GIB)),
    ("Ascend910B4-1",     Some(2201), 20, 40, 1500, 192,  512, 128, 168, Some(32 * GIB)),
    ("Ascend910_9391",    Some(2201), 24, 48, 1850, 192,  512, 128, 192, Some(64 * GIB)),
    ("Ascend910_9392",    Some(2201), 24, 48, 1850, 192,  512, 128, 192, Some(64 * GIB)),
    ("Ascend910_9381",    Some(2201), 24, 48, 1800, 192,  512, 128, 192, Some(64 * GIB)),
    ("Ascend910_9382",    Some(2201), 24, 48, 1800, 192,  512, 128, 192, Some(64 * GIB)),
    ("Ascend910_9372",    Some(2201), 20, 40, 1800, 192,  512, 128, 192, Some(64 * GIB)),
    ("Ascend910_9362",    Some(2201), 20, 40, 1500, 192,  512, 128, 168, Some(32 * GIB)),
    ("Ascend310B1",       Some(3002),  1,  1, 1224, 248, 1024, 128,   4, Some(32 * GIB)),
    ("Ascend310B2",       Some(3002),  1,  1, 1224, 248, 1024, 128,   4, None),
    ("Ascend310B3",       Some(3002),  1,  1, 1224, 248, 1024, 128,   4, None),
    ("Ascend310B4",       Some(3002),  1,  1,  500, 248, 1024, 128,   4, None),
    ("Ascend910_95",      Some(3510), 32, 64, 1650, 248,  512, 256, 128, Some(128 * GIB)),
    ("Ascend910_5591",    None,       24, 24, 1500, 248,  512, 256,  48, Some(32 * GIB)),
];

#[test]
fn the_summary_table_holds() {
    let stated: Vec<_> = TABLE.iter().map(|row| row.0).collect();
    assert_eq!(Soc::names().collect::<Vec<_>>(), stated);
    for (name, arch, ai, units, mhz, ub, l1, l0c, l2, memory) in TABLE {
        let soc = soc(name);
        assert_eq!(soc.name(), name);
        assert_eq!(soc.version.npu_arch.get().ok().copied(), arch, "{name}");
        assert_eq!(soc.cores.ai.get().unwrap().get(), ai, "{name}");
        assert_eq!(soc.cores.vector_units.get().unwrap().get(), units, "{name}");
        assert_eq!(soc.clock.core_mhz.get().unwrap().get(), mhz, "{name}");
        assert_eq!(soc.ub.bytes.get().unwrap().0, ub * KIB, "{name}");
        assert_eq!(soc.buffers.l1_bytes.get().unwrap().0, l1 * KIB, "{name}");
        assert_eq!(soc.buffers.l0c_bytes.get().unwrap().0, l0c * KIB, "{name}");
        assert_eq!(soc.memory.l2_bytes.get().unwrap().0, l2 * MIB, "{name}");
        assert_eq!(soc.memory.bytes.get().ok().map(|bytes| bytes.0), memory, "{name}");
    }
}

/// What their platform files say of the transfers of vector cores, in bytes a cycle: of main memory, of L2 read and written, and of
/// what leaves the UB for L2 and main memory.
#[test]
fn vector_cores_have_their_own_rates() {
    for (name, rates) in [
        ("Ascend310P3", [9, 57, 57, 57, 9]),
        ("Ascend310B1", [17, 256, 128, 128, 128]),
        ("Ascend310B2", [17, 256, 128, 128, 128]),
        ("Ascend310B3", [17, 256, 128, 128, 128]),
        ("Ascend310B4", [8, 256, 128, 128, 64]),
    ] {
        let soc = soc(name);
        let rate = |key: &str| {
            let key = format!("vector_core_rates.{key}");
            let fact = soc.facts().iter().find(|fact| *fact.key == key).unwrap();
            assert_eq!(fact.grade, Some(Grade::Cited), "{name} {key}");
            fact.value.as_ref().and_then(|value| value.as_integer().or(value.as_float().map(|f| f as i64))).unwrap()
        };
        assert_eq!(rate("ddr_read"), rate("ddr_write"), "{name}");
        assert_eq!(["ddr_read", "l2_read", "l2_write", "ub_to_l2", "ub_to_ddr"].map(rate), rates, "{name}");
    }
}

#[test]
fn every_file_is_built_in() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("products");
    let files = fs::read_dir(directory).unwrap().filter_map(|entry| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        name.strip_suffix(".toml").filter(|name| *name != "sources").map(String::from)
    });
    assert_eq!(files.collect::<BTreeSet<_>>(), Soc::names().map(String::from).collect());
}

#[test]
fn every_value_states_its_evidence() {
    for soc in all() {
        for fact in soc.facts() {
            assert_eq!(fact.value.is_some(), fact.grade.is_some(), "{} {}", soc.name(), fact.key);
            if let Some(text) = &fact.source {
                assert!(!text.ends_with(".toml"), "{} {}: the source is but its own file", soc.name(), fact.key);
                assert!(
                    fact.grade != Some(Grade::Cited) || source(text).is_some() || text.starts_with("product page"),
                    "{text}"
                );
            }
        }
    }
}

#[test]
fn nominal_bandwidths_agree_with_the_documents() {
    let near = |name: &str, key: &str, expected: f64| {
        let soc = soc(name);
        let fact = soc.facts().iter().find(|fact| &*fact.key == key).unwrap();
        let value = fact.value.as_ref().and_then(toml::Value::as_float).unwrap();
        assert!((value - expected).abs() <= 0.01 * expected, "{name} {key}: {value}, not {expected}");
        assert_eq!(fact.grade, Some(Grade::Derived));
    };
    near("Ascend910_95", "memory.nominal_l2_read_gbps", 5280.0);
    near("Ascend910_95", "memory.nominal_ddr_gbps", 1640.0);
    near("Ascend910B1", "memory.nominal_l2_read_gbps", 4880.0);
    near("Ascend910B1", "memory.nominal_ddr_gbps", 1420.0);
    near("Ascend310P3", "memory.nominal_ddr_gbps", 144.0);
    near("Ascend910B4", "memory.nominal_ddr_gbps", 960.0);
}

#[test]
fn banks_fill_the_ub() {
    for soc in all() {
        let (banks, bytes) = (soc.ub.banks.get().unwrap().get(), soc.ub.bank_bytes.get().unwrap().0);
        let size = u64::from(banks) * bytes;
        assert!(
            size == soc.ub.bytes.get().unwrap().0 || size == soc.ub.physical_bytes.get().unwrap().0,
            "{}: {banks} banks of {bytes} bytes",
            soc.name()
        );
        assert!(soc.ub.plan_bytes.get().unwrap() <= soc.ub.bytes.get().unwrap(), "{}", soc.name());
    }
    assert_eq!(soc("Ascend910B3").ub.banks.get().unwrap().get(), 48);
    assert_eq!(soc("Ascend910B3").ub.banks.graded().unwrap().grade, Grade::Derived);
}

#[test]
fn capabilities_follow_the_generation() {
    let names = |name: &str| {
        let soc = soc(name);
        let types: BTreeSet<_> = soc.capabilities.atomic_add.get().unwrap().iter().map(|e| e.name()).collect();
        (*soc.capabilities.data_copy_pad.get().unwrap(), *soc.capabilities.gather.get().unwrap(), types)
    };
    let set = |types: &[&'static str]| types.iter().copied().collect::<BTreeSet<_>>();
    let all_types = set(&["i8", "i16", "i32", "f16", "bf16", "f32"]);
    assert_eq!(names("Ascend310P3"), (false, true, set(&["i16", "f16", "f32"])));
    assert_eq!(names("Ascend910A"), (false, false, set(&["f32"])));
    assert_eq!(names("Ascend910B1"), (true, true, all_types.clone()));
    assert_eq!(names("Ascend910_9391"), (true, true, all_types.clone()));
    assert_eq!(names("Ascend310B1"), (true, true, set(&["i16", "i32", "f16", "f32"])));
    assert_eq!(names("Ascend910_95"), (true, true, all_types));
    assert_eq!(soc("Ascend910A").sync.event_ids.get().unwrap().get(), 4);
    assert_eq!(soc("Ascend910B1").sync.event_ids.get().unwrap().get(), 8);
    assert!(!soc("Ascend310P1").sync.cross_core_flags.get().unwrap());
    assert!(*soc("Ascend910_95").sync.cross_core_flags.get().unwrap());
    for (name, host, kernel) in [("Ascend310P3", 2, 2), ("Ascend910B4", 16, 16), ("Ascend310B4", 2, 16)] {
        let workspace = soc(name).workspace;
        assert_eq!(workspace.library_bytes.get().unwrap().0, host * MIB, "{name}");
        assert_eq!(workspace.kernel_bytes.get().unwrap().0, kernel * MIB, "{name}");
    }
}

#[test]
fn instructions_take_the_types_of_the_vendors_map() {
    use Element::{F16, F32, I8, I16, I32, U8};
    let types = |name: &str, instruction: &str| {
        soc(name).instructions.elements(instruction).unwrap().iter().copied().collect::<BTreeSet<_>>()
    };
    assert_eq!(types("Ascend910A", "vadd"), BTreeSet::from([F16, F32, I32]));
    assert_eq!(types("Ascend310P3", "vmul"), BTreeSet::from([F16, F32, I32, I16]));
    assert_eq!(types("Ascend310B1", "vadd"), BTreeSet::from([F16, F32, I32, I16, I8, U8]));
    assert_eq!(types("Ascend910A", "vadds"), BTreeSet::from([F16, F32]));
    assert_eq!(types("Ascend910A", "vcmax"), BTreeSet::from([F16]));
    assert_eq!(types("Ascend910B1", "vcmax"), BTreeSet::from([F16, F32]));
    for (name, gather, blocks, scatter) in [
        ("Ascend910A", 0, 0, 0),
        ("Ascend310P3", 6, 0, 6),
        ("Ascend910B2", 6, 6, 0),
        ("Ascend910_9362", 6, 6, 0),
        ("Ascend310B4", 6, 6, 6),
        ("Ascend910_95", 6, 6, 6),
    ] {
        assert_eq!(types(name, "vgather").len(), gather, "{name}");
        assert_eq!(types(name, "vgatherb").len(), blocks, "{name}");
        assert_eq!(types(name, "vscatter").len(), scatter, "{name}");
    }
    assert!(types("Ascend910B1", "data_move_pad").contains(&Element::Bf16));
    assert!(!types("Ascend310B1", "data_move_pad").contains(&Element::Bf16));
    assert!(soc("Ascend910B1").instructions.elements("vnothing").is_err());
}

#[test]
fn conversions_follow_the_vendors_map() {
    let modes = |name: &str, from, to| soc(name).conversions.modes(from, to).unwrap().len();
    assert_eq!(modes("Ascend910A", Element::F32, Element::Bf16), 0);
    assert_eq!(modes("Ascend310P3", Element::Bf16, Element::F32), 0);
    assert_eq!(modes("Ascend910B1", Element::F32, Element::Bf16), 5);
    assert_eq!(modes("Ascend310P3", Element::F32, Element::I32), 5);
    let floor = soc("Ascend310P3").conversions.modes(Element::F32, Element::I32).unwrap().contains(&Rounding::Floor);
    assert!(floor, "grid sampling rounds down");
}

#[test]
fn costs_are_known_where_the_instruction_exists() {
    let a2 = soc("Ascend910B1").vector;
    let add = a2.cost(VectorOp::Add).unwrap();
    assert_eq!((add.cycles_16, add.cycles_32), (Some(1.0), Some(1.0)));
    assert_eq!(a2.cost(VectorOp::Gather).unwrap().cycles_32, Some(12.0), "12 cycles for 64 elements");
    assert_eq!(a2.cost(VectorOp::Gather).unwrap().cycles_16, Some(24.0));
    assert_eq!(a2.cost(VectorOp::Div).unwrap().cycles_16, Some(4.0), "32 elements in a cycle");
    assert!(a2.cost(VectorOp::Scatter).is_err());
    assert!(soc("Ascend910A").vector.cost(VectorOp::Gather).is_err());
    assert!(soc("Ascend910A").vector.cost(VectorOp::Add).is_ok());
    for name in ["Ascend310P3", "Ascend910A", "Ascend310B1"] {
        for fact in soc(name).facts().iter().filter(|fact| fact.key.starts_with("vector.")) {
            let cited = fact.grade == Some(Grade::Cited);
            assert!(!cited || fact.key.contains("repeat"), "{name} {}: nothing is published", fact.key);
        }
    }
}

#[test]
fn what_no_source_says_is_unknown() {
    let unknown = |name: &str, key: &str| {
        let soc = soc(name);
        let fact = soc.facts().iter().find(|fact| &*fact.key == key).unwrap();
        assert_eq!((fact.text.as_str(), &fact.value, &fact.source), ("unknown", &None, &None), "{name} {key}");
    };
    unknown("Ascend910B2C", "memory.bytes");
    unknown("Ascend910A", "memory.bytes");
    unknown("Ascend910A", "version.compiler_aiv");
    unknown("Ascend910_5591", "version.npu_arch");
    unknown("Ascend310B1", "sync.sync_all_hard_us");
    unknown("Ascend910_9391", "memory.hbm_peak_gbps");
    let error = soc("Ascend310B1").sync.sync_all_hard_us.get().unwrap_err();
    assert_eq!(error.to_string(), "sync.sync_all_hard_us is unknown; a product file can state it");
}

#[test]
fn a_line_has_a_usual_soc_that_carries_it() {
    let usual = ["Ascend310P3", "Ascend910A", "Ascend910B1", "Ascend910B4", "Ascend910B4"];
    let rest = ["Ascend910_9391", "Ascend310B1", "Ascend910_95"];
    assert_eq!(Product::ALL.map(Soc::usual).to_vec(), [&usual[..], &rest[..]].concat());
    for product in Product::ALL {
        let products = soc(Soc::usual(product)).version.products;
        assert!(products.get().unwrap().contains(&product), "{product}");
    }
    for soc in all() {
        assert!(!soc.version.products.get().unwrap().is_empty(), "{}", soc.name());
    }
}

#[test]
fn the_old_910b_warns() {
    for soc in all() {
        assert_eq!(soc.warning().is_some(), soc.name() == "Ascend910B", "{}", soc.name());
    }
    assert!(soc("Ascend910B").warning().unwrap().contains("Ascend910B1"));
}

#[test]
fn plans_are_for_what_the_framework_leaves() {
    for (name, cores, kib, unaligned, gather, bf16) in [
        ("Ascend910B1", 48, 184, true, true, true),
        ("Ascend910B4", 40, 184, true, true, true),
        ("Ascend310P3", 8, 248, false, true, false),
        ("Ascend910A", 32, 248, false, false, false),
        ("Ascend310B1", 1, 248, true, true, true),
        ("Ascend910_95", 64, 248, true, true, true),
    ] {
        let target = soc(name).target_spec().unwrap();
        assert_eq!((target.cores, target.local_bytes), (cores, kib << 10), "{name}");
        assert_eq!((target.block_bytes, target.vector_bytes), (32, 256), "{name}");
        let can = target.capabilities;
        assert_eq!((can.unaligned_copy, can.gather, can.bf16), (unaligned, gather, bf16), "{name}");
        assert_eq!(
            can.atomic_add.contains(Dtype::Bf16),
            matches!(name, "Ascend910B1" | "Ascend910B4" | "Ascend910_95")
        );
        assert!(can.atomic_add.contains(Dtype::F32) && !can.atomic_add.contains(Dtype::I64), "{name}");
    }
    for soc in all() {
        assert!(soc.target_spec().is_ok(), "{}", soc.name());
    }
}

#[test]
fn keys_can_be_stated_anew() {
    let board = soc("Ascend910B4").with([("clock.core_mhz", "1650"), ("ub.bytes", "64 KiB")], "--set").unwrap();
    assert_eq!((board.clock.core_mhz.get().unwrap().get(), board.ub.bytes.get().unwrap().0), (1650, 64 << 10));
    assert_eq!(board.clock.core_mhz.graded().unwrap().grade, Grade::Guess);
    assert_eq!(board.cores.vector_units.get().unwrap().get(), 40);
    let again = board.with([("clock.core_mhz", "1500")], "--set").unwrap();
    assert_eq!((again.clock.core_mhz.get().unwrap().get(), again.ub.bytes.get().unwrap().0), (1500, 64 << 10));
    for (key, value) in [("clock.core_mhz", "fast"), ("clock.core", "1"), ("core_mhz", "1"), ("ub.bytes", "-1")] {
        let error = soc("Ascend910B4").with([(key, value)], "--set").unwrap_err().to_string();
        assert!(error.starts_with(&format!("--set: {key}: ")), "{error}");
    }
}
