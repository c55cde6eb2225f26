//! Waiting at a gate.

use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::deadline::{Cut, TimeLimit, within};
use crate::error::{Error, ErrorCode};
use crate::event::{EventKind, TurnEventKind};
use crate::gate::{GateAnswer, GateKind, GatePlace, OpenGate, TurnGate, gate_id};
use crate::record::{GateRecord, GateState, Record};
use crate::schema::escape;
use crate::tool::context::TurnContext;

/// A gate that is open, seen from inside of the turn. Dropping it closes the gate.
pub(crate) struct Asked {
    turn: TurnContext,
    id: Arc<str>,
    gate: Arc<TurnGate>,
    tool_call: Option<Arc<str>>,
    /// The step of the turn, for a gate outside of calls.
    step: Option<u32>,
    settled: Option<oneshot::Receiver<GateAnswer>>,
    how: &'static str,
    /// It is on the stream: then its end is too.
    emitted: bool,
}

impl TurnContext {
    /// Opens a gate and waits for an external answer. Returns the value of the answer, checked against the gate's schema. A
    /// handler that waits here uses up its call's time limit: see [`ToolContext::wait_for`](crate::ToolContext::wait_for).
    ///
    /// # Errors
    /// `E_TURN_GATE_REJECTED`, `E_TURN_GATE_TIMEOUT`, `E_TURN_GATE_ABORTED` if the turn ends before, and
    /// `E_LLM_EXECUTION_GATE_NOT_SUPPORTED` if nobody could answer.
    pub async fn wait_for(&self, gate: TurnGate) -> Result<Value, Error> {
        self.wait_for_call(gate, None).await
    }

    pub(crate) async fn wait_for_call(
        &self,
        gate: TurnGate,
        tool_call: Option<Arc<str>>,
    ) -> Result<Value, Error> {
        if gate.kind == GateKind::Approval {
            let message = "`approval` is the kind of the framework's own gates: take another name";
            return Err(Error::new(
                ErrorCode::INVALID_INITIAL_TURN_GATE_VALUE,
                message,
            ));
        }
        let numbers = &self.inner().gate_numbers;
        let GatePlace { step, number } = numbers.next(&gate.kind, tool_call.as_ref());
        let step = step.map(|step| step.0);
        let key = json!([tool_call, step, number]);
        let id = gate_id(self.turn_id(), &gate.kind, &key);
        let kind = gate.kind.clone();
        let answer = match self.answered_before(&id, &gate, tool_call.as_deref()) {
            Some(answer) => answer,
            None if !self.gates().can_be_answered() => return Err(nobody(&kind)),
            None => self.ask(id, gate, tool_call, step, false)?.answer().await?,
        };
        match answer {
            GateAnswer::Value { value } => Ok(value),
            GateAnswer::Reject { reason } => Err(rejected(&kind, &reason)),
            // The gate took none of these.
            other => Err(rejected(&kind, other.decision())),
        }
    }

    /// Opens a gate under an id. `asked_inside` says that somebody inside of the turn may answer as well.
    pub(crate) fn ask(
        &self,
        id: Arc<str>,
        gate: TurnGate,
        tool_call: Option<Arc<str>>,
        step: Option<u32>,
        asked_inside: bool,
    ) -> Result<Asked, Error> {
        let gate = Arc::new(gate);
        let opened = self
            .gates()
            .open(&id, Arc::clone(&gate), tool_call.clone(), asked_inside);
        let Some(settled) = opened else {
            let message = format!("a gate \"{}\" is open already", escape(&id, 80));
            return Err(Error::new(
                ErrorCode::INVALID_INITIAL_TURN_GATE_VALUE,
                message,
            ));
        };
        self.tell(|| EventKind::GateOpened {
            id: Arc::clone(&id),
            kind: gate.kind.clone(),
            tool_call: tool_call.clone(),
            question: Value::clone(&gate.question),
        });
        Ok(Asked {
            turn: self.clone(),
            id,
            gate,
            tool_call,
            step,
            settled: Some(settled),
            how: "aborted",
            emitted: false,
        })
    }
}

impl Asked {
    /// Waits for an answer. A rejection is one.
    pub(crate) async fn answer(mut self) -> Result<GateAnswer, Error> {
        let Some(settled) = self.settled.take() else {
            return Err(nobody(&self.gate.kind));
        };
        if self.turn.and_outer().any(TurnContext::is_heard) {
            self.emit_opened();
            self.emitted = true;
        }
        // Boxed: a future that waits does not carry the state of a write.
        let noted = Box::pin(self.note_open()).await;
        let time = TimeLimit::from_now(self.gate.timeout);
        let settled = within(time, self.turn.cancellation(), settled).await;
        let kind = &self.gate.kind;
        let (how, state, answer) = match settled {
            Ok(Ok(answer)) => {
                let how = match answer {
                    GateAnswer::Reject { .. } => "rejected",
                    _ => "resolved",
                };
                (how, Some(GateState::Answered(answer.clone())), Ok(answer))
            }
            // The last holder of the turn's gates has gone.
            Ok(Err(_)) => {
                let error = nobody(kind);
                ("aborted", Some(GateState::Unanswered), Err(error))
            }
            Err(Cut::Timeout(limit)) => {
                let message = format!("no answer came at the gate `{kind}` within {limit:?}");
                let error = Error::new(ErrorCode::TURN_GATE_TIMEOUT, message);
                ("timedOut", Some(GateState::Unanswered), Err(error))
            }
            // The turn still waits here if it is resumed.
            Err(Cut::Cancelled) => {
                let message = format!("the turn ended while it waited at `{kind}`");
                let error = Error::new(ErrorCode::TURN_GATE_ABORTED, message);
                ("aborted", None, Err(error))
            }
            Err(Cut::NoTimer) => {
                let message = format!(
                    "`{kind}` has a timeout, which needs a tokio runtime with its timer enabled"
                );
                let error = Error::new(ErrorCode::LLM_EXECUTION_GATE_NOT_SUPPORTED, message);
                ("aborted", Some(GateState::Unanswered), Err(error))
            }
        };
        // Stored before anything comes of it.
        if let (Some(record), Some(state)) = (noted, state) {
            Box::pin(self.note(record.closed(state))).await;
        }
        self.how = how;
        answer
    }

    /// Notes that the turn waits here, so that it waits here again if it is taken up.
    async fn note_open(&self) -> Option<Arc<GateRecord>> {
        self.turn.hold()?;
        self.turn.inner().recorded_gates.waits_again(&self.id);
        let turn_id = Arc::clone(self.turn.shared_id());
        let record = Arc::new(GateRecord {
            id: Arc::clone(&self.id),
            turn_id,
            kind: self.gate.kind.clone(),
            tool_call: self.tool_call.clone(),
            question: Arc::clone(&self.gate.question),
            schema: self.gate.document.clone(),
            timeout: self.gate.timeout,
            step: self.step,
            state: GateState::Open,
            opened_at: SystemTime::now(),
            closed_at: None,
        });
        self.note(Arc::clone(&record)).await;
        Some(record)
    }

    async fn note(&self, record: Arc<GateRecord>) {
        // A store that fails ends the turn, and then nobody waits here any more.
        let _ = self.turn.write(vec![Record::Gate(record)]).await;
    }

    /// Emits the gate on the stream of its turn and of those around it, whose gates are the same.
    fn emit_opened(&self) {
        let gate = Arc::new(OpenGate {
            id: Arc::clone(&self.id),
            kind: self.gate.kind.clone(),
            tool_call: self.tool_call.clone(),
            question: Arc::clone(&self.gate.question),
            schema: self.gate.document.clone(),
        });
        for turn in self.turn.and_outer() {
            turn.emit(|| TurnEventKind::GateOpened(Arc::clone(&gate)));
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.turn.gates().close(&self.id);
        let (id, how) = (&self.id, self.how);
        for turn in self.turn.and_outer().filter(|_| self.emitted) {
            turn.emit(|| TurnEventKind::GateClosed {
                id: Arc::clone(id),
                how,
            });
        }
        self.turn.tell(|| EventKind::GateClosed {
            id: Arc::clone(id),
            how,
        });
    }
}

fn rejected(kind: &GateKind, reason: &str) -> Error {
    let message = format!("the gate `{kind}` was rejected: {reason}");
    let for_model = format!("The request was rejected. Reason: {reason}");
    Error::new(ErrorCode::TURN_GATE_REJECTED, message).with_model_text(for_model)
}

fn nobody(kind: &GateKind) -> Error {
    let message = format!(
        "nobody can answer at the gate `{kind}`: start the turn with `start` and answer by its `gates()`, or give the runner an approver"
    );
    Error::new(ErrorCode::LLM_EXECUTION_GATE_NOT_SUPPORTED, message)
}
