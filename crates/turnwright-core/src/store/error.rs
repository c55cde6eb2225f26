//! The error of a store.

use std::error::Error as StdError;
use std::fmt;

use super::{BatchId, DamagedRecord, Revision};
use crate::error::{Error, ErrorCode};

/// The error of a [`Store`](super::Store).
///
/// ```
/// use turnwright_core::store::{Batch, Revision, StoreError};
///
/// fn check(batch: &Batch, current: Revision) -> Result<(), StoreError> {
///     match batch.expect {
///         Some(expected) if expected != current => Err(StoreError::conflict(current)),
///         _ => Ok(()),
///     }
/// }
///
/// let error = check(&Batch::new().expect(Revision(1)), Revision(2)).unwrap_err();
/// assert_eq!(error.found_revision(), Some(Revision(2)));
/// ```
pub struct StoreError(Kind);

#[derive(Debug)]
enum Kind {
    Conflict(Revision),
    Fenced(u64),
    Damaged(Box<DamagedRecord>),
    BatchIdReused(BatchId),
    OutcomeUnknown(Source),
    Failed(Source),
}

type Source = Box<dyn StdError + Send + Sync + 'static>;

impl StoreError {
    /// Creates the error for a batch that expects another revision than this one.
    #[must_use]
    pub fn conflict(found: Revision) -> Self {
        StoreError(Kind::Conflict(found))
    }

    /// Creates the error for a batch with a lower fencing token than this one, which the conversation has seen.
    #[must_use]
    pub fn fenced(by: u64) -> Self {
        StoreError(Kind::Fenced(by))
    }

    /// Creates the error for a requested record that exists but cannot be read.
    #[must_use]
    pub fn damaged(record: DamagedRecord) -> Self {
        StoreError(Kind::Damaged(Box::new(record)))
    }

    /// Creates the error for a batch whose id belongs to another batch that was applied before.
    #[must_use]
    pub fn batch_id_reused(id: BatchId) -> Self {
        StoreError(Kind::BatchIdReused(id))
    }

    /// Creates the error for a batch that may have been applied, for example because the connection was lost during the commit. The
    /// caller can apply the same batch again: see [`Store::apply`](super::Store::apply).
    pub fn outcome_unknown(source: impl Into<Source>) -> Self {
        StoreError(Kind::OutcomeUnknown(source.into()))
    }

    /// Creates the error for any other failure. Nothing was changed.
    pub fn failed(source: impl Into<Source>) -> Self {
        StoreError(Kind::Failed(source.into()))
    }

    /// Returns the current revision, if the batch expected another one.
    #[must_use]
    pub fn found_revision(&self) -> Option<Revision> {
        match self.0 {
            Kind::Conflict(found) => Some(found),
            _ => None,
        }
    }

    /// Returns the record that cannot be read, if that is the error.
    #[must_use]
    pub fn damaged_record(&self) -> Option<&DamagedRecord> {
        match &self.0 {
            Kind::Damaged(record) => Some(record),
            _ => None,
        }
    }

    /// Returns the higher fencing token, if the batch was rejected because of one.
    #[must_use]
    pub fn fenced_by(&self) -> Option<u64> {
        match self.0 {
            Kind::Fenced(by) => Some(by),
            _ => None,
        }
    }

    /// Returns whether the batch may have been applied. See [`StoreError::outcome_unknown`].
    #[must_use]
    pub fn is_outcome_unknown(&self) -> bool {
        matches!(self.0, Kind::OutcomeUnknown(_))
    }

    /// Returns whether the batch was rejected because another one with its id was applied before.
    #[must_use]
    pub fn is_batch_id_reused(&self) -> bool {
        matches!(self.0, Kind::BatchIdReused(_))
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Conflict(found) => write!(
                f,
                "the conversation has revision {}, but another one was expected: load it again and retry",
                found.0
            ),
            Kind::Fenced(by) => write!(
                f,
                "another writer with fencing token {by} has taken over: this writer must stop"
            ),
            Kind::Damaged(record) => record.fmt(f),
            Kind::BatchIdReused(BatchId(id)) => write!(
                f,
                "another batch with the id {id:032x} was applied before: give each batch its own id"
            ),
            Kind::OutcomeUnknown(source) => {
                write!(f, "unknown whether the batch was applied: {source}")
            }
            Kind::Failed(source) => write!(f, "the store failed: {source}"),
        }
    }
}

impl fmt::Debug for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StdError for StoreError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.0 {
            Kind::Failed(source) | Kind::OutcomeUnknown(source) => Some(&**source),
            _ => None,
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Error::new(ErrorCode::STORE_ERROR, error.to_string()).with_source(error)
    }
}
