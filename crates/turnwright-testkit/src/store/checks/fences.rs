//! Fences: who has taken over.

use std::sync::Arc;

use turnwright_core::record::RecordKind;
use turnwright_core::store::{Batch, Query, Revision, Scope, Store, StoreExt as _};

use crate::store::outcome::{Broken, Outcome, ids, same};
use crate::store::sample::note;

async fn fenced(store: &dyn Store, scope: &Scope, batch: Batch, by: u64) -> Outcome {
    let own = batch.fence;
    match store.apply(scope, batch).await {
        Ok(_) => Err(Broken(format!(
            "a batch with fence {own:?} was applied, though {by} had written"
        ))),
        Err(error) => same("who fenced a batch", error.fenced_by(), Some(by)),
    }
}

pub(super) async fn lower(store: Arc<dyn Store>) -> Outcome {
    let scope = Scope::new("s");
    let batch = Batch::new().put(note("a", "x")?).fence(7);
    store.apply(&scope, batch).await?;
    for own in [0, 1, 6] {
        let late = Batch::new()
            .put(note("b", "x")?)
            .delete(RecordKind::Memory, "a")
            .fence(own);
        fenced(&*store, &scope, late, 7).await?;
    }
    let found = ids(&*store, &scope, &Query::all()).await?;
    same("ids after what was refused", found, vec!["a".to_owned()])?;
    let loaded = store.load(&scope, &Query::all()).await?;
    same(
        "revision after what was refused",
        loaded.revision,
        Revision(1),
    )
}

pub(super) async fn others(store: Arc<dyn Store>) -> Outcome {
    let scope = Scope::new("s");
    for (n, fence) in (1..).zip([Some(0), Some(3), Some(3), None, Some(4), None]) {
        let mut batch = Batch::new().put(note("a", "x")?);
        batch.fence = fence;
        same("revision", store.apply(&scope, batch).await?, Revision(n))?;
    }
    // None takes nothing back.
    fenced(&*store, &scope, Batch::new().fence(3), 4).await
}

pub(super) async fn refused(store: Arc<dyn Store>) -> Outcome {
    let scope = Scope::new("s");
    store.apply(&scope, Batch::new().fence(2)).await?;
    let both = Batch::new().fence(1).expect(Revision(9));
    fenced(&*store, &scope, both, 2).await?;
    let conflict = Batch::new()
        .put(note("a", "x")?)
        .fence(8)
        .expect(Revision(9));
    let found = store.apply(&scope, conflict).await.err();
    let found = found.and_then(|error| error.found_revision());
    same("conflict under a higher fence", found, Some(Revision(1)))?;
    // It was refused, so nobody with fence 8 has written.
    store.apply(&scope, Batch::new().fence(2)).await?;
    Ok(())
}

pub(super) async fn by_empty_batch(store: Arc<dyn Store>) -> Outcome {
    let scope = Scope::new("s");
    // What a signed number of 64 bits holds: databases have no more.
    let high = u64::try_from(i64::MAX).unwrap_or_default();
    for fence in [1, 1 << 40, high] {
        store.apply(&scope, Batch::new().fence(fence)).await?;
        let late = Batch::new().put(note("a", "x")?).fence(fence - 1);
        fenced(&*store, &scope, late, fence).await?;
    }
    Ok(())
}

pub(super) async fn scopes_apart(store: Arc<dyn Store>) -> Outcome {
    let (a, b) = (Scope::new("a"), Scope::new("b"));
    store.apply(&a, Batch::new().fence(9)).await?;
    store.apply(&b, Batch::new().fence(1)).await?;
    store.put(&b, note("x", "x")?).await?;
    fenced(&*store, &a, Batch::new().fence(8), 9).await
}
