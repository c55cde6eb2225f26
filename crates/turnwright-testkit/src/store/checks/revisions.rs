//! Revisions, and batches that expect one.

use std::sync::Arc;

use turnwright_core::record::RecordKind;
use turnwright_core::store::{Batch, ConversationId, Query, Revision, Store, StoreExt as _};

use crate::store::outcome::{Broken, Outcome, ids, same};
use crate::store::sample::note;

pub(super) async fn each_batch(store: Arc<dyn Store>) -> Outcome {
    let conversation_id = ConversationId::new("s");
    let batches = [
        Batch::new().put(note("a", "1")?),
        Batch::new(),
        Batch::new().put(note("a", "1")?).put(note("b", "1")?),
        Batch::new().delete(RecordKind::Memory, "a"),
        Batch::new().delete(RecordKind::Memory, "a"),
    ];
    for (n, batch) in (1..).zip(batches) {
        same(
            "revision",
            store.apply(&conversation_id, batch).await?,
            Revision(n),
        )?;
    }
    Ok(())
}

pub(super) async fn told_by_loads(store: Arc<dyn Store>) -> Outcome {
    let conversation_id = ConversationId::new("s");
    for (n, fencing_token) in [(1, 0), (2, 7), (3, 7)] {
        let mut batch = Batch::new().put(note("a", "x")?);
        batch.fencing_token = (n == 2).then_some(fencing_token);
        store.apply(&conversation_id, batch).await?;
        for query in [
            Query::all(),
            Query::all().limit(0),
            Query::all().ids(["none"]),
        ] {
            let loaded = store.load(&conversation_id, &query).await?;
            same("revision of a load", loaded.revision, Revision(n))?;
            same(
                "fencing token of a load",
                loaded.fencing_token,
                fencing_token,
            )?;
        }
    }
    let other = store
        .load(&ConversationId::new("other"), &Query::all())
        .await?;
    same(
        "revision of another conversation",
        other.revision,
        Revision(0),
    )
}

pub(super) async fn conflicts(store: Arc<dyn Store>) -> Outcome {
    let conversation_id = ConversationId::new("s");
    for wrong in [1, 7] {
        let batch = Batch::new().put(note("a", "x")?).expect(Revision(wrong));
        refused(&*store, &conversation_id, batch, Revision(0)).await?;
    }
    let first = Batch::new().put(note("a", "1")?).expect(Revision(0));
    same(
        "revision",
        store.apply(&conversation_id, first).await?,
        Revision(1),
    )?;
    let again = Batch::new().put(note("a", "1")?).expect(Revision(0));
    refused(&*store, &conversation_id, again, Revision(1)).await?;
    let second = Batch::new().put(note("b", "1")?).expect(Revision(1));
    same(
        "revision",
        store.apply(&conversation_id, second).await?,
        Revision(2),
    )?;
    for wrong in [0, 1, 3] {
        let batch = Batch::new()
            .put(note("a", "2")?)
            .put(note("c", "2")?)
            .delete(RecordKind::Memory, "b")
            .expect(Revision(wrong));
        refused(&*store, &conversation_id, batch, Revision(2)).await?;
    }
    let found = store.memories(&conversation_id).await?;
    let found = found.iter().map(|it| format!("{}{}", it.id(), it.text()));
    let promised = vec!["a1".to_owned(), "b1".to_owned()];
    same(
        "ids and texts after what was refused",
        found.collect(),
        promised,
    )?;
    let loaded = store.load(&conversation_id, &Query::all()).await?;
    same(
        "revision after what was refused",
        loaded.revision,
        Revision(2),
    )
}

async fn refused(
    store: &dyn Store,
    conversation_id: &ConversationId,
    batch: Batch,
    there: Revision,
) -> Outcome {
    let expected = batch.expect;
    match store.apply(conversation_id, batch).await {
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
    let conversation_id = ConversationId::new("s");
    let batch = Batch::new().put(note("a", "x")?).fencing_token(5);
    store.apply(&conversation_id, batch).await?;
    same(
        "revision",
        store.delete_conversation(&conversation_id).await?,
        Revision(2),
    )?;
    same(
        "ids",
        ids(&*store, &conversation_id, &Query::all()).await?,
        vec![],
    )?;
    let loaded = store.load(&conversation_id, &Query::all()).await?;
    same(
        "revision of an empty conversation",
        loaded.revision,
        Revision(2),
    )?;
    let stale = store
        .apply(&conversation_id, Batch::new().expect(Revision(0)))
        .await;
    let found = stale.err().and_then(|error| error.found_revision());
    same(
        "conflict in an empty conversation",
        found,
        Some(Revision(2)),
    )?;
    let late = store
        .apply(&conversation_id, Batch::new().fencing_token(4))
        .await;
    let fencing_token = late.err().and_then(|error| error.fenced_by());
    // The deletion has taken over from the last writer.
    same(
        "fencing token of an empty conversation",
        fencing_token,
        Some(6),
    )
}
