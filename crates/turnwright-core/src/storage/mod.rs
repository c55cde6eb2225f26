//! Where conversations are stored: the store, the spool and the secret as one value.
//!
//! A store brings its spool: records refer to bytes in a spool, so both must persist, and a persistent store with a
//! volatile spool does not build. There is one secret; one for each conversation is derived from it. A turn without a
//! conversation has no store: its results are held in memory by the records that refer to them.
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

mod live_turns;

#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;

pub(crate) use live_turns::{LiveTurn, TurnKey};

use self::live_turns::LiveTurns;
use crate::error::{Error, ErrorCode};
use crate::record::{ConversationInfo, GateAnswer};
use crate::spool::{MemorySpool, Spool};
use crate::store::{
    ConversationFilter, ConversationId, FoundConversation, MemoryStore, Store, StoreError,
    StoreExt as _, TurnFilter, Waiting, answer_gate, waiting,
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
/// with the process. `Storage::sqlite(path)` of `turnwright-sqlite` keeps everything beside one file. [`Storage::new`]
/// is for a store of your own.
///
/// A runner takes it with [`storage`](crate::runner::TurnRunnerBuilder::storage).
///
/// ```
/// use turnwright_core::{DispatchContext, Message, Storage};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
///     ctx.answer(format!("{} messages", ctx.records().all::<Message>().len())).await?;
///     Ok(())
/// })
/// .storage(Storage::memory())
/// .build()?;
/// let mut chat = runner.conversation("chat-1");
/// assert_eq!(chat.say("Hello").await.text, "1 messages");
/// assert_eq!(chat.say("Hello again").await.text, "3 messages");
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
#[doc(alias("checkpoint", "checkpointer", "persistence"))]
#[derive(Clone)]
pub struct Storage {
    store: Arc<dyn Store>,
    spool: Arc<dyn Spool>,
    /// `None` for the random secret of this process.
    secret: Option<ConversationSecret>,
    live: Arc<LiveTurns>,
}

impl Storage {
    /// Creates a storage in memory. It is lost with the process.
    ///
    /// Results take at most 1 GiB in all. Each is held for as long as a record refers to it: deleting a conversation releases
    /// its results. The secret is random, and the same for all storages in memory of this process.
    #[must_use]
    pub fn memory() -> Self {
        Storage {
            store: Arc::new(MemoryStore::default()),
            spool: Arc::new(MemorySpool::transient()),
            secret: None,
            live: Arc::default(),
        }
    }

    /// Puts a storage together from a store, its spool and a secret.
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
    /// let storage = Storage::new(MemoryStore::default(), Arc::new(spool), secret)?;
    /// assert!(!storage.is_persistent());
    /// # Ok::<(), turnwright_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `E_INVALID_STORAGE` if the store reads results from another spool ([`Store::spool`]), or if it is persistent and
    /// the spool is not.
    pub fn new(
        store: impl Store + 'static,
        spool: Arc<dyn Spool>,
        secret: ConversationSecret,
    ) -> Result<Self, Error> {
        let own = store.spool();
        if let Some(own) = &own
            && !is_same(own, &spool)
        {
            return Err(invalid(
                "the store reads results from a spool of its own, and this is another one: pass the `Arc` that the store \
                 was made with, which `store.spool()` returns",
            ));
        }
        if store.is_persistent() && !spool.is_persistent() {
            return Err(invalid(match own {
                Some(_) => {
                    "the store is persistent but its spool is not, so results would be lost on restart: open the store with \
                     a persistent spool, such as `DiskSpool::open(\"results\").await?`"
                }
                None => {
                    "the store is persistent but the spool is not, so results would be lost on restart: pass a persistent \
                     spool, such as `DiskSpool::open(\"results\").await?`, and make the store with the same one"
                }
            }));
        }
        Ok(Storage {
            store: Arc::new(store),
            spool,
            secret: Some(secret),
            live: Arc::default(),
        })
    }

    pub(crate) fn live_turns(&self) -> &LiveTurns {
        &self.live
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

    /// Returns the secret. Each conversation derives its own from it.
    ///
    /// # Errors
    /// Only for [`Storage::memory`]: returns an error if the operating system cannot provide random bytes.
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
    /// answer must come within it, counted from when the gate was opened. A recorded answer expires after the same time.
    ///
    /// # Errors
    /// - `E_UNKNOWN_TURN_GATE` if there is no such gate.
    /// - `E_TURN_GATE_ANSWERED` if the gate was already answered.
    /// - `E_TURN_GATE_CLOSED` if its turn has ended or does not wait there any more. A turn that was aborted, failed or reached a
    ///   limit asks again if it is resumed.
    /// - `E_TURN_GATE_TIMEOUT` if its timeout has expired.
    /// - `E_INVALID_TURN_GATE_RESOLUTION` if the gate does not accept this answer.
    /// - `E_STORE_ERROR` if the store fails.
    pub async fn answer_gate(
        &self,
        conversation: impl AsRef<str>,
        gate_id: impl AsRef<str>,
        answer: impl Into<GateAnswer>,
    ) -> Result<(), Error> {
        let conversation = ConversationId::new(conversation.as_ref());
        let answered = answer_gate(
            &*self.store,
            &conversation,
            gate_id.as_ref(),
            answer.into(),
            |_, _| Ok(()),
        );
        answered.await.map(drop)
    }

    /// Lists the turns that wait to be answered or resumed, oldest first: suspended turns, running turns that wait at an open gate,
    /// and turns whose process seems to have died. A page with fewer turns than the filter's limit is the last one.
    ///
    /// ```
    /// # use turnwright_core::{Storage, store::{StoreError, TurnFilter}};
    /// # async fn list(storage: Storage) -> Result<(), StoreError> {
    /// // What Ada has to decide, for a user interface. The rows serialise as JSON.
    /// let filter = TurnFilter::all().prefix("ada/").limit(50);
    /// let page = storage.waiting(&filter).await?;
    /// if let Some(last) = page.last() {
    ///     let next = storage.waiting(&filter.after(last.cursor())).await?;
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// See [`Store::find_turns`].
    pub async fn waiting(&self, filter: &TurnFilter) -> Result<Vec<Waiting>, StoreError> {
        waiting(&*self.store, filter, false).await
    }

    /// Lists the turns that can go on, which a process that starts resumes:
    ///
    /// - turns that are not suspended, whether their lease has expired or not, and whether they wait at a gate or not
    /// - suspended turns with an answer that was not used yet, because the process that was to resume them died
    ///   ([`WaitingState::AnsweredNotResumed`](crate::store::WaitingState::AnsweredNotResumed)). Others of their gates may be open
    /// - turns that were suspended before they had started all that could run without an answer
    /// - suspended turns with a gate whose timeout has expired: it accepts no answer until the resumed turn asks again
    ///
    /// Turns that run under a call are not among them: they go on with their outer turn.
    ///
    /// Right after a crash the leases of the dead process have not expired: its turns are
    /// [`WaitingState::Running`](crate::store::WaitingState::Running). [`TurnRunner::resume`](crate::TurnRunner::resume) waits for
    /// the expiry. For a turn that another process is running the outcome is `E_TURN_HELD`, and that turn is not disturbed. If the
    /// turn ends meanwhile, the outcome is its own, and it is not resumed.
    ///
    /// ```
    /// # use turnwright_core::{Error, Storage, TurnRunner, store::TurnFilter};
    /// # async fn serve(runner: TurnRunner, storage: Storage) -> Result<(), Error> {
    /// // A turn that cannot be resumed has the error in its outcome.
    /// for turn in storage.resumable(&TurnFilter::all()).await? {
    ///     drop(runner.resume(&turn).await?);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// See [`Store::find_turns`].
    pub async fn resumable(&self, filter: &TurnFilter) -> Result<Vec<Waiting>, StoreError> {
        waiting(&*self.store, filter, true).await
    }

    /// Returns the metadata of a conversation, if it has any.
    ///
    /// # Errors
    /// As [`StoreExt::conversation_info`](crate::store::StoreExt::conversation_info).
    pub async fn conversation_info(
        &self,
        conversation: impl AsRef<str>,
    ) -> Result<Option<Arc<ConversationInfo>>, StoreError> {
        let conversation = ConversationId::new(conversation.as_ref());
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
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let storage = Storage::memory();
    /// storage.update_conversation_info("chat-1", |info| info.owner("ada").label("project", "travel")).await?;
    /// storage.update_conversation_info("chat-1", |info| info.title("Trip to Rome")).await?;
    ///
    /// let found = storage.conversations(&ConversationFilter::all().owner("ada").label("project", "travel")).await?;
    /// assert_eq!(found[0].id.as_str(), "chat-1");
    /// assert_eq!(found[0].info.as_ref().and_then(|info| info.title.as_deref()), Some("Trip to Rome"));
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`StoreExt::update_conversation_info`](crate::store::StoreExt::update_conversation_info).
    pub async fn update_conversation_info(
        &self,
        conversation: impl AsRef<str>,
        change: impl FnMut(ConversationInfo) -> ConversationInfo + Send,
    ) -> Result<Arc<ConversationInfo>, Error> {
        let conversation = ConversationId::new(conversation.as_ref());
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

    /// Returns whether conversations survive the end of the process.
    #[must_use]
    pub fn is_persistent(&self) -> bool {
        self.store.is_persistent()
    }
}

/// [`Storage::memory`].
/// Returns whether both are the same value. The vtable may differ between crates, so only the address is compared.
fn is_same(own: &Arc<dyn Spool>, given: &Arc<dyn Spool>) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(own), Arc::as_ptr(given))
}

fn invalid(why: &str) -> Error {
    Error::new(
        ErrorCode::INVALID_STORAGE,
        format!("invalid storage: {why}"),
    )
}

impl Default for Storage {
    fn default() -> Self {
        Storage::memory()
    }
}

debug_fields!(Storage { is_persistent() });
