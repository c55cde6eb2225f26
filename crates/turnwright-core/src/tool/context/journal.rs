//! The records of a turn, and what has happened to its writes.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, RwLock, RwLockReadGuard};

use crate::ids::{CallIds, Id};
use crate::lease::TurnLease;
use crate::record::{Message, Record, RecordKind, Retrievable};
use crate::record_log::{Origin, Records};
use crate::store::Change;
use crate::task::Tasks;

/// The records of a turn, its lease, and the state of its writes.
pub(crate) struct Journal {
    records: RwLock<Records>,
    /// The lease of the conversation, once the turn has started under a runner.
    lease: OnceLock<TurnLease>,
    /// Held during a write to the store, so that writes stay in order.
    writes: tokio::sync::Mutex<()>,
    call_ids: CallIds,
    next_ordinal: AtomicU64,
    /// The ids of messages that were rejected as the answer.
    rejected: Mutex<Vec<Arc<str>>>,
    /// Tasks that complete writes, close dropped calls and run concurrent ones.
    tasks: Tasks,
    /// Recorded calls that are not settled.
    open_calls: Tasks,
    marks: AtomicU8,
}

impl Journal {
    pub(super) fn new(turn_id: &str) -> Self {
        Journal {
            records: RwLock::default(),
            lease: OnceLock::new(),
            writes: tokio::sync::Mutex::default(),
            call_ids: CallIds::new(turn_id),
            next_ordinal: AtomicU64::new(0),
            rejected: Mutex::default(),
            tasks: Tasks::default(),
            open_calls: Tasks::default(),
            marks: AtomicU8::default(),
        }
    }

    /// Returns the records of the turn.
    pub(crate) fn records(&self) -> RwLockReadGuard<'_, Records> {
        self.records.read()
    }

    /// Changes the records. What the change returns is dropped after the lock, because destructors may be user code.
    fn change<T>(&self, change: impl FnOnce(&mut Records) -> T) -> T {
        change(&mut self.records.write())
    }

    /// Adds a record to this turn only, or replaces the one with the same id.
    pub(crate) fn add(&self, record: &Record) {
        drop(self.change(|records| records.put(record, Origin::Now)));
    }

    /// Removes a record from this turn only.
    pub(crate) fn remove(&self, kind: RecordKind, id: &str) -> Option<Record> {
        self.change(|records| records.remove(kind, id))
    }

    /// Adds records of earlier turns, which do not replace anything.
    pub(crate) fn hydrate(&self, found: &[Record]) {
        self.change(|records| {
            for record in found {
                let _nothing = records.put(record, Origin::Before);
            }
        });
    }

    /// Replaces records in place.
    pub(crate) fn replace(&self, changed: &[Record]) {
        let replace = |records: &mut Records| -> Vec<_> {
            changed.iter().map(|one| records.replace(one)).collect()
        };
        drop(self.change(replace));
    }

    /// Hides the records that a summary covers.
    pub(crate) fn cover(&self, summary: &Retrievable) {
        drop(self.change(|records| records.cover(summary)));
    }

    /// Applies changes that were stored.
    pub(crate) fn apply(&self, changes: &[Change]) {
        let apply = |records: &mut Records| -> Vec<_> {
            let changes = changes.iter().map(|change| match change {
                Change::Put(record) => records.put(record, Origin::Stored),
                Change::Delete(kind, id) => records.forget(*kind, id),
            });
            changes.collect()
        };
        drop(self.change(apply));
    }

    /// Applies a compaction that was stored.
    pub(crate) fn apply_compaction(&self, changes: &[Change]) {
        let apply = |records: &mut Records| {
            let mut gone: Vec<Option<Record>> = Vec::new();
            for change in changes {
                match change {
                    Change::Put(record @ Record::Retrievable(summary)) => {
                        gone.extend(records.put(record, Origin::Stored));
                        gone.extend(records.cover(summary).into_iter().map(Some));
                    }
                    Change::Put(record) => gone.extend(records.replace(record)),
                    Change::Delete(..) => {}
                }
            }
            gone
        };
        drop(self.change(apply));
    }

    /// Returns a new call id and its ordinal.
    pub(crate) fn next_call(&self) -> (Id, u64) {
        loop {
            let id = self.call_ids.next();
            if !self.records().has(RecordKind::ToolCall, id.as_str()) {
                return (id, self.next_ordinal.fetch_add(1, Ordering::Relaxed));
            }
        }
    }

    /// Continues counting calls where the turn was interrupted.
    pub(crate) fn count_calls_from(&self, next: u64) {
        self.call_ids.continue_after(next);
        self.next_ordinal.fetch_max(next, Ordering::Relaxed);
    }

    /// Marks messages as rejected answers.
    pub(crate) fn reject(&self, messages: impl IntoIterator<Item = Arc<str>>) {
        self.rejected.lock().extend(messages);
    }

    /// Returns the last message of the model in this turn that was not rejected as its answer.
    pub(crate) fn last_answer(&self) -> Option<Arc<Message>> {
        let rejected = self.rejected.lock();
        self.records()
            .last_answer(|id| rejected.iter().all(|other| **other != *id))
    }

    /// Returns the lease of the conversation, once the turn has started under a runner.
    pub(crate) fn lease(&self) -> Option<&TurnLease> {
        self.lease.get()
    }

    /// Sets the lease. A turn starts once.
    pub(crate) fn set_lease(&self, lease: TurnLease) {
        let _ = self.lease.set(lease);
    }

    /// Waits for the writes before this one.
    pub(crate) async fn begin_write(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.writes.lock().await
    }

    /// Returns the tasks that the turn waits for before it ends.
    pub(crate) fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Returns the recorded calls that are not settled. The turn does not end before they are.
    pub(crate) fn open_calls(&self) -> &Tasks {
        &self.open_calls
    }

    pub(crate) fn mark(&self, mark: Mark) {
        self.marks.fetch_or(mark as u8, Ordering::AcqRel);
    }

    pub(crate) fn is(&self, mark: Mark) -> bool {
        self.marks.load(Ordering::Acquire) & mark as u8 != 0
    }
}

/// What happened to a turn. A mark is never removed.
#[derive(Clone, Copy)]
pub(crate) enum Mark {
    /// The turn has ended and accepts no more writes.
    Ended = 1,
    /// The store does not respond. Later writes would wait as long, and in vain.
    StoreHangs = 2,
    /// The stored records are incomplete: a required write failed or was left to the next run.
    Incomplete = 4,
    /// Another process has taken over the turn.
    TakenOver = 8,
}
