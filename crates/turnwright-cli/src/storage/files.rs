//! Files and folders for their owner alone.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

/// Makes a folder and those that it stands in.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// A file to be locked, which is made if it is not there.
pub(super) fn lock_file(path: &Path) -> io::Result<File> {
    owner_only().create(true).truncate(false).open(path)
}

/// Whether an open file is the one that stands there.
#[cfg(unix)]
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(file), Ok(there)) => (file.dev(), file.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

/// Whether an open file is the one that stands there. No such file is ever taken away here.
#[cfg(not(unix))]
pub(super) fn is_at(_: &File, _: &Path) -> bool {
    true
}

/// Takes a file away, if it is there.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A file that is written next to its target and takes its place when it is complete. Leaves nothing behind if it never is.
pub(crate) struct NewFile {
    temporary: PathBuf,
    pub(crate) target: PathBuf,
    pub(crate) writer: BufWriter<File>,
}

impl NewFile {
    pub(crate) fn create(target: &Path) -> io::Result<Self> {
        let temporary = target.with_added_extension(format!("{}.tmp", std::process::id()));
        // Left by a process of the same id that did not come to its end.
        let _ = fs::remove_file(&temporary);
        let file = owner_only().create_new(true).open(&temporary)?;
        Ok(NewFile {
            temporary,
            target: target.to_owned(),
            writer: BufWriter::new(file),
        })
    }

    /// Writes it to the disk and puts it in place. Unless it replaces, fails if the target exists.
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
        // It is there under its own name, or it is not wanted.
        let _ = fs::remove_file(&self.temporary);
    }
}

fn owner_only() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
