//! Stores for the records of conversations.
//!
//! [`Store`] has few methods, so that you can implement it for your own database. [`StoreExt`] has convenience methods.
//! [`MemoryStore`] holds records in memory:
//!
//! ```
//! use turnwright_core::record::{Memory, Message, RecordKind};
//! use turnwright_core::store::{Batch, MemoryStore, Query, ConversationId, Store as _, StoreExt as _};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let (store, conversation) = (MemoryStore::default(), ConversationId::new("chat-1"));
//! let revision = store
//!     .apply(&conversation, Batch::new()
//!         .put(Message::user("Call me Ada.").build()?)
//!         .put(Memory::new("The user's name is Ada.").id("name").build()?))
//!     .await?;
//!
//! // Only if the conversation has not changed since:
//! let forget = || Batch::new().delete(RecordKind::Memory, "name").expect(revision);
//! let revision = store.apply(&conversation, forget()).await?;
//! let conflict = store.apply(&conversation, forget()).await.unwrap_err();
//! assert_eq!(conflict.found_revision(), Some(revision));
//!
//! let loaded = store.load(&conversation, &Query::all().kind(RecordKind::Message).limit(10)).await?;
//! assert_eq!(loaded.records.len(), 1);
//! assert!(store.memories(&conversation).await?.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
//! ```
//!
//! A custom store encodes each record with [`Record::to_value`](crate::record::Record::to_value) and decodes it with
//! [`Record::from_value`](crate::record::Record::from_value). The testkit's `store::conformance` checks everything that
//! this module specifies.
//!
//! A runner takes a store as part of a [`Storage`](crate::Storage), together with the spool and the secret.

mod answer_gate;
mod batch;
mod changes;
mod conversation_info;
mod conversations;
mod error;
mod ext;
mod lease_expiry;
mod memory;
mod pages;
mod query;
mod turn_place;
mod turns;
mod waiting;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::spool::Spool;

pub use batch::{Batch, BatchId, Change};
pub use changes::{Changes, MIN_DELETION_HISTORY};
pub use conversations::{ConversationFilter, FoundConversation};
pub use error::StoreError;
pub use ext::StoreExt;
pub use lease_expiry::observe_lease;
pub use memory::MemoryStore;
pub use pages::Pages;
pub use query::{DamagedRecord, Loaded, Position, Query, Stored};
pub use turns::{FoundTurn, TurnCursor, TurnFilter};
pub(crate) use waiting::waiting;
pub use waiting::{Waiting, WaitingState};

pub(crate) use answer_gate::answer_gate;
pub(crate) use conversation_info::update_conversation_info;
pub(crate) use ext::{MAX_TRIES, apply_once};
pub(crate) use lease_expiry::observe_damaged;
pub(crate) use turn_place::{TurnPlace, next_turn};

/// A record store. Records are grouped by conversation and identified by kind and id.
///
/// Implementations must accept any non-empty record id. If the backend cannot represent a conversation id (for example because
/// it contains NUL), return an error; do not normalise it.
///
/// A store for a viewer, which must not write:
///
/// ```
/// use async_trait::async_trait;
/// use std::sync::Arc;
/// use turnwright_core::spool::Spool;
/// use turnwright_core::store::{
///     Batch, Changes, ConversationFilter, ConversationId, FoundConversation, Loaded, MemoryStore, Query, Revision, Store,
///     StoreError,
/// };
///
/// struct ReadOnly(Arc<dyn Store>);
///
/// #[async_trait]
/// impl Store for ReadOnly {
///     async fn apply(&self, _: &ConversationId, _: Batch) -> Result<Revision, StoreError> {
///         Err(StoreError::failed("this process only reads"))
///     }
///     async fn load(&self, conversation: &ConversationId, query: &Query) -> Result<Loaded, StoreError> {
///         self.0.load(conversation, query).await
///     }
///     async fn conversations(&self, filter: &ConversationFilter) -> Result<Vec<FoundConversation>, StoreError> {
///         self.0.conversations(filter).await
///     }
///     async fn changed(&self, conversation: &ConversationId, since: Revision) -> Result<Changes, StoreError> {
///         self.0.changed(conversation, since).await
///     }
///     fn is_persistent(&self) -> bool {
///         self.0.is_persistent()
///     }
///     fn spool(&self) -> Option<Arc<dyn Spool>> {
///         self.0.spool()
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let store = ReadOnly(Arc::new(MemoryStore::default()));
/// assert!(store.apply(&ConversationId::new("chat-1"), Batch::new()).await.is_err());
/// # Ok::<(), StoreError>(()) }).unwrap();
/// ```
#[async_trait]
pub trait Store: Send + Sync {
    /// Applies all changes of a batch, in order, or none. Returns the new revision of the conversation. Each batch increments it
    /// by one, even a batch without changes, which can set a fencing token.
    ///
    /// A record that is put again replaces the one with the same kind and id and keeps its position. A new record comes after all
    /// records that ever existed: a [`Position`] is never used twice in a conversation. The revision, the fencing token and the
    /// last position stay when the last record is deleted. A store may forget them later if no conversation that it does not know
    /// gets lower ones.
    ///
    /// The store keeps the id of an applied batch for at least one hour. If it gets the batch again within that time, it
    /// changes nothing and returns the same revision as the first time, whatever happened since. So a caller that did not get
    /// the response ([`StoreError::is_outcome_unknown`]) can apply the same batch again. The id of a rejected batch is not kept.
    ///
    /// # Errors
    /// [`StoreError::batch_id_reused`] if a different batch with this id was applied: for another conversation, with other
    /// conditions or with other changes. Otherwise [`StoreError::fenced`] if the conversation has seen a higher fencing token.
    /// Otherwise [`StoreError::conflict`] if the batch expects another revision. Otherwise those of the backend. In each case
    /// nothing is changed, including the fencing token; only with [`StoreError::outcome_unknown`] the batch may have been
    /// applied.
    async fn apply(
        &self,
        conversation: &ConversationId,
        batch: Batch,
    ) -> Result<Revision, StoreError>;

    /// Loads records of a conversation, in the order in which they were first written, with its revision and highest fencing
    /// token. An id that the query repeats is returned once. A conversation that was never written has no records and
    /// revision 0, or a higher one in a store that forgets those of deleted conversations.
    ///
    /// A record that cannot be read does not make the others unreadable: it is listed in [`Loaded::damaged`].
    ///
    /// # Errors
    /// Those of the backend.
    async fn load(
        &self,
        conversation: &ConversationId,
        query: &Query,
    ) -> Result<Loaded, StoreError>;

    /// Lists the conversations that have records, in the byte order of their ids, each with its
    /// [`ConversationInfo`](crate::record::ConversationInfo). Only the one with the id
    /// [`ConversationInfo::ID`](crate::record::ConversationInfo::ID) counts.
    ///
    /// A conversation whose info is damaged is listed too. A store that knows the owner and the labels of a damaged info applies
    /// the filter to them; otherwise the conversation has none.
    ///
    /// A store with many conversations answers from an index on owner and labels. A small one can call
    /// [`ConversationFilter::select`].
    ///
    /// # Errors
    /// Those of the backend.
    async fn conversations(
        &self,
        filter: &ConversationFilter,
    ) -> Result<Vec<FoundConversation>, StoreError>;

    /// Finds turns of all conversations, in the order of [`TurnCursor`]: by the time when they began, then by conversation id,
    /// then by turn id. The order is stable: a turn keeps its position when its state changes, and a turn that starts while a
    /// caller reads pages appears on a later page, as far as clocks agree.
    ///
    /// Damaged turns are included. A store that knows the state of a damaged turn applies the state filter to it; otherwise the
    /// turn matches every state.
    ///
    /// Default: loads the turns, gates and leases of one conversation after the other, which takes longer the more turns there
    /// are. A store with many conversations overrides it and answers from an index on state, turn id and open gates.
    ///
    /// # Errors
    /// Those of the backend.
    async fn find_turns(&self, filter: &TurnFilter) -> Result<Vec<FoundTurn>, StoreError> {
        turns::find_turns_by_scan(self, filter).await
    }

    /// Returns what changed in a conversation since a revision, so that a watcher loads only what is new.
    ///
    /// A store remembers at least the newest [`MIN_DELETION_HISTORY`] deletions of each conversation, and none of a conversation
    /// without records. It returns [`Changes::Unknown`] if it may have forgotten one since that revision, and for revisions that
    /// the conversation never had.
    ///
    /// # Errors
    /// Those of the backend.
    async fn changed(
        &self,
        conversation: &ConversationId,
        since: Revision,
    ) -> Result<Changes, StoreError>;

    /// Returns once the conversation may have a later revision than `since`. May return early: the caller checks for itself.
    ///
    /// A turn calls this while it waits at a gate, so that it notices an answer that another process records.
    /// Implement it if the backend can notify.
    ///
    /// Default: returns after 500 ms, so that the caller polls.
    ///
    /// # Errors
    /// Those of the backend. The caller polls then.
    async fn wait_for_change(
        &self,
        _conversation: &ConversationId,
        _since: Revision,
    ) -> Result<(), StoreError> {
        poll_interval().await;
        Ok(())
    }

    /// Returns whether records survive the end of the process. A [`Storage`](crate::Storage) with a persistent store needs a persistent spool.
    fn is_persistent(&self) -> bool;

    /// Returns the spool from which loaded records read their results and media, if the store has one: the spool of its
    /// [`ByteResolver`](crate::record::ByteResolver). A [`Storage`](crate::Storage) with this store must have the same spool. `None` if records
    /// are never encoded.
    fn spool(&self) -> Option<Arc<dyn Spool>>;
}

/// The polling interval of a process that waits for a change.
const POLL: Duration = Duration::from_millis(500);

/// Waits for the polling interval.
pub(crate) async fn poll_interval() {
    tokio::time::sleep(POLL).await;
}

#[async_trait]
impl<S: Store + ?Sized> Store for Arc<S> {
    async fn apply(
        &self,
        conversation: &ConversationId,
        batch: Batch,
    ) -> Result<Revision, StoreError> {
        (**self).apply(conversation, batch).await
    }

    async fn load(
        &self,
        conversation: &ConversationId,
        query: &Query,
    ) -> Result<Loaded, StoreError> {
        (**self).load(conversation, query).await
    }

    async fn conversations(
        &self,
        filter: &ConversationFilter,
    ) -> Result<Vec<FoundConversation>, StoreError> {
        (**self).conversations(filter).await
    }

    async fn find_turns(&self, filter: &TurnFilter) -> Result<Vec<FoundTurn>, StoreError> {
        (**self).find_turns(filter).await
    }

    async fn changed(
        &self,
        conversation: &ConversationId,
        since: Revision,
    ) -> Result<Changes, StoreError> {
        (**self).changed(conversation, since).await
    }

    async fn wait_for_change(
        &self,
        conversation: &ConversationId,
        since: Revision,
    ) -> Result<(), StoreError> {
        (**self).wait_for_change(conversation, since).await
    }

    fn is_persistent(&self) -> bool {
        (**self).is_persistent()
    }

    fn spool(&self) -> Option<Arc<dyn Spool>> {
        (**self).spool()
    }
}

/// The id of a conversation: the unit that records, leases and turns belong to.
///
/// ```
/// use turnwright_core::store::{ConversationId, MemoryStore, StoreExt as _};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let store = MemoryStore::default();
/// let chat = ConversationId::new("ada/chat-1");
/// assert!(store.messages(&chat).await?.is_empty());
/// assert_eq!(chat.as_str(), "ada/chat-1");
/// # Ok::<(), turnwright_core::store::StoreError>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConversationId(Arc<str>);

impl ConversationId {
    /// Creates a conversation id.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        ConversationId(name.into())
    }

    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }
}

impl AsRef<str> for ConversationId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ConversationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The revision of a conversation: the number of batches applied to it.
///
/// ```
/// use turnwright_core::record::Memory;
/// use turnwright_core::store::{Batch, ConversationId, MemoryStore, Revision, Store as _};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let (store, chat) = (MemoryStore::default(), ConversationId::new("chat-1"));
/// // Only if the conversation is new:
/// let batch = Batch::new().put(Memory::new("Likes tea.").build()?).expect(Revision(0));
/// assert_eq!(store.apply(&chat, batch).await?, Revision(1));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Revision(pub u64);
