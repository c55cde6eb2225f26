//! Queries, and reading page by page.

use std::sync::Arc;

use turnwright_core::record::RecordKind;
use turnwright_core::store::{ConversationId, Position, Query, Store, StoreExt as _, Stored};

use crate::store::outcome::{Broken, Outcome, ensure, ids, same};
use crate::store::sample::{note, of_kind};

/// Records of several kinds that share ids, with gaps between them.
async fn filled(
    store: &dyn Store,
    conversation_id: &ConversationId,
) -> Result<Vec<Stored>, Broken> {
    use RecordKind::{Ledger, Memory, Message, Thought};
    for (n, kind) in [
        Memory, Message, Thought, Memory, Message, Ledger, Memory, Message,
    ]
    .into_iter()
    .cycle()
    .take(24)
    .enumerate()
    {
        let id = format!("id-{}", n % 10);
        store.put(conversation_id, of_kind(kind, &id)?).await?;
    }
    store.delete(conversation_id, Memory, "id-3").await?;
    store.delete(conversation_id, Message, "id-7").await?;
    Ok(store.load(conversation_id, &Query::all()).await?.records)
}

/// What a query means, said plainly.
fn meant<'r>(all: &'r [Stored], query: &Query) -> Vec<(&'r str, RecordKind)> {
    let asked = |stored: &&Stored| {
        let record = &stored.record;
        let ids = query.ids.as_ref();
        (query.kinds.is_empty() || query.kinds.contains(&record.kind()))
            && ids.is_none_or(|ids| ids.iter().any(|id| id == record.id()))
            && query.after.is_none_or(|after| stored.position > after)
            && query.before.is_none_or(|before| stored.position < before)
    };
    let found: Vec<&Stored> = all.iter().filter(asked).collect();
    let most = query.limit.unwrap_or(usize::MAX);
    let skipped = match query.newest {
        true => found.len().saturating_sub(most),
        false => 0,
    };
    let found = found.into_iter().skip(skipped).take(most);
    found.map(|it| (it.record.id(), it.record.kind())).collect()
}

pub(super) async fn combined(store: Arc<dyn Store>) -> Outcome {
    let conversation_id = ConversationId::new("s");
    let all = filled(&*store, &conversation_id).await?;
    let kinds: [&[RecordKind]; 5] = [
        &[],
        &[RecordKind::Message],
        &[RecordKind::Thought, RecordKind::Memory],
        &[RecordKind::Memory, RecordKind::Memory],
        &[RecordKind::Retrievable],
    ];
    let id_lists: [Option<&[&str]>; 5] = [
        None,
        Some(&["id-0"]),
        Some(&["id-9", "id-1", "id-4", "none"]),
        Some(&["id-2", "id-2"]),
        Some(&["id-3", "id-7"]),
    ];
    let middle = all.get(all.len() / 2).map(|stored| stored.position);
    let last = all.last().map(|stored| stored.position);
    for kinds in kinds {
        for id_list in id_lists {
            for after in [None, Some(Position(0)), middle, last] {
                for limit in [None, Some(0), Some(1), Some(3), Some(1_000_000)] {
                    for (before, newest) in
                        [(None, false), (None, true), (middle, false), (last, true)]
                    {
                        let mut query = Query::all();
                        query.kinds = kinds.to_vec();
                        query.ids =
                            id_list.map(|ids| ids.iter().map(|id| (*id).to_owned()).collect());
                        (query.after, query.before) = (after, before);
                        (query.limit, query.newest) = (limit, newest);
                        let found = store.load(&conversation_id, &query).await?.records;
                        let found = meant(&found, &Query::all());
                        same(&format!("{query:?}"), found, meant(&all, &query))?;
                    }
                }
            }
        }
    }
    Ok(())
}

pub(super) async fn odd_lists(store: Arc<dyn Store>) -> Outcome {
    let conversation_id = ConversationId::new("s");
    store
        .put_all(&conversation_id, [note("a", "x")?, note("b", "x")?])
        .await?;
    let none: [&str; 0] = [];
    let found = ids(&*store, &conversation_id, &Query::all().ids(none)).await?;
    same("no ids", found, vec![])?;
    let found = ids(
        &*store,
        &conversation_id,
        &Query::all().ids(["b", "a", "b", "a"]),
    )
    .await?;
    same("repeated ids", found, vec!["a".to_owned(), "b".to_owned()])?;
    let many = (0..5_000).map(|n| format!("n-{n}")).chain(["b".to_owned()]);
    let found = ids(&*store, &conversation_id, &Query::all().ids(many)).await?;
    same("one of 5,001 ids", found, vec!["b".to_owned()])?;
    let query = Query::all()
        .limit(usize::MAX)
        .after(Position(u64::MAX >> 1));
    let found = ids(&*store, &conversation_id, &query).await?;
    same("after a place that is far away", found, vec![])
}

pub(super) async fn paged(store: Arc<dyn Store>) -> Outcome {
    let conversation_id = ConversationId::new("s");
    let all = filled(&*store, &conversation_id).await?;
    for query in [Query::all(), Query::all().kind(RecordKind::Memory)] {
        let promised = meant(&all, &query);
        for size in [1, 2, 3, 7, promised.len(), 100] {
            let mut pages = store.pages(&conversation_id, query.clone()).size(size);
            let mut found = Vec::new();
            while let Some(stored) = pages.next().await {
                found.push(stored?);
                ensure(found.len() <= all.len(), || {
                    format!(
                        "pages of {size} come to no end: `after` and `limit` do not go together"
                    )
                })?;
            }
            let what = format!("all pages of {size}");
            same(&what, meant(&found, &Query::all()), promised.clone())?;
        }
    }
    Ok(())
}

pub(super) async fn paged_while_changing(store: Arc<dyn Store>) -> Outcome {
    let conversation_id = ConversationId::new("s");
    for id in ["a", "b", "c", "d"] {
        store.put(&conversation_id, note(id, "x")?).await?;
    }
    let first = store.load(&conversation_id, &Query::all().limit(2)).await?;
    let place = first.records.last().map(|stored| stored.position);
    let place = place.ok_or_else(|| Broken("a page of two is empty".to_owned()))?;
    store
        .delete(&conversation_id, RecordKind::Memory, "b")
        .await?;
    store.put(&conversation_id, note("a", "replaced")?).await?;
    store.put(&conversation_id, note("e", "x")?).await?;
    store
        .delete(&conversation_id, RecordKind::Memory, "d")
        .await?;
    let rest = ids(&*store, &conversation_id, &Query::all().after(place)).await?;
    same(
        "what comes after",
        rest,
        vec!["c".to_owned(), "e".to_owned()],
    )
}
