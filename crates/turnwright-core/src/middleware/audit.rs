//! Reports every call once.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use indexmap::IndexMap;
use parking_lot::Mutex;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::effects::Effects;
use crate::error::BoxError;
use crate::event::{Event, EventKind};
use crate::gate::GateKind;
use crate::pipeline::{Middleware, Next};
use crate::text::panic_text;
use crate::tool::context::{TurnContext, WeakTurnContext};
use crate::usage::as_millis;

/// Receives audited calls. Implemented for closures that take an [`AuditedCall`].
///
/// The turn waits for the sink, so send slow work to a channel. A panic in the sink is reported as a warning and has no other
/// effect.
///
/// ```
/// use std::sync::mpsc::Sender;
/// use turnwright_core::middleware::{AuditSink, AuditedCall};
///
/// /// Sends one line per call to a thread that writes the audit log.
/// struct AuditLog(Sender<String>);
///
/// impl AuditSink for AuditLog {
///     fn record(&self, call: AuditedCall) {
///         let result = call.code.unwrap_or("ok");
///         let _ = self.0.send(format!("{} {} {result}", call.turn_id, call.tool));
///     }
/// }
/// ```
pub trait AuditSink: Send + Sync {
    /// Receives a call.
    fn record(&self, call: AuditedCall);
}

impl<F: Fn(AuditedCall) + Send + Sync> AuditSink for F {
    fn record(&self, call: AuditedCall) {
        self(call);
    }
}

/// Middleware that reports every call once. See [`audit`].
///
/// ```
/// use turnwright_core::middleware::{AuditedCall, audit};
///
/// let with_args = audit(|call: AuditedCall| println!("{} {:?}", call.tool, call.args)).with_args();
/// ```
#[must_use = "middleware does nothing until a runner has it"]
pub struct Audit {
    sink: Arc<dyn AuditSink>,
    args: bool,
}

/// Reports every call of a turn to `sink` exactly once, when it has ended: calls that ran, failed, were interrupted or refused.
/// Calls that could not be recorded are reported too. The sink has received every call before the outcome is available, however
/// the turn ends.
///
/// Add it to the turn input. Arguments are omitted unless [`Audit::with_args`] is set. Results are never included.
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
/// // The receiver writes them to the audit log.
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
    /// Includes the arguments. They may contain anything from the prompt.
    pub fn with_args(mut self) -> Self {
        self.args = true;
        self
    }
}

#[async_trait]
impl Middleware<TurnContext> for Audit {
    async fn handle(&self, ctx: TurnContext, next: Next<TurnContext>) -> Result<(), BoxError> {
        if !ctx.records().own_tool_calls().is_empty() {
            return Err(
                "`audit` was added too late, after calls were made: add it to the turn input"
                    .into(),
            );
        }
        let watch = Watch {
            turn: ctx.downgrade(),
            conversation: ctx.conversation_id().as_str().into(),
            turn_id: Arc::clone(ctx.shared_id()),
            sink: Arc::clone(&self.sink),
            args: self.args,
            seen: Mutex::default(),
        };
        // Observes for the lifetime of the turn. The end of the turn is reported after all open calls have been closed.
        ctx.events().observe(move |event| watch.see(event));
        next.run().await
    }

    fn name(&self) -> &'static str {
        "audit"
    }
}

/// Observes one turn.
struct Watch {
    /// Weak, because the turn holds the observer.
    turn: WeakTurnContext,
    conversation: Arc<str>,
    turn_id: Arc<str>,
    sink: Arc<dyn AuditSink>,
    args: bool,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// What events reported about calls that have not been passed to the sink yet, by id.
    calls: IndexMap<Arc<str>, AuditedCall>,
    reported: HashSet<Arc<str>>,
}

impl Watch {
    fn see(&self, event: &Event) {
        match &event.kind {
            EventKind::GateOpened(gate) if gate.kind == GateKind::Approval => {
                if let Some(call) = &gate.tool_call {
                    self.update(call, |call| call.gate = Some(Arc::clone(&gate.id)));
                }
            }
            EventKind::ToolCallRefused {
                id,
                checksum,
                tool,
                code,
                ..
            } => self.update(id, |call| {
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
            } => self.update(id, |call| {
                (call.checksum, call.tool) = (checksum.to_string(), Arc::clone(tool));
                call.fingerprint = Some(Arc::clone(fingerprint));
                call.effects = Some(*effects);
                call.args = self.args.then(|| (**args).clone());
                call.ran = true;
            }),
            EventKind::ToolExecutionEnd {
                id,
                duration,
                code,
                abandoned,
                ..
            } => self.update(id, |call| {
                (call.duration, call.abandoned) = (Some(*duration), *abandoned);
                call.code = *code;
            }),
            EventKind::IterationEnd { .. } | EventKind::TurnEnd { .. } => {
                if let Some(turn) = self.turn.upgrade() {
                    self.report_settled(&turn);
                    if matches!(event.kind, EventKind::TurnEnd { .. }) {
                        self.report_unrecorded(&turn);
                    }
                }
            }
            _ => {}
        }
    }

    fn update(&self, id: &Arc<str>, what: impl FnOnce(&mut AuditedCall)) {
        let mut seen = self.seen.lock();
        let call = seen.calls.entry(Arc::clone(id));
        what(call.or_insert_with(|| self.unknown(id)));
    }

    /// Creates an entry for a call of which only the id is known.
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
    fn report_settled(&self, turn: &TurnContext) {
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
            self.report(turn, call);
        }
    }

    /// Reports calls that started or were refused but have no record, because recording is disabled or the store failed.
    fn report_unrecorded(&self, turn: &TurnContext) {
        let left = std::mem::take(&mut self.seen.lock().calls);
        for mut call in left.into_values() {
            // If an approver was asked and the turn ended, the record of that call reports it, if there is one.
            if call.ran || call.code.is_some() {
                call.is_error = call.code.is_some() || (call.ran && call.duration.is_none());
                call.ended_at = SystemTime::now();
                self.report(turn, call);
            }
        }
    }

    fn report(&self, turn: &TurnContext, call: AuditedCall) {
        let id = Arc::clone(&call.id);
        // The sink is user code and may panic.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.sink.record(call))) {
            let why = panic_text(panic);
            turn.warn(format!(
                "the audit did not record call {id}: its sink panicked: {why}"
            ));
        }
    }
}

debug_fields!(Audit { args });

/// A completed call, as reported by [`audit`]. Serialises as a flat object.
#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AuditedCall {
    /// The conversation id.
    pub conversation: Arc<str>,
    /// The turn id.
    pub turn_id: Arc<str>,
    /// The call id.
    pub id: Arc<str>,
    /// The checksum of the call. Equal calls have equal checksums.
    pub checksum: String,
    /// The tool name as proposed by the model.
    pub tool: Arc<str>,
    /// The fingerprint of the tool that ran.
    pub fingerprint: Option<Arc<str>>,
    /// The declared effects of the tool that ran.
    pub effects: Option<Effects>,
    /// The arguments that the call ran with, or the proposed arguments if nothing ran. `None` unless enabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Value>,
    /// Whether a policy or an approver changed the arguments.
    pub edited: bool,
    /// Whether the handler was started.
    pub ran: bool,
    /// Whether the call was refused or failed.
    pub is_error: bool,
    /// The error code, if the call was refused or failed.
    pub code: Option<&'static str>,
    /// How long the handler ran.
    #[serde(rename = "durationMs", serialize_with = "as_millis")]
    pub duration: Option<Duration>,
    /// Whether the thread of the handler was detached and may still be running.
    pub abandoned: bool,
    /// The gate at which approval was requested. If the call ran, it was approved there.
    pub gate: Option<Arc<str>>,
    /// Whether the result was recorded.
    pub recorded: bool,
    /// When the call was settled, or when the turn ended if it could not be settled.
    #[serde(rename = "endedAtMs", serialize_with = "since_epoch")]
    pub ended_at: SystemTime,
}

fn since_epoch<S: Serializer>(at: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    serializer.serialize_u64(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

// Omits the arguments, which may contain secrets.
debug_fields!(AuditedCall {
    id,
    tool,
    ran,
    is_error
});
