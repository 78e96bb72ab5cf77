//! Tensor files, written and read without the command's own code.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;

use safetensors::SafeTensors;
use safetensors::tensor::{Dtype as Name, TensorView};
use ubtile_testkit::Data;
use ubtile_tiling::{Dtype, TensorDesc};
use zip::CompressionMethod::{self, Deflated, Stored};
use zip::write::SimpleFileOptions;

const NAMES: [(Dtype, &str, Option<Name>); 12] = [
    (Dtype::F16, "<f2", Some(Name::F16)),
    (Dtype::Bf16, "<V2", Some(Name::BF16)),
    (Dtype::F32, "<f4", Some(Name::F32)),
    (Dtype::F64, "<f8", Some(Name::F64)),
    (Dtype::I8, "|i1", Some(Name::I8)),
    (Dtype::U8, "|u1", Some(Name::U8)),
    (Dtype::I16, "<i2", Some(Name::I16)),
    (Dtype::I32, "<i4", Some(Name::I32)),
    (Dtype::I64, "<i8", Some(Name::I64)),
    (Dtype::Bool, "|b1", Some(Name::BOOL)),
    (Dtype::C64, "<c8", None),
    (Dtype::C128, "<c16", None),
];

fn names(dtype: Dtype) -> (&'static str, Option<Name>) {
    let (_, npy, safetensors) = NAMES.iter().find(|(d, ..)| *d == dtype).unwrap();
    (npy, *safetensors)
}

/// An array with any header.
pub(crate) fn npy(descr: &str, fortran: &str, shape: &str, bytes: &[u8]) -> Vec<u8> {
    let mut text = format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}");
    while (10 + text.len() + 1) % 64 != 0 {
        text.push(' ');
    }
    text.push('\n');
    let len = u16::try_from(text.len()).unwrap().to_le_bytes();
    [b"\x93NUMPY\x01\x00", len.as_slice(), text.as_bytes(), bytes].concat()
}

/// An archive of any members.
pub(crate) fn zip(path: &Path, method: CompressionMethod, members: &[(&str, Vec<u8>)]) {
    let mut archive = zip::ZipWriter::new(File::create(path).unwrap());
    for (name, bytes) in members {
        let options = SimpleFileOptions::default().compression_method(method);
        archive.start_file(format!("{name}.npy"), options).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap();
}

/// Tensors in the format of the extension; `.z.npz` is compressed.
pub(crate) fn write(path: &Path, tensors: &[(&str, &Data)]) {
    let name = path.to_str().unwrap();
    if name.ends_with(".safetensors") {
        let views = tensors.iter().map(|(name, data)| {
            let shape = data.desc().shape.as_slice().to_vec();
            (*name, TensorView::new(names(data.dtype()).1.unwrap(), shape, data.bytes()).unwrap())
        });
        fs::write(path, safetensors::serialize(views, None).unwrap()).unwrap();
    } else {
        let members: Vec<_> = tensors
            .iter()
            .map(|(name, data)| {
                let shape: String = data.desc().shape.as_slice().iter().map(|size| format!("{size}, ")).collect();
                let descr = format!("'{}'", names(data.dtype()).0);
                (*name, npy(&descr, "False", &format!("({shape})"), data.bytes()))
            })
            .collect();
        zip(path, if name.ends_with(".z.npz") { Deflated } else { Stored }, &members);
    }
}

/// The names of a file's tensors.
pub(crate) fn list(path: &Path) -> Vec<String> {
    let mut names: Vec<String> = if path.extension().unwrap() == "safetensors" {
        let bytes = fs::read(path).unwrap();
        SafeTensors::deserialize(&bytes).unwrap().names().into_iter().map(Into::into).collect()
    } else {
        let archive = zip::ZipArchive::new(File::open(path).unwrap()).unwrap();
        archive.file_names().map(|name| name.unwrap().strip_suffix(".npy").unwrap().to_owned()).collect()
    };
    names.sort();
    names
}

/// A tensor of a file.
pub(crate) fn read(path: &Path, name: &str) -> Data {
    let (dtype, shape, bytes) = if path.extension().unwrap() == "safetensors" {
        let bytes = fs::read(path).unwrap();
        let tensors = SafeTensors::deserialize(&bytes).unwrap();
        let view = tensors.tensor(name).unwrap();
        let dtype = NAMES.iter().find(|(.., n)| *n == Some(view.dtype())).unwrap().0;
        (dtype, view.shape().to_vec(), view.data().to_vec())
    } else {
        let mut archive = zip::ZipArchive::new(File::open(path).unwrap()).unwrap();
        let mut bytes = Vec::new();
        archive.by_name(&format!("{name}.npy")).unwrap().read_to_end(&mut bytes).unwrap();
        let elements = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        let header = std::str::from_utf8(&bytes[10..elements]).unwrap();
        assert_eq!(elements % 64, 0, "{header}");
        let dtype = NAMES.iter().find(|(_, n, _)| header.contains(&format!("'descr': '{n}'"))).unwrap().0;
        assert!(header.contains("'fortran_order': False"), "{header}");
        let shape = header.split_once('(').unwrap().1.split_once(')').unwrap().0;
        let sizes = shape.split(',').map(str::trim).filter(|size| !size.is_empty());
        (dtype, sizes.map(|size| size.parse().unwrap()).collect(), bytes.split_off(elements))
    };
    let mut data = Data::filled(TensorDesc::contiguous(dtype, &shape).unwrap(), 0);
    data.bytes_mut().copy_from_slice(&bytes);
    data
}
