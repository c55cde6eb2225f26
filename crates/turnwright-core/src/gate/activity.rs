//! Tracks whether a turn can only wait, and suspends it.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indexmap::IndexMap;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::table::{GateTable, Waiting};
use crate::record::GateRecord;

/// What a running turn is doing. See [`TurnHandle::activity`](crate::runner::TurnHandle::activity).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TurnActivity {
    /// The turn is working, even if some of its calls wait at gates. Always the case for a turn that cannot be suspended, because
    /// it has no conversation or runs under a call.
    Working,
    /// The turn can only wait for answers at these gates. It can be suspended.
    Waiting {
        /// The ids of the gates.
        gates: Vec<Arc<str>>,
    },
    /// The turn can only wait, but cannot be suspended: calls whose handlers cannot run again wait at gates, or run turns that
    /// do.
    NotSuspendable {
        /// The ids of the gates.
        gates: Vec<Arc<str>>,
        /// The ids of the calls that keep the turn in memory.
        tool_calls: Vec<Arc<str>>,
    },
    /// The turn has ended or was suspended.
    Ended,
    /// Another process or another runner runs the turn. What it is doing is not known here.
    Elsewhere,
}

/// Tracks what a turn is doing. The turn can only wait if its main task waits at a gate or for its calls, and each call waits at
/// a gate that can be left.
#[derive(Default)]
pub(crate) struct Activity {
    /// Whether the turn can be suspended. Otherwise nothing is tracked, to save time.
    enabled: AtomicBool,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    /// Whether to suspend the turn once it can only wait.
    requested: bool,
    /// The same without a request, unless an approver is being asked.
    automatic: bool,
    suspended: bool,
    /// The gates that can be left and entered again in a later run.
    waiting: IndexMap<Arc<str>, AtGate>,
    /// The gates that cannot be left, with the call that waits there.
    held: IndexMap<Arc<str>, Arc<str>>,
    calls: HashMap<Arc<str>, Call>,
    /// How often the main task waits: at a gate, for its calls, or because nothing more is started.
    main_waits: usize,
    /// Number of things that were not started because the turn is being suspended.
    parked: usize,
    /// The waiting ends of the gates of a suspended turn. Dropping them would signal that no answer comes.
    _left: Vec<Waiting>,
}

/// A call in progress.
#[derive(Default)]
struct Call {
    begun: usize,
    /// The number of gates at which it waits, and of times it is parked.
    waits: usize,
}

struct AtGate {
    record: Option<Arc<GateRecord>>,
    /// Whether an approver in this process was asked too.
    has_approver: bool,
}

/// What waits at a gate.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiter {
    /// A layer or an executor, which runs again when the turn is resumed.
    Layer,
    /// The handler of a call. It runs again only if its tool is read-only.
    Handler { read_only: bool },
    /// A reconciler, which is asked again.
    Reconcile,
    /// A call that has not started and waits for approval.
    Approval { has_approver: bool },
}

/// A wait at a gate.
pub(crate) struct Wait {
    pub(crate) id: Arc<str>,
    pub(crate) tool_call: Option<Arc<str>>,
    /// The record of the gate, if the turn is stored.
    pub(crate) record: Option<Arc<GateRecord>>,
    pub(crate) has_approver: bool,
    /// The call that cannot run again, if there is one.
    pub(crate) held_by: Option<Arc<str>>,
}

impl Activity {
    /// Marks the turn as one that can be suspended.
    pub(crate) fn enable(&self) {
        self.enabled.store(true, Ordering::Release);
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled.load(Ordering::Acquire)
    }

    /// Suspends the turn whenever it can only wait.
    pub(crate) fn suspend_at_gates(&self) {
        self.state.lock().automatic = true;
    }

    /// Suspends the turn as soon as it can only wait, and starts nothing more.
    pub(crate) fn request(&self) {
        self.state.lock().requested = true;
        self.changed.notify_waiters();
    }

    /// Returns whether nothing more may be started.
    pub(crate) fn is_requested(&self) -> bool {
        self.is_enabled() && self.state.lock().requested
    }

    pub(crate) fn is_suspended(&self) -> bool {
        self.is_enabled() && self.state.lock().suspended
    }

    /// Tracks a call until the guard is dropped.
    pub(crate) fn begin_call(self: &Arc<Self>, id: &str) -> Option<Counted> {
        if !self.is_enabled() {
            return None;
        }
        let id: Arc<str> = id.into();
        self.state.lock().call(&id).begun += 1;
        Some(Counted::new(self, Tracked::Call(id)))
    }

    /// Marks the main task as waiting for its calls until the guard is dropped.
    pub(crate) fn wait_for_calls(self: &Arc<Self>) -> Option<Counted> {
        if !self.is_enabled() {
            return None;
        }
        self.state.lock().main_waits += 1;
        self.changed.notify_waiters();
        Some(Counted::new(self, Tracked::Main))
    }

    /// Marks a call, or the next step of the main task, as not started until the guard is dropped.
    pub(crate) fn park(self: &Arc<Self>, tool_call: Option<&str>) -> Counted {
        let tool_call: Option<Arc<str>> = tool_call.map(Arc::from);
        let mut state = self.state.lock();
        state.parked += 1;
        state.wait(tool_call.as_ref());
        drop(state);
        self.changed.notify_waiters();
        Counted::new(self, Tracked::Parked(tool_call))
    }

    /// Marks the turn as waiting at a gate until the guard is dropped.
    pub(crate) fn enter(self: &Arc<Self>, wait: Wait) -> Counted {
        let Wait {
            id,
            tool_call,
            record,
            has_approver,
            held_by,
        } = wait;
        let mut state = self.state.lock();
        let tracked = match held_by {
            Some(call) => {
                state.held.insert(Arc::clone(&id), call);
                Tracked::Held(id)
            }
            None => {
                let at = AtGate {
                    record,
                    has_approver,
                };
                state.waiting.insert(Arc::clone(&id), at);
                state.wait(tool_call.as_ref());
                Tracked::Gate(id, tool_call)
            }
        };
        drop(state);
        self.changed.notify_waiters();
        Counted::new(self, tracked)
    }

    /// Returns the ids of the gates at which the turn waits.
    pub(crate) fn gates(&self) -> Vec<Arc<str>> {
        let state = self.state.lock();
        state
            .waiting
            .keys()
            .chain(state.held.keys())
            .cloned()
            .collect()
    }

    pub(crate) fn status(&self) -> TurnActivity {
        if !self.is_enabled() {
            return TurnActivity::Working;
        }
        let state = self.state.lock();
        let gates = || {
            state
                .waiting
                .keys()
                .chain(state.held.keys())
                .cloned()
                .collect()
        };
        let is_held = |id: &Arc<str>| state.held.values().any(|call| call == id);
        let mut calls = state.calls.iter();
        let works = calls.any(|(id, call)| call.works() && !is_held(id));
        match state.main_waits {
            0 => TurnActivity::Working,
            _ if works || (state.waiting.is_empty() && state.held.is_empty()) => {
                TurnActivity::Working
            }
            _ if state.held.is_empty() => TurnActivity::Waiting { gates: gates() },
            _ => {
                let mut tool_calls: Vec<_> = state.held.values().cloned().collect();
                tool_calls.sort();
                tool_calls.dedup();
                TurnActivity::NotSuspendable {
                    gates: gates(),
                    tool_calls,
                }
            }
        }
    }

    /// Waits until the turn can only wait and is to be suspended, then suspends it. Returns the gates at which it waits.
    ///
    /// From then on nothing that the turn left behind goes on, and the gates take no live answer: an answer that a gate has
    /// taken is always worked off first.
    pub(crate) async fn suspended(&self, table: &GateTable) -> Vec<Arc<GateRecord>> {
        self.until(|state| state.try_suspend(table)).await
    }

    /// Waits until the turn waits at a gate, or until it no longer does.
    pub(crate) async fn until_waiting(&self, waits: bool) {
        let is_so = |state: &State| (state.waiting.is_empty() && state.held.is_empty()) != waits;
        self.until(|state| is_so(state).then_some(())).await;
    }

    async fn until<T>(&self, mut look: impl FnMut(&mut State) -> Option<T>) -> T {
        loop {
            let mut changed = pin!(self.changed.notified());
            // Register before checking, so that no notification is missed.
            changed.as_mut().enable();
            if let Some(found) = look(&mut self.state.lock()) {
                return found;
            }
            changed.await;
        }
    }
}

impl State {
    fn call(&mut self, id: &Arc<str>) -> &mut Call {
        self.calls.entry(Arc::clone(id)).or_default()
    }

    fn wait(&mut self, tool_call: Option<&Arc<str>>) {
        match tool_call {
            Some(id) => self.call(id).waits += 1,
            None => self.main_waits += 1,
        }
    }

    fn wait_no_more(&mut self, tool_call: Option<&Arc<str>>) {
        match tool_call {
            Some(id) => self.change_call(id, |call| call.waits = call.waits.saturating_sub(1)),
            None => self.main_waits = self.main_waits.saturating_sub(1),
        }
    }

    fn change_call(&mut self, id: &Arc<str>, change: impl FnOnce(&mut Call)) {
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        change(call);
        if call.begun == 0 && call.waits == 0 {
            self.calls.remove(id);
        }
    }

    fn can_only_wait(&self) -> bool {
        self.main_waits > 0
            && self.held.is_empty()
            && !self.calls.values().any(Call::works)
            && (!self.waiting.is_empty() || self.parked > 0)
    }

    fn try_suspend(&mut self, table: &GateTable) -> Option<Vec<Arc<GateRecord>>> {
        let automatic = self.automatic && !self.waiting.values().any(|at| at.has_approver);
        if self.suspended || !(self.requested || automatic) || !self.can_only_wait() {
            return None;
        }
        // A gate that is no longer open has an answer, which is processed first.
        self._left = table.take_all(self.waiting.keys())?;
        self.suspended = true;
        let waiting = self.waiting.values();
        Some(waiting.filter_map(|at| at.record.clone()).collect())
    }
}

impl Call {
    fn works(&self) -> bool {
        self.begun > 0 && self.waits == 0
    }
}

/// Counts something until it is dropped.
pub(crate) struct Counted {
    activity: Arc<Activity>,
    tracked: Tracked,
}

enum Tracked {
    Call(Arc<str>),
    Main,
    Parked(Option<Arc<str>>),
    Gate(Arc<str>, Option<Arc<str>>),
    Held(Arc<str>),
}

impl Counted {
    fn new(activity: &Arc<Activity>, tracked: Tracked) -> Self {
        Counted {
            activity: Arc::clone(activity),
            tracked,
        }
    }

    /// Leaves the wait. Returns `false` if the turn was suspended meanwhile; then nothing may continue.
    pub(crate) fn leave(self) -> bool {
        // Under the same lock as the decision to suspend.
        let mut state = self.activity.state.lock();
        if !state.suspended {
            self.remove(&mut state);
        }
        !state.suspended
    }

    fn remove(&self, state: &mut State) {
        match &self.tracked {
            Tracked::Call(id) => {
                state.change_call(id, |call| call.begun = call.begun.saturating_sub(1));
            }
            Tracked::Main => state.wait_no_more(None),
            Tracked::Parked(tool_call) => {
                state.parked = state.parked.saturating_sub(1);
                state.wait_no_more(tool_call.as_ref());
            }
            Tracked::Gate(id, tool_call) => {
                // Only once: `leave` may have done it already.
                if state.waiting.shift_remove(id).is_some() {
                    state.wait_no_more(tool_call.as_ref());
                }
            }
            Tracked::Held(id) => drop(state.held.shift_remove(id)),
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut state = self.activity.state.lock();
        if !state.suspended {
            self.remove(&mut state);
        }
        drop(state);
        self.activity.changed.notify_waiters();
    }
}
