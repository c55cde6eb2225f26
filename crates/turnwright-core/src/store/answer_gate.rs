//! Recording an answer at a gate of a stored turn.

use std::sync::Arc;
use std::time::SystemTime;

use super::{Batch, ConversationId, Loaded, Query, Store, StoreError, TurnPlace};
use crate::error::{Error, ErrorCode};
use crate::gate::{admitted, check};
use crate::record::{GateAnswer, GateRecord, GateState, Record, RecordKind, TurnState};
use crate::schema::{Schema, escape};

/// Maximum number of attempts when others write to the same conversation.
const MAX_TRIES: usize = 100;

/// Records an answer at a gate, in the store alone: a turn that waits there in any process learns of it, and a suspended turn
/// finds it when it is resumed. Returns the answered gate.
///
/// `accepts` checks what the record of the gate cannot: edited arguments.
pub(crate) async fn answer_gate(
    store: &dyn Store,
    conversation: &ConversationId,
    gate_id: &str,
    answer: GateAnswer,
    accepts: impl Fn(&GateRecord, &GateAnswer) -> Result<(), Error>,
) -> Result<Arc<GateRecord>, Error> {
    let answer = admitted(answer)?;
    let query = Query::all().kind(RecordKind::Gate).ids([gate_id]);
    for _ in 0..MAX_TRIES {
        let loaded = store.load(conversation, &query).await?;
        let revision = loaded.revision;
        let gate = found(loaded, conversation, gate_id)?;
        check_turn(store, conversation, &gate).await?;
        check_time(&gate)?;
        let schema = gate.schema.as_deref().cloned();
        let schema = schema.map(Schema::from_document).transpose()?;
        let asked = (&gate.kind, &*gate.question);
        let checked = check(asked, schema.as_ref(), answer.clone(), |answer| {
            accepts(&gate, answer)
        })?;
        let closed = gate.closed(GateState::Answered(checked));
        // Only if nothing was written meanwhile: of two answers one counts.
        let put = Record::Gate(Arc::clone(&closed));
        let batch = Batch::new().put(put).expect(revision);
        match apply(store, conversation, batch).await {
            Ok(()) => return Ok(closed),
            Err(error) if error.found_revision().is_some() => {}
            Err(error) => return Err(error.into()),
        }
    }
    let message = "the answer was not recorded because of too many concurrent writes to the conversation: try again";
    Err(Error::new(ErrorCode::STORE_ERROR, message))
}

/// Applies a batch. If it is unknown whether it was applied, tries once more with the same batch.
async fn apply(
    store: &dyn Store,
    conversation: &ConversationId,
    batch: Batch,
) -> Result<(), StoreError> {
    match store.apply(conversation, batch.clone()).await {
        Err(error) if error.is_outcome_unknown() => {
            store.apply(conversation, batch).await.map(drop)
        }
        applied => applied.map(drop),
    }
}

/// Returns the gate, if it can still be answered.
fn found(
    mut loaded: Loaded,
    conversation: &ConversationId,
    gate_id: &str,
) -> Result<Arc<GateRecord>, Error> {
    let shown = escape(gate_id, 120);
    if let Some(damaged) = loaded.damaged.pop() {
        return Err(StoreError::damaged(damaged).into());
    }
    let Some(gate) = loaded
        .into_records()
        .find_map(Record::downcast::<GateRecord>)
    else {
        let conversation = escape(conversation.as_str(), 80);
        let message = format!("the conversation `{conversation}` has no gate `{shown}`");
        return Err(Error::new(ErrorCode::UNKNOWN_TURN_GATE, message));
    };
    match &gate.state {
        GateState::Open => Ok(gate),
        GateState::Answered(_) => {
            let message =
                format!("the gate `{shown}` was already answered: the first answer counts");
            Err(Error::new(ErrorCode::TURN_GATE_ANSWERED, message))
        }
        GateState::Unanswered => Err(closed(&shown, "it was closed without an answer")),
    }
}

/// Rejects an answer for a turn that will not reach the gate again.
async fn check_turn(
    store: &dyn Store,
    conversation: &ConversationId,
    gate: &GateRecord,
) -> Result<(), Error> {
    let found = TurnPlace::find(store, conversation, &gate.turn_id).await?;
    let turn = found.and_then(|found| found.turn.ok());
    let over = turn.map(|turn| turn.state).filter(|state| {
        matches!(
            state,
            TurnState::Answered | TurnState::Nacked | TurnState::Abandoned
        )
    });
    match over {
        None => Ok(()),
        Some(state) => {
            let why = format!("its turn is {state}");
            Err(closed(&escape(gate.id(), 120), &why))
        }
    }
}

/// Rejects an answer after the timeout of the gate: its turn asks again when it is resumed.
fn check_time(gate: &GateRecord) -> Result<(), Error> {
    let Some(limit) = gate.timeout.filter(|_| gate.is_expired(SystemTime::now())) else {
        return Ok(());
    };
    let id = escape(gate.id(), 120);
    let message = format!(
        "the timeout of the gate `{id}` ({limit:?}) has expired: resume the turn, which asks again"
    );
    Err(Error::new(ErrorCode::TURN_GATE_TIMEOUT, message))
}

fn closed(gate_id: &str, why: &str) -> Error {
    let message = format!("the gate `{gate_id}` accepts no answer: {why}");
    Error::new(ErrorCode::TURN_GATE_CLOSED, message)
}
