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
use crate::record::GateAnswer;
use crate::spool::{MemorySpool, Spool};
use crate::store::{
    ConversationId, FoundTurn, MemoryStore, Store, StoreError, StoreExt as _, TurnCursor,
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
    /// `None` for the random secret of this process.
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
    /// use turnwright_core::Storage;
    /// use turnwright_core::store::MemoryStore;
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

    /// Returns the store for records.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Returns the spool for large results and media.
    #[must_use]
    pub fn spool(&self) -> &Arc<dyn Spool> {
        &self.spool
    }

    /// Returns the secret. Each conversation derives its own from it: [`ConversationSecret::for_conversation`].
    ///
    /// # Errors
    /// Only for [`Storage::memory`]: returns an error if the operating system cannot provide random bytes.
    pub fn secret(&self) -> io::Result<ConversationSecret> {
        match &self.secret {
            Some(secret) => Ok(secret.clone()),
            None => ConversationSecret::of_process(),
        }
    }

    /// Records an answer at a gate of a stored turn, from any process: see [`StoreExt::answer_gate`](crate::store::StoreExt::answer_gate).
    ///
    /// # Errors
    /// See [`StoreExt::answer_gate`](crate::store::StoreExt::answer_gate).
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
    /// See [`StoreExt::waiting`](crate::store::StoreExt::waiting).
    pub async fn waiting(
        &self,
        after: Option<TurnCursor>,
        limit: usize,
    ) -> Result<Vec<FoundTurn>, StoreError> {
        self.store.waiting(after, limit).await
    }

    /// Returns whether conversations survive the end of the process.
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
    /// Omits the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Storage")
            .field("persistent", &self.is_persistent())
            .finish_non_exhaustive()
    }
}
