//! What a store does with a record that it cannot read.

use turnwright_core::record::{RecordKind, TurnState};
use turnwright_core::store::{
    Changes, ConversationId, Loaded, Query, Revision, Store, StoreExt as _, TurnFilter,
};

use super::outcome::{Broken, Outcome, same};
use super::report::Report;
use super::sample::of_kind;

const PROMISES: [(&str, RecordKind); 10] = [
    (
        "a damaged instruction stands alone",
        RecordKind::Instruction,
    ),
    ("a damaged memory stands alone", RecordKind::Memory),
    (
        "a damaged retrievable stands alone",
        RecordKind::Retrievable,
    ),
    ("a damaged message stands alone", RecordKind::Message),
    ("a damaged thought stands alone", RecordKind::Thought),
    ("a damaged call stands alone", RecordKind::ToolCall),
    (
        "a damaged line of the ledger stands alone",
        RecordKind::Ledger,
    ),
    ("a damaged turn stands alone", RecordKind::Turn),
    ("a damaged gate stands alone", RecordKind::Gate),
    ("a damaged lease stands alone", RecordKind::Lease),
];

/// Checks that one record that cannot be read does not make the others unreadable: it is listed in
/// [`Loaded::damaged`], counts towards limits, can be written again and deleted. `make` returns a fresh, empty store for
/// each kind of record, and `damage` makes the record of this kind and id unreadable in it.
///
/// ```no_run
/// # use turnwright_core::record::RecordKind;
/// # use turnwright_core::store::{MemoryStore as YourStore, ConversationId};
/// use turnwright_testkit::store::damage_conformance;
///
/// # async fn test() {
/// let damage = async |store: &YourStore, conversation: &ConversationId, kind: RecordKind, id: &str| {
///     // UPDATE records SET json = '{' WHERE …
/// };
/// damage_conformance(async || YourStore::default(), damage).await;
/// # }
/// ```
///
/// # Panics
///
/// If the store breaks the promise for a kind. The text names each, and what was seen instead.
#[expect(
    clippy::panic,
    reason = "documented: a test that calls this is meant to fail here"
)]
pub async fn damage_conformance<S: Store + 'static>(
    make: impl AsyncFn() -> S,
    damage: impl AsyncFn(&S, &ConversationId, RecordKind, &str),
) -> Report {
    let mut report = Report::default();
    for (promise, kind) in PROMISES {
        let store = make().await;
        report.note(promise, stands_alone(&store, kind, &damage).await);
    }
    if !report.is_ok() {
        panic!("{report}");
    }
    report
}

async fn stands_alone<S: Store>(
    store: &S,
    kind: RecordKind,
    damage: &impl AsyncFn(&S, &ConversationId, RecordKind, &str),
) -> Outcome {
    let conversation_id = ConversationId::new("chat");
    let records = ["a", "b", "c"].map(|id| of_kind(kind, id));
    let [a, b, c] = records;
    let revision = store.put_all(&conversation_id, [a?, b?, c?]).await?;
    damage(store, &conversation_id, kind, "b").await;

    let of_kind_only = Query::all().kind(kind);
    let first = Query::all().limit(2);
    let newest = Query::all().newest(2);
    let by_id = Query::all().kind(kind).ids(["b", "c"]);
    let all = store.load(&conversation_id, &Query::all()).await?;
    same("the revision", all.revision, revision)?;
    found(&all, &["a", "c"], &["b"], kind)?;
    found(
        &store.load(&conversation_id, &of_kind_only).await?,
        &["a", "c"],
        &["b"],
        kind,
    )?;
    found(
        &store.load(&conversation_id, &first).await?,
        &["a"],
        &["b"],
        kind,
    )?;
    found(
        &store.load(&conversation_id, &newest).await?,
        &["c"],
        &["b"],
        kind,
    )?;
    found(
        &store.load(&conversation_id, &by_id).await?,
        &["c"],
        &["b"],
        kind,
    )?;
    let in_order = all.bounds().map(|(first, last)| first < last);
    same("whether its places are in order", in_order, Some(true))?;
    if kind == RecordKind::Turn {
        for filter in [
            TurnFilter::all().turn_id("b"),
            TurnFilter::all().state(TurnState::Failed),
        ] {
            let turns = store.find_turns(&filter).await?;
            let damaged = turns.iter().find(|turn| turn.turn_id == "b");
            let seen = damaged.map(|turn| (turn.turn.is_none(), turn.damaged.len()));
            same("the damaged turn that is found", seen, Some((true, 1)))?;
        }
    }
    let Changes::Since { put, .. } = store.changed(&conversation_id, Revision(0)).await? else {
        return Err(Broken("the first changes are unknown".to_owned()));
    };
    found(&put, &["a", "c"], &["b"], kind)?;

    store.put(&conversation_id, of_kind(kind, "b")?).await?;
    let again = store.load(&conversation_id, &Query::all()).await?;
    found(&again, &["a", "b", "c"], &[], kind)?;
    damage(store, &conversation_id, kind, "b").await;
    store.delete(&conversation_id, kind, "b").await?;
    found(
        &store.load(&conversation_id, &Query::all()).await?,
        &["a", "c"],
        &[],
        kind,
    )
}

/// What was loaded must be these records, and these that are damaged.
fn found(loaded: &Loaded, records: &[&str], damaged: &[&str], kind: RecordKind) -> Outcome {
    let readable = loaded.records.iter().map(|it| it.record.id());
    same(
        "the records",
        readable.collect::<Vec<_>>(),
        records.to_vec(),
    )?;
    let unreadable = loaded.damaged.iter().map(|it| &*it.id);
    same(
        "the damaged records",
        unreadable.collect::<Vec<_>>(),
        damaged.to_vec(),
    )?;
    match loaded.damaged.iter().find(|it| it.kind != Some(kind)) {
        None => Ok(()),
        Some(other) => Err(Broken(format!("its kind is said to be {:?}", other.kind))),
    }
}
