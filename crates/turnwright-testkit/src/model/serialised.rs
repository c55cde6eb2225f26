//! A store whose records were written and read as JSON, like those of another process.

use std::sync::Arc;

use async_trait::async_trait;
use turnwright_core::Storage;
use turnwright_core::record::{ByteResolver, Record};
use turnwright_core::spool::{MemorySpool, Spool};
use turnwright_core::store::{
    Batch, Change, ConversationId, Layered, MemoryStore, Revision, Store, StoreError, StoreLayer,
};

use crate::store::storage_of;

/// Returns a storage in memory that keeps nothing but what the JSON of a record has.
pub(super) fn serialised() -> Storage {
    let layer = Serialised {
        spool: Arc::new(MemorySpool::transient()),
    };
    storage_of(Layered::new(layer, MemoryStore::default()))
}

struct Serialised {
    spool: Arc<dyn Spool>,
}

impl Serialised {
    fn round_trip(&self, record: &Record) -> Result<Record, StoreError> {
        let value = record.to_value().map_err(StoreError::failed)?;
        let resolver = ByteResolver::new(Arc::clone(&self.spool));
        Record::from_value(record.kind(), &value, &resolver).map_err(StoreError::failed)
    }
}

#[async_trait]
impl StoreLayer for Serialised {
    async fn apply(
        &self,
        store: &dyn Store,
        conversation: &ConversationId,
        mut batch: Batch,
    ) -> Result<Revision, StoreError> {
        for change in &mut batch.changes {
            if let Change::Put(record) = change {
                *record = self.round_trip(record)?;
            }
        }
        store.apply(conversation, batch).await
    }

    fn spool(&self, _store: &dyn Store) -> Option<Arc<dyn Spool>> {
        Some(Arc::clone(&self.spool))
    }
}
