//! Queries, and reading page by page.

use turnwright_core::record::RecordKind;
use turnwright_core::store::{Position, Query, StoreExt as _, Stored};

use crate::store::chat::Chat;
use crate::store::outcome::{Broken, Outcome, ensure, same};
use crate::store::sample::of_kind;

/// Writes records of several kinds that share ids, with gaps between them.
async fn filled(chat: &Chat) -> Result<Vec<Stored>, Broken> {
    use RecordKind::{Ledger, Memory, Message, Thought};
    let kinds = [
        Memory, Message, Thought, Memory, Message, Ledger, Memory, Message,
    ];
    for (n, kind) in kinds.into_iter().cycle().take(24).enumerate() {
        let id = format!("id-{}", n % 10);
        chat.put(of_kind(kind, &id)?).await?;
    }
    chat.delete("id-3").await?;
    chat.store.delete(&chat.id, Message, "id-7").await?;
    Ok(chat.all().await?.records)
}

/// A reference implementation of queries.
fn expected<'r>(all: &'r [Stored], query: &Query) -> Vec<(&'r str, RecordKind)> {
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
    let beyond = found.len().saturating_sub(most);
    let skipped = if query.newest { beyond } else { 0 };
    let found = found.into_iter().skip(skipped).take(most);
    let name = |stored: &'r Stored| (stored.record.id(), stored.record.kind());
    found.map(name).collect()
}

pub(super) async fn combined(chat: Chat) -> Outcome {
    let all = filled(&chat).await?;
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
                        let owned = |ids: &[&str]| ids.iter().map(ToString::to_string).collect();
                        query.ids = id_list.map(owned);
                        (query.after, query.before) = (after, before);
                        (query.limit, query.newest) = (limit, newest);
                        let found = chat.load(&query).await?.records;
                        let found = expected(&found, &Query::all());
                        same(&format!("{query:?}"), found, expected(&all, &query))?;
                    }
                }
            }
        }
    }
    Ok(())
}

pub(super) async fn odd_lists(chat: Chat) -> Outcome {
    chat.notes(&["a", "b"], "x").await?;
    let many = (0..5_000).map(|n| format!("n-{n}")).chain(["b".to_owned()]);
    let far = Query::all()
        .limit(usize::MAX)
        .after(Position(u64::MAX >> 1));
    let cases: [(&str, Query, &[&str]); 4] = [
        ("no ids", Query::all().ids([""; 0]), &[]),
        (
            "repeated ids",
            Query::all().ids(["b", "a", "b", "a"]),
            &["a", "b"],
        ),
        ("one of 5,001 ids", Query::all().ids(many), &["b"]),
        ("after a distant position", far, &[]),
    ];
    for (what, query, promised) in cases {
        same(what, chat.ids(&query).await?, promised)?;
    }
    Ok(())
}

pub(super) async fn paged(chat: Chat) -> Outcome {
    let all = filled(&chat).await?;
    for query in [Query::all(), Query::all().kind(RecordKind::Memory)] {
        let promised = expected(&all, &query);
        for size in [1, 2, 3, 7, promised.len(), 100] {
            let mut pages = chat.store.pages(&chat.id, query.clone().limit(size));
            let mut found = Vec::new();
            while let Some(page) = pages.next().await? {
                found.extend(page.records);
                ensure(found.len() <= all.len(), || {
                    format!("pages of {size} do not end: `after` and `limit` do not work together")
                })?;
            }
            let what = format!("all pages of {size}");
            same(&what, expected(&found, &Query::all()), promised.clone())?;
        }
    }
    Ok(())
}

pub(super) async fn paged_while_changing(chat: Chat) -> Outcome {
    chat.notes(&["a", "b", "c", "d"], "x").await?;
    let first = chat.load(&Query::all().limit(2)).await?;
    let place = first.records.last().map(|stored| stored.position);
    let place = place.ok_or_else(|| Broken("a page of two is empty".to_owned()))?;
    chat.delete("b").await?;
    chat.note("a", "replaced").await?;
    chat.note("e", "x").await?;
    chat.delete("d").await?;
    let rest = chat.ids(&Query::all().after(place)).await?;
    same("what comes after", rest, ["c", "e"])
}
