//! Starts a turn: acquires the lease of its conversation and stores its input.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::attach::running;
use crate::call::OpenCalls;
use crate::deadline::{TimeLimit, within};
use crate::error::{Error, ErrorCode};
use crate::event::{EventKind, Level};
use crate::gate::{OpenGate, TurnWaiting};
use crate::lease::TurnLease;
use crate::outcome::TurnHeld;
use crate::record::{
    GateRecord, GateState, Lease, Message, Record, RecordKind, TurnRecord, TurnState,
};
use crate::schema::escape;
use crate::store::{
    Batch, Change, DamagedRecord, Loaded, MAX_TRIES, Position, Query, Revision, Store, StoreError,
    TurnPlace, observe_damaged, observe_lease,
};
use crate::tool::context::TurnContext;
use crate::turn::{apply_once, in_time};

/// Minimum time that a turn waits for the previous one: a cancelled turn takes a moment to end.
const MIN_LEASE_WAIT: Duration = Duration::from_secs(5);

/// The first pause between two checks. Later ones are longer.
const FIRST_POLL: Duration = Duration::from_millis(2);
const MAX_PAUSE: Duration = Duration::from_millis(250);
/// After this time, operators are informed about the wait.
const REPORT_AFTER: Duration = Duration::from_secs(1);

/// A conversation without a running turn.
pub(crate) struct Free {
    pub(crate) revision: Revision,
    /// The fencing token of the next holder.
    pub(crate) fencing_token: u64,
    /// The turn itself, if the conversation already has it.
    pub(crate) known: Option<(Position, Arc<TurnRecord>)>,
    /// The last turn, if it was interrupted or its end could not be stored.
    left: Option<Arc<str>>,
}

impl TurnContext {
    /// Starts the turn with its input and stash.
    ///
    /// # Errors
    /// - `E_TURN_EXISTS` if the conversation already has the turn.
    /// - `E_TURN_HELD` if another process or this one is running a turn there.
    /// - `E_TURN_WAITING` if a turn is suspended there and is not to be abandoned, or waits at a gate in this process.
    /// - `E_STORE_ERROR` if the store fails.
    pub(crate) async fn begin(
        &self,
        message: Option<Arc<Message>>,
        stash: Vec<(String, Value)>,
        abandon_suspended: bool,
    ) -> Result<(), Error> {
        let mut message = message.map(Record::Message);
        let put = |message: Option<Record>| -> Vec<Change> {
            message.into_iter().map(Change::Put).collect()
        };
        let mut record = TurnRecord::begin(Arc::clone(self.shared_id()), stash);
        self.note_outer(&mut record);
        record.principal = self.principal().cloned();
        record.settings = self.wiring().input_settings().clone();
        let record = Arc::new(record);
        self.wiring().set_nonce(&record);
        let Some(store) = self.record_store() else {
            self.journal().apply(&put(message));
            return Ok(());
        };
        let mut tries = 0;
        loop {
            let free = self.wait_until_free(&**store).await?;
            // Its calls would have the idempotency keys of the existing ones.
            if let Some((_, known)) = &free.known {
                return Err(exists(known));
            }
            if let Some(unspooled) = message.take() {
                message = Some(self.store_media_of(unspooled).await?);
            }
            let mut changes = self
                .close_abandoned(&**store, &free, abandon_suspended)
                .await?;
            let lease = self.new_lease(&free, Arc::clone(&record));
            changes.push(Change::Put(Arc::clone(&record).into()));
            changes.push(Change::Put(Arc::new(lease.record()).into()));
            changes.extend(put(message.clone()));
            tries += 1;
            if self.take(&**store, &free, lease, changes, tries).await? {
                // What was closed of the previous turn does not belong to this one.
                self.journal().apply(&put(message));
                return Ok(());
            }
        }
    }

    pub(crate) fn new_lease(&self, free: &Free, record: Arc<TurnRecord>) -> TurnLease {
        TurnLease::new(free.fencing_token, self.setup().lease, record)
    }

    /// Applies the changes with which a turn takes its lease. Returns `false` if another process wrote meanwhile.
    ///
    /// # Errors
    /// Returns an error if the store fails, or if this was the last attempt.
    pub(crate) async fn take(
        &self,
        store: &dyn Store,
        free: &Free,
        lease: TurnLease,
        changes: Vec<Change>,
        tries: usize,
    ) -> Result<bool, Error> {
        let batch = Batch::from(changes).fencing_token(free.fencing_token);
        match apply_once(self, store, batch.expect(free.revision)).await? {
            Ok(_) => {
                self.journal().set_lease(lease);
                Ok(true)
            }
            Err(error) if error.fenced_by().is_none() && error.found_revision().is_none() => {
                Err(error.into())
            }
            Err(_) if tries >= MAX_TRIES => {
                let message = "too many concurrent writes to this conversation, so the turn could not start: try again";
                Err(Error::new(ErrorCode::STORE_ERROR, message))
            }
            Err(_) => Ok(false),
        }
    }

    /// Warns about records that cannot be read.
    pub(crate) fn warn_of(&self, damaged: &[DamagedRecord]) {
        if let Some(first) = damaged.first() {
            let more = match damaged.len() - 1 {
                0 => String::new(),
                more => format!(" ({more} more are damaged too)"),
            };
            self.warn(format!("the turn continues without it: {first}{more}"));
        }
    }

    pub(crate) async fn read(&self, store: &dyn Store, query: &Query) -> Result<Loaded, Error> {
        let loaded = async { store.load(self.conversation_id(), query).await };
        Ok(in_time(self, loaded).await??)
    }

    /// Waits until no process holds this conversation: briefly if a live process does, and until its lease has expired if it is
    /// gone. A lease that cannot be read counts as held by another process for the lease duration of this turn. If a turn of this
    /// process holds it and is not about to end, fails at once.
    pub(crate) async fn wait_until_free(&self, store: &dyn Store) -> Result<Free, Error> {
        let query = Query::all().kind(RecordKind::Lease).kind(RecordKind::Turn);
        let query = query.ids([Lease::ID, self.turn_id()]);
        let (mut pause, mut waited) = (FIRST_POLL, Duration::ZERO);
        let (mut first_seen, mut reported) = (None, false);
        loop {
            let loaded = self.read(store, &query).await?;
            let mut free = Free {
                revision: loaded.revision,
                fencing_token: loaded.fencing_token.saturating_add(1),
                known: None,
                left: None,
            };
            let mut lease = None;
            for one in loaded.records {
                match one.record {
                    Record::Lease(found) if found.id() == Lease::ID => lease = Some(Ok(found)),
                    Record::Turn(turn) if turn.id() == self.turn_id() => {
                        free.known = Some((one.position, turn));
                    }
                    _ => {}
                }
            }
            for one in loaded.damaged {
                match one.kind {
                    Some(RecordKind::Lease) if one.id == Lease::ID => lease = Some(Err(one)),
                    Some(RecordKind::Turn) if one.id == self.turn_id() => {
                        return Err(StoreError::damaged(one).into());
                    }
                    _ => {}
                }
            }
            let Some(lease) = lease else {
                return Ok(free);
            };
            let left = match &lease {
                Ok(lease) => observe_lease(self.conversation_id(), lease),
                Err(damaged) => {
                    observe_damaged(self.conversation_id(), damaged, self.setup().lease)
                }
            };
            let Some(left) = left else {
                match lease {
                    Ok(lease) => {
                        free.fencing_token = free
                            .fencing_token
                            .max(lease.fencing_token.saturating_add(1));
                        free.left.clone_from(&lease.turn_id);
                    }
                    Err(damaged) => self.warn(format!("{damaged}; it will be replaced")),
                }
                return Ok(free);
            };
            let holder = lease.as_ref().ok().and_then(|lease| lease.turn_id.clone());
            let runs_here = holder.as_ref().map(|holder| self.runs_here(holder));
            let runs_here = runs_here.transpose()?.unwrap_or_default();
            let held = TurnHeld {
                conversation: self.conversation_id().shared(),
                turn_id: holder,
                expires_in: left,
            };
            // A holder that renews its lease is alive.
            let seen = lease.as_ref().map_or((0, 0, None), |lease| {
                (lease.fencing_token, lease.renewals, Some(lease.until))
            });
            let renewed = *first_seen.get_or_insert(seen) != seen;
            if runs_here
                || renewed && waited >= MIN_LEASE_WAIT
                || self.cancellation().is_cancelled()
            {
                return Err(held.into_error());
            }
            if !reported && waited >= REPORT_AFTER {
                reported = true;
                self.log(Level::Info, waiting(&held));
                self.emit(|| EventKind::LeaseWait {
                    held_by: held.turn_id,
                    at_most: left,
                });
            }
            self.pause(pause.min(left)).await;
            waited += pause;
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }

    /// Returns whether this process runs the turn. A turn that was cancelled, is suspended or has its outcome only takes a moment to
    /// end, so it does not count.
    ///
    /// # Errors
    /// Returns `E_TURN_WAITING` if the turn waits for an external answer.
    fn runs_here(&self, turn_id: &Arc<str>) -> Result<bool, Error> {
        let conversation = self.conversation_id().shared();
        let turn = running(
            self.storage(),
            &(Arc::clone(&conversation), Arc::clone(turn_id)),
        );
        let runs = |turn: &TurnContext| {
            let ends = turn.cancellation().is_cancelled() || turn.gates().activity().is_suspended();
            turn.lease().is_some() && !ends
        };
        let Some(turn) = turn.filter(runs) else {
            return Ok(false);
        };
        let Some(gates) = turn.gates().waits_outside() else {
            return Ok(true);
        };
        let waiting = TurnWaiting {
            conversation,
            turn_id: Arc::clone(turn_id),
            gates,
        };
        Err(waiting.into_error("answer with `runner.answer_gate`, or cancel that turn"))
    }

    /// Waits for this time, or until the turn is cancelled.
    async fn pause(&self, time: Duration) {
        let slept = tokio::time::sleep(time);
        let _ = within(TimeLimit::none(), self.cancellation(), slept).await;
    }

    /// Abandons a turn that was interrupted or suspended, because the conversation continues without it. Closes its calls with
    /// what is known about them, and its gates without an answer.
    async fn close_abandoned(
        &self,
        store: &dyn Store,
        free: &Free,
        abandon_suspended: bool,
    ) -> Result<Vec<Change>, Error> {
        let Some(left) = &free.left else {
            return Ok(Vec::new());
        };
        let found = TurnPlace::find(store, self.conversation_id(), left);
        let (turn, position) = match in_time(self, found).await? {
            Ok(Some(found)) => (Some(found.turn), found.position),
            Ok(None) => return Ok(Vec::new()),
            // A damaged one stays as it is.
            Err(error) => match error.damaged_record() {
                Some(damaged) => (None, damaged.position),
                None => return Err(error.into()),
            },
        };
        let query = Query::all().kind(RecordKind::ToolCall);
        let query = query.kind(RecordKind::Ledger).kind(RecordKind::Gate);
        let loaded = self.read(store, &query.after(position)).await?;
        self.warn_of(&loaded.damaged);
        let mut damaged = loaded.damaged.iter();
        let doubtful = damaged.any(|record| record.kind == Some(RecordKind::Ledger));
        let state = turn.as_ref().map(|turn| turn.state);
        let suspended = state == Some(TurnState::Suspended);
        if suspended && !abandon_suspended {
            return Err(self.waiting(left, loaded.into_records()));
        }
        let mut changes = Vec::new();
        if let Some(turn) = turn.filter(|turn| suspended || turn.state == TurnState::Running) {
            let abandoned = turn.ended(TurnState::Abandoned, None);
            changes.push(Change::Put(Arc::new(abandoned).into()));
        }
        let mut open = OpenCalls::default();
        for record in loaded.into_records() {
            match record {
                Record::Ledger(entry) if *entry.turn_id == **left => open.add_entry(entry),
                Record::Gate(gate) if gate.turn_id == *left && gate.state == GateState::Open => {
                    let closed = gate.closed(GateState::Unanswered);
                    changes.push(Change::Put(closed.into()));
                }
                Record::ToolCall(call) => open.add_call(&call),
                _ => {}
            }
        }
        let (closed, unknown) = open.abandoned(doubtful, suspended);
        changes.extend(closed.into_iter().map(Change::Put));
        if suspended {
            return Ok(changes);
        }
        let calls = match unknown {
            0 => "none of its calls is in doubt".to_owned(),
            1 => "it is unknown whether one of its calls took effect".to_owned(),
            _ => format!("it is unknown whether {unknown} of its calls took effect"),
        };
        self.warn(format!(
            "the previous turn `{left}` was interrupted and is abandoned: {calls}"
        ));
        Ok(changes)
    }

    /// The error for a conversation with a suspended turn.
    fn waiting(&self, turn_id: &Arc<str>, records: impl Iterator<Item = Record>) -> Error {
        let gates = records
            .filter_map(Record::downcast::<GateRecord>)
            .filter(|gate| gate.turn_id == *turn_id && gate.state == GateState::Open);
        let waiting = TurnWaiting {
            conversation: self.conversation_id().as_str().into(),
            turn_id: Arc::clone(turn_id),
            gates: gates.map(|gate| OpenGate::from(&*gate)).collect(),
        };
        let continues = if waiting.gates.is_empty() {
            "continue it with `runner.resume`"
        } else {
            "answer with `runner.answer_gate`"
        };
        waiting.into_error(&format!(
            "{continues}, or give it up with `TurnInput::abandon_suspended`"
        ))
    }
}

fn exists(known: &TurnRecord) -> Error {
    let (id, state) = (escape(known.id(), 80), known.state.as_str());
    let message = format!(
        "the conversation already has a turn `{id}`, which is {state}: continue it with `resume`, or use another id"
    );
    Error::new(ErrorCode::TURN_EXISTS, message)
}

fn waiting(held: &TurnHeld) -> String {
    let (turn, seconds) = (held.turn(), held.expires_in.as_secs().saturating_add(1));
    format!(
        "{turn} holds the lease of this conversation, or its process is gone: waiting up to {seconds} s for a renewal"
    )
}
