//! Waits at gates.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::deadline::{Cut, TimeLimit, within};
use crate::error::{Error, ErrorCode};
use crate::event::EventKind;
use crate::gate::{
    GateAnswer, GateClosed, GateDecision, GateEnd, GateKind, OpenGate, Received, Tracked, TurnGate,
    Wait, Waiter, Waiting, gate_id, usable_answer,
};
use crate::outcome::TurnStatus;
use crate::record::{GateRecord, GateState, Record};
use crate::schema::escape;
use crate::telemetry;
use crate::tool::context::TurnContext;

/// An open gate, on the side of the turn. Dropping it closes the gate.
pub(crate) struct Asked {
    turn: TurnContext,
    gate: Arc<TurnGate>,
    shown: Arc<OpenGate>,
    /// The step of the turn, for a gate outside of calls.
    step: Option<u32>,
    /// How long this process waits.
    pub(crate) time_left: Option<Duration>,
    received: Option<oneshot::Receiver<Received>>,
    waiter: Waiter,
    closed: GateClosed,
    /// Its record, while that may be open in the store.
    open: Option<Arc<GateRecord>>,
}

impl TurnContext {
    /// Opens a gate and waits for an external answer. Returns the value of the answer, validated with the schema of the gate.
    /// Waiting here counts towards the timeout of a call: see [`ToolContext::wait_for`](crate::ToolContext::wait_for).
    ///
    /// # Errors
    /// - `E_TURN_GATE_REJECTED` if the gate was rejected.
    /// - `E_TURN_GATE_TIMEOUT` if no answer was received in time.
    /// - `E_TURN_GATE_ABORTED` if the turn ends before.
    /// - `E_LLM_EXECUTION_GATE_NOT_SUPPORTED` if no one can answer.
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
            let message = "the gate kind `approval` is reserved: use another name";
            return Err(Error::new(
                ErrorCode::INVALID_INITIAL_TURN_GATE_VALUE,
                message,
            ));
        }
        let numbers = self.gates().numbers();
        let (step, number) = numbers.next(&gate.kind, tool_call.as_ref());
        let step = step.map(|step| step.0);
        let key = json!([tool_call, step, number]);
        let turn = (self.conversation_id().as_str(), self.turn_id());
        let id = gate_id(turn, &gate.kind, &key);
        let kind = gate.kind.clone();
        let answer = match self.answered_before(&id, &gate, tool_call.as_deref()) {
            Some(answer) => answer,
            None if !self.can_be_answered() => return Err(unanswerable(&kind)),
            None => {
                let asked = self.ask(id, gate, tool_call, step, waiter)?;
                asked.answer().await?
            }
        };
        match answer.decision {
            GateDecision::Value { value } => Ok(value),
            GateDecision::Reject { reason } => Err(rejected(&kind, &reason)),
            // The gate accepts none of these.
            other => Err(rejected(&kind, other.as_str())),
        }
    }

    /// Returns whether an answer is possible at a gate of this turn.
    pub(crate) fn can_be_answered(&self) -> bool {
        self.gates().table().can_be_answered(self.lease().is_some())
    }

    /// Returns the answer that was given at a gate before the turn was resumed, if it still counts. The gate is not opened again
    /// then.
    pub(crate) fn answered_before(
        &self,
        id: &str,
        gate: &TurnGate,
        tool_call: Option<&str>,
    ) -> Option<GateAnswer> {
        if !self.reuse_answers() {
            return None;
        }
        let recorded = self.gates().recorded();
        let (before, answer) = recorded.answered(id, gate, tool_call)?;
        let answered_at = before.closed_at.unwrap_or(before.opened_at);
        // A layer that runs again in each resume gets the answer each time. If a gate was opened since, this one was reported
        // before.
        if !recorded.is_opened_after(answered_at) {
            let closed = GateClosed::of(&answer);
            let waited = answered_at.duration_since(before.opened_at);
            let gate = (&before.id, &before.kind);
            self.report_gate_closed(gate, waited.unwrap_or_default(), &closed);
        }
        Some(answer)
    }

    fn reuse_answers(&self) -> bool {
        self.setups().all(|setup| setup.reuse_answers)
    }

    /// Opens a gate with an id.
    pub(crate) fn ask(
        &self,
        id: Arc<str>,
        gate: TurnGate,
        tool_call: Option<Arc<str>>,
        step: Option<u32>,
        waiter: Waiter,
    ) -> Result<Asked, Error> {
        let gate = Arc::new(gate);
        let recorded = self.gates().recorded();
        let opened_before = recorded.opened_at(&id, &gate, tool_call.as_deref());
        let schema = gate.schema.as_ref();
        let shown = Arc::new(OpenGate {
            id,
            kind: gate.kind.clone(),
            tool_call,
            question: Arc::clone(&gate.question),
            schema: schema.map(|schema| Arc::new(schema.document().clone())),
            opened_at: opened_before.unwrap_or_else(SystemTime::now),
        });
        let (receiver, received) = oneshot::channel();
        let waiting = Waiting {
            gate: Arc::clone(&gate),
            open: Arc::clone(&shown),
            has_approver: waiter.has_approver(),
            stored: self.lease().is_some(),
            receiver,
        };
        if !self.gates().table().open(waiting) {
            let message = format!("a gate \"{}\" is open already", escape(&shown.id, 80));
            let code = ErrorCode::INVALID_INITIAL_TURN_GATE_VALUE;
            return Err(Error::new(code, message));
        }
        if opened_before.is_none() {
            telemetry::gate_opened(&gate.kind);
        }
        self.emit_outward(EventKind::GateOpened(Arc::clone(&shown)));
        Ok(Asked {
            turn: self.clone(),
            time_left: gate.time_left(opened_before),
            gate,
            shown,
            step,
            received: Some(received),
            waiter,
            closed: GateClosed::aborted(),
            open: None,
        })
    }
}

impl TurnContext {
    /// Starts nothing more, because the turn is being suspended. Returns only once the turn has ended.
    pub(crate) async fn wait_for_suspension(&self, tool_call: Option<&str>) {
        let _not_started = self.gates().activity().not_started(tool_call);
        self.cancellation().cancelled().await;
    }

    /// Waits until the turn can be suspended, and suspends it. Never returns for a turn that runs to its end.
    pub(crate) async fn suspended(&self) -> TurnStatus {
        let gates = self.gates();
        if !gates.activity().is_enabled() {
            std::future::pending::<()>().await;
        }
        let waiting = gates.activity().suspended(gates.table()).await;
        let open = |gate: &Arc<GateRecord>| OpenGate::from(&**gate);
        TurnStatus::Suspended {
            gates: waiting.iter().map(open).collect(),
        }
    }

    /// Reports the end of a gate, as an event and in the trace.
    pub(super) fn report_gate_closed(
        &self,
        (id, kind): (&Arc<str>, &GateKind),
        waited: Duration,
        closed: &GateClosed,
    ) {
        telemetry::gate_closed(self, (id, kind), waited, closed);
        self.emit_outward(EventKind::GateClosed {
            id: Arc::clone(id),
            how: closed.how,
            by: closed.by.clone(),
            note: closed.note.clone(),
        });
    }
}

impl Asked {
    /// Waits for an answer. A rejection is an answer too.
    pub(crate) async fn answer(mut self) -> Result<GateAnswer, Error> {
        let Some(received) = self.received.take() else {
            return Err(unanswerable(&self.gate.kind));
        };
        let stored = self.turn.lease().map(|_| self.record());
        if let Some(record) = &stored {
            self.open = Some(Arc::clone(record));
            // Boxed, so that a waiting future does not hold the state of a write.
            if let Some(answer) = Box::pin(self.store_open(record)).await {
                (self.open, self.closed) = (None, GateClosed::of(&answer));
                return Ok(answer);
            }
        }
        let waits = self.wait_state(stored.clone());
        let time = TimeLimit::from_now(self.time_left);
        let received = within(time, self.turn.cancellation(), received).await;
        let mut continues = true;
        for wait in waits {
            continues &= wait.leave();
        }
        if !continues {
            // The turn is suspended. This is dropped soon, at the latest when the turn has ended.
            self.turn.cancellation().cancelled().await;
            return Err(aborted(&self.gate.kind));
        }
        let kind = &self.gate.kind;
        let unanswered = match received {
            Ok(Ok(received)) => {
                let answer = match (received, &stored) {
                    (Received::Live(answer), Some(record)) => {
                        Box::pin(self.store_answer(record, answer)).await
                    }
                    (Received::Live(answer) | Received::Recorded(answer), _) => answer,
                };
                (self.open, self.closed) = (None, GateClosed::of(&answer));
                return Ok(answer);
            }
            // The turn is about to end, which closes the gate in the store.
            Err(Cut::Cancelled) => return Err(aborted(kind)),
            // The last handle to the turn's gates was dropped.
            Ok(Err(_)) => unanswerable(kind),
            Err(Cut::Timeout(limit)) => {
                self.closed.how = GateEnd::TimedOut;
                let limit = self.gate.timeout.unwrap_or(limit);
                let message =
                    format!("no answer was received at the gate `{kind}` within {limit:?}");
                Error::new(ErrorCode::TURN_GATE_TIMEOUT, message)
            }
        };
        if let Some(record) = self.open.take() {
            // Stored before it has any effect. An answer that was recorded until then counts.
            let closed = record.closed(GateState::Unanswered);
            if let Ok(Some(answered)) = Box::pin(self.turn.write_gate(closed, None)).await
                && let Some(answer) =
                    usable_answer(&answered, &self.gate, self.shown.tool_call.as_deref())
            {
                self.closed = GateClosed::of(&answer);
                return Ok(answer);
            }
        }
        Err(unanswered)
    }

    /// Marks the turn as waiting until the guards are dropped, and its outer turns as kept in memory.
    fn wait_state(&self, record: Option<Arc<GateRecord>>) -> Vec<Tracked> {
        let own = Wait {
            tool_call: match self.waiter {
                Waiter::Layer => None,
                _ => self.shown.tool_call.clone(),
            },
            record,
            has_approver: self.waiter.has_approver(),
            kept_by: match self.waiter {
                Waiter::Handler { read_only: false } => self.shown.tool_call.clone(),
                _ => None,
            },
        };
        let activity = self.turn.gates().activity();
        let mut waits = vec![activity.enter(&self.shown.id, own)];
        for outer in self.turn.and_outer().filter_map(TurnContext::outer) {
            let kept = Wait {
                kept_by: Some(Arc::clone(&outer.call)),
                ..Wait::default()
            };
            let activity = outer.turn.gates().activity();
            waits.push(activity.enter(&self.shown.id, kept));
        }
        waits
    }

    /// Stores that the turn waits here, so that it waits here again when it is resumed. If an answer was recorded meanwhile,
    /// returns it instead.
    async fn store_open(&self, record: &Arc<GateRecord>) -> Option<GateAnswer> {
        let recorded = self.turn.gates().recorded();
        let Some(before) = recorded.get(&self.shown.id) else {
            let mut records = recorded.replaced_by(record);
            records.push(Arc::clone(record));
            // A failed write ends the turn, so nothing waits here any more.
            let _ = (self.turn)
                .write(records.into_iter().map(Record::Gate).collect())
                .await;
            return None;
        };
        recorded.remove(&self.shown.id);
        // Its answer, if any, was not accepted. Another process may record one at any time.
        let mut known = before.closed_at;
        loop {
            match self.turn.write_gate(Arc::clone(record), known).await {
                Ok(Some(answered)) => {
                    let tool_call = self.shown.tool_call.as_deref();
                    let usable = usable_answer(&answered, &self.gate, tool_call);
                    match usable.filter(|_| self.turn.reuse_answers()) {
                        Some(answer) => return Some(answer),
                        None => known = answered.closed_at,
                    }
                }
                Ok(None) | Err(_) => return None,
            }
        }
    }

    /// Stores an answer from this process. If another process has recorded one before, that one counts.
    async fn store_answer(&self, open: &GateRecord, answer: GateAnswer) -> GateAnswer {
        let closed = open.closed(GateState::Answered(answer.clone()));
        let Ok(Some(earlier)) = self.turn.write_gate(closed, None).await else {
            return answer;
        };
        let kind = &self.gate.kind;
        self.turn.warn(format!(
            "two answers were given at the gate `{kind}`: the first one counts"
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
        let OpenGate {
            id,
            kind,
            tool_call,
            question,
            schema,
            opened_at,
        } = OpenGate::clone(&self.shown);
        Arc::new(GateRecord {
            id,
            turn_id,
            kind,
            tool_call,
            question,
            schema,
            timeout: self.gate.timeout,
            step: self.step,
            state: GateState::Open,
            opened_at,
            closed_at: None,
        })
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.turn.gates().table().close(&self.shown.id);
        if self.turn.gates().activity().is_suspended() {
            // It stays open in the store, and the end of the turn names it.
            return;
        }
        if let Some(open) = self.open.take() {
            // The end of the turn closes it.
            self.turn.gates().recorded().insert(open);
        }
        let waited = self.shown.opened_at.elapsed().unwrap_or_default();
        let gate = (&self.shown.id, &self.gate.kind);
        self.turn.report_gate_closed(gate, waited, &self.closed);
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

fn unanswerable(kind: &GateKind) -> Error {
    let message = format!(
        "no one can answer at the gate `{kind}`: start the turn with `start` and answer through `gates()`, set an approver, or set a conversation and call `suspend_at_gates()`"
    );
    Error::new(ErrorCode::LLM_EXECUTION_GATE_NOT_SUPPORTED, message)
}
