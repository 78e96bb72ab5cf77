//! `ubtile sim OP`, `ubtile disasm OP` and `ubtile sanitize OP`: an operator's plan as a tile program.

use std::fs;
use std::path::Path;

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
fn programs_compute_what_the_kernels_do() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    for (operator, results) in operators(folder) {
        ok(folder, &format!("run {operator} --out expected.npz"));
        let report = json(folder, &format!("sim {operator} --out out.npz --cores 3"));
        assert!(report["cores"].as_u64().is_some_and(|cores| cores <= 3), "{operator}");
        // What is printed is the same program.
        fs::write(folder.join("again.tile"), ok(folder, &format!("disasm {operator} --cores 3"))).unwrap();
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

#[test]
fn programs_are_without_any_finding() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    for (operator, _) in operators(folder) {
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
    let report = json(folder.path(), &format!("sim {operator}"));
    assert_eq!((&report["scheme"], &report["route"]), (&"native".into(), &"aicore".into()));
    assert_eq!((&report["soc"], &report["vendor_route"]), (&"Ascend910B1".into(), &"aicore".into()));
    assert_eq!(report["gm_write_bytes"].as_u64(), Some(2 * 24 * 28 * 28 * 4));
    assert!(ok(folder.path(), &format!("sim {operator} --cores 2")).contains("not the vendor's kernel"));
}

#[test]
fn what_has_no_program_says_why() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    operators(folder);
    let pad = "replication-pad2d-backward --shape grad_output=1,1,4,4 --padding 1,1,1,1";
    let unusable = [
        (
            format!("{pad} --dtype f64"),
            "Ascend910B1 has no AI Core path for these dtypes: the AICPU runs them, not modelled",
        ),
        (
            format!("{pad} --scheme vendor"),
            "--scheme vendor: there is no tile program of the vendor's ReplicationPad2dBackward",
        ),
    ];
    for (rest, line) in unusable {
        refuses(folder, &format!("sim {rest}"), 3, line);
        refuses(folder, &format!("disasm {rest}"), 3, line);
        refuses(folder, &format!("sanitize {rest}"), 3, line);
    }
    refuses(folder, &format!("sim {pad} --product all"), 2, "--product all: a program is lowered for one machine");
    refuses(folder, &format!("sim {pad} --target cortex-m4"), 2, "tile programs are for SoCs: leave --target out");
    let bf16 =
        "im2col-backward --shape grad_output=1,4,4 --dtype bf16 --input-size 3,3 --kernel-size 2,2 --unsupported";
    let error = fails(folder, &format!("disasm {bf16} --soc Ascend910A"), 3);
    assert!(error.contains("Ascend910A has no AI Core path"), "{error}");

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
