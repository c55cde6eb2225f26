//! A store whose records were written and read as JSON, like those of another process.

use std::sync::Arc;

use async_trait::async_trait;
use turnwright_core::Storage;
use turnwright_core::record::{ByteResolver, Record};
use turnwright_core::spool::{MemorySpool, Spool};
use turnwright_core::store::{
    Batch, Change, Changes, ConversationFilter, ConversationId, FoundConversation, FoundTurn,
    Loaded, MemoryStore, Query, Revision, Store, StoreError, TurnFilter,
};
use turnwright_testkit::store::storage_of;

/// Returns a storage in memory that keeps nothing but what the JSON of a record has.
pub(super) fn serialised() -> Storage {
    storage_of(Serialised {
        store: MemoryStore::default(),
        spool: Arc::new(MemorySpool::transient()),
    })
}

struct Serialised {
    store: MemoryStore,
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
impl Store for Serialised {
    async fn apply(
        &self,
        conversation: &ConversationId,
        mut batch: Batch,
    ) -> Result<Revision, StoreError> {
        for change in &mut batch.changes {
            if let Change::Put(record) = change {
                *record = self.round_trip(record)?;
            }
        }
        self.store.apply(conversation, batch).await
    }

    async fn load(
        &self,
        conversation: &ConversationId,
        query: &Query,
    ) -> Result<Loaded, StoreError> {
        self.store.load(conversation, query).await
    }

    async fn conversations(
        &self,
        filter: &ConversationFilter,
    ) -> Result<Vec<FoundConversation>, StoreError> {
        self.store.conversations(filter).await
    }

    async fn find_turns(&self, filter: &TurnFilter) -> Result<Vec<FoundTurn>, StoreError> {
        self.store.find_turns(filter).await
    }

    async fn changed(
        &self,
        conversation: &ConversationId,
        since: Revision,
    ) -> Result<Changes, StoreError> {
        self.store.changed(conversation, since).await
    }

    async fn wait_for_change(
        &self,
        conversation: &ConversationId,
        since: Revision,
    ) -> Result<(), StoreError> {
        self.store.wait_for_change(conversation, since).await
    }

    fn is_persistent(&self) -> bool {
        self.store.is_persistent()
    }

    fn spool(&self) -> Option<Arc<dyn Spool>> {
        Some(Arc::clone(&self.spool))
    }
}
