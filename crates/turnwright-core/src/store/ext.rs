//! Convenience methods for stores.

use std::sync::Arc;

use async_trait::async_trait;

use super::{
    Batch, ConversationId, FoundConversation, Loaded, Pages, Query, Revision, Store, StoreError,
};
use crate::error::Error;
use crate::record::{
    CallState, ConversationInfo, GateRecord, Lease, LedgerEntry, Memory, Message, Record,
    RecordKind, RecordType, ToolCall, TurnRecord,
};

/// Maximum number of attempts while other writers change the conversation.
pub(crate) const MAX_TRIES: usize = 100;

/// Convenience methods for [`Store`]. They take a conversation as `&str` or as [`&ConversationId`](ConversationId).
///
/// Methods that return records fail if one of them is damaged, see [`StoreError::damaged_record`]. [`Store::load`] and
/// [`StoreExt::pages`] return the others.
///
/// ```
/// use turnwright_core::record::Memory;
/// use turnwright_core::store::{Batch, MemoryStore, Query, ConversationId, StoreExt as _};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let (store, conversation) = (MemoryStore::default(), ConversationId::new("ada"));
/// let likes = Memory::new("The user likes short answers.").build()?;
/// store.put_all(&conversation, [likes.into()]).await?;
///
/// // Retried if another writer changes the conversation in between:
/// let note = Memory::new("Knows Rust.").id("knows").build()?;
/// store.update(&conversation, &Query::all(), |now| match now.records.len() {
///     0..10 => Batch::new().put(note.clone()),
///     _ => Batch::new(),
/// }).await?;
///
/// let mut pages = store.pages(&conversation, Query::all());
/// let mut count = 0;
/// while let Some(page) = pages.next().await? {
///     count += page.records.len();
/// }
/// assert_eq!(count, 2);
/// assert_eq!(store.memories("ada").await?.len(), 2);
/// store.delete_conversation("ada").await?;
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[async_trait]
pub trait StoreExt: Store {
    /// Puts one record.
    ///
    /// # Errors
    /// See [`Store::apply`].
    async fn put(
        &self,
        conversation: &(impl AsRef<str> + Sync + ?Sized),
        record: impl Into<Record> + Send,
    ) -> Result<Revision, StoreError> {
        let batch = Batch::new().put(record);
        self.apply(&id(conversation), batch).await
    }

    /// Puts records, all or none.
    ///
    /// # Errors
    /// See [`Store::apply`].
    async fn put_all(
        &self,
        conversation: &(impl AsRef<str> + Sync + ?Sized),
        records: impl IntoIterator<Item = Record> + Send,
    ) -> Result<Revision, StoreError> {
        let batch = records.into_iter().fold(Batch::new(), Batch::put);
        self.apply(&id(conversation), batch).await
    }

    /// Deletes a record, if it exists.
    ///
    /// # Errors
    /// See [`Store::apply`].
    async fn delete(
        &self,
        conversation: &(impl AsRef<str> + Sync + ?Sized),
        kind: RecordKind,
        record_id: &str,
    ) -> Result<Revision, StoreError> {
        let batch = Batch::new().delete(kind, record_id);
        self.apply(&id(conversation), batch).await
    }

    /// Deletes all records of a conversation, including damaged ones, or none. A turn that runs there fails at its next write.
    ///
    /// Results that are held only by the records, as with the default spool of a runner, are released. A spool keeps what it
    /// stores by id: [`Record::artifacts`] names the ids, before the records are deleted.
    ///
    /// # Errors
    /// See [`StoreExt::update`]; [`StoreError::damaged_record`], and nothing is deleted, if the kind of a record is unknown.
    async fn delete_conversation(
        &self,
        conversation: &(impl AsRef<str> + Sync + ?Sized),
    ) -> Result<Revision, StoreError> {
        let (mut unnamed, all) = (None, Query::all());
        let deleted = self.update(conversation, &all, |loaded| {
            let mut batch = Batch::new();
            for stored in &loaded.records {
                batch = batch.delete(stored.record.kind(), stored.record.id());
            }
            for damaged in &loaded.damaged {
                let Some(kind) = damaged.kind else {
                    unnamed = Some(damaged.clone());
                    return Batch::new();
                };
                batch = batch.delete(kind, &*damaged.id);
            }
            match (batch.changes.is_empty(), loaded.fencing_token) {
                (true, _) | (false, 0) => batch,
                (false, fencing_token) => batch.fencing_token(fencing_token.saturating_add(1)),
            }
        });
        let deleted = deleted.await?;
        match unnamed {
            None => Ok(deleted),
            Some(record) => Err(StoreError::damaged(record)),
        }
    }

    /// Returns the record with this kind and id, if it exists.
    ///
    /// # Errors
    /// See [`Store::load`].
    async fn get(
        &self,
        conversation: &(impl AsRef<str> + Sync + ?Sized),
        kind: RecordKind,
        record_id: &str,
    ) -> Result<Option<Record>, StoreError> {
        let query = Query::all().kind(kind).ids([record_id]);
        let found = undamaged(self.load(&id(conversation), &query).await?)?;
        Ok(found.into_records().next())
    }

    /// Returns all records of a conversation, in order.
    ///
    /// # Errors
    /// See [`Store::load`].
    async fn records(
        &self,
        conversation: &(impl AsRef<str> + Sync + ?Sized),
    ) -> Result<Vec<Record>, StoreError> {
        let loaded = undamaged(self.load(&id(conversation), &Query::all()).await?)?;
        Ok(loaded.into_records().collect())
    }

    /// Returns the messages, in order.
    ///
    /// # Errors
    /// See [`Store::load`].
    async fn messages(
        &self,
        conversation: &(impl AsRef<str> + Sync + ?Sized),
    ) -> Result<Vec<Arc<Message>>, StoreError> {
        all_of(self, conversation).await
    }

    /// Returns the tool calls, in order.
    ///
    /// # Errors
    /// See [`Store::load`].
    async fn tool_calls(
        &self,
        conversation: &(impl AsRef<str> + Sync + ?Sized),
    ) -> Result<Vec<Arc<ToolCall>>, StoreError> {
        all_of(self, conversation).await
    }

    /// Returns the memories, in order.
    ///
    /// # Errors
    /// See [`Store::load`].
    async fn memories(
        &self,
        conversation: &(impl AsRef<str> + Sync + ?Sized),
    ) -> Result<Vec<Arc<Memory>>, StoreError> {
        all_of(self, conversation).await
    }

    /// Returns the ledger, in order.
    ///
    /// # Errors
    /// See [`Store::load`].
    async fn ledger(
        &self,
        conversation: &(impl AsRef<str> + Sync + ?Sized),
    ) -> Result<Vec<Arc<LedgerEntry>>, StoreError> {
        all_of(self, conversation).await
    }

    /// Returns the turns, in order.
    ///
    /// # Errors
    /// See [`Store::load`].
    async fn turns(
        &self,
        conversation: &(impl AsRef<str> + Sync + ?Sized),
    ) -> Result<Vec<Arc<TurnRecord>>, StoreError> {
        all_of(self, conversation).await
    }

    /// Returns the gates, open and closed, in order.
    ///
    /// # Errors
    /// See [`Store::load`].
    async fn gates(
        &self,
        conversation: &(impl AsRef<str> + Sync + ?Sized),
    ) -> Result<Vec<Arc<GateRecord>>, StoreError> {
        all_of(self, conversation).await
    }

    /// Returns the lease of the conversation, if a turn ever ran there.
    ///
    /// # Errors
    /// See [`Store::load`].
    async fn lease(
        &self,
        conversation: &(impl AsRef<str> + Sync + ?Sized),
    ) -> Result<Option<Arc<Lease>>, StoreError> {
        let found = self.get(conversation, RecordKind::Lease, Lease::ID).await?;
        Ok(found.and_then(Record::downcast::<Lease>))
    }

    /// Returns the metadata of the conversation, if it has any.
    ///
    /// # Errors
    /// As [`Store::load`].
    async fn conversation_info(
        &self,
        conversation: &(impl AsRef<str> + Sync + ?Sized),
    ) -> Result<Option<Arc<ConversationInfo>>, StoreError> {
        let (conversation, query) = (id(conversation), FoundConversation::query());
        let loaded = undamaged(self.load(&conversation, &query).await?)?;
        Ok(FoundConversation::new(conversation, loaded).info)
    }

    /// Changes the metadata of the conversation, and returns what is stored then. `change` gets what is stored, or an info
    /// without content. It is called again if another writer changes the conversation in between, so no update is lost. An
    /// info without content is not stored, and one that has not changed is not written again.
    ///
    /// # Errors
    /// `E_INVALID_INITIAL_CONVERSATION_INFO_VALUE`; `E_STORE_ERROR`, also if the stored info is damaged: put a new one, or
    /// delete it. Nothing is changed then.
    async fn update_conversation_info(
        &self,
        conversation: &(impl AsRef<str> + Sync + ?Sized),
        change: impl FnMut(ConversationInfo) -> ConversationInfo + Send,
    ) -> Result<Arc<ConversationInfo>, Error> {
        super::update_conversation_info(self, &id(conversation), change).await
    }

    /// Returns the calls that started and did not end. Either they are running, or their process died before they ended, and they may or
    /// may not have taken effect. [`TurnRunner::resume`](crate::TurnRunner::resume) resumes their turn; a new turn of the
    /// conversation closes them as unknown.
    ///
    /// # Errors
    /// See [`Store::load`].
    async fn unfinished(
        &self,
        conversation: &(impl AsRef<str> + Sync + ?Sized),
    ) -> Result<Vec<Arc<LedgerEntry>>, StoreError> {
        let mut entries = self.ledger(conversation).await?;
        entries.retain(|entry| entry.state == CallState::Started);
        Ok(entries)
    }

    /// Returns the records that a query selects, in pages of the query's limit.
    ///
    /// Default: 256 records a page.
    fn pages(&self, conversation: &(impl AsRef<str> + ?Sized), query: Query) -> Pages<'_, Self> {
        Pages::new(self, id(conversation), query)
    }

    /// Loads records, makes a batch from them, and applies it if the conversation has not changed in between. Otherwise starts
    /// again. A batch without changes and without fencing token is not applied.
    ///
    /// # Errors
    /// See [`Store::load`] and [`Store::apply`]; [`StoreError::conflict`] after a hundred tries.
    async fn update(
        &self,
        conversation: &(impl AsRef<str> + Sync + ?Sized),
        query: &Query,
        mut change: impl for<'l> FnMut(&'l Loaded) -> Batch + Send,
    ) -> Result<Revision, StoreError> {
        let (conversation, mut tries) = (id(conversation), 0);
        loop {
            let loaded = self.load(&conversation, query).await?;
            let batch = change(&loaded);
            let revision = loaded.revision;
            drop(loaded);
            if batch.changes.is_empty() && batch.fencing_token.is_none() {
                return Ok(revision);
            }
            tries += 1;
            match apply_once(self, &conversation, batch.expect(revision)).await {
                Err(error) if error.found_revision().is_some() && tries < MAX_TRIES => {}
                done => return done,
            }
        }
    }
}

impl<S: Store + ?Sized> StoreExt for S {}

fn id(conversation: &(impl AsRef<str> + ?Sized)) -> ConversationId {
    ConversationId::new(conversation.as_ref())
}

/// Applies a batch. If it is unknown whether it was applied, tries once more with the same batch, which is applied at most once.
pub(crate) async fn apply_once(
    store: &(impl Store + ?Sized),
    conversation: &ConversationId,
    batch: Batch,
) -> Result<Revision, StoreError> {
    match store.apply(conversation, batch.clone()).await {
        Err(error) if error.is_outcome_unknown() => store.apply(conversation, batch).await,
        applied => applied,
    }
}

/// Loads all records of a type, in order.
async fn all_of<S: Store + ?Sized, T: RecordType>(
    store: &S,
    conversation: &(impl AsRef<str> + ?Sized),
) -> Result<Vec<Arc<T>>, StoreError> {
    let query = Query::all().kind(T::KIND);
    let loaded = undamaged(store.load(&id(conversation), &query).await?)?;
    let records = loaded.records.iter();
    Ok(records
        .filter_map(|stored| T::of(&stored.record))
        .cloned()
        .collect())
}

/// Fails if a record is damaged: the caller gets no list with a silent gap.
pub(super) fn undamaged(mut loaded: Loaded) -> Result<Loaded, StoreError> {
    match loaded.damaged.pop() {
        None => Ok(loaded),
        Some(damaged) => Err(StoreError::damaged(damaged)),
    }
}
