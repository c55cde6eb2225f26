//! Turns as they are kept.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use turnwright::RecordKind;
use turnwright::record::{Author, CallState, GateState, Lease, Record, TurnRecord};
use turnwright::sqlite::SqliteError;
use turnwright::store::{
    Position, Query, Scope, ScopeFilter, Store as _, StoreError, StoreExt as _,
};

use super::state::State;
use crate::kept::{Keeping, Part, parts_of};

/// A turn as it is kept, and as it is now.
#[derive(Clone)]
pub(crate) struct Seen {
    pub(crate) scope: Scope,
    pub(crate) turn: Arc<TurnRecord>,
    pub(crate) state: State,
    /// For how long nobody else may run it, where somebody does.
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
    /// The conversations whose turns cannot be read, and why.
    pub(super) unreadable: Vec<(Scope, String)>,
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
        match read(keeping, &scope).await {
            Ok(mut turns) => found.turns.append(&mut turns),
            Err(error) => {
                let why = unreadable(keeping, error)?;
                found.unreadable.push((scope, why));
            }
        }
    }
    // Those of one moment as they stand.
    found
        .turns
        .sort_by_key(|seen| std::cmp::Reverse(seen.turn.began_at()));
    Ok(found)
}

/// Why a record cannot be read. That keeps nobody from the others; a file that cannot be read does.
fn unreadable(keeping: &Keeping, error: StoreError) -> anyhow::Result<String> {
    match SqliteError::of(&error) {
        None => Ok(error.to_string()),
        Some(_) => Err(keeping.told(error)),
    }
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
    let turns = read(keeping, scope).await;
    turns.map_err(|error| keeping.told(error))
}

async fn read(keeping: &Keeping, scope: &Scope) -> Result<Vec<Seen>, StoreError> {
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
    let places: Vec<Position> = turns.iter().map(|(place, _)| *place).collect();
    let nexts = places.into_iter().skip(1).map(Some).chain([None]);
    let mut seen = Vec::new();
    for ((place, turn), next) in turns.into_iter().zip(nexts) {
        let own = lease.as_ref().filter(|it| it.turn_id() == Some(turn.id()));
        let held = own.and_then(|lease| lease.left());
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
    Ok(seen)
}

async fn waits(keeping: &Keeping, scope: &Scope, turn: &str) -> Result<bool, StoreError> {
    let gates = keeping.store.gates(scope).await?;
    let waits = |state: &GateState| *state == GateState::Open;
    Ok(gates
        .iter()
        .any(|gate| gate.turn_id() == turn && waits(gate.state())))
}

impl Seen {
    pub(crate) fn id(&self) -> &str {
        self.turn.id()
    }

    /// Whether the conversation went on after it.
    pub(crate) fn is_last(&self) -> bool {
        self.next.is_none()
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

    /// What was said and done in it, in order.
    pub(super) async fn records(&self, keeping: &Keeping) -> anyhow::Result<Vec<Record>> {
        let loaded = keeping.store.load(&self.scope, &self.query()).await;
        let loaded = loaded.map_err(|error| keeping.told(error))?;
        Ok(loaded.into_records().collect())
    }

    /// Or why something of it cannot be read.
    pub(super) async fn digest(&self, keeping: &Keeping) -> anyhow::Result<Result<Digest, String>> {
        let query = self.query().kind(RecordKind::Message);
        let query = query.kind(RecordKind::ToolCall).kind(RecordKind::Ledger);
        match keeping.store.load(&self.scope, &query).await {
            Ok(loaded) => Ok(Ok(self.count(loaded.into_records()))),
            Err(error) => unreadable(keeping, error).map(Err),
        }
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
