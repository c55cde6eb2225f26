//! Turns that ask about a conversation without adding to it.

use turnwright_core::artifact::Inline;

use super::*;

#[derive(Debug, PartialEq, serde::Deserialize, schemars::JsonSchema)]
struct Summary {
    topic: String,
}

const TALK: &str = "c";

/// All records of the store, as JSON, with their conversations.
async fn stored(store: &MemoryStore) -> Vec<(String, Vec<Value>)> {
    let mut all = Vec::new();
    let found = store.conversations(&ConversationFilter::all()).await;
    for found in found.unwrap() {
        let records = store.records(&found.id).await.unwrap();
        let records = records.iter().map(|record| record.to_value().unwrap());
        all.push((found.id.as_str().to_owned(), records.collect()));
    }
    all
}

fn say(text: &str) -> TurnInput {
    TurnInput::new(text).conversation(TALK)
}

#[tokio::test]
async fn a_typed_summary_reads_the_conversation_and_leaves_the_store_unchanged() {
    let store = MemoryStore::default();
    let model = ScriptedModel::new([
        Step::call_tool("log", "{}"),
        Step::say("It was the disk."),
        Step::say(r#"{"topic": "a disk"}"#),
        Step::say("You are welcome."),
    ]);
    let log = tool("log")
        .inline(Inline::Never)
        .handler(|_: Value, _: ToolContext| async { "no space left on device" });
    let runner = runner(model.clone()).storage(storage_of(store.clone()));
    let runner = runner.tool(log.build()).build().unwrap();
    assert!(runner.run(say("What broke?")).await.is_answered());
    let before = stored(&store).await;

    let summary = runner.ask(TurnInput::new("Summarise this.").about(TALK));
    let summary: Summary = summary.await.unwrap();
    assert_eq!(summary.topic, "a disk");
    assert_eq!(stored(&store).await, before);
    let asked = model.request(2);
    let read: Vec<_> = asked
        .messages()
        .iter()
        .map(|one| one.text.to_string())
        .collect();
    assert_eq!(read, ["What broke?", "It was the disk.", "Summarise this."]);
    assert_eq!(asked.tool_calls().len(), 1);

    // The conversation continues as if nothing had been asked.
    assert!(runner.run(say("Thanks.")).await.is_answered());
    let said = model.request(3);
    let said: Vec<_> = said
        .messages()
        .iter()
        .map(|one| one.text.to_string())
        .collect();
    assert_eq!(said, ["What broke?", "It was the disk.", "Thanks."]);
}

#[tokio::test]
async fn a_conversation_can_be_asked_about_while_a_turn_of_it_runs() {
    let storage = Storage::memory();
    let reached = Arc::new(tokio::sync::Notify::new());
    let arrives = Arc::clone(&reached);
    let hangs = runner(move |_: DispatchContext| {
        let reached = Arc::clone(&arrives);
        async move {
            reached.notify_one();
            std::future::pending().await
        }
    });
    let hangs = hangs.storage(storage.clone()).build().unwrap();
    let turn = hangs.start(say("What broke?"));
    reached.notified().await;
    let model = ScriptedModel::new([Step::say("a question")]);
    let asks = runner(model.clone()).storage(storage).build().unwrap();
    let asked = asks.run(TurnInput::new("What is it?").about(TALK)).await;
    assert_eq!(asked.into_answer().unwrap(), "a question");
    assert_eq!(model.request(0).messages()[0].text, "What broke?");
    turn.cancel().unwrap();
    turn.await;
}

#[tokio::test]
async fn a_turn_cannot_ask_about_a_conversation_and_belong_to_one() {
    let runner = runner(ScriptedModel::new([])).build().unwrap();
    for input in [say("hi").about("other"), TurnInput::new("hi").about("")] {
        let error = runner.run(input).await.into_answer().unwrap_err();
        assert_eq!(error.code(), ErrorCode::INVALID_TURN_CONTEXT);
        assert!(error.message().contains("about"), "{error}");
    }
}
