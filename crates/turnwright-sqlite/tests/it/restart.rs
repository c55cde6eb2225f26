//! Stored data is read after a restart: results of any size, and media.

use async_trait::async_trait;
use std::sync::Arc;
use turnwright_core::store::{
    Batch, Changes, ConversationFilter, FoundConversation, FoundTurn, Loaded, Revision, StoreError,
    TurnFilter,
};

use serde_json::{Value, json};
use turnwright_core::media::{Media, MediaKind};
use turnwright_core::record::{Record, RecordKind};
use turnwright_core::spool::{DiskSpool, MemoryReader, MemorySpool};
use turnwright_core::store::{ConversationId, Query, Store, StoreExt as _};
use turnwright_core::trust::ConversationSecret;
use turnwright_core::{
    BoxError, DispatchContext, ErrorCode, Storage, Tool, ToolContext, ToolOutput, TurnInput,
    TurnRunner,
};
use turnwright_sqlite::SqliteStore;
use turnwright_testkit::store::storage_of;

use crate::folder::Folder;

/// Calls each tool that its input names, then answers.
async fn model(ctx: DispatchContext) -> Result<(), BoxError> {
    let asked = ctx.input().map(|message| message.text().to_owned());
    for tool in asked.unwrap_or_default().split_whitespace() {
        ctx.call(tool, "{}").await;
    }
    ctx.answer("Done.").await?;
    Ok(())
}

fn returns(name: &str, output: fn() -> ToolOutput) -> Tool {
    Tool::dynamic(name, json!({ "type": "object" }))
        .description("Returns something.")
        .handler(move |_: Value, _: ToolContext| async move { output() })
        .build()
        .unwrap()
}

fn picture(name: &str, bytes: &'static [u8]) -> Media {
    let reader = MemoryReader::new(bytes);
    Media::user_attachment(MediaKind::Image, "image/png", name, reader)
        .build()
        .unwrap()
}

fn runner(store: impl Store + 'static) -> TurnRunner {
    turnwright_core::runner(model)
        .storage(storage_of(store))
        .tool(returns("small", || ToolOutput::text("twelve bytes")))
        .tool(returns("large", || ToolOutput::text("x".repeat(100_000))))
        .tool(returns("draw", || {
            ToolOutput::media([picture("drawn.png", b"drawn")])
        }))
        .build()
        .unwrap()
}

async fn run(folder: &Folder, text: &str, media: Vec<Media>) {
    let store = SqliteStore::open(folder.file()).await.unwrap();
    let input = TurnInput::new(text).conversation("chat");
    let input = media.into_iter().fold(input, TurnInput::media);
    let outcome = runner(store.clone()).run(input).await;
    assert!(outcome.is_answered(), "{outcome:?}");
    store.close().await.unwrap();
}

fn results(folder: &Folder) -> std::path::PathBuf {
    folder.path().join("chat.db.results")
}

#[tokio::test]
async fn results_are_read_after_a_restart_through_the_store_spool() {
    let folder = Folder::new();
    run(&folder, "small small", Vec::new()).await;
    assert!(!results(&folder).exists(), "small results need no file");
    run(&folder, "large", Vec::new()).await;

    let store = SqliteStore::open(folder.file()).await.unwrap();
    let calls = store
        .tool_calls(&ConversationId::new("chat"))
        .await
        .unwrap();
    let mut texts = Vec::new();
    for call in &calls {
        texts.push(call.text().await.unwrap());
    }
    assert_eq!(
        texts,
        ["twelve bytes", "twelve bytes", &"x".repeat(100_000)]
    );
    assert_eq!(
        calls
            .iter()
            .map(|call| call.is_inline())
            .collect::<Vec<_>>(),
        [true, true, false]
    );
    let deleted = store
        .delete_conversation(&ConversationId::new("chat"))
        .await
        .unwrap();
    assert_eq!(deleted.spooled, 1);
    assert!(store.spool().unwrap().list().await.unwrap().is_empty());
}

#[tokio::test]
async fn media_is_read_after_a_restart_and_deleted_with_its_conversation() {
    let folder = Folder::new();
    let (conversation_id, other) = (ConversationId::new("chat"), ConversationId::new("other"));
    run(&folder, "draw", vec![picture("attached.png", b"attached")]).await;

    let store = SqliteStore::open(folder.file()).await.unwrap();
    let query = Query::all()
        .kind(RecordKind::Message)
        .kind(RecordKind::ToolCall);
    let records = store.load(&conversation_id, &query).await.unwrap();
    let records: Vec<Record> = records.into_records().collect();
    let mut found = Vec::new();
    for media in records.iter().flat_map(Record::media) {
        found.push((media.filename().to_owned(), media.bytes().await.unwrap()));
    }
    found.sort();
    let expected = [("attached.png", "attached"), ("drawn.png", "drawn")];
    assert_eq!(
        found,
        expected.map(|(name, bytes)| (name.to_owned(), bytes.into()))
    );
    let spool = store.spool().unwrap();
    assert_eq!(spool.list().await.unwrap().len(), 2);

    // The conversation continues, and spooled bytes are not stored twice.
    run(&folder, "small", Vec::new()).await;
    assert_eq!(spool.list().await.unwrap().len(), 2);
    // Bytes that another conversation references are kept.
    let message = records
        .iter()
        .find(|entry| entry.kind() == RecordKind::Message);
    store.put(&other, message.unwrap().clone()).await.unwrap();
    assert_eq!(
        store
            .delete_conversation(&conversation_id)
            .await
            .unwrap()
            .spooled,
        1
    );
    let stored = store.messages(&other).await.unwrap();
    assert_eq!(stored[0].media()[0].bytes().await.unwrap(), "attached");
    assert_eq!(store.delete_conversation(&other).await.unwrap().spooled, 1);
    assert!(spool.list().await.unwrap().is_empty());
}

#[tokio::test]
async fn spooled_media_is_deleted_with_its_last_reference() {
    let folder = Folder::new();
    run(&folder, "small", vec![picture("a.png", &[0; 50_000])]).await;
    let store = SqliteStore::open(folder.file()).await.unwrap();
    let conversation_id = ConversationId::new("chat");
    assert_eq!(
        store
            .delete_orphans(std::time::Duration::ZERO)
            .await
            .unwrap()
            .deleted,
        0
    );
    let message = store.messages(&conversation_id).await.unwrap().remove(0);
    store
        .delete(&conversation_id, RecordKind::Message, message.id())
        .await
        .unwrap();
    assert_eq!(
        store
            .delete_orphans(std::time::Duration::ZERO)
            .await
            .unwrap()
            .deleted,
        1
    );
}

/// Leaves the spool to the runner.
struct WithoutSpool(SqliteStore);

#[async_trait]
impl Store for WithoutSpool {
    fn spool(&self) -> Option<Arc<dyn turnwright_core::spool::Spool>> {
        None
    }

    async fn apply(
        &self,
        conversation: &ConversationId,
        batch: Batch,
    ) -> Result<Revision, StoreError> {
        self.0.apply(conversation, batch).await
    }

    async fn load(
        &self,
        conversation: &ConversationId,
        query: &Query,
    ) -> Result<Loaded, StoreError> {
        self.0.load(conversation, query).await
    }

    async fn conversations(
        &self,
        filter: &ConversationFilter,
    ) -> Result<Vec<FoundConversation>, StoreError> {
        self.0.conversations(filter).await
    }

    async fn find_turns(&self, filter: &TurnFilter) -> Result<Vec<FoundTurn>, StoreError> {
        self.0.find_turns(filter).await
    }

    async fn changed(
        &self,
        conversation: &ConversationId,
        since: Revision,
    ) -> Result<Changes, StoreError> {
        self.0.changed(conversation, since).await
    }

    async fn wait_for_change(
        &self,
        conversation: &ConversationId,
        since: Revision,
    ) -> Result<(), StoreError> {
        self.0.wait_for_change(conversation, since).await
    }

    fn is_persistent(&self) -> bool {
        self.0.is_persistent()
    }
}

#[tokio::test]
async fn persistent_store_with_transient_spool_is_rejected() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).await.unwrap();
    let disk = || DiskSpool::at(folder.path().join("elsewhere"));
    let in_memory = SqliteStore::builder(folder.path().join("other.db"))
        .spool(Arc::new(MemorySpool::default()))
        .open()
        .await
        .unwrap();
    let secret = || ConversationSecret::from_bytes([7; 32]);
    let memory = || Arc::new(MemorySpool::default());
    let without = || WithoutSpool(store.clone());
    let own = in_memory.spool().unwrap();
    let refused = [
        (
            Storage::new(in_memory, own, secret()),
            "the store is persistent but its spool is not",
        ),
        (
            Storage::new(without(), memory(), secret()),
            "make the store with the same one",
        ),
        (
            Storage::new(store.clone(), Arc::new(disk()), secret()),
            "`store.spool()`",
        ),
    ];
    for (built, why) in refused {
        let error = built.unwrap_err();
        assert_eq!(error.code(), ErrorCode::INVALID_STORAGE);
        assert!(error.message().contains(why), "{error}");
    }
    let built = Storage::new(without(), Arc::new(disk()), secret());
    assert!(built.is_ok());
    let memory = SqliteStore::in_memory().await.unwrap();
    assert!(!memory.storage().await.unwrap().is_persistent());
}

/// The store encodes records, and only its own spool has their results.
#[tokio::test]
async fn in_memory_database_reads_large_results_in_the_next_turn() {
    let store = SqliteStore::in_memory().await.unwrap();
    let input = TurnInput::new("large").conversation("chat");
    assert!(runner(store.clone()).run(input).await.is_answered());
    let calls = store
        .tool_calls(&ConversationId::new("chat"))
        .await
        .unwrap();
    assert_eq!(calls[0].text().await.unwrap(), "x".repeat(100_000));
}
