mod audit;
mod hydrate;
mod limits;
mod tools;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::runner::TurnRunnerBuilder;
use crate::store::{
    Batch, Change, ConversationId, Layered, Loaded, Query, Revision, StoreError, StoreLayer,
};
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
    TurnRunner::builder(move |ctx: DispatchContext| async move {
        if ctx.iteration() == last {
            ctx.answer("done").await?;
        } else {
            ctx.call(name, "{}").await;
        }
        Ok(())
    })
}

/// What operators were told, as JSON.
fn heard(runner: &TurnRunner) -> (Arc<Mutex<Vec<Value>>>, event::Observer) {
    let all: Arc<Mutex<Vec<Value>>> = Arc::default();
    let into = Arc::clone(&all);
    let observer =
        runner.observe(move |event| into.lock().push(serde_json::to_value(event).unwrap()));
    (all, observer)
}

fn of_event(all: &Mutex<Vec<Value>>, name: &str) -> Vec<Value> {
    let all = all.lock();
    all.iter()
        .filter(|event| event["event"] == name)
        .cloned()
        .collect()
}

/// A store that notes the queries, and fails on request.
type AskedStore = Layered<Asked, MemoryStore>;

#[derive(Clone, Default)]
struct Asked {
    queries: Arc<Mutex<Vec<Query>>>,
    /// The load that fails, counted from 1.
    fails_at: Arc<AtomicUsize>,
    /// It passes over the places that a query names.
    sloppy: bool,
    /// It takes no call that is settled.
    refuses: Arc<AtomicBool>,
}

#[async_trait]
impl StoreLayer for Asked {
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

    async fn load(
        &self,
        store: &dyn Store,
        conversation_id: &ConversationId,
        query: &Query,
    ) -> Result<Loaded, StoreError> {
        let asked = {
            let mut queries = self.queries.lock();
            queries.push(query.clone());
            queries.len()
        };
        if asked == self.fails_at.load(Ordering::Relaxed) {
            return Err(StoreError::failed("out of order"));
        }
        let mut query = query.clone();
        if self.sloppy {
            (query.after, query.before) = (None, None);
        }
        store.load(conversation_id, &query).await
    }
}
