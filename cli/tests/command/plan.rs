//! `ubtile plan`: what it tells, and the shapes that follow from others.

use std::path::Path;

use serde_json::Value;
use tempfile::tempdir;
use ubtile_testkit::problems::{GridSampler, grid_sampler_inputs};
use ubtile_testkit::{Coordinates, Fill, Rng};

use crate::{fails, files, json, ok};

fn plan(args: &str) -> Value {
    json(Path::new("."), &format!("plan {args}"))
}

/// `name dtype shape` of all tensors.
fn tensors(plan: &Value) -> Vec<String> {
    let tensors = plan["tensors"].as_array().unwrap().iter();
    tensors
        .map(|t| format!("{} {} {}", t["name"].as_str().unwrap(), t["dtype"].as_str().unwrap(), t["shape"]))
        .collect()
}

const EVERY: [&str; 4] = [
    "grid-sampler-2d-backward --shape input=2,70,9,10 --shape grid=2,11,12,2",
    "max-unpool2d-backward --shape self=2,3,16,16 --output-size 32,32",
    "replication-pad2d-backward --shape grad_output=2,3,18,19 --padding 1,1,2,2",
    "im2col-backward --shape grad_output=2,27,256 --input-size 16,16 --kernel-size 3,3 --padding 1,1",
];

#[test]
fn every_plan_has_the_promised_keys() {
    for args in EVERY {
        for more in ["", "--target cortex-m4", "--cores 3 --workspace-limit 0", "--target host --product atlas-a2"] {
            let plan = plan(&format!("{args} {more}"));
            let keys = ["soc", "scheme", "tiling_key", "block_dim", "workspace_bytes", "kernel_workspace_bytes"];
            let more_keys =
                ["aclnn_workspace_bytes", "workspace_regions", "tiling_data", "phases", "choices", "prices"];
            for key in keys.iter().chain(&more_keys) {
                assert!(plan.get(key).is_some(), "{args}: no {key}");
            }
            assert_eq!((&plan["scheme"], &plan["tiling_key"]), (&"native".into(), &Value::Null));
            for phase in plan["phases"].as_array().unwrap() {
                let [shares, tiles, largest] =
                    ["shares", "tiles", "largest_tile_bytes"].map(|key| phase[key].as_u64().unwrap());
                assert!(tiles >= shares && shares >= 1, "{args}: {phase}");
                assert!(largest <= plan["target"]["local_bytes"].as_u64().unwrap(), "{args}: {phase}");
            }
            for choice in plan["choices"].as_array().unwrap() {
                let [limit, used, slack] = ["limit", "used", "slack"].map(|key| choice[key].as_u64().unwrap());
                assert_eq!(limit, used + slack, "{args}: {choice}");
            }
            let end = plan["workspace_regions"].as_array().unwrap().iter();
            let end = end.map(|r| r["offset"].as_u64().unwrap() + r["bytes"].as_u64().unwrap()).max().unwrap_or(0);
            assert!(plan["workspace_bytes"].as_u64().unwrap() >= end);
        }
    }
}

#[test]
fn tables_say_the_same() {
    for args in EVERY {
        let text = ok(Path::new("."), &format!("plan {args} --target cortex-m4"));
        for part in
            ["native tiling for cortex-m4, cores 1, local memory 32768 bytes", "block dim 1", "| phase ", "| choice "]
        {
            assert!(text.contains(part), "{args}: {part} is missing in\n{text}");
        }
        assert!(text.lines().all(|line| line.len() < 120), "{text}");
    }
}

#[test]
fn limits_hold() {
    for args in EVERY {
        assert_eq!(plan(&format!("{args} --workspace-limit 0"))["workspace_bytes"], 0, "{args}");
        let small = plan(&format!("{args} --set local_bytes=8192"));
        assert_eq!(small["target"]["local_bytes"], 8192);
        let tiles =
            |plan: &Value| plan["phases"].as_array().unwrap().iter().map(|p| p["tiles"].as_u64().unwrap()).sum::<u64>();
        assert!(tiles(&small) >= tiles(&plan(args)), "{args}");
        let line = fails(Path::new("."), &format!("plan {args} --set local_bytes=1"), 3);
        assert!(line.contains("the local memory of 1 bytes does not hold the smallest tile"), "{args}: {line}");
    }
}

#[test]
fn what_follows_may_be_left_out() {
    let from_grid = plan("grid-sampler-2d-backward --shape input=2,3,5,6 --shape grid=2,7,8,2 --dtype f16");
    let from_gradient = plan("grid-sampler-2d-backward --shape input=2,3,5,6 --shape grad_output=2,3,7,8 --dtype f16");
    let expected = [
        "grad_output f16 [2,3,7,8]",
        "input f16 [2,3,5,6]",
        "grid f16 [2,7,8,2]",
        "input_grad f16 [2,3,5,6]",
        "grid_grad f16 [2,7,8,2]",
    ];
    assert_eq!(
        (tensors(&from_grid), tensors(&from_gradient)),
        (expected.map(Into::into).into(), expected.map(Into::into).into())
    );

    let expected = ["grad_output i8 [1,3,8,10]", "indices i32 [1,3,4,5]", "out f32 [1,3,4,5]"].map(String::from);
    let dtypes = "--dtype i8 --dtype indices=i32 --out-dtype f32";
    for args in ["--shape self=3,4,5", "--shape indices=3,4,5", "--shape self=3,4,5 --shape indices=3,4,5"] {
        assert_eq!(tensors(&plan(&format!("max-unpool2d-backward {args} --output-size 8,10 {dtypes}"))), expected);
    }
    let args = "--shape grad_output=3,8,10 --shape indices=3,4,5";
    assert_eq!(tensors(&plan(&format!("max-unpool2d-backward {args} {dtypes}"))), expected);

    let expected = ["grad_output c64 [1,3,4,6]", "grad_input c64 [1,3,5,3]"].map(String::from);
    for args in ["--shape self=3,5,3", "--shape grad_output=3,4,6"] {
        assert_eq!(
            tensors(&plan(&format!("replication-pad2d-backward {args} --padding 1,2,-1,0 --dtype c64"))),
            expected
        );
    }
}

#[test]
fn a_file_gives_shapes_and_needs_no_data_to_be_read() {
    let folder = tempdir().unwrap();
    let problem = GridSampler::default().problem();
    let inputs = grid_sampler_inputs(&problem, Fill::Uniform, Coordinates::Smooth, &mut Rng::new(1));
    let tensors_in = [("grad_output", &inputs.grad_output), ("input", &inputs.input), ("grid", &inputs.grid)];
    for name in ["in.npz", "in.safetensors"] {
        files::write(&folder.path().join(name), &tensors_in);
        let plan = json(folder.path(), &format!("plan grid-sampler-2d-backward --in {name}"));
        assert_eq!(tensors(&plan)[0], "grad_output f32 [2,3,4,7]");
    }
}

#[test]
fn products_bring_their_rules() {
    let args = "grid-sampler-2d-backward --shape input=1,3,5,6 --shape grid=1,7,8,2";
    for (more, route) in
        [("", Value::Null), (" --product atlas-a2", "aicore".into()), (" --product atlas-training", "aicpu".into())]
    {
        assert_eq!(plan(&format!("{args}{more}"))["vendor_route"], route, "{more}");
    }
    let status = "(aclnn status 161002 ACLNN_ERR_PARAM_INVALID)\n";
    for more in ["--product atlas-inference", "--product atlas-a2 --dtype i8", "--interpolation bicubic --edition 8.3"]
    {
        assert!(fails(Path::new("."), &format!("plan {args} {more}"), 3).ends_with(status), "{more}");
    }
}

#[test]
fn shapes_that_do_not_suffice() {
    let says = |args: &str, line: &str| {
        assert_eq!(fails(Path::new("."), &format!("plan {args}"), 2), format!("error: {line}\n"));
    };
    let missing = |tensor: &str| format!("--shape {tensor}=DIMS is missing: it does not follow from the rest");
    says("grid-sampler-2d-backward --shape input=1,3,5,6", &missing("grid"));
    says("grid-sampler-2d-backward --shape grid=1,3,5,2", &missing("input"));
    let size = "--output-size H,W is missing, or --shape grad_output=DIMS";
    says("max-unpool2d-backward --shape indices=1,3,5", size);
    says("max-unpool2d-backward --shape self=1,3,5", size);
    let inputs = "the inputs of im2col-backward are grad_output";
    let im2col = "im2col-backward --input-size 2,2 --kernel-size 1,1";
    says(&format!("{im2col} --shape out=1,2,2"), &format!("--shape out: {inputs}"));
    says(&format!("{im2col} --shape grad_output=1,4 --dtype grid=f16"), &format!("--dtype grid: {inputs}"));
    says(&format!("{im2col} --shape grad_output=1,4 --shape grad_output=1,4"), "--shape grad_output is given twice");
    let many = "--shape grad_output: a tensor has 9 dimensions: at most 8 are possible";
    says(&format!("{im2col} --shape grad_output=1,1,1,1,1,1,1,1,4"), many);
    let text = fails(Path::new("."), im2col_without_shape(), 2);
    assert!(text.contains("--shape <NAME=DIMS>"), "{text}");
}

const fn im2col_without_shape() -> &'static str {
    "plan im2col-backward --input-size 2,2 --kernel-size 1,1"
}

#[test]
fn enormous_problems_are_planned_or_refused_at_once() {
    let args = "replication-pad2d-backward --shape grad_output=1000000,1000000,18,18 --padding 1,1,1,1";
    let plan = plan(&format!("{args} --target cortex-m3"));
    assert_eq!(plan["phases"][0]["tiles"], Value::Null);
    let line = fails(
        Path::new("."),
        "plan replication-pad2d-backward --shape grad_output=4294967296,4294967296,18,18 --padding 1,1,1,1",
        3,
    );
    assert!(line.contains("do not fit this machine's address space"), "{line}");
}
