//! The lock and the input history of a conversation, in `FILE.chats`.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::{Storage, check_name};

/// The lock and the input history of a conversation. One chat holds the lock at a time.
pub(crate) struct ChatLock {
    /// The lines that were typed.
    pub(crate) history: PathBuf,
    place: PathBuf,
    /// Held as long as this lives.
    _lock: File,
}

/// The number of attempts to lock a file that another process removes.
const TRIES: usize = 16;

impl ChatLock {
    /// Takes the lock. Returns `None` if another process holds it.
    pub(crate) fn take(storage: &Storage, name: &str) -> anyhow::Result<Option<Self>> {
        let folder = storage.place.sibling("chats");
        let shown = folder.display();
        let place = folder.join(format!("{name}.lock"));
        for _ in 0..TRIES {
            let lock = turnwright::files::create_private_folder(&folder)
                .and_then(|()| lock_file(&place))
                .with_context(|| format!("cannot write to the directory `{shown}`"))?;
            match lock.try_lock() {
                Ok(()) if is_at(&lock, &place) => {
                    return Ok(Some(ChatLock {
                        history: folder.join(format!("{name}.history")),
                        place,
                        _lock: lock,
                    }));
                }
                // The former holder removed its file: other processes use another one.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => {
                    return Err(error)
                        .with_context(|| format!("cannot lock a file in the directory `{shown}`"));
                }
            }
        }
        Ok(None)
    }

    /// The conversations that chats have open now.
    pub(crate) fn all_taken(storage: &Storage) -> anyhow::Result<Vec<String>> {
        let Ok(entries) = fs::read_dir(storage.place.sibling("chats")) else {
            return Ok(Vec::new());
        };
        let mut taken = Vec::new();
        for entry in entries {
            let file = entry?.file_name();
            let name = file.to_str().and_then(|file| file.strip_suffix(".lock"));
            if let Some(name) = name.filter(|name| check_name(name).is_ok())
                && ChatLock::take(storage, name)?.is_none()
            {
                taken.push(name.to_owned());
            }
        }
        taken.sort_unstable();
        Ok(taken)
    }

    /// Deletes the history and the lock file, so that not even the name of the conversation is left.
    pub(crate) fn clear(self) -> io::Result<()> {
        remove(&self.history)?;
        // On other systems a lock cannot be matched with its file, so the file stays.
        if cfg!(unix) {
            remove(&self.place)
        } else {
            Ok(())
        }
    }
}

/// Opens or creates a file to be locked.
fn lock_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Whether an open file is the one at this path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(file), Ok(there)) => (file.dev(), file.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

/// Whether an open file is the one at this path. Such files are never removed on this system.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

/// Removes a file if it exists.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
