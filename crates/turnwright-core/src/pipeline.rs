//! Middleware around turns and dispatches.
//!
//! Why not tower: a tower service maps a request to a response. Middleware here works on a shared context and returns
//! nothing. It must be able to end a pipeline without calling `next`, and that must be distinguishable from an error.
//! Layers are chosen at run time, so they are boxed trait objects.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use futures_util::FutureExt as _;

use crate::error::{BoxError, Error, ErrorCode};
use crate::text::panic_text;

/// A layer of a pipeline. Implemented for async closures that take the context and [`Next`].
///
/// Code before `next.run()` runs on the way in, code after it on the way out. A layer must either call `next.run()` or abort the
/// turn; anything else is reported as an error. A layer wraps the later layers of its own pipeline only, not the steps after the
/// pipeline. To measure the duration of a turn, observe [`EventKind::TurnEnd`](crate::event::EventKind::TurnEnd).
///
/// ```
/// use turnwright_core::Next;
/// use turnwright_core::{Message, TurnContext};
///
/// let guard = |ctx: TurnContext, next: Next<TurnContext>| async move {
///     match ctx.input() {
///         Some(message) if message.text().contains("password") => {
///             // The message was stored at the start of the turn.
///             ctx.records().delete::<Message>(message.id()).await?;
///             ctx.abort("the input contained a password");
///             Ok(())
///         }
///         _ => next.run().await,
///     }
/// };
/// # fn is<M: turnwright_core::Middleware<TurnContext>>(_: M) {}
/// # is(guard);
/// ```
///
/// A struct implements it if it has settings:
///
/// ```
/// use async_trait::async_trait;
/// use turnwright_core::{BoxError, Middleware, Next, TurnContext};
///
/// /// Aborts turns whose input is too long.
/// struct MaxInput(usize);
///
/// #[async_trait]
/// impl Middleware<TurnContext> for MaxInput {
///     async fn handle(&self, ctx: TurnContext, next: Next<TurnContext>) -> Result<(), BoxError> {
///         if ctx.input().is_some_and(|message| message.text().len() > self.0) {
///             ctx.abort("the input is too long");
///             return Ok(());
///         }
///         next.run().await
///     }
/// }
/// ```
#[async_trait]
pub trait Middleware<C: Send + Sync + 'static>: Send + Sync {
    /// Runs the layer. Calls `next.run()` to continue.
    ///
    /// # Errors
    /// Returns any error. Outer layers receive it as the error of their `next`.
    async fn handle(&self, ctx: C, next: Next<C>) -> Result<(), BoxError>;

    /// Checks the settings of the layer. Called when a runner is built.
    ///
    /// # Errors
    /// Returns what is invalid. The runner is not built.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Returns the name used in error messages.
    fn name(&self) -> &'static str {
        std::any::type_name::<Self>()
    }
}

#[async_trait]
impl<C, F, Fut> Middleware<C> for F
where
    C: Send + Sync + 'static,
    F: Fn(C, Next<C>) -> Fut + Send + Sync,
    Fut: Future<Output = Result<(), BoxError>> + Send,
{
    async fn handle(&self, ctx: C, next: Next<C>) -> Result<(), BoxError> {
        self(ctx, next).await
    }
}

/// The rest of a pipeline. It can run at most once: `run` consumes it.
#[must_use = "a layer that does not continue skips everything after it: call `run`, or abort the turn"]
pub struct Next<C> {
    pass: Arc<Pass<C>>,
    at: usize,
}

/// One pass through a pipeline.
struct Pass<C> {
    layers: Arc<Layers<C>>,
    ctx: C,
    over: fn(&C) -> bool,
    /// Number of layers entered. One more than there are layers once the end was reached.
    entered: AtomicUsize,
}

impl<C: Send + Sync + 'static> Pass<C> {
    /// Returns the layer that did not continue, if any.
    fn left_at(&self) -> Option<&'static str> {
        let entered = self.entered.load(Ordering::Acquire);
        let last = self.layers.get(entered.checked_sub(1)?)?;
        Some(last.name())
    }
}

impl<C: Clone + Send + Sync + 'static> Next<C> {
    /// Runs the inner layers. Does nothing if the dispatch has ended or the turn was cancelled.
    ///
    /// # Errors
    /// Returns the error of an inner layer. A panic is an error.
    pub async fn run(self) -> Result<(), BoxError> {
        let Next { pass, at } = self;
        if (pass.over)(&pass.ctx) {
            return Ok(());
        }
        pass.entered.store(at + 1, Ordering::Release);
        let Some(layer) = pass.layers.get(at).cloned() else {
            return Ok(());
        };
        let ctx = pass.ctx.clone();
        let next = Next { pass, at: at + 1 };
        let handled = AssertUnwindSafe(layer.handle(ctx, next)).catch_unwind();
        handled.await.unwrap_or_else(|panic| {
            Err(format!("a middleware panicked: {}", panic_text(panic)).into())
        })
    }
}

impl<C> fmt::Debug for Next<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Next({} of {})", self.at, self.pass.layers.len())
    }
}

/// Layers, outermost first.
type Layers<C> = Vec<Arc<dyn Middleware<C>>>;

/// The layers of one pipeline.
#[derive(Clone)]
pub(crate) struct Pipeline<C> {
    pub(crate) name: &'static str,
    failure: ErrorCode,
    /// Returns whether nothing more may be started with a context.
    pub(crate) over: fn(&C) -> bool,
    layers: Arc<Layers<C>>,
}

/// Why the steps after a pipeline are skipped.
pub(crate) enum Broken {
    Failed(Error),
    ShortCircuited(Error),
}

impl<C: Clone + Send + Sync + 'static> Pipeline<C> {
    /// Creates a pipeline. `over` returns whether nothing more may be started with a context.
    pub(crate) fn new(name: &'static str, failure: ErrorCode, over: fn(&C) -> bool) -> Self {
        Pipeline {
            name,
            failure,
            over,
            layers: Arc::default(),
        }
    }

    pub(crate) fn layers(&mut self) -> &mut Layers<C> {
        Arc::make_mut(&mut self.layers)
    }

    /// Checks the settings of all layers.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.layers.iter().try_for_each(|layer| layer.check())
    }

    /// Runs all layers.
    pub(crate) async fn run(&self, ctx: C) -> Result<(), Broken> {
        if self.layers.is_empty() {
            return Ok(());
        }
        let pass = Arc::new(Pass {
            layers: Arc::clone(&self.layers),
            ctx,
            over: self.over,
            entered: AtomicUsize::new(0),
        });
        let next = Next {
            pass: Arc::clone(&pass),
            at: 0,
        };
        match next.run().await {
            Err(source) => {
                let message = format!("the {} pipeline failed: {source}", self.name);
                Err(Broken::Failed(
                    Error::new(self.failure, message).with_source(source),
                ))
            }
            Ok(()) => match pass.left_at() {
                None => Ok(()),
                Some(layer) => Err(Broken::ShortCircuited(Error::new(
                    ErrorCode::PIPELINE_SHORT_CIRCUITED,
                    format!(
                        "middleware `{layer}` of {} returned without calling `next.run()` or `abort`: call one of them",
                        self.name
                    ),
                ))),
            },
        }
    }
}
