//! Every call, told once.

use std::collections::HashSet;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use indexmap::IndexMap;
use parking_lot::Mutex;
use serde_json::Value;

use super::audited_call::AuditedCall;
use crate::effects::Effects;
use crate::error::BoxError;
use crate::event::{Event, EventKind};
use crate::gate::APPROVAL;
use crate::panic::text_of;
use crate::pipeline::{Middleware, Next};
use crate::record::ToolCall;
use crate::tool::context::{TurnContext, WeakTurnContext};

/// Where audited calls go. Closures over [`AuditedCall`] are sinks.
///
/// It is called between the steps of a turn, and that turn waits for it: hand what takes its time to a channel. One that
/// panics is warned of, and breaks nothing.
pub trait AuditSink: Send + Sync {
    /// Takes a call.
    fn record(&self, call: AuditedCall);
}

impl<F: Fn(AuditedCall) + Send + Sync> AuditSink for F {
    fn record(&self, call: AuditedCall) {
        self(call);
    }
}

/// Tells of every call, once: see [`audit`].
#[must_use = "middleware does nothing until a runner has it"]
pub struct Audit {
    sink: Arc<dyn AuditSink>,
    args: bool,
}

/// Gives every call of a turn to `sink`, exactly once, when it has come to its end: those that ran, those that failed or
/// were cut off, and those that were refused. For the turn's input; from there it sees the end of the turn however it comes,
/// and the sink has every call before the outcome is given. A call of which no record could be made is told of too.
///
/// Arguments are not told unless [`Audit::with_args`] is said; results never are.
///
/// ```
/// use turnwright_core::middleware::{AuditedCall, audit};
/// use turnwright_core::{DispatchContext, Tool, ToolContext, TurnRunner};
/// use serde_json::{Value, json};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let pay = Tool::dynamic("pay", json!({ "type": "object" }))
///     .description("Pays the bill.")
///     .handler(|_: Value, _: ToolContext| async { "paid" })
///     .build()?;
/// // Whoever writes them down reads the other end.
/// let (sender, calls) = std::sync::mpsc::channel();
/// let runner = TurnRunner::builder(|ctx: DispatchContext| async move {
///     ctx.call_tools([ctx.propose("pay", "{}"), ctx.propose("pray", "{}")]).await;
///     ctx.answer("Done.").await?;
///     Ok(())
/// })
/// .tool(pay)
/// .turn_input(audit(move |call: AuditedCall| drop(sender.send(call))))
/// .build()?;
/// runner.run("Settle it.").await.into_answer()?;
/// let calls: Vec<AuditedCall> = calls.try_iter().collect();
/// assert!(calls[0].ran && !calls[0].is_error);
/// assert_eq!((&*calls[1].tool, calls[1].code), ("pray", Some("E_UNKNOWN_TOOL")));
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
pub fn audit(sink: impl AuditSink + 'static) -> Audit {
    Audit {
        sink: Arc::new(sink),
        args: false,
    }
}

impl Audit {
    /// Tells the arguments too. They may hold whatever a model was told.
    pub fn with_args(mut self) -> Self {
        self.args = true;
        self
    }
}

#[async_trait]
impl Middleware<TurnContext> for Audit {
    async fn handle(&self, ctx: TurnContext, next: Next<TurnContext>) -> Result<(), BoxError> {
        if !ctx.own_tool_calls().is_empty() {
            return Err("an audit that begins after calls were made would be false: it belongs to the turn's input".into());
        }
        let watch = Watch {
            turn: ctx.downgrade(),
            sink: Arc::clone(&self.sink),
            args: self.args,
            seen: Mutex::default(),
        };
        // For as long as the turn lives: its end is told after everything that was begun is closed.
        ctx.events().observe(move |event| watch.see(event)).keep();
        next.run().await
    }

    fn name(&self) -> &'static str {
        "audit"
    }
}

/// Watches one turn.
struct Watch {
    /// The turn has the watch, so the watch must not have the turn.
    turn: WeakTurnContext,
    sink: Arc<dyn AuditSink>,
    args: bool,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// What events said of calls that were not told of yet, by their id.
    calls: IndexMap<Arc<str>, Facts>,
    told: HashSet<Arc<str>>,
}

/// What events say of a call.
#[derive(Default)]
struct Facts {
    checksum: Arc<str>,
    tool: Arc<str>,
    started: Option<Started>,
    ended: Option<(Duration, bool)>,
    code: Option<&'static str>,
    gate: Option<Arc<str>>,
}

struct Started {
    fingerprint: Arc<str>,
    effects: Effects,
    args: Option<Value>,
}

impl Watch {
    fn see(&self, event: &Event) {
        match &event.kind {
            EventKind::GateOpened {
                id,
                name,
                tool_call: Some(call),
                ..
            } if &**name == APPROVAL => self.note(call, |it| it.gate = Some(Arc::clone(id))),
            EventKind::ToolCallRefused {
                id,
                checksum,
                tool,
                code,
                ..
            } => self.note(id, |it| {
                (it.checksum, it.tool) = (Arc::clone(checksum), Arc::clone(tool));
                it.code = Some(code);
            }),
            EventKind::ToolExecutionStart {
                id,
                checksum,
                tool,
                fingerprint,
                effects,
                args,
                ..
            } => self.note(id, |it| {
                (it.checksum, it.tool) = (Arc::clone(checksum), Arc::clone(tool));
                it.started = Some(Started {
                    fingerprint: Arc::clone(fingerprint),
                    effects: *effects,
                    args: self.args.then(|| args.clone()),
                });
            }),
            EventKind::ToolExecutionEnd {
                id,
                duration,
                code,
                abandoned,
                ..
            } => self.note(id, |it| {
                (it.ended, it.code) = (Some((*duration, *abandoned)), *code);
            }),
            EventKind::IterationEnd { .. } => self.tell_settled(),
            EventKind::TurnEnd { .. } => {
                self.tell_settled();
                self.tell_unrecorded();
            }
            _ => {}
        }
    }

    fn note(&self, id: &Arc<str>, what: impl FnOnce(&mut Facts)) {
        let mut seen = self.seen.lock();
        what(seen.calls.entry(Arc::clone(id)).or_default());
    }

    /// Tells of the calls whose records are complete.
    fn tell_settled(&self) {
        let Some(turn) = self.turn.upgrade() else {
            return;
        };
        for call in turn.own_tool_calls() {
            if !call.is_complete() {
                continue;
            }
            let id = Arc::<str>::from(call.id());
            let mut seen = self.seen.lock();
            if !seen.told.insert(Arc::clone(&id)) {
                continue;
            }
            let facts = seen.calls.shift_remove(&id).unwrap_or_default();
            drop(seen);
            self.tell(&turn, self.audited(&turn, id, facts, Some(&call)));
        }
    }

    /// Tells of what began or was refused and is not on record: nobody wanted it to be, or the store failed.
    fn tell_unrecorded(&self) {
        let Some(turn) = self.turn.upgrade() else {
            return;
        };
        let left = std::mem::take(&mut self.seen.lock().calls);
        for (id, facts) in left {
            // Somebody was asked, and the turn ended: the record of that call says so, if there is one.
            if facts.started.is_none() && facts.code.is_none() {
                continue;
            }
            self.tell(&turn, self.audited(&turn, id, facts, None));
        }
    }

    fn audited(
        &self,
        turn: &TurnContext,
        id: Arc<str>,
        facts: Facts,
        record: Option<&ToolCall>,
    ) -> AuditedCall {
        let ran = facts.started.is_some();
        let (fingerprint, effects, args) = match facts.started {
            Some(it) => (Some(it.fingerprint), Some(it.effects), it.args),
            None => (None, None, None),
        };
        let proposed = || record.filter(|_| self.args).map(|it| it.args().to_value());
        let failed = facts.code.is_some() || (ran && facts.ended.is_none());
        AuditedCall {
            conversation: turn.conversation_id().as_str().into(),
            turn_id: Arc::clone(turn.shared_id()),
            id,
            checksum: record
                .map_or_else(|| facts.checksum.to_string(), |it| it.checksum().to_owned()),
            tool: record.map_or(facts.tool, |it| it.tool().into()),
            fingerprint,
            effects,
            args: args.or_else(proposed),
            edited: record.is_some_and(|it| it.edited_args().is_some()),
            ran,
            is_error: record.map_or(failed, ToolCall::is_error),
            code: facts.code,
            duration: facts.ended.map(|(duration, _)| duration),
            abandoned: facts.ended.is_some_and(|(_, abandoned)| abandoned),
            gate: facts.gate,
            recorded: record.is_some(),
            ended_at: record
                .and_then(ToolCall::completed_at)
                .unwrap_or_else(SystemTime::now),
        }
    }

    fn tell(&self, turn: &TurnContext, call: AuditedCall) {
        let id = Arc::clone(&call.id);
        // A sink is foreign code.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.sink.record(call))) {
            let why = text_of(panic);
            turn.warn(format!(
                "the audit lost call {id}: its sink panicked: {why}"
            ));
        }
    }
}

impl fmt::Debug for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Audit")
            .field("args", &self.args)
            .finish_non_exhaustive()
    }
}
