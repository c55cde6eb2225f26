mod audit;
mod limits;
mod tools;

use crate::record::Record;
use crate::store::MemoryStore;
use crate::store::Store;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::runner::TurnRunnerBuilder;
use crate::store::{Batch, Change, ConversationId, Layered, Revision, StoreError, StoreLayer};
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

/// An executor that makes the same proposal in each iteration and answers in iteration `last`.
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

/// What operators were told, as JSON.
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

/// A store that refuses calls that are settled, on request.
type RefusingStore = Layered<Refusing, MemoryStore>;

#[derive(Clone, Default)]
struct Refusing {
    refuses: Arc<AtomicBool>,
}

#[async_trait]
impl StoreLayer for Refusing {
    async fn apply(
        &self,
        store: &dyn Store,
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
        store.apply(conversation_id, batch).await
    }
}
