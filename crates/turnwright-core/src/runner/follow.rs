//! Follows a turn that runs elsewhere, by its records.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::oneshot;

use super::input::TurnInput;
use super::stored_turn::{StoredTurn, interrupted, replay_closed, replay_opened, replay_record};
use super::turn::{Controls, Turn};
use super::turn_runner::TurnRunner;
use crate::error::Error;
use crate::event::{EventHub, EventKind};
use crate::outcome::{TurnOutcome, TurnStatus};
use crate::record::{GateRecord, GateState, Record, RecordKind, TurnState};
use crate::store::{Changes, Store, Stored};

/// The interval between two queries of the store.
const PAUSE: Duration = Duration::from_millis(500);
/// After this many queries without a new record, the reader is informed what it waits for.
const QUIET_POLLS: u32 = 2;
/// How many consecutive failures of the store are tolerated.
const MAX_FAILURES: u32 = 10;

/// Polls the store for the records of a turn that runs elsewhere.
pub(super) struct Follower {
    store: Arc<dyn Store>,
    stored: StoredTurn,
    hub: Arc<EventHub>,
    outcome: oneshot::Sender<TurnOutcome>,
    /// Of the handle. Set once the turn runs here or has ended.
    controls: Arc<OnceLock<Controls>>,
    resumes: Option<(TurnRunner, Arc<str>)>,
    /// The number of queries since the last new record, and the time until the lease expires.
    quiet: (u32, Duration),
}

impl Follower {
    /// Follows a turn. With a runner and the id of a gate that has its answer, the turn is resumed there if its process stops without
    /// having used the answer.
    pub(super) fn start(
        store: Arc<dyn Store>,
        stored: StoredTurn,
        resumes: Option<(TurnRunner, Arc<str>)>,
    ) -> Turn {
        let hub = stored.hub();
        let (sender, outcome) = oneshot::channel();
        let controls: Arc<OnceLock<Controls>> = Arc::default();
        let ids = (&stored.turn.shared_id(), &stored.conversation_id.shared());
        let outcome = async { outcome.await.ok() };
        let turn = Turn::new(ids, Arc::clone(&controls), outcome, hub.subscribe(true));
        let follower = Follower {
            store,
            stored,
            hub,
            outcome: sender,
            controls,
            resumes,
            quiet: (0, Duration::ZERO),
        };
        // The callers are async: it runs in a runtime.
        tokio::spawn(follower.follow());
        turn
    }

    async fn follow(mut self) {
        let mut failures = 0;
        let error = loop {
            let unread = self.outcome.is_closed() && !self.hub.has_readers();
            if unread && self.resumes.is_none() {
                return;
            }
            tokio::time::sleep(PAUSE).await;
            match self.poll_store().await {
                Ok(true) => {
                    failures = 0;
                    self.report_quiet();
                }
                Ok(false) if let Some(turn) = self.resume() => return self.forward(turn).await,
                Ok(false) if self.stored.turn.state != TurnState::Running => {
                    let _ = self.controls.set(Controls::ended());
                    self.stored.end(&self.hub);
                    let _ = self.outcome.send(self.stored.outcome());
                    return;
                }
                Ok(false) => break interrupted(self.stored.turn.id()),
                Err(error) if failures >= MAX_FAILURES => break error,
                Err(_) => failures += 1,
            }
        };
        self.hub.end(|| EventKind::TurnEnd {
            status: TurnState::Running,
            code: Some(error.code().as_str().into()),
            message: Some(error.code().meaning().to_owned()),
            blocked_by: None,
            gates: Vec::new(),
            usage: self.stored.turn.usage,
            duration: Duration::ZERO,
        });
        let outcome = self.stored.outcome_as(TurnStatus::Failed(error));
        let _ = self.outcome.send(outcome);
    }

    /// Tells the reader once that nothing came for a while, because the process that runs the turn may be gone.
    fn report_quiet(&mut self) {
        let (polls, at_most) = self.quiet;
        self.quiet.0 = polls.saturating_add(1);
        if self.quiet.0 == QUIET_POLLS {
            self.hub.emit(|| EventKind::LeaseWait {
                held_by: Some(self.stored.turn.shared_id()),
                at_most,
            });
        }
    }

    /// Resumes the turn here if its process is gone, or has suspended it without using the answer.
    fn resume(&self) -> Option<Turn> {
        let (runner, gate) = self.resumes.as_ref()?;
        let is_open = (self.stored.gates.iter()).any(|open| open.id() == &**gate);
        let resumes = match self.stored.turn.state {
            TurnState::Running => true,
            TurnState::Suspended => !is_open,
            _ => false,
        };
        resumes.then(|| {
            let ids = (
                self.stored.turn.shared_id(),
                self.stored.conversation_id.shared(),
            );
            runner.start(TurnInput::resume_unless_ended(&ids.0, &ids.1))
        })
    }

    /// Forwards the events and the outcome of the turn, which runs here now.
    async fn forward(self, mut turn: Turn) {
        if let Some(controls) = turn.controls.get() {
            let _ = self.controls.set(controls.clone());
        }
        while let Some(event) = turn.next().await {
            match &event.kind {
                EventKind::TurnStart { .. } => {}
                EventKind::TurnEnd { .. } => self.hub.end_at(event.time, event.kind),
                _ => self.hub.forward(event),
            }
        }
        let _ = self.outcome.send(turn.await);
    }

    /// Reads new records. Returns whether the turn is still running.
    async fn poll_store(&mut self) -> Result<bool, Error> {
        // Checked first: a turn that ended meanwhile has released its lease, and its record says so.
        let left = self.stored.lease_left(&*self.store).await?;
        self.quiet.1 = left.unwrap_or_default();
        let alive = left.is_some();
        let conversation_id = &self.stored.conversation_id;
        let changes = self
            .store
            .changed(conversation_id, self.stored.revision)
            .await?;
        let changed = match changes {
            Changes::Since { put, .. } => {
                let new = put.revision > self.stored.revision;
                self.stored.revision = put.revision;
                // A renewed lease is no news for a reader.
                if put
                    .records
                    .iter()
                    .any(|one| one.record.kind() != RecordKind::Lease)
                {
                    self.quiet.0 = 0;
                }
                self.take(put.records);
                new
            }
            Changes::Unknown => self.reload().await?,
        };
        let running = self.stored.turn.state == TurnState::Running;
        // A turn that was resumed meanwhile has changed something.
        Ok(running && (alive || changed))
    }

    /// Processes records and emits their events.
    fn take(&mut self, put: Vec<Stored>) {
        let place = self.stored.place;
        // Records after the next turn do not belong to this one.
        let later = put.iter().filter_map(|one| match &one.record {
            Record::Turn(_) if one.position > place => Some(one.position),
            _ => None,
        });
        let next = later.min();
        for one in put {
            let own = one.position > place && next.is_none_or(|next| one.position < next);
            match one.record {
                Record::Turn(turn) if one.position == place => self.stored.turn = turn,
                Record::Gate(gate) if *gate.turn_id == *self.stored.turn.id() => {
                    self.take_gate(&gate);
                }
                record if own && !record.kind().is_bookkeeping() => self.take_own(record),
                _ => {}
            }
        }
    }

    fn take_gate(&mut self, gate: &Arc<GateRecord>) {
        let gates = &mut self.stored.gates;
        let was_open = gates.iter().any(|known| known.id() == gate.id());
        gates.retain(|known| known.id() != gate.id());
        if gate.state == GateState::Open {
            gates.push(Arc::clone(gate));
        }
        // It may have been opened and closed between two queries.
        if !was_open {
            replay_opened(&self.hub, gate);
        }
        replay_closed(&self.hub, gate);
    }

    fn take_own(&mut self, record: Record) {
        let record = self.stored.with_kinds(record);
        let mut known = self.stored.records.iter_mut();
        match known.find(|known| known.kind() == record.kind() && known.id() == record.id()) {
            Some(known) => {
                // Compaction writes calls again.
                if EventKind::of_record(known).is_none() {
                    replay_record(&self.hub, &record);
                }
                *known = record;
            }
            None => {
                replay_record(&self.hub, &record);
                self.stored.records.push(record);
            }
        }
    }

    /// Reads everything again if the store does not know what is new. Returns whether anything is.
    async fn reload(&mut self) -> Result<bool, Error> {
        let Some(found) = self.stored.reload(&*self.store).await? else {
            // It was deleted.
            return Ok(false);
        };
        let known: HashSet<(RecordKind, String)> = (self.stored.records.iter())
            .filter(|record| EventKind::of_record(record).is_some())
            .map(|record| (record.kind(), record.id().to_owned()))
            .collect();
        for record in &found.records {
            let is_known = known.contains(&(record.kind(), record.id().to_owned()));
            if !is_known {
                replay_record(&self.hub, record);
            }
        }
        let new = found.revision > self.stored.revision;
        self.stored = found;
        Ok(new)
    }
}
