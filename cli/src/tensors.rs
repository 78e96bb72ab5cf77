//! Tensor files: `.npz` and `.safetensors`, tensors by name.

mod buffer;
mod npy;
mod npz;
mod safetensors;

use std::io::{BufWriter, Write};
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memmap2::Mmap;
use ubtile_tiling::{Dtype, TensorDesc};

pub(crate) use buffer::Buffer;

use crate::error::Error;
use crate::files;

// Files hold little-endian numbers, and kernels read them in place.
#[cfg(target_endian = "big")]
compile_error!("tensor files are little-endian: this command is for little-endian machines");

/// A format of files, told by the extension.
#[derive(Clone, Copy, Debug)]
enum Format {
    Npz,
    Safetensors,
}

impl Format {
    fn of(path: &Path) -> Result<Self, Error> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("npz") => Ok(Self::Npz),
            Some("safetensors") => Ok(Self::Safetensors),
            _ => Err(Error::Usage(format!("{}: a tensor file is named .npz or .safetensors", path.display()))),
        }
    }

    fn stores(self, dtype: Dtype) -> bool {
        match self {
            Self::Npz => npz::stores(dtype),
            Self::Safetensors => safetensors::stores(dtype),
        }
    }
}

/// A file to read.
#[derive(Debug)]
pub(crate) struct Input {
    path: PathBuf,
    file: File,
}

#[derive(Debug)]
enum File {
    Npz(npz::Npz),
    Safetensors(safetensors::Mapped),
}

/// The elements of a tensor, aligned for their dtype.
#[derive(Debug)]
pub(crate) enum Bytes {
    /// A part of a file.
    Mapped {
        /// The file.
        map: Arc<Mmap>,
        /// Which bytes of it.
        range: Range<usize>,
    },
    /// A copy.
    Owned(Buffer),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped { map, range } => map.get(range.clone()).unwrap_or_default(),
            Self::Owned(buffer) => buffer,
        }
    }
}

impl Input {
    /// Opens a file; tensors are looked at when they are asked for.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let file = match Format::of(path)? {
            Format::Npz => File::Npz(npz::Npz::open(path)?),
            Format::Safetensors => File::Safetensors(safetensors::Mapped::open(path)?),
        };
        Ok(Self { path: path.into(), file })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The names of all tensors.
    pub(crate) fn names(&self) -> Vec<String> {
        match &self.file {
            File::Npz(npz) => npz.names(),
            File::Safetensors(mapped) => mapped.names(),
        }
    }

    /// Dtype and shape of a tensor; `None` where there is none of that name.
    pub(crate) fn desc(&mut self, name: &str) -> Result<Option<TensorDesc>, Error> {
        match &mut self.file {
            File::Npz(npz) => npz.desc(name),
            File::Safetensors(mapped) => mapped.desc(name),
        }
    }

    /// The elements of a tensor that is there.
    pub(crate) fn read(&mut self, name: &str) -> Result<Bytes, Error> {
        match &mut self.file {
            File::Npz(npz) => npz.read(name).map(Bytes::Owned),
            File::Safetensors(mapped) => mapped.read(name),
        }
    }
}

/// A tensor to be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stored<'a> {
    pub(crate) name: &'a str,
    /// Its dtype and shape; it is contiguous.
    pub(crate) desc: TensorDesc,
    pub(crate) bytes: &'a [u8],
}

/// A file to write. It has its name when it is complete.
#[derive(Debug)]
pub(crate) struct Output {
    path: PathBuf,
    format: Format,
}

impl Output {
    /// Makes sure that the folder takes a file and the format each dtype, before anything is computed.
    pub(crate) fn create<'a>(path: &Path, tensors: impl IntoIterator<Item = (&'a str, Dtype)>) -> Result<Self, Error> {
        let format = Format::of(path)?;
        for (name, dtype) in tensors {
            if !format.stores(dtype) {
                let other = if dtype == Dtype::Bf16 { ".safetensors" } else { ".npz" };
                return Err(Error::tensor(path, name, format_args!("is {dtype}: store it in a {other} file")));
            }
        }
        files::check(path)?;
        Ok(Self { path: path.into(), format })
    }

    /// Writes the tensors and gives the file its name. On failure nothing is left behind.
    pub(crate) fn save(self, tensors: &[Stored<'_>]) -> Result<(), Error> {
        files::write(&self.path, |file| {
            let mut writer = BufWriter::new(file);
            match self.format {
                Format::Npz => npz::write(&mut writer, tensors),
                Format::Safetensors => safetensors::write(&mut writer, tensors),
            }
            .and_then(|()| writer.flush())
        })
    }
}
