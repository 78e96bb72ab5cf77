//! A folder that appears when it is complete.

use std::fmt;
use std::fs::{self, DirEntry, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;
use tempfile::TempDir;

/// A file or a folder that could not be written, and why.
#[derive(Debug)]
pub struct NotWritten {
    /// Where it would have been.
    pub path: PathBuf,
    /// Why it is not there.
    pub cause: String,
}

impl fmt::Display for NotWritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.cause)
    }
}

impl std::error::Error for NotWritten {}

impl NotWritten {
    fn new(path: &Path, cause: impl fmt::Display) -> Self {
        // A temporary name would only puzzle.
        let cause = cause.to_string();
        let cause = cause.split(" at path ").next().unwrap_or_default();
        Self { path: path.into(), cause: format!("cannot be written: {cause}") }
    }
}

/// A folder whose files are written beside it, under another name, until all are there.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    staged: TempDir,
    /// Behind what is staged in them, which goes first.
    _above: NewFolders,
}

/// Folders that were not there, from the innermost to the outermost. Those in which nothing is left go again.
#[derive(Debug)]
struct NewFolders(Vec<PathBuf>);

impl NewFolders {
    fn create(path: &Path) -> io::Result<Self> {
        let new = path.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.exists());
        let new = Self(new.map(Into::into).collect());
        fs::create_dir_all(path).map(|()| new)
    }
}

impl Drop for NewFolders {
    fn drop(&mut self) {
        for folder in &self.0 {
            // One that has something stays.
            let _ = fs::remove_dir(folder);
        }
    }
}

impl Folder {
    /// Begins a folder. What is there under its name stays as it is until [`Folder::keep`].
    ///
    /// # Errors
    /// The name is that of something else, or nothing can be written beside it.
    pub fn create(path: &Path) -> Result<Self, NotWritten> {
        let failed = |e: io::Error| NotWritten::new(path, e);
        if path.exists() && !path.is_dir() {
            return Err(NotWritten { path: path.into(), cause: "is no folder".into() });
        }
        // Beside the files that will be replaced, or beside the folder that will be new: on its disk, and where one may write.
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let beside = if path.is_dir() { path } else { parent };
        let above = NewFolders::create(beside).map_err(failed)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".ubtile-").suffix(".tmp");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // As for any new folder: whoever the umask allows.
            builder.permissions(fs::Permissions::from_mode(0o777));
        }
        let staged = builder.tempdir_in(beside).map_err(failed)?;
        Ok(Self { path: path.into(), staged, _above: above })
    }

    /// Whether files could be written there, before what is to be written is known; nothing is left of the attempt.
    ///
    /// # Errors
    /// As of [`Folder::create`], of what is there of the path.
    pub fn probe(path: &Path) -> Result<(), NotWritten> {
        let there = path.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
        Self::create(there).map(drop)
    }

    /// Where it will be.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file of it; the name may begin with names of folders.
    ///
    /// # Errors
    /// It cannot be written; the error says so by the name that it would have had.
    pub fn write<E: fmt::Display>(
        &self,
        name: &str,
        write: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
    ) -> Result<(), NotWritten> {
        let failed = |e: &dyn fmt::Display| NotWritten::new(&self.path.join(name), e);
        let staged = self.staged.path().join(name);
        if let Some(parent) = staged.parent() {
            fs::create_dir_all(parent).map_err(|e| failed(&e))?;
        }
        let mut file = BufWriter::new(File::create(&staged).map_err(|e| failed(&e))?);
        write(&mut file).map_err(|e| failed(&e))?;
        file.flush().map_err(|e| failed(&e))
    }

    /// Writes a text.
    ///
    /// # Errors
    /// As for [`Folder::write`].
    pub fn text(&self, name: &str, text: &str) -> Result<(), NotWritten> {
        self.write(name, |to| to.write_all(text.as_bytes()))
    }

    /// Writes a document, and returns its value.
    ///
    /// # Errors
    /// As for [`Folder::write`].
    pub fn json(&self, name: &str, document: &impl Serialize) -> Result<Value, NotWritten> {
        self.write(name, |to| {
            serde_json::to_writer_pretty(&mut *to, document)?;
            writeln!(to)
        })?;
        serde_json::to_value(document).map_err(|e| NotWritten::new(&self.path.join(name), e))
    }

    /// Gives it its name. In a folder that is there already, its files replace those of the same name, each at once, and
    /// so do its folders, but for a moment without one where that is not empty.
    ///
    /// # Errors
    /// A folder has the name of a file, or a file that of a folder, and nothing is replaced; or something could not be renamed.
    pub fn keep(self) -> Result<(), NotWritten> {
        let failed = |e: io::Error| NotWritten::new(&self.path, e);
        match fs::rename(self.staged.path(), &self.path) {
            Ok(()) => {
                // It is where it was only under another name.
                let _ = self.staged.keep();
                return Ok(());
            }
            // It was there, or somebody else was faster.
            Err(_) if self.path.is_dir() => {}
            Err(e) => return Err(failed(e)),
        }
        let entries =
            fs::read_dir(self.staged.path()).map_err(failed)?.collect::<Result<Vec<_>, _>>().map_err(failed)?;
        let to = |entry: &DirEntry| self.path.join(entry.file_name());
        // Before anything is moved: what else is in the way stays, and so does all that would be replaced.
        if let Some(other) = entries.iter().map(|entry| (entry.path(), to(entry))).find_map(in_the_way) {
            return Err(other);
        }
        entries
            .iter()
            .try_for_each(|entry| replace(&entry.path(), &to(entry)).map_err(|e| NotWritten::new(&to(entry), e)))
    }
}

/// A folder where a file is to be, or a file where a folder is.
fn in_the_way((from, to): (PathBuf, PathBuf)) -> Option<NotWritten> {
    let cause = match (from.is_dir(), to.is_dir(), to.exists()) {
        (false, true, _) => "is a folder, where a file is to be written",
        (true, false, true) => "is a file, where a folder is to be written",
        _ => return None,
    };
    Some(NotWritten { path: to, cause: cause.into() })
}

/// Gives a file or a folder its name, in place of what has it.
fn replace(from: &Path, to: &Path) -> io::Result<()> {
    let (mut tries, mut old) = (0, None);
    loop {
        match fs::rename(from, to) {
            // A folder that is not empty cannot be replaced; the old one goes with what is staged. Others may do the same now.
            Err(_) if to.is_dir() && tries < 16 => {
                let mut aside = from.as_os_str().to_owned();
                aside.push(format!(".old{tries}"));
                match fs::rename(to, &aside) {
                    Ok(()) => old = Some(aside),
                    Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                    Err(e) => return Err(e),
                }
                tries += 1;
            }
            Err(e) => {
                // The old one goes back, if nobody else has made one.
                let _ = old.map(|old| fs::rename(old, to));
                return Err(e);
            }
            Ok(()) => return Ok(()),
        }
    }
}
