//! Events come in nested pairs.

use std::collections::{BTreeMap, BTreeSet};

use turnwright_core::TurnOutcome;
use turnwright_core::event::EventKind;

use super::world::World;

/// Summary of the events of a turn.
#[derive(Default)]
pub(super) struct Observed {
    /// Calls that were started, and the code with which they ended.
    pub(super) started: BTreeMap<String, Option<&'static str>>,
}

/// What is open while events are read.
#[derive(Default)]
struct Open {
    dispatch: bool,
    iteration: Option<u32>,
    last_iteration: u32,
    /// Running calls, with their ids and tools.
    tools: BTreeMap<String, (String, String)>,
    gates: BTreeMap<String, Option<String>>,
    closed_gates: BTreeSet<String>,
    refused: BTreeSet<String>,
}

/// Reads the events of a turn and reports those that are unpaired or out of order.
pub(super) fn tell(world: &World, turn: usize, outcome: Option<&TurnOutcome>) -> Observed {
    let events = world.turns[turn].events.lock();
    let most = world.script.parallel_calls;
    let by_executor: BTreeSet<String> = world.turns[turn]
        .proposed
        .lock()
        .iter()
        .filter(|asked| asked.call.is_some())
        .map(|asked| asked.id.clone())
        .collect();
    let mut observed = Observed::default();
    let mut open = Open::default();
    for (at, event) in events.iter().enumerate() {
        let wrong = |what: &str| {
            let before: Vec<_> = events.iter().take(at + 1).collect();
            world.wrong(format!("turn {turn}: {what}: {before:?}"));
        };
        let check = |holds: bool, what: &str| {
            if !holds {
                wrong(what);
            }
        };
        let (first, last) = (at == 0, at + 1 == events.len());
        match &event.kind {
            EventKind::TurnStart { .. } => check(first, "a turn starts later"),
            EventKind::TurnEnd { status, .. } => {
                check(last, "an event follows the end");
                check(open.is_nothing(), "a turn ends around something");
                let fits = outcome.is_none_or(|outcome| outcome.status.as_str() == status.as_str());
                check(fits, "the end event does not match");
            }
            EventKind::DispatchStart => {
                check(!open.dispatch, "two dispatches at once");
                (open.dispatch, open.last_iteration) = (true, 0);
            }
            EventKind::DispatchEnd { iterations, .. } => {
                check(open.dispatch && open.iteration.is_none(), "dispatch ends");
                check(open.within_dispatch(), "a dispatch ends around something");
                check(*iterations == open.last_iteration, "iterations");
                open.dispatch = false;
            }
            EventKind::IterationStart { iteration, .. } => {
                check(open.dispatch && open.iteration.is_none(), "iteration");
                check(*iteration == open.last_iteration + 1, "a gap");
                (open.iteration, open.last_iteration) = (Some(*iteration), *iteration);
            }
            EventKind::IterationEnd { iteration, .. } => {
                check(open.iteration == Some(*iteration), "another iteration ends");
                check(open.within_dispatch(), "an iteration ends around something");
                open.iteration = None;
            }
            EventKind::ToolExecutionStart {
                id, checksum, tool, ..
            } => {
                check(open.iteration.is_some(), "a tool outside of iterations");
                let known = observed.started.contains_key(&**id) || open.tools.contains_key(&**id);
                check(!known, "a call starts twice");
                check(!open.refused.contains(&**id), "a refused call starts");
                let asked = |of: &Option<String>| of.as_deref() == Some(&**id);
                check(
                    !open.gates.values().any(asked),
                    "it starts before the answer",
                );
                let exclusive = |tool: &str| tool == "alone";
                let tasks = open.tools.values().any(|(_, tool)| exclusive(tool));
                let alone = !tasks && (open.tools.is_empty() || !exclusive(tool));
                check(alone, "a call that must run alone does not");
                open.tools
                    .insert(id.to_string(), (checksum.to_string(), tool.to_string()));
                let at_once = open.tools.keys().filter(|id| by_executor.contains(*id));
                check(at_once.count() <= most, "more calls at once than may be");
            }
            EventKind::ToolExecutionEnd {
                id,
                checksum,
                code,
                is_error,
                ..
            } => {
                let started = open.tools.remove(&**id);
                let same = started.is_some_and(|(started, _)| *started == **checksum);
                check(same, "an end without start");
                check(code.is_some() == *is_error, "an error without a code");
                let asked = |of: &Option<String>| of.as_deref() == Some(&**id);
                check(!open.gates.values().any(asked), "it ends before its gate");
                observed.started.insert(id.to_string(), *code);
            }
            EventKind::ToolCallRefused { id, .. } => {
                check(open.refused.insert(id.to_string()), "refused twice");
                let started =
                    observed.started.contains_key(&**id) || open.tools.contains_key(&**id);
                check(!started, "a call is refused after its start");
            }
            EventKind::GateOpened(gate) => {
                let (id, call) = (&gate.id, &gate.tool_call);
                let call = call.as_deref().map(str::to_owned);
                check(!open.closed_gates.contains(&**id), "a gate opens again");
                let before = open.gates.insert(id.to_string(), call);
                check(before.is_none(), "a gate opens twice");
            }
            EventKind::GateClosed { id, .. } => {
                check(open.gates.remove(&**id).is_some(), "a gate closes");
                open.closed_gates.insert(id.to_string());
            }
            EventKind::Error { code, .. } => {
                let code_of = |outcome: &TurnOutcome| outcome.error().map(|error| error.code());
                let fits = outcome.is_none_or(|outcome| {
                    code_of(outcome).is_some_and(|ended| ended.as_str() == *code)
                });
                check(fits, "an error that ended nothing");
            }
            _ => {}
        }
    }
    let ends = events.iter().filter(|event| event.name() == "turnEnd");
    world.check(ends.count() == 1, || {
        format!("turn {turn}: ends: {events:?}")
    });
    observed
}

impl Open {
    /// Nothing is open inside the dispatch.
    fn within_dispatch(&self) -> bool {
        self.tools.is_empty() && self.gates.is_empty()
    }

    fn is_nothing(&self) -> bool {
        !self.dispatch && self.iteration.is_none() && self.within_dispatch()
    }
}
