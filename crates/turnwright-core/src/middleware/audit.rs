//! Every call, told once.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use indexmap::IndexMap;
use parking_lot::Mutex;

use super::audited_call::AuditedCall;
use crate::error::BoxError;
use crate::event::{Event, EventKind};
use crate::gate::GateKind;
use crate::panic::text_of;
use crate::pipeline::{Middleware, Next};
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
/// use turnwright_core::{DispatchContext, Tool, ToolContext};
/// use serde_json::{Value, json};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let pay = Tool::dynamic("pay", json!({ "type": "object" }))
///     .description("Pays the bill.")
///     .handler(|_: Value, _: ToolContext| async { "paid" })
///     .build()?;
/// // Whoever writes them down reads the other end.
/// let (sender, calls) = std::sync::mpsc::channel();
/// let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
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
        if !ctx.records().own_tool_calls().is_empty() {
            return Err("an audit that begins after calls were made would be false: it belongs to the turn's input".into());
        }
        let watch = Watch {
            turn: ctx.downgrade(),
            conversation: ctx.conversation_id().as_str().into(),
            turn_id: Arc::clone(ctx.shared_id()),
            sink: Arc::clone(&self.sink),
            args: self.args,
            seen: Mutex::default(),
        };
        // For as long as the turn lives: its end is told after everything that was begun is closed.
        ctx.events().observe(move |event| watch.see(event));
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
    conversation: Arc<str>,
    turn_id: Arc<str>,
    sink: Arc<dyn AuditSink>,
    args: bool,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// What events said of calls that were not reported yet, by their id.
    calls: IndexMap<Arc<str>, AuditedCall>,
    reported: HashSet<Arc<str>>,
}

impl Watch {
    fn see(&self, event: &Event) {
        match &event.kind {
            EventKind::GateOpened {
                id,
                kind: GateKind::Approval,
                tool_call: Some(call),
                ..
            } => self.note(call, |call| call.gate = Some(Arc::clone(id))),
            EventKind::ToolCallRefused {
                id,
                checksum,
                tool,
                code,
                ..
            } => self.note(id, |call| {
                (call.checksum, call.tool) = (checksum.to_string(), Arc::clone(tool));
                call.code = Some(code);
            }),
            EventKind::ToolExecutionStart {
                id,
                checksum,
                tool,
                fingerprint,
                effects,
                args,
                ..
            } => self.note(id, |call| {
                (call.checksum, call.tool) = (checksum.to_string(), Arc::clone(tool));
                call.fingerprint = Some(Arc::clone(fingerprint));
                call.effects = Some(*effects);
                call.args = self.args.then(|| args.clone());
                call.ran = true;
            }),
            EventKind::ToolExecutionEnd {
                id,
                duration,
                code,
                abandoned,
                ..
            } => self.note(id, |call| {
                (call.duration, call.abandoned) = (Some(*duration), *abandoned);
                call.code = *code;
            }),
            EventKind::IterationEnd { .. } | EventKind::TurnEnd { .. } => {
                if let Some(turn) = self.turn.upgrade() {
                    self.tell_settled(&turn);
                    if matches!(event.kind, EventKind::TurnEnd { .. }) {
                        self.tell_unrecorded(&turn);
                    }
                }
            }
            _ => {}
        }
    }

    fn note(&self, id: &Arc<str>, what: impl FnOnce(&mut AuditedCall)) {
        let mut seen = self.seen.lock();
        let call = seen.calls.entry(Arc::clone(id));
        what(call.or_insert_with(|| self.unknown(id)));
    }

    /// A call of which nothing but its id is known.
    fn unknown(&self, id: &Arc<str>) -> AuditedCall {
        AuditedCall {
            conversation: Arc::clone(&self.conversation),
            turn_id: Arc::clone(&self.turn_id),
            id: Arc::clone(id),
            checksum: String::new(),
            tool: "".into(),
            fingerprint: None,
            effects: None,
            args: None,
            edited: false,
            ran: false,
            is_error: false,
            code: None,
            duration: None,
            abandoned: false,
            gate: None,
            recorded: false,
            ended_at: SystemTime::now(),
        }
    }

    /// Reports the calls whose records are complete.
    fn tell_settled(&self, turn: &TurnContext) {
        for record in turn.records().own_tool_calls() {
            let id = Arc::<str>::from(record.id());
            let mut seen = self.seen.lock();
            if !record.is_complete() || !seen.reported.insert(Arc::clone(&id)) {
                continue;
            }
            let call = seen.calls.shift_remove(&id);
            drop(seen);
            let mut call = call.unwrap_or_else(|| self.unknown(&id));
            call.checksum = record.checksum().to_owned();
            call.tool = record.tool().into();
            if self.args && call.args.is_none() {
                call.args = Some(record.args().to_value());
            }
            call.edited = record.edited_args().is_some();
            call.is_error = record.is_error();
            call.recorded = true;
            call.ended_at = record.completed_at().unwrap_or_else(SystemTime::now);
            self.tell(turn, call);
        }
    }

    /// Reports what began or was refused and is not on record: records are off for it, or the store failed.
    fn tell_unrecorded(&self, turn: &TurnContext) {
        let left = std::mem::take(&mut self.seen.lock().calls);
        for mut call in left.into_values() {
            // If an approver was asked and the turn ended, the record of that call says so, if there is one.
            if call.ran || call.code.is_some() {
                call.is_error = call.code.is_some() || (call.ran && call.duration.is_none());
                call.ended_at = SystemTime::now();
                self.tell(turn, call);
            }
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

debug_fields!(Audit { args });
