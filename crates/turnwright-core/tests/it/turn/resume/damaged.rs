//! Conversations with records that cannot be read.

use std::time::Duration;
use turnwright_core::record::RecordKind;
use turnwright_core::spool::Spool;
use turnwright_core::store::MemoryStore;
use turnwright_core::store::Store;
use turnwright_core::store::{
    Batch, Changes, ConversationFilter, ConversationId, FoundConversation, FoundTurn, Loaded,
    Query, Revision, StoreError, TurnFilter,
};

use super::*;
use turnwright_core::store::DamagedRecord;

/// A store in which some records are damaged until they are written again.
#[derive(Clone, Default)]
struct Damaged {
    store: Arc<MemoryStore>,
    records: Arc<Mutex<Vec<(RecordKind, String)>>>,
}

impl Damaged {
    fn damage(&self, kind: RecordKind, id: &str) {
        self.records.lock().push((kind, id.to_owned()));
    }

    /// Damages all records of a kind.
    async fn damage_all(&self, kind: RecordKind) {
        let query = Query::all().kind(kind);
        let found = self
            .store
            .load(&ConversationId::new(TALK), &query)
            .await
            .unwrap();
        for record in found.into_records() {
            self.damage(kind, record.id());
        }
    }
}

#[async_trait]
impl Store for Damaged {
    async fn apply(
        &self,
        conversation_id: &ConversationId,
        batch: Batch,
    ) -> Result<Revision, StoreError> {
        let written: Vec<(RecordKind, String)> = batch
            .changes
            .iter()
            .filter_map(|change| match change {
                store::Change::Put(record) => Some((record.kind(), record.id().to_owned())),
                _ => None,
            })
            .collect();
        let revision = self.store.apply(conversation_id, batch).await?;
        let mut damaged = self.records.lock();
        damaged.retain(|record| !written.contains(record));
        Ok(revision)
    }

    async fn load(
        &self,
        conversation_id: &ConversationId,
        query: &Query,
    ) -> Result<Loaded, StoreError> {
        let mut loaded = self.store.load(conversation_id, query).await?;
        let damaged = self.records.lock();
        for one in std::mem::take(&mut loaded.records) {
            let (kind, id) = (one.record.kind(), one.record.id().to_owned());
            if damaged.contains(&(kind, id.clone())) {
                loaded.damaged.push(DamagedRecord::new(
                    one.position,
                    Some(kind),
                    id,
                    "its text is not what was written",
                ));
            } else {
                loaded.records.push(one);
            }
        }
        Ok(loaded)
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

fn runner(store: &Damaged, model: &ScriptedModel) -> TurnRunnerBuilder {
    turnwright_core::runner(model.clone()).storage(storage_of(store.clone()))
}

fn more() -> TurnInput {
    TurnInput::new("and now?").conversation(TALK)
}

#[tokio::test]
async fn a_conversation_continues_without_damaged_records_and_warns() {
    let store = Damaged::default();
    let model = ScriptedModel::new([Step::say("one"), Step::say("two"), Step::say("three")]);
    let observed = Observed::default();
    let runner = runner(&store, &model).observer(observed.observer());
    let runner = runner.build().unwrap();
    let first = runner.run(go_input()).await;
    let message = first.records[0].clone();
    store.damage(RecordKind::Message, message.id());
    let outcome = runner.run(more()).await;
    assert_eq!(outcome.text, "two");
    // The answer of the first turn, and the new message.
    assert_eq!(model.request(1).messages().len(), 2);
    let warned = observed.of("warning");
    assert_eq!(warned.len(), 1, "{warned:?}");
    let warned = warned[0]["message"].as_str().unwrap();
    assert!(
        warned.contains(message.id()) && warned.contains("damaged"),
        "{warned}"
    );
    // A lookup names the damaged record.
    let conversation_id = ConversationId::new(TALK);
    let error = store
        .get(&conversation_id, RecordKind::Message, message.id())
        .await;
    let error = error.unwrap_err();
    assert_eq!(error.damaged_record().unwrap().id, message.id());
    assert!(store.messages(&conversation_id).await.is_err());
    assert_eq!(store.turns(&conversation_id).await.unwrap().len(), 2);
    // It can be deleted with the rest.
    store.delete_conversation(&conversation_id).await.unwrap();
    assert_eq!(
        store
            .load(&conversation_id, &Query::all())
            .await
            .unwrap()
            .count(),
        0
    );
}

/// Its holder may be alive. The new turn waits for it, and the store rejects it afterwards.
#[tokio::test(start_paused = true)]
async fn a_damaged_lease_is_taken_over_and_its_holder_is_rejected() {
    let store = Damaged::default();
    let (reached, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let slow = {
        let (reached, go) = (Arc::clone(&reached), Arc::clone(&go));
        tool("slow").handler(move |_: Value, _: ToolContext| {
            let (reached, go) = (Arc::clone(&reached), Arc::clone(&go));
            async move {
                reached.notify_one();
                go.notified().await;
                "done"
            }
        })
    };
    let model = ScriptedModel::new([Step::call_tool("slow", "{}"), Step::say("never")]);
    // Long enough that it does not renew its lease while the other one waits.
    let holder = runner(&store, &model).tool(slow.build());
    let holder = holder.lease(Duration::from_secs(3_600)).build().unwrap();
    let held = holder.start(go_input());
    reached.notified().await;
    store.damage(RecordKind::Lease, record::Lease::ID);
    let other = runner(&store, &answers()).lease(Duration::from_secs(30));
    let other = other.build().unwrap();
    let begun = tokio::time::Instant::now();
    assert_eq!(other.run(more()).await.text, "All is well.");
    assert!(begun.elapsed() >= Duration::from_secs(30));
    go.notify_one();
    assert_eq!(code_of(&held.await), "E_TURN_TAKEN_OVER");
    let lease = store
        .lease(&ConversationId::new(TALK))
        .await
        .unwrap()
        .unwrap();
    assert_eq!((lease.fencing_token, lease.turn_id.as_deref()), (2, None));
}

#[tokio::test(start_paused = true)]
async fn a_holder_whose_lease_was_damaged_keeps_it() {
    let store = Damaged::default();
    let damage = store.clone();
    let act = tool("act").handler(move |_: Value, ctx: ToolContext| {
        let damage = damage.clone();
        async move {
            damage.damage(RecordKind::Lease, record::Lease::ID);
            ctx.turn().ensure_lease().await?;
            assert!(
                damage.lease(ctx.conversation_id()).await.is_ok(),
                "it was not mended"
            );
            Ok::<_, ToolError>("done")
        }
    });
    let model = ScriptedModel::new([Step::call_tool("act", "{}"), Step::say("Done.")]);
    let runner = runner(&store, &model).tool(act.build()).build().unwrap();
    assert_eq!(runner.run(go_input()).await.text, "Done.");
}

#[tokio::test]
async fn a_damaged_turn_is_not_resumed_and_the_conversation_continues() {
    let store = Damaged::default();
    let model = ScriptedModel::new([Step::fail("a"), Step::say("All is well.")]);
    let runner = runner(&store, &model).build().unwrap();
    runner.run(go_input()).await;
    store.damage(RecordKind::Turn, TURN);
    let error = runner
        .resume(TurnInput::resume(TURN).conversation(TALK))
        .await;
    assert!(error.unwrap_err().message().contains("damaged"));
    let outcome = runner.resume(TURN).await.unwrap().await;
    assert!(error_of(&outcome).message().contains("damaged"));
    let outcome = runner.run(go_input()).await;
    assert!(
        error_of(&outcome).message().contains("damaged"),
        "its id is not free"
    );
    assert_eq!(runner.run(more()).await.text, "All is well.");
}

/// A ledger entry says whether a call has started. Without it nothing is run again, and the call is not reported as not run.
#[test]
fn without_its_ledger_entry_a_call_is_not_run_again() {
    for kind in [RecordKind::Ledger, RecordKind::ToolCall] {
        let store = Damaged::default();
        let (runs, reached) = (Notes::default(), Arc::new(Notify::new()));
        let pay = {
            let (runs, reached) = (runs.clone(), Arc::clone(&reached));
            tool("pay").handler(move |_: Value, _: ToolContext| {
                let (runs, reached) = (runs.clone(), Arc::clone(&reached));
                async move {
                    runs.note("paid");
                    reached.notify_one();
                    std::future::pending::<&str>().await
                }
            })
        };
        let pay = pay.build().unwrap();
        let first = runner(&store, &calls("pay")).tool(Ok(pay.clone())).build();
        World::default().die(&first.unwrap(), &reached);
        process().block_on(async {
            store.damage_all(kind).await;
            let model = answers();
            let second = runner(&store, &model).tool(Ok(pay)).build();
            let second = second.unwrap();
            let outcome = second.resume(TURN).await.unwrap().await;
            assert_eq!(code_of(&outcome), "E_TURN_NOT_RESUMABLE", "{kind}");
            assert!(error_of(&outcome).message().contains("damaged"));
            assert_eq!(second.run(more()).await.text, "All is well.");
            assert_eq!(runs.all(), ["paid"]);
            let shown = model.request(0);
            let shown_text = shown.tool_calls().iter().map(|call| call.rendered());
            let shown_text: Vec<&str> = shown_text.collect();
            let expected = usize::from(kind == RecordKind::Ledger);
            assert_eq!(shown_text.len(), expected, "{shown_text:?}");
            assert!(
                shown_text
                    .iter()
                    .all(|entry| entry.contains("may not have taken effect")),
                "{shown_text:?}"
            );
        });
    }
}

#[test]
fn neither_a_damaged_turn_nor_a_deleted_conversation_keeps_other_turns_from_being_resumed() {
    let store = Damaged::default();
    let reached = Arc::new(Notify::new());
    let begins = Arc::clone(&reached);
    let stuck = turnwright_core::runner(move |_: DispatchContext| {
        begins.notify_one();
        std::future::pending::<Result<(), BoxError>>()
    });
    let stuck = stuck.storage(storage_of(store.clone())).build().unwrap();
    let one = process();
    let turns = one.block_on(async {
        let mut turns = Vec::new();
        for id in ["damaged", "deleted", "whole"] {
            turns.push(stuck.start(TurnInput::new("go").conversation(id).turn_id(id)));
            reached.notified().await;
        }
        turns
    });
    drop((one, turns));
    process().block_on(async {
        let runner = runner(&store, &answers()).build().unwrap();
        let listed = runner
            .storage()
            .resumable(&TurnFilter::all())
            .await
            .unwrap();
        store.damage(RecordKind::Turn, "damaged");
        store.delete_conversation("deleted").await.unwrap();
        let mut ends = Vec::new();
        for turn in &listed {
            let outcome = runner.resume(turn).await.unwrap().await;
            let error = outcome.into_answer().err();
            ends.push((&*turn.turn_id, error.map(|error| error.code())));
        }
        assert_eq!(
            ends,
            [
                ("damaged", Some(ErrorCode::STORE_ERROR)),
                ("deleted", Some(ErrorCode::UNKNOWN_TURN)),
                ("whole", None),
            ]
        );
    });
}
