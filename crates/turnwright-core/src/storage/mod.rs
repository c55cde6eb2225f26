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
use crate::store::{ConversationId, MemoryStore, Store, WaitingQuery, answer_gate};
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

    /// Records an answer at a gate of a stored turn, from any process, and does nothing more.
    /// [`TurnRunner::answer_gate`](crate::TurnRunner::answer_gate) also continues the turn.
    ///
    /// A turn that waits at the gate learns of the answer: at once with a [`MemoryStore`], otherwise within half a second. A
    /// suspended turn finds it when it is resumed.
    ///
    /// The answer is checked against the stored schema of the gate. Edited arguments of an approval are checked when the turn
    /// continues; [`TurnRunner::answer_gate`](crate::TurnRunner::answer_gate) checks them at once. If the gate has a timeout, the
    /// answer must come within it, counted from when the gate was opened, and is used for as long again.
    ///
    /// # Errors
    /// `E_UNKNOWN_TURN_GATE`; `E_TURN_GATE_ANSWERED` if the gate was answered before; `E_TURN_GATE_CLOSED` if its turn has ended;
    /// `E_TURN_GATE_TIMEOUT` if its time is over; `E_INVALID_TURN_GATE_RESOLUTION` if it does not take this answer;
    /// `E_STORE_ERROR`.
    pub async fn answer_gate(
        &self,
        conversation: impl Into<Arc<str>>,
        gate_id: &str,
        answer: impl Into<GateAnswer>,
    ) -> Result<(), Error> {
        let conversation = ConversationId::new(conversation.into());
        let answered = answer_gate(
            &*self.store,
            &conversation,
            gate_id,
            answer.into(),
            |_, _| Ok(()),
        );
        answered.await.map(drop)
    }

    /// Lists the turns of all conversations that wait to be answered or resumed, oldest first: suspended turns, running turns that
    /// wait at an open gate, and turns whose process seems to have died.
    ///
    /// ```
    /// # use turnwright_core::{DispatchContext, Error, Storage, TurnRunner};
    /// # async fn serve(runner: TurnRunner, storage: Storage) -> Result<(), Error> {
    /// // What Ada has to decide, for a user interface. The rows serialise as JSON.
    /// let page = storage.waiting().prefix("ada/").limit(50).await?;
    /// if let Some(last) = page.last() {
    ///     let next = storage.waiting().prefix("ada/").after(last.cursor()).limit(50).await?;
    /// }
    ///
    /// // When a process starts: continue what a dead process left.
    /// for turn in storage.waiting().running().await? {
    ///     drop(runner.resume(&turn).await?);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Store::find_turns`].
    pub fn waiting(&self) -> WaitingQuery<'_> {
        WaitingQuery::new(&*self.store)
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
