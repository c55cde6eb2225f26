//! The open gates of a turn.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use indexmap::IndexMap;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::{Notify, oneshot};

use super::{OpenGate, TurnGate};
use crate::error::{Error, ErrorCode};
use crate::schema::admit;

/// How somebody settled a gate.
pub(crate) enum Settling {
    Resolved(Value),
    Rejected(String),
}

/// A gate where a turn waits.
pub(crate) struct Waiting {
    pub(crate) gate: Arc<TurnGate>,
    pub(crate) tool_call: Option<Arc<str>>,
    /// Somebody inside was asked too: it stays open when nobody is left outside.
    asked_inside: bool,
    settle: oneshot::Sender<Settling>,
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
    /// How many gates of a name there were.
    named: HashMap<Arc<str>, u64>,
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
    /// An id for a gate of this name: unlike any in the turn, and the same whenever the same turn is played again.
    pub(crate) fn next_id(&self, name: &Arc<str>, tool_call: Option<&str>) -> Arc<str> {
        let key: Arc<str> = match tool_call {
            Some(call) => format!("{name}-{call}").into(),
            None => Arc::clone(name),
        };
        let mut state = self.state.lock();
        let count = state.named.entry(Arc::clone(&key)).or_default();
        *count += 1;
        format!("{key}-{count}").into()
    }

    /// Goes on counting from these, where it is not further already.
    pub(crate) fn count_on(&self, counts: HashMap<Arc<str>, u64>) {
        let mut state = self.state.lock();
        for (name, passed) in counts {
            let count = state.named.entry(name).or_default();
            *count = (*count).max(passed);
        }
    }

    /// Opens a gate. `None` if one of its id is open already.
    pub(crate) fn open(
        &self,
        id: &Arc<str>,
        gate: Arc<TurnGate>,
        tool_call: Option<Arc<str>>,
        asked_inside: bool,
    ) -> Option<oneshot::Receiver<Settling>> {
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

    /// Settles a gate: once, and only with an answer that it takes. `false` if it is not open.
    pub(crate) fn settle(&self, id: &str, mut settling: Settling) -> Result<bool, Error> {
        let not_taken = |why: &dyn fmt::Display| {
            let message = format!("the gate does not take this answer: {why}");
            Error::new(ErrorCode::InvalidGateResolution, message)
        };
        // First of all, so that a value of any depth is dropped safely whatever becomes of it.
        if let Settling::Resolved(answer) = &mut settling {
            let admitted = admit(answer.take());
            *answer = admitted.map_err(|why| not_taken(&format_args!("it {why}")))?;
        }
        let gate = match self.state.lock().open.get(id) {
            Some((_, waiting)) => Arc::clone(&waiting.gate),
            None => return Ok(false),
        };
        if let Settling::Resolved(answer) = &mut settling {
            let checked = gate.check(answer.take());
            *answer = checked.map_err(|error| not_taken(&error.message()).with_source(error))?;
        }
        // Somebody else may have been quicker: then this one is ignored.
        let taken = self.state.lock().open.shift_remove(id);
        Ok(taken.is_some_and(|(_, waiting)| waiting.settle.send(settling).is_ok()))
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
