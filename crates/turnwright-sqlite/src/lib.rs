//! A store in one SQLite file, for [Turnwright](https://github.com/turnwright/turnwright).
//!
//! `Storage::sqlite(path)`, from [`SqliteStorage`], is all that a runner needs: one file with the records, and next to
//! it a folder with large results and a file with the secret. The [`SqliteStore`] behind it can
//! also [delete a conversation](SqliteStore::delete_conversation) with all of its bytes, [limit its
//! size](SqliteStore::apply_retention), [delete bytes](SqliteStore::delete_orphans) that no record references, and
//! [check its integrity](SqliteStore::integrity_check).
//!
//! ```
//! use turnwright_core::record::Message;
//! use turnwright_core::store::{ConversationId, StoreExt as _};
//! use turnwright_sqlite::SqliteStore;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let store = SqliteStore::in_memory().await?;
//! let conversation = ConversationId::new("chat-1");
//! store.put(&conversation, Message::user("Hello!").build()?).await?;
//! assert_eq!(store.messages(&conversation).await?[0].text(), "Hello!");
//! # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
//! ```
//!
#![doc = include_str!("store/guarantees.md")]

mod store;

pub use store::{
    Deleted, DeletedOrphans, Durability, Retention, RetentionReport, SqliteError, SqliteErrorKind,
    SqliteStorage, SqliteStore, SqliteStoreBuilder,
};
