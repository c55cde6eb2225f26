//! Summaries of stored turns.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use turnwright::RecordKind;
use turnwright::record::{Author, CallState, GateState, Lease, Record, TurnRecord};
use turnwright::store::{
    ConversationFilter, ConversationId, DamagedRecord, Position, Query, Store as _, StoreError,
};

use crate::storage::{ConversationPart, Storage, parts_of};
use crate::turn_state::State;

/// A stored turn with its current state.
#[derive(Clone)]
pub(crate) struct TurnSummary {
    pub(crate) conversation_id: ConversationId,
    pub(crate) turn: Arc<TurnRecord>,
    pub(crate) state: State,
    /// For how long its lease seems to last, if a process seems to hold it: by the wall clock, for display alone.
    pub(crate) held: Option<Duration>,
    /// Where it stands in its conversation.
    place: Position,
    /// Where the next one does.
    next: Option<Position>,
}

/// What was said and done in a turn, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Digest {
    /// What was said to the model first.
    pub(super) first_message: Option<String>,
    pub(super) calls: usize,
    /// The calls of which nobody knows whether they took effect.
    pub(super) unknown: usize,
}

/// What was found of turns.
#[derive(Default)]
pub(super) struct Found {
    /// Newest first.
    pub(super) turns: Vec<TurnSummary>,
    /// What cannot be read of them, and in which conversation.
    pub(super) damaged: Vec<(ConversationId, DamagedRecord)>,
}

/// All turns of a conversation; of all of them, if none is named.
pub(super) async fn turns(storage: &Storage, conversation: Option<&str>) -> anyhow::Result<Found> {
    let conversation_ids = match conversation {
        Some(name) => conversation_ids_of(storage, name).await?,
        None => storage
            .store
            .conversations(&ConversationFilter::all())
            .await
            .map_err(|error| storage.explain(error))?,
    };
    let mut found = Found::default();
    for conversation_id in conversation_ids {
        let read = read(storage, &conversation_id).await;
        let (mut turns, damaged) = read.map_err(|error| storage.explain(error))?;
        found.turns.append(&mut turns);
        let damaged = damaged
            .into_iter()
            .map(|item| (conversation_id.clone(), item));
        found.damaged.extend(damaged);
    }
    // Those of one moment as they stand.
    found
        .turns
        .sort_by_key(|summary| std::cmp::Reverse(summary.turn.began_at()));
    Ok(found)
}

/// The conversation of this name: all of its parts, or the one that is named.
pub(super) async fn conversation_ids_of(
    storage: &Storage,
    name: &str,
) -> anyhow::Result<Vec<ConversationId>> {
    let part = ConversationPart::named(name);
    if part.name != name {
        return Ok(vec![part.conversation_id()]);
    }
    let parts = parts_of(storage, name).await?;
    Ok(parts
        .iter()
        .map(ConversationPart::conversation_id)
        .collect())
}

/// The turns of one conversation, in order.
pub(super) async fn in_scope(
    storage: &Storage,
    conversation_id: &ConversationId,
) -> anyhow::Result<Vec<TurnSummary>> {
    let read = read(storage, conversation_id).await;
    read.map(|(turns, _)| turns)
        .map_err(|error| storage.explain(error))
}

/// The turns of a conversation, and what cannot be read of them.
async fn read(
    storage: &Storage,
    conversation_id: &ConversationId,
) -> Result<(Vec<TurnSummary>, Vec<DamagedRecord>), StoreError> {
    let query = Query::all().kind(RecordKind::Turn).kind(RecordKind::Lease);
    let loaded = storage.store.load(conversation_id, &query).await?;
    let mut lease: Option<Arc<Lease>> = None;
    let mut turns = Vec::new();
    for stored in loaded.records {
        match stored.record {
            Record::Lease(item) => lease = Some(item),
            Record::Turn(turn) => turns.push((stored.position, turn)),
            _ => {}
        }
    }
    // A turn that cannot be read ends the one before it all the same.
    let is_turn = |item: &&DamagedRecord| item.kind == Some(RecordKind::Turn);
    let places = turns.iter().map(|(place, _)| *place);
    let mut places: Vec<Position> = places
        .chain(
            loaded
                .damaged
                .iter()
                .filter(is_turn)
                .map(|item| item.position),
        )
        .collect();
    places.sort_unstable();
    let mut summary = Vec::new();
    for (place, turn) in turns {
        let next = places.iter().copied().find(|next| *next > place);
        let own = lease
            .as_ref()
            .filter(|item| item.turn_id() == Some(turn.id()));
        let held = own.and_then(|lease| lease.estimated_left());
        let waits = held.is_some() && waits(storage, conversation_id, turn.id()).await?;
        summary.push(TurnSummary {
            conversation_id: conversation_id.clone(),
            state: State::of(turn.state(), held.is_some(), waits),
            turn,
            held,
            place,
            next,
        });
    }
    Ok((summary, loaded.damaged))
}

async fn waits(
    storage: &Storage,
    conversation_id: &ConversationId,
    turn: &str,
) -> Result<bool, StoreError> {
    let query = Query::all().kind(RecordKind::Gate);
    let loaded = storage.store.load(conversation_id, &query).await?;
    let mut gates = loaded.into_records().filter_map(Record::into_gate);
    Ok(gates.any(|gate| gate.turn_id() == turn && *gate.state() == GateState::Open))
}

impl TurnSummary {
    pub(crate) fn id(&self) -> &str {
        self.turn.id()
    }

    /// Whether the conversation went on after it.
    pub(crate) fn is_last(&self) -> bool {
        self.next.is_none()
    }

    /// Whether it can be resumed: it is the last turn of its conversation and has not ended for good.
    pub(super) fn is_resumable(&self) -> bool {
        self.is_last() && (self.state.can_go_on() || self.state.is_live())
    }

    /// What a store is asked for to get what stands behind the turn, up to the next one.
    pub(super) fn query(&self) -> Query {
        let query = Query::all().after(self.place);
        match self.next {
            Some(next) => query.before(next),
            None => query,
        }
    }

    /// Whether a place in the conversation is the turn's.
    pub(super) fn holds(&self, place: Position) -> bool {
        place >= self.place && self.next.is_none_or(|next| place < next)
    }

    /// What was said and done in it, in order, and what of it cannot be read.
    pub(super) async fn records(
        &self,
        storage: &Storage,
    ) -> anyhow::Result<(Vec<Record>, Vec<DamagedRecord>)> {
        let loaded = storage
            .store
            .load(&self.conversation_id, &self.query())
            .await;
        let mut loaded = loaded.map_err(|error| storage.explain(error))?;
        let damaged = std::mem::take(&mut loaded.damaged);
        Ok((loaded.into_records().collect(), damaged))
    }

    /// What was said and done in it, counted, and what of that cannot be read.
    pub(super) async fn digest(
        &self,
        storage: &Storage,
    ) -> anyhow::Result<(Digest, Vec<DamagedRecord>)> {
        let query = self.query().kind(RecordKind::Message);
        let query = query.kind(RecordKind::ToolCall).kind(RecordKind::Ledger);
        let loaded = storage.store.load(&self.conversation_id, &query).await;
        let mut loaded = loaded.map_err(|error| storage.explain(error))?;
        let damaged = std::mem::take(&mut loaded.damaged);
        Ok((self.count(loaded.into_records()), damaged))
    }

    pub(super) fn count(&self, records: impl IntoIterator<Item = Record>) -> Digest {
        let mut digest = Digest::default();
        for record in records {
            match record {
                Record::Message(message) if digest.first_message.is_none() => {
                    let spoken = matches!(message.author(), Author::User | Author::Agent { .. });
                    digest.first_message = spoken.then(|| message.text().to_owned());
                }
                Record::ToolCall(_) => digest.calls += 1,
                Record::Ledger(line) if line.turn_id() == self.id() => {
                    digest.unknown += usize::from(self.is_unknown(line.state()));
                }
                _ => {}
            }
        }
        digest
    }

    /// Whether nobody knows if a call took effect: one that was begun is still on its way while somebody runs its turn.
    pub(super) fn is_unknown(&self, state: CallState) -> bool {
        match state {
            CallState::Unknown => true,
            CallState::Begun => !self.state.is_live(),
            _ => false,
        }
    }

    /// How long it took; so far, where it still runs. Nobody knows when one was cut off.
    pub(super) fn took(&self) -> Option<Duration> {
        let end = match (self.turn.ended_at(), self.state.is_live()) {
            (Some(end), _) => end,
            (None, true) => SystemTime::now(),
            (None, false) => return None,
        };
        Some(end.duration_since(self.turn.began_at()).unwrap_or_default())
    }

    /// For machines.
    pub(super) fn to_value(&self, digest: &Digest) -> anyhow::Result<Value> {
        let fields = Record::from(Arc::clone(&self.turn)).to_value()?;
        let field = |name: &str| fields.get(name).cloned().unwrap_or_default();
        Ok(json!({
            "turn": self.id(),
            "conversation": self.conversation_id.as_str(),
            "state": self.state.name(),
            "beganAt": field("beganAt"),
            "endedAt": field("endedAt"),
            "seconds": self.took().map(|took| took.as_secs_f64()),
            "heldForSeconds": self.held.map(|held| held.as_secs_f64()),
            "said": digest.first_message,
            "calls": digest.calls,
            "unknownCalls": digest.unknown,
            "runs": self.turn.runs(),
            "iterations": self.turn.iterations(),
            "usage": field("usage"),
            "error": field("error"),
        }))
    }
}
