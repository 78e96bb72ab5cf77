//! `ubtile plan`: what its decisions would be otherwise, and what that takes.

use std::path::Path;

use serde_json::{Value, json};

use crate::fails;
use crate::plan_soc::{GRID_SAMPLER, plan};

/// What a decision would be otherwise, and by what change.
fn others(plan: &Value, name: &str) -> Vec<(String, String)> {
    let decisions = plan["decisions"].as_array().unwrap();
    let decision = decisions.iter().find(|decision| decision["name"] == name).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    decision["others"].as_array().unwrap().iter().map(|other| (text(&other["value"]), text(&other["by"]))).collect()
}

#[test]
fn decisions_name_what_would_change_them() {
    let of = |args: &str| plan(&format!("{args} --soc Ascend910B1"));
    let grid = of(GRID_SAMPLER);
    assert_eq!(others(&grid, "scheme"), [("native".into(), "--scheme native".into())]);
    assert_eq!(others(&grid, "route"), [("aicpu".into(), "C at least 2049, now 3".into())]);
    // The command with the change gives the key.
    for (key, change) in others(&grid, "tiling_key") {
        let args = format!("{GRID_SAMPLER} --{}", change);
        assert_eq!(of(&args)["tiling_key"].to_string(), key, "{change}");
    }

    // So it does in an edition that has less.
    for (edition, keys) in [("8.0", 3), ("8.3", 3), ("master", 4)] {
        let args = format!("{GRID_SAMPLER} --edition {edition}");
        let others = others(&of(&args), "tiling_key");
        assert_eq!(others.len(), keys, "{edition}: {others:?}");
        for (key, change) in others {
            assert_eq!(of(&format!("{args} --{change}"))["tiling_key"].to_string(), key, "{edition} {change}");
        }
    }

    let deep = "grid-sampler-2d-backward --shape input=1,2050,4,4 --shape grid=1,2,2,2";
    let fallback = of(deep);
    assert_eq!((&fallback["scheme"], &fallback["vendor_route"]), (&json!("native"), &json!("aicpu")));
    assert_eq!(fallback["decisions"][1]["measures"][0]["slack"], -2);
    assert_eq!(others(&fallback, "route"), [("aicore".into(), "C at most 2048, now 2050".into())]);
    assert_eq!(others(&fallback, "scheme"), [("vendor".into(), "--scheme vendor".into())]);
    assert_eq!(of(&format!("{deep} --scheme vendor"))["tiling_data"]["ubFactorElement"], 192);

    // Rows that do not fit, of a tensor that is not small: each way back to the AI Core is one.
    let unpool = |n: usize| {
        of(&format!(
            "max-unpool2d-backward --shape self={n},1,100,100 --dtype f32 --dtype indices=i32 --output-size 300,300"
        ))
    };
    let (few, many) = (unpool(8), unpool(9));
    assert_eq!((&few["vendor_route"], &many["vendor_route"]), (&json!("aicore"), &json!("aicpu")));
    assert_eq!(others(&many, "route").len(), 3);
    assert!(
        others(&few, "route")
            .contains(&("aicpu".into(), "bytes of a small grad_output at least 3072001, now 2880000".into()))
    );

    let pad = of("replication-pad2d-backward --shape self=1,3,60,60 --padding 1,1,2,2 --dtype bf16");
    assert_eq!(pad["tiling_key"], 3000);
    assert_eq!(others(&pad, "tiling_key of aclnn"), [("3000".into(), "call the kernel directly".into())]);
    assert!(others(&pad, "tiling_key").contains(&("3010".into(), "height of grad_output 65, 1 more".into())));
    // In BF16 a padding that the kernel does not take is refused, on whatever route; a size is not.
    let pad = "replication-pad2d-backward --shape self=1,3,60,60 --dtype";
    assert_eq!(others(&of(&format!("{pad} bf16 --padding 1,1,2,2")), "route"), []);
    assert_eq!(others(&of(&format!("{pad} f32 --padding 1,1,2,2")), "route").len(), 2);
    let sizes = others(&plan(&format!("{pad} bf16 --padding 1,1,2,2 --product atlas-inference")), "route");
    assert_eq!(sizes[0], ("aicpu".into(), "height of grad_output at least 801, now 64".into()));
    assert_eq!(sizes.len(), 2);
    assert!(
        fails(Path::new("."), &format!("plan {pad} bf16 --padding 8,1,2,2 --soc Ascend910B1"), 3).contains("161002")
    );
    let by_dtype = |padding: &str| {
        let keys = others(&of(&format!("{pad} f32 --padding {padding} --scheme vendor")), "tiling_key");
        keys.into_iter().map(|(_, by)| by).filter(|by| by.starts_with("dtype")).collect::<Vec<_>>()
    };
    assert_eq!(by_dtype("1,1,2,2"), ["dtype f16", "dtype bf16"]);
    assert_eq!(by_dtype("8,1,2,2"), ["dtype f16"]);
}

/// All limits that are broken have to be kept together, and no change leads to what cannot be.
#[test]
fn what_another_decision_takes_is_said_in_full() {
    let pad = |more: &str| plan(&format!("replication-pad2d-backward {more}"));
    let route = |args: &str| others(&pad(args), "route");
    let aicore = |by: &str| [("aicore".to_owned(), by.to_owned())];
    let large = "height of grad_output at most 800, now 902, and width of grad_output at most 1500, now 1602";
    assert_eq!(route("--shape self=1,1,900,1600 --padding 1,1,1,1 --product atlas-inference"), aicore(large));
    let cropped = "negative paddings at most 0, now 1, and padding at most 7, now 10";
    assert_eq!(route("--shape self=1,1,30,70 --padding -3,10,3,3 --soc Ascend910B1"), aicore(cropped));
    let gathers = "max-unpool2d-backward --shape grad_output=1,64,4096,4096 --shape self=1,64,2048,2048";
    let ways = others(&plan(&format!("{gathers} --soc Ascend910B1")), "route");
    let must = "bytes of grad_output at most 2147483647, now 4294967296, and ";
    assert!(ways.len() == 3 && ways.iter().all(|(_, by)| by.starts_with(must)), "{ways:?}");

    let keys = |plan: Value| others(&plan, "tiling_key").into_iter().map(|(_, by)| by).collect::<Vec<_>>();
    let low = keys(pad("--shape self=1,1,1,70 --padding 0,1,32,33 --soc Ascend910B1 --scheme vendor"));
    assert!(!low.is_empty() && !low.iter().any(|by| by.starts_with("height of grad_output")), "{low:?}");
    let narrow = keys(pad("--shape self=1,1,70,70 --padding 40,40,1,1 --soc Ascend910B1 --scheme vendor"));
    assert!(!narrow.is_empty() && !narrow.iter().any(|by| by.starts_with("width of grad_output")), "{narrow:?}");
    let huge = "max-unpool2d-backward --shape grad_output=1,1,65536,32768 --shape self=1,1,64,64 --soc Ascend910_95";
    assert!(!keys(plan(huge)).iter().any(|by| by.starts_with("N x C")));
    let deep = "grid-sampler-2d-backward --shape input=1,2400,8,8 --shape grid=1,4,4,2 --interpolation nearest";
    let deep = keys(plan(&format!("{deep} --soc Ascend910B1 --scheme vendor")));
    assert!(!deep.is_empty() && !deep.contains(&"interpolation bicubic".into()), "{deep:?}");

    let taps = "im2col-backward --shape grad_output=1,60,147 --input-size 151,3 --kernel-size 5,3 --target cortex-m4";
    let choices = plan(taps)["choices"].clone();
    let taps = choices.as_array().unwrap().iter().find(|choice| choice["name"] == "tile_taps").unwrap();
    assert_eq!((&taps["value"], &taps["bound"]), (&json!(15), &json!("work")));
    let larger = &taps["larger"];
    assert_eq!(["value", "limit", "needs", "over"].map(|name| larger[name].as_u64().unwrap()), [18, 15, 18, 3]);
    let kernel = "im2col-backward --shape grad_output=1,4,1 --input-size 3,2 --kernel-size 3,9223372036854775807";
    assert!(fails(Path::new("."), &format!("plan {kernel}"), 3).contains("kernel-size[1] is 9223372036854775807"));
}
