//! How a store is opened.

use std::ffi::OsString;
use std::fmt;
use std::path::{self, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use turnwright_core::record::Reopen;
use turnwright_core::spool::{DiskSpool, MemorySpool, Spool};
use turnwright_core::store::StoreError;

use super::failure::Failure;
use super::open::Target;
use super::readers::Readers;
use super::writer::WriterHandle;
use super::{Opened, SqliteStore};

/// When what was written is on the disk, and not only with the operating system. A process that dies loses nothing either
/// way: this is about the power that fails.
///
/// ```
/// use turnwright_store::sqlite::{Durability, SqliteStore};
///
/// assert_eq!(Durability::default(), Durability::Begun);
/// let builder = SqliteStore::builder("chat.db").durability(Durability::Always);
/// # drop(builder);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Durability {
    /// Before the answer where a batch begins a call, and with it all that was written before; else soon after.
    #[default]
    Begun,
    /// Before each answer.
    Always,
}

/// How a [`SqliteStore`] is opened.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use turnwright_core::spool::DiskSpool;
/// use turnwright_store::sqlite::{Durability, SqliteStore};
///
/// # let folder = std::env::temp_dir().join(format!("turnwright-doc-builder-{}", std::process::id()));
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// // Elsewhere than beside the database.
/// let spool = DiskSpool::open(folder.join("large-results")).await?;
/// let store = SqliteStore::builder(folder.join("chat.db"))
///     .spool(Arc::new(spool))
///     .durability(Durability::Always)
///     .busy_timeout(Duration::from_secs(30))
///     .readers(2)
///     .open()
///     .await?;
/// store.close().await?;
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[must_use = "nothing is opened until `open` is called"]
pub struct SqliteStoreBuilder {
    path: Option<PathBuf>,
    read_only: bool,
    durability: Durability,
    readers: usize,
    busy_timeout: Duration,
    max_file_bytes: Option<u64>,
    spool: Option<Arc<dyn Spool>>,
    reopen: Option<Box<dyn FnOnce(Reopen) -> Reopen + Send>>,
}

impl SqliteStoreBuilder {
    pub(super) fn new(path: Option<&Path>) -> Self {
        SqliteStoreBuilder {
            path: path.map(Path::to_owned),
            read_only: false,
            durability: Durability::default(),
            readers: 4,
            busy_timeout: Duration::from_secs(10),
            max_file_bytes: None,
            spool: None,
            reopen: None,
        }
    }

    /// When what was written is on the disk.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// How many threads read, each with a connection of its own: four unless told, at least one. One more writes, and
    /// whoever loads more than a few hundred records at once has another to help, for as long as that takes.
    pub fn readers(mut self, threads: usize) -> Self {
        self.readers = threads;
        self
    }

    /// How long to wait for another process that writes: ten seconds unless told. Less than the runner's `store_timeout`, so
    /// that it is this store which says what is wrong.
    pub fn busy_timeout(mut self, most: Duration) -> Self {
        self.busy_timeout = most;
        self
    }

    /// Sets the spool for results and media. Runners with this store write to it, loaded records read from it, and deleting a
    /// conversation deletes its bytes there.
    ///
    /// Default: the folder `FILE.results` beside the database, created when it is needed. For a database in memory: memory.
    pub fn spool(mut self, spool: Arc<dyn Spool>) -> Self {
        self.spool = Some(spool);
        self
    }

    /// More about how records get at their bytes: artifact kinds of your own, and where media are.
    ///
    /// ```
    /// use turnwright_store::sqlite::SqliteStore;
    ///
    /// let builder = SqliteStore::builder("chat.db").reopen(|reopen| reopen.unknown_kinds_as_text());
    /// # drop(builder);
    /// ```
    pub fn reopen(mut self, more: impl FnOnce(Reopen) -> Reopen + Send + 'static) -> Self {
        self.reopen = Some(Box::new(more));
        self
    }

    /// For reading only: nothing is upgraded or written, and no file is made that is not there, save those two in which SQLite's
    /// readers and writers meet. Where they cannot be made, a file without a log is read as one that nobody changes; one
    /// with a log cannot be opened then.
    ///
    /// ```
    /// use turnwright_core::record::Memory;
    /// use turnwright_core::store::{Scope, StoreExt as _};
    /// use turnwright_store::sqlite::{SqliteError, SqliteStore, Trouble};
    ///
    /// # let folder = std::env::temp_dir().join(format!("turnwright-doc-read-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder).unwrap();
    /// # let file = folder.join("chat.db");
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// SqliteStore::open(&file).await?.close().await?;
    /// let store = SqliteStore::builder(&file).read_only().open().await?;
    /// let note = Memory::new("Not to be written.").build()?;
    /// let error = store.put(&Scope::new("ada"), note).await.unwrap_err();
    /// assert_eq!(SqliteError::of(&error).map(SqliteError::trouble), Some(Trouble::ReadOnly));
    /// # store.close().await?;
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// The file grows to so many bytes and no further: what does not fit is refused as a whole, with
    /// [`Trouble::Full`](super::Trouble::Full). The log beside it is not counted.
    ///
    /// ```
    /// use turnwright_store::sqlite::SqliteStore;
    ///
    /// let builder = SqliteStore::builder("chat.db").max_file_bytes(1 << 30);
    /// # drop(builder);
    /// ```
    pub fn max_file_bytes(mut self, most: u64) -> Self {
        self.max_file_bytes = Some(most);
        self
    }

    /// Opens the file. One that is not there is made, for its owner alone; one of an earlier format is upgraded.
    ///
    /// # Errors
    /// A [`SqliteError`](super::SqliteError) says what is wrong; the file is then as it was.
    pub async fn open(self) -> Result<SqliteStore, StoreError> {
        // From the root: a relative path could begin like a URI, and would change its meaning with the folder.
        let path = match &self.path {
            None => None,
            Some(path) => {
                let whole = path::absolute(path);
                Some(whole.map_err(|error| Failure::from(error).told(None))?)
            }
        };
        let target = Target {
            path: path.clone(),
            read_only: self.read_only,
            busy_timeout: self.busy_timeout,
            max_file_bytes: self.max_file_bytes,
        };
        let path: Option<Arc<Path>> = path.map(Into::into);
        let told = |failure: Failure| failure.told(path.as_ref());
        let writer = WriterHandle::open(target.clone(), self.durability).await;
        let writer = writer.map_err(told)?;
        let readers = match &path {
            None => None,
            Some(_) => Some(Readers::start(&target, self.readers).map_err(told)?),
        };
        let (results, spool) = match (self.spool, &path) {
            (Some(spool), _) => (None, spool),
            (None, None) => (None, Arc::new(MemorySpool::default()) as Arc<dyn Spool>),
            (None, Some(path)) => {
                let folder = results_of(path);
                (Some(folder.clone()), Arc::new(DiskSpool::at(folder)) as _)
            }
        };
        let reopen = Reopen::new(Arc::clone(&spool));
        let reopen = match self.reopen {
            None => reopen,
            Some(more) => more(reopen),
        };
        let results = results.filter(|_| Arc::ptr_eq(reopen.spool(), &spool));
        Ok(SqliteStore(Arc::new(Opened {
            path,
            writer,
            readers,
            results,
            reopen,
        })))
    }
}

/// The folder beside a database, or beside the file that a link leads to.
fn results_of(path: &Path) -> PathBuf {
    let real = match path.is_symlink() {
        true => path.canonicalize().unwrap_or_else(|_| path.to_owned()),
        false => path.to_owned(),
    };
    let mut name = OsString::from(real);
    name.push(".results");
    name.into()
}

impl fmt::Debug for SqliteStoreBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStoreBuilder")
            .field("path", &self.path)
            .field("read_only", &self.read_only)
            .field("durability", &self.durability)
            .field("readers", &self.readers)
            .field("busy_timeout", &self.busy_timeout)
            .field("spool", &self.spool.is_some())
            .finish_non_exhaustive()
    }
}
