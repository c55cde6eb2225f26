//! Queries for turns of all conversations.
//!
//! Turns are found by an index: state and start of a turn, its open gates and the lease of its conversation are next to
//! the encoded record. The time in a lease is a hint; `lease_expiry` decides.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use indexmap::IndexMap;

use super::{ConversationFilter, ConversationId, DamagedRecord, Loaded, Query, Store, StoreError};
use crate::record::{GateRecord, GateState, Lease, Record, RecordKind, TurnRecord, TurnState};

/// Selects turns of all conversations, see [`Store::find_turns`]. All conditions must hold. Default: all turns.
///
/// Candidates for recovery, oldest first:
///
/// ```
/// use std::time::SystemTime;
/// use turnwright_core::record::TurnState;
/// use turnwright_core::store::{MemoryStore, Store as _, TurnFilter};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// # let store = MemoryStore::default();
/// let mut filter = TurnFilter::all()
///     .state(TurnState::Running)
///     .lease_expired_before(SystemTime::now())
///     .limit(100);
/// loop {
///     let page = store.find_turns(&filter).await?;
///     let Some(last) = page.last() else { break };
///     filter = filter.after(last.cursor());
///     // For each: decide with `observe_lease` whether the lease has expired.
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TurnFilter {
    /// Only turns in one of these states. Empty: any state.
    pub states: Vec<TurnState>,
    /// Only turns with this id. Ids are unique within a conversation.
    pub turn_id: Option<String>,
    /// Only turns of conversations whose id begins with this text.
    pub prefix: Option<String>,
    /// Only turns that no lease names, and turns whose lease says that it ended before this time.
    ///
    /// This is a hint that lists candidates. It compares the wall clock of the lease's holder with that of the caller. Whether
    /// the lease has expired is decided by [`observe_lease`](super::observe_lease).
    pub lease_expired_before: Option<SystemTime>,
    /// Only turns that wait at an open gate.
    pub waiting: bool,
    /// Only turns after this one.
    pub after: Option<TurnCursor>,
    /// The maximum number of turns. A page with fewer is the last one.
    pub limit: Option<usize>,
}

impl TurnFilter {
    /// Selects all turns.
    #[must_use]
    pub fn all() -> Self {
        TurnFilter::default()
    }

    /// Selects only turns in this state. Can be repeated for more states.
    #[must_use]
    pub fn state(mut self, state: TurnState) -> Self {
        self.states.push(state);
        self
    }

    /// Selects only turns with this id.
    #[must_use]
    pub fn turn_id(mut self, id: impl Into<String>) -> Self {
        self.turn_id = Some(id.into());
        self
    }

    /// Selects only turns of conversations whose id begins with this text.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = Some(prefix.into());
        self
    }

    /// Selects only turns without a lease, or with one that ended before this time, see [`TurnFilter::lease_expired_before`].
    #[must_use]
    pub fn lease_expired_before(mut self, time: SystemTime) -> Self {
        self.lease_expired_before = Some(time);
        self
    }

    /// Selects only turns that wait at an open gate.
    #[must_use]
    pub fn waiting(mut self) -> Self {
        self.waiting = true;
        self
    }

    /// Selects only turns after this one.
    #[must_use]
    pub fn after(mut self, cursor: TurnCursor) -> Self {
        self.after = Some(cursor);
        self
    }

    /// Sets the maximum number of turns.
    #[must_use]
    pub fn limit(mut self, most: usize) -> Self {
        self.limit = Some(most);
        self
    }

    /// Returns whether a turn matches, apart from [`TurnFilter::limit`]. A damaged turn matches every state.
    #[must_use]
    pub(crate) fn matches(&self, found: &FoundTurn) -> bool {
        let state = found.turn.as_ref().map(|turn| turn.state);
        let unleased = |before: SystemTime| match &found.lease {
            Some(lease) => lease.until < before,
            None => true,
        };
        (self.states.is_empty() || state.is_none_or(|state| self.states.contains(&state)))
            && self.turn_id.as_ref().is_none_or(|id| *id == found.turn_id)
            && self.includes(&found.conversation)
            && self.lease_expired_before.is_none_or(unleased)
            && (!self.waiting || !found.open_gates.is_empty())
            && self
                .after
                .as_ref()
                .is_none_or(|after| found.cursor() > *after)
    }

    /// Returns the first turns that match, in the order of [`Store::find_turns`].
    #[must_use]
    pub(crate) fn select(&self, turns: impl IntoIterator<Item = FoundTurn>) -> Vec<FoundTurn> {
        let matching = turns.into_iter().filter(|turn| self.matches(turn));
        let mut found: Vec<FoundTurn> = matching.collect();
        found.sort_by_cached_key(FoundTurn::cursor);
        found.truncate(self.limit.unwrap_or(usize::MAX));
        found
    }

    pub(super) fn includes(&self, conversation: &ConversationId) -> bool {
        let prefix = self.prefix.as_deref().unwrap_or_default();
        conversation.as_str().starts_with(prefix)
    }

    /// Selects the records of a conversation that [`FoundTurn::of_conversation`] needs.
    pub(super) fn query(&self) -> Query {
        let kinds = [RecordKind::Turn, RecordKind::Gate, RecordKind::Lease];
        kinds.into_iter().fold(Query::all(), Query::kind)
    }
}

/// The position of a turn in the order of [`Store::find_turns`].
///
/// ```
/// use std::time::UNIX_EPOCH;
/// use turnwright_core::store::{ConversationId, TurnCursor, TurnFilter};
///
/// // The last row of the page that a client has seen.
/// let cursor = TurnCursor::new(UNIX_EPOCH, ConversationId::new("chat-1"), "turn-1");
/// let next_page = TurnFilter::all().after(cursor).limit(50);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub struct TurnCursor {
    /// When the turn started, by the wall clock of its process. The Unix epoch if the store does not know.
    pub started_at: SystemTime,
    /// The conversation.
    pub conversation: ConversationId,
    /// The turn.
    pub turn_id: String,
}

impl TurnCursor {
    /// Creates the position of a turn.
    #[must_use]
    pub fn new(
        started_at: SystemTime,
        conversation: ConversationId,
        turn_id: impl Into<String>,
    ) -> Self {
        TurnCursor {
            started_at,
            conversation,
            turn_id: turn_id.into(),
        }
    }
}

/// A turn that [`Store::find_turns`] found.
///
/// ```
/// use std::time::UNIX_EPOCH;
/// use turnwright_core::store::{ConversationId, FoundTurn, TurnCursor};
///
/// // A store creates it from the index, then adds the records of the turn with `add`.
/// let cursor = TurnCursor::new(UNIX_EPOCH, ConversationId::new("chat-1"), "turn-1");
/// let found = FoundTurn::new(cursor.clone());
/// assert_eq!(found.cursor(), cursor);
/// assert!(found.open_gates.is_empty());
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FoundTurn {
    /// The conversation.
    pub conversation: ConversationId,
    /// The turn.
    pub turn_id: String,
    /// When it started. The Unix epoch if the store does not know.
    pub started_at: SystemTime,
    /// The record of the turn. `None` if it is damaged.
    pub turn: Option<Arc<TurnRecord>>,
    /// The conversation's lease, if it names this turn and was not released.
    pub lease: Option<Arc<Lease>>,
    /// The open gates of this turn, in order.
    pub open_gates: Vec<Arc<GateRecord>>,
    /// The records of these that are damaged: the turn's, the lease of its conversation, and its open gates as far as the store
    /// can assign them.
    pub damaged: Vec<DamagedRecord>,
}

impl FoundTurn {
    /// Creates a turn without further information.
    #[must_use]
    pub fn new(cursor: TurnCursor) -> Self {
        FoundTurn {
            conversation: cursor.conversation,
            turn_id: cursor.turn_id,
            started_at: cursor.started_at,
            turn: None,
            lease: None,
            open_gates: Vec::new(),
            damaged: Vec::new(),
        }
    }

    /// Adds the information of a record: the turn's own, the lease of its conversation, or a gate. Ignores other records, a lease that
    /// does not name this turn, and gates that are closed or of another turn.
    pub fn add(&mut self, record: Record) {
        match record {
            Record::Turn(turn) if turn.id() == self.turn_id => self.turn = Some(turn),
            Record::Lease(lease)
                if lease.id() == Lease::ID
                    && !lease.is_released()
                    && lease.turn_id.as_deref() == Some(&self.turn_id) =>
            {
                self.lease = Some(lease);
            }
            Record::Gate(gate)
                if *gate.turn_id == *self.turn_id && gate.state == GateState::Open =>
            {
                self.open_gates.push(gate);
            }
            _ => {}
        }
    }

    /// Returns whether it was suspended, a gate at which it waited was answered since, and it was not resumed.
    #[must_use]
    pub fn is_answered_not_resumed(&self) -> bool {
        let is_open = |id: &Arc<str>| self.open_gates.iter().any(|gate| gate.id == *id);
        let turn = self.turn.as_ref();
        turn.is_some_and(|turn| !turn.waits_at.iter().all(is_open))
    }

    /// Returns its position in the order of [`Store::find_turns`].
    #[must_use]
    pub fn cursor(&self) -> TurnCursor {
        TurnCursor::new(self.started_at, self.conversation.clone(), &*self.turn_id)
    }

    /// All turns of a conversation, made from its turns, gates and lease.
    pub(super) fn of_conversation(conversation: &ConversationId, loaded: Loaded) -> Vec<Self> {
        let mut turns = IndexMap::new();
        let mut add = |turn_id: &str, started_at| {
            let cursor = TurnCursor::new(started_at, conversation.clone(), turn_id);
            turns.insert(turn_id.to_owned(), FoundTurn::new(cursor));
        };
        for stored in &loaded.records {
            if let Record::Turn(turn) = &stored.record {
                add(turn.id(), turn.started_at);
            }
        }
        for damaged in &loaded.damaged {
            if damaged.kind == Some(RecordKind::Turn) {
                add(&damaged.id, UNIX_EPOCH);
            }
        }
        for record in loaded.records.into_iter().map(|stored| stored.record) {
            let turn_id = match &record {
                Record::Turn(turn) => Some(turn.id()),
                Record::Gate(gate) => Some(&*gate.turn_id),
                Record::Lease(lease) => lease.turn_id.as_deref(),
                _ => None,
            };
            if let Some(turn) = turn_id.and_then(|id| turns.get_mut(id)) {
                turn.add(record);
            }
        }
        for damaged in &loaded.damaged {
            let is_lease = damaged.kind == Some(RecordKind::Lease) && damaged.id == Lease::ID;
            let is_turn = damaged.kind == Some(RecordKind::Turn);
            for turn in turns.values_mut() {
                if is_lease || is_turn && damaged.id == turn.turn_id {
                    turn.damaged.push(damaged.clone());
                }
            }
        }
        turns.into_values().collect()
    }
}

/// Implements [`Store::find_turns`] without an index.
pub(super) async fn find_turns_by_scan<S: Store + ?Sized>(
    store: &S,
    filter: &TurnFilter,
) -> Result<Vec<FoundTurn>, StoreError> {
    let mut page = ConversationFilter::all().limit(CONVERSATIONS_AT_ONCE);
    page.prefix.clone_from(&filter.prefix);
    let (query, mut found) = (filter.query(), Vec::new());
    loop {
        let conversations = store.conversations(&page).await?;
        let more = conversations.len() >= CONVERSATIONS_AT_ONCE;
        page.after = conversations.last().map(|last| last.id.clone());
        for conversation in conversations.into_iter().map(|found| found.id) {
            let loaded = store.load(&conversation, &query).await?;
            found.extend(FoundTurn::of_conversation(&conversation, loaded));
        }
        found = filter.select(found);
        if !more {
            return Ok(found);
        }
    }
}

/// Number of conversations loaded per page.
const CONVERSATIONS_AT_ONCE: usize = 256;
