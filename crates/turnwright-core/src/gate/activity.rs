//! Tracks whether a turn can only wait, and suspends it.
//!
//! The decision to suspend is made under the same lock that lets a waiter continue, and it removes the gates from the
//! table. So an accepted answer is always processed first. After that the turn stores only its end, and dropped guards
//! leave their calls open for the next run.
//!
//! A turn has a main task, which runs layers and the executor, and calls that the main task waits for:
//!
//! ```text
//! main task   works ──▶ waits at a gate, or for its calls, or was not started
//! each call   works ──▶ waits at a gate, or was not started
//!
//! the main task works, or a call works            Working
//! all wait, one at a gate that keeps the turn     NotSuspendable
//! all wait                                        Waiting ──▶ suspended, if requested or automatic
//! ```
//!
//! A gate keeps the turn in memory if the call that waits there cannot run again. Once a suspension was requested, nothing new is
//! started: what would have been started waits instead.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indexmap::IndexMap;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::table::{GateTable, Waiting};
use crate::record::GateRecord;

/// What a running turn is doing. See [`Turn::activity`](crate::runner::Turn::activity).
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

/// Tracks what the main task and the calls of a turn are doing.
#[derive(Default)]
pub(crate) struct Activity {
    /// Whether the turn can be suspended. Otherwise nothing is tracked, to save time.
    enabled: AtomicBool,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    /// Whether to suspend the turn once it can only wait, and to start nothing more.
    requested: bool,
    /// Whether to suspend the turn whenever it can only wait and no approver is being asked.
    automatic: bool,
    /// The ends of the gates of a suspended turn. Dropping them would signal that no answer comes.
    suspended: Option<Vec<Waiting>>,
    /// The gates at which the turn waits.
    gates: IndexMap<Arc<str>, Wait>,
    calls: HashMap<Arc<str>, Call>,
    /// How often the main task waits.
    main_task_waits: usize,
    /// Number of calls and steps that were not started because a suspension was requested.
    not_started: usize,
}

/// A call in progress.
#[derive(Default)]
struct Call {
    running: usize,
    /// The number of gates at which it waits, and of times that it was not started.
    waits: usize,
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

impl Waiter {
    /// Returns whether an approver in this process is asked too.
    pub(crate) fn has_approver(self) -> bool {
        self == Waiter::Approval { has_approver: true }
    }
}

/// A wait at a gate.
#[derive(Default)]
pub(crate) struct Wait {
    /// The call that waits. `None` for the main task.
    pub(crate) tool_call: Option<Arc<str>>,
    /// The record of the gate, if the turn is stored.
    pub(crate) record: Option<Arc<GateRecord>>,
    /// Whether an approver in this process was asked too.
    pub(crate) has_approver: bool,
    /// The call that keeps the turn in memory, because it cannot run again.
    pub(crate) kept_by: Option<Arc<str>>,
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
        self.is_enabled() && self.state.lock().suspended.is_some()
    }

    /// Tracks a call until the guard is dropped.
    pub(crate) fn begin_call(self: &Arc<Self>, id: &str) -> Option<Tracked> {
        self.is_enabled().then(|| {
            let id: Arc<str> = id.into();
            self.state.lock().call(&id).running += 1;
            Tracked::new(self, What::Call(id))
        })
    }

    /// Marks the main task as waiting for its calls until the guard is dropped.
    pub(crate) fn wait_for_calls(self: &Arc<Self>) -> Option<Tracked> {
        self.is_enabled().then(|| {
            self.state.lock().main_task_waits += 1;
            self.changed.notify_waiters();
            Tracked::new(self, What::MainTask)
        })
    }

    /// Marks a call, or the next step of the main task, as not started until the guard is dropped.
    pub(crate) fn not_started(self: &Arc<Self>, tool_call: Option<&str>) -> Tracked {
        let tool_call: Option<Arc<str>> = tool_call.map(Arc::from);
        let mut state = self.state.lock();
        state.not_started += 1;
        state.wait(tool_call.as_ref());
        drop(state);
        self.changed.notify_waiters();
        Tracked::new(self, What::NotStarted(tool_call))
    }

    /// Marks the turn as waiting at a gate until the guard is dropped.
    pub(crate) fn enter(self: &Arc<Self>, gate_id: &Arc<str>, wait: Wait) -> Tracked {
        let mut state = self.state.lock();
        if wait.kept_by.is_none() {
            state.wait(wait.tool_call.as_ref());
        }
        state.gates.insert(Arc::clone(gate_id), wait);
        drop(state);
        self.changed.notify_waiters();
        Tracked::new(self, What::Gate(Arc::clone(gate_id)))
    }

    /// Returns the ids of the gates at which the turn waits.
    pub(crate) fn gates(&self) -> Vec<Arc<str>> {
        self.state.lock().gates.keys().cloned().collect()
    }

    /// Returns the ids of the gates without whose answers a suspended turn cannot go on. Empty if something was not started.
    pub(crate) fn waits_only_at(&self) -> Vec<Arc<str>> {
        let state = self.state.lock();
        if state.not_started > 0 {
            return Vec::new();
        }
        state.gates.keys().cloned().collect()
    }

    pub(crate) fn status(&self) -> TurnActivity {
        if !self.is_enabled() {
            return TurnActivity::Working;
        }
        let state = self.state.lock();
        let mut tool_calls: Vec<_> = state.keeping_calls().cloned().collect();
        let mut calls = state.calls.iter();
        let works = calls.any(|(id, call)| call.works() && !tool_calls.contains(id));
        if state.main_task_waits == 0 || works || state.gates.is_empty() {
            return TurnActivity::Working;
        }
        let gates = state.gates.keys().cloned().collect();
        if tool_calls.is_empty() {
            return TurnActivity::Waiting { gates };
        }
        tool_calls.sort();
        tool_calls.dedup();
        TurnActivity::NotSuspendable { gates, tool_calls }
    }

    /// Waits until the turn can only wait and is to be suspended, then suspends it. Returns the gates at which it waits.
    ///
    /// A gate that has received an answer prevents this, so that every received answer is used. After the suspension nothing of
    /// the turn continues, and its gates receive answers through the store only.
    pub(crate) async fn suspended(&self, table: &GateTable) -> Vec<Arc<GateRecord>> {
        self.until(|state| state.try_suspend(table)).await
    }

    /// Waits until the turn waits at a gate, or until it no longer does.
    pub(crate) async fn until_waiting(&self, waits: bool) {
        self.until(|state| (state.gates.is_empty() != waits).then_some(()))
            .await;
    }

    async fn until<T>(&self, mut check: impl FnMut(&mut State) -> Option<T>) -> T {
        loop {
            let mut changed = pin!(self.changed.notified());
            // Register before checking, so that no notification is missed.
            changed.as_mut().enable();
            if let Some(found) = check(&mut self.state.lock()) {
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

    /// The calls that wait at gates and keep the turn in memory.
    fn keeping_calls(&self) -> impl Iterator<Item = &Arc<str>> {
        self.gates.values().filter_map(|wait| wait.kept_by.as_ref())
    }

    fn wait(&mut self, tool_call: Option<&Arc<str>>) {
        match tool_call {
            Some(id) => self.call(id).waits += 1,
            None => self.main_task_waits += 1,
        }
    }

    fn end_wait(&mut self, tool_call: Option<&Arc<str>>) {
        match tool_call {
            Some(id) => self.change_call(id, |call| call.waits = call.waits.saturating_sub(1)),
            None => self.main_task_waits = self.main_task_waits.saturating_sub(1),
        }
    }

    fn change_call(&mut self, id: &Arc<str>, change: impl FnOnce(&mut Call)) {
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        change(call);
        if call.running == 0 && call.waits == 0 {
            self.calls.remove(id);
        }
    }

    fn can_only_wait(&self) -> bool {
        self.main_task_waits > 0
            && self.keeping_calls().next().is_none()
            && !self.calls.values().any(Call::works)
            && (!self.gates.is_empty() || self.not_started > 0)
    }

    fn try_suspend(&mut self, table: &GateTable) -> Option<Vec<Arc<GateRecord>>> {
        let automatic = self.automatic && !self.gates.values().any(|wait| wait.has_approver);
        if self.suspended.is_some() || !(self.requested || automatic) || !self.can_only_wait() {
            return None;
        }
        // A gate that is no longer open has an answer, which is processed first.
        self.suspended = Some(table.take_all(self.gates.keys())?);
        let gates = self.gates.values();
        Some(gates.filter_map(|wait| wait.record.clone()).collect())
    }
}

impl Call {
    fn works(&self) -> bool {
        self.running > 0 && self.waits == 0
    }
}

/// Keeps track of something until it is dropped.
pub(crate) struct Tracked {
    activity: Arc<Activity>,
    what: What,
}

enum What {
    Call(Arc<str>),
    MainTask,
    /// A call, or a step of the main task.
    NotStarted(Option<Arc<str>>),
    Gate(Arc<str>),
}

impl Tracked {
    fn new(activity: &Arc<Activity>, what: What) -> Self {
        Tracked {
            activity: Arc::clone(activity),
            what,
        }
    }

    /// Ends the wait. Returns `false` if the turn was suspended meanwhile; then nothing may continue.
    pub(crate) fn leave(self) -> bool {
        // Under the same lock as the decision to suspend.
        let mut state = self.activity.state.lock();
        let continues = state.suspended.is_none();
        if continues {
            self.remove(&mut state);
        }
        continues
    }

    fn remove(&self, state: &mut State) {
        match &self.what {
            What::Call(id) => {
                state.change_call(id, |call| call.running = call.running.saturating_sub(1));
            }
            What::MainTask => state.end_wait(None),
            What::NotStarted(tool_call) => {
                state.not_started = state.not_started.saturating_sub(1);
                state.end_wait(tool_call.as_ref());
            }
            What::Gate(id) => {
                // Only once: `leave` may have done it already.
                if let Some(wait) = state.gates.shift_remove(id)
                    && wait.kept_by.is_none()
                {
                    state.end_wait(wait.tool_call.as_ref());
                }
            }
        }
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        let mut state = self.activity.state.lock();
        if state.suspended.is_none() {
            self.remove(&mut state);
        }
        drop(state);
        self.activity.changed.notify_waiters();
    }
}
