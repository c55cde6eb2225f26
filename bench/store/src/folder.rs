//! A folder for the files, deleted at the end.

use std::io;
use std::path::PathBuf;
use std::{env, fs, process};

pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Uses the folder in `BENCH_FOLDER`, otherwise the temporary folder: results depend on the disk.
    pub(crate) fn new() -> io::Result<Self> {
        let within = env::var_os("BENCH_FOLDER").map_or_else(env::temp_dir, PathBuf::from);
        let path = within.join(format!("turnwright-bench-store-{}", process::id()));
        fs::create_dir_all(&path)?;
        Ok(Folder(path))
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(format!("{name}.db"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
