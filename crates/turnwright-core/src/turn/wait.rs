//! Waiting at a gate.

use std::sync::Arc;
use std::time::SystemTime;

use serde_json::Value;
use tokio::sync::oneshot;

use crate::deadline::{Cut, TimeLimit, within};
use crate::error::{Error, ErrorCode};
use crate::event::{EventKind, TurnEvent};
use crate::gate::{APPROVAL, OpenGate, Settling, TurnGate};
use crate::record::{GateRecord, GateState, Record};
use crate::schema::escape;
use crate::tool::context::TurnContext;

/// Opens the text for the model; the reason follows.
pub(crate) const REJECTED: &str = "The request was rejected. Reason: ";

/// A gate that is open, seen from inside of the turn. Dropping it closes the gate.
pub(crate) struct Asked {
    turn: TurnContext,
    id: Arc<str>,
    gate: Arc<TurnGate>,
    tool_call: Option<Arc<str>>,
    settled: Option<oneshot::Receiver<Settling>>,
    how: &'static str,
    /// The turns whose readers know of it: its own, and those around it.
    heard_by: Vec<TurnContext>,
}

impl TurnContext {
    /// Opens a gate and waits until somebody outside of the turn settles it.
    ///
    /// # Errors
    /// `E_TURN_GATE_REJECTED`, `E_TURN_GATE_TIMEOUT`, `E_TURN_GATE_ABORTED` if the turn ends before, and
    /// `E_LLM_EXECUTION_GATE_NOT_SUPPORTED` if nobody is there who could answer.
    pub async fn wait_for(&self, gate: TurnGate) -> Result<Value, Error> {
        self.wait_for_call(gate, None).await
    }

    pub(crate) async fn wait_for_call(
        &self,
        gate: TurnGate,
        tool_call: Option<Arc<str>>,
    ) -> Result<Value, Error> {
        if &*gate.name == APPROVAL {
            let message = "`approval` is the framework's own name for a gate: take another";
            return Err(Error::new(ErrorCode::InvalidTurnGate, message));
        }
        let id = self.gates().next_id(&gate.name, tool_call.as_deref());
        if let Some(answer) = self.answered_before(&id, &gate, tool_call.as_deref()) {
            return answer;
        }
        if !self.gates().can_be_answered() {
            return Err(nobody(&gate));
        }
        self.ask(id, gate, tool_call, false)?.answer().await
    }

    /// Opens a gate under an id. `asked_inside` says that somebody inside of the turn may answer as well.
    pub(crate) fn ask(
        &self,
        id: Arc<str>,
        gate: TurnGate,
        tool_call: Option<Arc<str>>,
        asked_inside: bool,
    ) -> Result<Asked, Error> {
        let gate = Arc::new(gate);
        let opened = self
            .gates()
            .open(&id, Arc::clone(&gate), tool_call.clone(), asked_inside);
        let Some(settled) = opened else {
            let message = format!("a gate \"{}\" is open already", escape(&id, 80));
            return Err(Error::new(ErrorCode::InvalidTurnGate, message));
        };
        self.tell(|| EventKind::GateOpened {
            id: Arc::clone(&id),
            name: Arc::clone(&gate.name),
            tool_call: tool_call.clone(),
            question: Value::clone(&gate.question),
        });
        Ok(Asked {
            turn: self.clone(),
            id,
            gate,
            tool_call,
            settled: Some(settled),
            how: "aborted",
            heard_by: Vec::new(),
        })
    }
}

impl Asked {
    /// Waits until somebody settles the gate.
    pub(crate) async fn answer(mut self) -> Result<Value, Error> {
        let Some(settled) = self.settled.take() else {
            return Err(nobody(&self.gate));
        };
        if self.turn.and_outer().any(TurnContext::is_heard) {
            Box::pin(self.say_opened()).await;
        }
        // Writing is kept apart: one who waits does not carry the room for it.
        let noted = Box::pin(self.note_open()).await;
        let time = TimeLimit::from_now(self.gate.timeout);
        let settled = within(time, self.turn.cancellation(), settled).await;
        let name = &self.gate.name;
        let (how, state, answer) = match settled {
            Ok(Ok(Settling::Resolved(answer))) => {
                let state = GateState::Resolved(answer.clone());
                ("resolved", Some(state), Ok(answer))
            }
            Ok(Ok(Settling::Rejected(reason))) => {
                let error = rejected(&self.gate, &reason);
                ("rejected", Some(GateState::Rejected(reason)), Err(error))
            }
            // Whoever could answer has gone.
            Ok(Err(_)) => {
                let error = nobody(&self.gate);
                ("aborted", Some(GateState::Unanswered), Err(error))
            }
            Err(Cut::Timeout(limit)) => {
                let message = format!("nobody answered at `{name}` within {limit:?}");
                let error = Error::new(ErrorCode::GateTimeout, message);
                ("timedOut", Some(GateState::Unanswered), Err(error))
            }
            // The turn still waits here if it is resumed.
            Err(Cut::Cancelled) => {
                let message = format!("the turn ended while it waited at `{name}`");
                let error = Error::new(ErrorCode::GateAborted, message);
                ("aborted", None, Err(error))
            }
            Err(Cut::NoTimer) => {
                let message = format!(
                    "`{name}` has a timeout, which needs a tokio runtime with its timer enabled"
                );
                let error = Error::new(ErrorCode::GateNotSupported, message);
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
            id: GateRecord::id_of(&turn_id, &self.id),
            turn_id,
            gate_id: Arc::clone(&self.id),
            name: Arc::clone(&self.gate.name),
            tool_call: self.tool_call.clone(),
            question: Arc::clone(&self.gate.question),
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
    async fn say_opened(&mut self) {
        let gate = Arc::new(OpenGate {
            id: Arc::clone(&self.id),
            name: Arc::clone(&self.gate.name),
            tool_call: self.tool_call.clone(),
            question: Arc::clone(&self.gate.question),
            schema: self.gate.schema.clone(),
        });
        for turn in self.turn.and_outer() {
            // Only if it was: a reader is not to hear of the end of what it did not hear of.
            if turn.emit(|| TurnEvent::GateOpened(Arc::clone(&gate))).await {
                self.heard_by.push(turn.clone());
            }
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.turn.gates().close(&self.id);
        let (id, how) = (&self.id, self.how);
        for turn in &self.heard_by {
            turn.emit_now(|| TurnEvent::GateClosed {
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

/// The error of a rejected gate.
pub(crate) fn rejected(gate: &TurnGate, reason: &str) -> Error {
    let message = format!("`{}` was rejected: {reason}", gate.name);
    let for_model = format!("{REJECTED}{reason}");
    Error::new(ErrorCode::GateRejected, message).with_model_text(for_model)
}

fn nobody(gate: &TurnGate) -> Error {
    let message = format!(
        "nobody can answer at `{}`: start the turn with `start` and answer by its `gates()`, or give the runner an approver",
        gate.name
    );
    Error::new(ErrorCode::GateNotSupported, message)
}
