//! Writes the records of a turn to its store.
//!
//! A write that has started is completed: it continues in its own task, so dropping the caller changes nothing. The
//! writes of a turn happen in order. A store failure ends the turn. A record that is replaced keeps its position, in
//! the turn and in the store.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::SystemTime;

use futures_util::FutureExt as _;

use crate::deadline::{Cut, TimeLimit, within};
use crate::error::{Error, ErrorCode};
use crate::event::EventKind;
use crate::record::{
    Exposure, GateRecord, Record, RecordKind, ResponseRef, Retrievable, TimelineRecord, ToolCall,
};
use crate::store::{self, Batch, Change, Query, Revision, Store, StoreError};
use crate::telemetry::here;
use crate::text::panic_text;
use crate::tool::context::{Mark, TurnContext, TurnRecords};

impl TurnRecords<'_> {
    /// Stores a record in the turn's conversation and adds it to this turn, or replaces the one with the same id.
    ///
    /// # Errors
    /// Returns `E_STORE_ERROR` if the record cannot be stored. The turn does not have it then, and ends.
    ///
    /// # Cancel safety
    /// Once started, the write is completed even if the future is dropped.
    pub async fn store<T: TimelineRecord>(self, record: Arc<T>) -> Result<(), Error> {
        self.turn().write(vec![record.into_record()]).await
    }

    /// Deletes a record from this turn and from the store. Returns whether the turn had it.
    ///
    /// # Errors
    /// Returns `E_STORE_ERROR` if the record cannot be deleted. It is still there then, and the turn ends.
    ///
    /// # Cancel safety
    /// Once started, the write is completed even if the future is dropped.
    pub async fn delete<T: TimelineRecord>(self, id: &str) -> Result<bool, Error> {
        let known = self.turn().journal().records().has(T::KIND, id);
        let change = Change::Delete(T::KIND, id.to_owned());
        self.turn().apply(vec![change]).await?;
        Ok(known)
    }
}

impl TurnContext {
    /// Stores records atomically, adds them to this turn, and then emits their events.
    pub(crate) async fn write(&self, records: Vec<Record>) -> Result<(), Error> {
        self.apply(records.into_iter().map(Change::Put).collect())
            .await
    }

    /// Stores a gate, unless the store has an answer to it that differs from the one given at `known`. In that case stores
    /// nothing and returns the record with that answer. Other processes may record answers, and the first one counts.
    pub(crate) async fn write_gate(
        &self,
        gate: Arc<GateRecord>,
        known: Option<SystemTime>,
    ) -> Result<Option<Arc<GateRecord>>, Error> {
        let unless = Unless {
            gate_id: Arc::clone(&gate.id),
            known,
        };
        let changes = vec![Change::Put(Record::Gate(gate))];
        self.apply_unless(changes, Some(unless), Effect::Records)
            .await
    }

    /// Applies changes to the store and this turn. Once started, the write is completed even if the future is dropped, so that
    /// the turn always matches the store. If the store fails, the turn ends, because it cannot continue without its records.
    async fn apply(&self, changes: Vec<Change>) -> Result<(), Error> {
        let applied = self.apply_unless(changes, None, Effect::Records).await;
        applied.map(drop)
    }

    /// Stores how the timeline is compacted: calls whose results became handles, and a summary. The records that the summary
    /// covers stay in the store.
    pub(crate) async fn write_compaction(
        &self,
        handles: Vec<Arc<ToolCall>>,
        summary: Option<Arc<Retrievable>>,
    ) -> Result<(), Error> {
        let handles = handles.into_iter().map(Record::from);
        let records = handles.chain(summary.map(Record::from));
        let changes = records.map(Change::Put).collect();
        let applied = self.apply_unless(changes, None, Effect::Compaction).await;
        applied.map(drop)
    }

    async fn apply_unless(
        &self,
        mut changes: Vec<Change>,
        unless: Option<Unless>,
        effect: Effect,
    ) -> Result<Option<Arc<GateRecord>>, Error> {
        let is_over = self.journal().is(Mark::Ended)
            // Only its end is stored now. Open calls stay as they are for the next run.
            || (self.gates().activity().is_suspended() && !changes.iter().any(changes_lease));
        if is_over {
            let message = "the turn has ended: it cannot write any more";
            return Err(Error::new(ErrorCode::INVALID_TURN_CONTEXT, message));
        }
        if let Effect::Records = effect {
            self.add_exposure(&mut changes);
        }
        let Some(store) = self.record_store() else {
            self.apply_to_log(&changes, effect);
            self.emit_events(&changes, effect);
            return Ok(None);
        };
        if self.journal().is(Mark::StoreHangs) {
            let message = "the store did not respond before and is not used again";
            return Err(Error::new(ErrorCode::STORE_ERROR, message));
        }
        let (turn, store) = (self.clone(), Arc::clone(store));
        let mut work = Box::pin(async move {
            turn.store_media_in(&mut changes).await?;
            // Sequentially, in the order in which they were started.
            let writing = turn.journal().begin_write().await;
            let mut renewed = None;
            let applied = loop {
                let mut batch = Batch::from(changes.clone());
                if let Some(unless) = &unless {
                    match unless.poll_store(&turn, &*store).await {
                        Ok(Ok(revision)) => batch = batch.expect(revision),
                        Ok(Err(answered)) => return Ok(Some(answered)),
                        Err(error) => break Err(error),
                    }
                }
                if let Some(lease) = turn.lease() {
                    // Do not overwrite a lease in the batch: it releases the lease.
                    if !batch.changes.iter().any(changes_lease)
                        && let Some((since, renewal)) = lease.renewal_if_due()
                    {
                        batch.changes.push(renewal);
                        renewed = Some((lease, since));
                    }
                    let has_turn = |change: &Change| matches!(change, Change::Put(Record::Turn(_)));
                    // Not together with a batch that may be repeated: usage is recorded once.
                    if unless.is_none() && !batch.changes.iter().any(has_turn) {
                        let along = !batch.changes.is_empty();
                        let used = turn.unrecorded_usage(lease, along);
                        batch.changes.extend(used.map(Change::Put));
                    }
                    if batch.changes.is_empty() {
                        // Another task has renewed it meanwhile.
                        return Ok(None);
                    }
                    batch = batch.fencing_token(lease.fencing_token());
                }
                match apply_once(&turn, &*store, batch).await {
                    // Another process wrote meanwhile, possibly an answer.
                    Ok(Err(error)) if unless.is_some() && error.found_revision().is_some() => {}
                    Ok(Err(error)) if error.fenced_by().is_some() => {
                        break Err(turn.taken_over().with_source(error));
                    }
                    applied => break applied.and_then(|applied| Ok(applied?)),
                }
            };
            if let Err(error) = applied {
                turn.journal().mark(Mark::Incomplete);
                turn.fail(error.clone());
                return Err(error);
            }
            if let Some((lease, since)) = renewed {
                lease.renewed(since);
            }
            turn.apply_to_log(&changes, effect);
            drop(writing);
            turn.emit_events(&changes, effect);
            Ok(None)
        });
        // Most stores respond immediately, so no task is needed.
        match poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await {
            Poll::Ready(written) => written,
            Poll::Pending => match self.runtime() {
                Some(runtime) => {
                    let written = self
                        .journal()
                        .tasks()
                        .spawn_on(here().instrument(work), &runtime)
                        .await;
                    written.unwrap_or_else(|lost| match lost.try_into_panic() {
                        Ok(panic) => resume_unwind(panic),
                        Err(lost) => {
                            let message = "the runtime was shut down while the store wrote";
                            Err(Error::new(ErrorCode::STORE_ERROR, message).with_source(lost))
                        }
                    })
                }
                None => work.await,
            },
        }
    }

    /// Adds to records what their authors had read: the prompt, for records of the model and memories; what tools of the provider
    /// returned, for records of a response; what the running calls have read, for records that handlers write. A record that is
    /// stored again keeps what it was exposed to before.
    fn add_exposure(&self, changes: &mut [Change]) {
        // Most records of a batch belong to one response.
        let mut known: Option<(Option<String>, Exposure)> = None;
        for change in changes {
            let Change::Put(record) = change else {
                continue;
            };
            let before = self.journal().records().exposure_of(record);
            let exposure = match (record.exposure(), before) {
                // The model wrote its arguments when it was first stored.
                (_, Some(before)) if record.kind() == RecordKind::ToolCall => before,
                (Some(own), before) => {
                    let response = record.response().map(ResponseRef::id);
                    let prompt = match &known {
                        Some((of, prompt)) if of.as_deref() == response => *prompt,
                        _ => self.exposure_before_response(response),
                    };
                    known = Some((response.map(str::to_owned), prompt));
                    own.and(before.unwrap_or_default()).and(prompt)
                }
                (None, _) => Exposure::default(),
            };
            let response = record.response().map(|response| response.exposure);
            let exposure = exposure.and(response.unwrap_or_default());
            *record = self.with_reads_of_handlers(record.clone().exposed_to(exposure));
        }
    }

    /// Applies what was stored to the records of this turn.
    fn apply_to_log(&self, changes: &[Change], effect: Effect) {
        match effect {
            Effect::Records => self.journal().apply(changes),
            Effect::Compaction => self.journal().apply_compaction(changes),
        }
        self.report_to_outer_call();
    }

    /// Emits the events of what was stored. Every write passes here, so each record is on the event stream however it was stored.
    fn emit_events(&self, changes: &[Change], effect: Effect) {
        // The calls whose results became handles were reported when they ended.
        let changes = match effect {
            Effect::Records => changes,
            Effect::Compaction => &[],
        };
        for change in changes {
            if let Change::Put(record) = change
                && let Some(event) = EventKind::of_record(record)
            {
                self.emit(|| event);
            }
        }
    }
}

/// What changes of the store mean for the turn.
#[derive(Clone, Copy)]
enum Effect {
    /// Records were added, replaced or deleted.
    Records,
    /// The timeline was compacted.
    Compaction,
}

/// Returns whether a change releases or renews the lease.
fn changes_lease(change: &Change) -> bool {
    matches!(change, Change::Put(Record::Lease(_)))
}

/// A condition on the store under which a gate is not written.
struct Unless {
    gate_id: Arc<str>,
    /// When the answer was given that the turn has already processed.
    known: Option<SystemTime>,
}

impl Unless {
    /// Returns the revision at which the gate has no such answer, or `None`.
    async fn poll_store(
        &self,
        turn: &TurnContext,
        store: &dyn Store,
    ) -> Result<Result<Revision, Arc<GateRecord>>, Error> {
        let query = Query::all().kind(RecordKind::Gate).ids([&*self.gate_id]);
        let loaded = turn.read(store, &query).await?;
        let revision = loaded.revision;
        let gate = loaded
            .into_records()
            .find_map(Record::downcast::<GateRecord>);
        let answered = gate.filter(|gate| gate.answer().is_some() && gate.closed_at != self.known);
        Ok(answered.map_or(Ok(revision), Err))
    }
}

/// Applies a batch within the runner's time limit for the store, as [`store::apply_once`] does.
pub(crate) async fn apply_once(
    turn: &TurnContext,
    store: &dyn Store,
    batch: Batch,
) -> Result<Result<Revision, StoreError>, Error> {
    in_time(
        turn,
        store::apply_once(store, turn.conversation_id(), batch),
    )
    .await
}

/// Waits for the store within the time limit of the runner. A panic counts as a failure: a write may run within a handler, whose own
/// panics do not end the turn, and no turn continues without its records.
pub(crate) async fn in_time<T>(
    turn: &TurnContext,
    work: impl Future<Output = T>,
) -> Result<T, Error> {
    let limit = turn.setup().store_timeout;
    let mut work = pin!(AssertUnwindSafe(work).catch_unwind());
    let time = TimeLimit::from_now(Some(limit));
    let done = match within(time, None, work.as_mut()).await {
        Err(Cut::Timeout(_)) => {
            turn.journal().mark(Mark::StoreHangs);
            let message = format!("the store did not respond within {limit:?}");
            return Err(Error::new(ErrorCode::STORE_ERROR, message));
        }
        Err(Cut::Cancelled) => work.await,
        Ok(done) => done,
    };
    done.map_err(|panic| {
        let message = format!("the store panicked: {}", panic_text(panic));
        Error::new(ErrorCode::STORE_ERROR, message)
    })
}
