//! The maximum file size is reached.

use turnwright_core::store::{
    Batch, ConversationFilter, ConversationId, Query, Revision, Store as _,
};
use turnwright_sqlite::{SqliteErrorKind, SqliteStore};

use crate::folder::Folder;
use crate::{kind, note};

pub(crate) fn conversation_id() -> ConversationId {
    ConversationId::new("chat")
}

pub(crate) fn pair(number: u64) -> Batch {
    let text = "x".repeat(2_000);
    Batch::new()
        .put(note(&format!("{number}-a"), &text))
        .put(note(&format!("{number}-b"), &text))
}

/// Asserts that everything acknowledged is stored, in complete batches.
pub(crate) async fn check(store: &SqliteStore, acknowledged: u64) {
    let loaded = store.load(&conversation_id(), &Query::all()).await.unwrap();
    let ids: Vec<&str> = loaded
        .records
        .iter()
        .map(|entry| entry.record.id())
        .collect();
    let promised: Vec<String> = (1..=acknowledged)
        .flat_map(|n| [format!("{n}-a"), format!("{n}-b")])
        .collect();
    assert_eq!(
        (loaded.revision, ids),
        (
            Revision(acknowledged),
            promised.iter().map(String::as_str).collect()
        )
    );
    store.integrity_check().await.unwrap();
}

#[tokio::test]
async fn batch_that_does_not_fit_is_rejected_completely() {
    let folder = Folder::new();
    let bounded = SqliteStore::builder(folder.file()).max_file_bytes(256 * 1024);
    let store = bounded.open().await.unwrap();
    let mut acknowledged = 0;
    let error = loop {
        match store
            .apply(&conversation_id(), pair(acknowledged + 1))
            .await
        {
            Ok(revision) => acknowledged = revision.0,
            Err(error) => break error,
        }
    };
    assert_eq!(kind(&error), SqliteErrorKind::Full);
    assert!(acknowledged > 10);
    check(&store, acknowledged).await;
    // Batches that are committed together do not fail together.
    let large = Batch::new().put(note("large", &"x".repeat(1 << 20)));
    let others: Vec<ConversationId> = (0..4)
        .map(|n| ConversationId::new(format!("other-{n}")))
        .collect();
    let small = |n: usize| store.apply(&others[n], Batch::new());
    let (a, large, b, c) =
        tokio::join!(small(0), store.apply(&others[1], large), small(2), small(3));
    assert_eq!(kind(&large.unwrap_err()), SqliteErrorKind::Full);
    assert_eq!([a, b, c].map(Result::unwrap), [Revision(1); 3]);
    let left = store.conversations(&ConversationFilter::all()).await;
    let left: Vec<_> = left.unwrap().into_iter().map(|found| found.id).collect();
    assert_eq!(left, [conversation_id()]);

    // Continues with more space.
    store.close().await.unwrap();
    let store = SqliteStore::open(folder.file()).await.unwrap();
    let revision = store
        .apply(&conversation_id(), pair(acknowledged + 1))
        .await
        .unwrap();
    check(&store, revision.0).await;
}
