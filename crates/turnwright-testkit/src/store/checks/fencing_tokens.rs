//! Fences: who has taken over.

use std::sync::Arc;

use turnwright_core::record::RecordKind;
use turnwright_core::store::{Batch, ConversationId, Query, Revision, Store, StoreExt as _};

use crate::store::outcome::{Broken, Outcome, ids, same};
use crate::store::sample::note;

async fn fenced(
    store: &dyn Store,
    conversation_id: &ConversationId,
    batch: Batch,
    by: u64,
) -> Outcome {
    let own = batch.fencing_token;
    match store.apply(conversation_id, batch).await {
        Ok(_) => Err(Broken(format!(
            "a batch with fence {own:?} was applied, though {by} had written"
        ))),
        Err(error) => same("who fenced a batch", error.fenced_by(), Some(by)),
    }
}

pub(super) async fn lower(store: Arc<dyn Store>) -> Outcome {
    let conversation_id = ConversationId::new("s");
    let batch = Batch::new().put(note("a", "x")?).fencing_token(7);
    store.apply(&conversation_id, batch).await?;
    for own in [0, 1, 6] {
        let late = Batch::new()
            .put(note("b", "x")?)
            .delete(RecordKind::Memory, "a")
            .fencing_token(own);
        fenced(&*store, &conversation_id, late, 7).await?;
    }
    let found = ids(&*store, &conversation_id, &Query::all()).await?;
    same("ids after what was refused", found, vec!["a".to_owned()])?;
    let loaded = store.load(&conversation_id, &Query::all()).await?;
    same(
        "revision after what was refused",
        loaded.revision,
        Revision(1),
    )
}

pub(super) async fn others(store: Arc<dyn Store>) -> Outcome {
    let conversation_id = ConversationId::new("s");
    for (n, fencing_token) in (1..).zip([Some(0), Some(3), Some(3), None, Some(4), None]) {
        let mut batch = Batch::new().put(note("a", "x")?);
        batch.fencing_token = fencing_token;
        same(
            "revision",
            store.apply(&conversation_id, batch).await?,
            Revision(n),
        )?;
    }
    // None takes nothing back.
    fenced(&*store, &conversation_id, Batch::new().fencing_token(3), 4).await
}

pub(super) async fn refused(store: Arc<dyn Store>) -> Outcome {
    let conversation_id = ConversationId::new("s");
    store
        .apply(&conversation_id, Batch::new().fencing_token(2))
        .await?;
    let both = Batch::new().fencing_token(1).expect(Revision(9));
    fenced(&*store, &conversation_id, both, 2).await?;
    let conflict = Batch::new()
        .put(note("a", "x")?)
        .fencing_token(8)
        .expect(Revision(9));
    let found = store.apply(&conversation_id, conflict).await.err();
    let found = found.and_then(|error| error.found_revision());
    same("conflict under a higher fence", found, Some(Revision(1)))?;
    // It was refused, so nobody with fencing token 8 has written.
    store
        .apply(&conversation_id, Batch::new().fencing_token(2))
        .await?;
    Ok(())
}

pub(super) async fn by_empty_batch(store: Arc<dyn Store>) -> Outcome {
    let conversation_id = ConversationId::new("s");
    // What a signed number of 64 bits holds: databases have no more.
    let high = u64::try_from(i64::MAX).unwrap_or_default();
    for fencing_token in [1, 1 << 40, high] {
        store
            .apply(&conversation_id, Batch::new().fencing_token(fencing_token))
            .await?;
        let late = Batch::new()
            .put(note("a", "x")?)
            .fencing_token(fencing_token - 1);
        fenced(&*store, &conversation_id, late, fencing_token).await?;
    }
    Ok(())
}

pub(super) async fn scopes_apart(store: Arc<dyn Store>) -> Outcome {
    let (a, b) = (ConversationId::new("a"), ConversationId::new("b"));
    store.apply(&a, Batch::new().fencing_token(9)).await?;
    store.apply(&b, Batch::new().fencing_token(1)).await?;
    store.put(&b, note("x", "x")?).await?;
    fenced(&*store, &a, Batch::new().fencing_token(8), 9).await
}
