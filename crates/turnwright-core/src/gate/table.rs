//! The open gates of a running turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use indexmap::IndexMap;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};

use super::check::admitted;
use super::{OpenGate, TurnGate};
use crate::error::Error;
use crate::record::GateAnswer;

/// A gate where a turn waits.
pub(crate) struct Waiting {
    pub(crate) gate: Arc<TurnGate>,
    pub(crate) tool_call: Option<Arc<str>>,
    /// Somebody inside was asked too: it stays open when nobody is left outside.
    asked_inside: bool,
    settle: oneshot::Sender<GateAnswer>,
}

#[derive(Default)]
pub(crate) struct GateTable {
    state: Mutex<State>,
    /// Those outside who can answer.
    answerers: AtomicUsize,
    /// A gate was opened, or a turn ended.
    pub(crate) changed: Notify,
}

#[derive(Default)]
struct State {
    /// In the order in which they were opened, each with its number.
    open: IndexMap<Arc<str>, (u64, Waiting)>,
    opened: u64,
}

/// The gates of one turn. A turn that runs under a call shares the table of the outer turn, and ends on its own.
#[derive(Clone, Default)]
pub(crate) struct TurnGates {
    table: Arc<GateTable>,
    ended: Arc<AtomicBool>,
}

impl TurnGates {
    /// The gates of a turn that runs under a call of this one.
    pub(crate) fn below(&self) -> Self {
        TurnGates {
            table: Arc::clone(&self.table),
            ended: Arc::default(),
        }
    }

    pub(crate) fn table(&self) -> &Arc<GateTable> {
        &self.table
    }

    /// The turn opens no more gates.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Release);
        self.table.changed.notify_waiters();
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }
}

impl GateTable {
    /// Opens a gate. `None` if one of its id is open already.
    pub(crate) fn open(
        &self,
        id: &Arc<str>,
        gate: Arc<TurnGate>,
        tool_call: Option<Arc<str>>,
        asked_inside: bool,
    ) -> Option<oneshot::Receiver<GateAnswer>> {
        let (settle, settled) = oneshot::channel();
        let mut state = self.state.lock();
        if state.open.contains_key(id) {
            return None;
        }
        let waiting = Waiting {
            gate,
            tool_call,
            asked_inside,
            settle,
        };
        state.opened += 1;
        let number = state.opened;
        state.open.insert(Arc::clone(id), (number, waiting));
        drop(state);
        self.changed.notify_waiters();
        if !self.can_be_answered() {
            // The last one may have gone just before.
            self.close_unanswerable();
        }
        Some(settled)
    }

    /// Answers at a gate: once, and only with an answer that it takes. `false` if it is not open.
    pub(crate) fn answer(&self, id: &str, answer: GateAnswer) -> Result<bool, Error> {
        // First of all, so that a value of any depth is dropped safely whatever becomes of it.
        let answer = admitted(answer)?;
        let gate = match self.state.lock().open.get(id) {
            Some((_, waiting)) => Arc::clone(&waiting.gate),
            None => return Ok(false),
        };
        let answer = gate.check(answer)?;
        // Another answer may have been quicker: then this one is ignored.
        let taken = self.state.lock().open.shift_remove(id);
        Ok(taken.is_some_and(|(_, waiting)| waiting.settle.send(answer).is_ok()))
    }

    /// Forgets a gate where nobody waits any more.
    pub(crate) fn close(&self, id: &str) {
        drop(self.state.lock().open.shift_remove(id));
    }

    /// The open gates whose number is greater than this one, with their numbers.
    pub(crate) fn open_after(&self, number: u64) -> Vec<(u64, OpenGate)> {
        let state = self.state.lock();
        let later = state.open.iter().filter(|(_, (of, _))| *of > number);
        later
            .map(|(id, (number, waiting))| (*number, OpenGate::of(id, waiting)))
            .collect()
    }

    pub(crate) fn can_be_answered(&self) -> bool {
        self.answerers.load(Ordering::Acquire) > 0
    }

    pub(crate) fn add_answerer(&self) {
        self.answerers.fetch_add(1, Ordering::AcqRel);
    }

    /// When the last one goes, whoever waits learns that no answer will come.
    pub(crate) fn remove_answerer(&self) {
        if self.answerers.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.close_unanswerable();
        }
    }

    /// Closes the gates at which nobody can answer any more.
    fn close_unanswerable(&self) {
        let mut state = self.state.lock();
        state.open.retain(|_, (_, waiting)| waiting.asked_inside);
    }
}
