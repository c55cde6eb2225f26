//! A store as somebody writes it for a database: rows of text, and nothing but the public API.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use turnwright_core::record::{Record, RecordKind, Reopen};
use turnwright_core::spool::MemorySpool;
use turnwright_core::store::{
    Batch, Change, Loaded, Position, Query, Revision, Scope, ScopeFilter, Store, StoreError,
    holding_by_scan,
};

#[derive(Clone)]
pub(super) struct JsonStore {
    tables: Arc<Mutex<Tables>>,
    reopen: Reopen,
}

/// A row for each record, and one for each scope.
#[derive(Clone, Default)]
struct Tables {
    records: BTreeMap<u64, Row>,
    scopes: BTreeMap<String, Head>,
    last: u64,
}

#[derive(Clone)]
struct Row {
    scope: String,
    kind: String,
    id: String,
    json: String,
}

#[derive(Clone, Default)]
struct Head {
    revision: u64,
    fence: u64,
}

impl Default for JsonStore {
    fn default() -> Self {
        JsonStore {
            tables: Arc::default(),
            reopen: Reopen::new(Arc::new(MemorySpool::default())),
        }
    }
}

impl Tables {
    fn place(&self, scope: &Scope, kind: RecordKind, id: &str) -> Option<u64> {
        let found = self.records.iter().find(|(_, row)| {
            row.scope == scope.as_str() && row.kind == kind.as_str() && row.id == id
        });
        found.map(|(place, _)| *place)
    }

    fn change(&mut self, scope: &Scope, change: Change) -> Result<(), StoreError> {
        match change {
            Change::Put(record) => {
                let place = self.place(scope, record.kind(), record.id());
                let place = place.unwrap_or_else(|| {
                    self.last += 1;
                    self.last
                });
                let row = Row {
                    scope: scope.as_str().to_owned(),
                    kind: record.kind().as_str().to_owned(),
                    id: record.id().to_owned(),
                    json: record.to_value().map_err(StoreError::failed)?.to_string(),
                };
                self.records.insert(place, row);
            }
            Change::Delete(kind, id) => {
                let place = self.place(scope, kind, &id);
                place.and_then(|place| self.records.remove(&place));
            }
            _ => return Err(StoreError::failed("a change of a later release")),
        }
        Ok(())
    }
}

impl JsonStore {
    /// Makes a row unreadable.
    pub(super) fn damage(&self, scope: &Scope, kind: RecordKind, id: &str) {
        let mut tables = self.tables.lock();
        let place = tables.place(scope, kind, id);
        if let Some(row) = place.and_then(|place| tables.records.get_mut(&place)) {
            row.json = "{".to_owned();
        }
    }
}

#[async_trait]
impl Store for JsonStore {
    async fn apply(&self, scope: &Scope, batch: Batch) -> Result<Revision, StoreError> {
        let mut tables = self.tables.lock();
        // A transaction: written to a copy, which counts once all is written.
        let mut changed = tables.clone();
        let head = changed.scopes.entry(scope.as_str().to_owned()).or_default();
        if batch.fence.is_some_and(|own| own < head.fence) {
            return Err(StoreError::fenced(head.fence));
        }
        if batch
            .expect
            .is_some_and(|expected| expected.0 != head.revision)
        {
            return Err(StoreError::conflict(Revision(head.revision)));
        }
        head.revision += 1;
        head.fence = batch.fence.unwrap_or(head.fence);
        let revision = Revision(head.revision);
        for change in batch.changes {
            changed.change(scope, change)?;
        }
        *tables = changed;
        Ok(revision)
    }

    async fn load(&self, scope: &Scope, query: &Query) -> Result<Loaded, StoreError> {
        let tables = self.tables.lock();
        let after = query.after.map_or(0, |after| after.0);
        let kinds: Vec<_> = query.kinds.iter().map(|kind| kind.as_str()).collect();
        let found = tables.records.range(after.saturating_add(1)..);
        let found = found.filter(|(place, row)| {
            query.before.is_none_or(|before| **place < before.0)
                && row.scope == scope.as_str()
                && (kinds.is_empty() || kinds.contains(&row.kind.as_str()))
                && query.ids.as_ref().is_none_or(|ids| ids.contains(&row.id))
        });
        let most = query.limit.unwrap_or(usize::MAX);
        let mut found: Vec<_> = match query.newest {
            true => found.rev().take(most).collect(),
            false => found.take(most).collect(),
        };
        if query.newest {
            found.reverse();
        }
        let revision = tables.scopes.get(scope.as_str());
        let revision = Revision(revision.map_or(0, |head| head.revision));
        let mut loaded = Loaded::new(Vec::new(), revision);
        for (place, row) in found {
            let kind =
                RecordKind::named(&row.kind).ok_or_else(|| StoreError::failed("what kind?"))?;
            let record = Record::from_json(kind, &row.json, &self.reopen);
            loaded.add(Position(*place), kind, &row.id, record);
        }
        Ok(loaded)
    }

    async fn scopes(&self, filter: &ScopeFilter) -> Result<Vec<Scope>, StoreError> {
        let tables = self.tables.lock();
        let names = tables.scopes.keys().filter(|name| {
            name.starts_with(filter.prefix.as_deref().unwrap_or_default())
                && filter
                    .after
                    .as_ref()
                    .is_none_or(|after| name.as_str() > after.as_str())
                && tables.records.values().any(|row| row.scope == **name)
        });
        let names = names.take(filter.limit.unwrap_or(usize::MAX));
        Ok(names.map(|name| Scope::new(name.as_str())).collect())
    }

    async fn holding(&self, kind: RecordKind, id: &str) -> Result<Vec<Scope>, StoreError> {
        holding_by_scan(self, kind, id).await
    }

    fn is_persistent(&self) -> bool {
        false
    }

    fn spool(&self) -> Option<Arc<dyn turnwright_core::Spool>> {
        Some(Arc::clone(self.reopen.spool()))
    }
}
