//! Files that appear when they are complete: a temporary one in the same folder takes the name in the end.

use std::path::Path;

use tempfile::NamedTempFile;

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
