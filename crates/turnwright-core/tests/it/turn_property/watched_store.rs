//! A store that is slow, fails on request, and records the order of writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use turnwright_core::spool::Spool;
use turnwright_core::store::{
    Changes, ConversationFilter, FoundConversation, FoundTurn, Loaded, Query, TurnFilter,
};

use async_trait::async_trait;
use parking_lot::Mutex;
use turnwright_core::record::Record;
use turnwright_core::record::{CallState, RecordKind};
use turnwright_core::store::{Batch, Change, ConversationId, Revision, StoreError};
use turnwright_core::store::{MemoryStore, Store};

use super::script::{Fault, Pace, StoreScript};

#[derive(Clone)]
pub(super) struct Watched(Arc<Inner>);

struct Inner {
    store: MemoryStore,
    script: StoreScript,
    applied: AtomicUsize,
    puts: Mutex<Vec<(ConversationId, Put)>>,
    failed: Mutex<Vec<ConversationId>>,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Put {
    pub(super) kind: RecordKind,
    pub(super) id: String,
    /// For a call: whether it is complete. For a ledger entry: whether it ended.
    pub(super) ended: bool,
}

impl Watched {
    pub(super) fn store(script: StoreScript) -> Self {
        Watched(Arc::new(Inner {
            store: MemoryStore::default(),
            script,
            applied: AtomicUsize::new(0),
            puts: Mutex::default(),
            failed: Mutex::default(),
        }))
    }

    /// Whether the store rejected something of this conversation.
    pub(super) fn failed(&self, conversation_id: &ConversationId) -> bool {
        self.0.failed.lock().contains(conversation_id)
    }

    /// What was written to a conversation, in order.
    pub(super) fn puts(&self, conversation_id: &ConversationId) -> Vec<Put> {
        let puts = self.0.puts.lock();
        let for_conversation = puts.iter().filter(|(of, _)| of == conversation_id);
        for_conversation.map(|(_, put)| put.clone()).collect()
    }

    /// Whether the call with this idempotency key is recorded as started and not ended.
    pub(super) fn is_begun(&self, conversation_id: &ConversationId, idempotency_key: &str) -> bool {
        let puts = self.puts(conversation_id);
        let mut of_call = puts.iter().filter(|put| put.id == idempotency_key);
        of_call.next().is_some_and(|put| !put.ended) && of_call.next().is_none()
    }

    /// Alternates between slow and fast, so that a write that does not wait for the previous one would overtake it.
    async fn pause(&self, count: usize) {
        let uneven = [3, 0, 2, 1][count % 4];
        match self.0.script.pace {
            Pace::AtOnce => {}
            Pace::Yields(times) => {
                for _ in 0..times + uneven {
                    tokio::task::yield_now().await;
                }
            }
            Pace::Sleeps(millis) => {
                tokio::time::sleep(Duration::from_millis(millis + uneven as u64)).await;
            }
        }
    }
}

#[async_trait]
impl Store for Watched {
    async fn apply(
        &self,
        conversation_id: &ConversationId,
        batch: Batch,
    ) -> Result<Revision, StoreError> {
        let count = self.0.applied.fetch_add(1, Ordering::SeqCst) + 1;
        self.pause(count).await;
        match self.0.script.fault {
            Some((fault, at)) if at == count => {
                self.0.failed.lock().push(conversation_id.clone());
                if fault == Fault::Panics {
                    std::panic::resume_unwind(Box::new("the store panics on purpose"));
                }
                return Err(StoreError::failed("on purpose"));
            }
            _ => {}
        }
        let puts: Vec<(ConversationId, Put)> = batch
            .changes
            .iter()
            .filter_map(put)
            .map(|put| (conversation_id.clone(), put))
            .collect();
        let applied = self.0.store.apply(conversation_id, batch).await;
        // A write that expected another revision changed nothing.
        if applied.is_ok() {
            self.0.puts.lock().extend(puts);
        }
        self.pause(count + 1).await;
        applied
    }

    async fn load(
        &self,
        conversation: &ConversationId,
        query: &Query,
    ) -> Result<Loaded, StoreError> {
        self.0.store.load(conversation, query).await
    }

    async fn conversations(
        &self,
        filter: &ConversationFilter,
    ) -> Result<Vec<FoundConversation>, StoreError> {
        self.0.store.conversations(filter).await
    }

    async fn find_turns(&self, filter: &TurnFilter) -> Result<Vec<FoundTurn>, StoreError> {
        self.0.store.find_turns(filter).await
    }

    async fn changed(
        &self,
        conversation: &ConversationId,
        since: Revision,
    ) -> Result<Changes, StoreError> {
        self.0.store.changed(conversation, since).await
    }

    async fn wait_for_change(
        &self,
        conversation: &ConversationId,
        since: Revision,
    ) -> Result<(), StoreError> {
        self.0.store.wait_for_change(conversation, since).await
    }

    fn is_persistent(&self) -> bool {
        self.0.store.is_persistent()
    }

    fn spool(&self) -> Option<Arc<dyn Spool>> {
        self.0.store.spool()
    }
}

fn put(change: &Change) -> Option<Put> {
    let Change::Put(record) = change else {
        return None;
    };
    Some(Put {
        kind: record.kind(),
        id: record.id().to_owned(),
        ended: match record {
            Record::ToolCall(call) => call.is_complete(),
            Record::Ledger(entry) => entry.state != CallState::Started,
            _ => true,
        },
    })
}
