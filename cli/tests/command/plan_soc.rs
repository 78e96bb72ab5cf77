//! `ubtile plan` for Ascends: the support matrix row by row, the vendor's tilings, overrides, charts and comparisons.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::tempdir;
use ubtile_tiling::{Dtype, Operator, Product, Route, support_table};

use crate::{fails, json, ok, refuses};

pub(crate) fn plan(args: &str) -> Value {
    json(Path::new("."), &format!("plan {args}"))
}

/// A small problem of the operator, within every limit.
const fn problem(operator: Operator) -> &'static str {
    match operator {
        Operator::GridSampler2dBackward => "grid-sampler-2d-backward --shape input=2,3,16,16 --shape grid=2,8,8,2",
        Operator::MaxUnpool2dBackward => "max-unpool2d-backward --shape self=2,3,16,16 --output-size 32,32",
        Operator::ReplicationPad2dBackward => {
            "replication-pad2d-backward --shape grad_output=2,3,18,19 --padding 1,1,2,2"
        }
        Operator::Im2colBackward => {
            "im2col-backward --shape grad_output=2,27,256 --input-size 16,16 --kernel-size 3,3 --padding 1,1"
        }
    }
}

pub(crate) const GRID_SAMPLER: &str = problem(Operator::GridSampler2dBackward);

#[test]
fn every_cell_of_the_support_matrix() {
    for row in support_table() {
        for product in Product::ALL {
            let (cell, args) = (row.on(product), problem(row.operator));
            let args = format!("{args} --dtype {} --product {product}", row.dtype);
            let Some(route) = cell.route else {
                let line = fails(Path::new("."), &format!("plan {args}"), 3);
                assert!(line.contains("161002"), "{args}: {line}");
                let anyway = plan(&format!("{args} --unsupported"));
                assert_eq!((&anyway["supported"], &anyway["aclnn"]), (&json!(false), &Value::Null), "{args}");
                continue;
            };
            let plan = plan(&args);
            let on_ai_core = route == Route::AiCore;
            assert_eq!((&plan["supported"], &plan["vendor_route"]), (&json!(true), &json!(route.name())), "{args}");
            assert!(plan["aclnn_workspace_bytes"].as_u64().unwrap() > 0, "{args}");
            let generation = match product {
                Product::Ascend950 => 950,
                Product::AtlasInference | Product::AtlasTraining => 1,
                _ => 2,
            };
            let published = match (row.operator, generation) {
                (_, 1) | (Operator::ReplicationPad2dBackward, 950) => false,
                (Operator::GridSampler2dBackward | Operator::ReplicationPad2dBackward, 2) | (_, 950) => on_ai_core,
                _ => false,
            };
            // What no unit of an AI Core computes.
            let aicpu = matches!(row.dtype, Dtype::F64 | Dtype::C64 | Dtype::C128)
                || row.dtype == Dtype::Bf16 && generation == 1;
            let scheme = if published {
                json!("vendor")
            } else if aicpu {
                Value::Null
            } else {
                json!("native")
            };
            assert_eq!(plan["scheme"], scheme, "{args}");
            let route = if aicpu { "aicpu, not modelled" } else { "aicore" };
            assert_eq!(plan["route"], route, "{args}");
            assert_eq!(plan["tiling_data"].is_object(), published, "{args}");
            assert_eq!(plan["block_dim"].is_u64(), !aicpu, "{args}");
            if published {
                assert_eq!(plan["workspace_bytes"], plan["kernel_workspace_bytes"], "{args}");
            }
            let explicit = format!("plan {args} --scheme vendor");
            if published {
                assert_eq!(json(Path::new("."), &explicit)["tiling_key"], plan["tiling_key"], "{args}");
            } else {
                assert!(!fails(Path::new("."), &explicit, 3).is_empty());
            }
            if !aicpu {
                let native = json(Path::new("."), &format!("plan {args} --scheme native"));
                assert_eq!((&native["scheme"], &native["tiling_key"]), (&json!("native"), &Value::Null), "{args}");
                let local = native["target"]["local_bytes"].as_u64().unwrap();
                assert_eq!(
                    (&native["workspace_bytes"], &native["phases"][0]["tiles"]),
                    (&json!(0), &Value::Null),
                    "{args}"
                );
                let held =
                    native["choices"].as_array().unwrap().iter().filter(|choice| choice["bound"] == "local_bytes");
                assert!(held.map(|choice| choice["used"].as_u64().unwrap()).all(|used| used <= local), "{args}");
                assert_eq!(local, if generation == 2 { 184 << 10 } else { 248 << 10 }, "{args}");
            }
        }
    }
}

#[test]
fn the_published_rows() {
    let plan = plan(&format!("{GRID_SAMPLER} --soc Ascend910B1"));
    assert_eq!((&plan["tiling_key"], &plan["block_dim"]), (&json!(1), &json!(48)));
    assert_eq!((&plan["workspace_bytes"], &plan["kernel_workspace_bytes"]), (&json!(16_777_216), &json!(16_777_216)));
    let data = &plan["tiling_data"];
    let fields =
        [("pNumPerCore", 2), ("tailPNum", 32), ("ubFactorElement", 832), ("group", 1), ("castElement", 28_864)];
    for (name, value) in fields {
        assert_eq!(data[name], value, "{name}");
    }

    // The other row is of a machine that is none of the products: a file describes it.
    let folder = tempdir().unwrap();
    let machine = "inherits = \"Ascend910B1\"\n[cores]\nvector = 64\n[ub]\nbytes = \"256 KiB\"\n";
    fs::write(folder.path().join("wide.toml"), machine).unwrap();
    let args =
        "plan replication-pad2d-backward --shape grad_output=1,1,64,64 --padding 1,1,0,0 --dtype f16 --soc wide.toml";
    let plan = json(folder.path(), args);
    assert_eq!((&plan["soc"], &plan["tiling_key"], &plan["block_dim"]), (&json!("wide"), &json!(2101), &json!(64)));
    let data = &plan["tiling_data"];
    for (name, value) in [("ubFactorElement", 18_944), ("wCalCount", 32), ("workspacePerCore", 128)] {
        assert_eq!(data[name], value, "{name}");
    }
    assert_eq!(plan["kernel_workspace_bytes"], 16_785_408);
}

#[test]
fn product_files_that_are_wrong_name_file_and_key() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("bad.toml"), "inherits = \"Ascend910B1\"\n[ub]\nbytes = -1\n").unwrap();
    let line = fails(folder.path(), &format!("plan {GRID_SAMPLER} --soc bad.toml"), 3);
    assert!(line.contains("bad.toml:3") && line.contains("ub.bytes"), "{line}");
    fs::write(folder.path().join("less.toml"), "[cores]\nai = 3\n").unwrap();
    let line = fails(folder.path(), &format!("plan {GRID_SAMPLER} --soc less.toml"), 3);
    assert!(line.contains("less: version.products is unknown"), "{line}");
}

#[test]
fn overrides_that_are_illegal_say_what_would_fit() {
    let says = |more: &str, line: &str| refuses(Path::new("."), &format!("plan {GRID_SAMPLER} {more}"), 3, line);
    says("--soc Ascend910B1 --cores 50", "cores 50 is 2 more than the 48 vector cores of Ascend910B1; 48 fits");
    says(
        "--soc Ascend910B1 --set ubFactorElement=896",
        "ubFactorElement 896 takes 207776 bytes of local memory, 11168 more than the 196608 there are; 832 fits",
    );
    says("--soc Ascend910B1 --set ubFactorElement=65", "ubFactorElement 65 is no multiple of 64; 64 fits");
    says(
        "--soc Ascend910B1 --scheme native --set local_bytes=188417",
        "local_bytes 188417 is 1 more than the 188416 that Ascend910B1 leaves a kernel; 188416 fits",
    );
    says("--set tile_points=65", "tile_points 65 is 1 more than the 64 there are; 64 fits");
    let line =
        "workspace-limit 0: the vendor's kernel takes 16777216 bytes, 16777216 more; --scheme native fits any limit";
    says("--soc Ascend910B1 --workspace-limit 0", line);
    let line = fails(Path::new("."), &format!("plan {GRID_SAMPLER} --soc Ascend910B1 --set ub_bytes=18079"), 3);
    assert!(line.contains("18080 bytes: 1 more"), "{line}");
    assert_eq!(
        plan(&format!("{GRID_SAMPLER} --soc Ascend910B1 --set ub_bytes=18080"))["tiling_data"]["ubFactorElement"],
        64
    );

    // Of a size that tiles do not have, its name is said.
    let named = |more: &str, part: &str| {
        let line = fails(Path::new("."), &format!("plan {more} --set ubFactorElement=8"), 3);
        assert!(line.starts_with(&format!("error: ubFactorElement: {part}")), "{line}");
    };
    named(GRID_SAMPLER, "of tiles of grid-sampler-2d-backward these sizes can be set: tile_points");
    named(&format!("{GRID_SAMPLER} --soc Ascend910B1 --scheme native"), "the program's pieces have tile_points, ");
    let unpool = "max-unpool2d-backward --shape self=1,2,4,4 --output-size 8,8 --soc Ascend910_95";
    named(unpool, "of tiles of max-unpool2d-backward no size can be set");

    // What the refusals offer is taken.
    let set = plan(&format!("{GRID_SAMPLER} --soc Ascend910B1 --cores 7 --set ubFactorElement=64"));
    assert_eq!((&set["block_dim"], &set["tiling_data"]["ubFactorElement"]), (&json!(7), &json!(64)));
    assert_eq!(set["choices"][1]["bound"], "set");
    let set = plan(&format!("{GRID_SAMPLER} --set tile_points=10 --cores 1"));
    assert_eq!(set["phases"][0]["tiles"], 2 * 7, "64 points of each image");
    let fixed = plan(&format!("{GRID_SAMPLER} --soc Ascend910B1 --set deterministic=1"));
    assert_eq!((&fixed["block_dim"], &fixed["tiling_data"]["isDeterministic"]), (&json!(2), &json!(1)));

    // The vendor's mode is nothing to a native tiling, unless it is to the call beside it.
    let line =
        "deterministic is a mode of the vendor's tilings: this native one and aclnn's workspace do not depend on it";
    for value in [0, 1] {
        says(&format!("--soc Ascend910B1 --scheme native --set deterministic={value}"), line);
    }
    let pad = problem(Operator::ReplicationPad2dBackward);
    let native = format!("{pad} --soc Ascend910B1 --scheme native --set deterministic=1");
    refuses(Path::new("."), &format!("plan {native}"), 3, line);
    for command in ["sim", "disasm", "sanitize"] {
        refuses(Path::new("."), &format!("{command} {native}"), 3, line);
    }
    assert_eq!(plan(&format!("{pad} --soc Ascend910B1 --set deterministic=1"))["scheme"], "vendor");
    let [on, off] =
        [1, 0].map(|on| plan(&format!("{GRID_SAMPLER} --soc Ascend910_95 --scheme native --set deterministic={on}")));
    assert_eq!((&on["scheme"], &on["choices"]), (&json!("native"), &off["choices"]));
    assert!(on["aclnn_workspace_bytes"].as_u64() > off["aclnn_workspace_bytes"].as_u64(), "{on}");

    let usage = |more: &str| fails(Path::new("."), &format!("plan {GRID_SAMPLER} {more}"), 2);
    assert!(usage("--set ub_bytes=1").contains("only a SoC has it"));
    assert!(usage("--soc Ascend910B1 --set tile_points=1").contains("add --scheme native"));
    assert!(usage("--soc Ascend910B1 --target host").contains("cannot be used with"));
    assert!(usage("--soc Ascend910B1 --product atlas-a3").contains("Ascend910B1 is a SoC of atlas-a2"));
    for unknown in ["speed=1", "speed=fast", "start=cold"] {
        let line = usage(&format!("--soc Ascend910B1 --set {unknown}"));
        assert!(line.contains("local_bytes, ub_bytes"), "{line}");
    }

    // A unified buffer that is set is not all a tile's.
    let fold = "im2col-backward --shape grad_output=1,4,9 --input-size 4,4 --kernel-size 2,2 --soc Ascend910B1";
    let line = fails(Path::new("."), &format!("plan {fold} --set ub_bytes=1000"), 3);
    assert!(line.contains("takes 64 bytes: 64 more; of ub_bytes the framework keeps 8192: 8256 fits"), "{line}");
    assert_eq!(plan(&format!("{fold} --set ub_bytes=8256"))["target"]["local_bytes"], 64);
    fails(Path::new("."), &format!("plan {fold} --set ub_bytes=8255"), 3);
    // Nor a program's.
    let line = fails(Path::new("."), &format!("sim {fold} --set ub_bytes=8256"), 3);
    let line = line.trim_end().strip_suffix(" fits").unwrap();
    let (_, fits) = line.rsplit_once(" more; of ub_bytes the framework keeps 8192: ").unwrap();
    ok(Path::new("."), &format!("sim {fold} --set ub_bytes={fits}"));
}

/// Where the vendor's numbers do not hold a problem there is none of its tilings: another takes its place and says why.
#[test]
fn tilings_end_where_their_numbers_do() {
    let fold = |channels: usize, more: &str| {
        let shape = format!("--shape grad_output=1,{channels},4194304 --input-size 2048,2048 --kernel-size 1,1");
        format!("im2col-backward {shape} --soc Ascend910_95 {more}")
    };
    let last = plan(&fold(511, ""));
    let decision = last["decisions"].as_array().unwrap().iter().find(|of| of["name"] == "tiling_key").unwrap();
    let measure = json!({"name": "N x C x H x W", "used": 511 << 22, "limit": i32::MAX, "slack": (1 << 22) - 1});
    assert_eq!((&last["scheme"], &decision["measures"]), (&json!("vendor"), &json!([measure])));

    let line = "total 2147483648 is 1 more than the 2147483647 that the vendor's tiling counts to";
    let beyond = plan(&fold(512, ""));
    assert_eq!((&beyond["scheme"], &beyond["tiling_data"]), (&json!("native"), &Value::Null));
    assert_eq!((&beyond["decisions"][0]["name"], &beyond["decisions"][0]["why"]), (&json!("scheme"), &json!(line)));
    assert!(beyond["decisions"][1]["why"].as_str().unwrap().ends_with(&format!("its tiling fails: {line}")));
    assert!(last["decisions"][1]["why"].as_str().unwrap().ends_with("every problem in f32"));
    refuses(Path::new("."), &format!("plan {}", fold(512, "--scheme vendor")), 3, line);

    let many =
        "grid-sampler-2d-backward --shape input=4294967296,1,1,1 --shape grid=4294967296,1,1,2 --soc Ascend910B1";
    let line = "batch 4294967296 is 1 more than the 4294967295 that the vendor's tiling counts to";
    let native = plan(many);
    assert_eq!((&native["scheme"], &native["decisions"][0]["why"]), (&json!("native"), &json!(line)));
    refuses(Path::new("."), &format!("plan {many} --scheme vendor"), 3, line);
}

/// What a plan says of other numbers of cores, a plan for that many has.
#[test]
fn other_numbers_of_cores_are_those_of_their_plans() {
    let fold = "im2col-backward --shape grad_output=34,15 --input-size 9,2 --kernel-size 1,2 --dilation 3,1 --padding 0,2 \
                --stride 3,1 --soc Ascend910_95";
    let images =
        "grid-sampler-2d-backward --shape input=8,3,7,31 --shape grid=8,15,8,2 --scheme native --soc Ascend910_95";
    let unpool = "max-unpool2d-backward --shape self=1,32,16,2 --output-size 64,8 --dtype f16 --soc Ascend910_95";
    // What is said of so many cores: the value, the nearest smaller and larger, and the cores that the larger takes.
    for (args, cores, said) in [(fold, 64, [62, 51, 77, 77]), (images, 20, [16, 8, 24, 24])] {
        let choice = plan(&format!("{args} --cores {cores}"))["choices"][0].clone();
        let larger = &choice["larger"];
        assert_eq!(json!([choice["value"], choice["alternative"], larger["value"], larger["needs"]]), json!(said));
        assert_eq!((&choice["bound"], &choice["limit"]), (&json!("cores"), &json!(cores)), "{choice}");
        assert_eq!((&choice["slack"], &larger["over"]), (&json!(cores - said[0]), &json!(said[3] - cores)), "{choice}");
    }
    // None lies between a number and the smaller one that it names.
    for (args, cores) in [(fold, 61), (images, 23), (unpool, 63), (unpool, 64)] {
        let plan = |cores: u64| plan(&format!("{args} --cores {cores}"));
        let more = plan(cores);
        let (most, less) = (more["block_dim"].as_u64().unwrap(), more["choices"][0]["alternative"].as_u64().unwrap());
        for cores in less..=cores {
            let taken = plan(cores)["block_dim"].as_u64().unwrap();
            assert!(taken == less || taken == most, "{args}: {taken} of {cores}");
        }
    }
}

/// Tiles beyond counting are not counted, and take no time.
#[test]
fn too_many_tiles_are_not_counted() {
    for side in [1_000_000u64, 2_000_000_000] {
        let args = format!("replication-pad2d-backward --padding 1,1,1,1 --shape grad_output=1,1,{side},1000000");
        assert_eq!(
            plan(&args)["phases"],
            json!([{"name": "compute", "shares": plan(&args)["block_dim"], "tiles": null,
            "most_tiles_in_a_share": null, "largest_tile_bytes": null}])
        );
    }
}

#[test]
fn products_are_compared() {
    let plans = ok(Path::new("."), &format!("plan {GRID_SAMPLER} --product all --format json"));
    let plans: Value = serde_json::from_str(&plans).unwrap();
    let plans = plans.as_array().unwrap();
    let products: Vec<_> = plans.iter().map(|plan| plan["product"].as_str().unwrap()).collect();
    assert_eq!(products, Product::ALL.map(Product::name));
    for plan in plans {
        assert_eq!(plan["schema"], "ubtile.plan.v1");
        let refused = ["atlas-inference", "atlas-200i-a2"].contains(&plan["product"].as_str().unwrap());
        assert_eq!(plan["supported"], !refused);
        assert_eq!((plan["scheme"].is_null(), plan["reason"].is_string()), (refused, refused), "{plan}");
    }
    let table = ok(Path::new("."), &format!("plan {GRID_SAMPLER} --product all"));
    for product in products {
        assert!(table.contains(&format!("| {product} ")), "{table}");
    }
    // What no product could take is an error as ever.
    let wrong = "plan grid-sampler-2d-backward --shape input=2,3,16,16 --shape grid=3,8,8,2 --product all";
    assert!(fails(Path::new("."), wrong, 3).contains("161002"));
}

#[test]
fn a_product_that_refuses_an_override_does_not_stop_the_others() {
    let plans = ok(Path::new("."), &format!("plan {GRID_SAMPLER} --product all --cores 48 --format json"));
    let plans: Value = serde_json::from_str(&plans).unwrap();
    assert_eq!(plans.as_array().unwrap().len(), Product::ALL.len());
    for plan in plans.as_array().unwrap().iter().filter(|plan| plan["supported"] == true) {
        let reason = plan["reason"].as_str().unwrap_or_default();
        match plan["target"]["cores"].as_u64().unwrap() {
            cores if cores < 48 => assert!(reason.contains(&format!("the {cores} vector cores")), "{plan}"),
            _ => assert_eq!((reason, &plan["scheme"]), ("", &json!("vendor"))),
        }
        assert_eq!(plan["scheme"].is_null(), !reason.is_empty(), "{plan}");
    }
    let points = ok(Path::new("."), &format!("plan {GRID_SAMPLER} --product all --set tile_points=16"));
    assert!(points.contains("- atlas-a2: --set tile_points is of the native scheme"), "{points}");
    assert!(points.contains("| tile_points 16, tile_input_points 32, tile_input_channels 3,"), "{points}");
    let line = fails(Path::new("."), &format!("plan {GRID_SAMPLER} --product all --cores 1000"), 3);
    assert!(line.contains("cores 1000 is 968 more than the 32 vector cores of Ascend910A"), "{line}");
    let line = fails(Path::new("."), &format!("plan {GRID_SAMPLER} --product all --set speed=1"), 2);
    assert!(line.contains("speed cannot be set"), "{line}");
}

#[test]
fn choices_have_the_next_value_on_both_sides() {
    for args in Operator::ALL.map(problem) {
        for more in ["--scheme native --soc Ascend910B1", "--target cortex-m4", "--scheme native --soc Ascend910A"] {
            let plan = plan(&format!("{args} {more}"));
            for choice in plan["choices"].as_array().unwrap() {
                let (value, larger) = (choice["value"].as_u64().unwrap(), &choice["larger"]);
                let name = choice["name"].as_str().unwrap();
                assert!(choice["alternative"].as_u64().is_none_or(|less| less < value), "{choice}");
                assert!(larger["value"].as_u64().unwrap() > value, "{choice}");
                // What is said to break a bound does, and what is said to be legal is taken.
                if !["block_dim", "tile_channels", "tile_taps", "tile_input_channels"].contains(&name) {
                    let set = format!("plan {args} {more} --set {name}={}", larger["value"]);
                    let over = larger["over"].as_u64().unwrap();
                    if over == 0 {
                        assert_eq!(json(Path::new("."), &set)["supported"], true);
                    } else if larger["bound"] == "work" {
                        assert!(fails(Path::new("."), &set, 3).contains(&format!("{over} more than")), "{choice}");
                    }
                    if let Some(less) = choice["alternative"].as_u64() {
                        json(Path::new("."), &format!("plan {args} {more} --set {name}={less}"));
                    }
                }
            }
        }
    }
}

#[test]
fn the_model_has_a_hash() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("same.toml"), "inherits = \"Ascend910B1\"\n").unwrap();
    fs::write(folder.path().join("other.toml"), "inherits = \"Ascend910B1\"\n[ub]\nbytes = \"191 KiB\"\n").unwrap();
    let hash = |soc: &str| json(folder.path(), &format!("plan {GRID_SAMPLER} --soc {soc}"))["model_hash"].clone();
    let own = hash("Ascend910B1");
    assert_eq!(own.as_str().unwrap().len(), 16);
    assert_eq!(own, hash("same.toml"));
    assert_ne!(own, hash("other.toml"));
    assert_eq!(plan(GRID_SAMPLER)["model_hash"], Value::Null);
}

#[test]
fn products_that_lack_something_are_planned_without_it() {
    let unpool = problem(Operator::MaxUnpool2dBackward);
    let gather = |product: &str| {
        let plan = plan(&format!("{unpool} --product {product} --scheme native"));
        let means = plan["means"].as_array().unwrap().clone();
        let how =
            |name: &str| means.iter().find(|mean| mean["name"] == name).unwrap()["how"].as_str().unwrap().to_owned();
        (how("copies"), how("gather"))
    };
    let (copies, gathers) = gather("atlas-training");
    assert!(copies.starts_with("whole blocks of 32 bytes") && gathers.starts_with("by the scalar unit"), "{gathers}");
    let (copies, gathers) = gather("atlas-a2");
    assert_eq!((copies.as_str(), gathers.as_str()), ("from and to any byte", "by the gather instruction"));
    // Eight cells of F32 are a block, and rows of five cells begin inside of one.
    let pad = "replication-pad2d-backward --shape self=1,3,7,5 --padding 1,1,1,1 --scheme native";
    let shares =
        |product: &str, cores: usize| plan(&format!("{pad} --product {product} --cores {cores}"))["block_dim"].clone();
    assert_eq!((shares("atlas-a2", 40), shares("atlas-training", 32)), (json!(21), json!(3)));
}

#[test]
fn folders_get_a_report_and_a_chart() {
    let folder = tempdir().unwrap();
    let text = ok(folder.path(), &format!("plan {GRID_SAMPLER} --dtype f16 --soc Ascend910B1 --output out/new"));
    let file = |name: &str| fs::read_to_string(folder.path().join("out/new").join(name)).unwrap();
    assert_eq!(file("plan.txt"), text);
    let plan: Value = serde_json::from_str(&file("plan.json")).unwrap();
    let chart = file("workspace.svg");
    assert!(chart.starts_with("<svg ") && chart.ends_with("</svg>\n"));
    let regions =
        plan["workspace_regions"].as_array().unwrap().len() + plan["aclnn"]["regions"].as_array().unwrap().len();
    assert_eq!(chart.matches("<rect ").count(), regions + 1, "one box for each region, and the page");
    ok(folder.path(), &format!("plan {GRID_SAMPLER} --product all --output all"));
    for name in ["plan.json", "plan.txt", "report.html", "workspace-atlas-a2.svg", "workspace-ascend-950.svg"] {
        assert!(folder.path().join("all").join(name).exists(), "{name}");
    }
    fs::write(folder.path().join("file"), "").unwrap();
    assert!(fails(folder.path(), &format!("plan {GRID_SAMPLER} --output file"), 3).contains("file: "));
}
