//! Files of a program: private ones, bounded ones, and files that are replaced as a whole.
//!
//! ```
//! use turnwright_artifact::files;
//!
//! # let temporary = tempfile::tempdir()?;
//! let folder = temporary.path().join("state");
//! files::create_private_folder(&folder)?;
//! let path = folder.join("token");
//! files::replace_file(&path, b"secret", files::create_private_file)?;
//! assert_eq!(files::read_regular_file(&path, 1 << 20)?, "secret");
//! # Ok::<(), std::io::Error>(())
//! ```

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Creates a file that only its owner can access, for writing: with mode 0600 on Unix. Elsewhere it has the permissions of its folder.
///
/// # Errors
/// Returns `AlreadyExists` if there is a file: it could have other permissions. Returns other errors of the file system.
pub fn create_private_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Creates a folder and its parents, which only their owner can access: with mode 0700 on Unix. Those that exist stay as they are.
///
/// # Errors
/// Returns errors of the file system.
pub fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Reads the text of a regular file of bounded size. Symbolic links are followed. Pipes and devices, which could block for ever or
/// have no end, are refused.
///
/// ```
/// use std::io::ErrorKind;
/// use turnwright_artifact::files::read_regular_file;
///
/// let error = read_regular_file(".", 1 << 20).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::InvalidInput);
/// ```
///
/// # Errors
/// `InvalidInput` if it is not a regular file, `FileTooLarge` if it has more than `max_bytes`, `InvalidData` if it is not UTF-8, and
/// the errors of the file system.
pub fn read_regular_file(path: impl AsRef<Path>, max_bytes: u64) -> io::Result<String> {
    open_regular_file(path.as_ref()).and_then(|file| read_bounded(file, max_bytes))
}

/// Opens a regular file for reading. Symbolic links are followed.
///
/// # Errors
/// `InvalidInput` if it is not a regular file, and the errors of the file system.
pub fn open_regular_file(path: &Path) -> io::Result<File> {
    open_regular(path, true)
}

/// Opens a regular file. Checks the opened file, not its name, because another process may replace it at any time.
pub(crate) fn open_regular(path: &Path, follow_links: bool) -> io::Result<File> {
    let not_regular = || io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file");
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // Without `O_NONBLOCK`, opening a pipe waits for a writer.
        let no_follow = if follow_links { 0 } else { libc::O_NOFOLLOW };
        options.custom_flags(libc::O_NONBLOCK | no_follow);
    }
    #[cfg(not(unix))]
    if !follow_links && fs::symlink_metadata(path)?.is_symlink() {
        return Err(not_regular());
    }
    let file = options.open(path)?;
    if !file.metadata()?.is_file() {
        return Err(not_regular());
    }
    Ok(file)
}

/// Reads the text of a file of bounded size.
///
/// # Errors
/// Like [`read_regular_file`].
pub fn read_bounded(file: File, max_bytes: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(max_bytes.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        let message = format!("it is larger than the limit of {} MiB", max_bytes >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let message = format!("it is not valid UTF-8 at byte {at}");
        io::Error::new(io::ErrorKind::InvalidData, message)
    })
}

/// Replaces a file: afterwards it is complete, or as before. `create` creates a new file with the permissions that it should have,
/// for example [`create_private_file`] or [`File::create_new`].
///
/// # Errors
/// The errors of the file system.
pub fn replace_file(
    path: &Path,
    content: &[u8],
    create: impl FnOnce(&Path) -> io::Result<File>,
) -> io::Result<()> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}-{number}.tmp", std::process::id()));
    let temporary = PathBuf::from(temporary);
    // One of a process that died would have the permissions that it had.
    let _ = fs::remove_file(&temporary);
    let written = create(&temporary).and_then(|mut file| {
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    });
    written.inspect_err(|_| {
        let _ = fs::remove_file(&temporary);
    })
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::{create_private_file, create_private_folder, io};

    #[test]
    fn only_the_owner_has_access_and_nothing_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        create_private_folder(&inner).unwrap();
        create_private_folder(&inner).unwrap();
        let file = inner.join("file");
        let made = create_private_file(&file).unwrap();
        let mode = |metadata: std::fs::Metadata| metadata.permissions().mode() & 0o777;
        assert_eq!(mode(made.metadata().unwrap()), 0o600);
        assert_eq!(mode(inner.metadata().unwrap()), 0o700);
        let error = create_private_file(&file).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    }
}
