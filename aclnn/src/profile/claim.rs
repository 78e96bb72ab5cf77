//! The folder of a process's calls: no two processes write to one, be it at the same time or one after the other.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::mem;
use std::path::{Path, PathBuf};

use super::say;

/// `folder`, or the first of `run2`, `run3` and so on in it that is new, if the folder has another process's calls.
pub(super) fn claim(folder: PathBuf) -> PathBuf {
    match unshared(&folder) {
        Ok(own) if own != folder => {
            say(&format!("{} is another process's: calls of this one go to {}", folder.display(), own.display()));
            own
        }
        Ok(own) => own,
        // What is wrong with it is told when the first call is written.
        Err(_) => folder,
    }
}

fn unshared(folder: &Path) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    if let Some(locked) = lock(folder)?
        && !has_calls(folder)?
    {
        // The lock ends with this process.
        mem::forget(locked);
        return Ok(folder.into());
    }
    let mut number = 2u64;
    loop {
        let own = folder.join(format!("run{number}"));
        match fs::create_dir(&own) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
            made => return made.map(|()| own),
        }
    }
}

/// The folder, locked as long as the file is open; `None` where another process that still runs has done so.
fn lock(folder: &Path) -> io::Result<Option<File>> {
    let file = File::open(folder)?;
    // On a disk that knows no locks it counts as free: calls that are written there tell as well.
    let taken = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
    Ok((!taken).then_some(file))
}

/// Whether a call has been written there: `0001-aclnnIm2colBackward` and the like.
fn has_calls(folder: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let number = name.to_string_lossy().split_once("-aclnn").map(|(number, _)| number.parse::<u64>().is_ok());
        if number == Some(true) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::{env, process};

    use super::*;

    #[test]
    fn no_two_processes_have_one_folder() {
        let folder = env::temp_dir().join(format!("ubtile-aclnn-profile-{}", process::id()));
        // Of a process with this number that was stopped.
        let _ = fs::remove_dir_all(&folder);
        let above = folder.join("new/folder");
        assert_eq!(claim(above.clone()), above);
        // The lock tells apart what asks for it, two processes or, as here, two calls.
        assert_eq!(claim(above.clone()), above.join("run2"));
        assert_eq!(claim(above.clone()), above.join("run3"));
        // Files of somebody else's do not matter, calls of a process that is gone do.
        fs::write(folder.join("0001-notes.txt"), "").unwrap();
        assert!(!has_calls(&folder).unwrap());
        fs::create_dir(folder.join("0002-aclnnIm2colBackward")).unwrap();
        assert_eq!(claim(folder.clone()), folder.join("run2"));
        assert_eq!(claim(folder.clone()), folder.join("run3"));
        let file = folder.join("0001-notes.txt");
        assert_eq!(claim(file.clone()), file);
        fs::remove_dir_all(&folder).unwrap();
    }
}
