//! Files and folders for their owner alone.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use turnwright::trust::ConversationSecret;

use crate::exit::misuse;

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

/// The secret in this file, which is made if there is none.
pub(super) fn secret(file: &Path) -> anyhow::Result<ConversationSecret> {
    if let Some(secret) = read_secret(file)? {
        return Ok(secret);
    }
    let secret = ConversationSecret::random()?;
    make_secret(file, &secret.expose())
        .with_context(|| format!("`{}` cannot be written", file.display()))?;
    // Whoever was faster has made the one that counts.
    Ok(read_secret(file)?.unwrap_or(secret))
}

fn read_secret(file: &Path) -> anyhow::Result<Option<ConversationSecret>> {
    let shown = file.display();
    match read_start(file) {
        Ok(bytes) => match bytes.try_into() {
            Ok(bytes) => Ok(Some(ConversationSecret::from_bytes(bytes))),
            Err(_) => Err(misuse(format!(
                "`{shown}` has not 32 bytes: delete it, and another secret is made. Prompts then cost what they cost the first \
                 time"
            ))),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(misuse(format!("`{shown}` cannot be read: {error}"))),
    }
}

/// A little more than a secret has, of a file that is one: nothing else is waited for, nor read without end.
fn read_start(file: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(file)?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut bytes = Vec::new();
    File::open(file)?.take(33).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes all of it or nothing, and never replaces another one.
fn make_secret(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut new = NewFile::create(file)?;
    new.writer.write_all(bytes)?;
    match new.persist(false) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_made_once_and_never_replaced() {
        let folder = std::env::temp_dir().join(format!("turnwright-secret-{}", std::process::id()));
        make_folder(&folder).unwrap();
        let file = folder.join("x.secret");
        let first = secret(&file).unwrap().expose();
        assert_eq!(secret(&file).unwrap().expose(), first);
        make_secret(&file, &[7; 32]).unwrap();
        assert_eq!(secret(&file).unwrap().expose(), first);
        fs::write(&file, "short").unwrap();
        assert!(secret(&file).is_err());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }
}
