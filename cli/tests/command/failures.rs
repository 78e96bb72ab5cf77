//! What is refused, with which exit code and which line.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::{TempDir, tempdir};
use ubtile_testkit::problems::{MaxUnpool, ReplicationPad, max_unpool_inputs, replication_pad_inputs};
use ubtile_testkit::{Data, Fill, IndexFill, Rng, encode};
use ubtile_tiling::{Dtype, TensorDesc};
use zip::CompressionMethod::{Deflated, Stored};

use crate::{fails, files, ok, output, refuses, ubtile};

const PAD: &str = "run replication-pad2d-backward --padding 1,2,1,2 --out out.npz --in";

/// A folder with a good input for [`PAD`], `in.npz` and `in.safetensors`.
fn folder() -> TempDir {
    let folder = tempdir().unwrap();
    let grad_output = replication_pad_inputs(&ReplicationPad::default().problem(), Fill::Uniform, &mut Rng::new(1));
    for name in ["in.npz", "in.safetensors"] {
        files::write(&folder.path().join(name), &[("grad_output", &grad_output)]);
    }
    folder
}

#[test]
fn files_that_are_not_there_or_not_tensors() {
    let folder = folder();
    let at = folder.path();
    for name in ["no.npz", "no.safetensors"] {
        refuses(at, &format!("{PAD} {name}"), 3, &format!("{name}: No such file or directory (os error 2)"));
    }
    refuses(at, &format!("{PAD} in.csv"), 2, "in.csv: a tensor file is named .npz or .safetensors");
    fs::create_dir(at.join("folder.npz")).unwrap();
    fs::create_dir(at.join("folder.safetensors")).unwrap();
    for name in ["folder.npz", "folder.safetensors"] {
        refuses(at, &format!("{PAD} {name}"), 3, &format!("{name}: is a directory"));
    }
    for name in ["empty.npz", "empty.safetensors"] {
        fs::write(at.join(name), "").unwrap();
        assert!(fails(at, &format!("{PAD} {name}"), 3).starts_with(&format!("error: {name}: is not a whole ")));
    }
}

#[test]
fn sizes_below_0_of_tensors_that_nobody_stated() {
    let folder = folder();
    let invalid = "(aclnn status 161002 ACLNN_ERR_PARAM_INVALID)";
    let pad = "replication-pad2d-backward";
    for (line, why) in [
        (
            format!("plan {pad} --shape grad_output=1,2,9,9 --padding 5,5,1,2"),
            "self would have a size of -1 with padding [5, 5, 1, 2]",
        ),
        (
            format!("plan {pad} --shape self=1,2,9,9 --padding=1,1,-5,-5"),
            "grad_output would have a size of -1 with padding [1, 1, -5, -5]",
        ),
        (
            "plan im2col-backward --shape grad_output=1,4,4 --input-size=3,-1 --kernel-size 2,2".into(),
            "input-size[1] is -1: a size is required",
        ),
        (
            "plan max-unpool2d-backward --shape self=1,2,3,4 --output-size=-4,8".into(),
            "output-size[0] is -4: a size is required",
        ),
    ] {
        refuses(folder.path(), &line, 3, &format!("{why} {invalid}"));
    }
    let most = i64::MAX;
    let line = fails(folder.path(), &format!("{} in.npz", PAD.replace("1,2,1,2", &format!("{most},{most},0,0"))), 3);
    assert!(line.contains("self would have a size of -184467440737095516"), "{line}");
}

#[test]
fn files_that_are_cut_off_anywhere() {
    let folder = folder();
    let at = folder.path();
    for name in ["in.npz", "in.safetensors"] {
        let whole = fs::read(at.join(name)).unwrap();
        ok(at, &format!("{PAD} {name}"));
        fs::remove_file(at.join("out.npz")).unwrap();
        let cut = format!("cut-{name}");
        for len in (0..whole.len()).step_by(61).chain([whole.len() - 1]) {
            fs::write(at.join(&cut), &whole[..len]).unwrap();
            let line = fails(at, &format!("{PAD} {cut}"), 3);
            assert!(line.starts_with(&format!("error: {cut}: ")) && line.lines().count() == 1, "{len}: {line}");
        }
    }
    assert!(!at.join("out.npz").exists());
}

#[test]
fn damaged_elements_are_found_by_their_checksum() {
    let folder = folder();
    let mut bytes = fs::read(folder.path().join("in.npz")).unwrap();
    bytes[400] ^= 1;
    fs::write(folder.path().join("bad.npz"), bytes).unwrap();
    let line = fails(folder.path(), &format!("{PAD} bad.npz"), 3);
    assert!(line.starts_with("error: bad.npz: grad_output is cut off or damaged ("), "{line}");
}

#[test]
fn numpy_headers_that_lie_or_cannot_be_used() {
    let folder = tempdir().unwrap();
    let at = folder.path();
    let bytes = [0; 4 * 7 * 8];
    let cases = [
        ("'<f4'", "False", "(1, 7, 9)", "states f32 [1, 7, 9], 252 bytes, but 224 bytes follow"),
        ("'<f4'", "False", "(1, 7, 7)", "states f32 [1, 7, 7], 196 bytes, but 224 bytes follow"),
        (
            "'<f4'",
            "False",
            "(4294967296, 4294967296, 7)",
            "states f32 [4294967296, 4294967296, 7]: so many bytes cannot be addressed",
        ),
        (
            "'<f4'",
            "False",
            "(1099511627776, 7, 8)",
            "states f32 [1099511627776, 7, 8], 246290604621824 bytes, but 224 bytes follow",
        ),
        (
            "'<f4'",
            "False",
            "(1, 1, 1, 1, 1, 1, 1, 7, 8)",
            "cannot be used: a tensor has 9 dimensions: at most 8 are possible",
        ),
        ("'<f4'", "True", "(1, 7, 8)", "is in Fortran order: store numpy.ascontiguousarray of it"),
        ("[('x', '<f4')]", "False", "(1, 7, 8)", "holds records, not numbers of one dtype"),
        (
            "'>f4'",
            "False",
            "(1, 7, 8)",
            "is big-endian ('>f4'): store it little-endian, the dtypes are <f2 <f4 <f8 |i1 |u1 <i2 <i4 <i8 |b1 <c8 <c16",
        ),
        ("'<u4'", "False", "(1, 7, 8)", "has dtype '<u4': the dtypes are <f2 <f4 <f8 |i1 |u1 <i2 <i4 <i8 |b1 <c8 <c16"),
        (
            "'|V2'",
            "False",
            "(2, 7, 8)",
            "has dtype '|V2', which numpy does not explain: bf16 is read from .safetensors only",
        ),
    ];
    for method in [Stored, Deflated] {
        for (descr, fortran, shape, line) in cases {
            files::zip(&at.join("in.npz"), method, &[("grad_output", files::npy(descr, fortran, shape, &bytes))]);
            refuses(at, &format!("{PAD} in.npz"), 3, &format!("in.npz: grad_output {line}"));
        }
        files::zip(&at.join("in.npz"), method, &[("grad_output", b"no array".to_vec())]);
        refuses(at, &format!("{PAD} in.npz"), 3, "in.npz: grad_output is not a numpy array");
    }
}

#[test]
fn safetensors_headers_that_lie_or_cannot_be_used() {
    let folder = tempdir().unwrap();
    let at = folder.path();
    let write = |header: &str| {
        let len = (header.len() as u64).to_le_bytes();
        fs::write(at.join("in.safetensors"), [len.as_slice(), header.as_bytes(), &[0; 224]].concat()).unwrap();
    };
    let mut cases = Vec::new();
    for (dtype, shape, end) in [
        ("F32", "[1,7,9]", 224),
        ("F32", "[1,7,9]", 252),
        ("F32", "[1,7,7]", 196),
        ("F32", "[4611686018427387904,7]", 224),
    ] {
        cases.push(format!(r#"{{"grad_output":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[0,{end}]}}}}"#));
    }
    cases.extend(["{".to_owned(), "[]".to_owned(), r#"{"grad_output":1}"#.to_owned()]);
    for header in cases {
        write(&header);
        let line = fails(at, &format!("{PAD} in.safetensors"), 3);
        assert!(line.starts_with("error: in.safetensors: is not a whole .safetensors file ("), "{header}: {line}");
        assert_eq!(line.lines().count(), 1);
    }
    write(r#"{"grad_output":{"dtype":"C64","shape":[1,4,7],"data_offsets":[0,224]}}"#);
    let line = fails(at, &format!("{PAD} in.safetensors"), 3);
    assert!(line.contains("grad_output has dtype C64: complex numbers are read from .npz only"), "{line}");
    write(r#"{"grad_output":{"dtype":"U32","shape":[1,7,8],"data_offsets":[0,224]}}"#);
    let line = fails(at, &format!("{PAD} in.safetensors"), 3);
    assert!(line.contains("grad_output has dtype U32: the dtypes are F16 BF16 F32"), "{line}");
}

/// The elements of such a file are not aligned, so they are copied before they are used.
#[test]
fn safetensors_whose_elements_are_not_aligned_are_fine() {
    let folder = folder();
    let whole = fs::read(folder.path().join("in.safetensors")).unwrap();
    ok(folder.path(), &format!("{PAD} in.safetensors"));
    let expected = fs::read(folder.path().join("out.npz")).unwrap();
    let len = u64::from_le_bytes(whole[..8].try_into().unwrap());
    for more in 1..8 {
        let spaces = vec![b' '; more];
        let (header, elements) = whole[8..].split_at(len as usize);
        let moved = [&(len + more as u64).to_le_bytes()[..], header, &spaces, elements].concat();
        fs::write(folder.path().join("moved.safetensors"), moved).unwrap();
        ok(folder.path(), &format!("{PAD} moved.safetensors"));
        assert!(fs::read(folder.path().join("out.npz")).unwrap() == expected, "{more}");
    }
}

#[test]
fn tensors_that_are_missing() {
    let folder = tempdir().unwrap();
    let at = folder.path();
    let data = Data::filled(TensorDesc::contiguous(Dtype::F32, &[1, 7, 8]).unwrap(), 0);
    for name in ["in.npz", "in.safetensors"] {
        files::write(&at.join(name), &[("gradOutput", &data)]);
        refuses(at, &format!("{PAD} {name}"), 3, &format!("{name}: grad_output is missing, the file has gradOutput"));
        files::write(&at.join(name), &[]);
        refuses(at, &format!("{PAD} {name}"), 3, &format!("{name}: grad_output is missing, the file has no tensors"));
    }
    files::write(&at.join("in.npz"), &[("grad_output", &data)]);
    let line = "in.npz: indices is missing, the file has grad_output";
    refuses(at, "run max-unpool2d-backward --in in.npz --out out.npz", 3, line);
}

#[test]
fn contract_errors_name_the_aclnn_status() {
    let folder = folder();
    let at = folder.path();
    let status = "(aclnn status 161002 ACLNN_ERR_PARAM_INVALID)";
    let pad = |padding: &str| format!("run replication-pad2d-backward --in in.npz --out out.npz --padding {padding}");
    refuses(at, &pad("1,2,3"), 3, &format!("padding has 3 values: 4 are required {status}"));
    for args in [
        pad("9,9,1,1"),
        pad("1,1,9223372036854775807,9223372036854775807"),
        format!("{PAD} deep.npz"),
        format!("{PAD} i8.npz"),
    ] {
        let five = Data::filled(TensorDesc::contiguous(Dtype::F32, &[1, 1, 2, 7, 8]).unwrap(), 0);
        files::write(&at.join("deep.npz"), &[("grad_output", &five)]);
        let i8 = Data::filled(TensorDesc::contiguous(Dtype::I8, &[2, 7, 8]).unwrap(), 0);
        files::write(&at.join("i8.npz"), &[("grad_output", &i8)]);
        let line = fails(at, &args, 3);
        assert!(line.ends_with(&format!("{status}\n")) && line.lines().count() == 1, "{args}: {line}");
    }
    let line = fails(at, &format!("{PAD} in.npz --product atlas-200i-a2"), 3);
    assert!(line.contains("atlas-200i-a2") && line.contains(status), "{line}");
    assert!(!at.join("out.npz").exists());
}

#[test]
fn a_bad_index_is_named_and_nothing_is_written() {
    let folder = tempdir().unwrap();
    let at = folder.path();
    let problem = MaxUnpool::default().problem();
    let mut inputs = max_unpool_inputs(&problem, Fill::Uniform, IndexFill::Permutation, &mut Rng::new(1));
    for (position, index) in [(30, -1.0), (17, 24.0)] {
        inputs.indices.set_bits(position, encode(Dtype::I64, index));
    }
    files::write(&at.join("in.npz"), &[("grad_output", &inputs.grad_output), ("indices", &inputs.indices)]);
    for threads in 1..4 {
        let args = format!("run max-unpool2d-backward --in in.npz --out out.npz --threads {threads}");
        let line = "indices[17] is 24: an index into this plane is at least 0 and below 24";
        refuses(at, &args, 3, &format!("{line} (aclnn status 361001 ACLNN_ERR_RUNTIME_ERROR)"));
    }
    assert_eq!(at.read_dir().unwrap().count(), 1);
}

#[test]
fn outputs_that_cannot_be_written() {
    let folder = folder();
    let at = folder.path();
    let args = |out: &str| format!("run replication-pad2d-backward --in in.npz --padding 1,2,1,2 --out {out}");
    let line = "no/out.npz: cannot be written: No such file or directory (os error 2)";
    refuses(at, &args("no/out.npz"), 3, line);
    refuses(at, &args("out.csv"), 2, "out.csv: a tensor file is named .npz or .safetensors");
    fs::create_dir(at.join("folder.npz")).unwrap();
    assert!(fails(at, &args("folder.npz"), 3).starts_with("error: folder.npz: cannot be written: "));

    let dtypes =
        [(Dtype::C64, "in.npz", "out.safetensors", ".npz"), (Dtype::Bf16, "in.safetensors", "out.npz", ".safetensors")];
    for (dtype, input, out, other) in dtypes {
        let data = Data::filled(TensorDesc::contiguous(dtype, &[2, 7, 8]).unwrap(), 0);
        files::write(&at.join(input), &[("grad_output", &data)]);
        let args = format!("run replication-pad2d-backward --in {input} --padding 1,2,1,2 --out {out}");
        refuses(at, &args, 3, &format!("{out}: grad_input is {dtype}: store it in a {other} file"));
    }
}

/// Where a name is a link, what it leads to is written, and the link stays.
#[cfg(unix)]
#[test]
fn results_are_written_through_links() {
    use std::os::unix::fs::symlink;
    let folder = folder();
    let at = folder.path();
    fs::create_dir(at.join("there")).unwrap();
    fs::write(at.join("there/old.npz"), "the old result").unwrap();
    // To a file that is there, over another link, and to one that is not.
    symlink("there/old.npz", at.join("one.npz")).unwrap();
    symlink("../one.npz", at.join("there/two.npz")).unwrap();
    symlink(at.join("there/new.npz"), at.join("absolute.npz")).unwrap();
    for (out, target) in [("there/two.npz", "there/old.npz"), ("absolute.npz", "there/new.npz")] {
        ok(at, &format!("run replication-pad2d-backward --in in.npz --padding 1,2,1,2 --out {out}"));
        assert_eq!(files::list(&at.join(target)), ["grad_input"]);
    }
    for link in ["one.npz", "there/two.npz", "absolute.npz"] {
        assert!(fs::symlink_metadata(at.join(link)).unwrap().is_symlink(), "{link}");
    }
    symlink("b.npz", at.join("a.npz")).unwrap();
    symlink("a.npz", at.join("b.npz")).unwrap();
    let line = "a.npz: cannot be written: its symbolic links lead in a circle";
    refuses(at, "run replication-pad2d-backward --in in.npz --padding 1,2,1,2 --out a.npz", 3, line);
    // A link to nowhere is named by its own name.
    symlink("no/out.npz", at.join("lost.npz")).unwrap();
    let line = "lost.npz: cannot be written: No such file or directory (os error 2)";
    refuses(at, "run replication-pad2d-backward --in in.npz --padding 1,2,1,2 --out lost.npz", 3, line);
}

/// A file takes no other thing's name.
#[cfg(unix)]
#[test]
fn results_do_not_replace_what_is_no_file() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let folder = folder();
    let at = folder.path();
    fs::create_dir(at.join("folder.npz")).unwrap();
    assert!(Command::new("mkfifo").arg(at.join("pipe.npz")).status().unwrap().success());
    symlink("pipe.npz", at.join("link.npz")).unwrap();
    for out in ["folder.npz", "pipe.npz", "link.npz"] {
        let line = format!("{out}: cannot be written: it is no regular file");
        refuses(at, &format!("run replication-pad2d-backward --in in.npz --padding 1,2,1,2 --out {out}"), 3, &line);
    }
    assert!(fs::metadata(at.join("link.npz")).unwrap().file_type().is_fifo());
}

/// The limit on the size of files stands for a full disk: the write fails in the middle.
#[cfg(unix)]
#[test]
fn a_write_that_fails_leaves_the_old_result() {
    let folder = tempdir().unwrap();
    let at = folder.path();
    let grad_output = Data::filled(TensorDesc::contiguous(Dtype::F32, &[64, 64, 64]).unwrap(), 0);
    files::write(&at.join("in.npz"), &[("grad_output", &grad_output)]);
    for out in ["out.npz", "out.safetensors"] {
        fs::write(at.join(out), "the old result").unwrap();
        // A process that ignores the signal gets an error instead; blocks have 512 bytes.
        let script = r#"trap "" XFSZ; ulimit -f 64; exec "$0" run replication-pad2d-backward --in in.npz --padding 0,0,0,0 --out "$1""#;
        let mut command = Command::new("sh");
        let result = command.current_dir(at).args(["-c", script, env!("CARGO_BIN_EXE_ubtile"), out]).output().unwrap();
        let line = String::from_utf8(result.stderr).unwrap();
        assert_eq!(result.status.code(), Some(3), "{line}");
        assert_eq!(line, format!("error: {out}: cannot be written: File too large (os error 27)\n"));
        assert_eq!(fs::read(at.join(out)).unwrap(), b"the old result");
    }
    assert_eq!(at.read_dir().unwrap().count(), 3);
}

#[cfg(unix)]
#[test]
fn results_can_be_read_by_whom_the_umask_allows() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    let script = r#"umask 027; exec "$0" run replication-pad2d-backward --in in.npz --padding 1,2,1,2 --out out.npz"#;
    let mut command = Command::new("sh");
    command.current_dir(folder.path()).args(["-c", script, env!("CARGO_BIN_EXE_ubtile")]);
    let (out, mode) =
        (folder.path().join("out.npz"), |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777);
    assert!(command.output().unwrap().status.success());
    assert_eq!(mode(&out), 0o640);

    // One that is there keeps its own.
    fs::set_permissions(&out, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(command.output().unwrap().status.success());
    assert_eq!(mode(&out), 0o600);
}

#[test]
fn usage_errors_name_the_option_and_what_is_allowed() {
    let folder = folder();
    let at = folder.path();
    let says = |args: &str, parts: &[&str]| {
        let text = fails(at, args, 2);
        for part in parts {
            assert!(text.contains(part), "ubtile {args}: {part} is missing in\n{text}");
        }
    };
    says("nonsense", &["nonsense"]);
    says("run conv2d", &["conv2d"]);
    says("run replication-pad2d-backward --in in.npz --out out.npz", &["--padding <L,R,T,B>"]);
    says("run replication-pad2d-backward --in in.npz --padding 1,2,1,2", &["--out <FILE>"]);
    says(&format!("{PAD} in.npz --kernel-size 3,3"), &["--kernel-size"]);
    says(&format!("{PAD} in.npz --level avx1024"), &["--level", "auto, scalar, baseline"]);
    says(&format!("{PAD} in.npz --threads 0"), &["--threads"]);
    says(&format!("{PAD} in.npz --time 0"), &["--time"]);
    says(&format!("{PAD} in.npz --time -1"), &["'-1' for '--time <N>'"]);
    says(&format!("{PAD} in.npz --workspace-limit -1"), &["'-1' for '--workspace-limit <BYTES>'"]);
    says("fuzz max-unpool2d-backward --cases 1 --seed -1", &["'-1' for '--seed <N>'"]);
    says("compare a.json b.json --threshold -5", &["--threshold -5: expected a percentage from 0"]);
    says("sim max-unpool2d-backward --output a --trace-window -5..-1", &["'-5..-1' for '--trace-window <a..b>'"]);
    says(&format!("{PAD} in.npz --edition 7.0"), &["--edition", "8.0, 8.3, master, any"]);
    says(&format!("{PAD} in.npz --product atlas"), &["--product", "atlas-a2"]);
    says(&format!("{PAD} in.npz --target z80"), &["--target", "host, cortex-m3"]);
    says(&format!("{PAD} in.npz --set ub=1"), &["--set ub", "local_bytes"]);
    says(&format!("{PAD} in.npz --format xml"), &["--format", "table, json"]);
    says("run replication-pad2d-backward --in in.npz --out out.npz --padding 1,x,1,1", &["--padding", "'x'", "commas"]);
    says("completions bash --format json", &["--format json"]);
    let pad = "plan replication-pad2d-backward --padding 1,1,1,1 --shape grad_output=1,8,8";
    says(&format!("{pad} --dtype self=f32"), &["--dtype self", "--shape self"]);
    says(&format!("{pad} --dtype grad_output=f32 --dtype grad_output=f32"), &["--dtype grad_output is given twice"]);
    says(&format!("{pad} --dtype f32 --dtype f16"), &["--dtype of all inputs is given twice"]);
    ok(at, &format!("{pad} --dtype f32 --dtype grad_output=f16 --dtype self=f16 --shape self=1,6,6"));
    says(
        "run grid-sampler-2d-backward --in in.npz --out out.npz --interpolation cubic",
        &["--interpolation", "bicubic"],
    );
    says(
        "run grid-sampler-2d-backward --in in.npz --out out.npz --align-corners maybe",
        &["--align-corners", "true, false"],
    );
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let folder = tempdir().unwrap();
    let mut child = ubtile(folder.path(), "ops").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert!(child.wait().unwrap().success(), "{stderr}");
    assert_eq!(stderr, "");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_stdout_is_a_failure() {
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    for args in ["ops", "completions bash", "--help", "run replication-pad2d-backward -h", "help plan", "--version"] {
        let full = full.try_clone().unwrap();
        let result = ubtile(Path::new("."), args).stdout(full).output().unwrap();
        assert_eq!(result.status.code(), Some(3), "{args}");
        assert!(String::from_utf8(result.stderr).unwrap().starts_with("error: stdout cannot be written: "), "{args}");
        assert!(output(Path::new("."), args).status.success(), "{args}");
    }
}
