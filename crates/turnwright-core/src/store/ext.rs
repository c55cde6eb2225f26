//! What is comfortable about a store.

use std::sync::Arc;

use async_trait::async_trait;

use super::{Batch, Loaded, Pages, Query, Revision, Scope, Store, StoreError};
use crate::record::{
    CallState, GateRecord, Lease, LedgerEntry, Memory, Message, Record, RecordKind, Retrievable,
    StandingInstruction, Thought, ToolCall, TurnRecord,
};

/// How often a change is tried against others that write the same scope.
const MOST_TRIES: usize = 100;

/// What every [`Store`] can do besides.
///
/// Methods that return records return all of those that they name. If one of them is damaged, they fail with an error
/// that names it ([`StoreError::damaged_record`]). [`Store::load`] and [`StoreExt::pages`] give the others.
///
/// ```
/// use turnwright_core::record::Memory;
/// use turnwright_core::store::{Batch, MemoryStore, Query, Scope, StoreExt as _};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let (store, scope) = (MemoryStore::default(), Scope::new("ada"));
/// let likes = Memory::new("The user likes short answers.").build()?;
/// store.put_all(&scope, [likes.into()]).await?;
///
/// // Changes what is there, again if somebody else was faster:
/// let note = Memory::new("Knows Rust.").id("knows").build()?;
/// store.update(&scope, &Query::all(), |now| match now.records.len() {
///     0..10 => Batch::new().put(note.clone()),
///     _ => Batch::new(),
/// }).await?;
///
/// let mut pages = store.pages(&scope, Query::all());
/// let mut count = 0;
/// while let Some(stored) = pages.next().await {
///     stored?;
///     count += 1;
/// }
/// assert_eq!(count, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[async_trait]
pub trait StoreExt: Store {
    /// Puts one record.
    ///
    /// # Errors
    /// As [`Store::apply`].
    async fn put<R>(&self, scope: &Scope, record: R) -> Result<Revision, StoreError>
    where
        R: Into<Record> + Send,
    {
        let batch = Batch::new().put(record);
        self.apply(scope, batch).await
    }

    /// Puts records, all or none.
    ///
    /// # Errors
    /// As [`Store::apply`].
    async fn put_all<R>(&self, scope: &Scope, records: R) -> Result<Revision, StoreError>
    where
        R: IntoIterator<Item = Record> + Send,
    {
        let batch = records.into_iter().fold(Batch::new(), Batch::put);
        self.apply(scope, batch).await
    }

    /// Takes a record away, if it is there.
    ///
    /// # Errors
    /// As [`Store::apply`].
    async fn delete(
        &self,
        scope: &Scope,
        kind: RecordKind,
        id: &str,
    ) -> Result<Revision, StoreError> {
        self.apply(scope, Batch::new().delete(kind, id)).await
    }

    /// Takes all records of a scope away, all or none. A turn that runs there is cut off: its next write is refused.
    ///
    /// Results that only the records hold, as with the default spool of a runner, are released. What a spool keeps by id
    /// stays there: [`Record::artifacts`] says under which ids, before they are deleted.
    ///
    /// Damaged records go too.
    ///
    /// # Errors
    /// As [`StoreExt::update`]; [`StoreError::damaged_record`], and nothing is deleted, if a record has no kind any more.
    async fn delete_scope(&self, scope: &Scope) -> Result<Revision, StoreError> {
        // A lease that cannot be read does not say which fence it has.
        let lease = Query::all().kind(RecordKind::Lease).ids([Lease::ID]);
        let fence = match self.load(scope, &lease).await?.damaged.is_empty() {
            true => None,
            false => Some(fence_of(self, scope).await?.saturating_add(1)),
        };
        let mut unnamed = None;
        let all = Query::all();
        let deleted = self.update(scope, &all, |loaded| {
            let records = loaded.records.iter().map(|stored| &stored.record);
            let mut batch = records.fold(Batch::new(), |batch, it| {
                let batch = batch.delete(it.kind(), it.id());
                match it {
                    Record::Lease(lease) => batch.fence(lease.fence().saturating_add(1)),
                    _ => batch,
                }
            });
            batch.fence = batch.fence.or(fence);
            for it in &loaded.damaged {
                match it.kind {
                    Some(kind) => batch = batch.delete(kind, &*it.id),
                    None => {
                        unnamed = Some(it.clone());
                        return Batch::new();
                    }
                }
            }
            batch
        });
        let deleted = deleted.await?;
        match unnamed {
            None => Ok(deleted),
            Some(record) => Err(StoreError::damaged(record)),
        }
    }

    /// The record of this kind and id, if it is there.
    ///
    /// # Errors
    /// As [`Store::load`].
    async fn get(
        &self,
        scope: &Scope,
        kind: RecordKind,
        id: &str,
    ) -> Result<Option<Record>, StoreError> {
        let query = Query::all().kind(kind).ids([id]);
        let found = whole(self.load(scope, &query).await?)?;
        Ok(found.into_records().next())
    }

    /// All records of a scope, in order.
    ///
    /// # Errors
    /// As [`Store::load`].
    async fn records(&self, scope: &Scope) -> Result<Vec<Record>, StoreError> {
        let loaded = whole(self.load(scope, &Query::all()).await?)?;
        Ok(loaded.into_records().collect())
    }

    /// What was said, in order.
    ///
    /// # Errors
    /// As [`Store::load`].
    async fn messages(&self, scope: &Scope) -> Result<Vec<Arc<Message>>, StoreError> {
        let all = whole(
            self.load(scope, &Query::all().kind(RecordKind::Message))
                .await?,
        )?;
        Ok(all
            .into_records()
            .filter_map(Record::into_message)
            .collect())
    }

    /// What the model thought, in order.
    ///
    /// # Errors
    /// As [`Store::load`].
    async fn thoughts(&self, scope: &Scope) -> Result<Vec<Arc<Thought>>, StoreError> {
        let all = whole(
            self.load(scope, &Query::all().kind(RecordKind::Thought))
                .await?,
        )?;
        Ok(all
            .into_records()
            .filter_map(Record::into_thought)
            .collect())
    }

    /// The calls, in order.
    ///
    /// # Errors
    /// As [`Store::load`].
    async fn tool_calls(&self, scope: &Scope) -> Result<Vec<Arc<ToolCall>>, StoreError> {
        let all = whole(
            self.load(scope, &Query::all().kind(RecordKind::ToolCall))
                .await?,
        )?;
        Ok(all
            .into_records()
            .filter_map(Record::into_tool_call)
            .collect())
    }

    /// What is remembered, in order.
    ///
    /// # Errors
    /// As [`Store::load`].
    async fn memories(&self, scope: &Scope) -> Result<Vec<Arc<Memory>>, StoreError> {
        let all = whole(
            self.load(scope, &Query::all().kind(RecordKind::Memory))
                .await?,
        )?;
        Ok(all.into_records().filter_map(Record::into_memory).collect())
    }

    /// What was looked up, in order.
    ///
    /// # Errors
    /// As [`Store::load`].
    async fn retrievables(&self, scope: &Scope) -> Result<Vec<Arc<Retrievable>>, StoreError> {
        let all = whole(
            self.load(scope, &Query::all().kind(RecordKind::Retrievable))
                .await?,
        )?;
        Ok(all
            .into_records()
            .filter_map(Record::into_retrievable)
            .collect())
    }

    /// What always holds, in order.
    ///
    /// # Errors
    /// As [`Store::load`].
    async fn instructions(
        &self,
        scope: &Scope,
    ) -> Result<Vec<Arc<StandingInstruction>>, StoreError> {
        let all = whole(
            self.load(scope, &Query::all().kind(RecordKind::Instruction))
                .await?,
        )?;
        Ok(all
            .into_records()
            .filter_map(Record::into_instruction)
            .collect())
    }

    /// The lines of the ledger, in order.
    ///
    /// # Errors
    /// As [`Store::load`].
    async fn ledger(&self, scope: &Scope) -> Result<Vec<Arc<LedgerEntry>>, StoreError> {
        let all = whole(
            self.load(scope, &Query::all().kind(RecordKind::Ledger))
                .await?,
        )?;
        Ok(all.into_records().filter_map(Record::into_ledger).collect())
    }

    /// The turns, in order.
    ///
    /// # Errors
    /// As [`Store::load`].
    async fn turns(&self, scope: &Scope) -> Result<Vec<Arc<TurnRecord>>, StoreError> {
        let all = whole(
            self.load(scope, &Query::all().kind(RecordKind::Turn))
                .await?,
        )?;
        Ok(all.into_records().filter_map(Record::into_turn).collect())
    }

    /// The gates where turns wait or have waited, in order.
    ///
    /// # Errors
    /// As [`Store::load`].
    async fn gates(&self, scope: &Scope) -> Result<Vec<Arc<GateRecord>>, StoreError> {
        let all = whole(
            self.load(scope, &Query::all().kind(RecordKind::Gate))
                .await?,
        )?;
        Ok(all.into_records().filter_map(Record::into_gate).collect())
    }

    /// Who runs a turn of this conversation, or did so last.
    ///
    /// # Errors
    /// As [`Store::load`].
    async fn lease(&self, scope: &Scope) -> Result<Option<Arc<Lease>>, StoreError> {
        let found = self.get(scope, RecordKind::Lease, Lease::ID).await?;
        Ok(found.and_then(Record::into_lease))
    }

    /// The calls that were begun and never ended. Unless they run right now, their process came to its end before they did:
    /// they may have had their effect or not. [`TurnRunner::resume`](crate::TurnRunner::resume) takes up their turn, and a new
    /// turn of the conversation closes them as unknown.
    ///
    /// # Errors
    /// As [`Store::load`].
    async fn unfinished(&self, scope: &Scope) -> Result<Vec<Arc<LedgerEntry>>, StoreError> {
        let mut entries = self.ledger(scope).await?;
        entries.retain(|entry| entry.state() == CallState::Begun);
        Ok(entries)
    }

    /// The records that a query asks for, one after the other, without holding all of them.
    fn pages<'s>(&'s self, scope: &'s Scope, query: Query) -> Pages<'s, Self> {
        Pages::new(self, scope, query)
    }

    /// Loads, makes a batch of what is there, and applies it if nobody has written in between; if somebody has, all of it
    /// again. A batch without changes and without fence is not applied.
    ///
    /// # Errors
    /// As [`Store::load`] and [`Store::apply`]; [`StoreError::conflict`] after a hundred tries.
    async fn update<F>(
        &self,
        scope: &Scope,
        query: &Query,
        mut change: F,
    ) -> Result<Revision, StoreError>
    where
        F: FnMut(&Loaded) -> Batch + Send,
    {
        let mut tries = 0;
        loop {
            let loaded = self.load(scope, query).await?;
            let batch = change(&loaded);
            let revision = loaded.revision;
            drop(loaded);
            if batch.changes.is_empty() && batch.fence.is_none() {
                return Ok(revision);
            }
            tries += 1;
            match self.apply(scope, batch.expect(revision)).await {
                Err(error) if error.found_revision().is_some() && tries < MOST_TRIES => {}
                done => return done,
            }
        }
    }
}

impl<S: Store + ?Sized> StoreExt for S {}

/// Fails if anything of it is damaged: the caller gets no list with a silent gap.
fn whole(mut loaded: Loaded) -> Result<Loaded, StoreError> {
    match loaded.damaged.is_empty() {
        true => Ok(loaded),
        false => Err(StoreError::damaged(loaded.damaged.swap_remove(0))),
    }
}

/// The highest fence that was set in a scope. Asked by a batch without changes whose fence is lower than any other.
pub(crate) async fn fence_of<S: Store + ?Sized>(
    store: &S,
    scope: &Scope,
) -> Result<u64, StoreError> {
    match store.apply(scope, Batch::new().fence(0)).await {
        Ok(_) => Ok(0),
        Err(error) => error.fenced_by().ok_or(error),
    }
}
