//! Turns without a conversation: they stay in memory and leave nothing behind.

use std::sync::Weak;
use turnwright_core::store::MemoryStore;
use turnwright_core::tool::approval::ApprovalRequest;
use turnwright_core::tool::approval::GateAnswer;

use bytes::Bytes;
use turnwright_core::artifact::Inline;
use turnwright_core::record::Memory;
use turnwright_core::spool::{MemorySpool, Spool as _};
use turnwright_core::tool::approval::always;

use super::*;

const LONG: &str = "line\n";

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Number {
    number: u8,
}

/// Calls the tool `log` once. A scripted model would keep what it was shown.
async fn call_log(ctx: DispatchContext) -> Result<(), BoxError> {
    ctx.call_tools([ctx.propose("log", "{}")]).await;
    ctx.answer("done").await?;
    Ok(())
}

/// Bytes that can be checked for remaining references.
struct Tracked {
    bytes: Vec<u8>,
    _alive: Arc<()>,
}

impl AsRef<[u8]> for Tracked {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// A tool whose result becomes an artifact, and a check whether its last bytes are still referenced.
fn tracked() -> (Tool, Arc<Mutex<Weak<()>>>) {
    let alive = Arc::new(Mutex::new(Weak::new()));
    let last = Arc::clone(&alive);
    let tool = tool("log").handler(move |_: Value, _: ToolContext| {
        let marker = Arc::new(());
        *last.lock() = Arc::downgrade(&marker);
        async move {
            Bytes::from_owner(Tracked {
                bytes: LONG.repeat(2_000).into_bytes(),
                _alive: marker,
            })
        }
    });
    (tool.build().unwrap(), alive)
}

async fn is_empty(store: &MemoryStore, spool: &MemorySpool) -> bool {
    let conversation_ids = store
        .conversations(&ConversationFilter::all())
        .await
        .unwrap();
    conversation_ids.is_empty() && spool.list().await.unwrap().is_empty()
}

#[tokio::test]
async fn a_turn_without_a_conversation_leaves_nothing_in_the_store_or_the_spool() {
    let (store, spool) = (MemoryStore::default(), MemorySpool::default());
    let (log, _) = tracked();
    let model = ScriptedModel::new([
        Step::call_tool("log", "{}").call("pay", "{}"),
        Step::run(|ctx: DispatchContext| async move {
            // Artifact tools can read the result while the turn is running.
            let id = ctx.records().own_tool_calls()[0].id().to_owned();
            let head = ctx.propose("artifact_head", json!({ "callId": id, "n": 1 }));
            let text = ctx.call_tools([head]).await[0].text().await.unwrap();
            assert!(
                text.starts_with(
                    "line
"
                ),
                "{text}"
            );
            Ok(())
        })
        .keep_open(),
        Step::say("done"),
    ]);
    let runner = runner(model)
        .storage(storage_with(store.clone(), spool.clone()))
        .tool(log)
        .tool(
            tool("pay")
                .approval(always("money"))
                .handler(|_: Value, _: ToolContext| async { "paid" })
                .build(),
        )
        .approver(|_: ApprovalRequest| async { GateAnswer::approve() })
        .build()
        .unwrap();
    let outcome = runner.run("go").await;
    assert!(outcome.is_answered(), "{:?}", outcome.status);
    assert!(is_empty(&store, &spool).await);

    // The outcome has everything.
    assert_eq!(outcome.messages().count(), 2);
    let calls: Vec<_> = outcome.tool_calls().collect();
    assert_eq!(calls[0].text().await.unwrap(), LONG.repeat(2_000));
    assert_eq!(calls[0].handles().len(), 1);
    assert_eq!(calls[1].text().await.unwrap(), "paid");
}

#[tokio::test]
async fn streams_typed_answers_failures_and_sub_agents_leave_nothing_behind() {
    let (store, spool) = (MemoryStore::default(), MemorySpool::default());
    let runner =
        |model: ScriptedModel| runner(model).storage(storage_with(store.clone(), spool.clone()));
    let inner = runner(ScriptedModel::new([
        Step::call_tool("log", "{}"),
        Step::say("found"),
    ]));
    let inner = inner.tool(tracked().0).build().unwrap();
    let ask = tool("ask")
        .inline(Inline::Never)
        .handler(move |_: Value, ctx: ToolContext| {
            let inner = inner.clone();
            async move {
                let outcome = inner.run(TurnInput::new("look").under_call(&ctx)).await;
                Ok::<_, ToolError>(outcome.into_answer()?)
            }
        });
    let ask = ask.build().unwrap();

    let outer = runner(ScriptedModel::new([
        Step::call_tool("ask", "{}"),
        Step::say("told"),
    ]));
    let outer = outer.tool(ask).build().unwrap();
    let outcome = outer.start("go").await;
    assert_eq!(texts(&outcome).await, ["found"]);

    let typed = runner(ScriptedModel::new([Step::say(r#"{"number": 17}"#)]))
        .build()
        .unwrap();
    assert_eq!(typed.ask::<Number>("a number?").await.unwrap().number, 17);

    let failing = runner(ScriptedModel::new([Step::run(|_| async {
        Err("broken".into())
    })]));
    let outcome = failing.build().unwrap().run("go").await;
    assert_eq!(code_of(&outcome), "E_LLM_EXECUTION_EXECUTOR_ERROR");
    assert!(is_empty(&store, &spool).await);
}

#[tokio::test]
async fn results_of_a_turn_without_a_conversation_end_with_its_outcome() {
    let (log, alive) = tracked();
    let runner = runner(call_log).tool(log).build().unwrap();
    let outcome = runner.run("go").await;
    assert_eq!(
        outcome.tool_calls().next().unwrap().handles()[0].byte_length(),
        10_000
    );
    assert!(alive.lock().upgrade().is_some());
    drop(outcome);
    assert!(
        alive.lock().upgrade().is_none(),
        "something still holds the result"
    );
}

#[tokio::test]
async fn deleting_a_conversation_in_memory_releases_its_results() {
    let (log, alive) = tracked();
    let store = MemoryStore::default();
    let runner = runner(call_log)
        .tool(log)
        .storage(storage_of(store.clone()))
        .build()
        .unwrap();
    let outcome = runner.run(TurnInput::new("go").conversation("chat")).await;
    assert!(outcome.is_answered());
    drop(outcome);
    let conversation_id = ConversationId::new("chat");
    let calls = store.tool_calls(&conversation_id).await.unwrap();
    assert_eq!(
        calls[0].text().await.unwrap().len(),
        10_000,
        "the store keeps it"
    );
    drop(calls);
    store.delete_conversation(&conversation_id).await.unwrap();
    assert!(
        alive.lock().upgrade().is_none(),
        "something still holds the result"
    );
}

#[tokio::test]
async fn a_turn_without_a_conversation_cannot_be_resumed() {
    let model = ScriptedModel::new([Step::run(|_| async { Err("broken".into()) })]);
    let runner = runner(model).build().unwrap();
    let outcome = runner.run(TurnInput::new("go").turn_id("turn-1")).await;
    assert_eq!(
        (&*outcome.turn_id, outcome.is_answered()),
        ("turn-1", false)
    );
    let error = runner.resume("turn-1").await.unwrap_err();
    assert_eq!(error.code().as_str(), "E_UNKNOWN_TURN");
    assert!(
        error
            .message()
            .contains("started without `TurnInput::conversation`"),
        "{error}"
    );
    // Setting its generated conversation afterwards does not help.
    let input = TurnInput::resume("turn-1").conversation(Arc::clone(&outcome.conversation));
    let resumed = match runner.resume(input).await {
        Ok(turn) => turn.await.error().unwrap(),
        Err(error) => error,
    };
    assert_eq!(resumed.code().as_str(), "E_UNKNOWN_TURN");
}

#[tokio::test]
async fn a_turn_without_a_conversation_can_read_other_conversations() {
    let store = MemoryStore::default();
    let likes = Memory::new("Likes tea.").build().unwrap();
    store.put(&ConversationId::new("ada"), likes).await.unwrap();
    let model = ScriptedModel::new([Step::say("hello")]);
    let runner = runner(model.clone())
        .storage(storage_of(store.clone()))
        .history(History::all().memories_from(|_: &TurnContext| ConversationId::new("ada")))
        .build()
        .unwrap();
    assert!(runner.run("go").await.is_answered());
    assert_eq!(model.request(0).memories().len(), 1);
    let stored = store.conversations(&ConversationFilter::all()).await;
    let stored: Vec<_> = stored.unwrap().into_iter().map(|found| found.id).collect();
    assert_eq!(stored, [ConversationId::new("ada")]);
}

#[tokio::test]
async fn nothing_is_written_for_an_ended_turn_without_a_conversation() {
    let held: Arc<Mutex<Option<DispatchContext>>> = Arc::default();
    let slot = Arc::clone(&held);
    let runner = runner(move |ctx: DispatchContext| {
        let slot = Arc::clone(&slot);
        async move {
            ctx.answer("done").await?;
            *slot.lock() = Some(ctx);
            Ok::<_, BoxError>(())
        }
    });
    let runner = runner.build().unwrap();
    let outcome = runner.run("go").await;
    let ctx = held.lock().take().unwrap();
    let late = Message::user("late").build().unwrap();
    let error = ctx.records().store(late).await.unwrap_err();
    assert_eq!(error.code().as_str(), "E_INVALID_TURN_CONTEXT");
    assert_eq!(outcome.messages().count(), 2);
}
