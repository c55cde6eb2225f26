//! The handle that executors, middleware and tools work with.

use std::ops::Deref;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use super::signal::Signals;
use super::turn::TurnContext;

/// One dispatch: all of its [`TurnContext`], the signal that ends it, and the calls that it proposes. A handle: clones
/// share it.
///
/// Usable by itself, to try and to test tools without a model:
///
/// ```
/// use turnwright_core::{DispatchContext, Tool, ToolContext, ToolRegistry};
/// use serde_json::{Value, json};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
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
/// // All of the way that a model's call goes:
/// let record = ctx.call("add", r#"{"a": "2", "b": 3}"#).await;
/// assert_eq!(record.text().await.as_deref(), Some("5"));
/// assert_eq!(ctx.tool_calls().len(), 1);
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct DispatchContext(Arc<Inner>);

struct Inner {
    turn: TurnContext,
    signals: Arc<Signals>,
    iteration: AtomicU32,
    /// The most iterations that middleware allows.
    most_iterations: AtomicU32,
}

impl DispatchContext {
    /// A dispatch of a turn.
    pub(crate) fn of_turn(turn: TurnContext) -> Self {
        DispatchContext(Arc::new(Inner {
            turn,
            signals: Arc::default(),
            iteration: AtomicU32::new(0),
            most_iterations: AtomicU32::new(u32::MAX),
        }))
    }

    /// The turn that it belongs to.
    #[must_use]
    pub fn turn(&self) -> &TurnContext {
        &self.0.turn
    }

    /// Which iteration it is in, counted from 1: anew for each dispatch of a turn, of which a typed answer may take several.
    /// 0 outside of a runner.
    #[must_use]
    pub fn iteration(&self) -> u32 {
        self.0.iteration.load(Ordering::Acquire)
    }

    /// A handle that does not keep the dispatch alive.
    #[must_use]
    pub fn downgrade(&self) -> WeakDispatchContext {
        WeakDispatchContext(Arc::downgrade(&self.0))
    }

    pub(crate) fn signals(&self) -> &Arc<Signals> {
        &self.0.signals
    }

    /// Whether nothing more is to be begun in it: it was ended, or the turn was.
    pub(crate) fn is_over(&self) -> bool {
        self.signal().is_some() || self.cancellation().is_cancelled()
    }

    pub(crate) fn begin_iteration(&self) -> u32 {
        self.0.iteration.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Lets the dispatch take so many iterations at most. The lowest limit counts.
    pub(crate) fn limit_iterations(&self, most: u32) {
        self.0.most_iterations.fetch_min(most, Ordering::AcqRel);
    }

    /// The most iterations that the runner and middleware allow.
    pub(crate) fn most_iterations(&self) -> u32 {
        let most = self.0.most_iterations.load(Ordering::Acquire);
        most.min(self.setup().iteration_limit)
    }
}

impl Deref for DispatchContext {
    type Target = TurnContext;

    fn deref(&self) -> &TurnContext {
        &self.0.turn
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

/// A [`DispatchContext`] that does not keep the dispatch alive.
#[derive(Clone, Debug)]
pub struct WeakDispatchContext(Weak<Inner>);

impl WeakDispatchContext {
    /// The dispatch, if something else keeps it alive.
    #[must_use]
    pub fn upgrade(&self) -> Option<DispatchContext> {
        self.0.upgrade().map(DispatchContext)
    }
}

debug_fields!(DispatchContext { turn_id(), tools() });
