//! Stores with one defect each.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use turnwright_core::spool::Spool;

use async_trait::async_trait;
use serde_json::Value;
use turnwright_core::record::{ByteResolver, Record, RecordKind};
use turnwright_core::spool::MemorySpool;
use turnwright_core::store::{
    Batch, BatchId, Change, Changes, ConversationFilter, ConversationId, FoundConversation,
    FoundTurn, Loaded, MemoryStore, Query, Revision, Store, StoreError, TurnFilter,
};
use turnwright_testkit::store::{Report, try_conformance};

#[derive(Clone, Copy, PartialEq)]
enum Defect {
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
    NoResponseId,
    NoBatchIds,
    BatchIdsAlone,
    NoToken,
    NoDeletions,
    AllChanges,
    KnowsEverything,
    TurnsUnsorted,
    NoTurnCursor,
    NoLeases,
    NoGates,
    NoOwners,
    AnyLabel,
    LabelPattern,
    NoInfos,
    OldInfos,
}

struct DefectiveStore(Defect, AtomicUsize, MemoryStore);

impl DefectiveStore {
    fn named(&self, conversation_id: &ConversationId) -> ConversationId {
        match self.0 {
            Defect::AnyCaseScopes => ConversationId::new(conversation_id.as_str().to_lowercase()),
            Defect::TrimmedScopes => ConversationId::new(conversation_id.as_str().trim_end()),
            _ => conversation_id.clone(),
        }
    }

    fn stored(&self, record: Record) -> Record {
        let Ok(mut value) = record.to_value() else {
            return record;
        };
        let map = value.as_object_mut().unwrap();
        match self.0 {
            Defect::Milliseconds => {
                for (_, at) in map.iter_mut().filter(|(name, _)| name.ends_with("At")) {
                    let text = at.as_str().unwrap();
                    *at = Value::from(format!("{}Z", &text[..text.len() - 7]));
                }
            }
            Defect::NoProviderState if record.id().starts_with("c-") => {
                map.remove("providerState");
            }
            Defect::NoResponseId if record.id() == "t" => {
                map.remove("response");
                map.remove("responseCut");
            }
            _ => return record,
        }
        let reopen = ByteResolver::new(Arc::new(MemorySpool::default()));
        Record::from_value(record.kind(), &value, &reopen).unwrap()
    }
}

#[async_trait]
impl Store for DefectiveStore {
    async fn apply(
        &self,
        conversation_id: &ConversationId,
        mut batch: Batch,
    ) -> Result<Revision, StoreError> {
        let conversation_id = self.named(conversation_id);
        match self.0 {
            Defect::NoBatchIds => batch.id = BatchId::random(),
            Defect::OldInfos => {
                let is_info = |change: &Change| change.key().0 == RecordKind::ConversationInfo;
                batch
                    .changes
                    .retain(|change| !is_info(change) || matches!(change, Change::Put(_)));
            }
            Defect::BatchIdsAlone => {
                return match self.2.apply(&conversation_id, batch).await {
                    Err(error) if error.is_batch_id_reused() => Ok(Revision(1)),
                    applied => applied,
                };
            }
            Defect::NoExpect => batch.expect = None,
            Defect::NoFence => batch.fencing_token = None,
            Defect::ExpectBeforeFence => {
                let there = self.2.load(&conversation_id, &Query::all()).await?.revision;
                if batch.expect.is_some_and(|expected| expected != there) {
                    return Err(StoreError::conflict(there));
                }
            }
            Defect::LookThenWrite => {
                if let Some(expected) = batch.expect.take() {
                    let there = self.2.load(&conversation_id, &Query::all()).await?.revision;
                    if there != expected {
                        return Err(StoreError::conflict(there));
                    }
                    // Gives others a chance to read.
                    let looked = self.1.fetch_add(1, Ordering::SeqCst);
                    for _ in 0..1_000 {
                        if self.1.load(Ordering::SeqCst) > looked + 1 {
                            break;
                        }
                        std::thread::yield_now();
                    }
                }
            }
            Defect::OneByOne => {
                let mut revision = Revision(0);
                for change in std::mem::take(&mut batch.changes) {
                    let mut single = batch.clone();
                    single.changes.push(change);
                    single.id = BatchId::random();
                    revision = self.2.apply(&conversation_id, single).await?;
                }
                return Ok(revision);
            }
            Defect::NoTransaction => {
                let unwritable = batch.changes.iter().position(
                    |change| matches!(change, Change::Put(record) if record.to_value().is_err()),
                );
                if let Some(first) = unwritable {
                    batch.changes.truncate(first);
                    self.2.apply(&conversation_id, batch).await?;
                    return Err(StoreError::failed("the record cannot be written"));
                }
            }
            Defect::NothingForEmpty if batch.changes.is_empty() => {
                return Ok(self.2.load(&conversation_id, &Query::all()).await?.revision);
            }
            _ => {}
        }
        for change in &mut batch.changes {
            if let Change::Put(record) = change {
                *record = self.stored(record.clone());
            }
        }
        self.2.apply(&conversation_id, batch).await
    }

    async fn load(
        &self,
        conversation_id: &ConversationId,
        query: &Query,
    ) -> Result<Loaded, StoreError> {
        let mut query = query.clone();
        if self.0 == Defect::NoLimit {
            query.limit = None;
        }
        let mut loaded = self.2.load(&self.named(conversation_id), &query).await?;
        if self.0 == Defect::Backwards {
            loaded.records.reverse();
        }
        if self.0 == Defect::NoToken {
            loaded.fencing_token = 0;
        }
        Ok(loaded)
    }

    async fn conversations(
        &self,
        filter: &ConversationFilter,
    ) -> Result<Vec<FoundConversation>, StoreError> {
        let mut filter = filter.clone();
        if self.0 == Defect::PatternPrefix {
            let prefix = filter.prefix.take().unwrap_or_default();
            let mut found = self.2.conversations(&filter).await?;
            found.retain(|one| {
                let name: String = one
                    .id
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
        match self.0 {
            Defect::NoOwners => filter.owner = None,
            // Only the first label counts.
            Defect::AnyLabel => filter.labels.truncate(1),
            Defect::LabelPattern => filter.labels.retain(|(_, value)| value != "%"),
            _ => {}
        }
        let mut found = self.2.conversations(&filter).await?;
        match self.0 {
            Defect::ScopesUnsorted => found.sort_by_key(|one| one.id.as_str().to_lowercase()),
            Defect::NoInfos => found.iter_mut().for_each(|one| one.info = None),
            _ => {}
        }
        Ok(found)
    }

    async fn find_turns(&self, filter: &TurnFilter) -> Result<Vec<FoundTurn>, StoreError> {
        let mut filter = filter.clone();
        if self.0 == Defect::NoTurnCursor {
            filter.after = None;
        }
        let mut found = self.2.find_turns(&filter).await?;
        match self.0 {
            Defect::TurnsUnsorted => found.sort_by_key(|turn| turn.conversation.clone()),
            Defect::NoLeases => found.iter_mut().for_each(|turn| turn.lease = None),
            Defect::NoGates => found.iter_mut().for_each(|turn| turn.open_gates.clear()),
            _ => {}
        }
        Ok(found)
    }

    async fn changed(
        &self,
        conversation_id: &ConversationId,
        since: Revision,
    ) -> Result<Changes, StoreError> {
        let conversation_id = self.named(conversation_id);
        let all = self.2.load(&conversation_id, &Query::all()).await?;
        Ok(
            match (self.0, self.2.changed(&conversation_id, since).await?) {
                (Defect::NoDeletions, Changes::Since { put, .. }) => Changes::Since {
                    put,
                    deleted: Vec::new(),
                },
                (Defect::AllChanges, Changes::Since { deleted, .. }) => {
                    Changes::Since { put: all, deleted }
                }
                (Defect::KnowsEverything, Changes::Unknown) => Changes::Since {
                    put: all,
                    deleted: Vec::new(),
                },
                (_, changes) => changes,
            },
        )
    }

    async fn wait_for_change(
        &self,
        conversation: &ConversationId,
        since: Revision,
    ) -> Result<(), StoreError> {
        self.2.wait_for_change(conversation, since).await
    }

    fn is_persistent(&self) -> bool {
        self.2.is_persistent()
    }

    fn spool(&self) -> Option<Arc<dyn Spool>> {
        self.2.spool()
    }
}

async fn report(defect: Defect) -> Report {
    let liar = || DefectiveStore(defect, AtomicUsize::new(0), MemoryStore::default());
    try_conformance(async || liar()).await
}

#[tokio::test]
async fn every_defect_is_found_by_its_check() {
    for (defect, broken) in [
        (
            Defect::NoExpect,
            "a batch that expects another revision changes nothing",
        ),
        (
            Defect::NoFence,
            "a lower fencing token is rejected and changes nothing",
        ),
        (
            Defect::ExpectBeforeFence,
            "fencing is checked before conflicts, and a rejected batch sets no fencing token",
        ),
        (Defect::OneByOne, "a reader sees all of a batch or nothing"),
        (
            Defect::NoTransaction,
            "a batch with a record that cannot be encoded changes nothing",
        ),
        (
            Defect::NothingForEmpty,
            "every applied batch creates a new revision, even an empty one",
        ),
        (
            Defect::Backwards,
            "records are returned in the order in which they were first written",
        ),
        (Defect::NoLimit, "the conditions of a query hold together"),
        (
            Defect::AnyCaseScopes,
            "conversation ids can be any text and are never confused",
        ),
        (
            Defect::TrimmedScopes,
            "conversation ids can be any text and are never confused",
        ),
        (
            Defect::PatternPrefix,
            "a prefix is literal text, not a pattern",
        ),
        (
            Defect::ScopesUnsorted,
            "conversations with records are listed in byte order",
        ),
        (
            Defect::Milliseconds,
            "records of every kind are returned unchanged",
        ),
        (
            Defect::NoProviderState,
            "records of every kind are returned unchanged",
        ),
        (
            Defect::NoResponseId,
            "records of every kind are returned unchanged",
        ),
        (
            Defect::NoBatchIds,
            "a batch that is applied again changes nothing and returns its revision",
        ),
        (
            Defect::BatchIdsAlone,
            "a batch id is not reused for another batch",
        ),
        (
            Defect::NoToken,
            "a load returns the revision and the highest fencing token, whatever it finds",
        ),
        (
            Defect::NoDeletions,
            "changes are the records that were put and deleted since",
        ),
        (
            Defect::AllChanges,
            "changes are the records that were put and deleted since",
        ),
        (
            Defect::KnowsEverything,
            "changes since an unknown revision are unknown",
        ),
        (
            Defect::TurnsUnsorted,
            "turns are found by id, state, prefix, lease and open gates",
        ),
        (
            Defect::NoTurnCursor,
            "turns are listed by start time, in pages",
        ),
        (
            Defect::NoLeases,
            "a found turn has its record, its lease and its open gates",
        ),
        (
            Defect::NoGates,
            "a found turn has its record, its lease and its open gates",
        ),
        (
            Defect::NoOwners,
            "conversations are found by owner and labels",
        ),
        (
            Defect::AnyLabel,
            "conversations are found by owner and labels",
        ),
        (
            Defect::LabelPattern,
            "conversations are found by owner and labels",
        ),
        (Defect::NoInfos, "a listed conversation has its info"),
        (Defect::OldInfos, "a conversation keeps up with its info"),
    ] {
        let report = report(defect).await;
        let found = report
            .broken
            .iter()
            .any(|finding| finding.requirement == broken);
        assert!(found, "{broken}\n{report}");
    }
}

#[tokio::test]
async fn check_then_write_is_found_by_the_race_checks() {
    // A race may be won by chance: losing one is enough.
    for _ in 0..20 {
        let report = report(Defect::LookThenWrite).await;
        let races = [
            "of writers that expect the same revision, exactly one wins",
            "no update is lost",
        ];
        if report
            .broken
            .iter()
            .any(|finding| races.contains(&finding.requirement.as_str()))
        {
            return;
        }
    }
    panic!("the defect was not found");
}
