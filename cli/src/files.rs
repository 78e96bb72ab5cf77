//! Files that are read, and files that appear when they are complete: a temporary one in the same folder takes the name in the end.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::Error;

/// A chain of so many links leads in a circle, as systems take it.
const MOST_LINKS: usize = 40;

/// Opens a file to read.
pub(crate) fn open(path: &Path) -> Result<File, Error> {
    let file = File::open(path).map_err(|e| Error::file(path, e))?;
    // A folder opens too, and what then fails says nothing of it.
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(Error::file(path, "is a directory"));
    }
    Ok(file)
}

/// The file that a name means: behind symbolic links, if it is one. It need not be there; a folder, a device or a pipe, which another
/// file would replace, is refused.
fn target(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        let Ok(to) = fs::read_link(&path) else {
            return match fs::metadata(&path) {
                Ok(found) if !found.is_file() => Err(io::Error::other("it is no regular file")),
                _ => Ok(path),
            };
        };
        // Relative to the folder of the link.
        path.set_file_name(to);
    }
    Err(io::Error::other("its symbolic links lead in a circle"))
}

/// A temporary file beside the one that is wanted.
fn temporary(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".ubtile-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As for any new file: whoever the umask allows.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

/// Fails where [`write()`] would, before there is anything to write.
pub(crate) fn check(path: &Path) -> Result<(), Error> {
    target(path).and_then(|path| temporary(&path)).map(drop).map_err(|e| not_written(path, &e))
}

/// Writes a file, which has its name when it is complete.
pub(crate) fn write(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), Error> {
    let written = || {
        let target = target(path)?;
        let mut file = temporary(&target)?;
        // Whoever could read the old one, and nobody else.
        if let Ok(old) = fs::metadata(&target) {
            file.as_file().set_permissions(old.permissions())?;
        }
        write(file.as_file_mut())?;
        file.as_file().sync_all()?;
        file.persist(target).map_err(|e| e.error)
    };
    written().map(drop).map_err(|e| not_written(path, &e))
}

/// What to say of a file that cannot be written.
fn not_written(path: &Path, e: &io::Error) -> Error {
    // The library adds the temporary name, which would only puzzle.
    let cause = e.to_string();
    let cause = cause.split(" at path ").next().unwrap_or_default();
    Error::file(path, format_args!("cannot be written: {cause}"))
}
