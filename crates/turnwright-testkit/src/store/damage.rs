//! How a store handles a record that it cannot read.

use turnwright_core::record::{ConversationInfo, RecordKind, TurnState};
use turnwright_core::store::{
    Changes, ConversationFilter, ConversationId, Loaded, Query, Revision, Store, StoreExt as _,
    TurnFilter,
};

use super::outcome::{Broken, Outcome, same};
use super::report::Report;
use super::sample::of_kind;

/// Checks that a record that cannot be read does not affect the others. It must be listed in [`Loaded::damaged`],
/// count towards limits, and it must be possible to overwrite and delete it. `make` returns a new, empty store for
/// each kind of record, and `damage` makes the record with this kind and id unreadable.
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
/// Panics if the store fails the check for some kinds. The message lists them, with what was observed.
pub async fn damage_conformance<S: Store + 'static>(
    make: impl AsyncFn() -> S,
    damage: impl AsyncFn(&S, &ConversationId, RecordKind, &str),
) -> Report {
    let mut report = Report::default();
    for kind in RecordKind::ALL {
        let (store, requirement) = (
            make().await,
            format!("a damaged {kind} does not affect other records"),
        );
        report.note(requirement, check_kind(&store, *kind, &damage).await);
    }
    report.expect_ok()
}

async fn check_kind<S: Store>(
    store: &S,
    kind: RecordKind,
    damage: &impl AsyncFn(&S, &ConversationId, RecordKind, &str),
) -> Outcome {
    let conversation_id = ConversationId::new("chat");
    let records = ["a", "b", "c"].map(|id| of_kind(kind, id));
    let [a, b, c] = records;
    let revision = store.put_all(&conversation_id, [a?, b?, c?]).await?;
    damage(store, &conversation_id, kind, "b").await;

    let all = store.load(&conversation_id, &Query::all()).await?;
    same("the revision", all.revision, revision)?;
    let in_order = all.bounds().map(|(first, last)| first < last);
    same("whether positions are in order", in_order, Some(true))?;
    let of_kind_only = || Query::all().kind(kind);
    let queries: [(Query, &[&str]); 5] = [
        (Query::all(), &["a", "c"]),
        (of_kind_only(), &["a", "c"]),
        (Query::all().limit(2), &["a"]),
        (Query::all().newest(2), &["c"]),
        (of_kind_only().ids(["b", "c"]), &["c"]),
    ];
    for (query, records) in queries {
        let loaded = store.load(&conversation_id, &query).await?;
        found(&loaded, records, &["b"], kind)?;
    }
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
    if kind == RecordKind::ConversationInfo {
        let listed = ConversationId::new("listed");
        let info = ConversationInfo::ID;
        store.put(&listed, of_kind(kind, info)?).await?;
        damage(store, &listed, kind, info).await;
        let filter = ConversationFilter::all().prefix("listed");
        let found = store.conversations(&filter).await?;
        let seen = found.iter().map(|one| {
            let damaged = one.damaged.as_ref().map(|record| record.id.as_str());
            (one.info.is_some(), damaged)
        });
        let seen: Vec<_> = seen.collect();
        same(
            "the damaged info that is listed",
            seen,
            [(false, Some(info))],
        )?;
        let other = filter.owner("another owner");
        let found = store.conversations(&other).await?.len();
        same("conversations of another owner", found, 0)?;
    }
    let Changes::Since { put, .. } = store.changed(&conversation_id, Revision(0)).await? else {
        return Err(Broken("the first changes are unknown".to_owned()));
    };
    found(&put, &["a", "c"], &["b"], kind)?;

    store.put(&conversation_id, of_kind(kind, "b")?).await?;
    let overwritten = store.load(&conversation_id, &Query::all()).await?;
    found(&overwritten, &["a", "b", "c"], &[], kind)?;
    damage(store, &conversation_id, kind, "b").await;
    store.delete(&conversation_id, kind, "b").await?;
    let left = store.load(&conversation_id, &Query::all()).await?;
    found(&left, &["a", "c"], &[], kind)
}

/// Asserts the loaded records and the damaged ones.
fn found(loaded: &Loaded, records: &[&str], damaged: &[&str], kind: RecordKind) -> Outcome {
    let readable = loaded.records.iter().map(|stored| stored.record.id());
    same("the records", readable.collect::<Vec<_>>(), records)?;
    let unreadable = loaded
        .damaged
        .iter()
        .map(|record| (&*record.id, record.kind));
    let damaged = damaged
        .iter()
        .map(|id| (*id, Some(kind)))
        .collect::<Vec<_>>();
    same(
        "the damaged records",
        unreadable.collect::<Vec<_>>(),
        damaged,
    )
}
