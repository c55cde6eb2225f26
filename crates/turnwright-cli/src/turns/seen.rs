//! Turns as they are kept.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use turnwright::RecordKind;
use turnwright::record::{Author, CallState, GateState, Lease, Record, TurnRecord};
use turnwright::store::{
    DamagedRecord, Position, Query, Scope, ScopeFilter, Store as _, StoreError,
};

use super::state::State;
use crate::kept::{Keeping, Part, parts_of};

/// A turn as it is kept, and as it is now.
#[derive(Clone)]
pub(crate) struct Seen {
    pub(crate) scope: Scope,
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
    pub(super) said: Option<String>,
    pub(super) calls: usize,
    /// The calls of which nobody knows whether they took effect.
    pub(super) unknown: usize,
}

/// What was found of turns.
#[derive(Default)]
pub(super) struct Found {
    /// Newest first.
    pub(super) turns: Vec<Seen>,
    /// What cannot be read of them, and in which conversation.
    pub(super) damaged: Vec<(Scope, DamagedRecord)>,
}

/// All turns of a conversation; of all of them, if none is named.
pub(super) async fn turns(keeping: &Keeping, conversation: Option<&str>) -> anyhow::Result<Found> {
    let scopes = match conversation {
        Some(name) => scopes_of(keeping, name).await?,
        None => keeping
            .store
            .scopes(&ScopeFilter::all())
            .await
            .map_err(|error| keeping.told(error))?,
    };
    let mut found = Found::default();
    for scope in scopes {
        let read = read(keeping, &scope).await;
        let (mut turns, damaged) = read.map_err(|error| keeping.told(error))?;
        found.turns.append(&mut turns);
        let damaged = damaged.into_iter().map(|it| (scope.clone(), it));
        found.damaged.extend(damaged);
    }
    // Those of one moment as they stand.
    found
        .turns
        .sort_by_key(|seen| std::cmp::Reverse(seen.turn.began_at()));
    Ok(found)
}

/// The conversation of this name: all of its parts, or the one that is named.
pub(super) async fn scopes_of(keeping: &Keeping, name: &str) -> anyhow::Result<Vec<Scope>> {
    let part = Part::named(name);
    if part.name != name {
        return Ok(vec![part.scope()]);
    }
    let parts = parts_of(keeping, name).await?;
    Ok(parts.iter().map(Part::scope).collect())
}

/// The turns of one scope, in order.
pub(super) async fn in_scope(keeping: &Keeping, scope: &Scope) -> anyhow::Result<Vec<Seen>> {
    let read = read(keeping, scope).await;
    read.map(|(turns, _)| turns)
        .map_err(|error| keeping.told(error))
}

/// The turns of a scope, and what cannot be read of them.
async fn read(
    keeping: &Keeping,
    scope: &Scope,
) -> Result<(Vec<Seen>, Vec<DamagedRecord>), StoreError> {
    let query = Query::all().kind(RecordKind::Turn).kind(RecordKind::Lease);
    let loaded = keeping.store.load(scope, &query).await?;
    let mut lease: Option<Arc<Lease>> = None;
    let mut turns = Vec::new();
    for stored in loaded.records {
        match stored.record {
            Record::Lease(it) => lease = Some(it),
            Record::Turn(turn) => turns.push((stored.position, turn)),
            _ => {}
        }
    }
    // A turn that cannot be read ends the one before it all the same.
    let is_turn = |it: &&DamagedRecord| it.kind == Some(RecordKind::Turn);
    let places = turns.iter().map(|(place, _)| *place);
    let mut places: Vec<Position> = places
        .chain(loaded.damaged.iter().filter(is_turn).map(|it| it.position))
        .collect();
    places.sort_unstable();
    let mut seen = Vec::new();
    for (place, turn) in turns {
        let next = places.iter().copied().find(|next| *next > place);
        let own = lease.as_ref().filter(|it| it.turn_id() == Some(turn.id()));
        let held = own.and_then(|lease| lease.estimated_left());
        let waits = held.is_some() && waits(keeping, scope, turn.id()).await?;
        seen.push(Seen {
            scope: scope.clone(),
            state: State::of(turn.state(), held.is_some(), waits),
            turn,
            held,
            place,
            next,
        });
    }
    Ok((seen, loaded.damaged))
}

async fn waits(keeping: &Keeping, scope: &Scope, turn: &str) -> Result<bool, StoreError> {
    let query = Query::all().kind(RecordKind::Gate);
    let loaded = keeping.store.load(scope, &query).await?;
    let mut gates = loaded.into_records().filter_map(Record::into_gate);
    Ok(gates.any(|gate| gate.turn_id() == turn && *gate.state() == GateState::Open))
}

impl Seen {
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
        keeping: &Keeping,
    ) -> anyhow::Result<(Vec<Record>, Vec<DamagedRecord>)> {
        let loaded = keeping.store.load(&self.scope, &self.query()).await;
        let mut loaded = loaded.map_err(|error| keeping.told(error))?;
        let damaged = std::mem::take(&mut loaded.damaged);
        Ok((loaded.into_records().collect(), damaged))
    }

    /// What was said and done in it, counted, and what of that cannot be read.
    pub(super) async fn digest(
        &self,
        keeping: &Keeping,
    ) -> anyhow::Result<(Digest, Vec<DamagedRecord>)> {
        let query = self.query().kind(RecordKind::Message);
        let query = query.kind(RecordKind::ToolCall).kind(RecordKind::Ledger);
        let loaded = keeping.store.load(&self.scope, &query).await;
        let mut loaded = loaded.map_err(|error| keeping.told(error))?;
        let damaged = std::mem::take(&mut loaded.damaged);
        Ok((self.count(loaded.into_records()), damaged))
    }

    pub(super) fn count(&self, records: impl IntoIterator<Item = Record>) -> Digest {
        let mut digest = Digest::default();
        for record in records {
            match record {
                Record::Message(message) if digest.said.is_none() => {
                    let spoken = matches!(message.author(), Author::User | Author::Agent { .. });
                    digest.said = spoken.then(|| message.text().to_owned());
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
        let kept = Record::from(Arc::clone(&self.turn)).to_value()?;
        let field = |name: &str| kept.get(name).cloned().unwrap_or_default();
        Ok(json!({
            "turn": self.id(),
            "conversation": self.scope.as_str(),
            "state": self.state.name(),
            "beganAt": field("beganAt"),
            "endedAt": field("endedAt"),
            "seconds": self.took().map(|took| took.as_secs_f64()),
            "heldForSeconds": self.held.map(|held| held.as_secs_f64()),
            "said": digest.said,
            "calls": digest.calls,
            "unknownCalls": digest.unknown,
            "runs": self.turn.runs(),
            "iterations": self.turn.iterations(),
            "usage": field("usage"),
            "error": field("error"),
        }))
    }
}
