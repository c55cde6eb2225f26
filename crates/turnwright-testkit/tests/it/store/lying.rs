//! Stores that break one promise each, as stores do.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use serde_json::Value;
use turnwright_core::record::{Record, RecordKind, Reopen};
use turnwright_core::spool::MemorySpool;
use turnwright_core::store::{
    Batch, Change, Loaded, MemoryStore, Query, Revision, Scope, ScopeFilter, Store, StoreError,
    holding_by_scan,
};
use turnwright_testkit::store::{Report, try_conformance};

#[derive(Clone, Copy, PartialEq)]
enum Lie {
    NoExpect,
    NoFence,
    ExpectBeforeFence,
    LookThenWrite,
    OneByOne,
    NoTransaction,
    NothingForEmpty,
    Backwards,
    NoLimit,
    AnyCaseScopes,
    TrimmedScopes,
    PatternPrefix,
    ScopesUnsorted,
    Milliseconds,
    NoProviderState,
}

struct Liar(Lie, MemoryStore, AtomicUsize);

impl Liar {
    fn named(&self, scope: &Scope) -> Scope {
        match self.0 {
            Lie::AnyCaseScopes => Scope::new(scope.as_str().to_lowercase()),
            Lie::TrimmedScopes => Scope::new(scope.as_str().trim_end()),
            _ => scope.clone(),
        }
    }

    fn kept(&self, record: Record) -> Record {
        let Ok(mut value) = record.to_value() else {
            return record;
        };
        let map = value.as_object_mut().unwrap();
        match self.0 {
            Lie::Milliseconds => {
                for (_, at) in map.iter_mut().filter(|(name, _)| name.ends_with("At")) {
                    let text = at.as_str().unwrap();
                    *at = Value::from(format!("{}Z", &text[..text.len() - 7]));
                }
            }
            Lie::NoProviderState if record.id().starts_with("c-") => {
                map.remove("providerState");
            }
            _ => return record,
        }
        let reopen = Reopen::new(Arc::new(MemorySpool::default()));
        Record::from_value(record.kind(), &value, &reopen).unwrap()
    }
}

#[async_trait]
impl Store for Liar {
    async fn apply(&self, scope: &Scope, mut batch: Batch) -> Result<Revision, StoreError> {
        let (scope, store) = (self.named(scope), &self.1);
        match self.0 {
            Lie::NoExpect => batch.expect = None,
            Lie::NoFence => batch.fence = None,
            Lie::ExpectBeforeFence => {
                let there = store.load(&scope, &Query::all()).await?.revision;
                if batch.expect.is_some_and(|expected| expected != there) {
                    return Err(StoreError::conflict(there));
                }
            }
            Lie::LookThenWrite => {
                if let Some(expected) = batch.expect.take() {
                    let there = store.load(&scope, &Query::all()).await?.revision;
                    if there != expected {
                        return Err(StoreError::conflict(there));
                    }
                    // Others get their chance to look as well.
                    let looked = self.2.fetch_add(1, Ordering::SeqCst);
                    for _ in 0..1_000 {
                        if self.2.load(Ordering::SeqCst) > looked + 1 {
                            break;
                        }
                        std::thread::yield_now();
                    }
                }
            }
            Lie::OneByOne => {
                let mut revision = Revision(0);
                for change in std::mem::take(&mut batch.changes) {
                    let mut single = batch.clone();
                    single.changes.push(change);
                    revision = store.apply(&scope, single).await?;
                }
                return Ok(revision);
            }
            Lie::NoTransaction => {
                let unwritable = batch.changes.iter().position(
                    |change| matches!(change, Change::Put(record) if record.to_value().is_err()),
                );
                if let Some(first) = unwritable {
                    batch.changes.truncate(first);
                    store.apply(&scope, batch).await?;
                    return Err(StoreError::failed("the record cannot be written"));
                }
            }
            Lie::NothingForEmpty if batch.changes.is_empty() => {
                return Ok(store.load(&scope, &Query::all()).await?.revision);
            }
            _ => {}
        }
        for change in &mut batch.changes {
            if let Change::Put(record) = change {
                *record = self.kept(record.clone());
            }
        }
        store.apply(&scope, batch).await
    }

    async fn load(&self, scope: &Scope, query: &Query) -> Result<Loaded, StoreError> {
        let mut query = query.clone();
        if self.0 == Lie::NoLimit {
            query.limit = None;
        }
        let mut loaded = self.1.load(&self.named(scope), &query).await?;
        if self.0 == Lie::Backwards {
            loaded.records.reverse();
        }
        Ok(loaded)
    }

    async fn scopes(&self, filter: &ScopeFilter) -> Result<Vec<Scope>, StoreError> {
        let mut filter = filter.clone();
        if self.0 == Lie::PatternPrefix {
            let prefix = filter.prefix.take().unwrap_or_default();
            let mut found = self.1.scopes(&filter).await?;
            found.retain(|scope| {
                let name: String = scope
                    .as_str()
                    .chars()
                    .take(prefix.chars().count())
                    .collect();
                let fits = |(a, b): (char, char)| a == b || b == '_';
                name.chars().count() == prefix.chars().count()
                    && name.chars().zip(prefix.chars()).all(fits)
            });
            return Ok(found);
        }
        let mut found = self.1.scopes(&filter).await?;
        if self.0 == Lie::ScopesUnsorted {
            found.sort_by_key(|scope| scope.as_str().to_lowercase());
        }
        Ok(found)
    }

    async fn holding(&self, kind: RecordKind, id: &str) -> Result<Vec<Scope>, StoreError> {
        holding_by_scan(self, kind, id).await
    }

    fn is_persistent(&self) -> bool {
        self.1.is_persistent()
    }

    fn spool(&self) -> Option<Arc<dyn turnwright_core::Spool>> {
        self.1.spool()
    }
}

async fn report(lie: Lie) -> Report {
    try_conformance(async || Liar(lie, MemoryStore::default(), AtomicUsize::new(0))).await
}

#[tokio::test]
async fn every_lie_is_found_by_the_promise_that_it_breaks() {
    for (lie, broken) in [
        (
            Lie::NoExpect,
            "a batch that expects another revision changes nothing",
        ),
        (Lie::NoFence, "a lower fence is refused and changes nothing"),
        (
            Lie::ExpectBeforeFence,
            "fenced goes before conflict, and a refused batch sets no fence",
        ),
        (Lie::OneByOne, "whoever reads sees a batch whole"),
        (
            Lie::NoTransaction,
            "a batch of which one record cannot be kept changes nothing",
        ),
        (
            Lie::NothingForEmpty,
            "every applied batch makes a new revision, an empty one too",
        ),
        (
            Lie::Backwards,
            "records come back in the order in which they were first written",
        ),
        (Lie::NoLimit, "the conditions of a query hold together"),
        (
            Lie::AnyCaseScopes,
            "scopes are any text, and no two are mixed up",
        ),
        (
            Lie::TrimmedScopes,
            "scopes are any text, and no two are mixed up",
        ),
        (Lie::PatternPrefix, "a prefix is text and no pattern"),
        (
            Lie::ScopesUnsorted,
            "scopes are listed by their names' bytes, and only those that hold records",
        ),
        (
            Lie::Milliseconds,
            "records of every kind come back as they were",
        ),
        (
            Lie::NoProviderState,
            "records of every kind come back as they were",
        ),
    ] {
        let report = report(lie).await;
        let found = report
            .broken
            .iter()
            .any(|finding| finding.promise == broken);
        assert!(found, "{broken}\n{report}");
    }
}

#[tokio::test]
async fn who_looks_first_and_writes_then_is_found_by_the_races() {
    // A race is won now and then: it is enough to lose one.
    for _ in 0..20 {
        let report = report(Lie::LookThenWrite).await;
        let races = [
            "of writers who expect the same revision exactly one wins",
            "no update is lost",
        ];
        if report
            .broken
            .iter()
            .any(|finding| races.contains(&finding.promise))
        {
            return;
        }
    }
    panic!("nobody noticed");
}
