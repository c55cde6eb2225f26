//! Records in memory.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use indexmap::{Equivalent, IndexSet};
use parking_lot::{Mutex, RwLock};

use super::{
    Batch, Change, Loaded, Position, Query, Revision, Scope, ScopeFilter, Store, StoreError, Stored,
};
use crate::record::{Record, RecordKind};
use crate::spool::Spool;

/// Keeps records in memory, for as long as it lives. Clones share it.
///
/// ```
/// use turnwright_core::record::Message;
/// use turnwright_core::store::{MemoryStore, Scope, StoreExt as _};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let (store, scope) = (MemoryStore::default(), Scope::new("chat-1"));
/// store.put(&scope, Message::user("Hello!").build()?).await?;
/// assert_eq!(store.messages(&scope).await?[0].text(), "Hello!");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Default)]
pub struct MemoryStore(Arc<RwLock<BTreeMap<Scope, Mutex<Kept>>>>);

/// One scope.
#[derive(Default)]
struct Kept {
    revision: u64,
    fence: u64,
    last: u64,
    /// The records of each kind by their positions, so that a query for some kinds passes over no others.
    kinds: BTreeMap<RecordKind, BTreeMap<u64, Record>>,
    /// Where each record stands.
    index: IndexSet<Indexed>,
}

/// A record by its kind and id, and its position.
struct Indexed {
    record: Record,
    position: u64,
}

#[async_trait]
impl Store for MemoryStore {
    async fn apply(&self, scope: &Scope, batch: Batch) -> Result<Revision, StoreError> {
        if let Some(kept) = self.0.read().get(scope) {
            return kept.lock().apply(batch);
        }
        // Somebody may have been faster.
        let mut scopes = self.0.write();
        match scopes.get_mut(scope) {
            Some(kept) => kept.get_mut().apply(batch),
            None => {
                let mut kept = Kept::default();
                let revision = kept.apply(batch)?;
                scopes.insert(scope.clone(), Mutex::new(kept));
                Ok(revision)
            }
        }
    }

    async fn load(&self, scope: &Scope, query: &Query) -> Result<Loaded, StoreError> {
        let scopes = self.0.read();
        Ok(scopes
            .get(scope)
            .map_or_else(Loaded::default, |kept| kept.lock().load(query)))
    }

    async fn scopes(&self, filter: &ScopeFilter) -> Result<Vec<Scope>, StoreError> {
        let scopes = self.0.read();
        let wanted = |scope: &Scope| {
            let prefix = filter.prefix.as_deref().unwrap_or_default();
            scope.as_str().starts_with(prefix)
                && filter.after.as_ref().is_none_or(|after| scope > after)
        };
        let holding = scopes
            .iter()
            .filter(|(scope, kept)| wanted(scope) && !kept.lock().index.is_empty());
        Ok(holding
            .take(filter.limit.unwrap_or(usize::MAX))
            .map(|(scope, _)| scope.clone())
            .collect())
    }

    async fn holding(&self, kind: RecordKind, id: &str) -> Result<Vec<Scope>, StoreError> {
        let scopes = self.0.read();
        let holds = |kept: &Mutex<Kept>| kept.lock().index.contains(&(kind, id));
        let holding = scopes.iter().filter(|(_, kept)| holds(kept));
        Ok(holding.map(|(scope, _)| scope.clone()).collect())
    }

    fn is_persistent(&self) -> bool {
        false
    }

    /// Records are stored as they are, with their readers.
    fn spool(&self) -> Option<Arc<dyn Spool>> {
        None
    }
}

impl Kept {
    /// Nothing can fail once the batch is let in.
    fn apply(&mut self, batch: Batch) -> Result<Revision, StoreError> {
        if batch.fence.is_some_and(|own| own < self.fence) {
            return Err(StoreError::fenced(self.fence));
        }
        let revision = Revision(self.revision);
        if batch.expect.is_some_and(|expected| expected != revision) {
            return Err(StoreError::conflict(revision));
        }
        self.fence = batch.fence.unwrap_or(self.fence);
        self.revision += 1;
        for change in batch.changes {
            match change {
                Change::Put(record) => self.put(record),
                Change::Delete(kind, id) => self.delete(kind, &id),
            }
        }
        Ok(Revision(self.revision))
    }

    fn put(&mut self, record: Record) {
        let found = self.index.get(&(record.kind(), record.id()));
        let position = found.map_or(self.last + 1, |found| found.position);
        self.last = self.last.max(position);
        let of_kind = self.kinds.entry(record.kind()).or_default();
        of_kind.insert(position, record.clone());
        self.index.replace(Indexed { record, position });
    }

    fn delete(&mut self, kind: RecordKind, id: &str) {
        let Some(taken) = self.index.swap_take(&(kind, id)) else {
            return;
        };
        if let Some(of_kind) = self.kinds.get_mut(&kind) {
            of_kind.remove(&taken.position);
        }
    }

    fn load(&self, query: &Query) -> Loaded {
        let first = query.after.map_or(0, |after| after.0.saturating_add(1));
        let last = query.before.map_or(u64::MAX, |before| before.0);
        let within = first..last.max(first);
        let mut found: Vec<(u64, &Record)> = match &query.ids {
            Some(ids) => self.find(&query.kinds, ids, &within),
            None => self.range(query, &within),
        };
        // Most of it is in order already: one run for each kind.
        found.sort_by_key(|(position, _)| *position);
        let most = query.limit.unwrap_or(usize::MAX);
        let skipped = match query.newest {
            true => found.len().saturating_sub(most),
            false => 0,
        };
        let found = found.into_iter().skip(skipped).take(most);
        let records = found.map(|(at, record)| Stored::new(Position(at), record.clone()));
        Loaded::new(records.collect(), Revision(self.revision))
    }

    /// The records of the query's kinds at these positions, of each kind no more than are asked for.
    fn range(&self, query: &Query, within: &Range<u64>) -> Vec<(u64, &Record)> {
        let most = query.limit.unwrap_or(usize::MAX);
        let mut found = Vec::new();
        let wanted = |kind: &RecordKind| query.kinds.is_empty() || query.kinds.contains(kind);
        for (_, of_kind) in self.kinds.iter().filter(|(kind, _)| wanted(kind)) {
            let records = of_kind.range(within.clone());
            let records = records.map(|(position, record)| (*position, record));
            match query.newest {
                false => found.extend(records.take(most)),
                true => {
                    let from = found.len();
                    found.extend(records.rev().take(most));
                    if let Some(newest) = found.get_mut(from..) {
                        newest.reverse();
                    }
                }
            }
        }
        found
    }

    /// The records of these ids at these positions, each once.
    fn find(
        &self,
        kinds: &[RecordKind],
        ids: &[String],
        within: &Range<u64>,
    ) -> Vec<(u64, &Record)> {
        let kinds = match kinds {
            [] => RecordKind::ALL,
            kinds => kinds,
        };
        let named = ids
            .iter()
            .flat_map(|id| kinds.iter().map(move |kind| (*kind, id.as_str())));
        let found = named.filter_map(|name| self.index.get(&name));
        let mut found: Vec<_> = found
            .filter(|found| within.contains(&found.position))
            .map(|found| (found.position, &found.record))
            .collect();
        found.sort_by_key(|(position, _)| *position);
        found.dedup_by_key(|(position, _)| *position);
        found
    }
}

impl Indexed {
    fn name(&self) -> (RecordKind, &str) {
        (self.record.kind(), self.record.id())
    }
}

impl Hash for Indexed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl PartialEq for Indexed {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Indexed {}

impl Equivalent<Indexed> for (RecordKind, &str) {
    fn equivalent(&self, indexed: &Indexed) -> bool {
        *self == indexed.name()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryStore({} scopes)", self.0.read().len())
    }
}
