//! What a turn holds of its conversation: nobody else runs a turn there meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use tokio::time::Instant;

use super::TurnContext;
use super::outcome::Ended;
use crate::error::{Error, ErrorCode};
use crate::record::{Lease, Owner, Record, RecordKind, TurnFailure, TurnRecord, TurnState};
use crate::store::{Change, Query};

/// A turn's hold on its conversation.
pub(super) struct Hold {
    owner: Owner,
    fence: u64,
    /// For how long, unless it is renewed.
    term: Duration,
    /// Since when that is counted.
    renewed: Mutex<Since>,
    /// How often the lease was written: a reader sees by it that the holder lives, whatever the wall clocks say.
    renewals: AtomicU64,
    /// The turn as the store has it.
    record: Mutex<Arc<TurnRecord>>,
}

/// A moment by both clocks: one stands still while the machine sleeps, the other may be set.
#[derive(Clone, Copy)]
pub(super) struct Since {
    steady: Instant,
    wall: SystemTime,
}

impl Since {
    fn now() -> Self {
        Since {
            steady: Instant::now(),
            wall: SystemTime::now(),
        }
    }

    /// How long ago it was, by the clock that says more.
    fn elapsed(self) -> Duration {
        let by_wall = self.wall.elapsed().unwrap_or_default();
        self.steady.elapsed().max(by_wall)
    }
}

impl Hold {
    pub(super) fn new(fence: u64, term: Duration, record: Arc<TurnRecord>) -> Self {
        Hold {
            owner: Owner::new(),
            fence,
            term,
            renewed: Mutex::new(Since::now()),
            renewals: AtomicU64::new(0),
            record: Mutex::new(record),
        }
    }

    /// By which the store knows it from those before.
    pub(super) fn fence(&self) -> u64 {
        self.fence
    }

    /// As it is from now on.
    pub(super) fn lease(&self) -> Lease {
        self.lease_of(Some(Arc::clone(&self.record.lock().id)), self.term)
    }

    fn lease_of(&self, turn_id: Option<Arc<str>>, term: Duration) -> Lease {
        let now = SystemTime::now();
        Lease {
            id: Lease::ID.into(),
            turn_id,
            owner: self.owner.name(),
            fence: self.fence,
            until: now.checked_add(term).unwrap_or(now),
            term,
            renewals: self.renewals.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Whether a record is this hold's own lease.
    fn wrote(&self, record: &Record) -> bool {
        matches!(record, Record::Lease(lease) if lease.fence == self.fence && lease.owner == self.owner.name())
    }

    /// Whether it is time to renew it: long before it is over.
    fn is_due(&self) -> bool {
        self.renewed.lock().elapsed() >= self.term / 3
    }

    /// Whether somebody else may have the turn: its process may have been away for so long.
    fn may_be_over(&self) -> bool {
        self.renewed.lock().elapsed() >= self.term
    }

    /// What is written along with anything else, where it is time for it, and since when it counts.
    pub(super) fn renewal_if_due(&self) -> Option<(Since, Change)> {
        let now = Since::now();
        let renewal = || Change::Put(Record::from(Arc::new(self.lease())));
        self.is_due().then(|| (now, renewal()))
    }

    /// The store has taken a renewal.
    pub(super) fn renewed(&self, since: Since) {
        *self.renewed.lock() = since;
    }
}

impl TurnContext {
    /// What says that the turn has its answer: for the batch with which that is stored.
    pub(crate) fn answered_by(&self, message: &str) -> Option<Record> {
        let hold = self.hold()?;
        let mut kept = hold.record.lock();
        let record = Arc::make_mut(&mut kept);
        record.answer = Some(message.into());
        record.usage = self.usage();
        Some(Record::from(Arc::clone(&kept)))
    }

    /// Keeps the hold, if it is time for that.
    pub(crate) async fn renew(&self) -> Result<(), Error> {
        if self.hold().is_some_and(Hold::is_due) && !self.has_ended() {
            // The lease itself is added where it is written. One that fails ends the turn, as every write does.
            self.write(Vec::new()).await?;
        }
        Ok(())
    }

    /// Makes sure that the turn is still this process's to run: for a handler that took long before it acts, since a process may
    /// have been stopped meanwhile, and another may have taken the turn over, or deleted the conversation. Asks the store each
    /// time, and renews the lease if that is due.
    ///
    /// # Errors
    /// `E_TURN_TAKEN_OVER`: do nothing more. `E_STORE_ERROR` if the store cannot say.
    pub async fn ensure_held(&self) -> Result<(), Error> {
        let (Some(hold), Some(store)) = (self.hold(), self.store()) else {
            return Ok(());
        };
        if !self.is_taken_over() {
            let query = Query::all().kind(RecordKind::Lease).ids([Lease::ID]);
            let loaded = self.read(&**store, &query).await?;
            if !loaded.damaged.is_empty() {
                // The store rejects this write if another process has taken over. Otherwise it replaces the damaged record.
                let lease = Record::from(Arc::new(hold.lease()));
                self.write(vec![lease]).await?;
            } else if loaded.into_records().any(|it| hold.wrote(&it)) {
                self.renew().await?;
            } else {
                self.note_taken_over();
            }
        }
        if !self.is_taken_over() {
            return Ok(());
        }
        let message = "another process has taken this conversation over, or deleted it: this turn stops, and stores nothing any more";
        let error = Error::new(ErrorCode::TurnTakenOver, message);
        self.fail(error.clone());
        Err(error)
    }

    /// Whether somebody else may have the turn by now.
    pub(crate) fn may_be_lost(&self) -> bool {
        self.hold().is_some_and(Hold::may_be_over)
    }

    /// Notes how the turn ended, and lets go of its conversation.
    pub(super) async fn let_go(&self, how: &Ended, iterations: u32) {
        let Some(hold) = self.hold() else {
            return;
        };
        if self.store_hangs() || self.is_taken_over() {
            return;
        }
        let mut record = hold.record.lock().ended(how.state(), how.failure());
        (record.usage, record.iterations) = (self.usage(), iterations);
        // Where something could not be written, whoever comes next looks at what was left open.
        let left = self.has_unwritten().then(|| Arc::clone(self.shared_id()));
        let lease = hold.lease_of(left, Duration::ZERO);
        let records = vec![Arc::new(record).into(), Arc::new(lease).into()];
        if let Err(error) = self.write(records).await {
            let why = error.message();
            self.warn(format!("the end of the turn could not be stored: {why}"));
        }
    }
}

impl Ended {
    fn state(&self) -> TurnState {
        match self {
            Ended::Answered => TurnState::Answered,
            Ended::Refused(_) => TurnState::Refused,
            Ended::Aborted { .. } => TurnState::Aborted,
            Ended::Failed(_) => TurnState::Failed,
            Ended::Limit(_) => TurnState::Limit,
        }
    }

    fn failure(&self) -> Option<TurnFailure> {
        self.error().map(|error| TurnFailure {
            code: error.code().as_str().to_owned(),
            message: error.message().to_owned(),
        })
    }
}
