//! `.npz`: numpy's zip archive with one array in each member.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use ubtile_tiling::{Dtype, TensorDesc};
use zip::read::ZipFile;
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::buffer::Buffer;
use super::{Stored, npy};
use crate::error::Error;
use crate::files;

/// An open archive. Only the arrays that are asked for are looked at.
#[derive(Debug)]
pub(super) struct Npz {
    path: PathBuf,
    archive: Archive,
}

impl Npz {
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let file = files::open(path)?;
        let archive = ZipArchive::new(BufReader::new(file));
        let archive = archive.map_err(|e| Error::file(path, format_args!("is not a whole .npz file ({e})")))?;
        Ok(Self { path: path.into(), archive })
    }

    pub(super) fn names(&self) -> Vec<String> {
        let names = self.archive.file_names().flatten();
        names.filter_map(|name| name.strip_suffix(".npy").map(Into::into)).collect()
    }

    /// Dtype and shape from the array's header, held against the size of the member.
    pub(super) fn desc(&mut self, name: &str) -> Result<Option<TensorDesc>, Error> {
        let Self { path, archive } = self;
        let Some(mut member) = member(path, archive, name)? else { return Ok(None) };
        let header = Header::read(&mut member).map_err(|e| Error::tensor(path, name, e))?;
        Ok(Some(header.desc))
    }

    /// The elements of an array that is there.
    pub(super) fn read(&mut self, name: &str) -> Result<Buffer, Error> {
        let Self { path, archive } = self;
        let Some(mut member) = member(path, archive, name)? else {
            return Err(Error::tensor(path, name, "is missing"));
        };
        let result = Header::read(&mut member).and_then(|Header { bytes, .. }| {
            let damaged = |e: io::Error| match e.kind() {
                io::ErrorKind::OutOfMemory => format!("has {bytes} bytes, for which there is no memory"),
                _ => format!("is cut off or damaged ({e})"),
            };
            let buffer = Buffer::read(&mut member, bytes).map_err(damaged)?;
            // The checksum is compared where the member ends.
            match member.read(&mut [0]).map_err(damaged)? {
                0 => Ok(buffer),
                _ => Err("holds more than its header states".into()),
            }
        });
        result.map_err(|e| Error::tensor(path, name, e))
    }
}

type Archive = ZipArchive<BufReader<File>>;

/// The member that holds an array; `None` where there is none of that name.
fn member<'a>(
    path: &Path,
    archive: &'a mut Archive,
    name: &str,
) -> Result<Option<ZipFile<'a, BufReader<File>>>, Error> {
    match archive.by_name(&format!("{name}.npy")) {
        Ok(member) => Ok(Some(member)),
        Err(ZipError::FileNotFound) => Ok(None),
        Err(e) => Err(Error::tensor(path, name, format_args!("cannot be read ({e})"))),
    }
}

/// What a member states about itself.
struct Header {
    desc: TensorDesc,
    /// Bytes of the elements.
    bytes: usize,
}

impl Header {
    fn read(member: &mut ZipFile<'_, impl Read>) -> Result<Self, String> {
        let (header, desc) = npy::read_header(&mut *member)?;
        let TensorDesc { dtype, shape, .. } = desc;
        let bytes = shape.numel().and_then(|n| n.checked_mul(dtype.size()));
        let bytes = bytes.ok_or_else(|| format!("states {dtype} {shape}: so many bytes cannot be addressed"))?;
        let follow = member.size().saturating_sub(header as u64);
        if bytes as u64 != follow {
            return Err(format!("states {dtype} {shape}, {bytes} bytes, but {follow} bytes follow"));
        }
        Ok(Self { desc, bytes })
    }
}

/// Whether arrays of that dtype can be stored.
pub(super) fn stores(dtype: Dtype) -> bool {
    npy::descr(dtype).is_some()
}

/// Writes an archive, uncompressed.
pub(super) fn write(file: impl Write + Seek, tensors: &[Stored<'_>]) -> io::Result<()> {
    let mut file = Sticky { file, failure: None, position: 0, end: 0 };
    let written = write_members(&mut file, tensors);
    match file.failure {
        Some(failure) => Err(failure),
        None => written.map_err(io::Error::from).and_then(|()| file.file.flush()),
    }
}

fn write_members(file: impl Write + Seek, tensors: &[Stored<'_>]) -> Result<(), ZipError> {
    let mut archive = ZipWriter::new(file);
    for Stored { name, desc, bytes } in tensors {
        let Some(descr) = npy::descr(desc.dtype) else { continue };
        // Four spare kilobytes for the header.
        let large = bytes.len() as u64 + 4096 > u64::from(u32::MAX);
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(large);
        archive.start_file(format!("{name}.npy"), options)?;
        archive.write_all(&npy::header(descr, &desc.shape))?;
        archive.write_all(bytes)?;
    }
    archive.finish().map(|_| ())
}

/// Remembers the first failure and then pretends to write: the archive's destructor tries to complete the file, and what fails
/// there it prints.
struct Sticky<W> {
    file: W,
    failure: Option<io::Error>,
    /// Where the next byte goes, and one past the last: what is pretended must be consistent.
    position: u64,
    end: u64,
}

impl<W> Sticky<W> {
    fn attempt<T: Copy>(&mut self, pretended: T, operation: impl FnOnce(&mut W) -> io::Result<T>) -> T {
        if self.failure.is_some() {
            return pretended;
        }
        operation(&mut self.file).unwrap_or_else(|e| {
            self.failure = Some(e);
            pretended
        })
    }
}

impl<W: Write> Write for Sticky<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.attempt(bytes.len(), |file| file.write(bytes));
        self.position += written as u64;
        self.end = self.end.max(self.position);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.attempt((), W::flush);
        Ok(())
    }
}

impl<W: Seek> Seek for Sticky<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => position,
            SeekFrom::Current(by) => self.position.saturating_add_signed(by),
            SeekFrom::End(by) => self.end.saturating_add_signed(by),
        };
        self.position = self.attempt(position, |file| file.seek(to));
        Ok(self.position)
    }
}
