//! Errors of a database, and retries while another connection holds a lock.

use std::error::Error as StdError;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fmt, io, thread};

use rusqlite::ErrorCode;
use turnwright_core::store::{BatchId, Revision, StoreError};

/// An error of a database. It is the source of a [`StoreError`]; see [`SqliteError::of`].
///
/// ```
/// use turnwright_sqlite::{SqliteError, SqliteStore, SqliteErrorKind};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let error = SqliteStore::open("no/such/folder/chat.db").await.unwrap_err();
/// let error = SqliteError::of(&error).expect("the source is a database error");
/// assert_eq!(error.kind(), SqliteErrorKind::NoFolder);
/// # });
/// ```
pub struct SqliteError {
    path: Option<Arc<Path>>,
    kind: SqliteErrorKind,
    detail: Option<Arc<str>>,
}

/// The kind of a [`SqliteError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum SqliteErrorKind {
    /// The folder of the file does not exist.
    #[error("its folder does not exist: create it first")]
    NoFolder,
    /// The file does not exist, or cannot be opened.
    #[error("it cannot be opened")]
    CannotOpen,
    /// The file is not a database.
    #[error("it is not a database and was not changed: choose another file")]
    NoDatabase,
    /// The file is a database of another program.
    #[error("it is a database of another program and was not changed: choose another file")]
    OtherProgram,
    /// The file was written by a later release.
    #[error(
        "it has format {found} of a later release, but this release supports formats up to {known}: use the later release"
    )]
    NewerFormat {
        /// Its format.
        found: u32,
        /// The newest format that this release knows.
        known: u32,
    },
    /// The file is damaged: another program has written to it, or the disk is failing.
    #[error("it is damaged: keep a copy of it and of its -wal file, and restore a backup")]
    Corrupt,
    /// The file, its folder or this store is read-only.
    #[error(
        "it is read-only: open it with `read_only`, or give this user write access to the file and its folder"
    )]
    ReadOnly,
    /// Another process held the lock for longer than the timeout.
    #[error("it is locked by another process: try again, or wait longer with `busy_timeout`")]
    Locked,
    /// The disk is full, or the file has reached its maximum size.
    #[error(
        "there is no space left, and nothing of this batch was written: free some space and try again"
    )]
    Full,
    /// The disk failed, or a limit of the process was reached.
    #[error(
        "the disk failed or a process limit was reached, and nothing of this batch was written"
    )]
    Disk,
    /// The secret file next to the database cannot be used. The detail has the reason and what to do.
    #[error("its secret file cannot be used")]
    Secret,
    /// The store was closed.
    #[error("the store is closed: open it again")]
    Closed,
    /// The request cannot be represented: a conversation id with a NUL, a number above 2⁶³ − 1, or bytes in a spool
    /// that the store does not know.
    #[error("the request is invalid")]
    Invalid,
    /// Anything else.
    #[error("the database failed")]
    Other,
}

impl SqliteError {
    /// Returns the database error behind a store error, if there is one.
    #[must_use]
    pub fn of(error: &StoreError) -> Option<&Self> {
        error.source()?.downcast_ref()
    }

    /// Returns the kind of the error.
    #[must_use]
    pub fn kind(&self) -> SqliteErrorKind {
        self.kind
    }

    /// Returns the path of the database; `None` if it is in memory.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns what the system or the database reported, if anything.
    #[must_use]
    pub fn detail(&self) -> Option<&str> {
        self.detail.as_deref()
    }
}

impl fmt::Display for SqliteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(f, "{}: {}", path.display(), self.kind)?,
            None => write!(f, "the database in memory: {}", self.kind)?,
        }
        match &self.detail {
            Some(detail) => write!(f, " ({detail})"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for SqliteError {
    /// Contains the message: a program that returns the error from `main` prints this.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteError")
            .field("kind", &self.kind)
            .field("message", &format_args!("{self}"))
            .finish()
    }
}

impl StdError for SqliteError {}

/// Why an operation on the database failed, before the path is added. Cheap to clone: one failure may be the result
/// of many batches.
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// The conversation has another revision than expected.
    Conflict(u64),
    /// The conversation has seen this higher fencing token.
    Fenced(u64),
    /// Another batch with this id was applied.
    BatchIdReused(BatchId),
    Database(SqliteErrorKind, Option<Arc<str>>),
    Sql(Arc<rusqlite::Error>),
    /// Encoding a record or its spool failed.
    Core(Arc<turnwright_core::Error>),
}

impl Failure {
    pub(super) fn new(kind: SqliteErrorKind, detail: impl Into<Arc<str>>) -> Self {
        Failure::Database(kind, Some(detail.into()))
    }

    /// Converts into the error for the caller of the store.
    pub(super) fn into_store_error(self, path: Option<&Arc<Path>>) -> StoreError {
        let (kind, detail) = match self {
            Failure::Conflict(found) => return StoreError::conflict(Revision(found)),
            Failure::Fenced(by) => return StoreError::fenced(by),
            Failure::BatchIdReused(id) => return StoreError::batch_id_reused(id),
            Failure::Core(error) => {
                return match Arc::try_unwrap(error) {
                    Ok(error) => StoreError::failed(error),
                    Err(shared) => StoreError::failed(shared.to_string()),
                };
            }
            Failure::Database(kind, detail) => (kind, detail),
            Failure::Sql(error) => (kind_of(&error), Some(error.to_string().into())),
        };
        let path = path.cloned();
        StoreError::failed(SqliteError { path, kind, detail })
    }

    /// Returns `true` if another connection holds the lock.
    pub(super) fn is_busy(&self) -> bool {
        matches!(self, Failure::Sql(error) if kind_of(error) == SqliteErrorKind::Locked)
    }
}

fn kind_of(error: &rusqlite::Error) -> SqliteErrorKind {
    if matches!(
        error,
        rusqlite::Error::Utf8Error(..)
            | rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::QueryReturnedNoRows
    ) {
        return SqliteErrorKind::Corrupt;
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => SqliteErrorKind::Locked,
        Some(ErrorCode::DatabaseCorrupt) => SqliteErrorKind::Corrupt,
        Some(ErrorCode::NotADatabase) => SqliteErrorKind::NoDatabase,
        Some(ErrorCode::DiskFull) => SqliteErrorKind::Full,
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => SqliteErrorKind::ReadOnly,
        Some(ErrorCode::CannotOpen) => SqliteErrorKind::CannotOpen,
        Some(ErrorCode::SystemIoFailure) => SqliteErrorKind::Disk,
        Some(ErrorCode::TooBig) => SqliteErrorKind::Invalid,
        _ => SqliteErrorKind::Other,
    }
}

impl From<SqliteErrorKind> for Failure {
    fn from(kind: SqliteErrorKind) -> Self {
        Failure::Database(kind, None)
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Failure::Sql(Arc::new(error))
    }
}

impl From<turnwright_core::Error> for Failure {
    fn from(error: turnwright_core::Error) -> Self {
        Failure::Core(Arc::new(error))
    }
}

/// An error of the file system while opening a file.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                SqliteErrorKind::ReadOnly
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => SqliteErrorKind::Full,
            _ => SqliteErrorKind::CannotOpen,
        };
        Failure::new(kind, error.to_string())
    }
}

/// The maximum pause. SQLite's own pauses grow to 100 ms, in which a busy writer releases and takes its lock a
/// hundred times.
const MAX_PAUSE: Duration = Duration::from_millis(3);

/// Repeats `work` while it fails because of a lock, until the timeout.
pub(super) fn retry_while_busy<T>(
    timeout: Duration,
    mut work: impl FnMut() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let begun = Instant::now();
    let mut pause = Duration::from_micros(50);
    loop {
        match work() {
            Err(failure) if failure.is_busy() && begun.elapsed() < timeout => {
                thread::sleep(pause);
                pause = (pause * 2).min(MAX_PAUSE);
            }
            done => return done,
        }
    }
}
