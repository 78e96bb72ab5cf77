//! `.safetensors`: a JSON header and the tensors' bytes behind it, mapped into memory.
#![allow(unsafe_code)]

use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memmap2::Mmap;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype as Name, Metadata, TensorInfo};
use ubtile_tiling::{Dtype, TensorDesc};

use super::{Buffer, Bytes, Stored};
use crate::error::Error;
use crate::files;

const DTYPES: [(Dtype, Name); 10] = [
    (Dtype::F16, Name::F16),
    (Dtype::Bf16, Name::BF16),
    (Dtype::F32, Name::F32),
    (Dtype::F64, Name::F64),
    (Dtype::I8, Name::I8),
    (Dtype::U8, Name::U8),
    (Dtype::I16, Name::I16),
    (Dtype::I32, Name::I32),
    (Dtype::I64, Name::I64),
    (Dtype::Bool, Name::BOOL),
];

/// The header's length is stated in front of it, in so many bytes.
const LENGTH_BYTES: usize = 8;

/// Size and alignment of the largest dtype.
const LARGEST_DTYPE: usize = 8;

/// An open file.
#[derive(Debug)]
pub(super) struct Mapped {
    path: PathBuf,
    map: Arc<Mmap>,
    metadata: Metadata,
    /// Where the tensors' bytes begin.
    start: usize,
}

impl Mapped {
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let file = files::open(path)?;
        // SAFETY: the mapping is private and only read, as bytes. Should another process shorten the file meanwhile, this one
        // is stopped by a signal; it never reads memory that is not the file's.
        let map = unsafe { Mmap::map(&file) }.map_err(|e| Error::file(path, e))?;
        let (header, metadata) = SafeTensors::read_metadata(&map)
            .map_err(|e| Error::file(path, format_args!("is not a whole .safetensors file ({e})")))?;
        Ok(Self { path: path.into(), map: Arc::new(map), metadata, start: LENGTH_BYTES + header })
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.metadata.offset_keys()
    }

    pub(super) fn desc(&self, name: &str) -> Result<Option<TensorDesc>, Error> {
        self.metadata.info(name).map(|info| desc(info).map_err(|e| Error::tensor(&self.path, name, e))).transpose()
    }

    /// The elements of a tensor that is there, in place where they are aligned.
    pub(super) fn read(&self, name: &str) -> Result<Bytes, Error> {
        let range = self.metadata.info(name).and_then(|info| self.range(info));
        let bytes = range.clone().and_then(|range| self.map.get(range));
        let (Some(range), Some(bytes)) = (range, bytes) else {
            return Err(Error::tensor(&self.path, name, "lies outside the file"));
        };
        if bytes.as_ptr().align_offset(LARGEST_DTYPE) == 0 {
            return Ok(Bytes::Mapped { map: Arc::clone(&self.map), range });
        }
        let copy = Buffer::read(bytes, bytes.len()).map_err(|e| Error::tensor(&self.path, name, e))?;
        Ok(Bytes::Owned(copy))
    }

    fn range(&self, info: &TensorInfo) -> Option<Range<usize>> {
        let (from, to) = info.data_offsets;
        Some(self.start.checked_add(from)?..self.start.checked_add(to)?)
    }
}

fn desc(info: &TensorInfo) -> Result<TensorDesc, String> {
    let dtype = DTYPES.iter().find(|(_, name)| *name == info.dtype).map(|(dtype, _)| *dtype);
    let dtype = dtype.ok_or_else(|| {
        let known = DTYPES.map(|(_, name)| name.to_string()).join(" ");
        match info.dtype {
            Name::C64 => format!("has dtype C64: complex numbers are read from .npz only, here the dtypes are {known}"),
            other => format!("has dtype {other}: the dtypes are {known}"),
        }
    })?;
    TensorDesc::contiguous(dtype, &info.shape).map_err(|e| format!("cannot be used: {e}"))
}

/// Whether tensors of that dtype can be stored.
pub(super) fn stores(dtype: Dtype) -> bool {
    stored_as(dtype).is_some()
}

fn stored_as(dtype: Dtype) -> Option<Name> {
    DTYPES.iter().find(|(d, _)| *d == dtype).map(|(_, name)| *name)
}

/// Writes a file. Larger dtypes come first, so that every tensor is aligned.
pub(super) fn write(mut file: impl Write, tensors: &[Stored<'_>]) -> io::Result<()> {
    let mut tensors = tensors.to_vec();
    tensors.sort_by_key(|stored| std::cmp::Reverse(stored.desc.dtype.size()));
    let mut end = 0;
    let mut infos = Vec::new();
    for Stored { name, desc, bytes } in &tensors {
        let Some(dtype) = stored_as(desc.dtype) else { continue };
        let data_offsets = (end, end + bytes.len());
        end += bytes.len();
        let shape = desc.shape.as_slice().to_vec();
        infos.push(((*name).into(), TensorInfo { dtype, shape, data_offsets }));
    }
    let metadata = Metadata::new(None, infos).map_err(io::Error::other)?;
    let mut header = serde_json::to_vec(&metadata)?;
    header.resize(header.len().next_multiple_of(LENGTH_BYTES), b' ');
    file.write_all(&(header.len() as u64).to_le_bytes())?;
    file.write_all(&header)?;
    tensors.iter().try_for_each(|stored| file.write_all(stored.bytes))?;
    file.flush()
}
