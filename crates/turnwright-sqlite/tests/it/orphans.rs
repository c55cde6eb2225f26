//! Bytes without a reference.

use std::sync::Arc;
use std::time::Duration;

use turnwright_core::media::{Media, MediaKind};
use turnwright_core::record::{Message, RecordKind};
use turnwright_core::spool::Body;
use turnwright_core::spool::{MemoryReader, MemorySpool, Spool as _};
use turnwright_core::store::{ConversationId, StoreExt as _};
use turnwright_sqlite::SqliteStore;

use crate::deletion::{call, sorted, with_spool};
use crate::folder::Folder;

const HOUR: Duration = Duration::from_secs(3600);

/// Moves all recorded orphans one hour into the past.
fn an_hour_passes(store: &SqliteStore) {
    let conn = rusqlite::Connection::open(store.path().unwrap()).unwrap();
    conn.execute("UPDATE orphans SET since = since - 3600000", [])
        .unwrap();
}

#[tokio::test]
async fn orphans_are_deleted_after_the_grace_period() {
    let folder = Folder::new();
    let (spool, conversation_id) = (MemorySpool::default(), ConversationId::new("chat"));
    let store = with_spool(&folder, Arc::new(spool.clone())).await;
    let named = call(&spool, "c-1", "named", "x").await;
    let replaced = call(&spool, "c-2", "replaced", "x").await;
    let deleted = call(&spool, "c-3", "deleted", "x").await;
    // Its record is not stored yet.
    let late = call(&spool, "c-4", "late", "x").await;
    spool.put("orphan", Body::Text("x".into())).await.unwrap();
    let picture = Media::retrieved_public(
        MediaKind::Image,
        "image/png",
        "a.png",
        MemoryReader::new("px"),
    );
    let picture = picture.build().unwrap();
    spool
        .put(picture.id(), Body::Text("pixels".into()))
        .await
        .unwrap();
    let message = Message::user("Look")
        .media(picture.clone())
        .build()
        .unwrap();
    store
        .put_all(&conversation_id, [named, replaced, deleted, message.into()])
        .await
        .unwrap();
    let other = call(&spool, "c-2", "named", "x").await;
    store.put(&conversation_id, other).await.unwrap();
    store
        .delete(&conversation_id, RecordKind::ToolCall, "c-3")
        .await
        .unwrap();

    let swept = store.delete_orphans(HOUR).await.unwrap();
    assert_eq!((swept.deleted, swept.waiting), (0, 4));
    store.put(&conversation_id, late).await.unwrap();
    an_hour_passes(&store);
    let swept = store.delete_orphans(HOUR).await.unwrap();
    assert_eq!((swept.deleted, swept.waiting), (3, 0));
    let mut left = vec![
        "late".to_owned(),
        "named".to_owned(),
        picture.id().to_owned(),
    ];
    left.sort();
    assert_eq!(sorted(&spool).await, left);
    let swept = store.delete_orphans(Duration::ZERO).await.unwrap();
    assert_eq!((swept.deleted, swept.waiting), (0, 0));
}
