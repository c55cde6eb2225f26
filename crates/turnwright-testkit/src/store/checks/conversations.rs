//! Conversations, and listing them.

use std::sync::Arc;

use turnwright_core::record::RecordKind;
use turnwright_core::store::{
    ConversationFilter, ConversationId, Query, Revision, Store, StoreExt as _,
};

use crate::store::outcome::{Outcome, ensure, ids, same};
use crate::store::sample::note;

pub(super) async fn apart(store: Arc<dyn Store>) -> Outcome {
    let (a, b) = (ConversationId::new("a"), ConversationId::new("b"));
    store.put(&a, note("x", "of a")?).await?;
    store.put(&b, note("x", "of b")?).await?;
    let revision = store.put(&b, note("y", "of b")?).await?;
    same("revision of b", revision, Revision(2))?;
    store.delete(&a, RecordKind::Memory, "y").await?;
    let texts = |records: Vec<Arc<turnwright_core::record::Memory>>| -> Vec<String> {
        records.iter().map(|it| it.text().to_owned()).collect()
    };
    let of_a = texts(store.memories(&a).await?);
    same("texts of a", of_a, vec!["of a".to_owned()])?;
    store.delete_conversation(&a).await?;
    same("ids of a", ids(&*store, &a, &Query::all()).await?, vec![])?;
    let of_b = texts(store.memories(&b).await?);
    same(
        "texts of b",
        of_b,
        vec!["of b".to_owned(), "of b".to_owned()],
    )
}

const NAMES: [&str; 12] = [
    "user/2", "user/10", "User/1", "user/1", "user", "users", "a", "Z", "é", "e", "zz", "user/1/a",
];

async fn filled(store: &dyn Store) -> Result<Vec<ConversationId>, crate::store::outcome::Broken> {
    for name in NAMES {
        store
            .put(&ConversationId::new(name), note("x", "x")?)
            .await?;
    }
    let mut all: Vec<ConversationId> = NAMES
        .iter()
        .map(|name| ConversationId::new(*name))
        .collect();
    all.sort();
    Ok(all)
}

pub(super) async fn listed(store: Arc<dyn Store>) -> Outcome {
    let all = filled(&*store).await?;
    let emptied = ConversationId::new("user/5");
    store.put(&emptied, note("x", "x")?).await?;
    store.delete(&emptied, RecordKind::Memory, "x").await?;
    // Written, but with nothing.
    store
        .apply(&ConversationId::new("user/6"), Default::default())
        .await?;
    store
        .delete(&ConversationId::new("user/7"), RecordKind::Memory, "x")
        .await?;
    let found = store.conversations(&ConversationFilter::all()).await?;
    same("conversations", found, all)
}

pub(super) async fn combined(store: Arc<dyn Store>) -> Outcome {
    let all = filled(&*store).await?;
    for prefix in [
        None,
        Some(""),
        Some("user"),
        Some("user/"),
        Some("u"),
        Some("nobody"),
    ] {
        for after in [
            None,
            Some("user"),
            Some("user/1"),
            Some("user/3"),
            Some(""),
            Some("~"),
        ] {
            for limit in [None, Some(0), Some(1), Some(2), Some(100)] {
                let mut filter = ConversationFilter::all();
                filter.prefix = prefix.map(str::to_owned);
                filter.after = after.map(ConversationId::new);
                filter.limit = limit;
                let promised = all.iter().filter(|conversation_id| {
                    conversation_id
                        .as_str()
                        .starts_with(prefix.unwrap_or_default())
                        && after.is_none_or(|after| conversation_id.as_str() > after)
                });
                let promised = promised
                    .take(limit.unwrap_or(usize::MAX))
                    .cloned()
                    .collect();
                let found = store.conversations(&filter).await?;
                same(&format!("{filter:?}"), found, promised)?;
            }
        }
    }
    paged(&*store, &all).await
}

async fn paged(store: &dyn Store, all: &[ConversationId]) -> Outcome {
    let mut found: Vec<ConversationId> = Vec::new();
    loop {
        let mut filter = ConversationFilter::all().limit(5);
        filter.after = found.last().cloned();
        let page = store.conversations(&filter).await?;
        if page.is_empty() {
            break;
        }
        found.extend(page);
        ensure(found.len() <= all.len(), || {
            "pages of conversations come to no end: `after` and `limit` do not go together"
                .to_owned()
        })?;
    }
    same("all pages of conversations", found, all.to_vec())
}
