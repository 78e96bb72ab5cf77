//! Files that appear when they are complete: a temporary one in the same folder takes the name in the end.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempDir};

use crate::error::Error;

/// A temporary file beside the one that is wanted.
pub(crate) fn temporary(path: &Path) -> Result<NamedTempFile, Error> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".ubtile-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As for any new file: whoever the umask allows.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder).map_err(|e| not_written(path, &e))
}

/// What to say of a file that cannot be written.
fn not_written(path: &Path, e: &std::io::Error) -> Error {
    // The library adds the temporary name, which would only puzzle.
    let cause = e.to_string();
    let cause = cause.split(" at path ").next().unwrap_or_default();
    Error::file(path, format_args!("cannot be written: {cause}"))
}

/// Gives a complete temporary file its name.
pub(crate) fn keep(file: NamedTempFile, path: &Path) -> Result<(), Error> {
    file.as_file().sync_all().map_err(|e| not_written(path, &e))?;
    file.persist(path).map_err(|e| not_written(path, &e.error))?;
    Ok(())
}

/// A folder that appears when it is complete.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// Beside it.
    staged: TempDir,
}

impl Folder {
    /// A temporary folder beside the one that is wanted.
    pub(crate) fn create(path: &Path) -> Result<Self, Error> {
        let failed = |e: std::io::Error| Error::file(path, format_args!("cannot be written: {e}"));
        if path.exists() && !path.is_dir() {
            return Err(Error::file(path, "is no folder"));
        }
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(parent).map_err(failed)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".ubtile-").suffix(".tmp");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // As for any new folder: whoever the umask allows.
            builder.permissions(fs::Permissions::from_mode(0o777));
        }
        let staged = builder.tempdir_in(parent).map_err(failed)?;
        Ok(Self { path: path.into(), staged })
    }

    /// Writes a file of it, and says why that failed by the name that it would have had.
    pub(crate) fn write<E: std::fmt::Display>(
        &self,
        name: &str,
        write: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
    ) -> Result<(), Error> {
        let failed =
            |e: &dyn std::fmt::Display| Error::file(&self.path.join(name), format_args!("cannot be written: {e}"));
        let staged = self.staged.path().join(name);
        if let Some(parent) = staged.parent() {
            fs::create_dir_all(parent).map_err(|e| failed(&e))?;
        }
        let mut file = BufWriter::new(File::create(&staged).map_err(|e| failed(&e))?);
        write(&mut file).map_err(|e| failed(&e))?;
        file.flush().map_err(|e| failed(&e))
    }

    /// Gives it its name. In a folder that is there already, its files and folders replace those of the same name, each at once.
    pub(crate) fn keep(self) -> Result<(), Error> {
        let failed = |e: std::io::Error| Error::file(&self.path, format_args!("cannot be written: {e}"));
        if !self.path.exists() {
            fs::rename(self.staged.path(), &self.path).map_err(failed)?;
            // It is where it was only under another name.
            let _ = self.staged.keep();
            return Ok(());
        }
        let entries =
            fs::read_dir(self.staged.path()).map_err(failed)?.collect::<Result<Vec<_>, _>>().map_err(failed)?;
        for entry in entries {
            let target = self.path.join(entry.file_name());
            if target.is_dir() {
                // A folder that is not empty cannot be replaced; the old one goes with what is staged.
                let mut aside = entry.path().into_os_string();
                aside.push(".old");
                fs::rename(&target, aside).map_err(failed)?;
            }
            fs::rename(entry.path(), target).map_err(failed)?;
        }
        Ok(())
    }
}

/// Writes texts to files of a folder, which is made if it is not there: all of them, or none.
pub(crate) fn write_all(folder: &Path, texts: &[(String, String)]) -> Result<(), Error> {
    std::fs::create_dir_all(folder).map_err(|e| Error::file(folder, e))?;
    let mut written = Vec::new();
    for (name, text) in texts {
        let path = folder.join(name);
        let mut file = temporary(&path)?;
        file.write_all(text.as_bytes()).map_err(|e| not_written(&path, &e))?;
        written.push((file, path));
    }
    written.into_iter().try_for_each(|(file, path)| keep(file, &path))
}
