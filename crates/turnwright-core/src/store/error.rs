//! Why a store did not do its work.

use std::error::Error as StdError;
use std::fmt;

use super::{DamagedRecord, Revision};
use crate::error::{Error, ErrorCode};

/// Why a store did not do its work.
pub struct StoreError(Kind);

enum Kind {
    Conflict(Revision),
    Fenced(u64),
    Damaged(Box<DamagedRecord>),
    Failed(Box<dyn StdError + Send + Sync + 'static>),
}

impl StoreError {
    /// The batch expected another revision than this one.
    #[must_use]
    pub fn conflict(found: Revision) -> Self {
        StoreError(Kind::Conflict(found))
    }

    /// Somebody with this higher fence has written.
    #[must_use]
    pub fn fenced(by: u64) -> Self {
        StoreError(Kind::Fenced(by))
    }

    /// The record that was asked for is there and cannot be read.
    #[must_use]
    pub fn damaged(record: DamagedRecord) -> Self {
        StoreError(Kind::Damaged(Box::new(record)))
    }

    /// Anything else.
    pub fn failed(source: impl Into<Box<dyn StdError + Send + Sync + 'static>>) -> Self {
        StoreError(Kind::Failed(source.into()))
    }

    /// The revision that was found where another was expected.
    #[must_use]
    pub fn found_revision(&self) -> Option<Revision> {
        match self.0 {
            Kind::Conflict(found) => Some(found),
            _ => None,
        }
    }

    /// The record that cannot be read, where that is what went wrong.
    #[must_use]
    pub fn damaged_record(&self) -> Option<&DamagedRecord> {
        match &self.0 {
            Kind::Damaged(record) => Some(record),
            _ => None,
        }
    }

    /// The higher fence of somebody else.
    #[must_use]
    pub fn fenced_by(&self) -> Option<u64> {
        match self.0 {
            Kind::Fenced(by) => Some(by),
            _ => None,
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Conflict(found) => write!(
                f,
                "the scope has revision {}, another was expected: load it again and decide anew",
                found.0
            ),
            Kind::Fenced(by) => write!(
                f,
                "somebody with fence {by} has taken over: this writer must stop"
            ),
            Kind::Damaged(record) => record.fmt(f),
            Kind::Failed(source) => write!(f, "the store failed: {source}"),
        }
    }
}

impl fmt::Debug for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Conflict(found) => f.debug_tuple("Conflict").field(found).finish(),
            Kind::Fenced(by) => f.debug_tuple("Fenced").field(by).finish(),
            Kind::Damaged(record) => f.debug_tuple("Damaged").field(record).finish(),
            Kind::Failed(source) => f.debug_tuple("Failed").field(source).finish(),
        }
    }
}

impl StdError for StoreError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.0 {
            Kind::Failed(source) => Some(&**source),
            Kind::Conflict(_) | Kind::Fenced(_) | Kind::Damaged(_) => None,
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Error::new(ErrorCode::Store, error.to_string()).with_source(error)
    }
}
