mod audit;
mod limits;
mod tools;

use crate::record::Record;
use crate::spool::Spool;
use crate::store::MemoryStore;
use crate::store::Store;
use crate::store::{
    Changes, ConversationFilter, FoundConversation, FoundTurn, Loaded, Query, TurnFilter,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::runner::TurnRunnerBuilder;
use crate::store::{Batch, Change, ConversationId, Revision, StoreError};
use crate::*;

fn tool(name: &str) -> ToolBuilder<Value> {
    Tool::dynamic(name, json!({ "type": "object" })).description(format!("Does {name}."))
}

fn plain(name: &str) -> Tool {
    done(tool(name))
}

fn done(tool: ToolBuilder<Value>) -> Tool {
    tool.handler(|_: Value, _: ToolContext| async { "ok" })
        .build()
        .unwrap()
}

/// An executor that proposes the same call in each iteration and answers in iteration `last`.
fn calling(name: &'static str, last: u32) -> TurnRunnerBuilder {
    runner(move |ctx: DispatchContext| async move {
        if ctx.iteration() == last {
            ctx.answer("done").await?;
        } else {
            ctx.call(name, "{}").await;
        }
        Ok(())
    })
}

/// The events that operators received, as JSON.
fn heard(runner: &TurnRunner) -> Arc<Mutex<Vec<Value>>> {
    let all: Arc<Mutex<Vec<Value>>> = Arc::default();
    let into = Arc::clone(&all);
    runner.observe(move |event| into.lock().push(serde_json::to_value(event).unwrap()));
    all
}

fn of_event(all: &Mutex<Vec<Value>>, name: &str) -> Vec<Value> {
    let all = all.lock();
    all.iter()
        .filter(|event| event["event"] == name)
        .cloned()
        .collect()
}

/// A store that fails to write settled calls on request.
#[derive(Clone, Default)]
struct Refusing {
    store: MemoryStore,
    refuses: Arc<AtomicBool>,
}

#[async_trait]
impl Store for Refusing {
    async fn apply(
        &self,
        conversation_id: &ConversationId,
        batch: Batch,
    ) -> Result<Revision, StoreError> {
        let settled = |change: &Change| match change {
            Change::Put(Record::ToolCall(call)) => call.is_complete(),
            _ => false,
        };
        if self.refuses.load(Ordering::Relaxed) && batch.changes.iter().any(settled) {
            return Err(StoreError::failed("no room"));
        }
        self.store.apply(conversation_id, batch).await
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
        self.store.spool()
    }
}
