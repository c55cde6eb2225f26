//! The context of a dispatch.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;
use serde_json::Value;

use super::signal::Signals;
use super::turn::TurnContext;
use super::turn_records::TurnRecords;
use crate::cancel::Cancellation;
use crate::error::Error;
use crate::event::{Level, LogEntry};
use crate::gate::TurnGate;
use crate::record::Message;
use crate::render::Taint;
use crate::settings::ModelSettings;
use crate::stash::Stash;
use crate::store::ConversationId;
use crate::tool::registry::ToolRegistry;
use crate::usage::Usage;

/// The context of one dispatch, passed to executors and middleware: the signal that ends it, the calls that it proposes, and the
/// most common operations of its turn. A handle: clones share the state.
///
/// [`turn`](Self::turn) returns the [`TurnContext`] with everything else. Call a function that takes `&TurnContext` with
/// `ctx.turn()`.
///
/// It can be used without a model to try and test tools:
///
/// ```
/// use turnwright_core::{DispatchContext, Tool, ToolCall, ToolContext, ToolRegistry};
/// use serde_json::{Value, json};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let add = Tool::dynamic("add", json!({
///         "type": "object",
///         "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } },
///         "required": ["a", "b"],
///     }))
///     .description("Adds two numbers.")
///     .handler(|args: Value, _ctx: ToolContext| async move {
///         format!("{}", args["a"].as_i64().unwrap_or(0) + args["b"].as_i64().unwrap_or(0))
///     })
///     .build()?;
/// let ctx = DispatchContext::builder().tools(ToolRegistry::new([add])?).build();
///
/// // The complete path of a model's call:
/// let record = ctx.call("add", r#"{"a": "2", "b": 3}"#).await;
/// assert_eq!(record.text().await.as_deref(), Some("5"));
/// assert_eq!(ctx.records().all::<ToolCall>().len(), 1);
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct DispatchContext(Arc<Inner>);

struct Inner {
    turn: TurnContext,
    signals: Arc<Signals>,
    iteration: AtomicU32,
    /// Settings that middleware has set for this iteration.
    settings: Mutex<ModelSettings>,
}

impl DispatchContext {
    /// Creates a dispatch of a turn.
    pub(crate) fn of_turn(turn: TurnContext) -> Self {
        DispatchContext(Arc::new(Inner {
            turn,
            signals: Arc::default(),
            iteration: AtomicU32::new(0),
            settings: Mutex::default(),
        }))
    }

    /// Returns the turn that the dispatch belongs to.
    #[must_use]
    pub fn turn(&self) -> &TurnContext {
        &self.0.turn
    }

    /// Returns the iteration, starting at 1. A resumed turn starts at 1 again. 0 without a runner.
    #[must_use]
    pub fn iteration(&self) -> u32 {
        self.0.iteration.load(Ordering::Acquire)
    }

    pub(crate) fn signals(&self) -> &Arc<Signals> {
        &self.0.signals
    }

    /// Returns whether nothing more may be started in this iteration: the dispatch or the turn has ended, or the answer was
    /// decided on.
    pub(crate) fn is_over(&self) -> bool {
        self.signal().is_some() || self.is_decided() || self.cancellation().is_cancelled()
    }

    pub(crate) fn begin_iteration(&self) -> u32 {
        *self.0.settings.lock() = ModelSettings::new();
        self.0.iteration.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Returns the settings that middleware has set for this iteration.
    pub(crate) fn settings_override(&self) -> ModelSettings {
        self.0.settings.lock().clone()
    }

    pub(crate) fn set_settings_override(&self, settings: ModelSettings) {
        let mut own = self.0.settings.lock();
        *own = settings.over(&own);
    }
}

/// The most common operations of the turn. Use [`DispatchContext::turn`] for the others.
impl DispatchContext {
    /// Returns the conversation that the turn belongs to.
    #[must_use]
    pub fn conversation_id(&self) -> &ConversationId {
        self.0.turn.conversation_id()
    }

    /// Returns the turn's tools. Changes to them are not seen by other turns.
    #[must_use]
    pub fn tools(&self) -> &ToolRegistry {
        self.0.turn.tools()
    }

    /// Returns a handle to the records of the turn.
    pub fn records(&self) -> TurnRecords<'_> {
        self.0.turn.records()
    }

    /// Returns the input message of the turn, if there is one.
    #[must_use]
    pub fn input(&self) -> Option<Arc<Message>> {
        self.0.turn.input()
    }

    /// Returns the runner's state of this type: see [`TurnContext::state`].
    ///
    /// # Errors
    /// Returns `E_MISSING_STATE` if the runner has none.
    pub fn state<T: Send + Sync + 'static>(&self) -> Result<Arc<T>, Error> {
        self.0.turn.state()
    }

    /// Returns the turn's stash.
    #[must_use]
    pub fn stash(&self) -> &Stash {
        self.0.turn.stash()
    }

    /// Returns the cancellation token of the dispatch, which is that of the turn.
    #[must_use]
    pub fn cancellation(&self) -> &Cancellation {
        self.0.turn.cancellation()
    }

    /// Opens a gate and waits until it is settled from outside the turn.
    ///
    /// # Errors
    /// See [`TurnContext::wait_for`].
    pub async fn wait_for(&self, gate: TurnGate) -> Result<Value, Error> {
        self.0.turn.wait_for(gate).await
    }

    /// Returns the taint of the prompt: see [`TurnContext::taint`].
    #[must_use]
    pub fn taint(&self) -> Taint {
        self.0.turn.taint()
    }

    /// Returns the token usage of the turn so far: see [`TurnContext::usage`].
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.0.turn.usage()
    }

    /// Logs a message for operators: a text, or a [`LogEntry`] with a kind and data.
    pub fn log(&self, level: Level, entry: impl Into<LogEntry>) {
        self.0.turn.log(level, entry);
    }
}

impl AsRef<TurnContext> for DispatchContext {
    fn as_ref(&self) -> &TurnContext {
        &self.0.turn
    }
}

impl AsRef<TurnContext> for TurnContext {
    fn as_ref(&self) -> &TurnContext {
        self
    }
}

debug_fields!(DispatchContext { turn(), tools() });
