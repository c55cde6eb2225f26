//! A storage in one file, with its spool and its secret next to it. The secret has 32 random bytes in a file that only its
//! owner can read.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use turnwright_core::Storage;
use turnwright_core::files::{create_private_file, open_regular_file};
use turnwright_core::store::StoreError;
use turnwright_core::trust::ConversationSecret;

use super::error::{Failure, SqliteErrorKind};
use super::{SqliteStore, beside};

/// Adds `Storage::sqlite(path)`.
///
/// ```
/// use turnwright_core::{BoxError, DispatchContext, Message, Storage};
/// use turnwright_sqlite::SqliteStorage as _;
///
/// /// A stand-in for a model: it counts the messages that it sees.
/// async fn model(ctx: DispatchContext) -> Result<(), BoxError> {
///     ctx.answer(format!("That was message {}.", ctx.records().all::<Message>().len())).await?;
///     Ok(())
/// }
///
/// async fn say(folder: &std::path::Path, text: &str) -> Result<String, BoxError> {
///     let storage = Storage::sqlite(folder.join("chat.db")).await?;
///     let runner = turnwright_core::runner(model).storage(storage).build()?;
///     Ok(runner.conversation("chat-1").say(text).await.into_answer()?)
/// }
///
/// # let temporary = tempfile::tempdir().unwrap();
/// # let folder = temporary.path();
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// assert_eq!(say(folder, "Hello").await?, "That was message 1.");
/// // Another runner, which could be in another process, continues:
/// assert_eq!(say(folder, "Hello again").await?, "That was message 3.");
/// # Ok::<(), BoxError>(()) }).unwrap();
/// ```
#[async_trait]
pub trait SqliteStorage: Sized {
    /// Opens a storage in one SQLite file, and creates what does not exist: the database `FILE`, the folder
    /// `FILE.results` for large results and media, and `FILE.secret` with 32 random bytes. Only the owner can read
    /// them.
    ///
    /// For other options, and for deletion and retention, open a [`SqliteStore`] and call [`SqliteStore::storage`].
    ///
    /// # Errors
    /// See [`SqliteStore::open`] and [`SqliteStore::storage`].
    #[doc(alias("open", "connect", "SqliteSaver"))]
    async fn sqlite(path: impl AsRef<Path> + Send) -> Result<Self, StoreError>;
}

#[async_trait]
impl SqliteStorage for Storage {
    async fn sqlite(path: impl AsRef<Path> + Send) -> Result<Self, StoreError> {
        SqliteStore::open(path).await?.storage().await
    }
}

impl SqliteStore {
    /// Returns the storage of this database: the store, its spool, and the secret in the file `FILE.secret` next to
    /// the database.
    ///
    /// The secret is created if it does not exist, readable by its owner only. If several processes create it at the
    /// same time, all of them get the same one. A read-only store does not create a secret. The storage of a database
    /// in memory uses the secret of the process.
    ///
    /// ```
    /// use turnwright_sqlite::{Durability, SqliteStore};
    ///
    /// # let temporary = tempfile::tempdir().unwrap();
    /// # let folder = temporary.path();
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let store = SqliteStore::builder(folder.join("chat.db")).durability(Durability::Always).open().await?;
    /// let storage = store.storage().await?;
    /// assert!(storage.is_persistent());
    /// # store.close().await?;
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`SqliteErrorKind::Secret`](super::SqliteErrorKind::Secret) if the secret file cannot be read or created, has
    /// the wrong length, or is accessible to other users; `E_INVALID_STORAGE` if the spool of the store is not
    /// persistent.
    pub async fn storage(&self) -> Result<Storage, StoreError> {
        let secret = self.secret().await?;
        let spool = Arc::clone(self.results());
        let built = Storage::new(self.clone(), spool, secret);
        built.map_err(StoreError::failed)
    }

    async fn secret(&self) -> Result<ConversationSecret, StoreError> {
        let Some(path) = self.path() else {
            return Storage::memory().secret().map_err(StoreError::failed);
        };
        let (file, read_only) = (beside(path, ".secret"), self.0.read_only);
        let work = move || {
            if read_only {
                match load(&file)? {
                    Some(secret) => Ok(secret),
                    None => Ok(Storage::memory().secret().map_err(Failure::from)?),
                }
            } else {
                load_or_create(&file)
            }
        };
        let read = self.0.writer.run(move |_| work()).await;
        read.map_err(|failure| self.error(failure))
    }
}

/// The length of a secret.
const BYTES: usize = 32;

/// The consequence of replacing a secret.
const REPLACED: &str = "Then a new secret is created, and the provider's prompt cache misses for earlier conversations";

/// Returns the secret in this file. Creates the file if it does not exist.
fn load_or_create(file: &Path) -> Result<ConversationSecret, Failure> {
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
fn load(file: &Path) -> Result<Option<ConversationSecret>, Failure> {
    let shown = file.display();
    let unreadable = |error: io::Error| failure(format!("`{shown}` cannot be read: {error}"));
    let opened = match open_regular_file(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(unreadable)?,
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = opened.metadata().map_err(unreadable)?.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(failure(format!(
                "`{shown}` is accessible to other users (mode {mode:03o}): run `chmod 600` on it. If another user may have read it, \
                 delete it instead. {REPLACED}"
            )));
        }
    }
    let mut bytes = Vec::new();
    let mut bounded = opened.take(BYTES as u64 + 1);
    bounded.read_to_end(&mut bytes).map_err(unreadable)?;
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
