//! Conversations in one file of SQLite.
//!
//! [`SqliteStore`] is a [`Store`]: give it to a runner. Besides it can do what belongs to a file:
//! [delete a conversation](SqliteStore::delete_conversation) with all of its bytes, [keep within
//! bounds](SqliteStore::apply_retention), [sweep](SqliteStore::sweep) bytes that nobody names, and
//! [check itself](SqliteStore::integrity_check).
//!
#![doc = include_str!("promises.md")]

mod apply;
mod builder;
mod bytes;
mod encode;
mod erase;
mod failure;
mod format;
mod integrity;
mod load;
mod open;
mod patience;
mod readers;
mod retention;
mod rows;
mod scoped;
mod sweep;
mod trouble;
mod writer;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::Connection;
use turnwright_core::record::{RecordKind, Reopen};
use turnwright_core::spool::Spool;
use turnwright_core::store::{
    Batch, Loaded, Query, Revision, Scope, ScopeFilter, Store, StoreError,
};

pub use builder::{Durability, SqliteStoreBuilder};
pub use erase::Deleted;
pub use retention::{Retained, Retention};
pub use sweep::Swept;
pub use trouble::{SqliteError, Trouble};

use encode::{Encoded, check_name, reads_bytes};
use failure::Failure;
use readers::Readers;
use rows::Wanted;
use writer::{Writer, WriterHandle};

/// Keeps records in one file, which any number of processes may share. Clones share it.
///
/// ```
/// use turnwright_core::record::Message;
/// use turnwright_core::store::{Scope, StoreExt as _};
/// use turnwright_store::sqlite::SqliteStore;
///
/// # let folder = std::env::temp_dir().join(format!("turnwright-doc-store-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// # let file = folder.join("chat.db");
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let scope = Scope::new("chat-1");
/// let store = SqliteStore::open(&file).await?;
/// store.put(&scope, Message::user("Hello!").build()?).await?;
/// store.close().await?;
///
/// // Later, perhaps in another process:
/// let store = SqliteStore::open(&file).await?;
/// assert_eq!(store.messages(&scope).await?[0].text(), "Hello!");
/// # store.close().await?;
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct SqliteStore(Arc<Opened>);

struct Opened {
    path: Option<Arc<Path>>,
    writer: WriterHandle,
    /// None where the writer's connection is the only one there can be.
    readers: Option<Readers>,
    /// The folder of the spool, unless the program gave another spool.
    results: Option<PathBuf>,
    reopen: Reopen,
}

impl SqliteStore {
    /// Opens a file, which is made if it is not there: see [`SqliteStoreBuilder`] for more than that.
    ///
    /// # Errors
    /// As [`SqliteStoreBuilder::open`].
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        SqliteStore::builder(path).open().await
    }

    /// A database in memory, for tests: it is gone with the store.
    ///
    /// ```
    /// use turnwright_core::record::Memory;
    /// use turnwright_core::store::{Scope, StoreExt as _};
    /// use turnwright_store::sqlite::SqliteStore;
    ///
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let store = SqliteStore::in_memory().await?;
    /// store.put(&Scope::new("ada"), Memory::new("Likes tests.").build()?).await?;
    /// assert!(store.path().is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// There is no memory, or no thread.
    pub async fn in_memory() -> Result<Self, StoreError> {
        SqliteStoreBuilder::new(None).open().await
    }

    /// How it is opened.
    pub fn builder(path: impl AsRef<Path>) -> SqliteStoreBuilder {
        SqliteStoreBuilder::new(Some(path.as_ref()))
    }

    /// Where the file is, unless it is in memory.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// Ends it in good order: what was handed in before is done, the log is moved into the file, and the file is closed. Whoever
    /// asks for something afterwards, by this handle or a clone, is told so. Closing again does nothing.
    ///
    /// A store that is dropped loses nothing either; it is only that nobody waits until it is closed.
    ///
    /// # Errors
    /// The file could not be closed.
    pub async fn close(&self) -> Result<(), StoreError> {
        let closed = |done: Result<(), Failure>| match done {
            Err(Failure::Trouble(Trouble::Closed, _)) => Ok(()),
            done => done.map_err(|failure| self.told(failure)),
        };
        if let Some(readers) = &self.0.readers {
            closed(readers.close().await)?;
        }
        closed(self.0.writer.close().await)
    }

    /// Reads where it blocks nobody.
    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection, Wanted<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        let done = match &self.0.readers {
            Some(readers) => readers.read(work).await,
            None => {
                let work = |writer: &mut Writer| work(&mut writer.conn, &|| true);
                self.0.writer.run(work).await
            }
        };
        done.map_err(|failure| self.told(failure))
    }

    /// Writes the records of a batch as text, elsewhere if that may block.
    async fn encode(&self, scope: Scope, batch: Batch) -> Result<Encoded, Failure> {
        check_name(&scope)?;
        if !reads_bytes(&batch) {
            return Encoded::new(scope, batch);
        }
        let work = move || Encoded::new(scope, batch);
        match &self.0.readers {
            Some(readers) => readers.beside(work).await,
            None => self.0.writer.run(|_| work()).await,
        }
    }

    /// The spool from which results are read.
    fn results(&self) -> &Arc<dyn Spool> {
        self.0.reopen.spool()
    }

    fn told(&self, failure: Failure) -> StoreError {
        failure.told(self.0.path.as_ref())
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn apply(&self, scope: &Scope, batch: Batch) -> Result<Revision, StoreError> {
        let applied = async {
            let batch = self.encode(scope.clone(), batch).await?;
            self.0.writer.apply(batch).await
        };
        let applied = applied.await.map_err(|failure| self.told(failure))?;
        Ok(Revision(applied))
    }

    async fn load(&self, scope: &Scope, query: &Query) -> Result<Loaded, StoreError> {
        let (scope, query) = (scope.clone(), query.clone());
        let reopen = self.0.reopen.clone();
        self.read(move |conn, wanted| load::load(conn, &scope, &query, &reopen, wanted))
            .await
    }

    async fn scopes(&self, filter: &ScopeFilter) -> Result<Vec<Scope>, StoreError> {
        let filter = filter.clone();
        self.read(move |conn, _| load::scopes(conn, &filter)).await
    }

    async fn holding(&self, kind: RecordKind, id: &str) -> Result<Vec<Scope>, StoreError> {
        let id = id.to_owned();
        self.read(move |conn, _| load::holding(conn, kind, &id))
            .await
    }

    fn is_persistent(&self) -> bool {
        self.0.path.is_some()
    }

    fn spool(&self) -> Option<Arc<dyn Spool>> {
        Some(Arc::clone(self.results()))
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore")
            .field("path", &self.0.path)
            .field("results", &self.0.results)
            .finish_non_exhaustive()
    }
}
