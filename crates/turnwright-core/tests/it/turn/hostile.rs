//! Broken or hostile surroundings of a turn.

use std::sync::OnceLock;
use std::time::Duration;
use turnwright_core::ToolCall;
use turnwright_core::spool::Body;
use turnwright_core::spool::Spool;
use turnwright_core::store::MemoryStore;
use turnwright_core::store::Store;
use turnwright_core::store::{
    Batch, Changes, ConversationFilter, ConversationId, FoundConversation, FoundTurn, Loaded,
    Query, Revision, StoreError, TurnFilter,
};
use turnwright_core::tool::approval::ApprovalRequest;
use turnwright_core::tool::approval::GateAnswer;

use serde::de::DeserializeOwned;
use turnwright_core::record::{CallState, Record};
use turnwright_core::spool::MemorySpool;
use turnwright_core::tool::approval::always;
use turnwright_testkit::store::{Fail, FailingStore};

use super::*;

fn tool(name: &str) -> ToolBuilder<Value> {
    Tool::dynamic(name, json!({ "type": "object" })).description("Acts.")
}

#[tokio::test]
async fn turns_with_the_same_id_in_two_conversations_have_separate_results() {
    let (store, spool) = (MemoryStore::default(), MemorySpool::default());
    let secret = tool("secret").handler(|_: Value, ctx: ToolContext| async move {
        format!("of {} {}", ctx.conversation_id(), "x".repeat(5_000))
    });
    let model = ScriptedModel::new([
        Step::call_tool("secret", "{}"),
        Step::say("done"),
        Step::call_tool("secret", "{}"),
        Step::say("done"),
    ]);
    let runner = runner(model)
        .storage(storage_with(store.clone(), spool.clone()))
        .tool(secret.build())
        .build()
        .unwrap();
    let mut keys = Vec::new();
    let mut outcomes = Vec::new();
    for name in ["alice", "bob"] {
        let input = TurnInput::new("go").conversation(name).turn_id("same");
        outcomes.push((name, runner.run(input).await));
        let ledger = store.ledger(&ConversationId::new(name)).await.unwrap();
        keys.push(ledger[0].id().to_owned());
    }
    for (name, outcome) in &outcomes {
        let text = outcome.tool_calls().next().unwrap().text().await.unwrap();
        assert!(text.starts_with(&format!("of {name} ")), "{text}");
    }
    assert_ne!(keys[0], keys[1], "an idempotency key of one turn alone");
}

#[tokio::test]
async fn a_context_is_disabled_after_its_turn_has_ended() {
    static KEPT: OnceLock<DispatchContext> = OnceLock::new();
    let runs = Notes::default();
    let noted = runs.clone();
    let act = tool("act").handler(move |_: Value, _| {
        noted.note("ran");
        async { "done" }
    });
    let store = MemoryStore::default();
    let runner = runner(|ctx: DispatchContext| async move {
        drop(KEPT.set(ctx.clone()));
        ctx.answer("done").await?;
        Ok(())
    })
    .storage(storage_of(store.clone()))
    .tool(act.build())
    .build()
    .unwrap();
    let outcome = runner.run(TurnInput::new("go").conversation("c")).await;
    let ctx = KEPT.get().unwrap();
    let call = ctx.call("act", "{}").await;
    assert_eq!(
        call.text().await.unwrap(),
        "The call was cancelled. The tool was not run."
    );
    assert_eq!(runs.all(), Vec::<String>::new());
    let late = Message::user("late").build().unwrap();
    let error = ctx.records().store(late).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::INVALID_TURN_CONTEXT);
    let held = store.records(&ConversationId::new("c")).await.unwrap();
    let held = held.iter().filter(|record| !record.kind().is_bookkeeping());
    assert_eq!(held.count(), outcome.records.len());
}

#[tokio::test]
async fn a_call_moved_to_another_task_is_closed_before_the_turn_ends() {
    let (store, observed) = (MemoryStore::default(), Observed::default());
    let act = tool("act")
        .handler(|_: Value, _| std::future::pending::<&str>())
        .build();
    let runner = runner(|ctx: DispatchContext| async move {
        let elsewhere = ctx.clone();
        tokio::spawn(async move { elsewhere.call("act", "{}").await });
        while ctx.records().all::<ToolCall>().is_empty() {
            tokio::task::yield_now().await;
        }
        ctx.answer("done").await?;
        Ok(())
    })
    .storage(storage_of(store.clone()))
    .observer(observed.observer())
    .tool(act)
    .build()
    .unwrap();
    let outcome = runner.run(TurnInput::new("go").conversation("c")).await;
    assert!(outcome.is_answered());
    let names = observed.names();
    assert_eq!(
        names[names.len() - 3..],
        ["toolExecutionEnd", "toolCall", "turnEnd"]
    );
    let call = outcome.tool_calls().next().unwrap();
    assert!(
        call.text()
            .await
            .unwrap()
            .contains("may not have taken effect")
    );
    let ledger = store.ledger(&ConversationId::new("c")).await.unwrap();
    assert_eq!(ledger[0].state, CallState::Unknown);
}

/// Accepts messages and never answers anything else.
struct Hangs(MemoryStore);

#[async_trait]
impl Store for Hangs {
    async fn apply(
        &self,
        conversation_id: &ConversationId,
        batch: Batch,
    ) -> Result<Revision, StoreError> {
        let of_user =
            |change: &store::Change| matches!(change, store::Change::Put(Record::Message(_)));
        if batch.changes.iter().all(of_user) {
            self.0.apply(conversation_id, batch).await
        } else {
            std::future::pending().await
        }
    }

    async fn load(
        &self,
        conversation: &ConversationId,
        query: &Query,
    ) -> Result<Loaded, StoreError> {
        self.0.load(conversation, query).await
    }

    async fn conversations(
        &self,
        filter: &ConversationFilter,
    ) -> Result<Vec<FoundConversation>, StoreError> {
        self.0.conversations(filter).await
    }

    async fn find_turns(&self, filter: &TurnFilter) -> Result<Vec<FoundTurn>, StoreError> {
        self.0.find_turns(filter).await
    }

    async fn changed(
        &self,
        conversation: &ConversationId,
        since: Revision,
    ) -> Result<Changes, StoreError> {
        self.0.changed(conversation, since).await
    }

    async fn wait_for_change(
        &self,
        conversation: &ConversationId,
        since: Revision,
    ) -> Result<(), StoreError> {
        self.0.wait_for_change(conversation, since).await
    }

    fn is_persistent(&self) -> bool {
        self.0.is_persistent()
    }

    fn spool(&self) -> Option<Arc<dyn Spool>> {
        self.0.spool()
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_never_responds_ends_the_turn_after_its_timeout() {
    let runs = Notes::default();
    let noted = runs.clone();
    let act = tool("act").handler(move |_: Value, _| {
        noted.note("ran");
        async { "done" }
    });
    let model = ScriptedModel::new([Step::call_tool("act", "{}"), Step::say("done")]);
    let runner = runner(model)
        .storage(storage_of(Hangs(MemoryStore::default())))
        .store_timeout(Duration::from_secs(5))
        .tool(act.build())
        .build()
        .unwrap();
    let start = tokio::time::Instant::now();
    let outcome = runner.run(stored("go")).await;
    assert_eq!(start.elapsed().as_secs(), 5);
    let error = outcome.into_answer().unwrap_err();
    assert_eq!(error.code(), ErrorCode::STORE_ERROR);
    assert!(error.message().contains("within 5s"), "{error}");
    assert_eq!(
        runs.all(),
        Vec::<String>::new(),
        "what is not on record does not run"
    );
}

#[tokio::test]
async fn a_panicking_spool_fails_the_turn_and_leaves_no_call_open() {
    struct Panics;
    #[async_trait]
    impl Spool for Panics {
        async fn put(&self, _: &str, _: Body) -> std::io::Result<Arc<dyn spool::ByteReader>> {
            panic!("on purpose")
        }
        async fn open(&self, _: &str) -> std::io::Result<Option<Arc<dyn spool::ByteReader>>> {
            Ok(None)
        }
        async fn delete(&self, _: &str) -> std::io::Result<bool> {
            Ok(false)
        }
        async fn list(&self) -> std::io::Result<Vec<String>> {
            Ok(Vec::new())
        }

        fn can_reopen(&self) -> bool {
            true
        }

        fn is_persistent(&self) -> bool {
            false
        }
    }
    let model = ScriptedModel::new([
        Step::call_tool("act", "{}").call("act", "{}"),
        Step::say("done"),
    ]);
    let runner = runner(model)
        .storage(storage_with(MemoryStore::default(), Panics))
        // Small results are not in a spool.
        .tool(
            tool("act")
                .handler(|_: Value, _| async { "x".repeat(5_000) })
                .build(),
        )
        .build()
        .unwrap();
    let outcome = runner.run(stored("go")).await;
    let error = outcome.error().unwrap();
    assert_eq!(error.code(), ErrorCode::LLM_EXECUTION_EXECUTOR_ERROR);
    assert!(error.message().contains("panicked: on purpose"), "{error}");
    assert_eq!(outcome.tool_calls().count(), 2);
    for call in outcome.tool_calls() {
        assert!(call.is_complete() && call.is_error());
        let shown_text = call.text().await.unwrap();
        assert!(shown_text.contains("may or may not"), "{shown_text}");
    }
    // The next turn of the conversation is not affected.
    let model = ScriptedModel::new([Step::say("done")]);
    let next = super::runner(model)
        .storage(runner.storage().clone())
        .build()
        .unwrap();
    assert!(next.run(stored("go on")).await.is_answered());
}

#[test]
fn a_stash_survives_a_panicking_update_and_a_reentrant_type() {
    static STASH: OnceLock<Stash> = OnceLock::new();
    let stash = STASH.get_or_init(Stash::new);
    stash.set("n", 7).unwrap();
    let change = || stash.update("n", |_| panic!("on purpose"));
    let changed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(change));
    assert!(changed.is_err());
    assert_eq!(stash.get("n"), Some(json!(7)));

    struct LooksBack;
    impl<'de> serde::Deserialize<'de> for LooksBack {
        fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
            drop(STASH.get().map(|stash| stash.set("n", 8)));
            Ok(LooksBack)
        }
    }
    fn is_owned<T: DeserializeOwned>() {}
    is_owned::<LooksBack>();
    assert!(stash.get_as::<LooksBack>("n").is_some());
    assert_eq!(stash.get("n"), Some(json!(8)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gate_that_opens_immediately_can_be_answered() {
    for _ in 0..300 {
        let model = ScriptedModel::new([Step::call_tool("act", "{}"), Step::say("done")]);
        let runner = runner(model)
            .tool(tool("act").handler(|_: Value, _| async { "acted" }).build())
            .policy(always("careful"))
            .build()
            .unwrap();
        let turn = runner.start("go");
        let mut gates = turn.gates();
        let answering = tokio::spawn(async move {
            while let Some(gate) = gates.next().await {
                assert!(gates.approve(&gate.id).unwrap());
            }
        });
        let outcome = turn.await;
        answering.await.unwrap();
        let call = outcome.tool_calls().next().unwrap();
        assert_eq!(call.text().await.as_deref(), Some("acted"));
    }
}

#[tokio::test]
async fn shown_arguments_escape_hidden_characters() {
    let shown = Notes::default();
    let seen = shown.clone();
    let args = json!({ "to": "Ada\u{202e}bda", "note": "a\u{200b}b" });
    let model = ScriptedModel::new([Step::call_tool("act", args.to_string()), Step::say("done")]);
    let runner = runner(model)
        .tool(tool("act").handler(|_: Value, _| async { "acted" }).build())
        .policy(always("careful"))
        .approver(move |request: ApprovalRequest| {
            seen.note(request.shown_args());
            async { GateAnswer::approve() }
        })
        .build()
        .unwrap();
    runner.run("go").await;
    assert_eq!(
        shown.all(),
        [r#"{"to":"Ada\u{202e}bda","note":"a\u{200b}b"}"#]
    );
}

#[tokio::test]
async fn the_stream_has_approval_gates_and_operators_see_why_a_tool_failed() {
    let observed = Observed::default();
    let act = tool("act").handler(|_: Value, _| async {
        Err::<String, _>(ToolError::from(std::io::Error::other(
            "connect db-7: refused",
        )))
    });
    let model = ScriptedModel::new([Step::call_tool("act", "{}"), Step::say("done")]);
    let runner = runner(model)
        .tool(act.build())
        .policy(always("careful"))
        .observer(observed.observer())
        .build()
        .unwrap();
    let mut turn = runner.start("go");
    let gates = turn.gates();
    let mut names = Vec::new();
    while let Some(event) = turn.next().await {
        if let EventKind::GateOpened(gate) = &event.kind {
            assert_eq!(gate.question["tool"], "act");
            assert!(gates.approve(&gate.id).unwrap());
        }
        names.push(event.name());
    }
    assert_eq!(
        names[1..5],
        [
            "turnGateOpen",
            "turnGateClosed",
            "toolExecutionStart",
            "toolCall"
        ]
    );
    let end = &observed.of("toolExecutionEnd")[0];
    let message = end["message"].as_str().unwrap();
    assert!(message.contains("connect db-7: refused"), "{message}");
}

#[tokio::test]
async fn gates_of_a_sub_agent_are_answered_at_the_outer_turn() {
    let inner = ScriptedModel::new([Step::call_tool("act", "{}"), Step::say("inner is done")]);
    let inner = runner(inner)
        .tool(tool("act").handler(|_: Value, _| async { "acted" }).build())
        .policy(always("careful"))
        .build()
        .unwrap();
    let delegate = tool("delegate").handler(move |_: Value, ctx: ToolContext| {
        let inner = inner.clone();
        async move {
            let outcome = inner.run(TurnInput::new("go").under_call(&ctx)).await;
            let call = outcome.tool_calls().next().unwrap().text().await;
            call.unwrap_or_default()
        }
    });
    let outer = ScriptedModel::new([Step::call_tool("delegate", "{}"), Step::say("done")]);
    let outer = runner(outer).tool(delegate.build()).build().unwrap();
    let turn = outer.start("go");
    let mut gates = turn.gates();
    let answering = tokio::spawn(async move {
        while let Some(gate) = gates.next().await {
            assert!(gates.approve(&gate.id).unwrap());
        }
    });
    let outcome = turn.await;
    answering.await.unwrap();
    let call = outcome.tool_calls().next().unwrap();
    assert_eq!(call.text().await.as_deref(), Some("acted"));
}

#[tokio::test]
async fn an_executor_that_ignores_a_store_failure_is_stopped() {
    let runs = Notes::default();
    let noted = runs.clone();
    let act = tool("act").handler(move |_: Value, _| {
        noted.note("ran");
        async { "acted" }
    });
    let failing = FailingStore::new(MemoryStore::default());
    failing.fail_call(2, Fail::Before);
    let runner = runner(|ctx: DispatchContext| async move {
        let mut message = ctx.reporter().message();
        message.push("said").await;
        drop(message.finish().await);
        ctx.call("act", "{}").await;
        ctx.ack()?;
        Ok(())
    })
    .storage(storage_of(failing))
    .tool(act.build())
    .build()
    .unwrap();
    let error = runner.run(stored("go")).await.into_answer().unwrap_err();
    assert_eq!(error.code(), ErrorCode::STORE_ERROR);
    assert_eq!(runs.all(), Vec::<String>::new());
}

#[tokio::test]
async fn an_audit_added_too_late_is_an_error() {
    let model = ScriptedModel::new([Step::call_tool("act", "{}"), Step::say("done")]);
    let runner = runner(model)
        .tool(tool("act").handler(|_: Value, _| async { "acted" }).build())
        .turn_output(middleware::audit(|_: middleware::AuditedCall| {}))
        .build()
        .unwrap();
    let error = runner.run("go").await.into_answer().unwrap_err();
    assert_eq!(error.code(), ErrorCode::OUTPUT_PIPELINE_ERROR);
    assert!(
        error.message().contains("add it to the turn input"),
        "{error}"
    );
}

/// Loses the first response to each batch.
#[derive(Default)]
struct LosesAnswers {
    store: MemoryStore,
    lost: Mutex<Vec<store::BatchId>>,
}

#[async_trait]
impl Store for LosesAnswers {
    async fn apply(
        &self,
        conversation_id: &ConversationId,
        batch: Batch,
    ) -> Result<Revision, StoreError> {
        let id = batch.id;
        let revision = self.store.apply(conversation_id, batch).await?;
        let mut lost = self.lost.lock();
        if lost.contains(&id) {
            return Ok(revision);
        }
        lost.push(id);
        Err(StoreError::outcome_unknown("the connection was lost"))
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

#[tokio::test]
async fn a_lost_response_of_the_store_does_not_end_the_turn() {
    let runs = Notes::default();
    let store = Arc::new(LosesAnswers::default());
    let noted = runs.clone();
    let act = tool("act").handler(move |_: Value, _| {
        noted.note("ran");
        async { "done" }
    });
    let model = ScriptedModel::new([Step::call_tool("act", "{}"), Step::say("done")]);
    let runner = runner(model)
        .storage(storage_of(Arc::clone(&store)))
        .tool(act.build().unwrap())
        .build()
        .unwrap();
    let outcome = runner.run(TurnInput::new("go").conversation("c")).await;
    assert!(outcome.is_answered(), "{outcome:?}");
    assert_eq!(runs.all(), ["ran"]);
    let conversation_id = ConversationId::new("c");
    assert_eq!(
        store.ledger(&conversation_id).await.unwrap()[0].state,
        CallState::Done
    );
    let loaded = store.load(&conversation_id, &Query::all()).await.unwrap();
    assert_eq!(loaded.revision.0, store.lost.lock().len() as u64);
}
