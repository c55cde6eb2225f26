//! Changes that are made together.

use super::Revision;
use crate::record::{Record, RecordKind};

/// Changes that are made together, or not at all.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
#[must_use = "a batch changes nothing until a store applies it"]
pub struct Batch {
    /// Who writes: a store that has seen a higher number in this scope refuses the batch. Without, nobody is refused. Numbers
    /// above 2⁶³ − 1 are more than many databases hold.
    pub fence: Option<u64>,
    /// The revision that the scope must have. Without, any will do. A scope that was never written has revision 0.
    pub expect: Option<Revision>,
    /// The changes, in their order.
    pub changes: Vec<Change>,
}

/// A change to one record.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Change {
    /// Adds a record, or replaces the one of its kind and id.
    Put(Record),
    /// Takes a record away. One that is not there is no error.
    Delete(RecordKind, String),
}

impl From<Vec<Change>> for Batch {
    fn from(changes: Vec<Change>) -> Self {
        Batch {
            changes,
            ..Batch::default()
        }
    }
}

impl Batch {
    /// No change yet.
    pub fn new() -> Self {
        Batch::default()
    }

    /// And puts this record.
    pub fn put<R: Into<Record>>(mut self, record: R) -> Self {
        self.changes.push(Change::Put(record.into()));
        self
    }

    /// And takes this record away.
    pub fn delete(mut self, kind: RecordKind, id: impl Into<String>) -> Self {
        self.changes.push(Change::Delete(kind, id.into()));
        self
    }

    /// Only if the scope has this revision.
    pub fn expect(mut self, revision: Revision) -> Self {
        self.expect = Some(revision);
        self
    }

    /// Only if nobody with a higher fence has written.
    pub fn fence(mut self, fence: u64) -> Self {
        self.fence = Some(fence);
        self
    }
}
