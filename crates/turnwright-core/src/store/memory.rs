//! A store in memory.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ahash::{AHasher, RandomState};
use async_trait::async_trait;
use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

use super::{
    Batch, BatchId, Change, Changes, ConversationFilter, ConversationId, FoundConversation,
    FoundTurn, Loaded, MIN_DELETION_HISTORY, Position, Query, Revision, Store, StoreError, Stored,
    TurnFilter,
};
use crate::record::{Record, RecordKind};
use crate::spool::Spool;

/// Number of conversations without records whose numbers are kept.
const MAX_EMPTY: usize = 1_000;

/// How long the ids of applied batches are kept.
const BATCH_ID_RETENTION: Duration = Duration::from_secs(60 * 60);

/// A store in memory. Clones share the records. They are lost when the last clone is dropped.
///
/// ```
/// use turnwright_core::record::Message;
/// use turnwright_core::store::{MemoryStore, ConversationId, StoreExt as _};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let (store, conversation) = (MemoryStore::default(), ConversationId::new("chat-1"));
/// store.put(&conversation, Message::user("Hello!").build()?).await?;
/// assert_eq!(store.messages(&conversation).await?[0].text(), "Hello!");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Default)]
pub struct MemoryStore(Arc<Shared>);

#[derive(Default)]
struct Shared {
    conversations: RwLock<Conversations>,
    /// Notifies tasks that wait for a change of a conversation that does not exist.
    created: Arc<Notify>,
    /// Locked after a conversation.
    batches: Mutex<BatchLog>,
}

#[derive(Default)]
struct Conversations {
    by_id: BTreeMap<ConversationId, Mutex<Conversation>>,
    /// Those that a batch left without records, oldest first.
    empty: VecDeque<ConversationId>,
    /// New conversations continue with the highest numbers of those that were removed, so that writers from before are rejected.
    floor: Numbers,
}

/// The numbers of a conversation that never decrease.
#[derive(Clone, Copy, Default)]
struct Numbers {
    revision: u64,
    fencing_token: u64,
    last_position: u64,
}

#[derive(Default)]
struct Conversation {
    revision: u64,
    fencing_token: u64,
    last_position: u64,
    kinds: BTreeMap<RecordKind, OfKind>,
    /// The newest deletions, oldest first, each with its revision.
    deleted: VecDeque<(u64, RecordKind, String)>,
    /// The oldest revision since which all changes are known.
    changes_from: u64,
    /// Notifies tasks that wait for a change.
    changed: Option<Arc<Notify>>,
}

/// The records of one kind. Separate, so that a query for some kinds does not visit others.
#[derive(Default)]
struct OfKind {
    by_position: BTreeMap<u64, Versioned>,
    /// By id.
    positions: HashMap<Box<str>, u64, RandomState>,
}

/// A record, and the revision in which it was last put.
struct Versioned {
    record: Record,
    revision: u64,
}

/// The ids of applied batches.
#[derive(Default)]
struct BatchLog {
    applied: HashMap<BatchId, Applied, RandomState>,
    oldest_first: VecDeque<(Instant, BatchId)>,
}

#[derive(Clone, Copy)]
struct Applied {
    digest: u64,
    revision: u64,
}

#[async_trait]
impl Store for MemoryStore {
    async fn apply(
        &self,
        conversation: &ConversationId,
        batch: Batch,
    ) -> Result<Revision, StoreError> {
        let Shared {
            conversations,
            created,
            batches,
        } = &*self.0;
        let known = {
            let all = conversations.read();
            match all.by_id.get(conversation) {
                Some(found) => {
                    let mut found = found.lock();
                    Ok((found.apply(conversation, batch, batches), found.is_empty()))
                }
                None => Err(batch),
            }
        };
        let (applied, is_empty) = known.unwrap_or_else(|batch| {
            let mut all = conversations.write();
            let new = Mutex::new(Conversation::starting_at(all.floor));
            // Another thread may have added it between the two locks.
            let found = all.by_id.entry(conversation.clone()).or_insert(new);
            let found = found.get_mut();
            let applied = found.apply(conversation, batch, batches);
            created.notify_waiters();
            (applied, found.is_empty())
        });
        if is_empty {
            conversations.write().note_empty(conversation);
        }
        applied
    }

    async fn load(
        &self,
        conversation: &ConversationId,
        query: &Query,
    ) -> Result<Loaded, StoreError> {
        let all = self.0.conversations.read();
        Ok(match all.by_id.get(conversation) {
            Some(found) => found.lock().load(query),
            None => Conversation::starting_at(all.floor).load(query),
        })
    }

    async fn conversations(
        &self,
        filter: &ConversationFilter,
    ) -> Result<Vec<FoundConversation>, StoreError> {
        let (all, query) = (self.0.conversations.read(), FoundConversation::query());
        let included = all.by_id.iter().filter(|(id, _)| filter.includes(id));
        let found = included.filter_map(|(id, conversation)| {
            let conversation = conversation.lock();
            let found = || FoundConversation::new(id.clone(), conversation.load(&query));
            (!conversation.is_empty()).then(found)
        });
        let selected = found.filter(|found| filter.matches(found));
        Ok(selected.take(filter.limit.unwrap_or(usize::MAX)).collect())
    }

    async fn find_turns(&self, filter: &TurnFilter) -> Result<Vec<FoundTurn>, StoreError> {
        let all = self.0.conversations.read();
        let (query, mut found) = (filter.query(), Vec::new());
        for (id, conversation) in all.by_id.iter().filter(|(id, _)| filter.includes(id)) {
            let conversation = conversation.lock();
            let has = |turn: &String| conversation.get(RecordKind::Turn, turn).is_some();
            if filter.turn_id.as_ref().is_none_or(has) {
                let turns = FoundTurn::of_conversation(id, conversation.load(&query));
                found.extend(turns.into_iter().filter(|turn| filter.matches(turn)));
            }
        }
        Ok(filter.select(found))
    }

    async fn changed(
        &self,
        conversation: &ConversationId,
        since: Revision,
    ) -> Result<Changes, StoreError> {
        let all = self.0.conversations.read();
        Ok(match all.by_id.get(conversation) {
            Some(found) => found.lock().changed(since.0),
            None => Conversation::starting_at(all.floor).changed(since.0),
        })
    }

    async fn wait_for_change(
        &self,
        conversation: &ConversationId,
        since: Revision,
    ) -> Result<(), StoreError> {
        while let Some(changed) = self.next_change(conversation, since) {
            changed.await;
        }
        Ok(())
    }

    fn is_persistent(&self) -> bool {
        false
    }

    /// `None`: records are not encoded and keep their readers.
    fn spool(&self) -> Option<Arc<dyn Spool>> {
        None
    }
}

impl MemoryStore {
    /// Returns a future of the next change of a conversation, unless it already has a later revision. For one that does not exist,
    /// of the next creation of any.
    fn next_change(&self, conversation: &ConversationId, since: Revision) -> Option<OwnedNotified> {
        // Under the same lock as changes, so that none is missed.
        let all = self.0.conversations.read();
        let Some(found) = all.by_id.get(conversation) else {
            let created = || Arc::clone(&self.0.created).notified_owned();
            return (all.floor.revision <= since.0).then(created);
        };
        let mut found = found.lock();
        let revision = found.revision;
        let changed = || Arc::clone(found.changed.get_or_insert_default()).notified_owned();
        (revision <= since.0).then(changed)
    }
}

impl Conversations {
    /// Keeps the numbers of the newest conversations without records.
    fn note_empty(&mut self, conversation: &ConversationId) {
        self.empty.push_back(conversation.clone());
        if self.empty.len() > MAX_EMPTY
            && let Some(oldest) = self.empty.pop_front()
            && let Entry::Occupied(mut found) = self.by_id.entry(oldest)
            && found.get_mut().get_mut().is_empty()
        {
            let removed = found.remove().into_inner();
            let floor = &mut self.floor;
            floor.revision = floor.revision.max(removed.revision);
            floor.fencing_token = floor.fencing_token.max(removed.fencing_token);
            floor.last_position = floor.last_position.max(removed.last_position);
            if let Some(changed) = removed.changed {
                changed.notify_waiters();
            }
        }
    }
}

impl Conversation {
    fn starting_at(numbers: Numbers) -> Self {
        Conversation {
            revision: numbers.revision,
            fencing_token: numbers.fencing_token,
            last_position: numbers.last_position,
            changes_from: numbers.revision,
            ..Conversation::default()
        }
    }

    fn apply(
        &mut self,
        conversation: &ConversationId,
        batch: Batch,
        batches: &Mutex<BatchLog>,
    ) -> Result<Revision, StoreError> {
        let revision = self.revision + 1;
        let digest = digest(conversation, &batch);
        let refused = self.admit(&batch);
        let earlier = match refused {
            Ok(()) => batches
                .lock()
                .insert(batch.id, Applied { digest, revision }),
            Err(_) => batches.lock().applied.get(&batch.id).copied(),
        };
        if let Some(earlier) = earlier {
            return if earlier.digest == digest && self.may_have_applied(&batch, earlier) {
                Ok(Revision(earlier.revision))
            } else {
                Err(StoreError::batch_id_reused(batch.id))
            };
        }
        refused?;
        self.fencing_token = batch.fencing_token.unwrap_or(self.fencing_token);
        self.revision = revision;
        if let Some(changed) = &self.changed {
            changed.notify_waiters();
        }
        for change in batch.changes {
            match change {
                Change::Put(record) => self.put(record),
                Change::Delete(kind, id) => self.delete(kind, id),
            }
        }
        if self.is_empty() {
            // A deleted conversation keeps only its numbers, which reject writers from before the deletion.
            (self.kinds, self.deleted, self.changed) = Default::default();
            self.changes_from = revision;
        }
        Ok(Revision(revision))
    }

    fn admit(&self, batch: &Batch) -> Result<(), StoreError> {
        if batch
            .fencing_token
            .is_some_and(|own| own < self.fencing_token)
        {
            return Err(StoreError::fenced(self.fencing_token));
        }
        let revision = Revision(self.revision);
        match batch.expect {
            Some(expected) if expected != revision => Err(StoreError::conflict(revision)),
            _ => Ok(()),
        }
    }

    /// Returns whether the records that an earlier batch put, and no later one replaced, equal those of this batch.
    fn may_have_applied(&self, batch: &Batch, earlier: Applied) -> bool {
        let mut changed = HashSet::new();
        let mut last_changes = batch.changes.iter().rev();
        last_changes.all(|change| {
            let (kind, id) = change.key();
            let (true, Change::Put(record)) = (changed.insert((kind, id)), change) else {
                return true;
            };
            let stored = self.get(kind, id).map(|(_, stored)| stored);
            let stored = stored.filter(|stored| stored.revision == earlier.revision);
            stored.is_none_or(|stored| stored.record.to_json().ok() == record.to_json().ok())
        })
    }

    fn is_empty(&self) -> bool {
        self.kinds.values().all(|kind| kind.positions.is_empty())
    }

    /// Returns a record and its position.
    fn get(&self, kind: RecordKind, id: &str) -> Option<(u64, &Versioned)> {
        let kind = self.kinds.get(&kind)?;
        let position = kind.positions.get(id)?;
        Some((*position, kind.by_position.get(position)?))
    }

    fn put(&mut self, record: Record) {
        let kind = self.kinds.entry(record.kind()).or_default();
        let position = kind.positions.get(record.id()).copied();
        let position = position.unwrap_or_else(|| {
            self.last_position += 1;
            kind.positions
                .insert(record.id().into(), self.last_position);
            self.last_position
        });
        let revision = self.revision;
        kind.by_position
            .insert(position, Versioned { record, revision });
    }

    fn delete(&mut self, kind: RecordKind, id: String) {
        let Some(of_kind) = self.kinds.get_mut(&kind) else {
            return;
        };
        let Some(position) = of_kind.positions.remove(&*id) else {
            return;
        };
        of_kind.by_position.remove(&position);
        self.deleted.push_back((self.revision, kind, id));
        if self.deleted.len() > MIN_DELETION_HISTORY
            && let Some((revision, ..)) = self.deleted.pop_front()
        {
            self.changes_from = revision;
        }
    }

    fn changed(&self, since: u64) -> Changes {
        if since < self.changes_from || since > self.revision {
            return Changes::Unknown;
        }
        let stored = self.kinds.values().flat_map(|kind| &kind.by_position);
        let put = stored.filter(|(_, stored)| stored.revision > since);
        let put = put.map(|(at, stored)| Stored::new(Position(*at), stored.record.clone()));
        let mut put: Vec<Stored> = put.collect();
        put.sort_by_key(|stored| stored.position);
        let deleted = self
            .deleted
            .iter()
            .filter(|(revision, kind, id)| *revision > since && self.get(*kind, id).is_none());
        let mut deleted: Vec<_> = deleted.map(|(_, kind, id)| (*kind, id.clone())).collect();
        deleted.sort_unstable();
        deleted.dedup();
        Changes::Since {
            put: Loaded::new(put, Revision(self.revision), self.fencing_token),
            deleted,
        }
    }

    fn load(&self, query: &Query) -> Loaded {
        let first = query.after.map_or(0, |after| after.0.saturating_add(1));
        let last = query.before.map_or(u64::MAX, |before| before.0);
        let within = first..last.max(first);
        let mut found: Vec<(u64, &Versioned)> = match &query.ids {
            Some(ids) => self.find(&query.kinds, ids, &within),
            None => self.range(query, &within),
        };
        // Mostly sorted already: one run per kind.
        found.sort_by_key(|(position, _)| *position);
        found.dedup_by_key(|(position, _)| *position);
        let most = query.limit.unwrap_or(usize::MAX);
        let skipped = found.len().saturating_sub(most);
        let skipped = if query.newest { skipped } else { 0 };
        let found = found.into_iter().skip(skipped).take(most);
        let records = found.map(|(at, found)| Stored::new(Position(at), found.record.clone()));
        Loaded::new(
            records.collect(),
            Revision(self.revision),
            self.fencing_token,
        )
    }

    /// Returns the records of the query's kinds at these positions, at most the requested number of each kind.
    fn range(&self, query: &Query, within: &Range<u64>) -> Vec<(u64, &Versioned)> {
        let most = query.limit.unwrap_or(usize::MAX);
        let mut found = Vec::new();
        let wanted = |kind: &RecordKind| query.kinds.is_empty() || query.kinds.contains(kind);
        for (_, kind) in self.kinds.iter().filter(|(kind, _)| wanted(kind)) {
            let records = kind.by_position.range(within.clone());
            let records = records.map(|(position, record)| (*position, record));
            if query.newest {
                found.extend(records.rev().take(most));
            } else {
                found.extend(records.take(most));
            }
        }
        found
    }

    /// Returns the records with these ids at these positions.
    fn find(
        &self,
        kinds: &[RecordKind],
        ids: &[String],
        within: &Range<u64>,
    ) -> Vec<(u64, &Versioned)> {
        let kinds = match kinds {
            [] => RecordKind::ALL,
            kinds => kinds,
        };
        let names = ids
            .iter()
            .flat_map(|id| kinds.iter().map(move |kind| (kind, id)));
        let found = names.filter_map(|(kind, id)| self.get(*kind, id));
        found
            .filter(|(position, _)| within.contains(position))
            .collect()
    }
}

impl BatchLog {
    /// Notes that a batch is applied, unless a batch with its id already was.
    fn insert(&mut self, id: BatchId, applied: Applied) -> Option<Applied> {
        if let Some(earlier) = self.applied.get(&id) {
            return Some(*earlier);
        }
        let now = Instant::now();
        let is_old =
            |(at, _): &mut (Instant, BatchId)| now.duration_since(*at) > BATCH_ID_RETENTION;
        while let Some((_, old)) = self.oldest_first.pop_front_if(is_old) {
            self.applied.remove(&old);
        }
        self.oldest_first.push_back((now, id));
        self.applied.insert(id, applied);
        None
    }
}

/// Of the conversation, the conditions and the keys of a batch. The contents are compared by
/// [`Conversation::may_have_applied`], which no other batch pays for.
fn digest(conversation: &ConversationId, batch: &Batch) -> u64 {
    let mut hasher = AHasher::default();
    (conversation, batch.fencing_token, batch.expect).hash(&mut hasher);
    for change in &batch.changes {
        (std::mem::discriminant(change), change.key()).hash(&mut hasher);
    }
    hasher.finish()
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let conversations = self.0.conversations.read().by_id.len();
        write!(f, "MemoryStore({conversations} conversations)")
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;
    use crate::record::Message;
    use crate::store::StoreExt as _;

    #[tokio::test]
    async fn a_deleted_conversation_keeps_only_its_numbers() {
        let store = MemoryStore::default();
        for n in 0..100 {
            let id = ConversationId::new(format!("chat-{n}"));
            let message = Message::user("Hello!").build().unwrap();
            let put = store.put(&id, message).await.unwrap();
            drop(store.next_change(&id, put));
            store.delete_conversation(&id).await.unwrap();
        }
        let mut held = 0;
        for conversation in store.0.conversations.read().by_id.values() {
            let conversation = conversation.lock();
            assert_eq!(conversation.revision, 2);
            held += conversation.kinds.len() + conversation.deleted.capacity();
            held += usize::from(conversation.changed.is_some());
        }
        assert_eq!(held, 0);
    }

    #[tokio::test]
    async fn what_deleted_conversations_leave_is_bounded() {
        let store = MemoryStore::default();
        let id = |n: usize| ConversationId::new(format!("chat-{n}"));
        let message = || Message::user("Hello!").build().unwrap();
        let stale = || Batch::new().put(message());
        for n in 0..3 * MAX_EMPTY {
            // A new conversation does not start below those that were removed.
            let fenced = stale().fencing_token(7 + n as u64);
            let put = store.apply(&id(n), fenced).await.unwrap();
            store.delete_conversation(&id(n)).await.unwrap();
            drop(store.next_change(&id(n), put));
            drop(store.next_change(&ConversationId::new(format!("none-{n}")), put));
        }
        let kept = || {
            let all = store.0.conversations.read();
            (all.by_id.len(), all.empty.len())
        };
        assert_eq!(kept(), (MAX_EMPTY, MAX_EMPTY));
        // Those that are not kept do not start again from the beginning.
        for n in [0, 3 * MAX_EMPTY - 1] {
            let conflict = store.apply(&id(n), stale().expect(Revision(1))).await;
            assert!(conflict.unwrap_err().found_revision().is_some());
            let fenced = store.apply(&id(n), stale().fencing_token(6)).await;
            assert!(fenced.unwrap_err().fenced_by().is_some());
            let changes = store.changed(&id(n), Revision(1)).await.unwrap();
            assert!(matches!(changes, Changes::Unknown));
        }
        // A conversation with records is kept.
        store.put(&id(1), message()).await.unwrap();
        assert_eq!(store.messages(&id(1)).await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn a_wait_for_a_conversation_that_does_not_exist_ends_with_its_creation() {
        let store = MemoryStore::default();
        let put = async |id: &str| {
            let message = Message::user("Hello!").build().unwrap();
            store.put(&ConversationId::new(id), message).await.unwrap()
        };
        let id = ConversationId::new("chat");
        let mut waits = std::pin::pin!(store.wait_for_change(&id, Revision(0)));
        assert!(waits.as_mut().now_or_never().is_none());
        put("other").await;
        assert!(waits.as_mut().now_or_never().is_none());
        put("chat").await;
        waits.await.unwrap();
    }
}
