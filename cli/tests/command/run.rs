//! `ubtile run`: results against the reference, and the options that must not change them.

use std::path::Path;

use tempfile::tempdir;
use ubtile_kernels::Level;
use ubtile_testkit::problems::{
    GridSampler, Im2col, MaxUnpool, ReplicationPad, grid_sampler_inputs, im2col_inputs, max_unpool_inputs,
    replication_pad_inputs,
};
use ubtile_testkit::reference::{self, Expected};
use ubtile_testkit::{Coordinates, Data, Fill, IndexFill, Rng, compare};
use ubtile_tiling::grid_sampler_2d_backward::{Interpolation, PaddingMode};
use ubtile_tiling::{Dtype, TensorDesc};

use crate::{files, json, ok};

/// The same elements in another shape.
fn reshaped(data: &Data, shape: &[usize]) -> Data {
    let mut other = Data::filled(TensorDesc::contiguous(data.dtype(), shape).unwrap(), 0);
    other.bytes_mut().copy_from_slice(data.bytes());
    other
}

fn agrees(path: &Path, tensor: &str, expected: &Expected) {
    let result = files::read(path, tensor);
    assert_eq!(result.desc().shape.as_slice(), expected.shape, "{tensor}");
    compare(&result, expected).unwrap_or_else(|e| panic!("{}: {tensor}: {e}", path.display()));
}

/// Formats that hold a dtype, for input and output.
fn formats(dtype: Dtype) -> &'static [&'static str] {
    match dtype {
        Dtype::Bf16 => &["safetensors"],
        Dtype::C64 | Dtype::C128 => &["npz", "z.npz"],
        _ => &["npz", "z.npz", "safetensors"],
    }
}

#[test]
fn grid_sampler() {
    let folder = tempdir().unwrap();
    for dtype in [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64] {
        for (i, format) in formats(dtype).iter().enumerate() {
            let (interpolation, name) = [
                (Interpolation::Bilinear, "bilinear"),
                (Interpolation::Nearest, "nearest"),
                (Interpolation::Bicubic, "bicubic"),
            ][i];
            let (padding_mode, padding) = [
                (PaddingMode::Zeros, "zeros"),
                (PaddingMode::Border, "border"),
                (PaddingMode::Reflection, "reflection"),
            ][i];
            let align_corners = i == 1;
            let shape = GridSampler { dtype, c: 9, interpolation, padding_mode, align_corners, ..Default::default() };
            let problem = shape.problem();
            let inputs = grid_sampler_inputs(&problem, Fill::Uniform, Coordinates::Random, &mut Rng::new(2));
            let tensors = [("grad_output", &inputs.grad_output), ("input", &inputs.input), ("grid", &inputs.grid)];
            files::write(&folder.path().join(format!("in.{format}")), &tensors);
            let attributes = format!("--interpolation {name} --padding-mode {padding} --align-corners {align_corners}");
            ok(
                folder.path(),
                &format!("run grid-sampler-2d-backward --in in.{format} --out out.{format} {attributes}"),
            );
            let out = folder.path().join(format!("out.{format}"));
            let expected = reference::grid_sampler_2d_backward::run(&problem, &inputs);
            agrees(&out, "input_grad", &expected.input_grad.unwrap());
            agrees(&out, "grid_grad", &expected.grid_grad.unwrap());
        }
    }
}

#[test]
fn only_wanted_gradients_are_written() {
    let folder = tempdir().unwrap();
    let problem = GridSampler::default().problem();
    let inputs = grid_sampler_inputs(&problem, Fill::Uniform, Coordinates::Smooth, &mut Rng::new(3));
    let tensors = [("grad_output", &inputs.grad_output), ("input", &inputs.input), ("grid", &inputs.grid)];
    files::write(&folder.path().join("in.npz"), &tensors);
    let expected = reference::grid_sampler_2d_backward::run(&problem, &inputs);
    let out = folder.path().join("out.safetensors");
    for (mask, names) in [("true,false", &["input_grad"][..]), ("false,true", &["grid_grad"]), ("false,false", &[])] {
        ok(
            folder.path(),
            &format!("run grid-sampler-2d-backward --in in.npz --out out.safetensors --output-mask {mask}"),
        );
        assert_eq!(files::list(&out), names);
    }
    ok(folder.path(), "run grid-sampler-2d-backward --in in.npz --out out.safetensors --output-mask false,true");
    agrees(&out, "grid_grad", &expected.grid_grad.unwrap());
}

#[test]
fn max_unpool() {
    let folder = tempdir().unwrap();
    let dtypes = Dtype::ALL.into_iter().filter(|dtype| !matches!(dtype, Dtype::C64 | Dtype::C128));
    for (i, dtype) in dtypes.enumerate() {
        for format in formats(dtype) {
            let index_dtype = [Dtype::I64, Dtype::I32][i % 2];
            let problem = MaxUnpool { dtype, out_dtype: dtype, index_dtype, ..Default::default() }.problem();
            let inputs = max_unpool_inputs(&problem, Fill::Specials, IndexFill::Permutation, &mut Rng::new(4));
            let file = folder.path().join(format!("in.{format}"));
            files::write(&file, &[("grad_output", &inputs.grad_output), ("indices", &inputs.indices)]);
            ok(folder.path(), &format!("run max-unpool2d-backward --in in.{format} --out out.{format}"));
            let expected = reference::max_unpool2d_backward::run(&problem, &inputs).unwrap();
            agrees(&folder.path().join(format!("out.{format}")), "out", &expected);
        }
    }
}

#[test]
fn max_unpool_into_another_dtype_and_with_self() {
    let folder = tempdir().unwrap();
    let problem = MaxUnpool { dtype: Dtype::F32, out_dtype: Dtype::F16, ..Default::default() }.problem();
    let inputs = max_unpool_inputs(&problem, Fill::Uniform, IndexFill::Duplicates, &mut Rng::new(5));
    let like = Data::filled(TensorDesc::contiguous(Dtype::F32, &[2, 3, 2, 3]).unwrap(), 0);
    let tensors = [("grad_output", &inputs.grad_output), ("indices", &inputs.indices), ("self", &like)];
    files::write(&folder.path().join("in.npz"), &tensors);
    ok(folder.path(), "run max-unpool2d-backward --in in.npz --out out.npz --out-dtype f16 --output-size 4,6");
    let expected = reference::max_unpool2d_backward::run(&problem, &inputs).unwrap();
    agrees(&folder.path().join("out.npz"), "out", &expected);
}

#[test]
fn replication_pad() {
    let folder = tempdir().unwrap();
    for dtype in [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64, Dtype::C64, Dtype::C128] {
        for format in formats(dtype) {
            let problem = ReplicationPad { dtype, padding: [1, 0, -1, 2], ..Default::default() }.problem();
            let grad_output = replication_pad_inputs(&problem, Fill::Uniform, &mut Rng::new(6));
            files::write(&folder.path().join(format!("in.{format}")), &[("grad_output", &grad_output)]);
            let args = format!("run replication-pad2d-backward --in in.{format} --out out.{format} --padding 1,0,-1,2");
            ok(folder.path(), &args);
            let expected = reference::replication_pad2d_backward::run(&problem, &grad_output);
            agrees(&folder.path().join(format!("out.{format}")), "grad_input", &expected);
        }
    }
}

#[test]
fn im2col() {
    let folder = tempdir().unwrap();
    for dtype in [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64] {
        for format in formats(dtype) {
            let (kernel, dilation, padding, stride) = ([3, 2], [1, 2], [1, 0], [2, 1]);
            let shape =
                Im2col { dtype, out_dtype: dtype, h: 7, w: 9, kernel, dilation, padding, stride, ..Default::default() };
            let problem = shape.problem();
            let grad_output = im2col_inputs(&problem, Fill::Uniform, &mut Rng::new(7));
            files::write(&folder.path().join(format!("in.{format}")), &[("grad_output", &grad_output)]);
            let attributes = "--input-size 7,9 --kernel-size 3,2 --dilation 1,2 --padding 1,0 --stride 2,1";
            ok(folder.path(), &format!("run im2col-backward --in in.{format} --out out.{format} {attributes}"));
            let expected = reference::im2col_backward::run(&problem, &grad_output);
            agrees(&folder.path().join(format!("out.{format}")), "out", &expected);
        }
    }
}

#[test]
fn results_have_the_rank_of_the_inputs() {
    let folder = tempdir().unwrap();
    let problem = ReplicationPad { n: 1, ..Default::default() }.problem();
    let batched = replication_pad_inputs(&problem, Fill::Uniform, &mut Rng::new(8));
    files::write(&folder.path().join("in.npz"), &[("grad_output", &reshaped(&batched, &[3, 7, 8]))]);
    ok(folder.path(), "run replication-pad2d-backward --in in.npz --out out.npz --padding 1,2,1,2");
    let result = files::read(&folder.path().join("out.npz"), "grad_input");
    assert_eq!(result.desc().shape.as_slice(), [3, 4, 5]);
    compare(&result, &reference::replication_pad2d_backward::run(&problem, &batched)).unwrap();

    let problem = Im2col { n: 1, h: 3, w: 4, kernel: [2, 2], ..Default::default() }.problem();
    let batched = im2col_inputs(&problem, Fill::Uniform, &mut Rng::new(8));
    let rows = batched.desc().shape.get(1);
    files::write(&folder.path().join("in.npz"), &[("grad_output", &reshaped(&batched, &[rows, 6]))]);
    ok(folder.path(), "run im2col-backward --in in.npz --out out.npz --input-size 3,4 --kernel-size 2,2");
    let result = files::read(&folder.path().join("out.npz"), "out");
    assert_eq!(result.desc().shape.as_slice(), [rows / 4, 3, 4]);
    compare(&result, &reference::im2col_backward::run(&problem, &batched)).unwrap();
}

/// The file is the same to the last bit, whatever computed it.
#[test]
fn options_of_speed_do_not_change_the_result() {
    let folder = tempdir().unwrap();
    let problem = GridSampler { c: 70, hi: 11, wi: 12, ho: 9, wo: 13, ..Default::default() }.problem();
    let inputs = grid_sampler_inputs(&problem, Fill::Uniform, Coordinates::Random, &mut Rng::new(9));
    let tensors = [("grad_output", &inputs.grad_output), ("input", &inputs.input), ("grid", &inputs.grid)];
    files::write(&folder.path().join("in.npz"), &tensors);
    let run = |options: &str| {
        ok(folder.path(), &format!("run grid-sampler-2d-backward --in in.npz --out out.npz {options}"));
        std::fs::read(folder.path().join("out.npz")).unwrap()
    };
    let usual = run("");
    let levels: Vec<_> = Level::available().map(|level| format!("--level {level}")).collect();
    let others = ["--threads 1", "--threads 3", "--target cortex-m4", "--target cortex-a53 --threads 2", "--cores 5"];
    let more = ["--workspace-limit 0", "--set local_bytes=20000", "--time 2", "--product atlas-a2 --edition master"];
    for options in levels.iter().map(String::as_str).chain(others).chain(more) {
        assert!(run(options) == usual, "{options}");
    }
}

#[test]
fn empty_tensors_give_zeros() {
    let folder = tempdir().unwrap();
    let empty = Data::filled(TensorDesc::contiguous(Dtype::F32, &[2, 8, 0]).unwrap(), 0);
    files::write(&folder.path().join("in.safetensors"), &[("grad_output", &empty)]);
    ok(folder.path(), "run im2col-backward --in in.safetensors --out out.npz --input-size 1,5 --kernel-size 2,2");
    let result = files::read(&folder.path().join("out.npz"), "out");
    assert_eq!(result.desc().shape.as_slice(), [2, 2, 1, 5]);
    assert!(result.bytes().iter().all(|&byte| byte == 0));
}

#[test]
fn timing() {
    let folder = tempdir().unwrap();
    let problem = ReplicationPad::default().problem();
    let grad_output = replication_pad_inputs(&problem, Fill::Uniform, &mut Rng::new(1));
    files::write(&folder.path().join("in.npz"), &[("grad_output", &grad_output)]);
    let args = "run replication-pad2d-backward --in in.npz --padding 1,2,1,2 --time 4 --threads 2 --level scalar";
    let report = json(folder.path(), args);
    let [min, median, max] = ["min", "median", "max"].map(|key| report["time_ms"][key].as_f64().unwrap());
    assert!(0.0 < min && min <= median && median <= max, "{report}");
    // So little keeps one thread busy.
    assert_eq!((&report["level"], &report["threads"]), (&"scalar".into(), &1.into()));
    assert!(report["workspace_bytes"].is_u64() && report["out"].is_null());
    assert!(ok(folder.path(), args).contains("time of 4 calls: min "));
    assert!(ok(folder.path(), &args.replace("--time 4", "--time 1")).contains("time of 1 call: min "));
    assert_eq!(folder.path().read_dir().unwrap().count(), 1);
}
