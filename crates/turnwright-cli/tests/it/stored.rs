//! Reads and changes a database through the store.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use turnwright::SqliteStore;
use turnwright::record::RecordKind;
use turnwright::record::{ByteResolver, Lease, Record};
use turnwright::spool::{DiskSpool, MemorySpool};
use turnwright::store::{ConversationFilter, ConversationId, Store as _, StoreExt as _};

/// Looks into a database.
pub(crate) fn look<T>(file: &Path, look: impl AsyncFnOnce(&SqliteStore) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut results = file.as_os_str().to_owned();
        results.push(".results");
        let spool = DiskSpool::open(results).await.unwrap();
        let store = SqliteStore::builder(file).spool(Arc::new(spool));
        let store = store.open().await.unwrap();
        let seen = look(&store).await;
        store.close().await.unwrap();
        seen
    })
}

/// The conversations in it.
pub(crate) fn conversations(file: &Path) -> Vec<String> {
    look(file, async |store| {
        let conversation_ids = store
            .conversations(&ConversationFilter::all())
            .await
            .unwrap();
        let ids = conversation_ids.iter().map(|found| found.id.to_string());
        ids.collect()
    })
}

/// The records of a conversation, as JSON.
pub(crate) fn records(file: &Path, conversation: &str) -> Vec<Value> {
    look(file, async |store| {
        let records = store
            .records(&ConversationId::new(conversation))
            .await
            .unwrap();
        records
            .iter()
            .map(|item| item.to_value().unwrap())
            .collect()
    })
}

/// What was said in a conversation.
pub(crate) fn messages_of(file: &Path, conversation: &str) -> Vec<String> {
    let messages = records(file, conversation);
    let messages = messages.iter().filter(|item| item["kind"] == "message");
    messages
        .map(|item| item["text"].as_str().unwrap().to_owned())
        .collect()
}

/// Puts a record that this describes.
pub(crate) fn put(file: &Path, conversation: &str, value: &Value) {
    let reopen = ByteResolver::new(Arc::new(MemorySpool::default()));
    let kind = RecordKind::from_name(value["kind"].as_str().unwrap()).unwrap();
    let record = Record::from_value(kind, value, &reopen).unwrap();
    look(file, async |store| {
        store
            .put(&ConversationId::new(conversation), record)
            .await
            .unwrap();
    });
}

/// Changes how long a conversation is held: until when by its holder's clock, and how long its lease lasts without a
/// renewal.
pub(crate) fn hold_until(file: &Path, conversation: &str, until: &str, term_ms: u64) {
    let mut lease = records(file, conversation)
        .into_iter()
        .find(|item| item["kind"] == "lease" && item["id"] == Lease::ID)
        .unwrap();
    lease["until"] = until.into();
    lease["termMs"] = term_ms.into();
    put(file, conversation, &lease);
}

/// A time that no lease is over by, and that one may last to.
pub(crate) fn in_half_an_hour() -> String {
    let at = std::time::SystemTime::now() + std::time::Duration::from_secs(30 * 60);
    let note = turnwright::record::Memory::new("a").created_at(at);
    let note = Record::from(note.build().unwrap()).to_value().unwrap();
    note["createdAt"].as_str().unwrap().to_owned()
}

/// Makes the turns of a conversation unreadable, as another program would that knows how they are checked.
pub(crate) fn spoil(file: &Path, conversation: &str) {
    let body = r#"{"v":1,"kind":"turn"}"#;
    let database = rusqlite::Connection::open(file).unwrap();
    let spoiled = database.execute(
        "UPDATE records SET body = ?1, checksum = ?2, bytes = ?3
         WHERE kind = 'turn' AND conversation = (SELECT conversation FROM conversations WHERE conversation_id = ?4)",
        rusqlite::params![
            body,
            crc32fast::hash(body.as_bytes()),
            body.len(),
            conversation
        ],
    );
    assert_eq!(spoiled.unwrap(), 1);
}

/// Damages the text of the records that this condition names, as a failing disk would.
pub(crate) fn damage(file: &Path, condition: &str) {
    let database = rusqlite::Connection::open(file).unwrap();
    let damage =
        format!("UPDATE records SET body = replace(body, '\"v\"', '\"w\"') WHERE {condition}");
    assert_eq!(database.execute(&damage, []).unwrap(), 1);
}
