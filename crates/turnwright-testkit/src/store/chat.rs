//! A conversation of the store under test, with helpers for checks.

use std::sync::Arc;

use turnwright_core::record::{Record, RecordKind};
use turnwright_core::store::{
    Batch, ConversationId, Loaded, Query, Revision, Store, StoreError, StoreExt as _,
};

use super::outcome::{Broken, Outcome, same};
use super::sample::note;

#[derive(Clone)]
pub(super) struct Chat {
    pub(super) store: Arc<dyn Store>,
    pub(super) id: ConversationId,
}

impl Chat {
    pub(super) fn new(store: Arc<dyn Store>, name: &str) -> Self {
        let id = ConversationId::new(name);
        Chat { store, id }
    }

    /// Returns another conversation of the same store.
    pub(super) fn other(&self, name: &str) -> Self {
        Chat::new(Arc::clone(&self.store), name)
    }

    pub(super) async fn apply(&self, batch: Batch) -> Result<Revision, StoreError> {
        self.store.apply(&self.id, batch).await
    }

    /// Applies a batch that must create this revision.
    pub(super) async fn applies(&self, batch: Batch, revision: u64) -> Outcome {
        same("revision", self.apply(batch).await?, Revision(revision))
    }

    /// Applies a batch that must be rejected.
    pub(super) async fn rejects(&self, batch: Batch) -> Result<StoreError, Broken> {
        let shown = format!("{batch:?}");
        match self.apply(batch).await {
            Ok(revision) => Err(Broken(format!("{shown} was applied, with {revision:?}"))),
            Err(error) => Ok(error),
        }
    }

    /// Applies a batch that must fail with a conflict, because it expects another revision than `there`.
    pub(super) async fn conflicts(&self, batch: Batch, there: u64) -> Outcome {
        let found = self.rejects(batch).await?.found_revision();
        let what = "the revision in a conflict";
        same(what, found, Some(Revision(there)))
    }

    /// Applies a batch that must fail because of its lower fencing token.
    pub(super) async fn fences(&self, batch: Batch, by: u64) -> Outcome {
        let found = self.rejects(batch).await?.fenced_by();
        same("the fencing token in the error", found, Some(by))
    }

    pub(super) async fn put(&self, record: Record) -> Result<Revision, StoreError> {
        self.store.put(&self.id, record).await
    }

    /// Puts a memory.
    pub(super) async fn note(&self, id: &str, text: &str) -> Result<Revision, Broken> {
        Ok(self.put(note(id, text)?).await?)
    }

    /// Puts several memories in one batch.
    pub(super) async fn notes(&self, ids: &[&str], text: &str) -> Outcome {
        let records = ids.iter().map(|id| note(id, text));
        let records = records.collect::<Result<Vec<_>, _>>()?;
        self.store.put_all(&self.id, records).await?;
        Ok(())
    }

    /// Deletes a memory.
    pub(super) async fn delete(&self, id: &str) -> Result<Revision, StoreError> {
        self.store.delete(&self.id, RecordKind::Memory, id).await
    }

    pub(super) async fn get(
        &self,
        kind: RecordKind,
        id: &str,
    ) -> Result<Option<Record>, StoreError> {
        self.store.get(&self.id, kind, id).await
    }

    pub(super) async fn load(&self, query: &Query) -> Result<Loaded, StoreError> {
        self.store.load(&self.id, query).await
    }

    pub(super) async fn all(&self) -> Result<Loaded, StoreError> {
        self.load(&Query::all()).await
    }

    /// Returns the ids that a query finds.
    pub(super) async fn ids(&self, query: &Query) -> Result<Vec<String>, StoreError> {
        let records = self.load(query).await?.into_records();
        Ok(records.map(|record| record.id().to_owned()).collect())
    }

    /// Returns the texts of all memories.
    pub(super) async fn texts(&self) -> Result<Vec<String>, StoreError> {
        let memories = self.store.memories(&self.id).await?;
        let texts = memories.iter().map(|memory| memory.text().to_owned());
        Ok(texts.collect())
    }

    /// Asserts all ids.
    pub(super) async fn has_ids<const N: usize>(&self, what: &str, ids: [&str; N]) -> Outcome {
        same(what, self.ids(&Query::all()).await?, ids)
    }

    /// Asserts the texts of all memories.
    pub(super) async fn has_texts<const N: usize>(&self, what: &str, texts: [&str; N]) -> Outcome {
        same(what, self.texts().await?, texts)
    }
}
