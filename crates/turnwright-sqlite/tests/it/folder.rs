//! A temporary folder that is deleted after the test.

use std::fs;
use std::path::{Path, PathBuf};

pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.0.path().join("chat.db")
    }
}

/// Returns all files of a folder with their bytes, to verify that nothing changed.
pub(crate) fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut all: Vec<_> = entries
        .map(|path| (path.clone(), fs::read(&path).unwrap_or_default()))
        .collect();
    all.sort();
    all
}
