//! The lease of a running turn on its conversation.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::record::{Lease, Owner, Record, TurnRecord};
use crate::store::Change;

/// A turn's hold on its conversation.
pub(crate) struct HeldLease {
    owner: Owner,
    fencing_token: u64,
    /// For how long, unless it is renewed.
    term: Duration,
    /// Since when that is counted.
    renewed: Mutex<Since>,
    /// How often the lease was written: a reader sees by it that the holder lives, whatever the wall clocks say.
    renewals: AtomicU64,
    /// The turn as the store has it.
    pub(crate) record: Mutex<Arc<TurnRecord>>,
}

/// A moment by both clocks: one stands still while the machine sleeps, the other may be set.
#[derive(Clone, Copy)]
pub(crate) struct Since {
    steady: Instant,
    wall: SystemTime,
}

impl Since {
    pub(crate) fn now() -> Self {
        Since {
            steady: Instant::now(),
            wall: SystemTime::now(),
        }
    }

    /// How long ago it was, by the clock that says more.
    pub(crate) fn elapsed(self) -> Duration {
        let by_wall = self.wall.elapsed().unwrap_or_default();
        self.steady.elapsed().max(by_wall)
    }
}

impl HeldLease {
    pub(crate) fn new(fencing_token: u64, term: Duration, record: Arc<TurnRecord>) -> Self {
        HeldLease {
            owner: Owner::new(),
            fencing_token,
            term,
            renewed: Mutex::new(Since::now()),
            renewals: AtomicU64::new(0),
            record: Mutex::new(record),
        }
    }

    /// The fencing token.
    pub(crate) fn fencing_token(&self) -> u64 {
        self.fencing_token
    }

    /// As it is from now on.
    pub(crate) fn lease(&self) -> Lease {
        self.lease_of(Some(Arc::clone(&self.record.lock().id)), self.term)
    }

    pub(crate) fn lease_of(&self, turn_id: Option<Arc<str>>, term: Duration) -> Lease {
        let now = SystemTime::now();
        Lease {
            id: Lease::ID.into(),
            turn_id,
            owner: self.owner.name(),
            fencing_token: self.fencing_token,
            until: now.checked_add(term).unwrap_or(now),
            term,
            renewals: self.renewals.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Whether a record is this hold's own lease.
    pub(crate) fn wrote(&self, record: &Record) -> bool {
        matches!(record, Record::Lease(lease) if lease.fencing_token == self.fencing_token && lease.owner == self.owner.name())
    }

    /// Whether it is time to renew it: long before it is over.
    pub(crate) fn is_due(&self) -> bool {
        self.renewed.lock().elapsed() >= self.term / 3
    }

    /// Whether another process may have taken over: the lease was not renewed for its whole term.
    pub(crate) fn may_be_over(&self) -> bool {
        self.renewed.lock().elapsed() >= self.term
    }

    /// What is written along with anything else, where it is time for it, and since when it counts.
    pub(crate) fn renewal_if_due(&self) -> Option<(Since, Change)> {
        let now = Since::now();
        let renewal = || Change::Put(Record::from(Arc::new(self.lease())));
        self.is_due().then(|| (now, renewal()))
    }

    /// The store has taken a renewal.
    pub(crate) fn renewed(&self, since: Since) {
        *self.renewed.lock() = since;
    }
}
