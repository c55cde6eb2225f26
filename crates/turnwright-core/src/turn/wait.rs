//! Waiting at a gate.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::deadline::{Cut, TimeLimit, within};
use crate::error::{Error, ErrorCode};
use crate::event::{EventKind, TurnEventKind};
use crate::gate::{
    Counted, GateAnswer, GateKind, GatePlace, OpenGate, Opening, Settled, TurnGate, Wait, Waiter,
    gate_id,
};
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
    opened_at: SystemTime,
    /// How long this process waits.
    time_left: Option<Duration>,
    settled: Option<oneshot::Receiver<Settled>>,
    waiter: Waiter,
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
        self.wait_for_call(gate, None, Waiter::Layer).await
    }

    pub(crate) async fn wait_for_call(
        &self,
        gate: TurnGate,
        tool_call: Option<Arc<str>>,
        waiter: Waiter,
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
            None if !self.can_be_answered() => return Err(nobody(&kind)),
            None => {
                let asked = self.ask(id, gate, tool_call, step, waiter)?;
                asked.answer().await?
            }
        };
        match answer {
            GateAnswer::Value { value } => Ok(value),
            GateAnswer::Reject { reason } => Err(rejected(&kind, &reason)),
            // The gate took none of these.
            other => Err(rejected(&kind, other.decision())),
        }
    }

    /// Whether an answer may come at a gate of this turn.
    pub(crate) fn can_be_answered(&self) -> bool {
        self.gates().can_be_answered(self.hold().is_some())
    }

    /// Opens a gate under an id.
    pub(crate) fn ask(
        &self,
        id: Arc<str>,
        gate: TurnGate,
        tool_call: Option<Arc<str>>,
        step: Option<u32>,
        waiter: Waiter,
    ) -> Result<Asked, Error> {
        let asked_inside = matches!(waiter, Waiter::Approval { has_approver: true });
        let gate = Arc::new(gate);
        let opened_before = self.opened_before(&id, &gate, tool_call.as_deref());
        let opened_at = opened_before.unwrap_or_else(SystemTime::now);
        let opening = Opening {
            gate: Arc::clone(&gate),
            tool_call: tool_call.clone(),
            asked_inside,
            stored: self.hold().is_some(),
            opened_at,
        };
        let Some(settled) = self.gates().open(&id, opening) else {
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
            opened_at,
            time_left: gate.time_left(opened_before),
            gate,
            tool_call,
            step,
            settled: Some(settled),
            waiter,
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
        let noted = match Box::pin(self.note_open()).await {
            Noted::Open(record) => Some(record),
            Noted::NotStored => None,
            Noted::Answered(answer) => {
                self.how = how(&answer);
                return Ok(answer);
            }
        };
        let waits = self.wait_state(noted.clone());
        let time = TimeLimit::from_now(self.time_left);
        let settled = within(time, self.turn.cancellation(), settled).await;
        let mut goes_on = true;
        for wait in waits {
            goes_on &= wait.leave();
        }
        if !goes_on {
            // The turn is suspended: this is dropped soon, or at the latest when the turn has ended.
            self.turn.cancellation().cancelled().await;
            return Err(aborted(&self.gate.kind));
        }
        let kind = &self.gate.kind;
        let (how, state, answer) = match settled {
            Ok(Ok(Settled::Recorded(answer))) => (how(&answer), None, Ok(answer)),
            Ok(Ok(Settled::Live(answer))) => {
                let answer = match &noted {
                    Some(record) => Box::pin(self.note_answer(record, answer)).await,
                    None => answer,
                };
                (how(&answer), None, Ok(answer))
            }
            // The last holder of the turn's gates has gone.
            Ok(Err(_)) => {
                let error = nobody(kind);
                ("aborted", Some(GateState::Unanswered), Err(error))
            }
            Err(Cut::Timeout(limit)) => {
                let limit = self.gate.timeout.unwrap_or(limit);
                let message = format!("no answer came at the gate `{kind}` within {limit:?}");
                let error = Error::new(ErrorCode::TURN_GATE_TIMEOUT, message);
                ("timedOut", Some(GateState::Unanswered), Err(error))
            }
            // The turn still waits here if it is resumed.
            Err(Cut::Cancelled) => ("aborted", None, Err(aborted(kind))),
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
            Box::pin(self.note(vec![record.closed(state)])).await;
        }
        self.how = how;
        answer
    }

    /// Counts as waiting until the guards leave: in its own turn, and as what keeps the turns around it in memory.
    fn wait_state(&self, record: Option<Arc<GateRecord>>) -> Vec<Counted> {
        let own = Wait {
            id: Arc::clone(&self.id),
            tool_call: match self.waiter {
                Waiter::Layer => None,
                _ => self.tool_call.clone(),
            },
            record,
            has_approver: matches!(self.waiter, Waiter::Approval { has_approver: true }),
            held_by: match self.waiter {
                Waiter::Handler { read_only: false } => self.tool_call.clone(),
                _ => None,
            },
        };
        let mut waits = vec![self.turn.inner().gates.activity().enter(own)];
        for turn in self.turn.and_outer() {
            if let Some(outer) = turn.outer() {
                let held = Wait {
                    id: Arc::clone(&self.id),
                    tool_call: None,
                    record: None,
                    has_approver: false,
                    held_by: Some(Arc::clone(&outer.call)),
                };
                waits.push(outer.turn.inner().gates.activity().enter(held));
            }
        }
        waits
    }

    /// Stores that the turn waits here, so that it waits here again when it is resumed; unless an answer was recorded meanwhile.
    async fn note_open(&self) -> Noted {
        if self.turn.hold().is_none() {
            return Noted::NotStored;
        }
        let record = self.record();
        let recorded = &self.turn.inner().recorded_gates;
        let Some(before) = recorded.get(&self.id) else {
            let mut records = recorded.replaced_by(&record);
            records.push(Arc::clone(&record));
            self.note(records).await;
            return Noted::Open(record);
        };
        recorded.waits_again(&self.id);
        // The answer that it has, if any, did not count. Another process may record one at any time.
        let mut known = before.closed_at;
        loop {
            match self.turn.write_gate(Arc::clone(&record), known).await {
                Ok(Some(answered)) => {
                    let usable = self
                        .turn
                        .usable(&answered, &self.gate, self.tool_call.as_deref());
                    match usable {
                        Some(answer) => return Noted::Answered(answer),
                        None => known = answered.closed_at,
                    }
                }
                // A store that fails ends the turn, and then nothing waits here any more.
                Ok(None) | Err(_) => return Noted::Open(record),
            }
        }
    }

    /// Stores an answer that came in this process. If another process has recorded one before, that one counts.
    async fn note_answer(&self, open: &GateRecord, answer: GateAnswer) -> GateAnswer {
        let closed = open.closed(GateState::Answered(answer.clone()));
        let Ok(Some(earlier)) = self.turn.write_gate(closed, None).await else {
            return answer;
        };
        let kind = &self.gate.kind;
        self.turn.warn(format!(
            "two answers came at the gate `{kind}`: the one that was recorded first counts"
        ));
        let earlier = earlier
            .answer()
            .cloned()
            .map(|earlier| self.gate.check(earlier));
        match earlier {
            Some(Ok(earlier)) => earlier,
            _ => answer,
        }
    }

    fn record(&self) -> Arc<GateRecord> {
        let turn_id = Arc::clone(self.turn.shared_id());
        Arc::new(GateRecord {
            id: Arc::clone(&self.id),
            turn_id,
            kind: self.gate.kind.clone(),
            tool_call: self.tool_call.clone(),
            question: Arc::clone(&self.gate.question),
            schema: self.gate.document.clone(),
            timeout: self.gate.timeout,
            step: self.step,
            state: GateState::Open,
            opened_at: self.opened_at,
            closed_at: None,
        })
    }

    async fn note(&self, records: Vec<Arc<GateRecord>>) {
        let records = records.into_iter().map(Record::Gate);
        // A store that fails ends the turn, and then nothing waits here any more.
        let _ = self.turn.write(records.collect()).await;
    }

    /// Emits the gate on the stream of its turn and of those around it, whose gates are the same.
    fn emit_opened(&self) {
        let gate = Arc::new(OpenGate {
            id: Arc::clone(&self.id),
            kind: self.gate.kind.clone(),
            tool_call: self.tool_call.clone(),
            question: Arc::clone(&self.gate.question),
            schema: self.gate.document.clone(),
            opened_at: self.opened_at,
        });
        for turn in self.turn.and_outer() {
            turn.emit(|| TurnEventKind::GateOpened(Arc::clone(&gate)));
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.turn.gates().close(&self.id);
        if self.turn.inner().gates.activity().is_suspended() {
            // It stays open in the store, and the end of the turn names it.
            return;
        }
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

/// What became of a gate's record when it was opened.
enum Noted {
    Open(Arc<GateRecord>),
    /// The turn is not stored.
    NotStored,
    /// It was answered before it could be opened again.
    Answered(GateAnswer),
}

/// How a gate with this answer was closed, for observers.
fn how(answer: &GateAnswer) -> &'static str {
    match answer {
        GateAnswer::Reject { .. } => "rejected",
        _ => "resolved",
    }
}

fn aborted(kind: &GateKind) -> Error {
    let message = format!("the turn ended while it waited at the gate `{kind}`");
    Error::new(ErrorCode::TURN_GATE_ABORTED, message)
}

fn rejected(kind: &GateKind, reason: &str) -> Error {
    let message = format!("the gate `{kind}` was rejected: {reason}");
    let for_model = format!("The request was rejected. Reason: {reason}");
    Error::new(ErrorCode::TURN_GATE_REJECTED, message).with_model_text(for_model)
}

fn nobody(kind: &GateKind) -> Error {
    let message = format!(
        "nobody can answer at the gate `{kind}`: start the turn with `start` and answer by its `gates()`, give the runner an approver, or name a conversation and call `suspend_at_gates()`"
    );
    Error::new(ErrorCode::LLM_EXECUTION_GATE_NOT_SUPPORTED, message)
}
