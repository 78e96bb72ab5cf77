//! The copy of the workspace that is mutated.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

/// A copy of the files that git knows, and where it is built.
pub struct Tree {
    pub root: PathBuf,
    pub target: PathBuf,
}

impl Tree {
    /// Copies what differs, so that a second run builds little; not the files that are mutated.
    pub fn copy(from: &Path, place: &Path, mutated: &BTreeMap<String, String>) -> Result<Self> {
        let tree = Self { root: place.join("tree"), target: place.join("build") };
        let files = Command::new("git").current_dir(from).args(["ls-files", "-z"]).output().context("git ls-files")?;
        let files = String::from_utf8(files.stdout)?;
        for file in files.split_terminator('\0').filter(|file| !mutated.contains_key(*file)) {
            // What is deleted but not committed is listed still.
            if let Ok(bytes) = fs::read(from.join(file)) {
                tree.write(file, &bytes)?;
            }
        }
        Ok(tree)
    }

    /// Writes a file unless it holds just that.
    pub fn write(&self, file: &str, bytes: &[u8]) -> Result<()> {
        let path = self.root.join(file);
        if fs::read(&path).is_ok_and(|old| old == bytes) {
            return Ok(());
        }
        fs::create_dir_all(path.parent().context("a file has a folder")?)?;
        fs::write(&path, bytes).with_context(|| path.display().to_string())
    }

    pub fn read(&self, file: &str) -> Result<String> {
        fs::read_to_string(self.root.join(file)).with_context(|| file.to_owned())
    }
}
