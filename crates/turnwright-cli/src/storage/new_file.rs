//! Replaces a file at once.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use turnwright::files::create_private_file;

/// A file that is written next to its target and replaces it when it is complete. Dropping it removes an incomplete file.
pub(crate) struct NewFile {
    temporary: PathBuf,
    pub(crate) target: PathBuf,
    pub(crate) writer: BufWriter<File>,
}

impl NewFile {
    pub(crate) fn create(target: &Path) -> io::Result<Self> {
        let temporary = target.with_added_extension(format!("{}.tmp", std::process::id()));
        // Left over from a crashed process with the same id.
        let _ = fs::remove_file(&temporary);
        let file = create_private_file(&temporary)?;
        Ok(NewFile {
            temporary,
            target: target.to_owned(),
            writer: BufWriter::new(file),
        })
    }

    /// Syncs the file and moves it to its target. Fails if the target exists, unless `replaces` is set.
    pub(crate) fn persist(mut self, replaces: bool) -> io::Result<()> {
        self.writer.flush()?;
        self.writer.get_ref().sync_all()?;
        if replaces {
            fs::rename(&self.temporary, &self.target)
        } else {
            fs::hard_link(&self.temporary, &self.target)
        }
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        // It has been moved, or is incomplete.
        let _ = fs::remove_file(&self.temporary);
    }
}
