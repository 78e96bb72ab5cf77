//! `ubtile plan --calls`: lists of a profiler.

use std::fs;

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::{json, ok, output, refuses};

#[test]
fn lists_of_calls_are_planned_in_one_go() {
    let folder = tempdir().unwrap();
    let list = "\
Op Name,OP Type,Task Duration(us),Input Shapes,Input Data Types,Output Shapes,Attributes
aclnnGridSampler2DBackward_GridSampler2DGrad,GridSampler2DGrad,1.5,\"\"\"2,8,8,3;2,16,16,3;2,8,8,2\"\"\",FLOAT;FLOAT;FLOAT,,
aclnnGridSampler2DBackward_GridSampler2DGrad,GridSampler2DGrad,2.5,\"\"\"2,8,8,3;2,16,16,3;2,8,8,2\"\"\",FLOAT;FLOAT;FLOAT,,
aclnnMaxUnpool2dBackward_GatherElements,GatherElements,1,\"\"\"2,3,256;2,3,64\"\"\",FLOAT16;INT32,,
aclnnGather_GatherElements,GatherElements,1,\"\"\"2,3,256;2,3,64\"\"\",FLOAT16;INT32,,
x,PadV3GradReplicate,1,\"\"\"1,1,64,64;8\"\"\",FLOAT16;INT64,\"\"\"1,1,64,62\"\"\",
x,im2col-backward,1,\"2,27,256\",DT_BF16,,\"--input-size 16,16 --kernel-size 3,3 --padding 1,1\"
x,Col2im,1,\"2,2,9,256,16\",FLOAT,,
MatMul,MatMulV2,1,\"2,3;3,4\",FLOAT;FLOAT,\"2,4\",
";
    fs::write(folder.path().join("op_summary.csv"), list).unwrap();
    let calls = json(folder.path(), "plan --calls op_summary.csv --soc Ascend910B1");
    assert_eq!(calls["skipped_rows"], 2);
    let calls = calls["calls"].as_array().unwrap();
    let lines: Vec<_> = calls.iter().map(|call| call["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [2, 4, 6, 7, 8]);
    assert_eq!((&calls[0]["count"], &calls[0]["device_us"]), (&json!(2), &json!(4.0)));
    let keys: Vec<_> = calls.iter().map(|call| call["plan"]["tiling_key"].clone()).collect();
    assert_eq!(keys, [json!(1), Value::Null, json!(2101), Value::Null, Value::Null]);
    assert_eq!(calls[1]["plan"]["tensors"][1], json!({"name": "indices", "dtype": "i32", "shape": [2, 3, 1, 64]}));
    assert!(calls[4]["error"].as_str().unwrap().contains("--kernel-size"));
    // The command that it names gives the same plan.
    for call in calls.iter().filter(|call| call["error"].is_null()) {
        let command = call["command"].as_str().unwrap().strip_prefix("ubtile ").unwrap();
        assert!(command.ends_with(" --soc Ascend910B1"), "{command}");
        let alone = json(folder.path(), command);
        assert_eq!(alone["choices"], call["plan"]["choices"], "{command}");
        assert_eq!(alone["aclnn_workspace_bytes"], call["plan"]["aclnn_workspace_bytes"], "{command}");
    }
    let text = ok(folder.path(), "plan --calls op_summary.csv --soc Ascend910B1");
    assert!(
        text.contains("- line 6: assumed padding 1,1,0,0") && text.contains("2 rows call something else"),
        "{text}"
    );

    fs::write(folder.path().join("none.csv"), "OP Type,Input Shapes,Input Data Types\nMatMul,,\n").unwrap();
    refuses(folder.path(), "plan --calls none.csv", 3, "none.csv: its row does not call one of the four operators");
    fs::write(folder.path().join("other.csv"), "a,b\n1,2\n").unwrap();
    refuses(folder.path(), "plan --calls other.csv", 3, "other.csv: has no column 'OP Type'");
}

/// What a row says of dtypes and shapes is planned or refused, never passed over; and rows are one only if they are alike.
#[test]
fn all_that_a_row_says_counts() {
    let folder = tempdir().unwrap();
    let unpool = |name: &str, dtypes: &str, out: &str| {
        format!("MaxUnpool2dBackward,{name},\"2,3,16,16;2,3,8,8\",{dtypes},\"2,3,8,8\",{out}\n")
    };
    let grid =
        |dtypes: &str| format!("GridSampler2DGrad,g,\"2,3,8,8;2,3,16,16;2,8,8,2\",{dtypes},\"2,3,16,16\",FLOAT16\n");
    let rows = [
        unpool("a", "FLOAT16;INT64", "FLOAT"),
        unpool("b", "FLOAT16;INT64", "FLOAT16"),
        unpool("c", "FLOAT;UINT32", "FLOAT"),
        unpool("d", "INT32;INT32", "INT32"),
        grid("FLOAT16;FLOAT;FLOAT"),
        grid("FLOAT;FLOAT;FLOAT"),
        "PadV3GradReplicate,p,\"2,3,18,18\",FLOAT,\"5,7,16,16\",FLOAT\n".into(),
        "Im2colBackward,first,\"2,27,256\",FLOAT,,\n".into(),
        "Im2colBackward,second,\"4,64,100\",FLOAT16,,\n".into(),
        "Im2colBackward,third,\"4,64,100\",FLOAT16,,\n".into(),
    ];
    let list = "OP Type,Op Name,Input Shapes,Input Data Types,Output Shapes,Output Data Types\n";
    fs::write(folder.path().join("list.csv"), [list, &rows.concat()].concat()).unwrap();
    let calls = json(folder.path(), "plan --calls list.csv --soc Ascend910B1");
    let calls = calls["calls"].as_array().unwrap();
    let dtypes = |call: &Value, at: usize| call["plan"]["tensors"][at]["dtype"].as_str().unwrap().to_owned();
    assert_eq!([0, 1].map(|call| dtypes(&calls[call], 2)), ["f32", "f16"], "what is written");
    assert_eq!(dtypes(&calls[3], 1), "i32", "indices");
    let error = |call: usize| calls[call]["error"].as_str().unwrap();
    assert_eq!(error(2), "'UINT32' is no dtype of these operators");
    assert!(error(4).contains("grad_output is f16: f32 is required"), "{}", error(4));
    assert_eq!(error(5), "the output is f16: f32 is required, as the first input is");
    assert_eq!(error(6), "the output has other images or channels than the input");
    let counts: Vec<_> = calls.iter().map(|call| (&call["name"], &call["count"])).skip(7).collect();
    assert_eq!(counts, [(&json!("first"), &json!(1)), (&json!("second"), &json!(2))]);
}

#[test]
fn commas_without_quotation_marks_are_no_attributes() {
    let folder = tempdir().unwrap();
    let attributes = "--input-size 16,16 --kernel-size 3,3 --padding 1,1";
    let row = |attributes: &str| format!("im2col-backward,\"2,27,256\",FLOAT,{attributes}\n");
    let rows = [row(attributes), row(&format!("\"{attributes}\",,")), row(&format!("\"{attributes}\",more"))].concat();
    fs::write(folder.path().join("list.csv"), format!("OP Type,Input Shapes,Input Data Types,Attributes\n{rows}"))
        .unwrap();
    let calls = json(folder.path(), "plan --calls list.csv");
    let errors: Vec<_> = calls["calls"].as_array().unwrap().iter().map(|call| &call["error"]).collect();
    let error = |fields: usize| {
        json!(format!("the row has {fields} fields, the header 4: cells with commas need quotation marks"))
    };
    assert_eq!(errors, [&error(7), &json!(null), &error(5)]);
}

#[test]
fn options_of_the_list_are_no_attributes() {
    let folder = tempdir().unwrap();
    let row = |more: &str| {
        format!("im2col-backward,\"2,27,256\",FLOAT,\"--input-size 16,16 --kernel-size 3,3 --padding 1,1{more}\"\n")
    };
    let others = [" --soc Ascend910A", " --output foo", " --output=foo", " --format json", " --help"].map(row).concat();
    let list = format!("OP Type,Input Shapes,Input Data Types,Attributes\n{}{others}", row(""));
    fs::write(folder.path().join("list.csv"), list).unwrap();
    let calls = json(folder.path(), "plan --calls list.csv --cores 3 --set local_bytes=100000");
    let calls = calls["calls"].as_array().unwrap();
    let command = calls[0]["command"].as_str().unwrap();
    assert!(command.ends_with(" --cores 3 --set local_bytes=100000"), "{command}");
    assert_eq!(json(folder.path(), command.strip_prefix("ubtile ").unwrap())["block_dim"], 3);
    for (call, word) in calls[1..].iter().zip(["--soc", "--output", "--output=foo", "--format", "--help"]) {
        assert_eq!(call["error"], format!("{word} is no attribute: it is said of the whole list"));
    }
}

/// Where shapes leave a choice it is listed, and so is each attribute that a row does not have.
#[test]
fn what_a_row_leaves_open_is_assumed_and_listed() {
    let folder = tempdir().unwrap();
    let grid = |shapes: &str, more: &str| format!("GridSampler2DGrad,\"{shapes}\",FLOAT;FLOAT;FLOAT,\"{more}\"\n");
    let col2im = |more: &str| format!("Col2im,\"2,2,9,256,16\",FLOAT,\"--kernel-size 3,3 --input-size {more}\"\n");
    let all = "--interpolation bicubic --padding-mode border --align-corners true --output-mask true,true";
    let (none, ambiguous) = (
        "bilinear, zeros, align-corners false, output-mask true,true",
        "channels first: these shapes could have them last, too",
    );
    let rows: [(String, &[usize], &[&str]); 9] = [
        (grid("2,64,64,64;2,96,96,64;2,64,64,2", ""), &[2, 64, 96, 96], &[none]),
        (grid("2,64,64,64;2,64,96,96;2,64,64,2", all), &[2, 64, 96, 96], &[]),
        (grid("2,64,64,64;2,64,32,64;2,64,64,2", all), &[2, 64, 32, 64], &[ambiguous]),
        (grid("2,64,64,64;2,64,64,64;2,64,64,2", all), &[2, 64, 64, 64], &[]),
        (
            grid("2,8,8,3;2,16,16,3;2,8,8,2", "--interpolation nearest"),
            &[2, 3, 16, 16],
            &["zeros, align-corners false, output-mask true,true"],
        ),
        (col2im("18,18"), &[2, 288, 256], &["dilation 1,1, padding 0,0, stride 1,1"]),
        (col2im("16,16 --padding 1,1 --stride=1,1"), &[2, 288, 256], &["dilation 1,1"]),
        (grid("2,3,8,8;2,3,16,16;2,8,8,2", all), &[2, 3, 16, 16], &[]),
        (grid("1,2,3,3;1,2,5,4;1,3,3,2", all), &[1, 2, 5, 4], &[]),
    ];
    let list: String = rows.iter().map(|(row, ..)| row.as_str()).collect();
    fs::write(folder.path().join("list.csv"), format!("OP Type,Input Shapes,Input Data Types,Attributes\n{list}"))
        .unwrap();
    let calls = json(folder.path(), "plan --calls list.csv");
    for ((row, shape, assumed), call) in rows.iter().zip(calls["calls"].as_array().unwrap()) {
        let tensor = usize::from(row.starts_with("Grid"));
        assert_eq!(call["plan"]["tensors"][tensor]["shape"], json!(shape), "{row}{call}");
        assert_eq!(call["assumed"], json!(assumed), "{row}");
    }
}

/// A row of the grid sampler writes the gradients that have its outputs' shapes.
#[test]
fn outputs_of_a_grid_sampler_are_its_mask() {
    let folder = tempdir().unwrap();
    let rest = "bilinear, zeros, align-corners false";
    let either = "output-mask true,false: the only output could be grid_grad, too";
    let (first, last) = ("2,3,8,8;2,3,16,16;2,8,8,2", "4,8,8,3;4,16,16,3;4,8,8,2");
    let same = "2,4,4,2;2,4,4,2;2,4,4,2";
    let rows = [
        (first, "2,3,16,16;2,8,8,2", "true,true", vec![rest]),
        (first, "2,3,16,16", "true,false", vec![rest]),
        (first, "2,8,8,2", "false,true", vec![rest]),
        (last, ";4,8,8,2", "false,true", vec![rest]),
        (last, "4,16,16,3", "true,false", vec![rest]),
        (same, "2,4,4,2", "true,false", vec![either, rest]),
    ];
    let row = |shapes: &str, outputs: &str, attributes: &str| {
        format!("GridSampler2DGrad,\"{shapes}\",FLOAT;FLOAT;FLOAT,\"{outputs}\",\"{attributes}\"\n")
    };
    let wrong = row(first, "2,3,16,16;2,3,16,16", "");
    let said = row(first, "2,3,16,16", "--output-mask=false,true");
    let list: String = rows.iter().map(|(shapes, outputs, ..)| row(shapes, outputs, "")).chain([wrong, said]).collect();
    let header = "OP Type,Input Shapes,Input Data Types,Output Shapes,Attributes\n";
    fs::write(folder.path().join("list.csv"), format!("{header}{list}")).unwrap();
    let calls = json(folder.path(), "plan --calls list.csv --soc Ascend910B1");
    let calls = calls["calls"].as_array().unwrap();
    let gradients = |call: &Value| {
        let tensors = call["plan"]["tensors"].as_array().unwrap().iter().map(|tensor| tensor["name"].as_str().unwrap());
        ["input_grad", "grid_grad"].map(|name| tensors.clone().any(|tensor| tensor == name).to_string()).join(",")
    };
    for ((shapes, outputs, mask, assumed), call) in rows.iter().zip(calls) {
        assert_eq!((gradients(call).as_str(), &call["assumed"]), (*mask, &json!(assumed)), "{shapes} {outputs}");
        let alone = call["command"].as_str().unwrap().strip_prefix("ubtile ").unwrap();
        assert!(alone.contains(&format!(" --output-mask {mask} ")), "{alone}");
        assert_eq!(json(folder.path(), alone)["tensors"], call["plan"]["tensors"], "{alone}");
    }
    let line =
        "the outputs are 2x3x16x16 and 2x3x16x16: 2x3x16x16 as the image, 2x8x8x2 as the grid, or both are required";
    assert_eq!(calls[6]["error"], line);
    assert_eq!(gradients(&calls[7]), "false,true", "what the row says");

    // A call that was simulated is the same call.
    let grid = "grid-sampler-2d-backward --shape input=2,3,16,16 --shape grid=2,8,8,2 --output-mask false,true";
    ok(folder.path(), &format!("sim {grid} --output out"));
    let profile = fs::read_dir(folder.path().join("out")).unwrap().map(|entry| entry.unwrap().file_name());
    let profile = profile.map(|name| name.into_string().unwrap()).find(|name| name.starts_with("OPPROF_")).unwrap();
    let list = format!("plan --calls out/{profile}/op_summary_grid-sampler-2d-backward.csv --soc Ascend910B1");
    let (list, alone) = (json(folder.path(), &list), json(folder.path(), &format!("plan {grid} --soc Ascend910B1")));
    assert_eq!(list["calls"][0]["plan"], without_heading(alone));
}

/// What a plan says alone, without what stands in front of a document.
fn without_heading(mut plan: Value) -> Value {
    plan.as_object_mut().unwrap().retain(|key, _| !["schema", "tool_version"].contains(&key.as_str()));
    plan
}

/// Sizes that no tensor has.
#[test]
fn sizes_of_a_row_are_not_multiplied_beyond_all_numbers() {
    let folder = tempdir().unwrap();
    let list = "OP Type,Input Shapes,Input Data Types,Output Shapes,Attributes\n\
                Col2im,\"2,4294967296,9,3136,4294967296\",FLOAT,,\"--kernel-size 3,3 --input-size 56,56\"\n\
                PadV3GradReplicate,\"1,1,4,18446744073709551615\",FLOAT,\"1,1,4,4\",\n\
                PadV3GradReplicate,\"1,1,4,4\",FLOAT,\"1,1,2,2\",\n";
    fs::write(folder.path().join("list.csv"), list).unwrap();
    let calls = json(folder.path(), "plan --calls list.csv");
    let errors: Vec<_> = calls["calls"].as_array().unwrap().iter().map(|call| call["error"].clone()).collect();
    let (many, unknown) =
        ("4294967296 x 4294967296 x 9 rows are too many", "the padding does not follow from these shapes");
    assert_eq!(errors, [json!(many), json!(unknown), Value::Null]);
}

/// A name that has what terminals take for commands, and one that has what ends a cell of a table.
#[test]
fn names_are_no_commands_for_terminals_and_end_no_cells() {
    let folder = tempdir().unwrap();
    let list = "Op Name,OP Type,Input Shapes,Input Data Types\n\x1b[2Jx,replication-pad2d-backward,\"1,1,4\",FLOAT\n\
                a|b,im2col-backward,\"1,x\",FLOAT\n\
                c,MaxUnpool2dBackward,\"1,1,2,2;1,1,4,4;1,1,2,2\",FLOAT;FLOAT;INT64\n";
    fs::write(folder.path().join("list.csv"), list).unwrap();
    let text = ok(folder.path(), "plan --calls list.csv");
    assert!(text.contains(r"a\|b") && !text.contains("a|b"), "{text}");
    assert!(text.contains(r"\u{1b}[2Jx") && !text.contains('\x1b'), "{text}");
}

#[test]
fn a_row_that_cannot_be_read_is_reported_and_the_others_are_planned() {
    let folder = tempdir().unwrap();
    let at = folder.path();
    let rows = [
        "OP Type,Input Shapes,Input Data Types,Attributes",
        // Of something else nothing has to be readable.
        "MatMul,garbage,FLOAT,",
        "im2col-backward,\"1,x\",FLOAT,",
        "replication-pad2d-backward,garbage,FLOAT,",
        "replication-pad2d-backward,garbage,FLOAT,",
        "replication-pad2d-backward,\"1,8,8\",FLOAT,\"--padding 9,9,9,9\"",
        "replication-pad2d-backward,\"1,8,8\",FLOAT,\"--padding 1,1,1,1\"",
        "im2col-backward,\"1,\n x\",FLOAT,",
    ];
    fs::write(at.join("calls.csv"), rows.join("\n")).unwrap();
    let list = json(at, "plan --calls calls.csv");
    assert_eq!(list["skipped_rows"], 1);
    let calls = list["calls"].as_array().unwrap();
    let lines: Vec<_> = calls.iter().map(|call| (call["line"].as_u64(), call["count"].as_u64())).collect();
    assert_eq!(
        lines,
        [(Some(3), Some(1)), (Some(4), Some(2)), (Some(6), Some(1)), (Some(7), Some(1)), (Some(8), Some(1))]
    );
    assert_eq!(calls[4]["error"], "'1, x' is no list of shapes as 2,3;4", "one line");
    assert_eq!(calls[0]["error"], "'1,x' is no list of shapes as 2,3;4");
    assert_eq!(calls[1]["error"], "'garbage' is no list of shapes as 2,3;4");
    assert!(calls[2]["error"].as_str().unwrap().contains("161002"));
    assert!(calls[3]["error"].is_null() && calls[3]["plan"].is_object());

    // Without the one that is right, the list is of no use; what is wrong with each row is said all the same.
    fs::write(at.join("calls.csv"), rows[..6].join("\n")).unwrap();
    let run = output(at, "plan --calls calls.csv --output out");
    let line = "error: calls.csv: none of its 3 calls can be planned; line 3: '1,x' is no list of shapes as 2,3;4\n";
    assert_eq!((run.status.code(), String::from_utf8_lossy(&run.stderr).as_ref()), (Some(3), line));
    let text = String::from_utf8(run.stdout).unwrap();
    assert!(text.contains("- line 4: 'garbage' is no list of shapes") && text.contains("- line 6: "), "{text}");
    assert_eq!(fs::read_to_string(at.join("out/plan.txt")).unwrap(), text);
}

#[test]
fn a_list_for_which_there_is_no_such_scheme_fails_as_one_plan_does() {
    let folder = tempdir().unwrap();
    let at = folder.path();
    let list = "OP Type,Input Shapes,Input Data Types,Attributes\nreplication-pad2d-backward,\"1,8,8\",FLOAT,\"--padding 1,1,1,1\"\n";
    fs::write(at.join("calls.csv"), list).unwrap();
    let one = "plan replication-pad2d-backward --shape grad_output=1,8,8 --padding 1,1,1,1 --scheme vendor";
    assert_eq!(output(at, one).status.code(), Some(3));
    assert_eq!(output(at, "plan --calls calls.csv --scheme vendor").status.code(), Some(3));
    assert_eq!(output(at, "plan --calls calls.csv").status.code(), Some(0));
}

/// Whatever ends the lines, whatever stands in front of the first one, and where fields have lines of their own.
#[test]
fn lines_are_those_of_the_file() {
    let folder = tempdir().unwrap();
    let rows = [
        "Op Name,OP Type,Input Shapes,Input Data Types,Attributes",
        "a,MatMul,1,FLOAT,",
        "b,replication-pad2d-backward,\"1,8,8\",FLOAT,\"--padding 1,1,1,1\"",
        "",
        "",
        "\"c",
        "d\",MatMul,1,FLOAT,",
        "e,replication-pad2d-backward,\"1,9,9\",FLOAT,\"--padding 1,1,1,1\"",
    ];
    for end in ["\n", "\r\n"] {
        for mark in ["", "\u{feff}"] {
            fs::write(folder.path().join("calls.csv"), format!("{mark}{}{end}", rows.join(end))).unwrap();
            let list = json(folder.path(), "plan --calls calls.csv");
            let lines: Vec<_> = list["calls"].as_array().unwrap().iter().map(|call| call["line"].as_u64()).collect();
            assert_eq!(lines, [Some(3), Some(8)], "{end:?} {mark:?}");
        }
    }
}
