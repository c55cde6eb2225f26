//! Atomic changes.
//!
//! A batch is applied once. Each batch has an id that the store keeps for an hour with a digest of the content.
//! Applying it again returns the same revision and changes nothing, so there is no separate query for the fate of a
//! batch.

use super::Revision;
use uuid::Uuid;

use crate::record::{Record, RecordKind};

/// Changes to one conversation that are applied together or not at all.
///
/// A batch has an id. If a store gets a batch that it has already applied, it changes nothing and returns the same revision. So a
/// batch can be applied again if the response was lost:
///
/// ```
/// use turnwright_core::record::Memory;
/// use turnwright_core::store::{Batch, MemoryStore, ConversationId, Store as _};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let (store, chat) = (MemoryStore::default(), ConversationId::new("chat-1"));
/// let batch = Batch::new().put(Memory::new("Likes Rust.").build()?);
/// let revision = store.apply(&chat, batch.clone()).await?;
/// assert_eq!(store.apply(&chat, batch).await?, revision);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
#[must_use = "a batch changes nothing until a store applies it"]
pub struct Batch {
    /// Identifies the batch. See [`Store::apply`](super::Store::apply).
    ///
    /// Default: a new id.
    pub id: BatchId,
    /// The fencing token of the writer. The store rejects the batch if the conversation has seen a higher one. `None` is never
    /// rejected. Many databases cannot store numbers above 2⁶³ − 1.
    pub fencing_token: Option<u64>,
    /// The revision that the conversation must have. `None` accepts any. A conversation that was never written has revision 0.
    pub expect: Option<Revision>,
    /// The changes, in order.
    pub changes: Vec<Change>,
}

/// The id of a [`Batch`]: 128 bits, by default a UUID version 7.
///
/// ```
/// use turnwright_core::store::{Batch, BatchId};
///
/// // The id of a message in a queue: if the message is delivered twice, it is applied once.
/// let batch = Batch::new().id(BatchId(0x0199_2f6a_7c1e_7000_8000_0000_0000_002a));
/// assert_ne!(BatchId::random(), batch.id);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BatchId(pub u128);

/// A change to one record.
///
/// ```
/// use turnwright_core::record::{Memory, RecordKind};
/// use turnwright_core::store::{Batch, Change};
///
/// let changes = vec![
///     Change::Put(Memory::new("Likes Rust.").id("m-2").build()?.into()),
///     Change::Delete(RecordKind::Memory, "m-1".to_owned()),
/// ];
/// assert_eq!(changes[0].key(), (RecordKind::Memory, "m-2"));
/// let batch = Batch::from(changes);
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Change {
    /// Adds a record, or replaces the one with the same kind and id.
    Put(Record),
    /// Deletes a record. Deleting a record that does not exist is not an error.
    Delete(RecordKind, String),
}

impl Change {
    /// Returns the kind and id of the record.
    #[must_use]
    pub fn key(&self) -> (RecordKind, &str) {
        match self {
            Change::Put(record) => (record.kind(), record.id()),
            Change::Delete(kind, id) => (*kind, id),
        }
    }
}

impl BatchId {
    /// Returns a new UUID version 7.
    #[must_use]
    pub fn random() -> Self {
        BatchId(Uuid::now_v7().as_u128())
    }
}

impl Default for Batch {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl From<Vec<Change>> for Batch {
    fn from(changes: Vec<Change>) -> Self {
        Batch {
            id: BatchId::random(),
            fencing_token: None,
            expect: None,
            changes,
        }
    }
}

impl Batch {
    /// Creates an empty batch with a new id.
    pub fn new() -> Self {
        Batch::default()
    }

    /// Sets the id.
    pub fn id(mut self, id: BatchId) -> Self {
        self.id = id;
        self
    }

    /// Adds or replaces a record.
    pub fn put<R: Into<Record>>(mut self, record: R) -> Self {
        self.changes.push(Change::Put(record.into()));
        self
    }

    /// Deletes a record.
    pub fn delete(mut self, kind: RecordKind, id: impl Into<String>) -> Self {
        self.changes.push(Change::Delete(kind, id.into()));
        self
    }

    /// Requires that the conversation has this revision.
    pub fn expect(mut self, revision: Revision) -> Self {
        self.expect = Some(revision);
        self
    }

    /// Sets the fencing token.
    pub fn fencing_token(mut self, fencing_token: u64) -> Self {
        self.fencing_token = Some(fencing_token);
        self
    }
}
