//! The secret of a database: 32 random bytes in a file next to it that only its owner can read.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use turnwright_core::files::create_private_file;
use turnwright_core::trust::ConversationSecret;

use super::error::{Failure, SqliteErrorKind};

/// The length of a secret.
const BYTES: usize = 32;

/// The consequence of replacing a secret.
const REPLACED: &str = "Then a new secret is created, and the provider's prompt cache misses for earlier conversations";

/// Returns the file next to a database, or next to the target of a link.
pub(super) fn file_of(database: &Path) -> PathBuf {
    let real = if database.is_symlink() {
        database
            .canonicalize()
            .unwrap_or_else(|_| database.to_owned())
    } else {
        database.to_owned()
    };
    let mut name = OsString::from(real);
    name.push(".secret");
    name.into()
}

/// Returns the secret in this file. Creates the file if it does not exist.
pub(super) fn load_or_create(file: &Path) -> Result<ConversationSecret, Failure> {
    if let Some(secret) = load(file)? {
        return Ok(secret);
    }
    let failed =
        |error: io::Error| failure(format!("`{}` cannot be created: {error}", file.display()));
    let secret = ConversationSecret::random().map_err(failed)?;
    create(file, &secret.expose()).map_err(failed)?;
    // Another process may have been faster. The existing file wins.
    Ok(load(file)?.unwrap_or(secret))
}

/// Returns the secret in this file, if the file exists.
pub(super) fn load(file: &Path) -> Result<Option<ConversationSecret>, Failure> {
    let shown = file.display();
    let bytes = match read(file) {
        Ok(read) => read?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failure(format!("`{shown}` cannot be read: {error}"))),
    };
    match <[u8; BYTES]>::try_from(bytes) {
        Ok(bytes) => Ok(Some(ConversationSecret::from_bytes(bytes))),
        Err(bytes) => {
            let count = match bytes.len() {
                more if more > BYTES => format!("more than {BYTES}"),
                count => count.to_string(),
            };
            Err(failure(format!(
                "`{shown}` has {count} bytes instead of {BYTES}: restore it from a backup, or delete it. {REPLACED}"
            )))
        }
    }
}

/// Reads slightly more than the length of a secret. Rejects everything but regular files, because reading might
/// block.
fn read(file: &Path) -> io::Result<Result<Vec<u8>, Failure>> {
    if !fs::metadata(file)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let opened = File::open(file)?;
    if let Err(refused) = check_owner_only(file, &opened)? {
        return Ok(Err(refused));
    }
    let mut bytes = Vec::new();
    opened.take(BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(Ok(bytes))
}

/// Rejects a file that other users can read or write.
#[cfg(unix)]
fn check_owner_only(file: &Path, opened: &File) -> io::Result<Result<(), Failure>> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = opened.metadata()?.permissions().mode() & 0o777;
    if mode & 0o077 == 0 {
        return Ok(Ok(()));
    }
    let shown = file.display();
    Ok(Err(failure(format!(
        "`{shown}` is accessible to other users (mode {mode:03o}): run `chmod 600` on it. If another user may have read it, \
         delete it instead. {REPLACED}"
    ))))
}

#[cfg(not(unix))]
fn check_owner_only(_: &Path, _: &File) -> io::Result<Result<(), Failure>> {
    Ok(Ok(()))
}

/// Creates the file completely or not at all. Never replaces an existing one.
fn create(file: &Path, bytes: &[u8]) -> io::Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let temporary = file.with_added_extension(format!("{}-{count}.tmp", std::process::id()));
    // Left by a dead process with the same id.
    let _ = fs::remove_file(&temporary);
    let linked = write(&temporary, bytes).and_then(|()| fs::hard_link(&temporary, file));
    let _ = fs::remove_file(&temporary);
    match linked {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    }
}

fn write(temporary: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = create_private_file(temporary)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn failure(detail: String) -> Failure {
    Failure::new(SqliteErrorKind::Secret, detail)
}
