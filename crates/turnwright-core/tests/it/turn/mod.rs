//! The loop of a turn.

mod about;
mod approval;
mod attach;
mod auto_ack;
mod budget;
mod buses;
mod calls;
mod cancel;
mod contained;
mod ends;
mod errors;
mod executor;
mod gates;
mod history;
mod hostile;
mod info;
mod on_result;
mod order;
mod partial;
mod principal;
mod resume;
mod settings;
mod signals;
mod stash;
mod sub_agent;
mod typed;
mod unnamed;

use std::sync::Arc;
use turnwright_core::event::Event;
use turnwright_core::gate::Gates;
use turnwright_core::record::Record;
use turnwright_core::spool::Spool;
use turnwright_core::store::MemoryStore;
use turnwright_core::store::Store;
use turnwright_core::store::StoreExt as _;
use turnwright_core::store::{Changes, FoundConversation, FoundTurn};

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use turnwright_core::store::{
    Batch, ConversationFilter, ConversationId, Loaded, Query, Revision, StoreError, TurnFilter,
};
use turnwright_core::*;

pub(crate) use turnwright_testkit::script::{ScriptedModel, Step};
pub(crate) use turnwright_testkit::store::{storage_of, storage_with};

/// Notes of what happened.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    fn note(&self, what: impl Into<String>) {
        self.0.lock().push(what.into());
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().clone()
    }

    fn has(&self, what: &str) -> bool {
        self.0.lock().iter().any(|note| note == what)
    }

    /// A layer that records when it is entered and left.
    fn layer(&self, name: &'static str) -> Layer {
        Layer {
            notes: self.clone(),
            name,
        }
    }
}

struct Layer {
    notes: Notes,
    name: &'static str,
}

#[async_trait]
impl<C: Clone + Send + Sync + 'static> Middleware<C> for Layer {
    async fn handle(&self, _: C, next: Next<C>) -> Result<(), BoxError> {
        self.notes.note(format!("{} in", self.name));
        let passed = next.run().await;
        let how = if passed.is_ok() { "out" } else { "failed" };
        self.notes.note(format!("{} {how}", self.name));
        passed
    }
}

/// The events that observers received.
#[derive(Clone, Default)]
struct Observed(Arc<Mutex<Vec<Value>>>);

impl Observed {
    fn observer(&self) -> impl Fn(&Event) + Send + Sync + 'static {
        let text = self.clone();
        move |event| text.0.lock().push(serde_json::to_value(event).unwrap())
    }

    fn names(&self) -> Vec<String> {
        let name = |event: &Value| event["event"].as_str().unwrap().to_owned();
        self.0.lock().iter().map(name).collect()
    }

    fn of(&self, name: &str) -> Vec<Value> {
        let all = self.0.lock();
        all.iter()
            .filter(|event| event["event"] == name)
            .cloned()
            .collect()
    }

    /// Every start has its end, correctly nested, and the end of the turn comes last.
    #[track_caller]
    fn assert_paired(&self) {
        let mut open: Vec<String> = Vec::new();
        let mut at_once: Vec<(String, Value)> = Vec::new();
        let events = self.0.lock().clone();
        for event in &events {
            let name = event["event"].as_str().unwrap();
            match name {
                "turnStart" | "dispatchStart" | "iterationStart" => {
                    open.push(name.replace("Start", "End"));
                }
                "turnEnd" | "dispatchEnd" | "iterationEnd" => {
                    assert_eq!(open.pop().as_deref(), Some(name), "{:?}", self.names());
                    if name != "iterationEnd" {
                        assert_eq!(at_once, [], "{:?}", self.names());
                    }
                }
                "toolExecutionStart" => {
                    at_once.push(("toolExecutionEnd".to_owned(), event["id"].clone()));
                }
                "turnGateOpen" => at_once.push(("turnGateClosed".to_owned(), event["id"].clone())),
                "toolExecutionEnd" | "turnGateClosed" => {
                    let pair = (name.to_owned(), event["id"].clone());
                    let at = at_once.iter().position(|open| *open == pair);
                    at_once.remove(at.expect("an end without a start"));
                }
                _ => assert!(!open.is_empty(), "{name} outside of the turn"),
            }
        }
        assert_eq!((open, at_once), (vec![], vec![]), "{:?}", self.names());
        assert_eq!(self.names().last().map(String::as_str), Some("turnEnd"));
    }
}

/// A builder of a tool that accepts any object.
fn tool(name: &str) -> ToolBuilder<Value> {
    Tool::dynamic(name, json!({ "type": "object" })).description("Of a test.")
}

/// A tool that returns a text.
fn returning(name: &str, text: &'static str) -> Tool {
    tool(name)
        .handler(move |_: Value, _: ToolContext| async move { text })
        .build()
        .unwrap()
}

/// A tool whose handler never ends by itself, and signals when it was started.
fn endless(name: &str, reached: &Arc<tokio::sync::Notify>) -> ToolBuilder<Value> {
    let reached = Arc::clone(reached);
    tool(name).handler(move |_: Value, _: ToolContext| {
        let reached = Arc::clone(&reached);
        async move {
            reached.notify_one();
            std::future::pending::<&str>().await
        }
    })
}

/// An input with a stored conversation.
fn stored(text: &str) -> TurnInput {
    TurnInput::new(text).conversation("c")
}

fn error_of(outcome: &TurnOutcome) -> Error {
    outcome.error().expect("it went well")
}

fn code_of(outcome: &TurnOutcome) -> &'static str {
    error_of(outcome).code().as_str()
}

/// The texts of the calls that a turn stored.
async fn texts(outcome: &TurnOutcome) -> Vec<String> {
    let mut texts = Vec::new();
    for call in outcome.tool_calls() {
        texts.push(call.text().await.unwrap_or_default());
    }
    texts
}

/// The kinds and ids that a store has of a turn.
async fn held(store: &dyn Store, outcome: &TurnOutcome) -> Vec<Record> {
    let conversation_id = ConversationId::new(Arc::clone(&outcome.conversation));
    store.records(&conversation_id).await.unwrap()
}

/// The ledger of a conversation: tool and state.
async fn ledger(store: &dyn Store, conversation: &str) -> Vec<(String, &'static str)> {
    let records = store
        .records(&ConversationId::new(conversation))
        .await
        .unwrap();
    let entries = records.into_iter().filter_map(|record| match record {
        Record::Ledger(entry) => Some((entry.tool.to_string(), entry.state.as_str())),
        _ => None,
    });
    entries.collect()
}

/// A store in memory with a special behaviour on the n-th write, starting at 0.
#[derive(Clone)]
struct Odd {
    store: Arc<MemoryStore>,
    writes: Arc<std::sync::atomic::AtomicUsize>,
    at: usize,
    how: How,
}

#[derive(Clone)]
enum How {
    Fails,
    Panics,
    /// Cancels a token, and writes.
    Cancels(Cancellation),
    /// Signals that it was reached, and waits until it is released.
    Waits(Arc<tokio::sync::Notify>, Arc<tokio::sync::Notify>),
}

impl Odd {
    fn store(at: usize, how: How) -> Self {
        Odd {
            store: Arc::default(),
            writes: Arc::default(),
            at,
            how,
        }
    }
}

#[async_trait]
impl Store for Odd {
    async fn apply(
        &self,
        conversation_id: &ConversationId,
        batch: Batch,
    ) -> Result<Revision, StoreError> {
        let write = self
            .writes
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if write == self.at {
            match &self.how {
                How::Fails => return Err(StoreError::failed("the disk is full")),
                How::Panics => panic!("on purpose"),
                How::Cancels(token) => token.cancel(),
                How::Waits(reached, go) => {
                    reached.notify_one();
                    go.notified().await;
                }
            }
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

/// Waits for an open gate.
pub(crate) async fn opened(gates: &Gates) -> Vec<gate::OpenGate> {
    gates.clone().next().await.expect("the turn goes on");
    gates.open()
}
