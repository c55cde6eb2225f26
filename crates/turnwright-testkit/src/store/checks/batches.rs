//! Batch ids: a batch is applied once.

use turnwright_core::record::RecordKind;
use turnwright_core::store::{Batch, BatchId, Revision, Store as _, StoreExt as _};

use super::races::{join, on_thread};
use crate::store::chat::Chat;
use crate::store::failing::{Fail, FailingStore};
use crate::store::outcome::{Outcome, ensure, same};
use crate::store::sample::note;

pub(super) async fn applied_again(chat: Chat) -> Outcome {
    let first = Batch::new().put(note("a", "1")?).fencing_token(3);
    let last = Batch::new().put(note("b", "1")?).put(note("b", "2")?);
    let batches = [
        first.expect(Revision(0)),
        Batch::new().delete(RecordKind::Memory, "a"),
        Batch::new(),
        last.fencing_token(4),
    ];
    for (n, batch) in (1..).zip(&batches) {
        for _ in 0..2 {
            chat.applies(batch.clone(), n).await?;
        }
    }
    let revision = chat.note("b", "3").await?;
    // Also after everything that they expected has changed.
    for (n, batch) in (1..).zip(&batches) {
        chat.applies(batch.clone(), n).await?;
    }
    is_at(&chat, revision, 4).await?;
    chat.has_texts("texts", ["3"]).await?;
    // Also the batch that emptied a conversation.
    let last = Batch::new().delete(RecordKind::Memory, "b");
    let revision = chat.apply(last.clone()).await?;
    chat.applies(last, revision.0).await
}

/// Asserts that the conversation has one record, this revision and this fencing token.
async fn is_at(chat: &Chat, revision: Revision, fencing_token: u64) -> Outcome {
    let loaded = chat.all().await?;
    let found = (loaded.revision, loaded.fencing_token, loaded.records.len());
    same("the conversation", found, (revision, fencing_token, 1))
}

pub(super) async fn rejected_first(chat: Chat) -> Outcome {
    let batch = Batch::new().put(note("a", "x")?).expect(Revision(1));
    chat.conflicts(batch.clone(), 0).await?;
    chat.apply(Batch::new()).await?;
    chat.applies(batch, 2).await?;
    chat.has_ids("ids", ["a"]).await
}

pub(super) async fn reused(chat: Chat) -> Outcome {
    let with_id = || Batch::new().id(BatchId(7));
    let a = with_id().put(note("a", "x")?);
    let batch = a.clone().fencing_token(1);
    chat.apply(batch.clone()).await?;
    for other in [
        with_id(),
        with_id().put(note("b", "x")?).fencing_token(1),
        with_id().put(note("a", "y")?).fencing_token(1),
        with_id().delete(RecordKind::Memory, "a").fencing_token(1),
        a.clone().fencing_token(2),
        a.clone().fencing_token(0),
        a.fencing_token(1).expect(Revision(1)),
    ] {
        is_reused(&chat, other).await?;
    }
    is_reused(&chat.other("other"), batch).await?;
    is_at(&chat, Revision(1), 1).await
}

async fn is_reused(chat: &Chat, batch: Batch) -> Outcome {
    let error = chat.rejects(batch.clone()).await?;
    ensure(error.is_batch_id_reused(), || {
        format!("a batch id was used again, {batch:?}: {error:?}")
    })
}

pub(super) async fn at_once(chat: Chat) -> Outcome {
    for round in 1..=20 {
        let batch = Batch::new().put(note(&round.to_string(), "x")?);
        let writers = (0..4).map(|_| {
            let (chat, batch) = (chat.clone(), batch.clone());
            on_thread(async move { chat.applies(batch, round).await })
        });
        join(writers.collect()).await?;
    }
    Ok(())
}

pub(super) async fn lost_answers(chat: Chat) -> Outcome {
    for (n, fail) in (1..).zip([Fail::After, Fail::Before].into_iter().cycle().take(10)) {
        let failing = FailingStore::new(chat.store.clone());
        failing.fail_call(1, fail);
        let batch = Batch::new().put(note(&n.to_string(), "x")?);
        let batch = batch.expect(Revision(n - 1)).fencing_token(n);
        let lost = failing.apply(&chat.id, batch.clone()).await;
        same("whether the reply is lost", lost.is_err(), true)?;
        let applied = failing.apply(&chat.id, batch).await?;
        same("revision", applied, Revision(n))?;
    }
    same("records", chat.store.records(&chat.id).await?.len(), 10)
}
