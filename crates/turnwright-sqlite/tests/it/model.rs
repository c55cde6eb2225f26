//! Random batches and queries, compared with the memory store as the model.

use proptest::prelude::*;
use serde_json::Value;
use tokio::runtime::Builder;
use turnwright_core::record::{ConversationInfo, Message, Record, RecordKind, Thought};
use turnwright_core::store::{
    Batch, Changes, ConversationFilter, ConversationId, FoundConversation, Loaded, MemoryStore,
    Position, Query, Revision, Store, StoreError,
};
use turnwright_sqlite::SqliteStore;

use crate::folder::Folder;
use crate::{line, note};

const KINDS: [RecordKind; 5] = [
    RecordKind::Memory,
    RecordKind::Message,
    RecordKind::Thought,
    RecordKind::Ledger,
    RecordKind::ConversationInfo,
];

#[derive(Clone, Debug)]
enum Step {
    Apply {
        conversation_id: u8,
        changes: Vec<(u8, u8, bool)>,
        expect: Option<i8>,
        fencing_token: Option<u64>,
    },
    /// An earlier batch, counted from the last one.
    Again(usize),
    Load(u8, Query),
    Changed(u8, u64),
    Conversations(ConversationFilter),
    Reopen,
    /// As if the process had died.
    Abandon,
}

const OWNERS: [&str; 2] = ["ada", "bob"];

fn conversation_id(number: u8) -> ConversationId {
    ConversationId::new(["chat", "chat/2", "", "ä\n"][usize::from(number % 4)])
}

fn record(kind: u8, id: u8, text: usize) -> Record {
    let (id, text) = (format!("id-{id}"), format!("text {text}"));
    match KINDS[usize::from(kind) % KINDS.len()] {
        RecordKind::Message => Message::user(text).id(id).build().unwrap().into(),
        RecordKind::Thought => Thought::new(text).id(id).build().unwrap().into(),
        RecordKind::Ledger => line(
            &id,
            if text.len() % 2 == 0 {
                "started"
            } else {
                "done"
            },
        ),
        RecordKind::ConversationInfo => {
            let owner = OWNERS[text.len() % 2];
            let info = ConversationInfo::default().title(&text).owner(owner);
            info.label("a", &id).label(id, "x").build().unwrap().into()
        }
        _ => note(&id, &text),
    }
}

fn batch(changes: &[(u8, u8, bool)], text: usize) -> Batch {
    changes.iter().fold(Batch::new(), |batch, (kind, id, put)| {
        if *put {
            batch.put(record(*kind, *id, text))
        } else {
            match KINDS[usize::from(*kind) % KINDS.len()] {
                kind @ RecordKind::ConversationInfo => batch.delete(kind, ConversationInfo::ID),
                kind => batch.delete(kind, format!("id-{id}")),
            }
        }
    })
}

fn query() -> impl Strategy<Value = Query> {
    let place = || proptest::option::of(prop_oneof![0..12_u64, Just(u64::MAX), Just(1 << 63)]);
    let kinds = proptest::collection::vec(0..5_usize, 0..3);
    let ids = proptest::option::weighted(0.4, proptest::collection::vec(0..6_u8, 0..4));
    let limit = proptest::option::of(prop_oneof![0..5_usize, Just(usize::MAX)]);
    (kinds, ids, place(), place(), limit, any::<bool>()).prop_map(
        |(kinds, ids, after, before, limit, newest)| {
            let mut query = Query::all();
            query.kinds = kinds.into_iter().map(|at| KINDS[at]).collect();
            query.ids = ids.map(|ids| ids.iter().map(|id| format!("id-{id}")).collect());
            query.after = after.map(Position);
            query.before = before.map(Position);
            (query.limit, query.newest) = (limit, newest);
            query
        },
    )
}

fn filter() -> impl Strategy<Value = ConversationFilter> {
    let prefix = proptest::option::of(prop_oneof![
        Just(""),
        Just("chat"),
        Just("chat/"),
        Just("ä")
    ]);
    (
        prefix,
        proptest::option::of(0..4_u8),
        proptest::option::of(0..4_usize),
        proptest::option::weighted(0.3, 0..2_usize),
        proptest::collection::vec((any::<bool>(), 0..6_u8), 0..3),
    )
        .prop_map(|(prefix, after, limit, owner, labels)| {
            let mut filter = ConversationFilter::all();
            filter.prefix = prefix.map(str::to_owned);
            filter.after = after.map(conversation_id);
            filter.limit = limit;
            filter.owner = owner.map(|owner| OWNERS[owner].to_owned());
            for (first, id) in labels {
                filter = if first {
                    filter.label("a", format!("id-{id}"))
                } else {
                    filter.label(format!("id-{id}"), "x")
                };
            }
            filter
        })
}

fn step() -> impl Strategy<Value = Step> {
    let change = (0..5_u8, 0..6_u8, prop::bool::weighted(0.75));
    let changes = proptest::collection::vec(change, 0..5);
    let expect = proptest::option::weighted(0.3, prop_oneof![3 => Just(0_i8), 1 => -1..2_i8]);
    let fencing_token = proptest::option::weighted(0.2, 0..4_u64);
    prop_oneof![
        8 => (0..4_u8, changes, expect, fencing_token)
            .prop_map(|(conversation_id, changes, expect, fencing_token)| Step::Apply { conversation_id, changes, expect, fencing_token }),
        5 => (0..4_u8, query()).prop_map(|(conversation_id, query)| Step::Load(conversation_id, query)),
        2 => filter().prop_map(Step::Conversations),
        2 => (0..6_usize).prop_map(Step::Again),
        3 => (0..4_u8, 0..20_u64).prop_map(|(conversation_id, since)| Step::Changed(conversation_id, since)),
        1 => Just(Step::Reopen),
        1 => Just(Step::Abandon),
    ]
}

/// Returns the comparable parts of a result.
fn verdict(answer: Result<Revision, StoreError>) -> Result<u64, (Option<Revision>, Option<u64>)> {
    let refused = |error: StoreError| {
        let refused = (error.found_revision(), error.fenced_by());
        assert_ne!(refused, (None, None), "{error}");
        refused
    };
    answer.map(|revision| revision.0).map_err(refused)
}

fn changes(found: &Changes) -> Option<impl PartialEq + std::fmt::Debug + use<>> {
    match found {
        Changes::Since { put, deleted } => Some((seen(put), put.fencing_token, deleted.clone())),
        _ => None,
    }
}

fn seen(loaded: &Loaded) -> (Revision, Vec<(u64, Value)>) {
    let records = loaded.records.iter();
    let records = records.map(|entry| (entry.position.0, entry.record.to_value().unwrap()));
    (loaded.revision, records.collect())
}

fn listed(found: Vec<FoundConversation>) -> Vec<(ConversationId, Option<Value>)> {
    let value = |info: Record| info.to_value().unwrap();
    let one = |found: FoundConversation| (found.id, found.info.map(Record::from).map(value));
    found.into_iter().map(one).collect()
}

async fn compare(steps: Vec<Step>) {
    let folder = Folder::new();
    let (mut store, model) = (
        SqliteStore::open(folder.file()).await.unwrap(),
        MemoryStore::default(),
    );
    let mut applied = Vec::new();
    for (number, step) in steps.into_iter().enumerate() {
        match step {
            Step::Apply {
                conversation_id: at,
                changes,
                expect,
                fencing_token,
            } => {
                let at = conversation_id(at);
                let mut batch = batch(&changes, number);
                batch.fencing_token = fencing_token;
                if let Some(off) = expect {
                    let there = model.load(&at, &Query::all().limit(0)).await.unwrap();
                    batch =
                        batch.expect(Revision(there.revision.0.saturating_add_signed(off.into())));
                }
                let promised = verdict(model.apply(&at, batch.clone()).await);
                assert_eq!(verdict(store.apply(&at, batch.clone()).await), promised);
                applied.push((at, batch));
            }
            Step::Load(at, query) => {
                let promised = model.load(&conversation_id(at), &query).await.unwrap();
                let found = store.load(&conversation_id(at), &query).await.unwrap();
                assert_eq!(seen(&found), seen(&promised), "{query:?}");
            }
            Step::Again(before) => {
                let earlier = applied.len().checked_sub(before + 1);
                if let Some((at, batch)) = earlier.and_then(|at| applied.get(at)) {
                    let promised = verdict(model.apply(at, batch.clone()).await);
                    assert_eq!(verdict(store.apply(at, batch.clone()).await), promised);
                }
            }
            Step::Changed(at, since) => {
                let promised = model
                    .changed(&conversation_id(at), Revision(since))
                    .await
                    .unwrap();
                let found = store
                    .changed(&conversation_id(at), Revision(since))
                    .await
                    .unwrap();
                assert_eq!(changes(&found), changes(&promised), "{since}");
            }
            Step::Conversations(filter) => {
                let promised = listed(model.conversations(&filter).await.unwrap());
                let found = listed(store.conversations(&filter).await.unwrap());
                assert_eq!(found, promised, "{filter:?}");
            }
            Step::Reopen => {
                store.close().await.unwrap();
                store = SqliteStore::open(folder.file()).await.unwrap();
            }
            Step::Abandon => store = SqliteStore::open(folder.file()).await.unwrap(),
        }
    }
    for at in 0..4 {
        let promised = model
            .load(&conversation_id(at), &Query::all())
            .await
            .unwrap();
        let found = store
            .load(&conversation_id(at), &Query::all())
            .await
            .unwrap();
        assert_eq!(seen(&found), seen(&promised));
    }
    store.integrity_check().await.unwrap();
    store.close().await.unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

    #[test]
    fn sqlite_agrees_with_the_memory_store(steps in proptest::collection::vec(step(), 1..60)) {
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(compare(steps));
    }
}
