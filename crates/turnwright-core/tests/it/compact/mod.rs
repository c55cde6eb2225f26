//! Conversations that are longer than the context window.

mod conversation;
mod property;
mod results;
mod resume;
mod summariser;
mod trust;

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use turnwright_core::artifact::text::TokenCount;
use turnwright_core::event::Event;
use turnwright_core::record::{Coverage, Record, RecordKind, Retrievable};
use turnwright_core::runner::TurnRunnerBuilder;
use turnwright_core::store::{ConversationId, MemoryStore, StoreExt as _};
use turnwright_core::*;
use turnwright_testkit::script::{ModelRequest, ScriptedModel, Step};
use turnwright_testkit::store::storage_of;

/// The conversation of every test here.
const CHAT: &str = "chat";

fn say(text: impl Into<String>) -> TurnInput {
    TurnInput::new(text.into()).conversation(CHAT)
}

/// A text of about this many tokens that starts with a word.
fn long(word: &str, tokens: usize) -> String {
    let rest = tokens.saturating_sub(word.len() / 4 + 1);
    format!("{word}{}", " abc".repeat(rest))
}

fn on(store: &Arc<MemoryStore>, model: &ScriptedModel) -> TurnRunnerBuilder {
    runner(model.clone()).storage(storage_of(Arc::clone(store)))
}

fn tool(name: &str, text: impl Into<String>) -> ToolBuilder<Value> {
    let text = text.into();
    Tool::dynamic(name, json!({ "type": "object" }))
        .description("Of a test.")
        .handler(move |_: Value, _: ToolContext| {
            let text = text.clone();
            async move { text }
        })
}

/// The prompt in wire order, as one text.
fn prompt(shown: &ModelRequest) -> String {
    let parts: Vec<String> = shown.prompt().iter().map(ToString::to_string).collect();
    parts.join("\n---\n")
}

fn tokens(shown: &ModelRequest) -> u64 {
    let parts = shown.prompt().iter();
    parts
        .map(|part| TokenCount::of_text(&part.text, "").tokens)
        .sum()
}

/// The events of this name.
#[derive(Clone, Default)]
struct Observed(Arc<Mutex<Vec<Value>>>);

impl Observed {
    fn of(runner: &TurnRunner) -> Self {
        let observed = Observed::default();
        let into = observed.clone();
        runner.observe(move |event: &Event| {
            into.0.lock().push(serde_json::to_value(event).unwrap());
        });
        observed
    }

    fn named(&self, name: &str) -> Vec<Value> {
        let all = self.0.lock();
        let named = all.iter().filter(|event| event["event"] == name);
        named.cloned().collect()
    }
}

async fn records(store: &MemoryStore) -> Vec<Record> {
    store.records(&ConversationId::new(CHAT)).await.unwrap()
}

/// The summaries of the conversation, oldest first.
async fn summaries(store: &MemoryStore) -> Vec<Arc<Retrievable>> {
    let found = records(store).await.into_iter();
    let found = found.filter_map(Record::downcast::<Retrievable>);
    found.filter(|found| found.covers().is_some()).collect()
}

fn covers(summary: &Retrievable) -> &Coverage {
    summary.covers().unwrap()
}

/// A model that summarises everything with the same words.
fn summarising(text: &'static str) -> impl Executor + 'static {
    move |ctx: DispatchContext| async move {
        ctx.reporter().usage(Usage::tokens(100, 10));
        ctx.answer(text).await?;
        Ok(())
    }
}
