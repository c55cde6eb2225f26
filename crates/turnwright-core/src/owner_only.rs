//! Files and folders that only their owner can access, because what they contain may be secret.
//!
//! ```
//! use std::io::Write as _;
//! use turnwright_core::owner_only;
//!
//! let folder = std::env::temp_dir().join(format!("turnwright-owner-only-{}", std::process::id()));
//! owner_only::create_folder(&folder)?;
//! let mut file = owner_only::create_file(&folder.join("token"))?;
//! file.write_all(b"secret")?;
//! # drop(file);
//! # std::fs::remove_dir_all(folder)?;
//! # Ok::<(), std::io::Error>(())
//! ```

use std::fs::{DirBuilder, File};
use std::io;
use std::path::Path;

/// Creates a file for writing, with mode 0600 on Unix. Elsewhere it has the permissions of its folder.
///
/// # Errors
/// Returns `AlreadyExists` if there is a file: it could have other permissions. Returns other errors of the file system.
pub fn create_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Creates a folder and its parents, with mode 0700 on Unix. Those that exist stay as they are.
///
/// # Errors
/// Returns errors of the file system.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::{create_file, create_folder, io};

    #[test]
    fn only_the_owner_has_access_and_nothing_is_replaced() {
        let folder = std::env::temp_dir().join(format!("turnwright-owner-{}", std::process::id()));
        let inner = folder.join("inner");
        create_folder(&inner).unwrap();
        create_folder(&inner).unwrap();
        let file = inner.join("file");
        let made = create_file(&file).unwrap();
        let mode = |metadata: std::fs::Metadata| metadata.permissions().mode() & 0o777;
        assert_eq!(mode(made.metadata().unwrap()), 0o600);
        assert_eq!(mode(inner.metadata().unwrap()), 0o700);
        let error = create_file(&file).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
