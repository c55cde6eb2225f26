//! The history of a turn, and the tools that read it.

use std::sync::Arc;
use turnwright_core::artifact::ArtifactKind;
use turnwright_core::artifact::Inline;
use turnwright_core::store::MemoryStore;

use turnwright_core::artifact_tools::ArtifactToolPolicy;
use turnwright_core::record::{Author, Memory};

use super::*;

fn log() -> ToolBuilder<Value> {
    tool("log").handler(|_: Value, _: ToolContext| async {
        (0..1_000)
            .map(|n| format!("{n} {}\n", if n == 471 { "ERROR" } else { "ok" }))
            .collect::<String>()
    })
}

fn rows() -> ToolBuilder<Value> {
    tool("rows").handler(|_: Value, _: ToolContext| async { Json(vec![json!({ "id": 1 }); 1_000]) })
}

fn input(text: &str) -> TurnInput {
    TurnInput::new(text).conversation("c")
}

#[tokio::test]
async fn without_history_a_turn_sees_no_earlier_records() {
    let store = Arc::new(MemoryStore::default());
    let model = ScriptedModel::new([
        Step::think("hm").call("log", "{}"),
        Step::say("first answer"),
        Step::say("second answer"),
    ]);
    let runner = runner(model.clone())
        .storage(storage_of(Arc::clone(&store)))
        .tool(log().build())
        .history(History::none())
        .build()
        .unwrap();
    runner.run(input("first")).await;
    let conversation_id = ConversationId::new("c");
    store
        .put(&conversation_id, Memory::new("likes tea").build().unwrap())
        .await
        .unwrap();
    runner.run(input("second")).await;
    let shown = model.request(2);
    assert_eq!(shown.texts(), ["second"]);
    assert!(
        shown.tool_calls().is_empty() && shown.thoughts().is_empty() && shown.memories().is_empty()
    );
    assert_eq!(
        shown.tool_names(),
        ["log"],
        "not even the tools that would read what was there"
    );
}

#[tokio::test]
async fn with_history_a_turn_sees_earlier_records_in_order() {
    let store = Arc::new(MemoryStore::default());
    let model = ScriptedModel::new([
        Step::think("hm").call("log", "{}"),
        Step::say("first answer"),
        Step::say("second answer"),
    ]);
    let runner = runner(model.clone())
        .storage(storage_of(Arc::clone(&store)))
        .tool(log().build())
        .build()
        .unwrap();
    runner.run(input("first")).await;
    let conversation_id = ConversationId::new("c");
    store
        .put(&conversation_id, Memory::new("likes tea").build().unwrap())
        .await
        .unwrap();
    let outcome = runner.run(input("second")).await;
    let shown = model.request(2);
    assert_eq!(shown.texts(), ["first", "first answer", "second"]);
    let authors: Vec<&Author> = shown
        .messages()
        .iter()
        .map(|message| &message.author)
        .collect();
    assert_eq!(authors, [&Author::User, &Author::Assistant, &Author::User]);
    assert_eq!(
        (shown.thoughts(), shown.memories()),
        (&["hm".to_owned()][..], &["likes tea".to_owned()][..])
    );
    assert_eq!(shown.tool_calls()[0].tool(), "log");
    assert_eq!(
        outcome.records.len(),
        2,
        "what was there before was not stored by this turn"
    );
    assert_eq!(outcome.text, "second answer");
}

#[tokio::test]
async fn an_artifact_of_an_earlier_turn_can_be_read_with_history_from_the_first_iteration() {
    let model = ScriptedModel::new([Step::call_tool("log", "{}"), Step::say("kept")]);
    let runner = runner(model.clone()).tool(log().build()).build().unwrap();
    let first = runner.run(input("first")).await;
    let id = first.tool_calls().next().unwrap().id().to_owned();
    model.push(Step::call_tool(
        "artifact_grep",
        json!({ "callId": id, "pattern": "ERROR" }),
    ));
    model.push(Step::say("found"));
    let second = runner.run(input("second")).await;
    assert!(model.request(2).tool("artifact_grep").is_some());
    assert_eq!(texts(&second).await, ["471:471 ERROR"]);
    assert!(model.request(3).tool_calls()[1].from_artifact_tool());
}

#[tokio::test]
async fn history_does_not_include_other_conversations() {
    let model = ScriptedModel::new([Step::say("a"), Step::say("b")]);
    let runner = runner(model.clone()).build().unwrap();
    runner.run(input("mine")).await;
    runner.run(TurnInput::new("yours").conversation("d")).await;
    assert_eq!(model.request(1).texts(), ["yours"]);
}

#[tokio::test]
async fn a_conversation_continues_across_turns() {
    let model = ScriptedModel::new([
        Step::say("Hello Ada."),
        Step::say("Ada."),
        Step::say("It goes on."),
    ]);
    let runner = runner(model.clone()).build().unwrap();
    let mut chat = runner.conversation("chat");
    chat.say("I am Ada.").await;
    chat.say("Who am I?").await;
    chat.say(TurnInput::empty()).await;
    assert_eq!(
        model.request(1).texts(),
        ["I am Ada.", "Hello Ada.", "Who am I?"]
    );
    assert_eq!(
        model.request(2).texts().len(),
        4,
        "there are no further messages"
    );
}

#[tokio::test]
async fn middleware_can_fetch_tools_and_records() {
    let fetch_tools = |ctx: TurnContext, next: Next<TurnContext>| async move {
        ctx.tools()
            .register(returning("fetched", "from elsewhere"))?;
        ctx.records()
            .add(Memory::new("from a vector store").build()?);
        next.run().await
    };
    let model = ScriptedModel::new([Step::call_tool("fetched", "{}"), Step::say("done")]);
    let runner = runner(model.clone())
        .turn_input(fetch_tools)
        .build()
        .unwrap();
    let outcome = runner.run("go").await;
    assert_eq!(model.request(0).tool_names(), ["fetched"]);
    assert_eq!(model.request(0).memories(), ["from a vector store"]);
    assert_eq!(texts(&outcome).await, ["from elsewhere"]);
}

#[tokio::test]
async fn stable_tools_appear_with_the_first_artifact_of_a_kind_and_never_change() {
    let model = ScriptedModel::new([
        Step::call_tool("small", "{}"),
        Step::call_tool("log", "{}"),
        Step::call_tool("log", "{}"),
        Step::call_tool("log", "{}").call("small", "{}"),
        Step::say("done"),
    ]);
    let runner = runner(model.clone())
        .tools([log().build().unwrap(), returning("small", "inline")])
        .build()
        .unwrap();
    runner.run("go").await;
    assert_eq!(model.request(0).tool_names(), ["log", "small"]);
    assert_eq!(
        model.request(1).tool_names(),
        ["log", "small"],
        "a result that is inline needs no tools"
    );
    let with = model.request(2);
    assert_eq!(with.tool_names()[..3], ["log", "small", "artifact_head"]);
    for later in 3..5 {
        assert_eq!(
            model.request(later).tools(),
            with.tools(),
            "iteration {later}"
        );
    }
}

#[cfg(feature = "artifact-formats")]
#[tokio::test]
async fn each_kind_extends_the_list_of_tools_once() {
    let model = ScriptedModel::new([
        Step::call_tool("log", "{}"),
        Step::call_tool("rows", "{}"),
        Step::call_tool("rows", "{}"),
        Step::say("done"),
    ]);
    let runner = runner(model.clone())
        .tools([log().build(), rows().build()])
        .build()
        .unwrap();
    runner.run("go").await;
    let (text, both) = (model.request(1), model.request(2));
    assert!(text.tool("artifact_json_get").is_none() && both.tool("artifact_json_get").is_some());
    assert_eq!(both.tools()[..text.tools().len()], *text.tools());
    assert_eq!(model.request(3).tools(), both.tools());
}

#[cfg(feature = "artifact-formats")]
#[tokio::test]
async fn a_tool_that_is_never_inline_adds_artifact_tools_from_the_first_iteration() {
    let model = ScriptedModel::new([Step::call_tool("rows", "{}"), Step::say("done")]);
    let promised = rows()
        .artifact_kind(ArtifactKind::JSON)
        .inline(Inline::Never);
    let runner = runner(model.clone())
        .tool(promised.build())
        .build()
        .unwrap();
    runner.run("go").await;
    assert!(model.request(0).tool("artifact_json_get").is_some());
    assert_eq!(model.request(0).tools(), model.request(1).tools());
}

#[tokio::test]
async fn a_stable_tool_accepts_only_readable_calls_and_lists_them() {
    let model = ScriptedModel::new([
        Step::call_tool("log", "{}"),
        Step::call_tool("artifact_head", json!({ "callId": "nonsense" })),
        Step::say("done"),
    ]);
    let runner = runner(model.clone()).tool(log().build()).build().unwrap();
    let outcome = runner.run("go").await;
    let id = outcome.tool_calls().next().unwrap().id().to_owned();
    let text = texts(&outcome).await.remove(1);
    assert!(text.contains(&id), "{text}");
    // The handle has the names of the tools and the id.
    let shown = model.request(1);
    let handle = shown.tool_calls()[0].rendered();
    assert!(
        handle.contains("artifact_head") && handle.contains(&id),
        "{handle}"
    );
}

#[tokio::test]
async fn enumerated_tools_list_readable_calls_and_can_be_disabled() {
    let script = || ScriptedModel::new([Step::call_tool("log", "{}"), Step::say("done")]);
    let model = script();
    let runner = runner(model.clone())
        .tool(log().inline(Inline::Never).build())
        .artifact_tools(ArtifactToolPolicy::Enumerated)
        .build()
        .unwrap();
    let outcome = runner.run("go").await;
    assert_eq!(model.request(0).tool_names(), ["log"]);
    let shown = model.request(1);
    let checksum = &shown.tool("artifact_head").unwrap().document["properties"]["callId"];
    assert_eq!(
        checksum["enum"],
        json!([outcome.tool_calls().next().unwrap().id()])
    );

    let model = script();
    let runner = turnwright_core::runner(model.clone())
        .tool(log().inline(Inline::Never).build())
        .artifact_tools(None)
        .build()
        .unwrap();
    runner.run("go").await;
    assert_eq!(model.request(1).tool_names(), ["log"]);
}
