use std::sync::{Arc, Once};
use std::time::SystemTime;

use futures_util::FutureExt as _;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::*;
use crate::error::{Error, ErrorCode};
use crate::record::{
    GateAnswer, GateKind, GateRecord, GateState, Memory, Message, Record, RecordKind, Thought,
    TurnRecord, TurnState,
};

fn record(kind: RecordKind, id: &str, text: &str) -> Record {
    match kind {
        RecordKind::Memory => Memory::new(text).id(id).build().unwrap().into(),
        RecordKind::Message => Message::user(text).id(id).build().unwrap().into(),
        _ => Thought::new(text).id(id).build().unwrap().into(),
    }
}

fn text_of(record: &Record) -> String {
    match record {
        Record::Memory(item) => item.text().to_owned(),
        Record::Message(item) => item.text().to_owned(),
        Record::Thought(item) => item.text().to_owned(),
        other => panic!("{other:?}"),
    }
}

/// A simple model of a conversation.
#[derive(Clone, Default)]
struct Model {
    revision: u64,
    fencing_token: u64,
    next: u64,
    rows: Vec<(u64, RecordKind, String, String)>,
}

impl Model {
    /// Returns the revision, or the error.
    fn apply(&mut self, batch: &Batch) -> Result<u64, (Option<u64>, Option<u64>)> {
        if batch
            .fencing_token
            .is_some_and(|own| own < self.fencing_token)
        {
            return Err((None, Some(self.fencing_token)));
        }
        if batch.expect.is_some_and(|item| item.0 != self.revision) {
            return Err((Some(self.revision), None));
        }
        self.fencing_token = self.fencing_token.max(batch.fencing_token.unwrap_or(0));
        self.revision += 1;
        for change in &batch.changes {
            match change {
                Change::Put(record) => {
                    let name = (record.kind(), record.id());
                    let found = self
                        .rows
                        .iter_mut()
                        .find(|row| (row.1, row.2.as_str()) == name);
                    match found {
                        Some(row) => row.3 = text_of(record),
                        None => {
                            self.next += 1;
                            let (kind, id) = (record.kind(), record.id().to_owned());
                            self.rows.push((self.next, kind, id, text_of(record)));
                        }
                    }
                }
                Change::Delete(kind, id) => self.rows.retain(|row| (row.1, &row.2) != (*kind, id)),
            }
        }
        Ok(self.revision)
    }

    fn load(&self, query: &Query) -> Vec<(u64, RecordKind, String, String)> {
        let asked = |row: &&(u64, RecordKind, String, String)| {
            (query.kinds.is_empty() || query.kinds.contains(&row.1))
                && query.ids.as_ref().is_none_or(|ids| ids.contains(&row.2))
                && query.after.is_none_or(|after| row.0 > after.0)
                && query.before.is_none_or(|before| row.0 < before.0)
        };
        let found: Vec<_> = self.rows.iter().filter(asked).cloned().collect();
        let most = query.limit.unwrap_or(usize::MAX).min(found.len());
        if query.newest {
            found[found.len() - most..].to_vec()
        } else {
            found[..most].to_vec()
        }
    }
}

fn kind() -> impl Strategy<Value = RecordKind> {
    prop_oneof![
        Just(RecordKind::Memory),
        Just(RecordKind::Message),
        Just(RecordKind::Thought),
    ]
}

fn id() -> impl Strategy<Value = String> {
    (0..40_u8).prop_map(|n| format!("id-{n}"))
}

fn batch() -> impl Strategy<Value = Batch> {
    let put = (kind(), id(), "[a-z]{1,3}")
        .prop_map(|(kind, id, text)| Change::Put(record(kind, &id, &text)));
    let delete = (kind(), id()).prop_map(|(kind, id)| Change::Delete(kind, id));
    let changes = vec(prop_oneof![put, delete], 0..30);
    let fencing_token = option::weighted(0.2, 0..4_u64);
    let expect = option::weighted(0.2, 0..12_u64);
    (changes, fencing_token, expect).prop_map(|(changes, fencing_token, expect)| Batch {
        id: BatchId::random(),
        fencing_token,
        expect: expect.map(Revision),
        changes,
    })
}

fn query() -> impl Strategy<Value = Query> {
    let ids = option::of(vec(id(), 0..6));
    let place = || option::of((0..200_u64).prop_map(Position));
    let limit = option::of(0..50_usize);
    (
        vec(kind(), 0..3),
        ids,
        place(),
        place(),
        limit,
        any::<bool>(),
    )
        .prop_map(|(kinds, ids, after, before, limit, newest)| Query {
            kinds,
            ids,
            after,
            before,
            limit,
            newest,
        })
}

fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    runtime.unwrap().block_on(work)
}

proptest! {
    #[test]
    fn the_memory_store_behaves_like_a_list(
        batches in vec((0..2_usize, batch()), 1..40),
        queries in vec(query(), 1..8),
    ) {
        run(async {
            let store = MemoryStore::default();
            let conversation_ids = [ConversationId::new("a"), ConversationId::new("b")];
            let mut models = [Model::default(), Model::default()];
            for (which, batch) in batches {
                let expected = models[which].apply(&batch);
                let found = store.apply(&conversation_ids[which], batch).await;
                let found = found.map(|revision| revision.0);
                let found = found.map_err(|e| (e.found_revision().map(|r| r.0), e.fenced_by()));
                assert_eq!(found, expected);
                for (conversation_id, model) in conversation_ids.iter().zip(&models) {
                    for query in &queries {
                        let loaded = store.load(conversation_id, query).await.unwrap();
                        assert_eq!(loaded.revision.0, model.revision);
                        let found: Vec<_> = loaded.records.iter().map(|item| {
                            let record = &item.record;
                            (item.position.0, record.kind(), record.id().to_owned(), text_of(record))
                        }).collect();
                        assert_eq!(found, model.load(query));
                    }
                }
            }
            let holding = conversation_ids.iter().zip(&models).filter(|(_, model)| !model.rows.is_empty());
            let holding: Vec<ConversationId> = holding.map(|(conversation_id, _)| conversation_id.clone()).collect();
            let listed = store.conversations(&ConversationFilter::all()).await.unwrap();
            let listed: Vec<ConversationId> = listed.into_iter().map(|found| found.id).collect();
            assert_eq!(listed, holding);
        });
    }
}

fn note(id: &str) -> Record {
    record(RecordKind::Memory, id, "x")
}

#[tokio::test]
async fn deleted_and_replaced_records_are_dropped() {
    let (store, conversation_id) = (MemoryStore::default(), ConversationId::new("s"));
    let old = Memory::new("old").id("a").build().unwrap();
    store.put(&conversation_id, Arc::clone(&old)).await.unwrap();
    assert_eq!(Arc::strong_count(&old), 2);
    store.put(&conversation_id, note("a")).await.unwrap();
    assert_eq!(Arc::strong_count(&old), 1);
    let next = Memory::new("next").id("b").build().unwrap();
    store
        .put(&conversation_id, Arc::clone(&next))
        .await
        .unwrap();
    store
        .delete(&conversation_id, RecordKind::Memory, "b")
        .await
        .unwrap();
    assert_eq!(Arc::strong_count(&next), 1);
}

#[tokio::test]
async fn an_update_is_retried_on_conflict() {
    let (store, conversation_id) = (MemoryStore::default(), ConversationId::new("s"));
    store.put(&conversation_id, note("a")).await.unwrap();
    let (other, place) = (store.clone(), conversation_id.clone());
    let mut seen = Vec::new();
    let revision = store
        .update(&conversation_id, &Query::all(), |loaded| {
            seen.push(loaded.records.len());
            if seen.len() < 3 {
                // Another writer changes the conversation between load and apply.
                let id = format!("other-{}", seen.len());
                futures_util::FutureExt::now_or_never(other.put(&place, note(&id)))
                    .unwrap()
                    .unwrap();
            }
            Batch::new().put(note("mine"))
        })
        .await
        .unwrap();
    assert_eq!((revision, seen), (Revision(4), vec![1, 2, 3]));
}

#[tokio::test]
async fn an_update_fails_after_100_attempts_and_immediately_when_fenced() {
    let (store, conversation_id) = (MemoryStore::default(), ConversationId::new("s"));
    let (other, place) = (store.clone(), conversation_id.clone());
    let (all, mut tries) = (Query::all(), 0);
    let update = store.update(&conversation_id, &all, |_| {
        tries += 1;
        futures_util::FutureExt::now_or_never(other.put(&place, note("a")))
            .unwrap()
            .unwrap();
        Batch::new().put(note("mine"))
    });
    let error = update.await.unwrap_err();
    assert!(error.found_revision().is_some());
    assert_eq!(tries, 100);

    store
        .apply(&conversation_id, Batch::new().fencing_token(5))
        .await
        .unwrap();
    let mut tries = 0;
    let update = store.update(&conversation_id, &all, |_| {
        tries += 1;
        Batch::new().fencing_token(4)
    });
    assert_eq!(update.await.unwrap_err().fenced_by(), Some(5));
    assert_eq!(tries, 1);
}

#[tokio::test]
async fn an_update_without_changes_writes_nothing() {
    let (store, conversation_id) = (MemoryStore::default(), ConversationId::new("s"));
    store.put(&conversation_id, note("a")).await.unwrap();
    let revision = store
        .update(&conversation_id, &Query::all(), |_| Batch::new())
        .await;
    assert_eq!(revision.unwrap(), Revision(1));
}

#[tokio::test]
async fn records_are_found_through_a_pointer() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let conversation_id = ConversationId::new("s");
    store.put(&conversation_id, note("a")).await.unwrap();
    store
        .put(
            &conversation_id,
            Message::user("hi").id("a").build().unwrap(),
        )
        .await
        .unwrap();
    assert_eq!(store.memories(&conversation_id).await.unwrap().len(), 1);
    assert_eq!(
        store.messages(&conversation_id).await.unwrap()[0].text(),
        "hi"
    );
    assert!(store.tool_calls(&conversation_id).await.unwrap().is_empty());
    assert!(store.unfinished(&conversation_id).await.unwrap().is_empty());
    let found = store
        .get(&conversation_id, RecordKind::Message, "a")
        .await
        .unwrap();
    assert!(matches!(found, Some(Record::Message(_))));
    store.delete_conversation(&conversation_id).await.unwrap();
    assert!(store.records(&conversation_id).await.unwrap().is_empty());
}

#[test]
fn errors_have_advice_and_convert_to_crate_errors() {
    let conflict = StoreError::conflict(Revision(7));
    assert_eq!(
        conflict.to_string(),
        "the conversation has revision 7, but another one was expected: load it again and retry"
    );
    assert_eq!(conflict.fenced_by(), None);
    let failed = StoreError::failed("disk full");
    assert_eq!((failed.found_revision(), failed.fenced_by()), (None, None));
    let error = Error::from(failed);
    assert_eq!(error.code(), ErrorCode::STORE_ERROR);
    assert_eq!(error.message(), "the store failed: disk full");
}

#[tokio::test]
async fn a_gate_gets_no_answer_if_its_turn_ends_before_the_answer_is_written() {
    let (store, talk) = (MemoryStore::default(), ConversationId::new("talk"));
    let turn = TurnRecord::begin("turn-1".into(), Vec::new());
    store.put(&talk, Arc::new(turn.clone())).await.unwrap();
    let gate = GateRecord {
        id: "gate-1".into(),
        turn_id: "turn-1".into(),
        kind: GateKind::Custom("where".into()),
        tool_call: None,
        question: Arc::new("Where?".into()),
        schema: None,
        timeout: None,
        step: None,
        state: GateState::Open,
        opened_at: SystemTime::now(),
        closed_at: None,
    };
    store.put(&talk, Arc::new(gate)).await.unwrap();
    let once = Once::new();
    let ends = |_: &GateRecord, _: &GateAnswer| {
        once.call_once(|| {
            let ended = Arc::new(turn.ended(TurnState::Aborted, None));
            let stored = store.put(&talk, ended).now_or_never();
            stored.expect("a store in memory does not wait").unwrap();
        });
        Ok(())
    };
    let answered = answer_gate(&store, &talk, "gate-1", GateAnswer::value("here"), ends).await;
    assert_eq!(answered.unwrap_err().code(), ErrorCode::TURN_GATE_CLOSED);
    let gates = store.gates(&talk).await.unwrap();
    assert_eq!(gates[0].state, GateState::Open);
}
