//! Changes of a conversation.

use super::Loaded;
use crate::record::RecordKind;

/// The changes of a conversation since a revision. See [`Store::changed`](super::Store::changed).
///
/// ```
/// use turnwright_core::record::Memory;
/// use turnwright_core::store::{Batch, Changes, ConversationId, MemoryStore, Store as _};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let (store, chat) = (MemoryStore::default(), ConversationId::new("chat-1"));
/// let seen = store.apply(&chat, Batch::new().put(Memory::new("Likes tea.").build()?)).await?;
/// store.apply(&chat, Batch::new().put(Memory::new("Likes Rust.").build()?)).await?;
/// match store.changed(&chat, seen).await? {
///     Changes::Since { put, deleted } => assert_eq!((put.count(), deleted.len()), (1, 0)),
///     _ => println!("load the conversation"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Changes {
    /// All records that were changed since.
    Since {
        /// The records that were put since, in their current version and in order. The revision and fencing token are those of
        /// the conversation.
        put: Loaded,
        /// The records that were deleted since and do not exist now, ordered by kind and id.
        deleted: Vec<(RecordKind, String)>,
    },
    /// Unknown: the revision is too old, the conversation was emptied meanwhile, or it never had this revision. Load the
    /// conversation.
    Unknown,
}

/// How many deletions a store remembers at least per conversation with records. See [`Store::changed`](super::Store::changed).
pub const MIN_DELETION_HISTORY: usize = 256;
