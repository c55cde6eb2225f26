//! The gates of a turn: what the turn needs to wait at them, and the handle for answering.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::activity::{Activity, TurnActivity};
use super::id::GateNumbers;
use super::open_gate::OpenGate;
use super::replay::RecordedGates;
use super::table::GateTable;
use crate::error::{Error, ErrorCode};
use crate::record::GateAnswer;

/// A handle to the gates of a running turn. While one of these is held, the turn counts on an answer.
///
/// ```
/// use turnwright_core::{DispatchContext, TurnRunner};
///
/// # async fn answer(runner: TurnRunner) {
/// let turn = runner.start("Pay the bill.");
/// let mut gates = turn.gates();
/// tokio::spawn(async move {
///     while let Some(gate) = gates.next().await {
///         println!("{}: {}", gate.kind, gate.question);
///         // Now, or whenever a person has decided:
///         let _ = gates.approve(&gate.id);
///     }
/// });
/// let outcome = turn.await;
/// # }
/// ```
pub struct Gates {
    turn: TurnGates,
    /// The number of the last gate that this handle returned.
    given: u64,
    /// Whether another process or another runner runs the turn.
    elsewhere: bool,
}

impl Gates {
    pub(crate) fn new(turn: TurnGates) -> Self {
        turn.table().add_answerer();
        Gates {
            turn,
            given: 0,
            elsewhere: false,
        }
    }

    /// The gates of a turn that another process or another runner runs. They cannot be answered with this handle.
    pub(crate) fn elsewhere() -> Self {
        let mut gates = Gates::new(TurnGates::ended());
        gates.elsewhere = true;
        gates
    }

    /// Returns the gates that are open now.
    #[must_use]
    pub fn open(&self) -> Vec<OpenGate> {
        let open = self.turn.table().open_after(0);
        open.into_iter().map(|(_, gate)| gate).collect()
    }

    /// Returns the next open gate that this handle has not returned yet, and waits for one if there is none.
    ///
    /// Returns `None` once the turn has ended: it was answered, failed or was cancelled, it could not start, or its runtime was
    /// shut down. Also for a turn that another process or another runner runs: its gates are events of the stream. For a turn
    /// that runs under a call, it also returns the gates of the outer turn, and `None` once the inner turn has ended.
    pub async fn next(&mut self) -> Option<OpenGate> {
        loop {
            let table = Arc::clone(self.turn.table());
            let mut changed = pin!(table.changed.notified());
            // Register before checking, so that no notification is missed.
            changed.as_mut().enable();
            if let Some((number, gate)) = table.open_after(self.given).into_iter().next() {
                self.given = number;
                return Some(gate);
            }
            if self.turn.has_ended() {
                return None;
            }
            changed.await;
        }
    }

    /// Answers at a gate. Returns `false` if the gate is not open (any more): the first answer that a gate accepts counts.
    ///
    /// # Errors
    /// Returns `E_INVALID_TURN_GATE_RESOLUTION` if the gate does not accept this answer: a decision at a gate that is not an
    /// approval, a value that does not match the schema of the gate, or edited arguments that the tool rejects. The gate stays
    /// open. Returns `E_TURN_HELD` if another process or another runner runs the turn:
    /// [`TurnRunner::answer_gate`](crate::TurnRunner::answer_gate) answers there.
    pub fn answer(
        &self,
        id: impl AsRef<str>,
        answer: impl Into<GateAnswer>,
    ) -> Result<bool, Error> {
        if self.elsewhere {
            let message = "another process or another runner runs the turn, and this handle only follows it: answer with \
                           `TurnRunner::answer_gate`";
            return Err(Error::new(ErrorCode::TURN_HELD, message));
        }
        self.turn.table().answer(id.as_ref(), answer.into())
    }

    /// Approves the call that waits at this gate: [`Gates::answer`] with [`GateAnswer::approve`].
    ///
    /// # Errors
    /// See [`Gates::answer`].
    pub fn approve(&self, id: impl AsRef<str>) -> Result<bool, Error> {
        self.answer(id, GateAnswer::approve())
    }

    /// Denies the call that waits at this gate: [`Gates::answer`] with [`GateAnswer::deny`].
    ///
    /// # Errors
    /// See [`Gates::answer`].
    pub fn deny(&self, id: impl AsRef<str>, reason: impl Into<String>) -> Result<bool, Error> {
        self.answer(id, GateAnswer::deny(reason))
    }
}

impl Clone for Gates {
    fn clone(&self) -> Self {
        let mut gates = Gates::new(self.turn.clone());
        gates.given = self.given;
        gates.elsewhere = self.elsewhere;
        gates
    }
}

impl Drop for Gates {
    fn drop(&mut self) {
        self.turn.table().remove_answerer();
    }
}

debug_fields!(Gates { given });

/// The gates of one turn. A turn that runs under a call shares the table of the outer turn, but ends separately.
#[derive(Clone, Default)]
pub(crate) struct TurnGates {
    table: Arc<GateTable>,
    own: Arc<Own>,
}

#[derive(Default)]
struct Own {
    activity: Arc<Activity>,
    /// The gates at which the turn waited before it was resumed, and those that it left without an answer.
    recorded: RecordedGates,
    numbers: GateNumbers,
    ended: AtomicBool,
}

impl TurnGates {
    /// Creates the gates of a turn that runs under a call of this one.
    pub(crate) fn for_inner_turn(&self) -> Self {
        TurnGates {
            table: Arc::clone(&self.table),
            own: Arc::default(),
        }
    }

    pub(crate) fn table(&self) -> &Arc<GateTable> {
        &self.table
    }

    /// The gates of a turn that has ended.
    pub(crate) fn ended() -> Self {
        let gates = TurnGates::default();
        gates.end();
        gates
    }

    pub(crate) fn activity(&self) -> &Arc<Activity> {
        &self.own.activity
    }

    pub(crate) fn recorded(&self) -> &RecordedGates {
        &self.own.recorded
    }

    pub(crate) fn numbers(&self) -> &GateNumbers {
        &self.own.numbers
    }

    /// Keeps the gates of a stored turn open although no handle of the turn is left.
    pub(crate) fn detach(&self) {
        self.table.keep_open();
    }

    /// Suspends the turn whenever it can only wait.
    pub(crate) fn suspend_at_gates(&self) {
        self.table.keep_open();
        self.own.activity.suspend_at_gates();
    }

    /// Suspends the turn as soon as it can only wait.
    pub(crate) fn suspend(&self) {
        self.table.keep_open();
        self.own.activity.request();
    }

    /// Returns the open gates if the turn can only wait for answers from outside of this process. `None` while an approver in
    /// this process is asked, or an answer has come and is being processed.
    pub(crate) fn waits_outside(&self) -> Option<Vec<OpenGate>> {
        match self.status() {
            TurnActivity::Waiting { gates } | TurnActivity::NotSuspendable { gates, .. } => {
                self.table.without_approver(&gates)
            }
            _ => None,
        }
    }

    /// Returns what the turn is doing.
    pub(crate) fn status(&self) -> TurnActivity {
        if self.has_ended() {
            TurnActivity::Ended
        } else {
            self.own.activity.status()
        }
    }

    /// Opens no more gates for the turn.
    pub(crate) fn end(&self) {
        self.own.ended.store(true, Ordering::Release);
        self.table.changed.notify_waiters();
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.own.ended.load(Ordering::Acquire)
    }
}
