//! How a turn begins: nobody else runs one in its conversation, and what it begins with is stored.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::TurnContext;
use super::hold::{Hold, is_gone};
use super::records::in_time;
use crate::call::left_open;
use crate::error::{Error, ErrorCode};
use crate::record::{
    CallState, GateState, Lease, Message, Record, RecordKind, TurnRecord, TurnState,
};
use crate::schema::escape;
use crate::store::{Batch, Change, Loaded, Position, Query, Revision, Store};
use crate::within::{Cut, TimeLimit, within};

/// How often it is tried against others that write the same conversation.
const MOST_TRIES: usize = 100;
/// How long a turn waits at least for the one before it: one that was called off takes a moment to end.
const PATIENCE: Duration = Duration::from_secs(5);
/// How soon it looks again; longer each time.
const FIRST_LOOK: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// A conversation in which nobody runs a turn.
pub(super) struct Free {
    pub(super) revision: Revision,
    /// The number of whoever comes next.
    pub(super) fence: u64,
    /// The turn itself, where the conversation has it already.
    pub(super) known: Option<(Position, Arc<TurnRecord>)>,
    /// A turn that was cut off, or whose last words could not be stored, if the last one was such.
    left: Option<Arc<str>>,
}

/// Whether a turn was taken.
pub(super) enum Taken {
    Yes,
    /// Somebody else has written meanwhile.
    Beaten,
    /// The fence was too low.
    FencedBy(u64),
}

impl TurnContext {
    /// Begins the turn: with what the user said, and what stands in the stash.
    ///
    /// # Errors
    /// `E_TURN_EXISTS` if the conversation has it already; `E_TURN_HELD` if somebody else runs a turn there; `E_STORE_ERROR`.
    pub(super) async fn begin(
        &self,
        message: Option<Arc<Message>>,
        stash: Vec<(String, Value)>,
    ) -> Result<(), Error> {
        let said = message.map(Record::Message);
        let Some(store) = self.store() else {
            return self.write(said.into_iter().collect(), Vec::new()).await;
        };
        let record = Arc::new(TurnRecord::begin(Arc::clone(self.shared_id()), stash));
        let (mut tries, mut fence) = (0, 1);
        loop {
            let free = self.wait_until_free(&**store, fence).await?;
            // Its calls would have the effect keys of those that were.
            if let Some((_, known)) = &free.known {
                return Err(exists(known));
            }
            let mut changes = self.given_up(&**store, &free).await?;
            let hold = self.hold_on(&free, Arc::clone(&record));
            changes.push(Change::Put(Arc::clone(&record).into()));
            changes.push(Change::Put(Arc::new(hold.lease()).into()));
            changes.extend(said.clone().map(Change::Put));
            tries += 1;
            match self.take(&**store, &free, hold, changes).await? {
                Taken::Yes => {
                    // What was closed of the turn before is none of this one's.
                    let said: Vec<Change> = said.into_iter().map(Change::Put).collect();
                    self.keep_changes(&said);
                    return Ok(());
                }
                _ if tries >= MOST_TRIES => return Err(too_busy()),
                Taken::Beaten => {}
                Taken::FencedBy(by) => fence = by.saturating_add(1),
            }
        }
    }

    pub(super) fn hold_on(&self, free: &Free, record: Arc<TurnRecord>) -> Hold {
        Hold::new(free.fence, self.setup().lease, record)
    }

    /// Makes the changes with which a turn is taken.
    pub(super) async fn take(
        &self,
        store: &dyn Store,
        free: &Free,
        hold: Hold,
        changes: Vec<Change>,
    ) -> Result<Taken, Error> {
        let batch = Batch::from(changes);
        let batch = batch.fence(free.fence).expect(free.revision);
        let applied = async { store.apply(self.scope(), batch).await };
        match in_time(self, applied).await? {
            Ok(_) => {
                self.set_hold(hold);
                Ok(Taken::Yes)
            }
            Err(error) => match (error.fenced_by(), error.found_revision()) {
                (Some(by), _) => Ok(Taken::FencedBy(by)),
                (None, Some(_)) => Ok(Taken::Beaten),
                (None, None) => Err(error.into()),
            },
        }
    }

    pub(super) async fn read(&self, store: &dyn Store, query: &Query) -> Result<Loaded, Error> {
        let loaded = async { store.load(self.scope(), query).await };
        Ok(in_time(self, loaded).await??)
    }

    /// Waits until nobody runs a turn of this conversation: for a moment if somebody does, and until their lease is over if they
    /// are gone.
    ///
    /// `least` is the lowest fence that will do: where a conversation was emptied, its lease is gone and its fence is not.
    pub(super) async fn wait_until_free(
        &self,
        store: &dyn Store,
        least: u64,
    ) -> Result<Free, Error> {
        let query = Query::all().kind(RecordKind::Lease).kind(RecordKind::Turn);
        let query = query.ids([Lease::ID, self.turn_id()]);
        let (mut pause, mut waited) = (FIRST_LOOK, Duration::ZERO);
        let mut first_seen = None;
        loop {
            let loaded = self.read(store, &query).await?;
            let mut free = Free {
                revision: loaded.revision,
                fence: least,
                known: None,
                left: None,
            };
            let mut lease = None;
            for one in loaded.records {
                match one.record {
                    Record::Lease(found) if found.id() == Lease::ID => lease = Some(found),
                    Record::Turn(turn) if turn.id() == self.turn_id() => {
                        free.known = Some((one.position, turn));
                    }
                    _ => {}
                }
            }
            let Some(lease) = lease else {
                return Ok(free);
            };
            let Some(left) = lease.left().filter(|_| !is_gone(&lease)) else {
                free.fence = lease.fence.saturating_add(1).max(least);
                free.left.clone_from(&lease.turn_id);
                return Ok(free);
            };
            // Whoever renews it is alive. One that nobody renews is over before long: its process is gone.
            let seen = (lease.fence, lease.until);
            let renewed = *first_seen.get_or_insert(seen) != seen;
            if renewed && waited >= PATIENCE || self.cancellation().is_cancelled() {
                return Err(held(&lease, left));
            }
            let never = std::future::pending::<()>();
            let time = TimeLimit::from_now(Some(pause));
            if let Err(Cut::NoTimer) = within(time, self.cancellation(), never).await {
                return Err(held(&lease, left));
            }
            waited += pause;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// What becomes of a turn that was cut off when the conversation goes on without it: its calls are closed as what is
    /// known of them.
    async fn given_up(&self, store: &dyn Store, free: &Free) -> Result<Vec<Change>, Error> {
        let Some(left) = &free.left else {
            return Ok(Vec::new());
        };
        let query = Query::all().kind(RecordKind::Turn).ids([&**left]);
        let found = self.read(store, &query).await?.records.into_iter().next();
        let Some((place, Record::Turn(turn))) = found.map(|one| (one.position, one.record)) else {
            return Ok(Vec::new());
        };
        let query = Query::all().kind(RecordKind::ToolCall);
        let query = query.kind(RecordKind::Ledger).kind(RecordKind::Gate);
        let loaded = self.read(store, &query.after(place)).await?;
        let mut changes = Vec::new();
        if turn.state() == TurnState::Running {
            let given_up = turn.ended(TurnState::Abandoned, None);
            changes.push(Change::Put(Arc::new(given_up).into()));
        }
        let (closed, unknown) = closed(loaded.into_records(), left);
        changes.extend(closed.into_iter().map(Change::Put));
        let calls = match unknown {
            0 => "none of its calls is in doubt".to_owned(),
            1 => "one of its calls may have taken effect or not".to_owned(),
            _ => format!("{unknown} of its calls may have taken effect or not"),
        };
        self.warn(format!(
            "the turn `{left}` before this one was cut off, and is given up: {calls}"
        ));
        Ok(changes)
    }
}

/// What a turn left open, closed; and how many of its calls are unknown.
fn closed(records: impl Iterator<Item = Record>, turn_id: &str) -> (Vec<Record>, usize) {
    let (mut closed, mut open) = (Vec::new(), Vec::new());
    let mut begun = HashSet::new();
    for record in records {
        match record {
            Record::Ledger(line) if line.turn_id() == turn_id && line.is_begun() => {
                begun.insert(line.tool_call().to_owned());
                closed.push(line.ended(CallState::Unknown).into());
            }
            Record::Gate(gate) if gate.turn_id() == turn_id && *gate.state() == GateState::Open => {
                closed.push(gate.closed(GateState::Unanswered).into());
            }
            Record::ToolCall(call) if call.is_open() => open.push(call),
            _ => {}
        }
    }
    let unknown = begun.len();
    closed.extend(open.into_iter().map(|call| {
        let settled = left_open(begun.contains(call.id()));
        Record::from(call.closed(settled))
    }));
    (closed, unknown)
}

fn exists(known: &TurnRecord) -> Error {
    let (id, state) = (escape(known.id(), 80), known.state().as_str());
    let message = format!(
        "the conversation has a turn `{id}` already, which is {state}: take it up with `resume`, or give the new one another id"
    );
    Error::new(ErrorCode::TurnExists, message)
}

fn held(lease: &Lease, left: Duration) -> Error {
    let turn = lease.turn_id().unwrap_or_default();
    let seconds = left.as_secs().saturating_add(1);
    let message = format!(
        "the turn `{turn}` of this conversation runs: wait for its end, or, if its process is gone, for {seconds} s until its lease is over"
    );
    Error::new(ErrorCode::TurnHeld, message)
}

pub(super) fn too_busy() -> Error {
    let message = "others write this conversation so fast that the turn could not begin: try again";
    Error::new(ErrorCode::Store, message)
}
