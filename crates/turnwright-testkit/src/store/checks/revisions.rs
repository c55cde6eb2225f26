//! Revisions, and batches that expect one.

use std::sync::Arc;

use turnwright_core::record::RecordKind;
use turnwright_core::store::{Batch, Query, Revision, Scope, Store, StoreExt as _};

use crate::store::outcome::{Broken, Outcome, ids, same};
use crate::store::sample::note;

pub(super) async fn each_batch(store: Arc<dyn Store>) -> Outcome {
    let scope = Scope::new("s");
    let batches = [
        Batch::new().put(note("a", "1")?),
        Batch::new(),
        Batch::new().put(note("a", "1")?).put(note("b", "1")?),
        Batch::new().delete(RecordKind::Memory, "a"),
        Batch::new().delete(RecordKind::Memory, "a"),
    ];
    for (n, batch) in (1..).zip(batches) {
        same("revision", store.apply(&scope, batch).await?, Revision(n))?;
    }
    Ok(())
}

pub(super) async fn told_by_loads(store: Arc<dyn Store>) -> Outcome {
    let scope = Scope::new("s");
    for n in 1..4 {
        store.put(&scope, note("a", "x")?).await?;
        for query in [
            Query::all(),
            Query::all().limit(0),
            Query::all().ids(["none"]),
        ] {
            let loaded = store.load(&scope, &query).await?;
            same("revision of a load", loaded.revision, Revision(n))?;
        }
    }
    let other = store.load(&Scope::new("other"), &Query::all()).await?;
    same("revision of another scope", other.revision, Revision(0))
}

pub(super) async fn conflicts(store: Arc<dyn Store>) -> Outcome {
    let scope = Scope::new("s");
    for wrong in [1, 7] {
        let batch = Batch::new().put(note("a", "x")?).expect(Revision(wrong));
        refused(&*store, &scope, batch, Revision(0)).await?;
    }
    let first = Batch::new().put(note("a", "1")?).expect(Revision(0));
    same(
        "revision",
        store.apply(&scope, first.clone()).await?,
        Revision(1),
    )?;
    refused(&*store, &scope, first, Revision(1)).await?;
    let second = Batch::new().put(note("b", "1")?).expect(Revision(1));
    same("revision", store.apply(&scope, second).await?, Revision(2))?;
    for wrong in [0, 1, 3] {
        let batch = Batch::new()
            .put(note("a", "2")?)
            .put(note("c", "2")?)
            .delete(RecordKind::Memory, "b")
            .expect(Revision(wrong));
        refused(&*store, &scope, batch, Revision(2)).await?;
    }
    let found = store.memories(&scope).await?;
    let found = found.iter().map(|it| format!("{}{}", it.id(), it.text()));
    let promised = vec!["a1".to_owned(), "b1".to_owned()];
    same(
        "ids and texts after what was refused",
        found.collect(),
        promised,
    )?;
    let loaded = store.load(&scope, &Query::all()).await?;
    same(
        "revision after what was refused",
        loaded.revision,
        Revision(2),
    )
}

async fn refused(store: &dyn Store, scope: &Scope, batch: Batch, there: Revision) -> Outcome {
    let expected = batch.expect;
    match store.apply(scope, batch).await {
        Ok(revision) => Err(Broken(format!(
            "a batch that expected {expected:?} was applied where {there:?} was, and gave {revision:?}"
        ))),
        Err(error) => same(
            "the revision that a conflict names",
            error.found_revision(),
            Some(there),
        ),
    }
}

pub(super) async fn emptied(store: Arc<dyn Store>) -> Outcome {
    let scope = Scope::new("s");
    let batch = Batch::new().put(note("a", "x")?).fence(5);
    store.apply(&scope, batch).await?;
    same("revision", store.delete_scope(&scope).await?, Revision(2))?;
    same("ids", ids(&*store, &scope, &Query::all()).await?, vec![])?;
    let loaded = store.load(&scope, &Query::all()).await?;
    same("revision of an empty scope", loaded.revision, Revision(2))?;
    let stale = store.apply(&scope, Batch::new().expect(Revision(0))).await;
    let found = stale.err().and_then(|error| error.found_revision());
    same("conflict in an empty scope", found, Some(Revision(2)))?;
    let late = store.apply(&scope, Batch::new().fence(4)).await;
    let fence = late.err().and_then(|error| error.fenced_by());
    same("fence of an empty scope", fence, Some(5))
}
