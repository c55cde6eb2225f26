//! The lease of a turn: no other process runs a turn of its conversation meanwhile.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use crate::deadline::{Cut, TimeLimit, within};
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
        let mut shared = hold.record.lock();
        let record = Arc::make_mut(&mut shared);
        record.answer = Some(message.into());
        record.usage = self.usage();
        Some(Record::from(Arc::clone(&shared)))
    }

    /// Does the work, and renews the lease meanwhile.
    pub(crate) async fn renew_while<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        let pause = self.record_store().map(|_| self.setup().lease / 3);
        loop {
            match within(TimeLimit::from_now(pause), None, work.as_mut()).await {
                Ok(done) => return done,
                // In a task of its own: the store may wait for the turn.
                Err(Cut::Timeout(_)) => {
                    let renewed = self.clone();
                    // A renewal that fails ends the turn.
                    let renew = async move { drop(renewed.renew().await) };
                    match self.runtime() {
                        Some(runtime) => drop(self.inner().tasks.spawn_on(renew, &runtime)),
                        None => return work.await,
                    }
                }
                Err(Cut::NoTimer | Cut::Cancelled) => return work.await,
            }
        }
    }

    /// Renews the lease if that is due.
    pub(crate) async fn renew(&self) -> Result<(), Error> {
        if self.hold().is_some_and(HeldLease::is_due) && !self.inner().ended.is_set() {
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
        if !self.inner().taken_over.is_set() {
            let query = Query::all().kind(RecordKind::Lease).ids([Lease::ID]);
            let loaded = self.read(&**store, &query).await?;
            if !loaded.damaged.is_empty() {
                // The store rejects this write if another process has taken over. Otherwise it replaces the damaged record.
                let lease = Record::from(Arc::new(hold.lease()));
                self.write(vec![lease]).await?;
            } else if loaded.into_records().any(|record| hold.wrote(&record)) {
                self.renew().await?;
            } else {
                self.inner().taken_over.set();
            }
        }
        if !self.inner().taken_over.is_set() {
            return Ok(());
        }
        let error = self.taken_over();
        self.fail(error.clone());
        Err(error)
    }

    /// Notes that another process has the turn now: this one may write nothing more.
    pub(super) fn taken_over(&self) -> Error {
        self.inner().taken_over.set();
        let message = "another process has taken this conversation over, or deleted it: this turn stops, and stores nothing any more";
        Error::new(ErrorCode::TurnTakenOver, message)
    }

    /// Notes how the turn ended, and lets go of its conversation.
    pub(crate) async fn release(&self, how: &TurnStatus, iterations: u32) {
        let Some(hold) = self.hold() else {
            return;
        };
        if self.inner().store_hangs.is_set() || self.inner().taken_over.is_set() {
            return;
        }
        let mut record = hold.record.lock().ended(how.state(), how.failure());
        (record.usage, record.iterations) = (self.usage(), iterations);
        // If something could not be written, the next holder looks at what was left open.
        let left = self
            .inner()
            .unwritten
            .is_set()
            .then(|| Arc::clone(self.shared_id()));
        let lease = hold.lease_of(left, Duration::ZERO);
        let records = vec![Arc::new(record).into(), Arc::new(lease).into()];
        if let Err(error) = self.write(records).await {
            let why = error.message();
            self.warn(format!("the end of the turn could not be stored: {why}"));
        }
    }
}
