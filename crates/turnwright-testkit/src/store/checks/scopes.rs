//! Scopes, and listing them.

use std::sync::Arc;

use turnwright_core::record::RecordKind;
use turnwright_core::store::{Query, Revision, Scope, ScopeFilter, Store, StoreExt as _};

use crate::store::outcome::{Outcome, ensure, ids, same};
use crate::store::sample::{note, of_kind};

pub(super) async fn apart(store: Arc<dyn Store>) -> Outcome {
    let (a, b) = (Scope::new("a"), Scope::new("b"));
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
    store.delete_scope(&a).await?;
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

async fn filled(store: &dyn Store) -> Result<Vec<Scope>, crate::store::outcome::Broken> {
    for name in NAMES {
        store.put(&Scope::new(name), note("x", "x")?).await?;
    }
    let mut all: Vec<Scope> = NAMES.iter().map(|name| Scope::new(*name)).collect();
    all.sort();
    Ok(all)
}

pub(super) async fn holding(store: Arc<dyn Store>) -> Outcome {
    let all = filled(&*store).await?;
    let kind = RecordKind::Memory;
    same("all of them", store.holding(kind, "x").await?, all)?;
    let two = [Scope::new("zz"), Scope::new("a")];
    for scope in &two {
        store.put(scope, of_kind(RecordKind::Turn, "it")?).await?;
    }
    store
        .put(&Scope::new("e"), note("it", "of another kind")?)
        .await?;
    let found = store.holding(RecordKind::Turn, "it").await?;
    same(
        "two of them",
        found,
        vec![Scope::new("a"), Scope::new("zz")],
    )?;
    store.delete(&two[0], RecordKind::Turn, "it").await?;
    let found = store.holding(RecordKind::Turn, "it").await?;
    same("one of them", found, vec![Scope::new("a")])?;
    let none = store.holding(RecordKind::Turn, "i_").await?;
    same("none of them", none, vec![])
}

pub(super) async fn listed(store: Arc<dyn Store>) -> Outcome {
    let all = filled(&*store).await?;
    let emptied = Scope::new("user/5");
    store.put(&emptied, note("x", "x")?).await?;
    store.delete(&emptied, RecordKind::Memory, "x").await?;
    // Written, but with nothing.
    store
        .apply(&Scope::new("user/6"), Default::default())
        .await?;
    store
        .delete(&Scope::new("user/7"), RecordKind::Memory, "x")
        .await?;
    let found = store.scopes(&ScopeFilter::all()).await?;
    same("scopes", found, all)
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
                let mut filter = ScopeFilter::all();
                filter.prefix = prefix.map(str::to_owned);
                filter.after = after.map(Scope::new);
                filter.limit = limit;
                let promised = all.iter().filter(|scope| {
                    scope.as_str().starts_with(prefix.unwrap_or_default())
                        && after.is_none_or(|after| scope.as_str() > after)
                });
                let promised = promised
                    .take(limit.unwrap_or(usize::MAX))
                    .cloned()
                    .collect();
                let found = store.scopes(&filter).await?;
                same(&format!("{filter:?}"), found, promised)?;
            }
        }
    }
    paged(&*store, &all).await
}

async fn paged(store: &dyn Store, all: &[Scope]) -> Outcome {
    let mut found: Vec<Scope> = Vec::new();
    loop {
        let mut filter = ScopeFilter::all().limit(5);
        filter.after = found.last().cloned();
        let page = store.scopes(&filter).await?;
        if page.is_empty() {
            break;
        }
        found.extend(page);
        ensure(found.len() <= all.len(), || {
            "pages of scopes come to no end: `after` and `limit` do not go together".to_owned()
        })?;
    }
    same("all pages of scopes", found, all.to_vec())
}
