//! What changed since a revision.

use std::sync::Arc;

use turnwright_core::record::RecordKind;
use turnwright_core::store::{
    Batch, Changes, ConversationId, KEPT_DELETIONS, Query, Revision, Store, StoreExt as _,
};

use crate::store::outcome::{Broken, Outcome, same};
use crate::store::sample::{note, of_kind};

/// The ids that were put and deleted since a revision, if they are known.
async fn seen(
    store: &dyn Store,
    conversation_id: &ConversationId,
    since: u64,
) -> Result<Option<(Vec<String>, Vec<String>)>, Broken> {
    let loaded = store.load(conversation_id, &Query::all()).await?;
    match store.changed(conversation_id, Revision(since)).await? {
        Changes::Since { put, deleted } => {
            let now = (put.revision, put.fencing_token);
            same(
                "revision and token of changes",
                now,
                (loaded.revision, loaded.fencing_token),
            )?;
            let put = put.into_records().map(|record| record.id().to_owned());
            Ok(Some((
                put.collect(),
                deleted.into_iter().map(|(_, id)| id).collect(),
            )))
        }
        _ => Ok(None),
    }
}

fn lists(put: &[&str], deleted: &[&str]) -> Option<(Vec<String>, Vec<String>)> {
    let owned = |list: &[&str]| list.iter().map(|id| (*id).to_owned()).collect();
    Some((owned(put), owned(deleted)))
}

pub(super) async fn since(store: Arc<dyn Store>) -> Outcome {
    let conversation_id = ConversationId::new("s");
    let nothing = seen(&*store, &conversation_id, 0).await?;
    same("changes of a new conversation", nothing, lists(&[], &[]))?;
    store.put(&conversation_id, note("a", "1")?).await?;
    store
        .put_all(&conversation_id, [note("b", "1")?, note("c", "1")?])
        .await?;
    store.put(&conversation_id, note("a", "2")?).await?;
    let batch = Batch::new()
        .delete(RecordKind::Memory, "b")
        .put(note("d", "1")?);
    store
        .apply(&conversation_id, batch.fencing_token(9))
        .await?;
    // Neither changes a record.
    store.apply(&conversation_id, Batch::new()).await?;
    store
        .delete(&conversation_id, RecordKind::Memory, "none")
        .await?;
    store
        .delete(&conversation_id, RecordKind::Memory, "c")
        .await?;
    store.put(&conversation_id, note("c", "2")?).await?;
    for (revision, promised) in (0..).zip([
        lists(&["a", "d", "c"], &["b"]),
        lists(&["a", "d", "c"], &["b"]),
        lists(&["a", "d", "c"], &["b"]),
        lists(&["d", "c"], &["b"]),
        lists(&["c"], &[]),
        lists(&["c"], &[]),
        lists(&["c"], &[]),
        lists(&["c"], &[]),
        lists(&[], &[]),
    ]) {
        let found = seen(&*store, &conversation_id, revision).await?;
        same(&format!("changes since {revision}"), found, promised)?;
    }
    // Positions are those of a load.
    let Changes::Since { put, .. } = store.changed(&conversation_id, Revision(0)).await? else {
        return Err(Broken("the first changes are unknown".to_owned()));
    };
    let places = put.records.iter().map(|stored| stored.position);
    let loaded = store.load(&conversation_id, &Query::all()).await?;
    let promised = loaded.records.iter().map(|stored| stored.position);
    same("positions", places.collect::<Vec<_>>(), promised.collect())?;
    // Of all kinds.
    let before = put.revision.0;
    for kind in RecordKind::ALL {
        store.put(&conversation_id, of_kind(*kind, "one")?).await?;
    }
    for kind in RecordKind::ALL {
        store.delete(&conversation_id, *kind, "one").await?;
    }
    let Changes::Since { put, deleted } = store.changed(&conversation_id, Revision(before)).await?
    else {
        return Err(Broken("changes of all kinds are unknown".to_owned()));
    };
    same("records", put.records.len(), 0)?;
    let promised = RecordKind::ALL.iter().map(|kind| (*kind, "one".to_owned()));
    let mut promised: Vec<_> = promised.collect();
    promised.sort_unstable();
    same("deleted records of all kinds", deleted, promised)
}

pub(super) async fn unknown(store: Arc<dyn Store>) -> Outcome {
    let conversation_id = ConversationId::new("s");
    for since in [1, u64::MAX >> 1, u64::MAX] {
        let found = seen(&*store, &conversation_id, since).await?;
        same("changes since a revision of nothing", found, None)?;
    }
    store.put(&conversation_id, note("a", "x")?).await?;
    let found = seen(&*store, &conversation_id, 2).await?;
    same("changes since a later revision", found, None)?;
    // Emptied, and written again.
    store
        .delete(&conversation_id, RecordKind::Memory, "a")
        .await?;
    for since in [0, 1] {
        let found = seen(&*store, &conversation_id, since).await?;
        same("changes since before it was emptied", found, None)?;
    }
    let found = seen(&*store, &conversation_id, 2).await?;
    same("changes since it was emptied", found, lists(&[], &[]))?;
    store.put(&conversation_id, note("b", "x")?).await?;
    let found = seen(&*store, &conversation_id, 1).await?;
    same("changes since before it was emptied", found, None)?;
    let found = seen(&*store, &conversation_id, 2).await?;
    same("changes since it was emptied", found, lists(&["b"], &[]))
}

pub(super) async fn many_deletions(store: Arc<dyn Store>) -> Outcome {
    let conversation_id = ConversationId::new("s");
    let id = |n: usize| format!("n-{n:04}");
    let count = KEPT_DELETIONS + 20;
    let mut batch = Batch::new().put(note("stays", "x")?);
    for n in 0..count {
        batch = batch.put(note(&id(n), "x")?);
    }
    store.apply(&conversation_id, batch).await?;
    for n in 0..count {
        store
            .delete(&conversation_id, RecordKind::Memory, &id(n))
            .await?;
    }
    // Revision 1 has all of them, and each deletion is one more.
    for deleted in [0, 1, KEPT_DELETIONS - 1, KEPT_DELETIONS, count - 1, count] {
        let since = 1 + (count - deleted) as u64;
        let found = seen(&*store, &conversation_id, since).await?;
        if found.is_none() && deleted > KEPT_DELETIONS {
            continue;
        }
        let promised: Vec<String> = (count - deleted..count).map(id).collect();
        same("deletions", found, Some((vec![], promised)))?;
    }
    Ok(())
}
