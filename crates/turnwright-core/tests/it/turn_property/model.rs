//! Predicts the result of a script as far as possible.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use turnwright_core::record::CallState;

use super::script::{
    Act, Answer, Args, Call, Check, End, Iteration, Kind, Pipe, Reader, Rewrite, Script,
    TurnScript, Verdict,
};

const CANCELLED: &str = "aborted: the turn was cancelled";
const EXECUTOR: &str = "failed: E_LLM_EXECUTION_EXECUTOR_ERROR";

/// The prediction for a turn without external influence.
#[derive(Debug, Default)]
pub(super) struct Prediction {
    /// The steps that it takes.
    pub(super) trace: Vec<String>,
    /// How it may end: more than one way only if calls race.
    pub(super) ends: BTreeSet<String>,
    /// Iterations whose calls may be interrupted.
    pub(super) loose: BTreeSet<u32>,
}

/// The prediction for a call without external influence.
#[derive(Debug, PartialEq)]
pub(super) struct Expected {
    pub(super) result: Came,
    pub(super) ledger: Option<CallState>,
    pub(super) edited: Option<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Came {
    Refusal,
    Failure,
    Inline,
    Handle,
}

enum Step {
    On,
    Signal(&'static str),
    End(String),
}

pub(super) fn predict(script: &Script, turn: usize) -> Prediction {
    let mut text = Prediction::default();
    let ends = text.walk(script, &script.turns[turn]);
    text.ends = ends;
    text
}

impl Prediction {
    fn walk(&mut self, script: &Script, turn: &TurnScript) -> BTreeSet<String> {
        let one = |end: String| BTreeSet::from([end]);
        if let Step::End(end) = self.layer(turn, Pipe::TurnInput, 0) {
            return one(end);
        }
        let mut iteration = 0;
        let ends = loop {
            if iteration == script.iteration_limit {
                return one(format!("limit: its limit of {iteration} iterations"));
            }
            iteration += 1;
            match self.layer(turn, Pipe::DispatchInput, iteration) {
                Step::On => {}
                Step::Signal(end) => break one(end.to_owned()),
                Step::End(end) => return one(end),
            }
            self.trace.push(format!("executor {iteration}"));
            let Some(part) = turn.iterations.get(iteration as usize - 1) else {
                break one("answered".to_owned());
            };
            if part.patience.is_some() {
                self.loose.insert(iteration);
            }
            let (stops, signals) = part.endings(script, turn);
            if !stops.is_empty() {
                self.loose.insert(iteration);
                return stops;
            }
            match part.end {
                End::Fail | End::Panic => return one(EXECUTOR.to_owned()),
                _ if !signals.is_empty() => break signals,
                End::Ack => break one("answered".to_owned()),
                End::Nack => break one("refused: executor".to_owned()),
                End::Next => {}
            }
            match self.layer(turn, Pipe::DispatchOutput, iteration) {
                Step::On => {}
                Step::Signal(end) => break one(end.to_owned()),
                Step::End(end) => return one(end),
            }
        };
        match self.layer(turn, Pipe::TurnOutput, 0) {
            Step::End(end) => one(end),
            Step::On | Step::Signal(_) => ends,
        }
    }

    fn layer(&mut self, turn: &TurnScript, pipe: Pipe, iteration: u32) -> Step {
        let act = turn.act(pipe, iteration);
        let failed = || {
            let code = match pipe {
                Pipe::TurnInput => "E_INPUT_PIPELINE_ERROR",
                Pipe::TurnOutput => "E_OUTPUT_PIPELINE_ERROR",
                Pipe::DispatchInput | Pipe::DispatchOutput => "E_DISPATCH_PIPELINE_ERROR",
            };
            Step::End(format!("failed: {code}"))
        };
        let (reached, step) = match act {
            None | Some(Act::Slow(_) | Act::Yield | Act::Register) => (true, Step::On),
            Some(Act::Gate(answer)) if turn.can_answer() && answer.resolves() => (true, Step::On),
            Some(Act::Gate(_) | Act::Fail | Act::Panic) => (false, failed()),
            Some(Act::FailAfter) => (true, failed()),
            Some(Act::Abort) => (false, Step::End("aborted: layer".to_owned())),
            Some(Act::AbortAfter) => (true, Step::End("aborted: layer".to_owned())),
            Some(Act::Cancel) => (false, Step::End(CANCELLED.to_owned())),
            Some(Act::ShortCircuit) => (
                false,
                Step::End("failed: E_PIPELINE_SHORT_CIRCUITED".to_owned()),
            ),
            // After a signal, inner layers do not run.
            Some(Act::Ack) => (false, Step::Signal("answered")),
            Some(Act::Nack) => (false, Step::Signal("refused: layer")),
        };
        if reached {
            self.trace.push(match iteration {
                0 => pipe.name().to_owned(),
                _ => format!("{} {iteration}", pipe.name()),
            });
        }
        step
    }
}

impl TurnScript {
    /// Whether there is a caller at the gates.
    pub(super) fn can_answer(&self) -> bool {
        self.answered && !matches!(self.reader, Reader::Absent)
    }
}

impl Answer {
    fn resolves(self) -> bool {
        matches!(self, Answer::Resolved | Answer::BadFirst | Answer::Twice)
    }
}

impl Iteration {
    /// How calls of this iteration may end the turn, and how they may end the dispatch.
    fn endings(&self, script: &Script, turn: &TurnScript) -> (BTreeSet<String>, BTreeSet<String>) {
        let (mut stops, mut signals) = (BTreeSet::new(), BTreeSet::new());
        for call in &self.calls {
            if call.expected(script, turn).result == Came::Refusal {
                continue;
            }
            match call.tool {
                Kind::Cancels => drop(stops.insert(CANCELLED.to_owned())),
                Kind::Aborts => drop(stops.insert("aborted: tool".to_owned())),
                Kind::Acks => drop(signals.insert("answered".to_owned())),
                Kind::Nacks => drop(signals.insert("refused: tool".to_owned())),
                _ => {}
            }
        }
        (stops, signals)
    }
}

impl Call {
    pub(super) fn expected(&self, script: &Script, turn: &TurnScript) -> Expected {
        let refused = || Expected {
            result: Came::Refusal,
            ledger: None,
            edited: None,
        };
        let Args::Good(n) = self.args else {
            return refused();
        };
        let read = |result: Came| Expected {
            result,
            ledger: None,
            edited: None,
        };
        let wrote = |edited: Option<Value>| Expected {
            result: Came::Inline,
            ledger: Some(CallState::Done),
            edited,
        };
        let failed = |state: CallState| Expected {
            result: Came::Failure,
            ledger: Some(state),
            edited: None,
        };
        let asks = script.approver || turn.can_answer();
        let odd = n % 2 == 1;
        match self.tool {
            Kind::Unknown | Kind::Others => refused(),
            Kind::Look | Kind::CallsOne | Kind::CallsTwo | Kind::Own => read(Came::Inline),
            Kind::Cancels | Kind::Aborts | Kind::Acks | Kind::Nacks => read(Came::Inline),
            Kind::Large | Kind::Never => read(Came::Handle),
            Kind::Note | Kind::Alone | Kind::Slow | Kind::Blocks => wrote(None),
            Kind::Fails | Kind::Panics => failed(CallState::Failed),
            Kind::Stuck => failed(CallState::Unknown),
            Kind::StuckLook => read(Came::Failure),
            Kind::Gate(answer) if turn.can_answer() && answer.resolves() => read(Came::Inline),
            Kind::Gate(_) => read(Came::Failure),
            Kind::Ask(Verdict::Granted) if asks => wrote(None),
            Kind::Ask(Verdict::Edited) if asks => {
                let n = (i64::from(n) + 1) % 101;
                wrote(Some(json!({ "n": n, "how": "Edited" })))
            }
            Kind::Ask(_) => refused(),
            Kind::Rewrite(Rewrite::Well) => {
                wrote(odd.then(|| json!({ "n": n - 1, "how": "Well" })))
            }
            Kind::Rewrite(Rewrite::ThenAsk) if asks => {
                wrote(odd.then(|| json!({ "n": n - 1, "how": "ThenAsk" })))
            }
            Kind::Rewrite(_) => refused(),
            Kind::Checked(Check::Passes | Check::Slow) => wrote(None),
            Kind::Checked(Check::Rejects | Check::Panics) => refused(),
        }
    }
}
