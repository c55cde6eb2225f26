//! Records in memory.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use async_trait::async_trait;
use indexmap::{Equivalent, IndexSet};
use parking_lot::{Mutex, RwLock};

use super::{
    Batch, Change, Loaded, Position, Query, Revision, Scope, ScopeFilter, Store, StoreError, Stored,
};
use crate::record::{Record, RecordKind};

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
    /// In order; what was deleted leaves a gap until there are too many.
    places: Vec<Place>,
    /// Where each record stands.
    index: IndexSet<Indexed>,
}

struct Place {
    position: u64,
    record: Option<Record>,
}

/// A record by its kind and id, and which of the places is its own.
struct Indexed {
    record: Record,
    place: usize,
}

/// Gaps that are not worth closing.
const FEW_GAPS: usize = 32;

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
        let place = found.map_or(self.places.len(), |found| found.place);
        match self.places.get_mut(place) {
            Some(place) => place.record = Some(record.clone()),
            None => {
                self.last += 1;
                self.places.push(Place {
                    position: self.last,
                    record: Some(record.clone()),
                });
            }
        }
        self.index.replace(Indexed { record, place });
    }

    fn delete(&mut self, kind: RecordKind, id: &str) {
        let Some(taken) = self.index.swap_take(&(kind, id)) else {
            return;
        };
        if let Some(place) = self.places.get_mut(taken.place) {
            place.record = None;
        }
        // Closing gaps touches everything: done when half is gone, it costs no more than the deletions did.
        let gaps = self.places.len() - self.index.len();
        if gaps > FEW_GAPS && gaps > self.index.len() {
            self.close_gaps();
        }
    }

    fn close_gaps(&mut self) {
        self.places.retain(|place| place.record.is_some());
        let records = (0..).zip(self.places.iter());
        self.index = records
            .filter_map(|(place, it)| {
                let record = it.record.clone()?;
                Some(Indexed { record, place })
            })
            .collect();
    }

    fn load(&self, query: &Query) -> Loaded {
        let after = query.after.map_or(0, |after| after.0);
        let before = query.before.map_or(u64::MAX, |before| before.0);
        let found: Vec<&Place> = match &query.ids {
            Some(ids) => {
                let found = self.find(&query.kinds, ids).into_iter();
                let within = found
                    .filter(|place| (after.saturating_add(1)..before).contains(&place.position));
                few(within, query)
            }
            None => {
                let place_of = |position: u64| {
                    let earlier = |place: &Place| place.position < position;
                    self.places.partition_point(earlier)
                };
                let first = place_of(after.saturating_add(1));
                let within = self.places.get(first..place_of(before).max(first));
                let wanted = |place: &&Place| {
                    let kind = place.record.as_ref().map(Record::kind);
                    kind.is_some_and(|kind| query.kinds.is_empty() || query.kinds.contains(&kind))
                };
                few(within.unwrap_or_default().iter().filter(wanted), query)
            }
        };
        let records = found.into_iter().filter_map(Place::stored).collect();
        Loaded::new(records, Revision(self.revision))
    }

    /// The places of these ids, in order, each once.
    fn find(&self, kinds: &[RecordKind], ids: &[String]) -> Vec<&Place> {
        let kinds = match kinds {
            [] => RecordKind::ALL,
            kinds => kinds,
        };
        let named = ids
            .iter()
            .flat_map(|id| kinds.iter().map(move |kind| (*kind, id.as_str())));
        let mut found: Vec<usize> = named
            .filter_map(|name| self.index.get(&name))
            .map(|found| found.place)
            .collect();
        found.sort_unstable();
        found.dedup();
        found
            .into_iter()
            .filter_map(|place| self.places.get(place))
            .collect()
    }
}

/// As many as the query wants: the oldest or the newest of them, in order either way.
fn few<'p>(found: impl DoubleEndedIterator<Item = &'p Place>, query: &Query) -> Vec<&'p Place> {
    let most = query.limit.unwrap_or(usize::MAX);
    if !query.newest {
        return found.take(most).collect();
    }
    let mut newest: Vec<&Place> = found.rev().take(most).collect();
    newest.reverse();
    newest
}

impl Place {
    fn stored(&self) -> Option<Stored> {
        let record = self.record.clone()?;
        Some(Stored::new(Position(self.position), record))
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
