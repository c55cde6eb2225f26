//! Where conversations are stored: the store, the spool and the secret as one value.
//!
//! ```
//! use turnwright_core::record::Message;
//! use turnwright_core::store::{ConversationId, StoreExt as _};
//! use turnwright_core::{DispatchContext, Storage, TurnInput};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let storage = Storage::memory();
//! let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
//!     ctx.answer("Hello.").await?;
//!     Ok(())
//! })
//! .storage(storage.clone())
//! .build()?;
//! runner.run(TurnInput::new("Hello!").conversation("chat-1")).await;
//!
//! let messages = storage.store().messages(&ConversationId::new("chat-1")).await?;
//! assert_eq!(messages.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
//! ```

mod builder;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::{fmt, io};

pub use builder::StorageBuilder;

use crate::error::Error;
use crate::record::{ConversationInfo, ConversationInfoBuilder, GateAnswer};
use crate::spool::{MemorySpool, Spool};
use crate::store::{
    ConversationFilter, ConversationId, FoundConversation, FoundTurn, MemoryStore, Store,
    StoreError, StoreExt as _, TurnCursor,
};
use crate::trust::ConversationSecret;

/// Where conversations are stored. Cheap to clone; clones share everything.
///
/// - The **store** holds the records.
/// - The **spool** holds large results and media, which records refer to.
/// - The **secret** is the key for the codes of envelopes in prompts. With another secret prompts change, so that a provider's
///   prompt cache does not apply any more.
///
/// The three belong together: a conversation that continues in another process needs all of them. [`Storage::memory`] is lost
/// with the process. `Storage::sqlite(path)` of `turnwright-store` keeps everything beside one file. [`Storage::builder`]
/// is for a store of your own.
///
/// A runner takes it with [`storage`](crate::runner::TurnRunnerBuilder::storage).
#[derive(Clone)]
pub struct Storage {
    store: Arc<dyn Store>,
    spool: Arc<dyn Spool>,
    /// `None` for the random one of this process.
    secret: Option<ConversationSecret>,
}

impl Storage {
    /// Storage in memory. It is lost with the process.
    ///
    /// Results take at most 1 GiB in all. Each is held for as long as a record refers to it: deleting a conversation releases
    /// its results. The secret is random, and the same for all storages in memory of this process.
    #[must_use]
    pub fn memory() -> Self {
        Storage {
            store: Arc::new(MemoryStore::default()),
            spool: Arc::new(MemorySpool::transient()),
            secret: None,
        }
    }

    /// Starts to put a storage together from a store, its spool and a secret.
    ///
    /// The secret must be stored, apart from the records, and must be the same in every process that uses the store.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use turnwright_core::spool::MemorySpool;
    /// use turnwright_core::trust::ConversationSecret;
    /// use turnwright_core::{MemoryStore, Storage};
    ///
    /// let secret = ConversationSecret::from_bytes([7; 32]);
    /// let spool = MemorySpool::with_capacity(64 * 1024 * 1024);
    /// let storage = Storage::builder(MemoryStore::default(), Arc::new(spool), secret).build()?;
    /// # Ok::<(), turnwright_core::Error>(())
    /// ```
    pub fn builder(
        store: impl Store + 'static,
        spool: Arc<dyn Spool>,
        secret: ConversationSecret,
    ) -> StorageBuilder {
        StorageBuilder::new(Arc::new(store), spool, secret)
    }

    /// The store for records.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The spool for large results and media.
    #[must_use]
    pub fn spool(&self) -> &Arc<dyn Spool> {
        &self.spool
    }

    /// The secret. Each conversation derives its own from it:
    /// [`ConversationSecret::for_conversation`].
    ///
    /// # Errors
    /// Of [`Storage::memory`] only, if the operating system provides no randomness.
    pub fn secret(&self) -> io::Result<ConversationSecret> {
        match &self.secret {
            Some(secret) => Ok(secret.clone()),
            None => ConversationSecret::of_process(),
        }
    }

    /// Records an answer at a gate of a stored turn, from any process: see [`StoreExt::answer_gate`](crate::store::StoreExt::answer_gate).
    ///
    /// # Errors
    /// As [`StoreExt::answer_gate`](crate::store::StoreExt::answer_gate).
    pub async fn answer_gate(
        &self,
        conversation: &str,
        gate_id: &str,
        answer: impl Into<GateAnswer>,
    ) -> Result<(), Error> {
        let conversation = ConversationId::new(conversation);
        let answered = self
            .store
            .answer_gate(&conversation, gate_id, answer.into());
        answered.await
    }

    /// Lists turns of all conversations that wait for somebody, in pages: see [`StoreExt::waiting`](crate::store::StoreExt::waiting).
    ///
    /// # Errors
    /// As [`StoreExt::waiting`](crate::store::StoreExt::waiting).
    pub async fn waiting(
        &self,
        after: Option<TurnCursor>,
        limit: usize,
    ) -> Result<Vec<FoundTurn>, StoreError> {
        self.store.waiting(after, limit).await
    }

    /// Returns the metadata of a conversation, if it has any.
    ///
    /// # Errors
    /// As [`StoreExt::conversation_info`](crate::store::StoreExt::conversation_info).
    pub async fn conversation_info(
        &self,
        conversation: &str,
    ) -> Result<Option<Arc<ConversationInfo>>, StoreError> {
        let conversation = ConversationId::new(conversation);
        self.store.conversation_info(&conversation).await
    }

    /// Changes the metadata of a conversation, and returns what is stored then. `change` gets what is stored, or an info
    /// without content. No update of another writer is lost:
    /// see [`StoreExt::update_conversation_info`](crate::store::StoreExt::update_conversation_info).
    ///
    /// ```
    /// use turnwright_core::Storage;
    /// use turnwright_core::store::ConversationFilter;
    ///
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let storage = Storage::memory();
    /// storage.update_conversation_info("chat-1", |info| info.owner("ada").label("project", "travel")).await?;
    /// storage.update_conversation_info("chat-1", |info| info.title("Trip to Rome")).await?;
    ///
    /// let found = storage.conversations(&ConversationFilter::all().owner("ada").label("project", "travel")).await?;
    /// assert_eq!(found[0].id.as_str(), "chat-1");
    /// assert_eq!(found[0].info.as_ref().and_then(|info| info.title()), Some("Trip to Rome"));
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`StoreExt::update_conversation_info`](crate::store::StoreExt::update_conversation_info).
    pub async fn update_conversation_info(
        &self,
        conversation: &str,
        change: impl FnMut(ConversationInfoBuilder) -> ConversationInfoBuilder + Send,
    ) -> Result<Arc<ConversationInfo>, Error> {
        let conversation = ConversationId::new(conversation);
        let updated = self.store.update_conversation_info(&conversation, change);
        updated.await
    }

    /// Lists conversations with their metadata: see [`Store::conversations`].
    ///
    /// # Errors
    /// As [`Store::conversations`].
    pub async fn conversations(
        &self,
        filter: &ConversationFilter,
    ) -> Result<Vec<FoundConversation>, StoreError> {
        self.store.conversations(filter).await
    }

    /// Whether conversations survive the end of the process.
    #[must_use]
    pub fn is_persistent(&self) -> bool {
        self.store.is_persistent()
    }
}

/// [`Storage::memory`].
impl Default for Storage {
    fn default() -> Self {
        Storage::memory()
    }
}

impl fmt::Debug for Storage {
    /// Without the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Storage")
            .field("persistent", &self.is_persistent())
            .finish_non_exhaustive()
    }
}
