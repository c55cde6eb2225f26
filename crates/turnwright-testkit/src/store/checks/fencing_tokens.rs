//! Fencing tokens.

use turnwright_core::record::RecordKind;
use turnwright_core::store::{Batch, Revision};

use crate::store::chat::Chat;
use crate::store::outcome::{Outcome, same};
use crate::store::sample::note;

pub(super) async fn lower(chat: Chat) -> Outcome {
    let batch = Batch::new().put(note("a", "x")?).fencing_token(7);
    chat.apply(batch).await?;
    for own in [0, 1, 6] {
        let late = Batch::new().put(note("b", "x")?);
        let late = late.delete(RecordKind::Memory, "a").fencing_token(own);
        chat.fences(late, 7).await?;
    }
    chat.has_ids("ids after rejected batches", ["a"]).await?;
    let revision = chat.all().await?.revision;
    same("revision after rejected batches", revision, Revision(1))
}

pub(super) async fn others(chat: Chat) -> Outcome {
    for (n, fencing_token) in (1..).zip([Some(0), Some(3), Some(3), None, Some(4), None]) {
        let mut batch = Batch::new().put(note("a", "x")?);
        batch.fencing_token = fencing_token;
        chat.applies(batch, n).await?;
    }
    // A batch without a token does not reset it.
    chat.fences(Batch::new().fencing_token(3), 4).await
}

pub(super) async fn rejected(chat: Chat) -> Outcome {
    chat.apply(Batch::new().fencing_token(2)).await?;
    let both = Batch::new().fencing_token(1).expect(Revision(9));
    chat.fences(both, 2).await?;
    let conflict = Batch::new().put(note("a", "x")?).fencing_token(8);
    chat.conflicts(conflict.expect(Revision(9)), 1).await?;
    // The batch was rejected, so fencing token 8 was not stored.
    chat.applies(Batch::new().fencing_token(2), 2).await
}

pub(super) async fn by_empty_batch(chat: Chat) -> Outcome {
    // The maximum of a signed 64-bit number, which is what databases can store.
    let high = u64::try_from(i64::MAX).unwrap_or_default();
    for fencing_token in [1, 1 << 40, high] {
        let batch = Batch::new().fencing_token(fencing_token);
        chat.apply(batch).await?;
        let late = Batch::new().put(note("a", "x")?);
        chat.fences(late.fencing_token(fencing_token - 1), fencing_token)
            .await?;
    }
    Ok(())
}

pub(super) async fn conversations_apart(chat: Chat) -> Outcome {
    let other = chat.other("other");
    chat.apply(Batch::new().fencing_token(9)).await?;
    other.apply(Batch::new().fencing_token(1)).await?;
    other.note("x", "x").await?;
    chat.fences(Batch::new().fencing_token(8), 9).await
}
