//! A batch as it goes to the writer: whatever can fail about its records has been tried.

use turnwright_core::artifact::SpooledArtifact;
use turnwright_core::record::{CallState, Record, RecordKind};
use turnwright_core::store::{Batch, Change, Scope};

use super::failure::Failure;
use super::trouble::Trouble;

/// A batch whose records are texts.
#[derive(Debug)]
pub(super) struct Encoded {
    pub(super) scope: Scope,
    pub(super) fence: Option<u64>,
    pub(super) expect: Option<u64>,
    pub(super) changes: Vec<Row>,
}

#[derive(Debug)]
pub(super) enum Row {
    Put(Put),
    Delete(RecordKind, String),
}

#[derive(Debug)]
pub(super) struct Put {
    pub(super) record: Record,
    pub(super) body: String,
}

impl Encoded {
    /// Reads the bytes of artifacts that are in no spool: see [`reads_bytes`].
    pub(super) fn new(scope: Scope, batch: Batch) -> Result<Self, Failure> {
        let mut changes = Vec::with_capacity(batch.changes.len());
        for change in batch.changes {
            changes.push(match change {
                Change::Put(record) => {
                    let body = record.to_json()?;
                    Row::Put(Put { record, body })
                }
                Change::Delete(kind, id) => Row::Delete(kind, id),
                _ => {
                    let said = "a change that this release does not know";
                    return Err(Failure::new(Trouble::Refused, said));
                }
            });
        }
        Ok(Encoded {
            scope,
            fence: batch.fence,
            expect: batch.expect.map(|revision| revision.0),
            changes,
        })
    }

    /// Whether it begins a call: that must be on the disk before the call runs.
    pub(super) fn begins_a_call(&self) -> bool {
        self.changes.iter().any(|change| match change {
            Row::Put(put) => is_begun(&put.record),
            Row::Delete(..) => false,
        })
    }
}

/// Whether it is the line of a call that has not ended.
pub(super) fn is_begun(record: &Record) -> bool {
    matches!(record, Record::Ledger(line) if line.state() == CallState::Begun)
}

/// Whether writing the records as text reads bytes: that may block.
pub(super) fn reads_bytes(batch: &Batch) -> bool {
    batch.changes.iter().any(|change| match change {
        Change::Put(record) => {
            let elsewhere = |it: &SpooledArtifact| it.spool_id().is_none() && !it.is_in_memory();
            record.artifacts().iter().any(elsewhere)
        }
        _ => false,
    })
}

/// A NUL ends a name for half of the tools that will ever look into the file.
pub(super) fn check_name(scope: &Scope) -> Result<(), Failure> {
    match scope.as_str().contains('\0') {
        true => Err(Failure::new(Trouble::Refused, "a scope's name has a NUL")),
        false => Ok(()),
    }
}
