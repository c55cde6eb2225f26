//! Files and directories that only their owner can access.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use turnwright::files::create_private_file;

/// Opens or creates a file to be locked.
pub(super) fn lock_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Whether an open file is the one at this path.
#[cfg(unix)]
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(file), Ok(there)) => (file.dev(), file.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

/// Whether an open file is the one at this path. Such files are never removed on this system.
#[cfg(not(unix))]
pub(super) fn is_at(_: &File, _: &Path) -> bool {
    true
}

/// Removes a file if it exists.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

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
        match replaces {
            true => fs::rename(&self.temporary, &self.target),
            false => fs::hard_link(&self.temporary, &self.target),
        }
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        // It has been moved, or is incomplete.
        let _ = fs::remove_file(&self.temporary);
    }
}
