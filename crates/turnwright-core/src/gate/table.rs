//! The open gates of a running turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::SystemTime;

use indexmap::IndexMap;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};

use super::activity::{Activity, TurnActivity};
use super::check::admitted;
use super::id::GateNumbers;
use super::replay::RecordedGates;
use super::{OpenGate, TurnGate};
use crate::error::Error;
use crate::record::{GateAnswer, GateRecord};

/// An answer that arrived at a gate.
pub(crate) enum Received {
    /// In this process. The answer is not stored yet.
    Live(GateAnswer),
    /// In the store, by any process.
    Recorded(GateAnswer),
}

/// A gate at which a turn waits.
pub(crate) struct Waiting {
    pub(crate) gate: Arc<TurnGate>,
    pub(crate) tool_call: Option<Arc<str>>,
    /// Whether an approver in this process was asked too. Then the gate stays open when no external handle is left.
    pub(crate) has_approver: bool,
    /// Its record is in the store, where an answer can be recorded.
    pub(crate) stored: bool,
    pub(crate) opened_at: SystemTime,
    pub(crate) receiver: oneshot::Sender<Received>,
}

#[derive(Default)]
pub(crate) struct GateTable {
    state: Mutex<State>,
    /// Number of external handles that can answer.
    answerers: AtomicUsize,
    /// Whether answers may be recorded in the store. Then no gate is closed because no handle is left.
    keeps_open: AtomicBool,
    /// Notified when a gate is opened or a turn ends.
    pub(crate) changed: Notify,
}

#[derive(Default)]
struct State {
    /// In the order in which they were opened, each with its number.
    open: IndexMap<Arc<str>, (u64, Waiting)>,
    opened: u64,
}

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
        let (TurnActivity::Waiting { gates } | TurnActivity::NotSuspendable { gates, .. }) =
            self.status()
        else {
            return None;
        };
        let state = self.table.state.lock();
        let open = gates.iter().map(|id| {
            let (_, waiting) = state.open.get(id)?;
            (!waiting.has_approver).then(|| OpenGate::of(id, waiting))
        });
        open.collect()
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

impl GateTable {
    /// Opens a gate. Returns `false` if one with its id is already open.
    pub(crate) fn open(&self, id: &Arc<str>, waiting: Waiting) -> bool {
        let mut state = self.state.lock();
        if state.open.contains_key(id) {
            return false;
        }
        state.opened += 1;
        let number = state.opened;
        state.open.insert(Arc::clone(id), (number, waiting));
        drop(state);
        self.changed.notify_waiters();
        if !self.can_be_answered(false) {
            // The last handle may have been dropped just before.
            self.close_unanswerable();
        }
        true
    }

    /// Answers at a gate: once, and only with an answer that it accepts. Returns `false` if it is not open.
    pub(crate) fn answer(&self, id: &str, answer: GateAnswer) -> Result<bool, Error> {
        // First of all, so that a value of any depth is dropped safely.
        let answer = admitted(answer)?;
        let gate = match self.state.lock().open.get(id) {
            Some((_, waiting)) => Arc::clone(&waiting.gate),
            None => return Ok(false),
        };
        let answer = gate.check(answer)?;
        // Another answer may have been first. Then this one is ignored.
        let taken = self.state.lock().open.shift_remove(id);
        let received = Received::Live(answer);
        Ok(taken.is_some_and(|(_, waiting)| waiting.receiver.send(received).is_ok()))
    }

    /// Applies an answer from the store.
    pub(crate) fn answer_recorded(&self, record: &GateRecord) -> Result<(), Error> {
        let gate = self
            .state
            .lock()
            .open
            .get(&record.id)
            .map(|(_, open)| Arc::clone(&open.gate));
        if let (Some(gate), Some(answer)) = (gate, record.answer()) {
            let answer = gate.check(answer.clone())?;
            if let Some((_, waiting)) = self.state.lock().open.shift_remove(&record.id) {
                drop(waiting.receiver.send(Received::Recorded(answer)));
            }
        }
        Ok(())
    }

    /// Removes these gates from the table, if all of them are open.
    pub(crate) fn take_all<'g>(
        &self,
        ids: impl Iterator<Item = &'g Arc<str>> + Clone,
    ) -> Option<Vec<Waiting>> {
        let mut state = self.state.lock();
        if !ids.clone().all(|id| state.open.contains_key(id)) {
            return None;
        }
        let taken = ids.filter_map(|id| state.open.shift_remove(id));
        Some(taken.map(|(_, waiting)| waiting).collect())
    }

    /// From now on, gates stay open when no handle is left.
    fn keep_open(&self) {
        self.keeps_open.store(true, Ordering::Release);
    }

    /// Removes a gate at which nothing waits any more.
    pub(crate) fn close(&self, id: &str) {
        drop(self.state.lock().open.shift_remove(id));
    }

    /// Returns the open gates with a greater number, with their numbers.
    pub(crate) fn open_after(&self, number: u64) -> Vec<(u64, OpenGate)> {
        let state = self.state.lock();
        let later = state.open.iter().filter(|(_, (of, _))| *of > number);
        later
            .map(|(id, (number, waiting))| (*number, OpenGate::of(id, waiting)))
            .collect()
    }

    /// Returns whether an answer is possible at a gate: from a handle, or from the store.
    pub(crate) fn can_be_answered(&self, stored: bool) -> bool {
        self.answerers.load(Ordering::Acquire) > 0
            || (stored && self.keeps_open.load(Ordering::Acquire))
    }

    pub(crate) fn add_answerer(&self) {
        self.answerers.fetch_add(1, Ordering::AcqRel);
    }

    /// Removes a handle. When the last one is dropped, waiting code learns that no answer will come.
    pub(crate) fn remove_answerer(&self) {
        if self.answerers.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.close_unanswerable();
        }
    }

    /// Closes the gates at which no answer is possible any more.
    fn close_unanswerable(&self) {
        let keeps_open = self.keeps_open.load(Ordering::Acquire);
        let mut state = self.state.lock();
        state
            .open
            .retain(|_, (_, waiting)| waiting.has_approver || (waiting.stored && keeps_open));
    }
}
