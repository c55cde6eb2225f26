//! Compacted conversations in a database file, continued and resumed by another store.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use turnwright_core::artifact::Inline;
use turnwright_core::gate::GateAnswer;
use turnwright_core::middleware::{SummaryRequest, compact};
use turnwright_core::record::{Coverage, Memory, Record, Retrievable};
use turnwright_core::store::{ConversationId, Store, StoreExt as _, TurnFilter};
use turnwright_core::tool::approval::always;
use turnwright_core::trust::TrustTier;
use turnwright_core::{Storage, Tool, ToolContext, TurnInput, TurnRunner};
use turnwright_sqlite::{SqliteStorage as _, SqliteStore};
use turnwright_testkit::script::{ModelRequest, ScriptedModel, Step};

use crate::folder::Folder;

const CHAT: &str = "chat";
const TURN: &str = "turn-pay";
const RULE: &str = "You are a clerk.";
const MEMORY: &str = "The user lives in Oslo.";

fn tool(name: &str, text: impl Into<String>, asks: bool) -> Tool {
    let text = text.into();
    let tool = Tool::dynamic(name, json!({ "type": "object" }))
        .description("Of a test.")
        .inline(Inline::Always)
        .handler(move |_: Value, _: ToolContext| {
            let text = text.clone();
            async move { text }
        });
    let tool = if asks {
        tool.approval(always("it costs"))
    } else {
        tool
    };
    tool.build().unwrap()
}

/// A runner with its own connection to the file.
async fn runner(file: &Path, model: &ScriptedModel) -> TurnRunner {
    let summary = |request: SummaryRequest| async move {
        Ok(format!("A summary of {} parts.", request.parts.len()))
    };
    turnwright_core::runner(model.clone())
        .storage(Storage::sqlite(file).await.unwrap())
        .instructions(RULE)
        .tool(tool("log", "line of a log\n".repeat(300), false))
        .tool(tool("pay", "paid", true))
        .suspend_at_gates()
        .dispatch_input(compact(3_000).summarise_by(summary))
        .build()
        .unwrap()
}

fn say(text: &str) -> TurnInput {
    TurnInput::new(text).conversation(CHAT)
}

/// Fills a conversation until it was compacted, and suspends a turn. Returns its model.
async fn suspend(file: &Path) -> ScriptedModel {
    let store = SqliteStore::open(file).await.unwrap();
    let memory = Memory::new(MEMORY).build().unwrap();
    store.put(&ConversationId::new(CHAT), memory).await.unwrap();
    let mut steps = vec![Step::call_tool("log", "{}"), Step::say("Seen.")];
    steps.extend((0..8).map(|turn| Step::say(format!("answer-{turn}{}", " abc".repeat(300)))));
    steps.push(Step::call_tool("pay", "{}"));
    let model = ScriptedModel::new(steps);
    let runner = runner(file, &model).await;
    runner.run(say("look")).await.into_answer().unwrap();
    for turn in 0..8 {
        let outcome = runner.run(say(&format!("question-{turn}"))).await;
        outcome.into_answer().unwrap();
    }
    let suspended = runner.run(say("pay").turn_id(TURN)).await;
    assert!(suspended.is_suspended(), "{:?}", suspended.status);
    model
}

async fn summaries(store: &dyn Store) -> Vec<Arc<Retrievable>> {
    let records = store.records(&ConversationId::new(CHAT)).await.unwrap();
    let found = records.into_iter().filter_map(Record::downcast);
    found
        .filter(|found: &Arc<Retrievable>| found.covers().is_some())
        .collect()
}

fn assert_standing(shown: &ModelRequest) {
    assert_eq!(shown.instructions(), Some(RULE));
    assert_eq!(shown.memories(), [MEMORY]);
}

#[tokio::test]
async fn a_compacted_turn_is_resumed_by_another_store_with_the_same_prompt() {
    let folder = Folder::new();
    let file = folder.file();
    let first = suspend(&file).await;
    let before = first.requests().pop().unwrap();
    assert_standing(&before);
    let summary = before.retrievables()[0].rendered().to_owned();
    assert!(summary.contains("A summary of"), "{summary}");
    let texts = before.texts().join("\n");
    assert!(!texts.contains("answer-0") && texts.contains("answer-7"));
    let store = SqliteStore::open(&file).await.unwrap();
    let made = summaries(&store).await;
    assert!(!made.is_empty());

    // Another process has another connection, and another model.
    let model = ScriptedModel::new([Step::say("Done."), Step::say("Good.")]);
    let second = runner(&file, &model).await;
    let waiting = second.storage().waiting(&TurnFilter::all()).await.unwrap();
    let gate = &waiting[0].gates[0].id;
    let turn = second.answer_gate(CHAT, gate, GateAnswer::approve()).await;
    assert_eq!(turn.unwrap().await.text, "Done.");

    let after = model.request(0);
    assert!(
        after.prompt().starts_with(before.prompt()),
        "{:#?}\n{:#?}",
        before.prompt(),
        after.prompt()
    );
    assert_standing(&after);
    let calls = after.tool_calls();
    assert!(calls.last().unwrap().rendered().contains("paid"));
    assert_eq!(summaries(&store).await.len(), made.len(), "not made again");

    // A later turn of that process still starts with the summary.
    second.run(say("thanks")).await.into_answer().unwrap();
    assert_eq!(model.request(1).retrievables()[0].rendered(), summary);
}

#[tokio::test]
async fn a_summary_is_stored_with_its_coverage_and_the_lowest_trust() {
    let folder = Folder::new();
    let file = folder.file();
    suspend(&file).await;
    let store = SqliteStore::open(&file).await.unwrap();
    let records = store.records(&ConversationId::new(CHAT)).await.unwrap();
    let made = summaries(&store).await;
    let last = made.last().unwrap();
    // The log is not trusted, and the summary covers its call.
    assert_eq!(last.tier(), TrustTier::ThirdPartyPublic);
    let Coverage { first, next, .. } = last.covers().unwrap();
    let at = |id: &str| records.iter().position(|record| record.id() == id);
    let (first, next) = (at(&first.id).unwrap(), at(&next.as_ref().unwrap().id));
    assert!(Some(first) < next);
    // What it replaces stays in the store, with the complete result.
    let call = records[first..]
        .iter()
        .cloned()
        .find_map(Record::downcast::<turnwright_core::ToolCall>);
    let text = call.unwrap().text().await.unwrap();
    assert_eq!(text, "line of a log\n".repeat(300));
}
