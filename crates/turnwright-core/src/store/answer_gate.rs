//! Recording an answer at a gate of a stored turn.
//!
//! The store decides between answers: an answer is written only if the gate has none. So live answers, recorded ones
//! and a resumed turn that opens the gate again cannot overwrite each other.

use std::sync::Arc;
use std::time::SystemTime;

use super::ext::undamaged;
use super::{Batch, ConversationId, Loaded, Query, Store, StoreExt as _};
use crate::error::{Error, ErrorCode};
use crate::gate::{admitted, check};
use crate::record::{GateAnswer, GateRecord, GateState, Record, RecordKind, TurnRecord, TurnState};
use crate::schema::{Schema, escape};

/// Records an answer at a gate, in the store alone: a turn that waits there in any process learns of it, and a suspended turn
/// finds it when it is resumed. Returns the answered gate.
///
/// `accepts` checks what the record of the gate cannot: edited arguments.
pub(crate) async fn answer_gate(
    store: &dyn Store,
    conversation: &ConversationId,
    gate_id: &str,
    answer: GateAnswer,
    accepts: impl Fn(&GateRecord, &GateAnswer) -> Result<(), Error> + Sync,
) -> Result<Arc<GateRecord>, Error> {
    let answer = admitted(answer)?;
    let gates = Query::all().kind(RecordKind::Gate).ids([gate_id]);
    let gate = found(
        store.load(conversation, &gates).await?,
        conversation,
        gate_id,
    )?;
    check_turn(store, conversation, &gate).await?;
    let mut answered = Err(closed(&escape(gate_id, 120), "it is not stored"));
    // Only if nothing was written meanwhile: of two answers one counts.
    let updated = store.update(conversation, &gates, |loaded| {
        answered = found(loaded.clone(), conversation, gate_id)
            .and_then(|gate| answered_gate(&gate, answer.clone(), &accepts));
        (answered.iter().cloned()).fold(Batch::new(), Batch::put)
    });
    updated.await?;
    answered
}

/// Returns the gate with the answer, if it accepts it.
fn answered_gate(
    gate: &GateRecord,
    answer: GateAnswer,
    accepts: impl Fn(&GateRecord, &GateAnswer) -> Result<(), Error>,
) -> Result<Arc<GateRecord>, Error> {
    check_time(gate)?;
    let schema = gate.schema.as_deref().cloned();
    let schema = schema.map(Schema::from_document).transpose()?;
    let asked = (&gate.kind, &*gate.question);
    let accepts = |answer: &GateAnswer| accepts(gate, answer);
    let checked = check(asked, schema.as_ref(), answer, accepts)?;
    Ok(gate.closed(GateState::Answered(checked)))
}

/// Returns the gate, if it can still be answered.
fn found(
    loaded: Loaded,
    conversation: &ConversationId,
    gate_id: &str,
) -> Result<Arc<GateRecord>, Error> {
    let shown = escape(gate_id, 120);
    let mut records = undamaged(loaded)?.into_records();
    let Some(gate) = records.find_map(Record::downcast::<GateRecord>) else {
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
    let query = Query::all().kind(RecordKind::Turn);
    let loaded = store
        .load(conversation, &query.ids([&*gate.turn_id]))
        .await?;
    // A damaged turn may reach it.
    let mut records = loaded.into_records();
    let turn = records.find_map(Record::downcast::<TurnRecord>);
    match turn.map(|turn| turn.state) {
        Some(state @ (TurnState::Answered | TurnState::Nacked | TurnState::Abandoned)) => {
            let why = format!("its turn is {state}");
            Err(closed(&escape(gate.id(), 120), &why))
        }
        _ => Ok(()),
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
