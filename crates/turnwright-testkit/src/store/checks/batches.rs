//! Batch ids: a batch is applied once.

use std::sync::Arc;

use tokio::task::spawn_blocking;
use turnwright_core::record::RecordKind;
use turnwright_core::store::{
    Batch, BatchId, ConversationId, Query, Revision, Store, StoreError, StoreExt as _,
};

use crate::store::failing::{Fail, Failing};
use crate::store::outcome::{Broken, Outcome, ids, same};
use crate::store::sample::note;

pub(super) async fn applied_again(store: Arc<dyn Store>) -> Outcome {
    let conversation_id = ConversationId::new("s");
    let batches = [
        Batch::new()
            .put(note("a", "1")?)
            .fencing_token(3)
            .expect(Revision(0)),
        Batch::new().delete(RecordKind::Memory, "a"),
        Batch::new(),
        Batch::new()
            .put(note("b", "1")?)
            .put(note("b", "2")?)
            .fencing_token(4),
    ];
    for (n, batch) in (1..).zip(&batches) {
        for _ in 0..2 {
            let revision = store.apply(&conversation_id, batch.clone()).await?;
            same("revision", revision, Revision(n))?;
        }
    }
    store.put(&conversation_id, note("b", "3")?).await?;
    let before = store.load(&conversation_id, &Query::all()).await?;
    // Also after everything that they expected has changed.
    for (n, batch) in (1..).zip(&batches) {
        let revision = store.apply(&conversation_id, batch.clone()).await?;
        same("revision of an old batch", revision, Revision(n))?;
    }
    let after = store.load(&conversation_id, &Query::all()).await?;
    let seen = (after.revision, after.fencing_token, after.records.len());
    same("the conversation", seen, (before.revision, 4, 1))?;
    let texts = store.memories(&conversation_id).await?;
    let texts: Vec<_> = texts.iter().map(|it| it.text().to_owned()).collect();
    same("texts", texts, vec!["3".to_owned()])?;
    // The batch that emptied a conversation too.
    let last = Batch::new().delete(RecordKind::Memory, "b");
    let revision = store.apply(&conversation_id, last.clone()).await?;
    let again = store.apply(&conversation_id, last).await?;
    same("revision of a deletion", again, revision)
}

pub(super) async fn rejected_first(store: Arc<dyn Store>) -> Outcome {
    let conversation_id = ConversationId::new("s");
    let batch = Batch::new().put(note("a", "x")?).expect(Revision(1));
    let rejected = store.apply(&conversation_id, batch.clone()).await.err();
    let found = rejected.and_then(|error| error.found_revision());
    same("the conflict", found, Some(Revision(0)))?;
    store.apply(&conversation_id, Batch::new()).await?;
    same(
        "revision",
        store.apply(&conversation_id, batch).await?,
        Revision(2),
    )?;
    let found = ids(&*store, &conversation_id, &Query::all()).await?;
    same("ids", found, vec!["a".to_owned()])
}

pub(super) async fn reused(store: Arc<dyn Store>) -> Outcome {
    let conversation_id = ConversationId::new("s");
    let id = BatchId(7);
    let batch = Batch::new().id(id).put(note("a", "x")?).fencing_token(1);
    store.apply(&conversation_id, batch.clone()).await?;
    let others = [
        Batch::new().id(id),
        Batch::new().id(id).put(note("b", "x")?).fencing_token(1),
        Batch::new().id(id).put(note("a", "y")?).fencing_token(1),
        Batch::new()
            .id(id)
            .delete(RecordKind::Memory, "a")
            .fencing_token(1),
        Batch::new().id(id).put(note("a", "x")?).fencing_token(2),
        Batch::new().id(id).put(note("a", "x")?).fencing_token(0),
        Batch::new()
            .id(id)
            .put(note("a", "x")?)
            .fencing_token(1)
            .expect(Revision(1)),
    ];
    for other in others {
        let what = format!("{other:?}");
        is_reused(&what, store.apply(&conversation_id, other).await)?;
    }
    let elsewhere = ConversationId::new("other");
    is_reused("another conversation", store.apply(&elsewhere, batch).await)?;
    let loaded = store.load(&conversation_id, &Query::all()).await?;
    let seen = (loaded.revision, loaded.fencing_token, loaded.records.len());
    same("the conversation", seen, (Revision(1), 1, 1))
}

fn is_reused(what: &str, applied: Result<Revision, StoreError>) -> Outcome {
    match applied {
        Err(error) if error.is_batch_id_reused() => Ok(()),
        other => Err(Broken(format!(
            "a batch id was used again, {what}: {other:?}"
        ))),
    }
}

pub(super) async fn at_once(store: Arc<dyn Store>) -> Outcome {
    let conversation_id = ConversationId::new("s");
    for round in 1..=20 {
        let batch = Batch::new().put(note(&round.to_string(), "x")?);
        let runtime = tokio::runtime::Handle::current();
        let writers = (0..4).map(|_| {
            let (store, conversation_id, batch) =
                (Arc::clone(&store), conversation_id.clone(), batch.clone());
            let runtime = runtime.clone();
            spawn_blocking(move || runtime.block_on(store.apply(&conversation_id, batch)))
        });
        for writer in writers.collect::<Vec<_>>() {
            let applied = writer.await.map_err(|error| Broken(error.to_string()))?;
            same("revision", applied?, Revision(round))?;
        }
    }
    Ok(())
}

pub(super) async fn lost_answers(store: Arc<dyn Store>) -> Outcome {
    let conversation_id = ConversationId::new("s");
    for (n, fail) in (1..).zip([Fail::After, Fail::Before].into_iter().cycle().take(10)) {
        let failing = Failing::store(Arc::clone(&store));
        failing.layer.fail_call(1, fail);
        let id = n.to_string();
        let batch = Batch::new()
            .put(note(&id, "x")?)
            .expect(Revision(n - 1))
            .fencing_token(n);
        let lost = failing.apply(&conversation_id, batch.clone()).await;
        same("whether the answer is lost", lost.is_err(), true)?;
        let applied = failing.apply(&conversation_id, batch).await?;
        same("revision", applied, Revision(n))?;
    }
    same("records", store.records(&conversation_id).await?.len(), 10)
}
