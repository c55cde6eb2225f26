//! The returned records and their order.

use turnwright_core::record::RecordKind;
use turnwright_core::store::{
    Batch, ConversationFilter, Position, Query, Revision, Store as _, StoreError, StoreExt as _,
};

use crate::store::chat::Chat;
use crate::store::outcome::{Broken, Outcome, ensure, same, same_record};
use crate::store::sample::{self, note};

pub(super) async fn nothing_at_first(chat: Chat) -> Outcome {
    let loaded = chat.all().await?;
    same("records", loaded.records.len(), 0)?;
    same("revision", loaded.revision, Revision(0))?;
    let all = chat.store.conversations(&ConversationFilter::all()).await?;
    same("conversations, after a load", all.len(), 0)
}

pub(super) async fn written_order(chat: Chat) -> Outcome {
    let mut written = Vec::new();
    // Ids decrease while time passes, and kinds change: neither determines the order.
    for batch in (0..5).rev() {
        let mut changes = Batch::new();
        for (n, kind) in RecordKind::ALL.iter().rev().enumerate() {
            let id = format!("{batch}-{n}");
            changes = changes.put(sample::of_kind(*kind, &id)?);
            written.push(id);
        }
        chat.apply(changes).await?;
    }
    same("ids", chat.ids(&Query::all()).await?, written)
}

pub(super) async fn every_kind(chat: Chat) -> Outcome {
    let written = sample::every_kind()?;
    chat.store.put_all(&chat.id, written.clone()).await?;
    let found = chat.store.records(&chat.id).await?;
    same("how many records", found.len(), written.len())?;
    for (found, written) in found.iter().zip(&written) {
        same_record(found, written).await?;
        // Also when requested alone.
        let alone = chat.get(written.kind(), written.id()).await?;
        let missing = || Broken(format!("{:?} is not found by its id", written.id()));
        same_record(&alone.ok_or_else(missing)?, written).await?;
    }
    Ok(())
}

async fn places(chat: &Chat) -> Result<Vec<(Position, String)>, StoreError> {
    let all = chat.all().await?.records;
    let places = all
        .iter()
        .map(|stored| (stored.position, stored.record.id().to_owned()));
    Ok(places.collect())
}

pub(super) async fn replaced(chat: Chat) -> Outcome {
    for id in ["a", "b", "c"] {
        chat.note(id, "old").await?;
    }
    let before = places(&chat).await?;
    chat.note("a", "new").await?;
    let both = Batch::new().put(note("b", "newer")?);
    chat.apply(both.put(note("b", "newest")?)).await?;
    same("places", places(&chat).await?, before)?;
    chat.has_texts("texts", ["new", "newest", "old"]).await
}

pub(super) async fn put_again(chat: Chat) -> Outcome {
    for id in ["a", "b", "c"] {
        chat.note(id, "x").await?;
    }
    chat.delete("a").await?;
    chat.has_ids("ids after a deletion", ["b", "c"]).await?;
    chat.note("a", "y").await?;
    chat.has_ids("ids after it was put again", ["b", "c", "a"])
        .await
}

pub(super) async fn positions(chat: Chat) -> Outcome {
    let mut last = Position(0);
    for round in 0..3 {
        for n in 0..3 {
            let id = format!("{round}-{n}");
            chat.note(&id, "x").await?;
            let now = places(&chat).await?;
            let now = now.last().map_or(Position(0), |(place, _)| *place);
            ensure(now > last, || {
                format!("the record {id:?} was put at {now:?}, but {last:?} was used before")
            })?;
            last = now;
            if n == 1 {
                // The last of all is deleted, with its position.
                chat.delete(&id).await?;
            }
        }
        chat.store.delete_conversation(&chat.id).await?;
    }
    Ok(())
}

pub(super) async fn within_a_batch(chat: Chat) -> Outcome {
    chat.notes(&["a", "b"], "1").await?;
    let batch = Batch::new()
        .put(note("c", "c1")?)
        .delete(RecordKind::Memory, "a")
        .put(note("a", "a2")?)
        .put(note("d", "d1")?)
        .delete(RecordKind::Memory, "d")
        .put(note("b", "b2")?);
    chat.apply(batch).await?;
    chat.has_ids("ids", ["b", "c", "a"]).await?;
    chat.has_texts("texts", ["b2", "c1", "a2"]).await
}

pub(super) async fn deleting_nothing(chat: Chat) -> Outcome {
    chat.note("a", "x").await?;
    let batch = Batch::new()
        .delete(RecordKind::Memory, "b")
        .delete(RecordKind::Message, "a")
        .delete(RecordKind::Memory, "")
        .delete(RecordKind::Memory, "%");
    chat.apply(batch).await?;
    chat.other("never written").delete("a").await?;
    chat.has_ids("ids", ["a"]).await
}

pub(super) async fn kinds_apart(chat: Chat) -> Outcome {
    for kind in RecordKind::ALL {
        chat.put(sample::of_kind(*kind, "one")?).await?;
    }
    let batch = Batch::new().delete(RecordKind::Message, "one");
    chat.apply(batch).await?;
    let found = chat.load(&Query::all().ids(["one"])).await?;
    let found: Vec<_> = found.into_records().map(|record| record.kind()).collect();
    let kinds = RecordKind::ALL.iter().copied();
    let promised = kinds.filter(|kind| *kind != RecordKind::Message);
    same("kinds of one id", found, promised.collect::<Vec<_>>())
}

pub(super) async fn large_batch(chat: Chat) -> Outcome {
    const MANY: usize = 2_000;
    let mut written: Vec<String> = (0..MANY).map(|n| format!("n-{n}")).collect();
    written.push("long ".repeat(100_000));
    let mut batch = Batch::new();
    for (n, text) in written.iter().enumerate() {
        batch = batch.put(note(&n.to_string(), text)?);
    }
    chat.applies(batch, 1).await?;
    let found = chat.texts().await?;
    ensure(found == written, || {
        let count = found.len();
        format!("of {MANY} records and a long one {count} were returned, or in another order")
    })
}

pub(super) async fn all_or_nothing(chat: Chat) -> Outcome {
    chat.notes(&["a", "b"], "1").await?;
    let batch = Batch::new()
        .put(note("a", "2")?)
        .delete(RecordKind::Memory, "b")
        .put(sample::too_large()?)
        .put(note("c", "2")?)
        .fencing_token(7);
    let applied = chat.apply(batch).await;
    let revision = chat.all().await?.revision;
    if applied.is_ok() {
        // A store that keeps the bytes elsewhere may accept it.
        chat.has_ids("ids", ["a", "large", "c"]).await?;
        return same("revision", revision, Revision(2));
    }
    chat.has_ids("ids after a rejected batch", ["a", "b"])
        .await?;
    chat.has_texts("texts after a rejected batch", ["1", "1"])
        .await?;
    same("revision after a rejected batch", revision, Revision(1))?;
    // Nor is its fencing token stored.
    chat.applies(Batch::new().fencing_token(1), 2).await
}
