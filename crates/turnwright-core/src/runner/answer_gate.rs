//! Answering at a gate of a stored turn, and continuing the turn.
//!
//! The answer is recorded first. A live turn of the same runner gets it before it can be suspended. A turn that runs
//! elsewhere is followed by its records, and resumed if its process stops without having used the answer.

use std::sync::Arc;

use serde_json::Value;
use tokio::runtime::Handle;

use super::attach::attached;
use super::follow::Follower;
use super::input::TurnInput;
use super::resume::unknown;
use super::stored_turn::StoredTurn;
use super::turn::Turn;
use super::turn_runner::TurnRunner;
use crate::error::{Error, ErrorCode};
use crate::gate::{GateAnswer, GateDecision};
use crate::record::{GateRecord, TurnState};
use crate::store::{ConversationId, answer_gate};
use crate::telemetry::here;

impl TurnRunner {
    /// Answers at a gate of a stored turn and continues the turn. Returns the turn, whose stream first replays what the turn has
    /// done so far, as with [`TurnRunner::attach`].
    ///
    /// - A suspended or interrupted turn is [resumed](TurnRunner::resume) here. If other gates are open, it waits there again: with
    ///   [`suspend_at_gates`](super::TurnRunnerBuilder::suspend_at_gates) it is suspended again at once.
    /// - A turn that runs in this runner gets the answer, and the returned turn is attached to it.
    /// - A turn that runs elsewhere, in another process or another runner, learns of the answer within half a second. The returned
    ///   turn follows it by its records. If that process dies or suspends the turn without having used the answer, the turn is
    ///   resumed here, and from then on the returned turn can cancel it and answer at its gates.
    ///
    /// The gate knows its turn, so no turn id is needed. To record an answer without continuing the turn, for example because
    /// another process resumes it, use [`Storage::answer_gate`](crate::Storage::answer_gate). Dropping the returned turn does not
    /// cancel it.
    ///
    /// The answer is checked like one that is given through [`Gates::answer`](crate::gate::Gates::answer): against the schema that is
    /// stored with the gate, and edited arguments against the schema of the tool, if this runner has it. They are checked again
    /// when the turn continues. If the gate has a timeout, the answer must come within it, counted from when the gate was opened.
    ///
    /// ```
    /// use turnwright_core::gate::GateAnswer;
    /// use turnwright_core::tool::approval::always;
    /// use turnwright_core::{DispatchContext, Tool, ToolContext, TurnInput};
    /// use serde_json::{Value, json};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// # let pay = Tool::dynamic("pay", json!({ "type": "object" }))
    /// #     .description("Pays the bill.")
    /// #     .approval(always("money moves"))
    /// #     .handler(|_: Value, _: ToolContext| async { "paid" })
    /// #     .build()?;
    /// # let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
    /// #     match ctx.records().own_tool_calls().first() {
    /// #         None => drop(ctx.call("pay", "{}").await),
    /// #         Some(paid) => drop(ctx.answer(paid.text().await.unwrap_or_default()).await?),
    /// #     }
    /// #     Ok(())
    /// # })
    /// # .tool(pay)
    /// # .suspend_at_gates()
    /// # .build()?;
    /// let outcome = runner.run(TurnInput::new("Pay the bill.").conversation("chat-1")).await;
    /// assert!(outcome.is_suspended());
    ///
    /// // Later, in any process that has the storage:
    /// let waiting = runner.storage().waiting(&turnwright_core::store::TurnFilter::all()).await?;
    /// let turn = runner.answer_gate("chat-1", &waiting[0].gates[0].id, GateAnswer::approve()).await?;
    /// assert_eq!(turn.await.into_answer()?, "paid");
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// `E_UNKNOWN_TURN_GATE`; `E_TURN_GATE_ANSWERED` if the gate was answered before; `E_TURN_GATE_CLOSED` if its turn has ended;
    /// `E_TURN_GATE_TIMEOUT` if its time is over; `E_INVALID_TURN_GATE_RESOLUTION` if it does not take this answer;
    /// `E_STORE_ERROR`. If a turn cannot be continued, its outcome says why.
    ///
    /// # Cancel safety
    /// If the future is dropped after it was polled once, the answer is still recorded and the turn still continues. So the
    /// request of a client that disconnects leaves no turn behind. If the process dies between the two,
    /// [`Storage::resumable`](crate::Storage::resumable) lists the turn.
    #[doc(alias("approve", "hitl", "addToolApprovalResponse"))]
    pub async fn answer_gate(
        &self,
        conversation: impl AsRef<str>,
        gate_id: impl AsRef<str>,
        answer: impl Into<GateAnswer>,
    ) -> Result<Turn, Error> {
        let (runner, conversation) = (self.clone(), Arc::from(conversation.as_ref()));
        let (gate_id, answer) = (gate_id.as_ref().to_owned(), answer.into());
        let Ok(runtime) = Handle::try_current() else {
            let message = "a turn runs in its own task: call this inside a tokio runtime";
            return Err(Error::new(ErrorCode::INVALID_TURN_CONTEXT, message));
        };
        // In its own task: what was started is completed even if the caller is dropped.
        let work = async move {
            runner
                .answer_and_continue(conversation, &gate_id, answer)
                .await
        };
        let answered = runtime.spawn(here().instrument(work)).await;
        answered.unwrap_or_else(|lost| {
            let message =
                "the task that records the answer did not end: the answer may be recorded or not";
            Err(Error::new(ErrorCode::STORE_ERROR, message).with_source(lost))
        })
    }

    async fn answer_and_continue(
        &self,
        conversation: Arc<str>,
        gate_id: &str,
        answer: GateAnswer,
    ) -> Result<Turn, Error> {
        let conversation_id = ConversationId::new(Arc::clone(&conversation));
        let store = self.storage().store();
        let fits = |gate: &GateRecord, answer: &GateAnswer| self.fits(gate, answer);
        let gate = answer_gate(&**store, &conversation_id, gate_id, answer, fits).await?;
        if let Some(turn) = self.attach_answered(&conversation, &gate).await {
            return Ok(turn);
        }
        let stored =
            StoredTurn::load(&**store, &conversation_id, &gate.turn_id, self.tools()).await?;
        let stored = stored.ok_or_else(|| unknown(&gate.turn_id, &conversation_id))?;
        if stored.turn.state == TurnState::Running && stored.may_be_running(&**store).await? {
            let resumes = Some((self.clone(), gate.id().into()));
            return Ok(Follower::start(Arc::clone(store), stored, resumes));
        }
        let input = TurnInput::resume_unless_ended(&gate.turn_id, &conversation);
        Ok(self.start(input.replay()))
    }

    /// Whether edited arguments fit the tool of the call that waits, if this runner has it.
    fn fits(&self, gate: &GateRecord, answer: &GateAnswer) -> Result<(), Error> {
        let GateDecision::Edit { args } = &answer.decision else {
            return Ok(());
        };
        let tool = gate.question.get("tool").and_then(Value::as_str);
        let tool = tool.and_then(|name| self.tools().get(name));
        tool.map_or(Ok(()), |tool| tool.probe(args).map(drop))
    }

    /// A turn of this runner, with the recorded answer. `None` if it does not run, or was suspended before it got the answer: then
    /// its run has ended when this returns.
    async fn attach_answered(&self, conversation: &Arc<str>, gate: &GateRecord) -> Option<Turn> {
        let turn = self.live_turn(conversation, &gate.turn_id)?;
        // At once: a gate that has its answer keeps the turn from being suspended. An answer that the gate does not take is
        // withdrawn where the turn listens to the store.
        let _ = turn.gates().table().answer_recorded(gate);
        if !turn.gates().activity().is_suspended() {
            return attached(&turn);
        }
        let ended = turn.watch_outcome()?;
        drop(turn);
        // An error says the same: its run is over.
        let _ = ended.await;
        None
    }
}
