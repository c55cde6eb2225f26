//! What comes back, and in which order.

use std::sync::Arc;

use turnwright_core::record::RecordKind;
use turnwright_core::store::{
    Batch, ConversationFilter, ConversationId, Position, Query, Revision, Store, StoreExt as _,
};

use crate::store::outcome::{Broken, Outcome, ensure, ids, same, same_record};
use crate::store::sample::{self, note};

pub(super) async fn nothing_at_first(store: Arc<dyn Store>) -> Outcome {
    let loaded = store
        .load(&ConversationId::new("new"), &Query::all())
        .await?;
    same("records", loaded.records.len(), 0)?;
    same("revision", loaded.revision, Revision(0))?;
    let conversation_ids = store.conversations(&ConversationFilter::all()).await?;
    same("conversations, after a load", conversation_ids, vec![])
}

pub(super) async fn written_order(store: Arc<dyn Store>) -> Outcome {
    let conversation_id = ConversationId::new("s");
    let mut written = Vec::new();
    // Ids fall while time passes, and kinds change: neither is the order.
    for batch in (0..5).rev() {
        let mut changes = Batch::new();
        for (n, kind) in RecordKind::ALL.iter().rev().enumerate() {
            let id = format!("{batch}-{n}");
            changes = changes.put(sample::of_kind(*kind, &id)?);
            written.push(id);
        }
        store.apply(&conversation_id, changes).await?;
    }
    same(
        "ids",
        ids(&*store, &conversation_id, &Query::all()).await?,
        written,
    )
}

pub(super) async fn every_kind(store: Arc<dyn Store>) -> Outcome {
    let conversation_id = ConversationId::new("s");
    let written = sample::every_kind()?;
    store.put_all(&conversation_id, written.clone()).await?;
    let found = store.records(&conversation_id).await?;
    same("how many records", found.len(), written.len())?;
    for (found, written) in found.iter().zip(&written) {
        same_record(found, written).await?;
        // Also when asked for alone.
        let alone = store
            .get(&conversation_id, written.kind(), written.id())
            .await?;
        let gone = || Broken(format!("{:?} is not found by its id", written.id()));
        same_record(&alone.ok_or_else(gone)?, written).await?;
    }
    Ok(())
}

async fn places(
    store: &dyn Store,
    conversation_id: &ConversationId,
) -> Result<Vec<(Position, String)>, Broken> {
    let loaded = store.load(conversation_id, &Query::all()).await?;
    let places = loaded.records.iter();
    Ok(places
        .map(|stored| (stored.position, stored.record.id().to_owned()))
        .collect())
}

pub(super) async fn replaced(store: Arc<dyn Store>) -> Outcome {
    let conversation_id = ConversationId::new("s");
    for id in ["a", "b", "c"] {
        store.put(&conversation_id, note(id, "old")?).await?;
    }
    let before = places(&*store, &conversation_id).await?;
    store.put(&conversation_id, note("a", "new")?).await?;
    let both = Batch::new()
        .put(note("b", "newer")?)
        .put(note("b", "newest")?);
    store.apply(&conversation_id, both).await?;
    same("places", places(&*store, &conversation_id).await?, before)?;
    let texts = store.memories(&conversation_id).await?;
    let texts = texts.iter().map(|it| it.text().to_owned()).collect();
    let promised = ["new", "newest", "old"].map(str::to_owned).to_vec();
    same("texts", texts, promised)
}

pub(super) async fn put_again(store: Arc<dyn Store>) -> Outcome {
    let conversation_id = ConversationId::new("s");
    for id in ["a", "b", "c"] {
        store.put(&conversation_id, note(id, "x")?).await?;
    }
    store
        .delete(&conversation_id, RecordKind::Memory, "a")
        .await?;
    let found = ids(&*store, &conversation_id, &Query::all()).await?;
    same("ids after a deletion", found, named(&["b", "c"]))?;
    store.put(&conversation_id, note("a", "y")?).await?;
    let found = ids(&*store, &conversation_id, &Query::all()).await?;
    same("ids after it was put again", found, named(&["b", "c", "a"]))
}

fn named(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

pub(super) async fn positions(store: Arc<dyn Store>) -> Outcome {
    let conversation_id = ConversationId::new("s");
    let mut last = Position(0);
    for round in 0..3 {
        for n in 0..3 {
            let id = format!("{round}-{n}");
            store.put(&conversation_id, note(&id, "x")?).await?;
            let now = places(&*store, &conversation_id).await?;
            let now = now.last().map_or(Position(0), |(place, _)| *place);
            ensure(now > last, || {
                format!("the record {id:?} was put at {now:?}, where {last:?} had been before it")
            })?;
            last = now;
            if n == 1 {
                // The last of all goes, and its place with it.
                store
                    .delete(&conversation_id, RecordKind::Memory, &id)
                    .await?;
            }
        }
        store.delete_conversation(&conversation_id).await?;
    }
    Ok(())
}

pub(super) async fn within_a_batch(store: Arc<dyn Store>) -> Outcome {
    let conversation_id = ConversationId::new("s");
    store
        .put_all(&conversation_id, [note("a", "1")?, note("b", "1")?])
        .await?;
    let batch = Batch::new()
        .put(note("c", "1")?)
        .delete(RecordKind::Memory, "a")
        .put(note("a", "2")?)
        .put(note("d", "1")?)
        .delete(RecordKind::Memory, "d")
        .put(note("b", "2")?);
    store.apply(&conversation_id, batch).await?;
    let found = store.memories(&conversation_id).await?;
    let found: Vec<_> = found
        .iter()
        .map(|it| format!("{}{}", it.id(), it.text()))
        .collect();
    same("ids and texts", found, named(&["b2", "c1", "a2"]))
}

pub(super) async fn deleting_nothing(store: Arc<dyn Store>) -> Outcome {
    let conversation_id = ConversationId::new("s");
    store.put(&conversation_id, note("a", "x")?).await?;
    let batch = Batch::new()
        .delete(RecordKind::Memory, "b")
        .delete(RecordKind::Message, "a")
        .delete(RecordKind::Memory, "")
        .delete(RecordKind::Memory, "%");
    store.apply(&conversation_id, batch).await?;
    let elsewhere = ConversationId::new("never written");
    store.delete(&elsewhere, RecordKind::Memory, "a").await?;
    let found = ids(&*store, &conversation_id, &Query::all()).await?;
    same("ids", found, named(&["a"]))
}

pub(super) async fn kinds_apart(store: Arc<dyn Store>) -> Outcome {
    let conversation_id = ConversationId::new("s");
    for kind in RecordKind::ALL {
        store
            .put(&conversation_id, sample::of_kind(*kind, "one")?)
            .await?;
    }
    store
        .delete(&conversation_id, RecordKind::Message, "one")
        .await?;
    let found = store
        .load(&conversation_id, &Query::all().ids(["one"]))
        .await?;
    let found: Vec<_> = found.into_records().map(|record| record.kind()).collect();
    let kinds = RecordKind::ALL.iter().copied();
    let promised = kinds.filter(|kind| *kind != RecordKind::Message).collect();
    same("kinds of one id", found, promised)
}

pub(super) async fn large_batch(store: Arc<dyn Store>) -> Outcome {
    const MANY: usize = 2_000;
    let conversation_id = ConversationId::new("s");
    let written: Vec<String> = (0..MANY).map(|n| format!("n-{n}")).collect();
    let mut batch = Batch::new();
    for id in &written {
        batch = batch.put(note(id, id)?);
    }
    let long = "long ".repeat(100_000);
    let batch = batch.put(note("long", &long)?);
    same(
        "revision",
        store.apply(&conversation_id, batch).await?,
        Revision(1),
    )?;
    let mut found = store.memories(&conversation_id).await?;
    let last = found.pop().map(|it| it.text().to_owned());
    ensure(last == Some(long), || {
        "a text of 500,000 bytes came back otherwise".to_owned()
    })?;
    let found: Vec<String> = found.iter().map(|it| it.text().to_owned()).collect();
    ensure(found == written, || {
        format!(
            "of {MANY} records {} came back, or in another order",
            found.len()
        )
    })
}

pub(super) async fn all_or_nothing(store: Arc<dyn Store>) -> Outcome {
    let conversation_id = ConversationId::new("s");
    store
        .put_all(&conversation_id, [note("a", "1")?, note("b", "1")?])
        .await?;
    let batch = Batch::new()
        .put(note("a", "2")?)
        .delete(RecordKind::Memory, "b")
        .put(sample::too_large()?)
        .put(note("c", "2")?)
        .fencing_token(7);
    let applied = store.apply(&conversation_id, batch).await;
    let found = ids(&*store, &conversation_id, &Query::all()).await?;
    let revision = store.load(&conversation_id, &Query::all()).await?.revision;
    if applied.is_ok() {
        // A store that keeps the bytes elsewhere may well take it.
        same("ids", found, named(&["a", "large", "c"]))?;
        return same("revision", revision, Revision(2));
    }
    same("ids after what was refused", found, named(&["a", "b"]))?;
    let texts = store.memories(&conversation_id).await?;
    let new = texts.iter().any(|it| it.text() == "2");
    ensure(!new, || "a text of what was refused is there".to_owned())?;
    same("revision after what was refused", revision, Revision(1))?;
    // Nor is its fencing token.
    store
        .apply(&conversation_id, Batch::new().fencing_token(1))
        .await?;
    Ok(())
}
