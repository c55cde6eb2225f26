//! A storage in one file, with its spool and its secret next to it.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use turnwright_core::Storage;
use turnwright_core::store::StoreError;
use turnwright_core::trust::ConversationSecret;

use super::error::Failure;
use super::{SqliteStore, secret};

/// Adds `Storage::sqlite(path)`.
///
/// ```
/// use turnwright_core::{BoxError, Conversation, DispatchContext, Message, Storage};
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
///     Ok(Conversation::new(&runner, "chat-1").say(text).await.into_answer()?)
/// }
///
/// # let folder = std::env::temp_dir().join(format!("turnwright-doc-storage-{}", std::process::id()));
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// # std::fs::create_dir_all(&folder)?;
/// assert_eq!(say(&folder, "Hello").await?, "That was message 1.");
/// // Another runner, which could be in another process, continues:
/// assert_eq!(say(&folder, "Hello again").await?, "That was message 3.");
/// # std::fs::remove_dir_all(&folder)?;
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
    /// # let folder = std::env::temp_dir().join(format!("turnwright-doc-of-store-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder).unwrap();
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let store = SqliteStore::builder(folder.join("chat.db")).durability(Durability::Always).open().await?;
    /// let storage = store.storage().await?;
    /// assert!(storage.is_persistent());
    /// # store.close().await?;
    /// # std::fs::remove_dir_all(&folder)?;
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
        let built = Storage::builder(self.clone(), spool, secret).build();
        built.map_err(StoreError::failed)
    }

    async fn secret(&self) -> Result<ConversationSecret, StoreError> {
        let Some(path) = self.path() else {
            return Storage::memory().secret().map_err(StoreError::failed);
        };
        let (file, read_only) = (secret::file_of(path), self.0.read_only);
        let work = move || {
            if read_only {
                match secret::load(&file)? {
                    Some(secret) => Ok(secret),
                    None => Ok(Storage::memory().secret().map_err(Failure::from)?),
                }
            } else {
                secret::load_or_create(&file)
            }
        };
        let read = self.0.writer.run(move |_| work()).await;
        read.map_err(|failure| self.error(failure))
    }
}
