//! What is kept of a conversation, in its file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use turnwright::record::{RecordKind, Reopen};
use turnwright::spool::MemorySpool;
use turnwright::store::{Batch, Revision, Scope, Store as _, StoreExt as _};
use turnwright::{Message, Record};

use super::records::{Records, SCOPE};

struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::SeqCst);
        let name = format!("turnwright-records-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("records.jsonl")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn open(file: &Path) -> Records {
    let reopen = Reopen::new(Arc::new(MemorySpool::default()));
    let read = Records::read(file.to_owned(), &reopen).unwrap();
    read.stored().await.unwrap()
}

fn message(id: &str, text: &str) -> Record {
    Message::user(text).id(id).build().unwrap().into()
}

async fn said(records: &Records) -> Vec<String> {
    let messages = records.messages(&Scope::new(SCOPE)).await.unwrap();
    messages.iter().map(|it| it.text().to_owned()).collect()
}

#[tokio::test]
async fn what_was_put_is_there_again_in_its_order() {
    let folder = Folder::new();
    let (records, scope) = (open(&folder.file()).await, Scope::new(SCOPE));
    let some = [("a", "one"), ("b", "two\nlines"), ("c", "three")];
    for (id, text) in some {
        records.put(&scope, message(id, text)).await.unwrap();
    }
    let batch = Batch::new()
        .put(message("a", "one again"))
        .delete(RecordKind::Message, "c");
    records.apply(&scope, batch).await.unwrap();
    let again = open(&folder.file()).await;
    assert_eq!(said(&again).await, ["one again", "two\nlines"]);
    assert_eq!(said(&records).await, said(&again).await);
}

#[tokio::test]
async fn a_batch_that_is_refused_changes_neither_memory_nor_file() {
    let folder = Folder::new();
    let (records, scope) = (open(&folder.file()).await, Scope::new(SCOPE));
    records.put(&scope, message("a", "one")).await.unwrap();
    let before = std::fs::read(folder.file()).unwrap();
    let stale = Batch::new().put(message("b", "two")).expect(Revision(7));
    let refused = records.apply(&scope, stale).await.unwrap_err();
    assert_eq!(refused.found_revision(), Some(Revision(1)));
    let other = records.put(&Scope::new("other"), message("b", "two")).await;
    assert!(other.is_err());
    assert_eq!(std::fs::read(folder.file()).unwrap(), before);
    assert_eq!(said(&records).await, ["one"]);
}

#[tokio::test]
async fn what_cannot_be_written_is_not_there_either() {
    let folder = Folder::new();
    let (records, scope) = (open(&folder.file()).await, Scope::new(SCOPE));
    records.put(&scope, message("a", "one")).await.unwrap();
    // A folder stands where the new file would be written.
    let in_the_way = folder.file().with_added_extension("tmp");
    std::fs::create_dir(&in_the_way).unwrap();
    let failed = records.put(&scope, message("b", "two")).await.unwrap_err();
    assert!(
        failed
            .to_string()
            .contains("records.jsonl` cannot be written")
    );
    assert_eq!(said(&records).await, ["one"]);
    std::fs::remove_dir(&in_the_way).unwrap();
    records.put(&scope, message("c", "three")).await.unwrap();
    assert_eq!(said(&open(&folder.file()).await).await, ["one", "three"]);
}

#[tokio::test]
async fn whoever_stops_waiting_leaves_nothing_half_done() {
    let folder = Folder::new();
    let (records, scope) = (open(&folder.file()).await, Scope::new(SCOPE));
    for number in 0..20 {
        let id = format!("m-{number}");
        let (records, scope) = (records.clone(), scope.clone());
        let put = tokio::spawn(async move { records.put(&scope, message(&id, "x")).await });
        tokio::task::yield_now().await;
        put.abort();
    }
    // Waits for those before it.
    records.put(&scope, message("last", "y")).await.unwrap();
    assert_eq!(
        said(&open(&folder.file()).await).await,
        said(&records).await
    );
}
