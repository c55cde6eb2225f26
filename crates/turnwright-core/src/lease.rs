//! The lease of a running turn on its conversation.
//!
//! Turns, gates and leases are records, so any store can resume turns. A lease is taken by one batch that expects the
//! revision at which the lease was seen free and sets a fencing token one higher. Of two processes that try, one wins.
//! The store rejects later writes of the former holder. A lease belongs to the conversation and not to the turn: two
//! turns that write one timeline at the same time would make a prompt whose order could not be reconstructed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::record::{Lease, Owner, Record, TurnRecord};
use crate::store::Change;

/// The lease that a turn holds on its conversation.
pub(crate) struct TurnLease {
    owner: Owner,
    fencing_token: u64,
    /// The lease duration.
    term: Duration,
    /// When it was last renewed.
    renewed: Mutex<Since>,
    /// How often the lease was written. Readers detect a live holder by it, independently of wall clocks.
    renewals: AtomicU64,
    /// The record of the turn in the store.
    turn: Mutex<Arc<TurnRecord>>,
}

/// A moment on both clocks: the monotonic clock stops while the machine sleeps, and the wall clock can be set.
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

    /// Returns the elapsed time, the larger of both clocks.
    pub(crate) fn elapsed(self) -> Duration {
        let by_wall = self.wall.elapsed().unwrap_or_default();
        self.steady.elapsed().max(by_wall)
    }
}

impl TurnLease {
    pub(crate) fn new(fencing_token: u64, term: Duration, turn: Arc<TurnRecord>) -> Self {
        TurnLease {
            owner: Owner::new(),
            fencing_token,
            term,
            renewed: Mutex::new(Since::now()),
            renewals: AtomicU64::new(0),
            turn: Mutex::new(turn),
        }
    }

    /// Returns the fencing token.
    pub(crate) fn fencing_token(&self) -> u64 {
        self.fencing_token
    }

    /// Returns the record of the turn in the store.
    pub(crate) fn turn(&self) -> Arc<TurnRecord> {
        Arc::clone(&self.turn.lock())
    }

    /// Changes the record of the turn. Returns it, to be stored, if the change says so.
    pub(crate) fn change_turn(
        &self,
        change: impl FnOnce(&mut TurnRecord) -> bool,
    ) -> Option<Record> {
        let mut turn = self.turn.lock();
        let changed = change(Arc::make_mut(&mut turn));
        changed.then(|| Record::from(Arc::clone(&turn)))
    }

    /// Returns the lease record, renewed from now on.
    pub(crate) fn record(&self) -> Lease {
        self.record_of(Some(Arc::clone(&self.turn.lock().id)), self.term)
    }

    pub(crate) fn record_of(&self, turn_id: Option<Arc<str>>, term: Duration) -> Lease {
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

    /// Returns whether a record is this lease.
    pub(crate) fn matches(&self, record: &Record) -> bool {
        matches!(record, Record::Lease(lease) if lease.fencing_token == self.fencing_token && lease.owner == self.owner.name())
    }

    /// Returns whether to renew it, which is after a third of the duration.
    pub(crate) fn is_due(&self) -> bool {
        self.renewed.lock().elapsed() >= self.term / 3
    }

    /// Returns whether another process may have taken over, because the lease was not renewed for its complete duration.
    pub(crate) fn may_be_over(&self) -> bool {
        self.renewed.lock().elapsed() >= self.term
    }

    /// Returns the renewal to write together with other changes, if it is due, and the time from which it counts.
    pub(crate) fn renewal_if_due(&self) -> Option<(Since, Change)> {
        let now = Since::now();
        let renewal = || Change::Put(Record::from(Arc::new(self.record())));
        self.is_due().then(|| (now, renewal()))
    }

    /// Notes that the store has accepted a renewal.
    pub(crate) fn renewed(&self, since: Since) {
        *self.renewed.lock() = since;
    }
}
