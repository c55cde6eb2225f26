//! Resumes turns.
//!
//! Resuming replays nothing: executors are functions of the records. Only the answers at gates are reused, for the same
//! gate, call and question, and no longer than the gate's timeout. A call that had started is never run again: its tool
//! is asked by idempotency key, or the model reads that the result is unknown. A turn cannot be resumed if one of its
//! calls or ledger entries is damaged, because it is unknown which calls had started.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::input::{ResumeInput, TurnInput};
use super::run_loop::Resumed;
use super::stored_turn::{replay_record, status};
use super::turn::Turn;
use super::turn_runner::TurnRunner;
use crate::call::OpenCalls;
use crate::error::{Error, ErrorCode};
use crate::gate::Step;
use crate::outcome::TurnStatus;
use crate::record::{Message, Record, RecordKind, TurnRecord, TurnState};
use crate::schema::escape;
use crate::store::{
    Change, ConversationId, Store, StoreExt as _, TurnFilter, TurnPlace, next_turn,
};
use crate::telemetry;
use crate::tool::context::TurnContext;
use crate::turn::in_time;

impl TurnRunner {
    /// Resumes a turn where it was interrupted: because its process died, or because of a failure, a limit or a cancellation. Any
    /// process with the same store, spool and tools can do this. Returns the turn, like [`TurnRunner::start`].
    ///
    /// - The records of the turn are loaded, and nothing that it did is repeated. The model continues from there.
    /// - Of the calls in progress, read-only ones run again, and those that had not started run now. Their arguments are checked
    ///   again. A call that may have taken effect is *unknown*: its tool can reconcile it
    ///   ([`ToolBuilder::reconcile`](crate::tool::ToolBuilder::reconcile)), then the policy of the runner
    ///   ([`unknown_calls`](super::TurnRunnerBuilder::unknown_calls)). The model is informed about the result.
    /// - Approvals and gates of middleware that waited wait again, with the same ids. Recorded answers are reused, within the
    ///   timeout of their gate.
    /// - A turn that was answered returns its answer again, and nothing runs.
    /// - A row of [`Storage::waiting`](crate::Storage::waiting) resumes its turn only if that has not ended since. Otherwise the
    ///   outcome is the stored one, and nothing runs.
    ///
    /// Turn input middleware runs again. The stash as of the start of the turn is restored, and so are its instructions, model
    /// settings and the rest of its budget. Tools that were only given to this turn are not stored. Pass them, and whatever else
    /// is not stored, with [`TurnInput::resume`]: `runner.resume(TurnInput::resume("turn-1").tool(tool))`.
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
    /// - `E_UNKNOWN_TURN` if the store has no turn with this id (a turn without a conversation is not stored), or if several
    ///   conversations have one: select yours with `TurnInput::resume(id).conversation(…)`.
    /// - `E_INVALID_TURN_CONTEXT` if the input was not created with [`TurnInput::resume`].
    /// - `E_STORE_ERROR` if the store fails.
    ///
    /// Other errors are in the outcome: `E_TURN_HELD` while another process runs the turn, `E_TURN_NOT_RESUMABLE` if the
    /// conversation has continued without it. For a row of [`Storage::waiting`](crate::Storage::waiting) every error is in the
    /// outcome, so that no turn keeps a program from resuming the others.
    #[doc(alias("checkpoint", "recover"))]
    pub async fn resume(&self, turn: impl Into<ResumeInput>) -> Result<Turn, Error> {
        Ok(self.start(self.to_resume(turn.into()).await?))
    }

    async fn to_resume(&self, turn: ResumeInput) -> Result<TurnInput, Error> {
        let (turn_id, input) = turn.into_parts()?;
        if input.unless_ended {
            return Ok(input);
        }
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
                    "{count} conversations have a turn `{turn_id}`: select one with `TurnInput::resume(turn_id).conversation(…)`"
                );
                Err(Error::new(ErrorCode::UNKNOWN_TURN, message))
            }
        }
    }
}

impl TurnContext {
    /// Resumes the turn. Breaks with its end if nothing is left to do: it has its answer, or it has ended and is not resumed then.
    pub(crate) async fn resume_turn(
        &self,
        unless_ended: bool,
    ) -> Result<ControlFlow<TurnStatus, Resumed>, Error> {
        let Some(store) = self.record_store() else {
            return Err(unnamed(self.turn_id()));
        };
        let is_over = |turn: &TurnRecord| match turn.state {
            TurnState::Running | TurnState::Suspended => false,
            state => unless_ended || state == TurnState::Answered,
        };
        let mut tries = 0;
        let found = loop {
            // There is no need to wait for a turn that is over.
            let found = self.found(&**store).await?;
            if is_over(&found.turn) {
                self.load_own(&**store, &found).await?;
                return Ok(ControlFlow::Break(status(&found.turn, &[])));
            }
            // Nor for one that cannot be resumed.
            resumable(self, &found)?;
            self.restore_outer(&found.turn)?;
            self.restore_principal(&found.turn)?;
            let free = self.wait_until_free(&**store).await?;
            // Its current state: it may have ended meanwhile.
            let Some((position, turn)) = free.known.clone() else {
                return Err(unknown(self.turn_id(), self.conversation_id()));
            };
            if is_over(&turn) {
                continue;
            }
            let next = next_turn(&**store, self.conversation_id(), position);
            let next = in_time(self, next).await??;
            let found = TurnPlace {
                turn,
                position,
                next,
            };
            resumable(self, &found)?;
            self.check_calls(&**store, &found).await?;
            let mut record = found.turn.resumed();
            record.principal = self.principal().cloned();
            record.settings = self.settings_with(&found.turn);
            let record = Arc::new(record);
            let lease = self.new_lease(&free, Arc::clone(&record));
            let changes = vec![
                Change::Put(record.into()),
                Change::Put(Arc::new(lease.record()).into()),
            ];
            tries += 1;
            // It is resumed only if everything that was found is still true.
            if self.take(&**store, &free, lease, changes, tries).await? {
                break found;
            }
        };
        self.wiring().set_nonce(&found.turn);
        for (path, value) in &found.turn.stash {
            if !self.stash().has(path) {
                self.stash().set(path, value.clone())?;
            }
        }
        self.resume_settings(&found.turn);
        self.limits().resume(&found.turn);
        self.journal().reject(found.turn.rejected.iter().cloned());
        let (open_calls, step) = self.load_own(&**store, &found).await?;
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
            // Of a response only its text was stored. Many servers reject a prompt that ends with it.
            let text = "The process ended before your last message was processed completely. Continue from here.";
            let message = Message::framework(text).build()?;
            self.records().store(message).await?;
        }
        Ok(ControlFlow::Continue(Resumed {
            open_calls,
            answered,
            step,
            proposed,
        }))
    }

    /// Restores who the turn acts for.
    ///
    /// # Errors
    /// Returns `E_TURN_NOT_RESUMABLE` if it started for another principal than the one named now.
    fn restore_principal(&self, record: &TurnRecord) -> Result<(), Error> {
        let Some(started_for) = &record.principal else {
            return Ok(());
        };
        let now = self.wiring().principal_or(started_for);
        if now != started_for {
            let (id, now) = (escape(self.turn_id(), 80), escape(now.as_str(), 80));
            let message = format!(
                "the turn `{id}` acts for `{started_for}` and cannot be resumed for `{now}`: resume it without naming a principal"
            );
            return Err(Error::new(ErrorCode::TURN_NOT_RESUMABLE, message));
        }
        telemetry::principal(self);
        Ok(())
    }

    /// Returns the last message of the model, if nothing follows it.
    fn last_said(&self) -> Option<Arc<Message>> {
        let mut records = self.records().timeline().into_iter().rev();
        let last = records.find(|record| !matches!(record, Record::Thought(_)));
        last.and_then(Record::downcast::<Message>)
            .filter(|message| message.is_answer())
    }

    /// Loads the turn from the store.
    async fn found(&self, store: &dyn Store) -> Result<TurnPlace, Error> {
        let (id, conversation_id) = (self.turn_id(), self.conversation_id());
        let found = in_time(self, TurnPlace::find(store, conversation_id, id)).await??;
        found.ok_or_else(|| unknown(id, conversation_id))
    }

    /// Rejects a turn with a call or ledger entry that cannot be read: it would be unknown which calls have started.
    async fn check_calls(&self, store: &dyn Store, found: &TurnPlace) -> Result<(), Error> {
        let query = found.own().kind(RecordKind::ToolCall);
        let loaded = self.read(store, &query.kind(RecordKind::Ledger)).await?;
        match loaded.damaged.first() {
            None => Ok(()),
            Some(damaged) => {
                let id = escape(self.turn_id(), 80);
                let message = format!(
                    "the turn `{id}` cannot be resumed: {damaged}. Start a new turn in the conversation instead"
                );
                Err(Error::new(ErrorCode::TURN_NOT_RESUMABLE, message))
            }
        }
    }

    /// Loads what the turn stored. Returns the calls that are open, and the step in which it waited, if it stored nothing
    /// after it reached a gate there.
    async fn load_own(
        &self,
        store: &dyn Store,
        found: &TurnPlace,
    ) -> Result<(OpenCalls, Option<Step>), Error> {
        let loaded = self.read(store, &found.own()).await?;
        self.warn_of(&loaded.damaged);
        let mut open_calls = OpenCalls::default();
        let (mut own, mut step, mut summary) = (Vec::new(), None, None);
        for record in loaded.into_records() {
            match record {
                Record::Ledger(entry) if *entry.turn_id == *self.turn_id() => {
                    open_calls.add_entry(entry);
                }
                Record::Gate(gate) if *gate.turn_id == *self.turn_id() => {
                    step = gate.step.map(Step).or(step);
                    if gate.answer().is_none() {
                        // The turn may ask this again, and the answer may come through the store.
                        self.gates().detach();
                    }
                    self.gates().recorded().insert(gate);
                }
                Record::Ledger(_) | Record::Gate(_) | Record::Lease(_) | Record::Turn(_) => {}
                record => {
                    match &record {
                        Record::ToolCall(call) => open_calls.add_call(call),
                        Record::Retrievable(found) if found.covers().is_some() => {
                            summary = Some(Arc::clone(found));
                        }
                        _ => {}
                    }
                    step = None;
                    replay_record(self.hub(), &record);
                    own.push(Change::Put(record));
                }
            }
        }
        self.journal().apply(&own);
        if let Some(summary) = summary {
            // The turn was compacted. Of the history, only what the summary does not cover is loaded.
            self.journal().cover(&summary);
        }
        self.journal().count_calls_from(open_calls.next_ordinal());
        self.report_to_outer_call();
        Ok((open_calls, step))
    }
}

/// Checks that there is something to resume, and that the conversation has not continued without it.
fn resumable(turn: &TurnContext, found: &TurnPlace) -> Result<(), Error> {
    let id = escape(turn.turn_id(), 80);
    let why = match (found.turn.state, found.next) {
        (TurnState::Nacked, _) => "its dispatch was nacked",
        (_, Some(_)) | (TurnState::Abandoned, _) => {
            "the conversation has continued without it: start a new turn there"
        }
        _ => return Ok(()),
    };
    let message = format!("the turn `{id}` cannot be resumed: {why}");
    Err(Error::new(ErrorCode::TURN_NOT_RESUMABLE, message))
}

fn unstored(turn_id: &str) -> Error {
    let turn_id = escape(turn_id, 80);
    let message = format!(
        "the store has no turn `{turn_id}`: it never ran, was deleted, or was started without `TurnInput::conversation` and so is not stored"
    );
    Error::new(ErrorCode::UNKNOWN_TURN, message)
}

fn unnamed(turn_id: &str) -> Error {
    let turn_id = escape(turn_id, 80);
    let message = format!(
        "to resume the turn `{turn_id}`, set its conversation with `TurnInput::conversation`, or call `runner.resume`, which finds it"
    );
    Error::new(ErrorCode::UNKNOWN_TURN, message)
}

pub(super) fn unknown(turn_id: &str, conversation_id: &ConversationId) -> Error {
    let (id, conversation_id) = (escape(turn_id, 80), escape(conversation_id.as_str(), 80));
    let message = format!("the conversation `{conversation_id}` has no turn `{id}`");
    Error::new(ErrorCode::UNKNOWN_TURN, message)
}
