//! Deletion of a conversation, including its bytes.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use turnwright_core::artifact::{ArtifactKind, SpooledArtifact};
use turnwright_core::media::{Media, MediaKind};
use turnwright_core::record::{Message, Record, Retrievable, ToolCall, ToolResults};
use turnwright_core::spool::Body;
use turnwright_core::spool::{ByteReader, DiskSpool, MemoryReader, MemorySpool, Spool};
use turnwright_core::store::{
    Batch, ConversationFilter, ConversationId, Query, Revision, Store as _, StoreExt as _,
};
use turnwright_core::trust::TrustTier;
use turnwright_sqlite::{SqliteErrorKind, SqliteStore};

use crate::folder::Folder;
use crate::{kind, note};

/// Returns a call whose result is in the spool.
pub(crate) async fn call(spool: &dyn Spool, id: &str, spool_id: &str, text: &str) -> Record {
    let body = Body::Text(text.to_owned());
    let artifact = SpooledArtifact::write(spool, spool_id, body, ArtifactKind::TEXT)
        .await
        .unwrap();
    let call = ToolCall::builder("look", "{}").id(id);
    call.results(ToolResults::Artifacts(vec![artifact]))
        .build()
        .unwrap()
        .into()
}

pub(crate) async fn sorted(spool: &dyn Spool) -> Vec<String> {
    let mut ids = spool.list().await.unwrap();
    ids.sort();
    ids
}

pub(crate) async fn with_spool(folder: &Folder, spool: Arc<dyn Spool>) -> SqliteStore {
    SqliteStore::builder(folder.file())
        .spool(spool)
        .open()
        .await
        .unwrap()
}

#[tokio::test]
async fn deleting_a_conversation_deletes_only_its_own_bytes() {
    let folder = Folder::new();
    let spool: Arc<dyn Spool> = Arc::new(
        DiskSpool::open(folder.path().join("results"))
            .await
            .unwrap(),
    );
    let store = with_spool(&folder, Arc::clone(&spool)).await;
    let (one, other) = (ConversationId::new("one"), ConversationId::new("other"));
    let own = call(&*spool, "c-1", "own", "twelve bytes").await;
    let shared = call(&*spool, "c-2", "shared", "both name it").await;
    let artifact = own.artifacts()[0].clone();
    let again = Retrievable::artifact(artifact, TrustTier::FirstParty)
        .id("r")
        .build()
        .unwrap();
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
    let batch = Batch::new()
        .put(own)
        .put(shared.clone())
        .put(again)
        .put(message)
        .fencing_token(3);
    store.apply(&one, batch).await.unwrap();
    store.put(&other, shared).await.unwrap();
    assert_eq!(sorted(&*spool).await.len(), 3);

    // Loaded records read their bytes there.
    let loaded = store.tool_calls(&other).await.unwrap();
    let ToolResults::Artifacts(artifacts) = loaded[0].results() else {
        panic!()
    };
    assert_eq!(&artifacts[0].as_bytes().await.unwrap()[..], b"both name it");

    let deleted = store.delete_conversation(&one).await.unwrap();
    assert_eq!((deleted.records, deleted.spooled), (4, 2));
    assert_eq!(sorted(&*spool).await, ["shared"]);
    let left = store.conversations(&ConversationFilter::all()).await;
    let left: Vec<_> = left.unwrap().into_iter().map(|found| found.id).collect();
    assert_eq!(left, std::slice::from_ref(&other));
    store.integrity_check().await.unwrap();

    // A stale writer still fails, and positions continue.
    assert_eq!(
        store
            .apply(&one, Batch::new().fencing_token(2))
            .await
            .unwrap_err()
            .fenced_by(),
        Some(4)
    );
    let stale = store
        .apply(&one, Batch::new().expect(Revision(1)))
        .await
        .unwrap_err();
    assert_eq!(stale.found_revision(), Some(Revision(2)));
    store.put(&one, note("n", "new")).await.unwrap();
    let loaded = store.load(&one, &Query::all()).await.unwrap();
    assert_eq!(
        (loaded.revision, loaded.records[0].position.0),
        (Revision(3), 5)
    );

    store.delete_conversation(&other).await.unwrap();
    assert!(sorted(&*spool).await.is_empty());
    assert_eq!(
        store.delete_orphans(Duration::ZERO).await.unwrap().deleted,
        0
    );
    // Deleting a missing conversation succeeds and changes nothing.
    assert_eq!(
        store
            .delete_conversation(&ConversationId::new("never"))
            .await
            .unwrap()
            .records,
        0
    );
}

#[tokio::test]
async fn file_shrinks_and_contains_no_deleted_data() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).await.unwrap();
    let conversation_id = ConversationId::new("chat");
    let text = "a secret that must be gone ".repeat(100);
    store
        .put(&ConversationId::new("other"), note("a", "stays"))
        .await
        .unwrap();
    for n in 0..20 {
        let records = (0..50).map(|m| note(&format!("{n}-{m}"), &text));
        store.put_all(&conversation_id, records).await.unwrap();
    }
    let before = {
        let other = rusqlite::Connection::open(folder.file()).unwrap();
        other
            .query_row("PRAGMA page_count", [], |row| row.get::<_, u64>(0))
            .unwrap()
            * 4096
    };
    store.delete_conversation(&conversation_id).await.unwrap();
    let after = fs::metadata(folder.file()).unwrap().len();
    assert!(before > 3_000_000 && after < 200_000, "{before} → {after}");
    for name in ["chat.db", "chat.db-wal"] {
        let bytes = fs::read(folder.path().join(name)).unwrap();
        assert!(
            !bytes
                .windows(24)
                .any(|entry| entry == b"a secret that must be go"),
            "{name}"
        );
    }
    assert_eq!(
        store
            .records(&ConversationId::new("other"))
            .await
            .unwrap()
            .len(),
        1
    );
    store.integrity_check().await.unwrap();
}

#[tokio::test]
async fn deletion_reports_concurrent_readers() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).await.unwrap();
    let conversation_id = ConversationId::new("chat");
    store
        .put(&conversation_id, note("a", "a secret"))
        .await
        .unwrap();
    let reader = rusqlite::Connection::open(folder.file()).unwrap();
    reader
        .execute_batch("BEGIN; SELECT * FROM records")
        .unwrap();
    let deleted = store.delete_conversation(&conversation_id).await.unwrap();
    assert_eq!((deleted.records, deleted.still_read), (1, true));
    reader.execute_batch("COMMIT").unwrap();
    let deleted = store.delete_conversation(&conversation_id).await.unwrap();
    assert_eq!((deleted.records, deleted.still_read), (0, false));
    for name in ["chat.db", "chat.db-wal"] {
        let bytes = fs::read(folder.path().join(name)).unwrap();
        assert!(
            !bytes.windows(8).any(|entry| entry == b"a secret"),
            "{name}"
        );
    }
}

#[tokio::test]
async fn conversation_with_spooled_bytes_is_not_deleted_without_the_spool() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).await.unwrap();
    let (spool, conversation_id) = (MemorySpool::default(), ConversationId::new("chat"));
    store
        .put(&conversation_id, call(&spool, "c", "result", "x").await)
        .await
        .unwrap();
    let error = store
        .delete_conversation(&conversation_id)
        .await
        .unwrap_err();
    assert_eq!(kind(&error), SqliteErrorKind::Invalid);
    assert_eq!(store.records(&conversation_id).await.unwrap().len(), 1);
    assert_eq!(
        store.delete_orphans(Duration::ZERO).await.unwrap().deleted,
        0
    );
}

/// A spool that deletes nothing, as if the process had ended before.
struct Stuck(MemorySpool);

#[async_trait]
impl Spool for Stuck {
    async fn put(&self, id: &str, content: Body) -> std::io::Result<Arc<dyn ByteReader>> {
        self.0.put(id, content).await
    }
    async fn open(&self, id: &str) -> std::io::Result<Option<Arc<dyn ByteReader>>> {
        self.0.open(id).await
    }
    async fn delete(&self, _: &str) -> std::io::Result<bool> {
        Err(std::io::Error::other("stuck"))
    }
    async fn list(&self) -> std::io::Result<Vec<String>> {
        self.0.list().await
    }
    fn can_reopen(&self) -> bool {
        self.0.can_reopen()
    }

    fn is_persistent(&self) -> bool {
        self.0.is_persistent()
    }
}

#[tokio::test]
async fn bytes_that_could_not_be_deleted_are_deleted_as_orphans() {
    let folder = Folder::new();
    let (spool, conversation_id) = (MemorySpool::default(), ConversationId::new("chat"));
    let store = with_spool(&folder, Arc::new(Stuck(spool.clone()))).await;
    store
        .put(&conversation_id, call(&spool, "c", "result", "x").await)
        .await
        .unwrap();
    let error = store
        .delete_conversation(&conversation_id)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("1 of their results"), "{error}");
    assert!(store.records(&conversation_id).await.unwrap().is_empty());
    assert!(store.delete_orphans(Duration::ZERO).await.is_err());
    store.close().await.unwrap();

    let store = with_spool(&folder, Arc::new(spool.clone())).await;
    spool
        .put("new", Body::Text("of a turn that runs".into()))
        .await
        .unwrap();
    let swept = store.delete_orphans(Duration::MAX).await.unwrap();
    assert_eq!((swept.deleted, swept.waiting), (1, 1));
    assert_eq!(sorted(&spool).await, ["new"]);
}
