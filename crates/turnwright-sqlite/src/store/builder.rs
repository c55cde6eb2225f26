//! The builder for [`SqliteStore`].

use std::fmt;
use std::path::{self, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use turnwright_core::record::ByteResolver;
use turnwright_core::spool::{DiskSpool, MemorySpool, Spool};
use turnwright_core::store::StoreError;

use super::error::Failure;
use super::open::Target;
use super::reader_threads::Readers;
use super::writer_thread::WriterHandle;
use super::{Opened, SqliteStore, beside};

/// When writes are flushed to the disk. This matters for power failures only: if just the process dies, nothing is
/// lost in either mode.
///
/// ```
/// use turnwright_sqlite::{Durability, SqliteStore};
///
/// assert_eq!(Durability::default(), Durability::CallStart);
/// let builder = SqliteStore::builder("chat.db").durability(Durability::Always);
/// # drop(builder);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Durability {
    /// Before acknowledging a batch that begins a call, together with everything before it. Otherwise shortly
    /// afterwards.
    #[default]
    CallStart,
    /// Before acknowledging each batch.
    Always,
}

/// A builder for [`SqliteStore`].
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use turnwright_core::spool::DiskSpool;
/// use turnwright_sqlite::{Durability, SqliteStore};
///
/// # let temporary = tempfile::tempdir().unwrap();
/// # let folder = temporary.path();
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// // In another folder than the database's.
/// let spool = DiskSpool::open(folder.join("large-results")).await?;
/// let store = SqliteStore::builder(folder.join("chat.db"))
///     .spool(Arc::new(spool))
///     .durability(Durability::Always)
///     .busy_timeout(Duration::from_secs(30))
///     .open()
///     .await?;
/// store.close().await?;
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[must_use = "nothing is opened until `open` is called"]
pub struct SqliteStoreBuilder {
    path: Option<PathBuf>,
    read_only: bool,
    durability: Durability,
    busy_timeout: Duration,
    max_file_bytes: Option<u64>,
    spool: Option<Arc<dyn Spool>>,
    reopen: Option<Box<dyn FnOnce(ByteResolver) -> ByteResolver + Send>>,
}

impl SqliteStoreBuilder {
    pub(super) fn new(path: Option<&Path>) -> Self {
        SqliteStoreBuilder {
            path: path.map(Path::to_owned),
            read_only: false,
            durability: Durability::default(),
            busy_timeout: Duration::from_secs(10),
            max_file_bytes: None,
            spool: None,
            reopen: None,
        }
    }

    /// Sets when writes are flushed to the disk. Default: [`Durability::CallStart`].
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets how long to wait for a lock of another process. Should be less than the runner's `store_timeout`, so that
    /// the error mentions the lock. Default: 10 s.
    pub fn busy_timeout(mut self, most: Duration) -> Self {
        self.busy_timeout = most;
        self
    }

    /// Sets the spool for results and media. Runners with this store write to it, loaded records read from it, and
    /// deleting a conversation deletes its bytes there.
    ///
    /// Default: the folder `FILE.results` next to the database, created on demand. For a database in memory: memory.
    pub fn spool(mut self, spool: Arc<dyn Spool>) -> Self {
        self.spool = Some(spool);
        self
    }

    /// Configures how records read their bytes: custom artifact kinds, and where media is stored.
    ///
    /// ```
    /// use turnwright_core::artifact::ArtifactKind;
    /// use turnwright_sqlite::SqliteStore;
    ///
    /// const INI: ArtifactKind = ArtifactKind::new("ini", || &[]);
    /// let builder = SqliteStore::builder("chat.db").byte_resolver(|resolver| resolver.kind(INI));
    /// # drop(builder);
    /// ```
    pub fn byte_resolver(
        mut self,
        more: impl FnOnce(ByteResolver) -> ByteResolver + Send + 'static,
    ) -> Self {
        self.reopen = Some(Box::new(more));
        self
    }

    /// Opens the file for reading only. Nothing is written, and no files are created except the two that
    /// SQLite's readers and writers share. If these cannot be created, a file without a log is treated as immutable,
    /// and a file with a log cannot be opened.
    ///
    /// ```
    /// use turnwright_core::record::Memory;
    /// use turnwright_core::store::{ConversationId, StoreExt as _};
    /// use turnwright_sqlite::{SqliteError, SqliteStore, SqliteErrorKind};
    ///
    /// # let temporary = tempfile::tempdir().unwrap();
    /// # let folder = temporary.path();
    /// # let file = folder.join("chat.db");
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// SqliteStore::open(&file).await?.close().await?;
    /// let store = SqliteStore::builder(&file).read_only().open().await?;
    /// let note = Memory::new("Cannot be written.").build()?;
    /// let error = store.put(&ConversationId::new("ada"), note).await.unwrap_err();
    /// assert_eq!(SqliteError::of(&error).map(SqliteError::kind), Some(SqliteErrorKind::ReadOnly));
    /// # store.close().await?;
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// Sets the maximum size of the file. A batch that does not fit is rejected with
    /// [`SqliteErrorKind::Full`](super::SqliteErrorKind::Full). The write-ahead log is not counted. Default:
    /// unlimited.
    ///
    /// ```
    /// use turnwright_sqlite::SqliteStore;
    ///
    /// let builder = SqliteStore::builder("chat.db").max_file_bytes(1 << 30);
    /// # drop(builder);
    /// ```
    pub fn max_file_bytes(mut self, most: u64) -> Self {
        self.max_file_bytes = Some(most);
        self
    }

    /// Opens the file. Creates it if it does not exist, readable by its owner only.
    ///
    /// # Errors
    /// Returns an error with a [`SqliteError`](super::SqliteError) as its source. In that case the file is unchanged.
    pub async fn open(self) -> Result<SqliteStore, StoreError> {
        // An absolute path: a relative path could start like a URI, and would change its meaning with the working
        // directory.
        let path = match &self.path {
            None => None,
            Some(path) => {
                let absolute = path::absolute(path);
                Some(absolute.map_err(|error| Failure::from(error).into_store_error(None))?)
            }
        };
        let target = Target {
            path: path.clone(),
            read_only: self.read_only,
            busy_timeout: self.busy_timeout,
            max_file_bytes: self.max_file_bytes,
        };
        let path: Option<Arc<Path>> = path.map(Into::into);
        let error = |failure: Failure| failure.into_store_error(path.as_ref());
        let writer = WriterHandle::open(target.clone(), self.durability).await;
        let writer = writer.map_err(error)?;
        let readers = match &path {
            None => None,
            Some(_) => Some(Readers::start(&target).map_err(error)?),
        };
        let (results, spool) = match (self.spool, &path) {
            (Some(spool), _) => (None, spool),
            (None, None) => (None, Arc::new(MemorySpool::default()) as Arc<dyn Spool>),
            (None, Some(path)) => {
                let folder = beside(path, ".results");
                (Some(folder.clone()), Arc::new(DiskSpool::at(folder)) as _)
            }
        };
        let reopen = ByteResolver::new(Arc::clone(&spool));
        let reopen = match self.reopen {
            None => reopen,
            Some(more) => more(reopen),
        };
        let results = results.filter(|_| Arc::ptr_eq(reopen.spool(), &spool));
        Ok(SqliteStore(Arc::new(Opened {
            path,
            read_only: self.read_only,
            writer,
            readers,
            results,
            reopen,
        })))
    }
}

impl fmt::Debug for SqliteStoreBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStoreBuilder")
            .field("path", &self.path)
            .field("read_only", &self.read_only)
            .field("durability", &self.durability)
            .field("busy_timeout", &self.busy_timeout)
            .field("spool", &self.spool.is_some())
            .finish_non_exhaustive()
    }
}
