//! The tables of the vendor's profiler.

use std::collections::{BTreeMap, BTreeSet};

use ubtile_sim::clock::{Options, Profile, profile};
use ubtile_sim::product::Soc;
use ubtile_sim::program::Program;
use ubtile_sim::report::{Described, Gathered, Lanes, Profiler, TABLES};
use ubtile_sim::text;

use super::{example, near, soc};

/// A table of a run: its columns by name.
fn table(tables: &Profiler<'_>, name: &str) -> (Vec<String>, Vec<BTreeMap<String, String>>) {
    let mut bytes = Vec::new();
    tables.write(name, &mut bytes).unwrap();
    let mut reader = csv::Reader::from_reader(bytes.as_slice());
    let header: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let row = |record: csv::StringRecord| header.iter().cloned().zip(record.iter().map(str::to_owned)).collect();
    let rows = reader.records().map(|record| row(record.unwrap())).collect();
    (header, rows)
}

fn with_tables(soc: &Soc, name: &str, check: impl FnOnce(&Profiler<'_>, &Profile)) {
    with_tables_of(soc, &example(name, soc), check);
}

fn with_tables_of(soc: &Soc, program: &Program, check: impl FnOnce(&Profiler<'_>, &Profile)) {
    let mut gathered = Gathered::new(program.source().cores);
    let run = profile(program, soc, &Options::default(), &mut |event| gathered.add(event)).unwrap();
    let described = Described { name: "add", rated_mhz: Some(1) };
    let lanes = Lanes::of(soc);
    check(&Profiler { program, lanes, profile: &run, gathered: &gathered, described }, &run);
}

const BASIC: &str = "Op Name,Op Type,Task Duration(us),Block Dim,Mix Block Dim,Device ID,PID,Current Freq,Rated Freq";
const PIPES: &str = "block_id,sub_block_id,aic_time(us),aic_total_cycles,aiv_time(us),aiv_total_cycles,aiv_vec_time(us),\
aiv_vec_ratio,aiv_scalar_time(us),aiv_scalar_ratio,aiv_mte2_time(us),aiv_mte2_ratio,aiv_mte3_time(us),aiv_mte3_ratio,\
aiv_icache_miss_rate,aiv_mte2_active_bw(GB/s),aiv_mte3_active_bw(GB/s)";
const ARITHMETIC: &str = "block_id,sub_block_id,aiv_vec_ratio,aiv_vec_fp32_ratio,aiv_vec_fp16_ratio,aiv_vec_int32_ratio,\
aiv_vec_int16_ratio,aiv_vec_misc_ratio,aiv_vec_fops";
const MEMORY: &str = "block_id,sub_block_id,aiv_ub_to_gm_bw(GB/s),aiv_gm_to_ub_bw(GB/s),aiv_main_mem_read_bw(GB/s),\
aiv_main_mem_write_bw(GB/s),aiv_mte2_instructions,aiv_mte3_instructions,read_main_memory_datas(KB),\
write_main_memory_datas(KB),GM_to_UB_datas(KB),UB_to_GM_datas(KB),GM_to_UB_bw_usage_rate(%),UB_to_GM_bw_usage_rate(%)";
const UB: &str = "block_id,sub_block_id,aiv_ub_read_bw_vector(GB/s),aiv_ub_write_bw_vector(GB/s),\
aiv_ub_read_bw_scalar(GB/s),aiv_ub_write_bw_scalar(GB/s)";
const CONFLICTS: &str = "block_id,sub_block_id,aiv_vec_total_cflt_ratio,aiv_vec_bankgroup_cflt_ratio,\
aiv_vec_bank_cflt_ratio,aiv_vec_resc_cflt_ratio,aiv_vec_mte_cflt_ratio,aiv_vec_wait_ratio,aiv_mte2_wait_ratio,\
aiv_mte3_wait_ratio";
const SUMMARY: &str = "Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),Task Wait Time(us),Block Dim,\
Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats";

#[test]
fn tables_have_the_names_of_the_vendors_profiler() {
    let listed = [
        ("OpBasicInfo", BASIC),
        ("PipeUtilization", PIPES),
        ("ArithmeticUtilization", ARITHMETIC),
        ("Memory", MEMORY),
        ("MemoryUB", UB),
        ("ResourceConflictRatio", CONFLICTS),
        ("op_summary", SUMMARY),
    ];
    assert!(listed.iter().all(|(name, _)| TABLES.contains(name)));
    with_tables(&soc("Ascend910B1"), "add_double_buffer.tile", |tables, _| {
        for (name, header) in listed {
            assert_eq!(table(tables, name).0.join(","), header, "{name}");
        }
        let summary = &table(tables, "op_summary").1[0];
        assert_eq!(summary["Input Shapes"], "32,4096;32,4096");
        assert_eq!((&*summary["Input Data Types"], &*summary["Output Formats"]), ("FLOAT16;FLOAT16", "ND"));
    });
    // Where the vector unit is the core's, there are neither places nor another prefix.
    with_tables(&soc("Ascend310P3"), "strided_copy.tile", |tables, run| {
        assert!(run.cores.len() > 1);
        for (name, header) in listed {
            let header = header.replace("aic_time(us),aic_total_cycles,", "").replace("block_id,sub_block_id,", "");
            let (found, rows) = table(tables, name);
            assert_eq!((found.join(","), rows.len()), (header.replace("aiv_", "aic_"), 1), "{name}");
        }
    });
}

#[test]
fn tables_say_what_the_report_says() {
    for (soc, name) in [
        ("Ascend910B1", "add_double_buffer.tile"),
        ("Ascend310P3", "add_double_buffer.tile"),
        ("Ascend910B4", "add_tail.tile"),
    ] {
        let soc = soc_of(soc);
        let Some(prefix) = soc.1 else { continue };
        with_tables(&soc.0, name, |tables, run| {
            let t = &run.timing;
            let numbers = |name: &str, column: &str| -> Vec<f64> {
                table(tables, name).1.iter().map(|row| row[column].parse().unwrap()).collect()
            };
            let sum = |name: &str, column: &str| numbers(name, column).iter().sum::<f64>();
            // Of rows of cores that take as long as each other or not: the mean time of a pipe by the mean time.
            let time = sum("PipeUtilization", &format!("{prefix}time(us)"));
            for (pipe, column) in [
                (&t.pipes.vector, "vec"),
                (&t.pipes.scalar, "scalar"),
                (&t.pipes.mte2, "mte2"),
                (&t.pipes.mte3, "mte3"),
            ] {
                let busy = sum("PipeUtilization", &format!("{prefix}{column}_time(us)"));
                assert!((busy / time - pipe.ratio).abs() < 1e-4, "{column}: {busy} of {time}, {}", pipe.ratio);
            }
            near(1024.0 * sum("Memory", "GM_to_UB_datas(KB)"), t.gm_read_bytes as f64, "read");
            near(1024.0 * sum("Memory", "UB_to_GM_datas(KB)"), t.gm_write_bytes as f64, "written");
            let memory = sum("Memory", "read_main_memory_datas(KB)") + sum("Memory", "write_main_memory_datas(KB)");
            near(1024.0 * memory, t.hbm.bytes as f64, "main memory");
            near(sum("Memory", &format!("{prefix}mte2_instructions")), t.pipes.mte2.instructions as f64, "loads");
            let l2 = |columns: [&str; 2]| columns.iter().map(|c| sum("L2Cache", &format!("{prefix}{c}"))).sum::<f64>();
            let hits = l2(["write_cache_hit", "r0_read_cache_hit"]);
            let misses = l2(["write_cache_miss_allocate", "r0_read_cache_miss_allocate"]);
            near(hits / (hits + misses), t.l2_hit_ratio.unwrap(), "hits");
            // Each vector instruction is of one type.
            let kinds = ["fp32", "fp16", "int32", "int16", "misc"].map(|kind| format!("{prefix}vec_{kind}_ratio"));
            let of_kinds: f64 = kinds.iter().map(|kind| sum("ArithmeticUtilization", kind)).sum();
            assert!((of_kinds - sum("ArithmeticUtilization", &format!("{prefix}vec_ratio"))).abs() < 1e-4);
            near(sum("OpBasicInfo", "Task Duration(us)"), t.task_us, "duration");
            // What is not modelled is no number.
            for column in ["vec_bank_cflt_ratio", "vec_mte_cflt_ratio"] {
                let rows = table(tables, "ResourceConflictRatio").1;
                assert!(rows.iter().all(|row| row[&format!("{prefix}{column}")] == "NA"));
            }
        });
    }
}

/// What the scalar unit reads and writes in global memory, no copy brings to the UB or from it.
#[test]
fn accesses_of_the_scalar_unit_are_no_copies() {
    let soc = soc("Ascend910B1");
    let text = "cores 1\ntensor x: f32[1024] in\ntensor z: f32[1024] out\nub b: 32\nload b[0], x[0] bytes 32\n\
                set_flag mte2 mte3 0\nwait_flag mte2 mte3 0\nstore z[0], b[0] bytes 32\nfor i in 0..1000 {\n\
                let v = read.f32 x[4*i] assume 0..10\nwrite.f32 z[4*i], v\n}\n";
    let program = text::parse(text, &soc).unwrap().0;
    with_tables_of(&soc, &program, |tables, run| {
        let number = |name: &str, column: &str| table(tables, name).1[0][column].parse::<f64>().unwrap();
        near(1024.0 * number("Memory", "GM_to_UB_datas(KB)"), 32.0, "loaded");
        near(1024.0 * number("Memory", "UB_to_GM_datas(KB)"), 32.0, "stored");
        assert!(number("PipeUtilization", "aiv_mte3_active_bw(GB/s)") < 1.0);
        assert_eq!((run.timing.gm_read_bytes, run.timing.gm_write_bytes), (4032, 4032));
        let copies = |bound: &str| run.timing.roofline.limits.iter().find(|limit| limit.by.name() == bound).unwrap().us;
        assert!(copies("mte2") < 0.001 && copies("mte3") < 0.001, "{:?}", run.timing.roofline);
    });
}

/// A product, and the prefix of its columns.
fn soc_of(name: &str) -> (Soc, Option<&'static str>) {
    let soc = soc(name);
    let prefix = if Lanes::of(&soc).are_separate() { "aiv_" } else { "aic_" };
    (soc, Some(prefix))
}

#[test]
fn a_core_adds_to_what_its_elements_are() {
    with_tables(&soc("Ascend910B1"), "add_double_buffer.tile", |tables, run| {
        let rows = table(tables, "ArithmeticUtilization").1;
        assert_eq!(rows.len(), run.cores.len());
        for row in rows {
            // 4 tiles of 4096 elements of f16.
            assert_eq!(row["aiv_vec_fops"].parse::<f64>().unwrap(), 4.0 * 4096.0);
            assert_eq!(row["aiv_vec_fp16_ratio"], row["aiv_vec_ratio"]);
        }
        let places = table(tables, "PipeUtilization").1;
        let places: BTreeSet<_> =
            places.iter().map(|row| (row["block_id"].clone(), row["sub_block_id"].clone())).collect();
        assert_eq!(places.len(), run.cores.len());
    });
}
