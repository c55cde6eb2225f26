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
use crate::record::{
    GateAnswer, GateRecord, GateState, RecordKind, RecordType as _, TurnRecord, TurnState,
};
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
    let mut query = Query::all().kind(RecordKind::Gate).ids([gate_id]);
    let gate = found(
        store.load(conversation, &query).await?,
        conversation,
        gate_id,
    )?;
    query = query.kind(RecordKind::Turn).ids([gate_id, &*gate.turn_id]);
    let mut answered = Err(closed(&escape(gate_id, 120), "it is not stored"));
    // Only if nothing was written meanwhile: of two answers one counts, and a turn that ends gets none.
    let updated = store.update(conversation, &query, |loaded| {
        answered = found(loaded.clone(), conversation, gate_id).and_then(|gate| {
            check_open(&gate, loaded)?;
            answered_gate(&gate, answer.clone(), &accepts)
        });
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

/// Returns the gate.
fn found(
    loaded: Loaded,
    conversation: &ConversationId,
    gate_id: &str,
) -> Result<Arc<GateRecord>, Error> {
    let mut gates = loaded.records.iter();
    if let Some(gate) = gates.find_map(|stored| GateRecord::of(&stored.record)) {
        return Ok(Arc::clone(gate));
    }
    undamaged(loaded)?;
    let (conversation, gate_id) = (escape(conversation.as_str(), 80), escape(gate_id, 120));
    let message = format!("the conversation `{conversation}` has no gate `{gate_id}`");
    Err(Error::new(ErrorCode::UNKNOWN_TURN_GATE, message))
}

/// Rejects an answer at a gate that has one, and for a turn that does not wait there.
fn check_open(gate: &GateRecord, loaded: &Loaded) -> Result<(), Error> {
    let shown = escape(gate.id(), 120);
    if gate.answer().is_some() {
        let message = format!("the gate `{shown}` was already answered: the first answer counts");
        return Err(Error::new(ErrorCode::TURN_GATE_ANSWERED, message));
    }
    let mut records = loaded.records.iter();
    // A damaged turn may wait there.
    let turn = records.find_map(|stored| TurnRecord::of(&stored.record));
    match turn.map(|turn| turn.state) {
        Some(state @ (TurnState::Answered | TurnState::Nacked | TurnState::Abandoned)) => {
            Err(closed(&shown, &format!("its turn is {state}")))
        }
        Some(state @ (TurnState::Aborted | TurnState::Failed | TurnState::Limit)) => {
            let why = format!(
                "its turn is {state}. Resume the turn: it asks again if it still needs an answer"
            );
            Err(closed(&shown, &why))
        }
        _ if gate.state == GateState::Open => Ok(()),
        _ => Err(closed(&shown, "it was closed without an answer")),
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
