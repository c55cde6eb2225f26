//! The lease of a turn: no other process can run a turn of its conversation.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use crate::deadline::{Cut, TimeLimit, within};
use crate::error::{Error, ErrorCode};
use crate::lease::TurnLease;
use crate::outcome::TurnStatus;
use crate::record::{Lease, Message, Record, RecordKind, TurnRecord};
use crate::store::Query;
use crate::tool::context::{Mark, TurnContext};

impl TurnContext {
    /// Returns the turn's record with a message as its answer, for the batch that stores the message. If answers are decided on,
    /// the message is only proposed.
    pub(crate) fn answered_by(&self, message: &str) -> Option<Record> {
        let message = Some(Arc::from(message));
        self.change_record(|record| {
            if self.decides_answers() {
                record.proposed = message;
            } else {
                record.answer = message;
            }
        })
    }

    /// Returns the turn's record with the proposed answer accepted.
    pub(crate) fn accept_answer(&self) -> Option<Record> {
        self.change_record(|record| {
            if let Some(proposed) = record.proposed.take() {
                record.answer = Some(proposed);
            }
        })
    }

    /// Returns the turn's record with a message rejected as its answer, for the batch that stores the reason. Changes nothing
    /// yet: if the store fails, the answer is still proposed.
    pub(crate) fn with_rejected(&self, message: Option<&Arc<str>>) -> Option<Record> {
        let mut record = TurnRecord::clone(&self.lease()?.turn());
        record.reject(message);
        Some(Record::from(Arc::new(record)))
    }

    /// Notes that a message was rejected as the answer.
    pub(crate) fn note_rejected(&self, message: Option<&Arc<str>>) {
        self.journal().reject(message.cloned());
        self.change_record(|record| record.reject(message));
    }

    fn change_record(&self, change: impl FnOnce(&mut TurnRecord)) -> Option<Record> {
        self.lease()?.change_turn(|record| {
            change(record);
            self.limits().record(record);
            true
        })
    }

    /// Returns whether an answer of an executor is decided on before it counts: by its type, or by dispatch output middleware.
    pub(crate) fn decides_answers(&self) -> bool {
        !self.setup().auto_ack || self.answer_format().is_some()
    }

    /// Returns the last message of the model in this turn that was not rejected as its answer.
    pub(crate) fn last_answer(&self) -> Option<Arc<Message>> {
        self.journal().last_answer()
    }

    /// Runs the work and renews the lease meanwhile.
    pub(crate) async fn renew_while<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        let pause = self.record_store().map(|_| self.setup().lease / 3);
        loop {
            match within(TimeLimit::from_now(pause), None, work.as_mut()).await {
                Ok(done) => return done,
                // In its own task: the store may wait for the turn.
                Err(Cut::Timeout(_)) => {
                    let renewed = self.clone();
                    // A failed renewal ends the turn.
                    let renew = async move { drop(renewed.renew().await) };
                    match self.runtime() {
                        Some(runtime) => drop(self.journal().tasks().spawn_on(renew, &runtime)),
                        None => return work.await,
                    }
                }
                Err(Cut::Cancelled) => return work.await,
            }
        }
    }

    /// Renews the lease if it is due.
    pub(crate) async fn renew(&self) -> Result<(), Error> {
        if self.lease().is_some_and(TurnLease::is_due) && !self.journal().is(Mark::Ended) {
            // The lease itself is added by the write. A failure ends the turn, like every write.
            self.write(Vec::new()).await?;
        }
        Ok(())
    }

    /// Checks that this process still holds the lease of the turn. Call it in a handler that ran for long before it acts: the
    /// process may have been suspended meanwhile, and another one may have taken over the turn or deleted the conversation.
    /// Queries the store each time, and renews the lease if it is due.
    ///
    /// # Errors
    /// Returns `E_TURN_TAKEN_OVER` if another process has taken over; do nothing more then. Returns `E_STORE_ERROR` if the store
    /// fails.
    pub async fn ensure_lease(&self) -> Result<(), Error> {
        let (Some(lease), Some(store)) = (self.lease(), self.record_store()) else {
            return Ok(());
        };
        if !self.journal().is(Mark::TakenOver) {
            let query = Query::all().kind(RecordKind::Lease).ids([Lease::ID]);
            let loaded = self.read(&**store, &query).await?;
            if !loaded.damaged.is_empty() {
                // The store rejects this write if another process has taken over. Otherwise it replaces the damaged record.
                let record = Record::from(Arc::new(lease.record()));
                self.write(vec![record]).await?;
            } else if loaded.into_records().any(|record| lease.matches(&record)) {
                self.renew().await?;
            } else {
                self.journal().mark(Mark::TakenOver);
            }
        }
        if !self.journal().is(Mark::TakenOver) {
            return Ok(());
        }
        let error = self.taken_over();
        self.fail(error.clone());
        Err(error)
    }

    /// Notes that another process has taken over the turn. This one must not write any more.
    pub(super) fn taken_over(&self) -> Error {
        self.journal().mark(Mark::TakenOver);
        let message = "another process has taken over or deleted this conversation: this turn stops and stores nothing more";
        Error::new(ErrorCode::TURN_TAKEN_OVER, message)
    }

    /// Closes the gates that are still open, stores how the turn ended, and releases the lease.
    pub(crate) async fn release(&self, how: &TurnStatus, iterations: u32) {
        let Some(lease) = self.lease() else {
            return;
        };
        if self.journal().is(Mark::StoreHangs) || self.journal().is(Mark::TakenOver) {
            return;
        }
        let suspended = matches!(how, TurnStatus::Suspended { .. });
        if !suspended {
            for gate in self.gates().recorded().unanswered(None) {
                // An answer that was recorded meanwhile stays. A failed write is reported by the next one.
                drop(self.write_gate(gate, None).await);
            }
        }
        let mut record = match how {
            TurnStatus::Suspended { .. } => {
                let step = self.gates().numbers().step().0;
                let waits_at = self.gates().activity().waits_only_at();
                lease.turn().suspended(step, waits_at)
            }
            _ => lease.turn().ended(how.state(), how.failure()),
        };
        record.iterations = iterations;
        self.limits().record(&mut record);
        // The next holder checks a suspended turn, and open calls if something could not be written.
        let left = (suspended || self.journal().is(Mark::Incomplete))
            .then(|| Arc::clone(self.shared_id()));
        let lease = lease.record_of(left, Duration::ZERO);
        let records = vec![Arc::new(record).into(), Arc::new(lease).into()];
        if let Err(error) = self.write(records).await {
            let why = error.message();
            self.warn(format!("the end of the turn could not be stored: {why}"));
        }
    }
}
