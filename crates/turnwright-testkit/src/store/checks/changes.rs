//! Changes since a revision.

use turnwright_core::record::RecordKind;
use turnwright_core::store::{
    Batch, Changes, Loaded, MIN_DELETION_HISTORY, Revision, Store as _, StoreExt as _,
};

use crate::store::chat::Chat;
use crate::store::outcome::{Broken, Outcome, same};
use crate::store::sample::{note, of_kind};

type Deleted = Vec<(RecordKind, String)>;

/// Returns the changes since a revision, if they are known.
async fn changes(chat: &Chat, since: u64) -> Result<Option<(Loaded, Deleted)>, Broken> {
    let changed = chat.store.changed(&chat.id, Revision(since)).await?;
    let Changes::Since { put, deleted } = changed else {
        return Ok(None);
    };
    let loaded = chat.all().await?;
    let found = (put.revision, put.fencing_token);
    let promised = (loaded.revision, loaded.fencing_token);
    same("revision and token of changes", found, promised)?;
    Ok(Some((put, deleted)))
}

/// Asserts the ids that were put and deleted since a revision; `None` if the changes are unknown.
async fn changed(chat: &Chat, since: u64, promised: Option<(&[&str], &[&str])>) -> Outcome {
    let found = changes(chat, since).await?;
    let found = found.as_ref().map(|(put, deleted)| {
        let put = put.records.iter().map(|stored| stored.record.id());
        let deleted = deleted.iter().map(|(_, id)| id.as_str());
        (put.collect::<Vec<_>>(), deleted.collect::<Vec<_>>())
    });
    let promised = promised.map(|(put, deleted)| (put.to_vec(), deleted.to_vec()));
    same(&format!("changes since {since}"), found, promised)
}

pub(super) async fn since(chat: Chat) -> Outcome {
    changed(&chat, 0, Some((&[], &[]))).await?;
    chat.note("a", "1").await?;
    chat.notes(&["b", "c"], "1").await?;
    chat.note("a", "2").await?;
    let batch = Batch::new().delete(RecordKind::Memory, "b");
    let batch = batch.put(note("d", "1")?).fencing_token(9);
    chat.apply(batch).await?;
    // Neither changes a record.
    chat.apply(Batch::new()).await?;
    chat.delete("none").await?;
    chat.delete("c").await?;
    chat.note("c", "2").await?;
    for revision in 0..=2 {
        changed(&chat, revision, Some((&["a", "d", "c"], &["b"]))).await?;
    }
    changed(&chat, 3, Some((&["d", "c"], &["b"]))).await?;
    for revision in 4..=7 {
        changed(&chat, revision, Some((&["c"], &[]))).await?;
    }
    changed(&chat, 8, Some((&[], &[]))).await?;
    let unknown = || Broken("changes are unknown".to_owned());
    // Positions are those of a load.
    let (put, _) = changes(&chat, 0).await?.ok_or_else(unknown)?;
    let positions = |loaded: &Loaded| -> Vec<_> {
        loaded
            .records
            .iter()
            .map(|stored| stored.position)
            .collect()
    };
    same("positions", positions(&put), positions(&chat.all().await?))?;
    // For all kinds.
    for kind in RecordKind::ALL {
        chat.put(of_kind(*kind, "one")?).await?;
    }
    for kind in RecordKind::ALL {
        chat.store.delete(&chat.id, *kind, "one").await?;
    }
    let (after, deleted) = changes(&chat, put.revision.0).await?.ok_or_else(unknown)?;
    same("records", after.records.len(), 0)?;
    let promised = RecordKind::ALL.iter().map(|kind| (*kind, "one".to_owned()));
    let mut promised: Vec<_> = promised.collect();
    promised.sort_unstable();
    same("deleted records of all kinds", deleted, promised)
}

pub(super) async fn unknown(chat: Chat) -> Outcome {
    for since in [1, u64::MAX >> 1, u64::MAX] {
        changed(&chat, since, None).await?;
    }
    chat.note("a", "x").await?;
    changed(&chat, 2, None).await?;
    // Emptied, and written again.
    chat.delete("a").await?;
    changed(&chat, 0, None).await?;
    changed(&chat, 1, None).await?;
    changed(&chat, 2, Some((&[], &[]))).await?;
    chat.note("b", "x").await?;
    changed(&chat, 1, None).await?;
    changed(&chat, 2, Some((&["b"], &[]))).await
}

pub(super) async fn many_deletions(chat: Chat) -> Outcome {
    let count = MIN_DELETION_HISTORY + 20;
    let ids: Vec<String> = (0..count).map(|n| format!("n-{n:04}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    chat.notes(&[&["stays"], ids.as_slice()].concat(), "x")
        .await?;
    for id in &ids {
        chat.delete(id).await?;
    }
    // Revision 1 has all of them, and each deletion is one more revision.
    for deleted in [
        0,
        1,
        MIN_DELETION_HISTORY - 1,
        MIN_DELETION_HISTORY,
        count - 1,
        count,
    ] {
        let left = count - deleted;
        let since = 1 + left as u64;
        let promised = ids.get(left..).unwrap_or_default();
        if deleted <= MIN_DELETION_HISTORY || changes(&chat, since).await?.is_some() {
            changed(&chat, since, Some((&[], promised))).await?;
        }
    }
    Ok(())
}
