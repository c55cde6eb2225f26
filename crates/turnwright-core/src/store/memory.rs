//! Records in memory.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use indexmap::IndexMap;
use parking_lot::RwLock;

use super::{
    Batch, Change, Loaded, Position, Query, Revision, Scope, ScopeFilter, Store, StoreError, Stored,
};
use crate::record::{Record, RecordKind};

/// Keeps records in memory, for as long as it lives. Clones share it.
#[derive(Clone, Default)]
pub struct MemoryStore(Arc<RwLock<BTreeMap<Scope, Kept>>>);

/// One scope.
#[derive(Default)]
struct Kept {
    revision: u64,
    fence: u64,
    next: u64,
    records: IndexMap<(RecordKind, Box<str>), Stored>,
}

#[async_trait]
impl Store for MemoryStore {
    async fn apply(&self, scope: &Scope, batch: Batch) -> Result<Revision, StoreError> {
        let mut scopes = self.0.write();
        let (revision, fence) = scopes
            .get(scope)
            .map_or((0, 0), |kept| (kept.revision, kept.fence));
        if let Some(by) = batch.fence.filter(|own| *own < fence).map(|_| fence) {
            return Err(StoreError::fenced(by));
        }
        if batch.expect.is_some_and(|expected| expected.0 != revision) {
            return Err(StoreError::conflict(Revision(revision)));
        }
        let kept = match scopes.get_mut(scope) {
            Some(kept) => kept,
            None => scopes.entry(scope.clone()).or_default(),
        };
        kept.fence = kept.fence.max(batch.fence.unwrap_or(0));
        kept.revision += 1;
        for change in batch.changes {
            kept.change(change);
        }
        Ok(Revision(kept.revision))
    }

    async fn load(&self, scope: &Scope, query: &Query) -> Result<Loaded, StoreError> {
        let scopes = self.0.read();
        let Some(kept) = scopes.get(scope) else {
            return Ok(Loaded::default());
        };
        let wanted = |stored: &&Stored| {
            let record = &stored.record;
            (query.kinds.is_empty() || query.kinds.contains(&record.kind()))
                && query.after.is_none_or(|place| stored.position > place)
                && query
                    .ids
                    .as_ref()
                    .is_none_or(|ids| ids.iter().any(|id| id == record.id()))
        };
        let records = kept.records.values().filter(wanted);
        let records = records.take(query.limit.unwrap_or(usize::MAX)).cloned();
        Ok(Loaded::new(records.collect(), Revision(kept.revision)))
    }

    async fn scopes(&self, filter: &ScopeFilter) -> Result<Vec<Scope>, StoreError> {
        let scopes = self.0.read();
        let wanted = |scope: &&Scope| {
            filter
                .prefix
                .as_ref()
                .is_none_or(|prefix| scope.as_str().starts_with(prefix))
                && filter.after.as_ref().is_none_or(|after| *scope > after)
        };
        let holding = scopes
            .iter()
            .filter(|(_, kept)| !kept.records.is_empty())
            .map(|(scope, _)| scope);
        Ok(holding
            .filter(wanted)
            .take(filter.limit.unwrap_or(usize::MAX))
            .cloned()
            .collect())
    }
}

impl Kept {
    fn change(&mut self, change: Change) {
        match change {
            Change::Put(record) => self.put(record),
            Change::Delete(kind, id) => {
                self.records.shift_remove(&(kind, id.into_boxed_str()));
            }
        }
    }

    fn put(&mut self, record: Record) {
        let key = (record.kind(), record.id().into());
        match self.records.get_mut(&key) {
            Some(stored) => stored.record = record,
            None => {
                self.next += 1;
                let stored = Stored::new(Position(self.next), record);
                self.records.insert(key, stored);
            }
        }
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryStore({} scopes)", self.0.read().len())
    }
}
