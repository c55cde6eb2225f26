//! The store: one thread writes, a few read.

mod apply;
mod builder;
mod changed;
mod conversation_row;
mod decode;
mod delete_conversation;
mod delete_orphans;
mod encode;
mod error;
mod find_conversations;
mod find_turns;
mod format;
mod integrity;
mod load;
mod open;
mod reader_threads;
mod retention;
mod storage;
mod writer_thread;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::Connection;
use turnwright_core::record::ByteResolver;
use turnwright_core::spool::Spool;
use turnwright_core::store::{
    Batch, Changes, ConversationFilter, ConversationId, FoundConversation, FoundTurn, Loaded,
    Query, Revision, Store, StoreError, TurnFilter,
};

pub use builder::{Durability, SqliteStoreBuilder};
pub use delete_conversation::Deleted;
pub use delete_orphans::DeletedOrphans;
pub use error::{SqliteError, SqliteErrorKind};
pub use retention::{Retention, RetentionReport};
pub use storage::SqliteStorage;

use decode::Wanted;
use encode::{Encoded, check_id, reads_bytes};
use error::Failure;
use reader_threads::Readers;
use writer_thread::{Writer, WriterHandle};

/// A store in one file, which several processes can share. Cheap to clone; clones share the connection.
///
/// ```
/// use turnwright_core::record::Message;
/// use turnwright_core::store::{ConversationId, StoreExt as _};
/// use turnwright_sqlite::SqliteStore;
///
/// # let temporary = tempfile::tempdir().unwrap();
/// # let folder = temporary.path();
/// # let file = folder.join("chat.db");
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let conversation = ConversationId::new("chat-1");
/// let store = SqliteStore::open(&file).await?;
/// store.put(&conversation, Message::user("Hello!").build()?).await?;
/// store.close().await?;
///
/// // Later, perhaps in another process:
/// let store = SqliteStore::open(&file).await?;
/// assert_eq!(store.messages(&conversation).await?[0].text(), "Hello!");
/// # store.close().await?;
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct SqliteStore(Arc<Opened>);

struct Opened {
    path: Option<Arc<Path>>,
    read_only: bool,
    writer: WriterHandle,
    /// `None` if the database is in memory, which has only one connection.
    readers: Option<Readers>,
    /// The folder of the default spool. `None` with another spool.
    results: Option<PathBuf>,
    reopen: ByteResolver,
}

impl SqliteStore {
    /// Opens a file. Creates it if it does not exist. [`SqliteStoreBuilder`] has more options.
    ///
    /// # Errors
    /// See [`SqliteStoreBuilder::open`].
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        SqliteStore::builder(path).open().await
    }

    /// Opens a database in memory, for tests. Its content is lost when the store is dropped.
    ///
    /// ```
    /// use turnwright_core::record::Memory;
    /// use turnwright_core::store::{ConversationId, StoreExt as _};
    /// use turnwright_sqlite::SqliteStore;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let store = SqliteStore::in_memory().await?;
    /// store.put(&ConversationId::new("ada"), Memory::new("Likes tests.").build()?).await?;
    /// assert!(store.path().is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Fails if there is not enough memory, or if a thread cannot be started.
    pub async fn in_memory() -> Result<Self, StoreError> {
        SqliteStoreBuilder::new(None).open().await
    }

    /// Creates a builder.
    pub fn builder(path: impl AsRef<Path>) -> SqliteStoreBuilder {
        SqliteStoreBuilder::new(Some(path.as_ref()))
    }

    /// Returns the path of the file; `None` if the database is in memory.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// Finishes queued work, moves the log into the file, and closes it. Later calls, including those of clones, fail
    /// with [`SqliteErrorKind::Closed`]. Closing again does nothing.
    ///
    /// Dropping a store loses nothing either, but does not wait until the file is closed.
    ///
    /// # Errors
    /// Fails if the file could not be closed.
    pub async fn close(&self) -> Result<(), StoreError> {
        let closed = |done: Result<(), Failure>| match done {
            Err(Failure::Database(SqliteErrorKind::Closed, _)) => Ok(()),
            done => done.map_err(|failure| self.error(failure)),
        };
        if let Some(readers) = &self.0.readers {
            closed(readers.close().await)?;
        }
        closed(self.0.writer.close().await)
    }

    /// Reads on a reader thread, or on the writer thread if there are no readers.
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
        done.map_err(|failure| self.error(failure))
    }

    /// Encodes a batch, on another thread if that may block.
    async fn encode(
        &self,
        conversation_id: ConversationId,
        batch: Batch,
    ) -> Result<Encoded, Failure> {
        check_id(&conversation_id)?;
        if !reads_bytes(&batch) {
            return Encoded::new(conversation_id, batch);
        }
        let work = move || Encoded::new(conversation_id, batch);
        match &self.0.readers {
            Some(readers) => readers.run_blocking(work).await,
            None => self.0.writer.run(|_| work()).await,
        }
    }

    /// Returns the spool from which results are read.
    fn results(&self) -> &Arc<dyn Spool> {
        self.0.reopen.spool()
    }

    fn error(&self, failure: Failure) -> StoreError {
        failure.into_store_error(self.0.path.as_ref())
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn apply(
        &self,
        conversation_id: &ConversationId,
        batch: Batch,
    ) -> Result<Revision, StoreError> {
        let applied = async {
            let batch = self.encode(conversation_id.clone(), batch).await?;
            self.0.writer.apply(batch).await
        };
        let applied = applied.await.map_err(|failure| self.error(failure))?;
        Ok(Revision(applied))
    }

    async fn load(
        &self,
        conversation_id: &ConversationId,
        query: &Query,
    ) -> Result<Loaded, StoreError> {
        let (conversation_id, query) = (conversation_id.clone(), query.clone());
        let reopen = self.0.reopen.clone();
        self.read(move |conn, wanted| load::load(conn, &conversation_id, &query, &reopen, wanted))
            .await
    }

    async fn conversations(
        &self,
        filter: &ConversationFilter,
    ) -> Result<Vec<FoundConversation>, StoreError> {
        let (filter, reopen) = (filter.clone(), self.0.reopen.clone());
        let find = find_conversations::find_conversations;
        self.read(move |conn, _| find(conn, &filter, &reopen)).await
    }

    async fn find_turns(&self, filter: &TurnFilter) -> Result<Vec<FoundTurn>, StoreError> {
        let (filter, reopen) = (filter.clone(), self.0.reopen.clone());
        self.read(move |conn, _| find_turns::find_turns(conn, &filter, &reopen))
            .await
    }

    async fn changed(
        &self,
        conversation: &ConversationId,
        since: Revision,
    ) -> Result<Changes, StoreError> {
        let (conversation, reopen) = (conversation.clone(), self.0.reopen.clone());
        self.read(move |conn, wanted| changed::changed(conn, &conversation, since, &reopen, wanted))
            .await
    }

    fn is_persistent(&self) -> bool {
        self.0.path.is_some()
    }

    fn spool(&self) -> Option<Arc<dyn Spool>> {
        Some(Arc::clone(self.results()))
    }
}

/// Returns the path of a file or folder next to a database, which may be a symbolic link.
fn beside(database: &Path, suffix: &str) -> PathBuf {
    let real = database.is_symlink().then(|| database.canonicalize().ok());
    let mut name = real
        .flatten()
        .unwrap_or_else(|| database.to_owned())
        .into_os_string();
    name.push(suffix);
    name.into()
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore")
            .field("path", &self.0.path)
            .field("results", &self.0.results)
            .finish_non_exhaustive()
    }
}
