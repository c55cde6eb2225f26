//! Revisions, and batches that expect one.

use turnwright_core::record::RecordKind;
use turnwright_core::store::{Batch, Query, Revision, StoreExt as _};

use crate::store::chat::Chat;
use crate::store::outcome::{Outcome, same};
use crate::store::sample::note;

pub(super) async fn each_batch(chat: Chat) -> Outcome {
    let batches = [
        Batch::new().put(note("a", "1")?),
        Batch::new(),
        Batch::new().put(note("a", "1")?).put(note("b", "1")?),
        Batch::new().delete(RecordKind::Memory, "a"),
        Batch::new().delete(RecordKind::Memory, "a"),
    ];
    for (n, batch) in (1..).zip(batches) {
        chat.applies(batch, n).await?;
    }
    Ok(())
}

pub(super) async fn of_loads(chat: Chat) -> Outcome {
    for (n, fencing_token) in [(1, 0), (2, 7), (3, 7)] {
        let mut batch = Batch::new().put(note("a", "x")?);
        batch.fencing_token = (n == 2).then_some(fencing_token);
        chat.apply(batch).await?;
        let all = Query::all;
        for query in [all(), all().limit(0), all().ids(["none"])] {
            let loaded = chat.load(&query).await?;
            let found = (loaded.revision, loaded.fencing_token);
            let promised = (Revision(n), fencing_token);
            same("revision and fencing token of a load", found, promised)?;
        }
    }
    let other = chat.other("other").all().await?.revision;
    same("revision of another conversation", other, Revision(0))
}

pub(super) async fn conflicts(chat: Chat) -> Outcome {
    let expecting =
        |id, revision| note(id, "1").map(|a| Batch::new().put(a).expect(Revision(revision)));
    for wrong in [1, 7] {
        chat.conflicts(expecting("a", wrong)?, 0).await?;
    }
    chat.applies(expecting("a", 0)?, 1).await?;
    chat.conflicts(expecting("a", 0)?, 1).await?;
    chat.applies(expecting("b", 1)?, 2).await?;
    for wrong in [0, 1, 3] {
        let batch = Batch::new()
            .put(note("a", "2")?)
            .put(note("c", "2")?)
            .delete(RecordKind::Memory, "b")
            .expect(Revision(wrong));
        chat.conflicts(batch, 2).await?;
    }
    chat.has_ids("ids after rejected batches", ["a", "b"])
        .await?;
    chat.has_texts("texts after rejected batches", ["1", "1"])
        .await?;
    let revision = chat.all().await?.revision;
    same("revision after rejected batches", revision, Revision(2))
}

pub(super) async fn emptied(chat: Chat) -> Outcome {
    let batch = Batch::new().put(note("a", "x")?).fencing_token(5);
    chat.apply(batch).await?;
    let revision = chat.store.delete_conversation(&chat.id).await?;
    same("revision", revision, Revision(2))?;
    chat.has_ids("ids", []).await?;
    let revision = chat.all().await?.revision;
    same("revision of an empty conversation", revision, Revision(2))?;
    chat.conflicts(Batch::new().expect(Revision(0)), 2).await?;
    // The deletion took over from the last writer.
    chat.fences(Batch::new().fencing_token(4), 6).await
}
