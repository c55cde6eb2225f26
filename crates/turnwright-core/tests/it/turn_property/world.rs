//! What all participants observe while a script runs.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::Mutex;
use serde_json::Value;
use turnwright_core::event::{Event, EventKind};
use turnwright_core::store::ConversationId;
use turnwright_core::{Cancellation, ToolContext, TurnContext};

use super::script::{Act, Call, Cut, Pipe, Script, TurnScript};
use super::watched_store::Watched;

pub(super) struct World {
    pub(super) script: Script,
    /// Whether there is only one thread: then nothing happens between two lines without an await.
    pub(super) strict: bool,
    pub(super) store: Watched,
    pub(super) turns: Vec<Seen>,
    violations: Mutex<Vec<String>>,
    grants: Mutex<Vec<(String, Value)>>,
}

/// A value that lives as long as its turn.
#[derive(Default)]
pub(super) struct Alive;

/// The observations about one turn.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) token: Cancellation,
    /// The turn's cancellation token, which an abort cancels too.
    pub(super) inner: OnceLock<Cancellation>,
    pub(super) weak: OnceLock<Weak<Alive>>,
    pub(super) events: Mutex<Vec<Event>>,
    pub(super) trace: Mutex<Vec<String>>,
    pub(super) proposed: Mutex<Vec<Proposed>>,
    /// How often the executor received the records of its calls.
    pub(super) completed: AtomicUsize,
    /// Calls whose handler was started, with its arguments.
    pub(super) ran: Mutex<Vec<(String, Value)>>,
    pub(super) heard: Mutex<Vec<Event>>,
    pub(super) heard_all: AtomicBool,
}

/// A proposed call.
#[derive(Clone, Debug)]
pub(super) struct Proposed {
    pub(super) id: String,
    pub(super) iteration: u32,
    /// What the executor intended. `None` for calls of a handler.
    pub(super) call: Option<Call>,
}

impl World {
    pub(super) fn new(script: &Script, strict: bool) -> Self {
        World {
            strict,
            store: Watched::store(script.store),
            turns: script.turns.iter().map(|_| Seen::default()).collect(),
            script: script.clone(),
            violations: Mutex::default(),
            grants: Mutex::default(),
        }
    }

    /// Violations.
    pub(super) fn wrong(&self, what: impl Into<String>) {
        self.violations.lock().push(what.into());
    }

    pub(super) fn check(&self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.wrong(what());
        }
    }

    pub(super) fn violations(&self) -> Vec<String> {
        self.violations.lock().clone()
    }

    pub(super) fn conversation_id(&self, turn: usize) -> ConversationId {
        let talk = if self.script.shared { 0 } else { turn };
        ConversationId::new(format!("talk-{talk}"))
    }

    /// Identifies the turn by its id and, redundantly, by its stash.
    pub(super) fn turn_of(&self, ctx: &TurnContext) -> usize {
        let turn = index_of(ctx.turn_id());
        let stashed = ctx.stash().get_as::<usize>("turn");
        self.check(stashed == Some(turn), || {
            format!("turn {turn} has the stash of {stashed:?}")
        });
        turn
    }

    pub(super) fn saw(&self, event: &Event) {
        let turn = index_of(&event.turn_id);
        let seen = &self.turns[turn];
        if let EventKind::ToolExecutionStart { id, .. } = &event.kind {
            self.check_not_cancelled(turn, || format!("call {id} was started"));
        }
        let mut events = seen.events.lock();
        events.push(event.clone());
        let count = events.len();
        drop(events);
        if let Some(Cut::AtEvent(at)) = self.script.turns[turn].cut
            && at == count
        {
            seen.token.cancel();
        }
    }

    pub(super) fn check_not_cancelled(&self, turn: usize, what: impl FnOnce() -> String) {
        let inner = self.turns[turn].inner.get();
        let cancelled = inner.is_some_and(Cancellation::is_cancelled);
        self.check(!(self.strict && cancelled), || {
            format!("turn {turn}: {} after the cancellation", what())
        });
    }

    /// Records the start of a handler: its arguments must satisfy the schema, which is checked again here; the call must be
    /// recorded as started if it may write, and granted if it needs approval. Returns the number and the word that it works with.
    pub(super) fn enter(&self, ctx: &ToolContext, args: &Value) -> (usize, i64, String) {
        let turn = self.turn_of(ctx.turn());
        let id = ctx.id();
        let fields = args.as_object();
        let sound = fields.is_some_and(|fields| {
            fields.keys().all(|key| key == "n" || key == "how")
                && fields["n"].as_i64().is_some_and(|n| (0..=100).contains(&n))
                && fields["how"].is_string()
        });
        self.check(sound, || format!("{id} runs with unchecked {args}"));
        self.check(ctx.args() == args, || format!("{id} has two arguments"));
        let writes = ctx.tool().effects() != turnwright_core::Effects::ReadOnly;
        let begun = || {
            self.store
                .is_begun(ctx.conversation_id(), &ctx.idempotency_key())
        };
        self.check(!writes || begun(), || format!("{id} runs and is not begun"));
        if ctx.tool().name() == "ask" || args["how"] == "ThenAsk" {
            self.take_grant(id, args);
        }
        let mut ran = self.turns[turn].ran.lock();
        self.check(ran.iter().all(|(before, _)| before != id), || {
            format!("{id} runs twice")
        });
        ran.push((id.to_owned(), args.clone()));
        let n = args["n"].as_i64().unwrap_or(0);
        (turn, n, args["how"].as_str().unwrap_or("").to_owned())
    }

    pub(super) fn grant(&self, id: &str, args: &Value) {
        self.grants.lock().push((id.to_owned(), args.clone()));
    }

    /// Withdraws a grant, or uses it up.
    pub(super) fn take_grant(&self, id: &str, args: &Value) {
        let mut grants = self.grants.lock();
        let found = grants
            .iter()
            .position(|(of, granted)| of == id && granted == args);
        match found {
            Some(at) => drop(grants.swap_remove(at)),
            None => self.wrong(format!("{id} runs with {args} and has no grant for that")),
        }
    }

    pub(super) fn proposes(&self, turn: usize, calls: impl Iterator<Item = Proposed>) {
        self.turns[turn].proposed.lock().extend(calls);
    }

    pub(super) fn passed(&self, turn: usize, step: String) {
        self.turns[turn].trace.lock().push(step);
    }
}

fn index_of(turn_id: &str) -> usize {
    let number = turn_id.strip_prefix("turn-");
    number.and_then(|number| number.parse().ok()).unwrap()
}

impl Seen {
    /// How a context of the turn is first identified.
    pub(super) fn meet(&self, ctx: &TurnContext) {
        let _ = self.inner.set(ctx.cancellation().clone());
        let _ = self.weak.set(Arc::downgrade(&ctx.per_turn::<Alive>()));
    }

    pub(super) fn is_freed(&self) -> bool {
        self.weak.get().is_none_or(|weak| weak.upgrade().is_none())
    }

    pub(super) fn hears_all(&self) {
        self.heard_all.store(true, Ordering::SeqCst);
    }
}

impl TurnScript {
    /// What the scripted layer of a pipeline does.
    pub(super) fn act(&self, pipeline: Pipe, iteration: u32) -> Option<Act> {
        let here = |layer: &&super::script::Layer| {
            layer.pipeline == pipeline && layer.iteration == iteration
        };
        self.layers.iter().find(here).map(|layer| layer.act)
    }
}

impl Pipe {
    pub(super) fn name(self) -> &'static str {
        match self {
            Pipe::TurnInput => "turn-input",
            Pipe::DispatchInput => "dispatch-input",
            Pipe::DispatchOutput => "dispatch-output",
            Pipe::TurnOutput => "turn-output",
        }
    }
}
