//! `ubtile sim OP`, `ubtile disasm OP` and `ubtile sanitize OP`: an operator's plan as a tile program.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use tempfile::tempdir;
use ubtile_testkit::problems::{
    GridSampler, Im2col, MaxUnpool, ReplicationPad, grid_sampler_inputs, im2col_inputs, max_unpool_inputs,
    replication_pad_inputs,
};
use ubtile_testkit::{Coordinates, Data, Fill, IndexFill, Rng};
use ubtile_tiling::{Dtype, TensorDesc};

use crate::{fails, files, json, ok, refuses};

/// Writes inputs of every operator; its command line, and its results by name.
fn operators(folder: &Path) -> Vec<(String, &'static [&'static str])> {
    let rng = &mut Rng::new(3);
    let grid_sampler = GridSampler { c: 17, ..GridSampler::default() }.problem();
    let inputs = grid_sampler_inputs(&grid_sampler, Fill::Uniform, Coordinates::Random, rng);
    let tensors = [("grad_output", &inputs.grad_output), ("input", &inputs.input), ("grid", &inputs.grid)];
    files::write(&folder.join("grid.npz"), &tensors);
    let unpool = MaxUnpool { dtype: Dtype::F16, out_dtype: Dtype::F16, ..MaxUnpool::default() }.problem();
    let inputs = max_unpool_inputs(&unpool, Fill::Uniform, IndexFill::Permutation, rng);
    files::write(&folder.join("unpool.npz"), &[("grad_output", &inputs.grad_output), ("indices", &inputs.indices)]);
    let pad = ReplicationPad { n: 1, padding: [2, 1, 3, 0], ..ReplicationPad::default() }.problem();
    let four = replication_pad_inputs(&pad, Fill::Uniform, rng);
    // Without a batch dimension, and so the result has none.
    let [_, sizes @ ..] = four.desc().shape.as_slice() else { unreachable!() };
    let mut three = Data::filled(TensorDesc::contiguous(Dtype::F32, sizes).unwrap(), 0);
    three.bytes_mut().copy_from_slice(four.bytes());
    files::write(&folder.join("pad.npz"), &[("grad_output", &three)]);
    let im2col = Im2col { stride: [1, 2], padding: [1, 1], ..Im2col::default() }.problem();
    files::write(&folder.join("im2col.npz"), &[("grad_output", &im2col_inputs(&im2col, Fill::Uniform, rng))]);
    vec![
        ("grid-sampler-2d-backward --in grid.npz --padding-mode border".into(), &["grid_grad", "input_grad"]),
        ("max-unpool2d-backward --in unpool.npz".into(), &["out"]),
        ("replication-pad2d-backward --in pad.npz --padding 2,1,3,0".into(), &["grad_input"]),
        (
            "im2col-backward --in im2col.npz --input-size 5,6 --kernel-size 2,2 --padding 1,1 --stride 1,2".into(),
            &["out"],
        ),
    ]
}

#[test]
fn what_cannot_be_is_said() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    let pad = "replication-pad2d-backward --shape grad_output=1,2,10,10 --padding 1,1,1,1 --scheme native";
    let line = fails(folder, &format!("sim {pad} --out out.npz"), 2);
    assert!(line.contains("--in FILE is needed"), "{line}");
    let flags = |n: u32| format!("sim {pad} --set sync.event_ids={n}");
    let line = "sync.event_ids 3: programs take 4 flags from one pipe to another, 1 more";
    refuses(folder, &flags(3), 3, &format!("replication-pad2d-backward on Ascend910B1: {line}"));
    assert!(json(folder, &flags(4))["cycles"].is_u64());
    // Of a smaller UB a plan uses no more than there is.
    let large = "replication-pad2d-backward --shape grad_output=1,2,98,98 --padding 1,1,1,1 --scheme native --cores 1";
    let cycles = |set: &str| json(folder, &format!("sim {large} {set}"))["cycles"].as_u64();
    assert!(cycles("--set ub.bytes=8192") > cycles("") && cycles("--set ub.bytes=188416") == cycles(""));
    // By its short name it is what a plan calls ub_bytes, of which the framework keeps a part.
    assert!(cycles("--set ub=16384") > cycles("") && cycles("--set ub=196608") == cycles(""));
    assert_eq!(cycles("--set ub=131072"), cycles("--set ub_bytes=131072"));
    // A product that does not take what is set says so in its place.
    let vendor = "replication-pad2d-backward --shape grad_output=1,2,10,10 --padding 1,1,1,1 --set tile_rows=2";
    let text = ok(folder, &format!("sim {vendor} --product all"));
    assert!(text.contains("- atlas-a2: --set tile_rows is of the native scheme"), "{text}");
}

#[test]
fn programs_compute_what_the_kernels_do() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    for (operator, results) in operators(folder) {
        ok(folder, &format!("run {operator} --out expected.npz"));
        let report = json(folder, &format!("sim {operator} --out out.npz --cores 3 --scheme native"));
        assert!(report["cores"].as_u64().is_some_and(|cores| cores <= 3), "{operator}");
        assert_eq!((&report["scheme"], &report["tiling_key"]), (&"native".into(), &().into()), "{operator}");
        // What is printed is the same program.
        let native = format!("{operator} --cores 3 --scheme native");
        fs::write(folder.join("again.tile"), ok(folder, &format!("disasm {native}"))).unwrap();
        let again = json(folder, "disasm --program again.tile");
        assert_eq!((&again["cores"], &again["local_bytes"]), (&report["cores"], &report["local_bytes"]), "{operator}");
        assert_eq!(files::list(&folder.join("out.npz")), results);
        for name in results {
            let [expected, got] = ["expected.npz", "out.npz"].map(|file| files::read(&folder.join(file), name));
            assert_eq!(got.desc(), expected.desc(), "{operator}: {name}");
            assert_eq!(got.bytes(), expected.bytes(), "{operator}: {name}");
        }
    }
}

/// Where rows lie farther apart than a copy of blocks can say, they are copied one by one: loads of whole blocks and of others, stores.
#[test]
fn rows_that_are_far_apart_are_copied_one_by_one() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    let pad = |dtype: Dtype, c: usize, h: usize, w: usize, padding: [i64; 4]| {
        let problem = ReplicationPad { dtype, n: 1, c, h, w, padding, ..ReplicationPad::default() }.problem();
        replication_pad_inputs(&problem, Fill::Uniform, &mut Rng::new(4))
    };
    let cases = [
        (pad(Dtype::F32, 1, 2, 66_001, [1, 1, 0, 0]), "1,1,0,0", "Ascend310P3"),
        (pad(Dtype::F16, 1, 4, 66_001, [1, 1, 1, 1]), "1,1,1,1", "Ascend910A"),
        (pad(Dtype::F32, 1, 3, 600_000, [0, 0, 1, 1]), "0,0,1,1", "Ascend310P3"),
    ];
    for (grad_output, padding, soc) in cases {
        files::write(&folder.join("far.npz"), &[("grad_output", &grad_output)]);
        let operator = format!("replication-pad2d-backward --in far.npz --padding {padding}");
        ok(folder, &format!("run {operator} --out expected.npz"));
        ok(folder, &format!("sim {operator} --out out.npz --soc {soc} --scheme native"));
        let [expected, got] = ["expected.npz", "out.npz"].map(|file| files::read(&folder.join(file), "grad_input"));
        assert!(got.bytes() == expected.bytes(), "{padding} {soc}");
        ok(folder, &format!("sanitize {operator} --soc {soc} --scheme native"));
    }
    let grid = "sim grid-sampler-2d-backward --shape input=1,2,8,300000 --shape grid=1,2,2,2 --soc Ascend910A";
    assert!(json(folder, grid)["cycles"].is_u64());
}

#[test]
fn the_vendor_s_programs_compute_the_same_within_their_rounding() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    let vendor = operators(folder).into_iter().filter_map(|(operator, results)| match operator.split_once(' ')?.0 {
        "grid-sampler-2d-backward" => Some((operator, results, 1)),
        "replication-pad2d-backward" => Some((operator, results, 1000)),
        _ => None,
    });
    for (operator, results, key) in vendor {
        ok(folder, &format!("run {operator} --out expected.npz"));
        let report = json(folder, &format!("sim {operator} --out out.npz --cores 3"));
        assert_eq!((&report["scheme"], &report["tiling_key"]), (&"vendor".into(), &key.into()), "{operator}");
        for name in results {
            let [expected, got] = ["expected.npz", "out.npz"].map(|file| files::read(&folder.join(file), name));
            assert_eq!(got.desc(), expected.desc(), "{operator}: {name}");
            let pairs = got.bytes().chunks_exact(4).zip(expected.bytes().chunks_exact(4));
            for (at, (got, expected)) in pairs.enumerate() {
                let [got, expected] = [got, expected].map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()));
                let allowed = 1e-4 * expected.abs().max(1.0);
                assert!((got - expected).abs() <= allowed, "{operator}: {name}[{at}] is {got}, expected {expected}");
            }
        }
    }
}

#[test]
fn programs_are_without_any_finding() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    let both =
        operators(folder).into_iter().flat_map(|(operator, _)| [format!("{operator} --scheme native"), operator]);
    for operator in both {
        let report = json(folder, &format!("sanitize {operator} --cores 3"));
        assert_eq!(
            (&report["errors"], &report["warnings"], &report["with_data"]),
            (&0.into(), &0.into(), &true.into())
        );
        // The same program from a file, with the same tensors.
        fs::write(folder.join("again.tile"), ok(folder, &format!("disasm {operator} --cores 3"))).unwrap();
        let again = json(folder, "sanitize --program again.tile");
        assert_eq!((&again["cores"], &again["errors"]), (&report["cores"], &0.into()), "{operator}");
    }
    let shapes = "max-unpool2d-backward --shape self=1,3,4,5 --output-size 9,11";
    let report = json(folder, &format!("sanitize {shapes}"));
    assert_eq!((&report["program"], &report["soc"]), (&"max-unpool2d-backward".into(), &"Ascend910B1".into()));
    assert_eq!((&report["errors"], &report["with_data"]), (&0.into(), &false.into()));
    let bad = fails(folder, &format!("sanitize {shapes} --target cortex-m4"), 2);
    assert!(bad.contains("tile programs are for SoCs"), "{bad}");
}

#[test]
fn programs_are_timed_without_data() {
    let folder = tempdir().unwrap();
    let operator = "replication-pad2d-backward --shape grad_output=2,24,30,30 --padding 1,1,1,1";
    let vendor = json(folder.path(), &format!("sim {operator}"));
    assert_eq!((&vendor["scheme"], &vendor["tiling_key"]), (&"vendor".into(), &1000.into()));
    let plan = json(folder.path(), &format!("plan {operator} --soc Ascend910B1"));
    let same = ["scheme", "tiling_key", "workspace_bytes"].map(|name| (&vendor[name], &plan[name]));
    assert!(same.iter().all(|(sim, plan)| sim == plan), "{same:?}");
    assert!(ok(folder.path(), &format!("sim {operator}")).contains("The vendor's tiling"));
    let operator = format!("{operator} --scheme native");
    let report = json(folder.path(), &format!("sim {operator}"));
    assert_eq!((&report["scheme"], &report["route"]), (&"native".into(), &"aicore".into()));
    assert_eq!((&report["tiling_key"], &vendor["route"]), (&().into(), &report["route"]));
    assert_eq!((&report["soc"], &report["vendor_route"]), (&"Ascend910B1".into(), &"aicore".into()));
    assert_eq!(report["gm_write_bytes"].as_u64(), Some(2 * 24 * 28 * 28 * 4));
    assert!(ok(folder.path(), &format!("sim {operator} --cores 2")).contains("not the vendor's kernel"));
}

/// Where starting many cores takes longer than the work, the fastest smaller number of them stands beside what would help: it is what
/// the option gives, half of it and twice as many take longer, and a run that the option is given for has none.
#[test]
fn fewer_cores_are_tried_where_the_start_is_slow() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    let small = "sim max-unpool2d-backward --shape indices=2,3,9,9 --output-size 18,18 --soc Ascend910B1";
    let us = |report: &serde_json::Value| report["task_us"].as_f64().unwrap();
    let on = |cores: u64| json(folder, &format!("{small} --cores {cores}"));
    let all = json(folder, small);
    let fewer = &all["fewer_cores"];
    let cores = fewer["cores"].as_u64().unwrap();
    assert_eq!(us(&on(cores)), us(fewer));
    assert!(us(fewer) < us(&all) && us(fewer) <= us(&on(2 * cores)), "{fewer}");
    assert!(cores == 1 || us(fewer) <= us(&on(cores / 2)), "{fewer}");
    let saves = fewer["saves"].as_f64().unwrap();
    assert!((saves - (1.0 - us(fewer) / us(&all))).abs() < 1e-12, "{fewer}");
    assert!(ok(folder, small).contains(&format!("| --cores {cores} ")));
    ok(folder, &format!("{small} --output before"));
    let page = fs::read_to_string(folder.join("before/report.html")).unwrap();
    assert_eq!(page.matches("<code>--cores <").count(), 2, "the verdict, and what would help");
    assert!(on(48)["fewer_cores"].is_null());
    // All cores are worth their start.
    let large = "sim replication-pad2d-backward --shape self=8,64,112,112 --padding 1,1,1,1 --scheme native";
    assert!(json(folder, large)["fewer_cores"].is_null());
}

#[test]
fn what_has_no_program_says_why() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    operators(folder);
    let pad = "replication-pad2d-backward --shape grad_output=1,1,4,4 --padding 1,1,1,1";
    let aicpu = "the cores of Ascend910B1 do not compute these dtypes: there is no program to model";
    let im2col = "im2col-backward --shape grad_output=1,4,4 --input-size 3,3 --kernel-size 2,2 --scheme vendor";
    let no_tiling = "the vendor has published no tiling of Im2colBackward for DAV_2201";
    let bicubic = "grid-sampler-2d-backward --shape input=1,1,4,4 --shape grid=1,3,3,2 --interpolation bicubic";
    let no_program = "grid-sampler-2d-backward on Ascend910B1: no tile program for the vendor's bicubic interpolation";
    for command in ["disasm", "sanitize"] {
        refuses(folder, &format!("{command} {pad} --dtype f64"), 3, aicpu);
        let all = "--product all: a program is lowered for one machine";
        refuses(folder, &format!("{command} {pad} --product all"), 2, all);
    }
    for command in ["sim", "disasm", "sanitize"] {
        refuses(folder, &format!("{command} {im2col}"), 3, no_tiling);
        refuses(folder, &format!("{command} {bicubic} --scheme vendor"), 3, no_program);
        let error = fails(folder, &format!("{command} {pad} --dtype c64 --scheme vendor"), 3);
        assert_eq!(error, fails(folder, &format!("plan {pad} --dtype c64 --scheme vendor --soc Ascend910B1"), 3));
        let rows = "--set tile_rows is of the native scheme: add --scheme native, or set ub_bytes";
        refuses(folder, &format!("{command} {pad} --set tile_rows=1"), 2, rows);
    }
    assert_eq!(json(folder, &format!("sim {bicubic}"))["scheme"], "native");
    refuses(folder, &format!("sim {pad} --target cortex-m4"), 2, "tile programs are for SoCs: leave --target out");
    let bf16 =
        "im2col-backward --shape grad_output=1,4,4 --dtype bf16 --input-size 3,3 --kernel-size 2,2 --unsupported";
    let error = fails(folder, &format!("disasm {bf16} --soc Ascend910A"), 3);
    assert!(error.contains("the cores of Ascend910A do not compute these dtypes"), "{error}");

    let problem = MaxUnpool::default().problem();
    let inputs = max_unpool_inputs(&problem, Fill::Uniform, IndexFill::OutOfRange, &mut Rng::new(1));
    files::write(&folder.join("bad.npz"), &[("grad_output", &inputs.grad_output), ("indices", &inputs.indices)]);
    let rest = "max-unpool2d-backward --in bad.npz --out bad_out.npz";
    assert_eq!(fails(folder, &format!("sim {rest}"), 3), fails(folder, &format!("run {rest}"), 3));
    assert!(!folder.join("bad_out.npz").exists());
    assert_eq!(
        fails(folder, "sanitize max-unpool2d-backward --in bad.npz", 3),
        fails(folder, &format!("run {rest}"), 3)
    );
}

#[test]
fn what_the_device_s_cpu_computes_has_no_time() {
    let folder = tempdir().unwrap();
    for dtype in ["f64", "c64", "c128"] {
        let pad = format!("replication-pad2d-backward --shape grad_output=1,1,4,4 --padding 1,1,1,1 --dtype {dtype}");
        let report = json(folder.path(), &format!("sim {pad}"));
        let (aicpu, route) = ("aicpu", "aicpu, not modelled");
        assert_eq!((&report["route"], &report["vendor_route"]), (&route.into(), &aicpu.into()), "{dtype}");
        assert!(
            report["supported"] == true && report["scheme"].is_null() && report.get("task_us").is_none(),
            "{dtype}"
        );
        assert!(report["reason"].as_str().is_some_and(|why| why.contains("do not compute these dtypes")), "{dtype}");
        assert!(ok(folder.path(), &format!("sim {pad}")).contains("no time, route aicpu, not modelled"), "{dtype}");
    }
    let bf16 =
        "im2col-backward --shape grad_output=1,4,4 --dtype bf16 --input-size 3,3 --kernel-size 2,2 --unsupported";
    let report = json(folder.path(), &format!("sim {bf16} --soc Ascend310P3"));
    assert_eq!((&report["supported"], &report["route"]), (&false.into(), &"aicpu, not modelled".into()));
    // What the vendor's library leaves to that CPU although the cores could: simulated.
    let grid = "grid-sampler-2d-backward --shape grad_output=1,2,3,3 --shape input=1,2,4,4 --shape grid=1,3,3,2";
    let report = json(folder.path(), &format!("sim {grid} --soc Ascend910A"));
    assert_eq!((&report["route"], &report["vendor_route"]), (&"aicore".into(), &"aicpu".into()));
    assert!(report["task_us"].as_f64().is_some_and(|us| us > 1.0));
}

/// Several results in one array.
fn several(folder: &Path, args: &str) -> Vec<serde_json::Value> {
    serde_json::from_str(&ok(folder, &format!("{args} --format json"))).expect("an array")
}

#[test]
fn all_products_side_by_side() {
    let folder = tempdir().unwrap();
    let of = "max-unpool2d-backward --shape grad_output=2,3,8,8 --shape indices=2,3,4,4 --dtype indices=i32";
    let all = several(folder.path(), &format!("sim {of} --product all"));
    let products: Vec<_> = all.iter().map(|run| run["product"].as_str().unwrap()).collect();
    assert_eq!(products.len(), 8);
    for run in &all {
        let (product, supported) = (&run["product"], run["supported"] == true);
        assert_eq!(supported, !run["vendor_route"].is_null(), "{product}");
        assert_eq!(supported, run["task_us"].is_f64() && run["reason"].is_null(), "{product}");
        assert_eq!(run["model_hash"].as_str().unwrap().len(), 16, "{product}");
    }
    let taken = |run: &&serde_json::Value| run["supported"] == true;
    assert!((1..8).contains(&all.iter().filter(taken).count()));
    // All of them, if somebody wants that, and each as by itself.
    for run in several(folder.path(), &format!("sim {of} --product all --unsupported")) {
        let product = run["product"].as_str().unwrap();
        let alone = json(folder.path(), &format!("sim {of} --product {product} --unsupported"));
        assert!(run["task_us"].is_f64() && run["task_us"] == alone["task_us"], "{product}");
        assert_eq!(run["evidence"], alone["evidence"], "{product}");
    }
    let text = ok(folder.path(), &format!("sim {of} --product all"));
    assert!(text.contains("- atlas-inference: "), "{text}");
    let error = fails(folder.path(), &format!("sim {of} --product all --set tile_elements=0"), 3);
    assert!(error.contains("tile_elements"), "{error}");
    // Files that cannot be are no matter of one product.
    let error = fails(folder.path(), &format!("sim {of} --product all --trace-cores 40 --output all"), 2);
    assert!(error.contains("--trace-cores 40"), "{error}");
    assert!(!folder.path().join("all").exists());
}

/// A scheme that a line does not have, and workspace that it may not take, are said in its place.
#[test]
fn lines_that_refuse_what_is_asked_for_do_not_stop_the_others() {
    let folder = tempdir().unwrap();
    let pad = "replication-pad2d-backward --shape grad_output=2,4,12,12 --padding 1,1,1,1 --product all";
    let unpublished = "the vendor has published no tiling";
    for (asked, refused, why) in [
        ("--scheme vendor", &["atlas-inference", "atlas-training", "ascend-950"][..], unpublished),
        (
            "--workspace-limit 0",
            &["atlas-a2", "atlas-800i-a2", "a200i-a2-box", "atlas-a3"],
            "workspace-limit 0: the vendor's kernel takes 16809984 bytes, 16809984 more",
        ),
    ] {
        let all = several(folder.path(), &format!("sim {pad} {asked}"));
        let taken: Vec<_> = all.iter().filter(|run| run["supported"] == true).collect();
        assert_eq!((all.len(), taken.len()), (8, 7), "{asked}");
        for run in taken {
            let is_refused = refused.contains(&run["product"].as_str().unwrap());
            assert_eq!((run["scheme"].is_null(), run["task_us"].is_f64()), (is_refused, !is_refused), "{run}");
            assert!(run["reason"].as_str().map_or(!is_refused, |reason| reason.starts_with(why)), "{run}");
        }
    }
    let unpool = "max-unpool2d-backward --shape self=1,3,4,5 --output-size 9,11 --product all --scheme vendor";
    assert!(fails(folder.path(), &format!("sim {unpool}"), 3).contains(unpublished));
}

/// The low halves of 64-bit indices are gathered where there is a gather, and read one by one only where there is none.
#[test]
fn every_second_word_is_gathered() {
    let unpool = "max-unpool2d-backward --shape self=1,2,10,10 --output-size 20,20 --scheme native --unsupported";
    for (soc, gathers) in [("Ascend310P3", true), ("Ascend910A", false)] {
        let text = ok(tempdir().unwrap().path(), &format!("disasm {unpool} --soc {soc}"));
        assert_eq!(text.contains("gather.u32 positions["), gathers, "{soc}");
        assert_eq!(text.contains("read.i64 index["), !gathers, "{soc}");
    }
}

/// A series of more than a second says how long it will take while it has still most of its runs to go; a run alone says nothing.
#[test]
fn a_series_says_how_long_it_takes() {
    let folder = tempdir().unwrap();
    let pad = "sim replication-pad2d-backward --shape grad_output=2,24,30,30 --padding 1,1,1,1 --scheme native";
    let stderr = |args: &str| String::from_utf8(crate::output(folder.path(), args).stderr).unwrap();
    let told = |args: &str| stderr(args).lines().filter(|line| line.ends_with(" in all")).count();
    assert_eq!([format!("{pad} --vary cores=2..2"), pad.into()].map(|a| told(&a)), [0, 0]);

    // Ten thousand runs would take minutes: it comes behind the first one, and before any result.
    let mut series = crate::ubtile(folder.path(), &format!("{pad} --format json --vary clock=1000..10999:1"));
    let mut series = series.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(series.stderr.take().unwrap()).lines().map(Result::unwrap);
    let line = lines.find(|line| line.ends_with(" in all"));
    series.kill().unwrap();
    assert!(line.as_ref().is_some_and(|line| line.starts_with("ubtile: 10000 runs, about ")), "{line:?}");
    assert!(series.wait_with_output().unwrap().stdout.is_empty());
}

#[test]
fn numbers_of_plan_and_product_vary() {
    let folder = tempdir().unwrap();
    let pad = "replication-pad2d-backward --shape grad_output=2,24,30,30 --padding 1,1,1,1 --scheme native";
    let points = several(folder.path(), &format!("sim {pad} --cores 1 --vary tile_rows=48..288:48"));
    let values: Vec<_> = points.iter().map(|point| point["vary"][1].as_u64().unwrap()).collect();
    assert_eq!(values, [48, 96, 144, 192, 240, 288]);
    let us: Vec<_> = points.iter().filter_map(|point| point["task_us"].as_f64()).collect();
    assert!(us.len() == 5 && us[0] > us[4], "larger pieces take fewer copies, and 288 rows do not fit: {us:?}");
    assert!(points[5]["reason"].as_str().is_some_and(|why| why.contains("256 fits")));
    // A clock twice as fast, and half the cores.
    let of = |rest: &str| json(folder.path(), &format!("sim {pad} {rest}"));
    let (base, fast) = (of("--cores 1"), of("--cores 1 --set clock=3700"));
    assert!(fast["task_us"].as_f64() < base["task_us"].as_f64());
    assert_ne!(fast["model_hash"], base["model_hash"]);
    let cold = of("--set start=cold");
    assert_eq!((&cold["l2_start"], base["l2_hit_ratio"].as_f64()), (&"cold".into(), Some(1.0)));
    assert!(cold["l2_hit_ratio"].as_f64().is_some_and(|hits| hits < 0.9), "{cold}");
    // Values that are possible are timed where the usual one is not.
    let grid = "grid-sampler-2d-backward --shape input=2,3,16,16 --shape grid=2,8,8,2 --set ubFactorElement=1024";
    let wide = several(folder.path(), &format!("sim {grid} --vary ub=196608..262144:65536"));
    assert!(wide[0]["reason"].as_str().is_some_and(|why| why.contains("832 fits")), "{}", wide[0]);
    assert_eq!(wide[1]["task_us"], json(folder.path(), &format!("sim {grid} --set ub=262144"))["task_us"]);
    let cores = several(folder.path(), &format!("sim {pad} --vary cores=1..3"));
    assert_eq!(cores.iter().map(|point| point["cores_used"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(cores[0]["task_us"], base["task_us"]);
    for (rest, code, part) in [
        ("sim --vary speed=1..2", 2, "speed cannot be set"),
        ("sim --vary tile_rows=100..110", 3, "64 fits"),
        ("sim --vary cores=1..2 --product all", 2, "--vary: on one machine at a time"),
        ("sim --vary cores=1..2 --cores 1", 2, "--vary cores: it has a value, by --cores"),
        ("sim --vary ub=8192..9216:1024 --set ub.bytes=8192", 2, "it has a value, by --set ub.bytes=8192"),
        ("sim --vary ub=8192..9216:1024 --set ub_bytes=8192", 2, "it has a value, by --set ub_bytes=8192"),
        ("sim --vary ub_bytes=8192..9216:1024 --set ub=8192", 2, "it has a value, by --set ub=8192"),
        ("plan --soc Ascend910B1 --set clock=1", 2, "clock cannot be set"),
        ("plan --soc Ascend910B1 --set local_bytes=many", 2, "--set local_bytes=many: "),
    ] {
        let (command, rest) = rest.split_once(' ').unwrap();
        let error = fails(folder.path(), &format!("{command} {pad} {rest}"), code);
        assert!(error.contains(part), "{error}");
    }
}
