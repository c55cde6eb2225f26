//! The open gates of a running turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use indexmap::IndexMap;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};

use super::TurnGate;
use super::check::admitted;
use super::open_gate::OpenGate;
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
    pub(crate) open: Arc<OpenGate>,
    /// Whether an approver in this process was asked too. Then the gate stays open when no external handle is left.
    pub(crate) has_approver: bool,
    /// Its record is in the store, where an answer can be recorded.
    pub(crate) stored: bool,
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

impl GateTable {
    /// Opens a gate. Returns `false` if one with its id is already open.
    pub(crate) fn open(&self, waiting: Waiting) -> bool {
        let mut state = self.state.lock();
        let id = Arc::clone(&waiting.open.id);
        if state.open.contains_key(&id) {
            return false;
        }
        state.opened += 1;
        let number = state.opened;
        state.open.insert(id, (number, waiting));
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
        self.give(id, admitted(answer)?, Received::Live)
    }

    /// Applies an answer from the store.
    pub(crate) fn answer_recorded(&self, record: &GateRecord) -> Result<(), Error> {
        match record.answer() {
            Some(answer) => self
                .give(&record.id, answer.clone(), Received::Recorded)
                .map(drop),
            None => Ok(()),
        }
    }

    fn give(
        &self,
        id: &str,
        answer: GateAnswer,
        received: fn(GateAnswer) -> Received,
    ) -> Result<bool, Error> {
        let gate = match self.state.lock().open.get(id) {
            Some((_, waiting)) => Arc::clone(&waiting.gate),
            None => return Ok(false),
        };
        let received = received(gate.check(answer)?);
        // Another answer may have been first. Then this one is ignored.
        let taken = self.state.lock().open.shift_remove(id);
        Ok(taken.is_some_and(|(_, waiting)| waiting.receiver.send(received).is_ok()))
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
    pub(super) fn keep_open(&self) {
        self.keeps_open.store(true, Ordering::Release);
    }

    /// Removes a gate at which nothing waits any more.
    pub(crate) fn close(&self, id: &str) {
        drop(self.state.lock().open.shift_remove(id));
    }

    /// Returns the open gates with a greater number, with their numbers.
    pub(crate) fn open_after(&self, number: u64) -> Vec<(u64, OpenGate)> {
        let state = self.state.lock();
        let later = state.open.values().filter(|(of, _)| *of > number);
        later
            .map(|(number, waiting)| (*number, OpenGate::clone(&waiting.open)))
            .collect()
    }

    /// Returns these gates. `None` if one of them has an approver or is not open.
    pub(super) fn without_approver(&self, ids: &[Arc<str>]) -> Option<Vec<OpenGate>> {
        let state = self.state.lock();
        let open = ids.iter().map(|id| {
            let (_, waiting) = state.open.get(id)?;
            (!waiting.has_approver).then(|| OpenGate::clone(&waiting.open))
        });
        open.collect()
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
