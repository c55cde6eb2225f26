//! The lease of a turn: no other process runs a turn of its conversation meanwhile.

use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, ErrorCode};
use crate::lease::HeldLease;
use crate::outcome::TurnStatus;
use crate::record::{Lease, Record, RecordKind};
use crate::store::Query;
use crate::tool::context::TurnContext;

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
        if self.hold().is_some_and(HeldLease::is_due) && !self.has_ended() {
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

    /// Whether another process may have taken the turn over.
    pub(crate) fn may_be_lost(&self) -> bool {
        self.hold().is_some_and(HeldLease::may_be_over)
    }

    /// Notes how the turn ended, and lets go of its conversation.
    pub(crate) async fn let_go(&self, how: &TurnStatus, iterations: u32) {
        let Some(hold) = self.hold() else {
            return;
        };
        if self.store_hangs() || self.is_taken_over() {
            return;
        }
        let mut record = hold.record.lock().ended(how.state(), how.failure());
        (record.usage, record.iterations) = (self.usage(), iterations);
        // If something could not be written, the next holder looks at what was left open.
        let left = self.has_unwritten().then(|| Arc::clone(self.shared_id()));
        let lease = hold.lease_of(left, Duration::ZERO);
        let records = vec![Arc::new(record).into(), Arc::new(lease).into()];
        if let Err(error) = self.write(records).await {
            let why = error.message();
            self.warn(format!("the end of the turn could not be stored: {why}"));
        }
    }
}
