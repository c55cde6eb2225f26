//! How a turn is taken up again.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::handle::Turn;
use super::input::{ResumeInput, TurnInput};
use super::turn_runner::TurnRunner;
use super::typed_turn::TypedTurn;
use crate::call::OpenCalls;
use crate::error::{Error, ErrorCode};
use crate::event::TurnEvent;
use crate::gate::Step;
use crate::record::{Message, Record, RecordKind, TurnRecord, TurnState};
use crate::schema::escape;
use crate::store::{
    Change, ConversationId, Position, Query, Store, StoreError, StoreExt as _, TurnFilter,
};
use crate::tool::context::TurnContext;

/// What a turn is taken up with.
pub(crate) struct Resumed {
    /// The calls that it left open.
    pub(crate) left: OpenCalls,
    /// It had its answer, and ended before that was noted.
    pub(crate) answered: bool,
    /// The step in which it waited, if it can continue there.
    pub(crate) step: Option<Step>,
    /// Its last message was proposed as its answer, and not decided on.
    pub(crate) proposed: bool,
}

/// A turn as the store has it.
struct Found {
    turn: Arc<TurnRecord>,
    place: Position,
    /// Where the next turn of the conversation begins, if there was one.
    next: Option<Position>,
}

impl Found {
    /// What stands behind the turn, up to the next one.
    fn own(&self) -> Query {
        let query = Query::all().after(self.place);
        match self.next {
            Some(next) => query.before(next),
            None => query,
        }
    }
}

impl TurnRunner {
    /// Takes a turn up again where it was left: by a process that died, or by a failure, a limit or a cancellation. With the
    /// same store, spool and tools this may be any process. What it gives is the turn, as [`TurnRunner::start`] does.
    ///
    /// - What the turn stored is there, and nothing that it did is done again. The model is asked from there on.
    /// - Of the calls that were on their way, those that only read run again, and those that had not begun run now: their
    ///   arguments are checked again. One that may have changed the world is *unknown*: its tool can say what became of it
    ///   ([`ToolBuilder::reconcile`](crate::tool::ToolBuilder::reconcile)), and then the policy of the runner
    ///   ([`unknown_calls`](super::TurnRunnerBuilder::unknown_calls)); the model is told what is known.
    /// - Approvals and gates of middleware that waited wait again, under the same ids; what was answered there counts, for as
    ///   long as somebody would have had to answer.
    /// - A turn that was answered gives its answer again, and nothing runs.
    ///
    /// Middleware of the turn's input runs again. What the turn had in its stash when it began is there again, and so are its
    /// instructions, model settings and budget, of which it has what is left. Tools that it alone was given are not. Give them, and whatever else is not stored, with [`TurnInput::resume`]:
    /// `runner.resume(TurnInput::resume("turn-1").tool(tool))`.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicBool, Ordering};
    /// use turnwright_core::{BoxError, DispatchContext, TurnInput, TurnRunner};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// static REACHABLE: AtomicBool = AtomicBool::new(false);
    /// let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
    ///     if !REACHABLE.load(Ordering::Relaxed) {
    ///         return Err(BoxError::from("the model cannot be reached"));
    ///     }
    ///     ctx.answer("Here I am.").await?;
    ///     Ok(())
    /// })
    /// .build()?;
    /// let hello = TurnInput::new("Hello?").conversation("chat-1").turn_id("turn-1");
    /// let failed = runner.run(hello).await;
    /// assert!(!failed.is_answered());
    ///
    /// REACHABLE.store(true, Ordering::Relaxed);
    /// assert_eq!(runner.resume("turn-1").await?.await.into_answer()?, "Here I am.");
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// `E_UNKNOWN_TURN` if the store has none of this id (a turn whose input named no conversation is not stored), or several conversations have: name yours with
    /// `TurnInput::resume(id).conversation(…)`; `E_INVALID_TURN_CONTEXT` if an input is given that is not from
    /// [`TurnInput::resume`]. What else may stand in its way is told by its outcome: `E_TURN_HELD` while somebody else
    /// runs it, `E_TURN_NOT_RESUMABLE` once the conversation went on without it.
    pub async fn resume(&self, turn: impl Into<ResumeInput>) -> Result<Turn, Error> {
        Ok(self.start(self.to_resume(turn.into()).await?))
    }

    /// Resumes a turn whose answer must be of a type: see [`TurnRunner::resume`] and [`TurnRunner::run_typed`].
    ///
    /// # Errors
    /// As [`TurnRunner::resume`].
    pub async fn resume_typed<T: JsonSchema + DeserializeOwned>(
        &self,
        turn: impl Into<ResumeInput>,
    ) -> Result<TypedTurn<T>, Error> {
        let input = self.to_resume(turn.into()).await?;
        Ok(self.start_typed(input))
    }

    async fn to_resume(&self, turn: ResumeInput) -> Result<TurnInput, Error> {
        let (turn_id, input) = turn.into_parts()?;
        let turn_id = &*turn_id;
        let store = self.storage().store();
        if let Some(conversation) = &input.conversation {
            let conversation_id = ConversationId::new(Arc::clone(conversation));
            let found = store
                .get(&conversation_id, RecordKind::Turn, turn_id)
                .await?;
            let found = found.ok_or_else(|| unknown(turn_id, &conversation_id));
            return found.map(|_| input);
        }
        let found = store
            .find_turns(&TurnFilter::all().turn_id(turn_id))
            .await?;
        match found.as_slice() {
            [only] => Ok(input.conversation(only.conversation.as_str())),
            [] => Err(unstored(turn_id)),
            several => {
                let (count, turn_id) = (several.len(), escape(turn_id, 80));
                let message = format!(
                    "{count} conversations have a turn `{turn_id}`: say which with `TurnInput::resume(turn_id).conversation(…)`"
                );
                Err(Error::new(ErrorCode::UNKNOWN_TURN, message))
            }
        }
    }
}

impl TurnContext {
    /// Takes the turn up again. `None` if it has its answer, and nothing is left to do.
    pub(crate) async fn take_up(&self) -> Result<Option<Resumed>, Error> {
        let Some(store) = self.record_store() else {
            return Err(unnamed(self.turn_id()));
        };
        let mut tries = 0;
        let found = loop {
            // A turn that was answered is nobody's to wait for.
            let found = self.found(&**store).await?;
            if found.turn.state == TurnState::Answered {
                self.load_own(&**store, &found).await?;
                return Ok(None);
            }
            // Nor need anybody wait for what cannot be taken up.
            resumable(self, &found)?;
            self.inherit_again(&found.turn)?;
            let free = self.wait_until_free(&**store).await?;
            // As it is by now: whoever ran it may have come to its end meanwhile.
            let Some((place, turn)) = free.known.clone() else {
                return Err(unknown(self.turn_id(), self.conversation_id()));
            };
            if turn.state == TurnState::Answered {
                continue;
            }
            let next = self.next_after(&**store, place).await?;
            let found = Found { turn, place, next };
            resumable(self, &found)?;
            self.check_calls(&**store, &found).await?;
            let mut record = found.turn.resumed();
            record.settings = self.settings_with(&found.turn);
            let record = Arc::new(record);
            let hold = self.hold_on(&free, Arc::clone(&record));
            let changes = vec![
                Change::Put(record.into()),
                Change::Put(Arc::new(hold.lease()).into()),
            ];
            tries += 1;
            // It is taken only if all that was found is true still.
            if self.take(&**store, &free, hold, changes, tries).await? {
                break found;
            }
        };
        // A turn is resumed once.
        let _ = self.inner().nonce.set(found.turn.nonce.clone());
        for (path, value) in &found.turn.stash {
            if !self.stash().has(path) {
                self.stash().set(path, value.clone())?;
            }
        }
        self.resume_settings(&found.turn);
        self.inner().usage.lock().itself += found.turn.usage;
        let (elapsed, calls) = (found.turn.elapsed, found.turn.tool_calls);
        self.inner().meter.resume(elapsed, calls);
        let rejected = found.turn.rejected.iter().cloned();
        self.inner().rejected.lock().extend(rejected);
        let (left, step) = self.load_own(&**store, &found).await?;
        let step = match found.turn.state {
            TurnState::Suspended => found.turn.step.map(Step),
            _ => step,
        };
        let last = self.last_said();
        let is_last = |id: &Option<Arc<str>>| {
            let last = last.as_ref().map(|last| last.id());
            last.is_some() && last == id.as_deref()
        };
        let (answered, proposed) = (is_last(&found.turn.answer), is_last(&found.turn.proposed));
        let suspended = found.turn.state == TurnState::Suspended;
        if last.is_some() && !answered && !proposed && !suspended {
            // Of a response nothing but its words was stored. Many servers take no prompt that ends with them.
            let text =
                "The process ended before all of your last message was taken in. Go on from here.";
            let message = Message::framework(text).build()?;
            self.records().store(message).await?;
        }
        Ok(Some(Resumed {
            left,
            answered,
            step,
            proposed,
        }))
    }

    /// What the model said, if nothing came after it.
    fn last_said(&self) -> Option<Arc<Message>> {
        let mut records = self.records().timeline().into_iter().rev();
        let last = records.find(|record| !matches!(record, Record::Thought(_)));
        last.and_then(Record::downcast::<Message>)
            .filter(|message| message.is_answer())
    }

    /// The turn as it is stored.
    async fn found(&self, store: &dyn Store) -> Result<Found, Error> {
        let query = Query::all().kind(RecordKind::Turn).ids([self.turn_id()]);
        let mut loaded = self.read(store, &query).await?;
        if let Some(damaged) = loaded.damaged.pop() {
            return Err(StoreError::damaged(damaged).into());
        }
        let found = loaded.records.pop();
        let Some((place, Record::Turn(turn))) = found.map(|one| (one.position, one.record)) else {
            return Err(unknown(self.turn_id(), self.conversation_id()));
        };
        let next = self.next_after(store, place).await?;
        Ok(Found { turn, place, next })
    }

    /// Where the turn after this one begins, if there is one.
    async fn next_after(
        &self,
        store: &dyn Store,
        place: Position,
    ) -> Result<Option<Position>, Error> {
        let query = Query::all().kind(RecordKind::Turn).after(place).limit(1);
        let later = self.read(store, &query).await?;
        Ok(later.bounds().map(|(next, _)| next))
    }

    /// Refuses a turn of which a call, or its line in the ledger, cannot be read: nobody could say which calls have begun.
    async fn check_calls(&self, store: &dyn Store, found: &Found) -> Result<(), Error> {
        let query = found.own().kind(RecordKind::ToolCall);
        let loaded = self.read(store, &query.kind(RecordKind::Ledger)).await?;
        match loaded.damaged.first() {
            None => Ok(()),
            Some(damaged) => {
                let id = escape(self.turn_id(), 80);
                let message = format!(
                    "the turn `{id}` cannot be taken up again: {damaged}. Say something new in the conversation: it goes on"
                );
                Err(Error::new(ErrorCode::TURN_NOT_RESUMABLE, message))
            }
        }
    }

    /// Loads what the turn stored. Returns the calls that it left open, and the step in which it waited, if it stored nothing
    /// after it came to a gate there.
    async fn load_own(
        &self,
        store: &dyn Store,
        found: &Found,
    ) -> Result<(OpenCalls, Option<Step>), Error> {
        let loaded = self.read(store, &found.own()).await?;
        self.warn_of(&loaded.damaged);
        let mut left = OpenCalls::default();
        let (mut own, mut step) = (Vec::new(), None);
        for record in loaded.into_records() {
            match record {
                Record::Ledger(line) if *line.turn_id == *self.turn_id() => left.add_line(line),
                Record::Gate(gate) if *gate.turn_id == *self.turn_id() => {
                    step = gate.step.map(Step).or(step);
                    self.inner().recorded_gates.recall(gate);
                }
                Record::Ledger(_) | Record::Gate(_) | Record::Lease(_) | Record::Turn(_) => {}
                record => {
                    if let Record::ToolCall(call) = &record {
                        left.add_call(call);
                    }
                    step = None;
                    if let Some(event) = TurnEvent::of_record(&record) {
                        self.hub().replay(event);
                    }
                    own.push(Change::Put(record));
                }
            }
        }
        self.keep_changes(&own);
        self.count_calls_from(left.next_ordinal());
        Ok((left, step))
    }
}

/// Whether there is anything to take up, and nobody went on without it.
fn resumable(turn: &TurnContext, found: &Found) -> Result<(), Error> {
    let id = escape(turn.turn_id(), 80);
    let why = match (found.turn.state, found.next) {
        (TurnState::Nacked, _) => "its dispatch was nacked, and that was its end",
        (_, Some(_)) | (TurnState::Abandoned, _) => {
            "the conversation went on without it: say something new there"
        }
        _ => return Ok(()),
    };
    let message = format!("the turn `{id}` cannot be taken up again: {why}");
    Err(Error::new(ErrorCode::TURN_NOT_RESUMABLE, message))
}

fn unstored(turn_id: &str) -> Error {
    let turn_id = escape(turn_id, 80);
    let message = format!(
        "the store has no turn `{turn_id}`: it never ran here, was deleted, or was started without `TurnInput::conversation`, and such turns are not stored"
    );
    Error::new(ErrorCode::UNKNOWN_TURN, message)
}

fn unnamed(turn_id: &str) -> Error {
    let turn_id = escape(turn_id, 80);
    let message = format!(
        "the turn `{turn_id}` is resumed in its conversation: name that with `TurnInput::conversation`, or call `runner.resume`, which finds it"
    );
    Error::new(ErrorCode::UNKNOWN_TURN, message)
}

pub(super) fn unknown(turn_id: &str, conversation_id: &ConversationId) -> Error {
    let (id, conversation_id) = (escape(turn_id, 80), escape(conversation_id.as_str(), 80));
    let message = format!("the conversation `{conversation_id}` has no turn `{id}`");
    Error::new(ErrorCode::UNKNOWN_TURN, message)
}
