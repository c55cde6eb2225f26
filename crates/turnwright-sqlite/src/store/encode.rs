//! A batch with encoded records, ready for the writer thread.

use std::time::{SystemTime, UNIX_EPOCH};

use turnwright_core::artifact::SpooledArtifact;
use turnwright_core::record::{CallState, Record, RecordKind};
use turnwright_core::store::{Batch, BatchId, Change, ConversationId};

use super::error::{Failure, SqliteErrorKind};

/// A batch with encoded records.
#[derive(Debug)]
pub(super) struct Encoded {
    pub(super) id: BatchId,
    /// A digest of everything else, to recognise another batch with the same id.
    pub(super) digest: u32,
    pub(super) conversation: ConversationId,
    pub(super) fencing_token: Option<u64>,
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
    /// The checksum of the body.
    pub(super) checksum: u32,
}

impl Encoded {
    /// Encodes the records. Reads the bytes of artifacts that are not in a spool; see [`reads_bytes`].
    pub(super) fn new(conversation: ConversationId, batch: Batch) -> Result<Self, Failure> {
        let mut changes = Vec::with_capacity(batch.changes.len());
        for change in batch.changes {
            changes.push(match change {
                Change::Put(record) => {
                    let body = record.to_json()?;
                    let checksum = checksum(body.as_bytes());
                    Row::Put(Put {
                        record,
                        body,
                        checksum,
                    })
                }
                Change::Delete(kind, id) => Row::Delete(kind, id),
                _ => {
                    let detail = "a change that this release does not support";
                    return Err(Failure::new(SqliteErrorKind::Invalid, detail));
                }
            });
        }
        let mut encoded = Encoded {
            id: batch.id,
            digest: 0,
            conversation,
            fencing_token: batch.fencing_token,
            expect: batch.expect.map(|revision| revision.0),
            changes,
        };
        encoded.digest = encoded.digest();
        Ok(encoded)
    }

    fn digest(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        let mut add = |part: &[u8]| {
            hasher.update(&part.len().to_le_bytes());
            hasher.update(part);
        };
        add(self.conversation.as_str().as_bytes());
        for number in [self.fencing_token, self.expect] {
            add(number
                .map(u64::to_le_bytes)
                .as_ref()
                .map_or(&[], |bytes| bytes));
        }
        for change in &self.changes {
            let (kind, id, checksum) = match change {
                Row::Put(put) => (put.record.kind(), put.record.id(), Some(put.checksum)),
                Row::Delete(kind, id) => (*kind, &**id, None),
            };
            add(kind.as_str().as_bytes());
            add(id.as_bytes());
            add(checksum
                .map(u32::to_le_bytes)
                .as_ref()
                .map_or(&[], |bytes| bytes));
        }
        hasher.finalize()
    }

    /// Returns `true` if the batch begins a call: it must be on the disk before the call runs.
    pub(super) fn begins_a_call(&self) -> bool {
        self.changes.iter().any(|change| match change {
            Row::Put(put) => is_call_start(&put.record),
            Row::Delete(..) => false,
        })
    }
}

/// Returns `true` for the ledger entry of a call that has not ended.
pub(super) fn is_call_start(record: &Record) -> bool {
    matches!(record, Record::Ledger(line) if line.state == CallState::Started)
}

/// Returns `true` if encoding the records reads bytes, which may block.
pub(super) fn reads_bytes(batch: &Batch) -> bool {
    batch.changes.iter().any(|change| match change {
        Change::Put(record) => {
            let elsewhere = |artifact: &SpooledArtifact| {
                artifact.spool_id().is_none() && !artifact.is_in_memory()
            };
            record.artifacts().iter().any(elsewhere)
        }
        _ => false,
    })
}

/// Rejects NUL, because many tools that read the file treat a NUL as the end of the text.
pub(super) fn check_id(conversation: &ConversationId) -> Result<(), Failure> {
    if conversation.as_str().contains('\0') {
        Err(Failure::new(
            SqliteErrorKind::Invalid,
            "the conversation id contains a NUL",
        ))
    } else {
        Ok(())
    }
}

/// Returns the checksum that is used to verify a body when it is read.
pub(super) fn checksum(body: &[u8]) -> u32 {
    crc32fast::hash(body)
}

/// Returns nanoseconds since 1970, as far as the database can represent them.
pub(super) fn nanoseconds(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
        Err(error) => i64::try_from(error.duration().as_nanos()).map_or(i64::MIN, |nanos| -nanos),
    }
}
