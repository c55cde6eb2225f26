//! How the threads of a store say that something failed, before it is known to whom.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rusqlite::ErrorCode;
use turnwright_core::store::{Revision, StoreError};

use super::trouble::{SqliteError, Trouble};

/// Why work on the database did not succeed. Cheap to clone: one failure may be the answer to many.
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// The scope has another revision than was expected.
    Conflict(u64),
    /// Somebody with this higher fence has written.
    Fenced(u64),
    /// A trouble, and what there is to say of it.
    Trouble(Trouble, Option<Arc<str>>),
    /// What SQLite says.
    Sql(Arc<rusqlite::Error>),
    /// What the record or its spool says.
    Core(Arc<turnwright_core::Error>),
}

impl Failure {
    pub(super) fn new(trouble: Trouble, said: impl Into<Arc<str>>) -> Self {
        Failure::Trouble(trouble, Some(said.into()))
    }

    /// The failure as whoever called sees it.
    pub(super) fn told(self, at: Option<&Arc<Path>>) -> StoreError {
        let at = at.cloned();
        match self {
            Failure::Conflict(found) => StoreError::conflict(Revision(found)),
            Failure::Fenced(by) => StoreError::fenced(by),
            Failure::Trouble(trouble, said) => {
                let said = said.map(|said| said.to_string().into());
                StoreError::failed(SqliteError::new(at, trouble, said))
            }
            Failure::Sql(error) => {
                let (trouble, said) = (trouble_of(&error), error.to_string().into());
                StoreError::failed(SqliteError::new(at, trouble, Some(said)))
            }
            Failure::Core(error) => match Arc::try_unwrap(error) {
                Ok(error) => StoreError::failed(error),
                Err(shared) => StoreError::failed(shared.to_string()),
            },
        }
    }
}

/// Whether somebody else holds the lock that is wanted.
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    trouble_of(error) == Trouble::Locked
}

fn trouble_of(error: &rusqlite::Error) -> Trouble {
    if matches!(
        error,
        rusqlite::Error::Utf8Error(..)
            | rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::QueryReturnedNoRows
    ) {
        return Trouble::Corrupt;
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Trouble::Locked,
        Some(ErrorCode::DatabaseCorrupt) => Trouble::Corrupt,
        Some(ErrorCode::NotADatabase) => Trouble::NoDatabase,
        Some(ErrorCode::DiskFull) => Trouble::Full,
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Trouble::ReadOnly,
        Some(ErrorCode::CannotOpen) => Trouble::CannotOpen,
        Some(ErrorCode::SystemIoFailure) => Trouble::Disk,
        Some(ErrorCode::TooBig) => Trouble::Refused,
        _ => Trouble::Other,
    }
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Self {
        Failure::Trouble(trouble, None)
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

/// What the file system says when a file is opened.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let trouble = match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Trouble::ReadOnly
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Trouble::Full,
            _ => Trouble::CannotOpen,
        };
        Failure::new(trouble, error.to_string())
    }
}
