//! A stored turn with its records.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::error::{Error, ErrorCode};
use crate::event::{EventHub, EventKind};
use crate::gate::{GateClosed, OpenGate, TurnWaiting};
use crate::outcome::{TurnOutcome, TurnStatus};
use crate::record::{
    EndReason, GateRecord, GateState, Lease, Record, RecordKind, RecordType as _, TurnRecord,
    TurnState,
};
use crate::schema::escape;
use crate::store::{
    ConversationId, Position, Query, Revision, Store, StoreExt as _, TurnPlace, observe_lease,
};
use crate::tool::registry::ToolRegistry;

/// A stored turn.
pub(super) struct StoredTurn {
    pub(super) conversation_id: ConversationId,
    pub(super) turn: Arc<TurnRecord>,
    pub(super) place: Position,
    /// Its records in order, without bookkeeping.
    pub(super) records: Vec<Record>,
    /// The gates at which it waits.
    pub(super) gates: Vec<Arc<GateRecord>>,
    /// The revision of the records.
    pub(super) revision: Revision,
    /// The tools of the runner, which know the kinds of their artifacts.
    tools: ToolRegistry,
}

impl StoredTurn {
    /// Loads a turn. `None` if the conversation does not have it.
    pub(super) async fn load(
        store: &dyn Store,
        conversation_id: &ConversationId,
        turn_id: &str,
        tools: &ToolRegistry,
    ) -> Result<Option<Self>, Error> {
        let found = TurnPlace::find(store, conversation_id, turn_id).await?;
        let Some(TurnPlace {
            position: place,
            next,
            ..
        }) = found
        else {
            return Ok(None);
        };
        // Read the turn and its records in one query, so that they have the same revision.
        let mut query = Query::all();
        (query.after, query.before) = (place.0.checked_sub(1).map(Position), next);
        let loaded = store.load(conversation_id, &query).await?;
        let revision = loaded.revision;
        let (mut turn, mut records, mut gates) = (None, Vec::new(), Vec::new());
        for one in loaded.records {
            match one.record {
                Record::Turn(found) if one.position == place => turn = Some(found),
                Record::Gate(gate) if *gate.turn_id == *turn_id => gates.push(gate),
                record if one.position > place && !record.kind().is_bookkeeping() => {
                    records.push(record.with_kinds(|name| tools.kind_named(name)));
                }
                _ => {}
            }
        }
        Ok(turn.map(|turn| StoredTurn {
            conversation_id: conversation_id.clone(),
            turn,
            place,
            records,
            gates: (gates.into_iter())
                .filter(|gate| gate.state == GateState::Open)
                .collect(),
            revision,
            tools: tools.clone(),
        }))
    }

    /// Loads the turn again.
    pub(super) async fn reload(&self, store: &dyn Store) -> Result<Option<Self>, Error> {
        StoredTurn::load(store, &self.conversation_id, self.turn.id(), &self.tools).await
    }

    /// Returns the record with the artifact kinds of the runner's tools.
    pub(super) fn with_kinds(&self, record: Record) -> Record {
        record.with_kinds(|name| self.tools.kind_named(name))
    }

    /// Returns whether a process may be running the turn: its lease has not expired.
    pub(super) async fn may_be_running(&self, store: &dyn Store) -> Result<bool, Error> {
        Ok(self.lease_left(store).await?.is_some())
    }

    /// Returns the time until the lease of the turn expires, if it has one that has not expired.
    pub(super) async fn lease_left(&self, store: &dyn Store) -> Result<Option<Duration>, Error> {
        let lease = store
            .get(&self.conversation_id, RecordKind::Lease, Lease::ID)
            .await?;
        let lease = lease.as_ref().and_then(Lease::of);
        let own = lease.filter(|lease| lease.turn_id.as_deref() == Some(self.turn.id()));
        Ok(own.and_then(|lease| observe_lease(&self.conversation_id, lease)))
    }

    /// Creates an event stream with what the turn has done so far.
    pub(super) fn hub(&self) -> Arc<EventHub> {
        let ids = (self.turn.shared_id(), self.conversation_id.shared());
        let hub = EventHub::new(ids.0, ids.1).keep_log(true);
        let resumed = self.turn.runs > 1;
        hub.replay(self.turn.started_at, EventKind::TurnStart { resumed });
        for record in &self.records {
            replay_record(&hub, record);
        }
        for gate in &self.gates {
            replay_opened(&hub, gate);
        }
        Arc::new(hub)
    }

    /// Ends the event stream of a turn that has ended.
    pub(super) fn end(&self, hub: &EventHub) {
        let time = self.turn.ended_at.unwrap_or_else(SystemTime::now);
        let status = status(&self.turn, &self.gates);
        let (code, message, gates) = match status {
            TurnStatus::Suspended { gates } => {
                let waiting = TurnWaiting {
                    conversation: self.conversation_id.shared(),
                    turn_id: self.turn.shared_id(),
                    gates: gates.clone(),
                };
                let code = ErrorCode::TURN_WAITING.as_str().into();
                (Some(code), Some(waiting.to_string()), gates)
            }
            _ => {
                let error = self.turn.error.as_ref();
                let code = error.map(|error| error.code.clone().into());
                let message = error.map(|error| error.public_message().to_owned());
                (code, message, Vec::new())
            }
        };
        let last = EventKind::TurnEnd {
            status: self.turn.state,
            code,
            message,
            blocked_by: None,
            gates,
            usage: self.turn.usage,
            duration: time
                .duration_since(self.turn.started_at)
                .unwrap_or_default(),
        };
        hub.end_at(time, last);
    }

    /// Returns the outcome of a turn that has ended.
    pub(super) fn outcome(&self) -> TurnOutcome {
        self.outcome_as(status(&self.turn, &self.gates))
    }

    pub(super) fn outcome_as(&self, status: TurnStatus) -> TurnOutcome {
        let answers = self.records.iter().rev().filter_map(|record| match record {
            Record::Message(message) if message.is_answer() => Some(message.text().to_owned()),
            _ => None,
        });
        TurnOutcome {
            turn_id: self.turn.shared_id(),
            conversation: self.conversation_id.shared(),
            status,
            text: answers.take(1).collect(),
            typed: None,
            records: self.records.clone(),
            usage: self.turn.usage,
            iterations: self.turn.iterations,
        }
    }
}

/// Replays the event of a record, if its kind has one.
pub(super) fn replay_record(hub: &EventHub, record: &Record) {
    if let Some((time, kind)) = EventKind::of_past_record(record) {
        hub.replay(time, kind);
    }
}

/// Replays that a gate was opened.
pub(super) fn replay_opened(hub: &EventHub, gate: &GateRecord) {
    let open = Arc::new(OpenGate::from(gate));
    hub.replay(gate.opened_at, EventKind::GateOpened(open));
}

/// Replays that a gate was closed, if it was.
pub(super) fn replay_closed(hub: &EventHub, gate: &GateRecord) {
    if gate.state == GateState::Open {
        return;
    }
    let closed = (gate.answer()).map_or_else(GateClosed::aborted, GateClosed::of);
    let GateClosed { how, by, note } = closed;
    let time = gate.closed_at.unwrap_or(gate.opened_at);
    let id = gate.id().into();
    hub.replay(time, EventKind::GateClosed { id, how, by, note });
}

/// Returns how a turn ended, from its record.
pub(super) fn status(turn: &TurnRecord, gates: &[Arc<GateRecord>]) -> TurnStatus {
    let failure = turn.error.as_ref();
    if turn.state == TurnState::Answered {
        return TurnStatus::Answered;
    }
    if turn.state == TurnState::Suspended {
        let gates = gates.iter().map(|gate| OpenGate::from(&**gate)).collect();
        return TurnStatus::Suspended { gates };
    }
    match failure.and_then(|failure| failure.reason.clone()) {
        Some(EndReason::Aborted(reason)) => return TurnStatus::Aborted { reason },
        Some(EndReason::Limit(limit)) => return TurnStatus::Limit(limit),
        None => {}
    }
    let (code, message) = match failure {
        Some(failure) => (failure.code.as_str(), failure.message.as_str()),
        None => (ErrorCode::TURN_ABORTED.as_str(), "the turn has no answer"),
    };
    let known = ErrorCode::ALL.iter().find(|known| known.as_str() == code);
    let error = match known {
        Some(code) => Error::new(*code, message),
        // The code of another crate is unknown here, so the message contains it.
        None => Error::new(
            ErrorCode::LLM_EXECUTION_EXECUTOR_ERROR,
            format!("{message} ({code})"),
        ),
    };
    match turn.state {
        TurnState::Nacked => TurnStatus::Nacked(error),
        TurnState::Abandoned => TurnStatus::Aborted {
            reason: message.to_owned(),
        },
        _ => TurnStatus::Failed(error),
    }
}

pub(super) fn interrupted(turn_id: &str) -> Error {
    let id = escape(turn_id, 80);
    let message = format!(
        "the turn `{id}` was interrupted: its process is gone. Continue it with `runner.resume(…)`"
    );
    Error::new(ErrorCode::TURN_INTERRUPTED, message)
}
