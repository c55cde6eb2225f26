//! User code that fails in unexpected places.

use std::ops::Range;
use std::sync::Weak;
use turnwright_core::gate::TurnGate;
use turnwright_core::record::Record;
use turnwright_core::spool::Body;
use turnwright_core::spool::Spool;
use turnwright_core::store::MemoryStore;
use turnwright_core::store::Store;

use bytes::Bytes;
use turnwright_core::spool::ByteReader;
use turnwright_core::tool::approval::always;

use super::*;

fn tool(name: &str) -> ToolBuilder<Value> {
    Tool::dynamic(name, json!({ "type": "object" })).description("Acts.")
}

/// Stores everything, and returns readers that panic when asked for their length.
#[derive(Debug)]
struct Panicking;

#[async_trait]
impl ByteReader for Panicking {
    fn len(&self) -> u64 {
        panic!("on purpose")
    }

    async fn read(&self, _: Range<u64>) -> std::io::Result<Bytes> {
        Ok(Bytes::new())
    }

    fn read_now(&self, _at: u64, _into: &mut [u8]) -> Option<std::io::Result<usize>> {
        None
    }
}

#[async_trait]
impl Spool for Panicking {
    async fn put(&self, _: &str, _: Body) -> std::io::Result<Arc<dyn ByteReader>> {
        Ok(Arc::new(Panicking))
    }

    async fn open(&self, _: &str) -> std::io::Result<Option<Arc<dyn ByteReader>>> {
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

#[tokio::test]
async fn a_panicking_reader_affects_only_its_own_result() {
    let bytes = tool("bytes").handler(|_: Value, _| async { vec![159_u8; 5_000] });
    let ctx = DispatchContext::builder()
        .storage(storage_with(MemoryStore::default(), Panicking))
        .conversation("talk")
        .tools(ToolRegistry::new([bytes.build().unwrap()]).unwrap())
        .build();
    let calls = ctx
        .call_tools([ctx.propose("bytes", "{}"), ctx.propose("none", "{}")])
        .await;
    let names: Vec<&str> = calls.iter().map(|call| call.tool()).collect();
    assert_eq!(names, ["bytes", "none"]);
    assert!(
        calls
            .iter()
            .all(|call| call.is_complete() && call.is_error())
    );
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
                .observe(move |_| assert!(!held.turn_id().is_empty()));
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
struct Endless;

#[async_trait]
impl StoreLayer for Endless {
    async fn apply(
        &self,
        _: &dyn Store,
        _: &ConversationId,
        _: Batch,
    ) -> Result<Revision, StoreError> {
        Ok(Revision(1))
    }

    async fn load(
        &self,
        _: &dyn Store,
        _: &ConversationId,
        query: &Query,
    ) -> Result<Loaded, StoreError> {
        let from = query.after.map_or(0, |place| place.0) + 1;
        let records = (from..).take(query.limit.unwrap_or(10)).map(|place| {
            let memory = record::Memory::new("again").build().unwrap();
            store::Stored::new(store::Position(place), Record::from(memory))
        });
        Ok(Loaded::new(records.collect(), Revision(1), 0))
    }
}

#[tokio::test]
async fn an_endless_store_is_not_read_forever() {
    let runner = runner(ScriptedModel::new([Step::say("done")]))
        .storage(storage_of(Layered::new(Endless, MemoryStore::default())))
        .build()
        .unwrap();
    let error = runner.run(stored("go")).await.into_answer().unwrap_err();
    assert_eq!(error.code(), ErrorCode::STORE_ERROR);
    assert!(error.message().contains("more than 10000"), "{error}");
}
