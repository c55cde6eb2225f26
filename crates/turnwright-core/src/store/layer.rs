//! Stores that wrap another one.

use std::sync::Arc;

use async_trait::async_trait;

use super::{
    Batch, Changes, ConversationFilter, ConversationId, FoundConversation, FoundTurn, Loaded,
    Query, Revision, Store, StoreError, TurnFilter,
};
use crate::spool::Spool;

/// Changes some operations of a store. Each method gets the wrapped store; by default it forwards to it. [`Layered`] applies a
/// layer to a store.
///
/// ```
/// use async_trait::async_trait;
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use turnwright_core::store::{Batch, Layered, MemoryStore, Revision, ConversationId, Store, StoreError, StoreLayer};
///
/// /// Counts the changes.
/// #[derive(Default)]
/// struct Counter(AtomicUsize);
///
/// #[async_trait]
/// impl StoreLayer for Counter {
///     async fn apply(&self, store: &dyn Store, conversation: &ConversationId, batch: Batch) -> Result<Revision, StoreError> {
///         self.0.fetch_add(batch.changes.len(), Ordering::Relaxed);
///         store.apply(conversation, batch).await
///     }
/// }
///
/// let store = Layered::new(Counter::default(), MemoryStore::default());
/// # let _: &dyn Store = &store;
/// ```
#[async_trait]
pub trait StoreLayer: Send + Sync {
    /// Runs around every operation whose own method is not overridden.
    ///
    /// # Errors
    /// Those of the operation.
    async fn wrap<T: Send>(
        &self,
        operation: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        operation.await
    }

    /// See [`Store::apply`].
    ///
    /// # Errors
    /// See [`Store::apply`].
    async fn apply(
        &self,
        store: &dyn Store,
        conversation: &ConversationId,
        batch: Batch,
    ) -> Result<Revision, StoreError> {
        self.wrap(store.apply(conversation, batch)).await
    }

    /// See [`Store::load`].
    ///
    /// # Errors
    /// See [`Store::load`].
    async fn load(
        &self,
        store: &dyn Store,
        conversation: &ConversationId,
        query: &Query,
    ) -> Result<Loaded, StoreError> {
        self.wrap(store.load(conversation, query)).await
    }

    /// See [`Store::conversations`].
    ///
    /// # Errors
    /// See [`Store::conversations`].
    async fn conversations(
        &self,
        store: &dyn Store,
        filter: &ConversationFilter,
    ) -> Result<Vec<FoundConversation>, StoreError> {
        self.wrap(store.conversations(filter)).await
    }

    /// See [`Store::find_turns`].
    ///
    /// # Errors
    /// See [`Store::find_turns`].
    async fn find_turns(
        &self,
        store: &dyn Store,
        filter: &TurnFilter,
    ) -> Result<Vec<FoundTurn>, StoreError> {
        self.wrap(store.find_turns(filter)).await
    }

    /// See [`Store::changed`].
    ///
    /// # Errors
    /// See [`Store::changed`].
    async fn changed(
        &self,
        store: &dyn Store,
        conversation: &ConversationId,
        since: Revision,
    ) -> Result<Changes, StoreError> {
        self.wrap(store.changed(conversation, since)).await
    }

    /// See [`Store::spool`].
    fn spool(&self, store: &dyn Store) -> Option<Arc<dyn Spool>> {
        store.spool()
    }
}

/// A store with a [`StoreLayer`] around it.
///
/// ```
/// use turnwright_core::store::{ConversationId, Layered, MemoryStore, StoreExt as _, StoreLayer};
///
/// struct Unchanged;
/// impl StoreLayer for Unchanged {}
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let store = Layered::new(Unchanged, MemoryStore::default());
/// assert!(store.messages(&ConversationId::new("chat-1")).await?.is_empty());
/// # Ok::<(), turnwright_core::store::StoreError>(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Layered<L, S> {
    /// The layer.
    pub layer: L,
    /// The wrapped store.
    pub store: S,
}

impl<L, S> Layered<L, S> {
    /// Wraps a store.
    pub fn new(layer: L, store: S) -> Self {
        Layered { layer, store }
    }
}

#[async_trait]
impl<L: StoreLayer, S: Store> Store for Layered<L, S> {
    async fn apply(
        &self,
        conversation: &ConversationId,
        batch: Batch,
    ) -> Result<Revision, StoreError> {
        self.layer.apply(&self.store, conversation, batch).await
    }

    async fn load(
        &self,
        conversation: &ConversationId,
        query: &Query,
    ) -> Result<Loaded, StoreError> {
        self.layer.load(&self.store, conversation, query).await
    }

    async fn conversations(
        &self,
        filter: &ConversationFilter,
    ) -> Result<Vec<FoundConversation>, StoreError> {
        self.layer.conversations(&self.store, filter).await
    }

    async fn find_turns(&self, filter: &TurnFilter) -> Result<Vec<FoundTurn>, StoreError> {
        self.layer.find_turns(&self.store, filter).await
    }

    async fn changed(
        &self,
        conversation: &ConversationId,
        since: Revision,
    ) -> Result<Changes, StoreError> {
        self.layer.changed(&self.store, conversation, since).await
    }

    async fn wait_for_change(
        &self,
        conversation: &ConversationId,
        since: Revision,
    ) -> Result<(), StoreError> {
        self.store.wait_for_change(conversation, since).await
    }

    fn is_persistent(&self) -> bool {
        self.store.is_persistent()
    }

    fn spool(&self) -> Option<Arc<dyn Spool>> {
        self.layer.spool(&self.store)
    }
}
