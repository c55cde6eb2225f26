//! Summaries of stored turns.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use turnwright::record::{Author, CallState, ConversationInfo, Record, RecordKind, TurnRecord};
use turnwright::store::{
    ConversationFilter, ConversationId, FoundTurn, Position, Query, Store as _, StoreError,
    TurnFilter,
};

use super::damaged::Damaged;
use crate::exit::misuse;
use crate::storage::{ConversationPart, Storage, parts_of};
use crate::terminal::one_line;
use crate::turn_state::State;

/// A stored turn with its current state.
#[derive(Clone)]
pub(crate) struct TurnSummary {
    pub(crate) conversation_id: ConversationId,
    pub(crate) turn: Arc<TurnRecord>,
    pub(crate) state: State,
    /// The title of the conversation.
    pub(super) title: Option<String>,
    /// The estimated rest of its lease, if a process seems to hold it: by the wall clock, only for display.
    held: Option<Duration>,
    /// The position of its record.
    position: Position,
    /// The position of the next turn.
    next: Option<Position>,
}

/// Counts of what happened in a turn.
#[derive(Default)]
pub(super) struct Digest {
    /// The message that the model got first.
    pub(super) first_message: Option<String>,
    pub(super) calls: usize,
    /// The calls whose effect is unknown.
    pub(super) unknown: usize,
}

/// Turns, and the records among them that are damaged.
#[derive(Default)]
pub(super) struct Found {
    pub(super) turns: Vec<TurnSummary>,
    pub(super) damaged: Damaged,
}

/// All turns of a conversation, or of all conversations. Newest first.
pub(super) async fn turns(storage: &Storage, conversation: Option<&str>) -> anyhow::Result<Found> {
    let conversation_ids = match conversation {
        Some(name) => conversation_ids_of(storage, name).await?,
        None => all_conversations(storage).await?,
    };
    let mut found = Found::default();
    for conversation_id in &conversation_ids {
        found.read(storage, conversation_id).await?;
    }
    found
        .turns
        .sort_by_key(|summary| std::cmp::Reverse(summary.turn.started_at));
    Ok(found)
}

/// The last turn of a conversation, if it has one.
pub(crate) async fn last_turn(
    storage: &Storage,
    conversation_id: &ConversationId,
) -> Result<Option<TurnSummary>, StoreError> {
    let mut found = Found::default();
    found.read(storage, conversation_id).await?;
    Ok(found.turns.pop())
}

/// All conversations of a database.
pub(super) async fn all_conversations(
    storage: &Storage,
) -> Result<Vec<ConversationId>, StoreError> {
    let all = ConversationFilter::all();
    let found = storage.store.conversations(&all).await?;
    Ok(found.into_iter().map(|found| found.id).collect())
}

/// The conversation of this name: all of its parts, or the one that is named.
pub(super) async fn conversation_ids_of(
    storage: &Storage,
    name: &str,
) -> Result<Vec<ConversationId>, StoreError> {
    let part = ConversationPart::named(name);
    let parts = if part.name == name {
        parts_of(storage, name).await?
    } else {
        vec![part]
    };
    Ok(parts.iter().map(|part| part.conversation_id()).collect())
}

/// The error for a conversation that does not exist.
pub(super) fn no_conversation(storage: &Storage, name: &str) -> anyhow::Error {
    misuse(format!(
        "no conversation `{}`. See `turnwright turns list{}`",
        one_line(name, 64),
        storage.place.option()
    ))
}

impl Found {
    /// Adds the turns of a conversation, in order.
    async fn read(
        &mut self,
        storage: &Storage,
        conversation_id: &ConversationId,
    ) -> Result<(), StoreError> {
        let kinds = [
            RecordKind::Turn,
            RecordKind::Lease,
            RecordKind::ConversationInfo,
        ];
        let query = kinds.into_iter().fold(Query::all(), Query::kind);
        let loaded = storage.store.load(conversation_id, &query).await?;
        let (mut lease, mut title, mut turns) = (None, None, Vec::new());
        // A damaged turn ends the one before it, too.
        let damaged = loaded.damaged.iter();
        let damaged = damaged.filter(|record| record.kind == Some(RecordKind::Turn));
        let mut positions: Vec<Position> = damaged.map(|record| record.position).collect();
        for stored in loaded.records {
            match stored.record {
                Record::Lease(record) => lease = Some(record),
                Record::ConversationInfo(info) if info.id() == ConversationInfo::ID => {
                    title = info.title.clone();
                }
                Record::Turn(turn) => {
                    positions.push(stored.position);
                    turns.push((stored.position, turn));
                }
                _ => {}
            }
        }
        positions.sort_unstable();
        for (position, turn) in turns {
            let own = lease
                .as_ref()
                .filter(|lease| lease.turn_id.as_deref() == Some(turn.id()));
            let held = own.and_then(|lease| lease.estimated_remaining());
            let found = if held.is_some() || !turn.waits_at.is_empty() {
                find(storage, conversation_id, turn.id()).await?
            } else {
                None
            };
            let state = if (found.as_ref()).is_some_and(FoundTurn::is_answered_not_resumed) {
                State::AnsweredNotResumed
            } else {
                let waits = found.is_some_and(|found| !found.open_gates.is_empty());
                State::of(turn.state, held.is_some(), waits)
            };
            self.turns.push(TurnSummary {
                conversation_id: conversation_id.clone(),
                state,
                title: title.clone(),
                turn,
                held,
                position,
                next: positions.iter().copied().find(|next| *next > position),
            });
        }
        let damaged = loaded.damaged.into_iter();
        self.damaged
            .extend(damaged.map(|record| (conversation_id.clone(), record)));
        Ok(())
    }
}

/// The turn with its open gates.
async fn find(
    storage: &Storage,
    conversation_id: &ConversationId,
    turn: &str,
) -> Result<Option<FoundTurn>, StoreError> {
    let filter = TurnFilter::all().turn_id(turn);
    let found = storage.store.find_turns(&filter).await?;
    let mut found = found.into_iter();
    Ok(found.find(|found| found.conversation == *conversation_id))
}

impl TurnSummary {
    pub(crate) fn id(&self) -> &str {
        self.turn.id()
    }

    /// Its conversation for users: the id, and the title if there is one.
    pub(super) fn conversation_shown(&self, most: usize) -> String {
        let id = one_line(self.conversation_id.as_str(), most);
        match &self.title {
            Some(title) => format!("{id} ({})", one_line(title, most)),
            None => id,
        }
    }

    /// Whether it is the last turn of its conversation and can be continued.
    pub(super) fn can_continue(&self) -> bool {
        self.next.is_none() && self.state.can_continue()
    }

    /// Whether it can be resumed: also if its process may have crashed a moment ago.
    pub(crate) fn is_resumable(&self) -> bool {
        self.next.is_none() && (self.state.can_continue() || self.state.is_live())
    }

    /// The query for the records of the turn: those up to the next one.
    pub(super) fn query(&self) -> Query {
        let query = Query::all().after(self.position);
        match self.next {
            Some(next) => query.before(next),
            None => query,
        }
    }

    /// Whether a position in the conversation is within the turn.
    pub(super) fn contains(&self, position: Position) -> bool {
        position >= self.position && self.next.is_none_or(|next| position < next)
    }

    /// Its records in order, and those that are damaged.
    pub(super) async fn records(
        &self,
        storage: &Storage,
    ) -> Result<(Vec<Record>, Damaged), StoreError> {
        let query = self.query();
        let mut loaded = storage.store.load(&self.conversation_id, &query).await?;
        let damaged = std::mem::take(&mut loaded.damaged).into_iter();
        let damaged = damaged.map(|record| (self.conversation_id.clone(), record));
        let damaged = damaged.collect();
        let records = loaded.into_records();
        let records = records.filter(|record| record.kind() != RecordKind::ConversationInfo);
        Ok((records.collect(), damaged))
    }

    /// Counts what happened in it.
    pub(super) fn digest(&self, records: &[Record]) -> Digest {
        let mut digest = Digest::default();
        for record in records {
            match record {
                Record::Message(message) if digest.first_message.is_none() => {
                    let to_model = matches!(message.author(), Author::User | Author::Agent { .. });
                    digest.first_message = to_model.then(|| message.text().to_owned());
                }
                Record::ToolCall(_) => digest.calls += 1,
                Record::Ledger(entry) if *entry.turn_id == *self.id() => match entry.state {
                    CallState::Unknown => digest.unknown += 1,
                    // While the turn is running, so is the call.
                    CallState::Started if !self.state.is_live() => digest.unknown += 1,
                    _ => {}
                },
                _ => {}
            }
        }
        digest
    }

    /// Its duration; so far, if it is running. `None` if it was interrupted.
    pub(super) fn took(&self) -> Option<Duration> {
        let running = self.state.is_live().then(SystemTime::now);
        let end = self.turn.ended_at.or(running)?;
        Some(end.duration_since(self.turn.started_at).unwrap_or_default())
    }

    /// As JSON.
    pub(super) fn to_value(&self, digest: &Digest) -> anyhow::Result<Value> {
        let fields = Record::from(Arc::clone(&self.turn)).to_value()?;
        let field = |name: &str| fields.get(name).cloned().unwrap_or_default();
        Ok(json!({
            "turn": self.id(),
            "conversation": self.conversation_id.as_str(),
            "title": self.title,
            "state": self.state.name(),
            "beganAt": field("startedAt"),
            "endedAt": field("endedAt"),
            "seconds": self.took().map(|took| took.as_secs_f64()),
            "heldForSeconds": self.held.map(|held| held.as_secs_f64()),
            "firstMessage": digest.first_message,
            "calls": digest.calls,
            "unknownCalls": digest.unknown,
            "runs": self.turn.runs,
            "iterations": self.turn.iterations,
            "usage": field("usage"),
            "error": field("error"),
        }))
    }
}
