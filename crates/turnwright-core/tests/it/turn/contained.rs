//! User code that fails in unexpected places.

use std::sync::Weak;
use turnwright_core::gate::TurnGate;
use turnwright_core::record::Record;
use turnwright_core::store::MemoryStore;
use turnwright_core::store::Store;
use turnwright_core::store::{
    Batch, Changes, ConversationFilter, ConversationId, FoundConversation, FoundTurn, Loaded,
    Query, Revision, StoreError, TurnFilter,
};

use turnwright_core::tool::approval::always;

use super::*;

fn tool(name: &str) -> ToolBuilder<Value> {
    Tool::dynamic(name, json!({ "type": "object" })).description("Acts.")
}

#[tokio::test]
async fn on_ack_work_does_not_keep_an_aborted_turn_alive() {
    /// Lives as long as its turn.
    #[derive(Default)]
    struct Alive;
    let stored: Arc<Mutex<Option<Weak<Alive>>>> = Arc::default();
    let keep = Arc::clone(&stored);
    let runner = runner(move |ctx: DispatchContext| {
        *keep.lock() = Some(Arc::downgrade(&ctx.turn().per_turn::<Alive>()));
        async move {
            let held = ctx.clone();
            ctx.on_ack(move || drop(held));
            let held = ctx.clone();
            ctx.turn()
                .events()
                .observe(move |_| assert!(!held.turn().turn_id().is_empty()));
            ctx.turn().abort("enough");
            Ok(())
        }
    })
    .build()
    .unwrap();
    assert_eq!(runner.run("go").await.status.as_str(), "aborted");
    let weak = stored.lock().take().unwrap();
    assert!(weak.upgrade().is_none());
}

#[tokio::test]
async fn an_approval_has_no_arguments_and_its_gate_kind_is_reserved() {
    let asks = tool("asks").handler(|_: Value, ctx: ToolContext| async move {
        let gate = TurnGate::new("approval").build()?;
        let error = ctx.wait_for(gate).await.unwrap_err();
        Ok::<_, ToolError>(error.code().as_str().to_owned())
    });
    let model = ScriptedModel::new([Step::call_tool("asks", "{}"), Step::say("done")]);
    let runner = runner(model)
        .tool(asks.build())
        .policy(always("careful"))
        .build()
        .unwrap();
    let turn = runner.start("go");
    let gates = turn.gates();
    let id = opened(&gates).await[0].id.clone();
    let smuggled = json!({ "decision": "approve", "args": { "n": 1 } });
    let error = gates.answer(&id, smuggled).unwrap_err();
    assert_eq!(error.code(), ErrorCode::INVALID_TURN_GATE_RESOLUTION);
    assert!(gates.approve(&id).unwrap(), "it is still open");
    let outcome = turn.await;
    let call = outcome.tool_calls().next().unwrap();
    let shown_text = call.text().await.unwrap();
    assert_eq!(shown_text, "E_INVALID_INITIAL_TURN_GATE_VALUE");
}

/// Has infinitely many memories.
struct Endless(MemoryStore);

#[async_trait]
impl Store for Endless {
    async fn apply(&self, _: &ConversationId, _: Batch) -> Result<Revision, StoreError> {
        Ok(Revision(1))
    }

    async fn load(&self, _: &ConversationId, query: &Query) -> Result<Loaded, StoreError> {
        let from = query.after.map_or(0, |place| place.0) + 1;
        let records = (from..).take(query.limit.unwrap_or(10)).map(|place| {
            let memory = record::Memory::new("again").build().unwrap();
            store::Stored::new(store::Position(place), Record::from(memory))
        });
        Ok(Loaded::new(records.collect(), Revision(1), 0))
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

#[tokio::test]
async fn an_endless_store_is_not_read_forever() {
    let runner = runner(ScriptedModel::new([Step::say("done")]))
        .storage(storage_of(Endless(MemoryStore::default())))
        .build()
        .unwrap();
    let error = runner.run(stored("go")).await.into_answer().unwrap_err();
    assert_eq!(error.code(), ErrorCode::STORE_ERROR);
    assert!(error.message().contains("more than 10000"), "{error}");
}
