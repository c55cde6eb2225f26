//! A folder for a test.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A folder of its own, gone when this is dropped.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Folder(TempDir::with_prefix_in("folder-", env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// A file in it, which need not be there.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// The path of a file in it that holds this.
    pub(crate) fn write(&self, name: &str, content: &str) -> String {
        let path = self.file(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }
}
