//! Middleware: onions around what a turn does.
//!
//! Each layer gets the context and `next`. What it does before `next.run()` happens on the way in, what it does after on
//! the way out; one that ends without either going on or aborting is a mistake, and is told as one. A layer is around the
//! other layers of its pipeline, and not around what comes after that: how long a turn takes is told by `TurnEnd`.
//!
//! ```
//! use turnwright_core::Next;
//! use turnwright_core::{Message, TurnContext};
//!
//! let guard = |ctx: TurnContext, next: Next<TurnContext>| async move {
//!     match ctx.input() {
//!         Some(said) if said.text().contains("password") => {
//!             // It was stored when the turn began.
//!             ctx.records().delete::<Message>(said.id()).await?;
//!             ctx.abort("somebody typed a password");
//!             Ok(())
//!         }
//!         _ => next.run().await,
//!     }
//! };
//! # fn is<M: turnwright_core::Middleware<TurnContext>>(_: M) {}
//! # is(guard);
//! ```

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use futures_util::FutureExt as _;

use crate::error::{BoxError, Error, ErrorCode};
use crate::panic::text_of;

/// A layer of an onion. Async closures over the context and [`Next`] are middleware.
#[async_trait]
pub trait Middleware<C: Send + Sync + 'static>: Send + Sync {
    /// Does its work around `next`.
    ///
    /// # Errors
    /// Whatever went wrong: layers further out see it as the error of their `next`.
    async fn handle(&self, ctx: C, next: Next<C>) -> Result<(), BoxError>;

    /// What it is called where something goes wrong with it.
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

/// The rest of a pipeline. It runs once at most: `run` takes it.
#[must_use = "a pipeline that does not go on skips everything after it: call `run`, or abort the turn"]
pub struct Next<C> {
    pass: Arc<Pass<C>>,
    at: usize,
}

/// One way through a pipeline.
struct Pass<C> {
    layers: Arc<Layers<C>>,
    ctx: C,
    over: fn(&C) -> bool,
    /// The layers that were entered: one more than there are once the end was reached.
    entered: AtomicUsize,
}

impl<C: Send + Sync + 'static> Pass<C> {
    /// The layer that did not go on, if one did not.
    fn left_at(&self) -> Option<&'static str> {
        let entered = self.entered.load(Ordering::Acquire);
        let last = self.layers.get(entered.checked_sub(1)?)?;
        Some(last.name())
    }
}

impl<C: Clone + Send + Sync + 'static> Next<C> {
    /// Runs the layers further in. Once the dispatch was ended or the turn called off, there is nothing more to run.
    ///
    /// # Errors
    /// What one of them failed with. A panic is a failure.
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
            Err(format!("a middleware panicked: {}", text_of(panic)).into())
        })
    }
}

impl<C> fmt::Debug for Next<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Next({} of {})", self.at, self.pass.layers.len())
    }
}

/// Layers, the outermost first.
type Layers<C> = Vec<Arc<dyn Middleware<C>>>;

/// Layers of one name, which all work on one context.
#[derive(Clone)]
pub(crate) struct Pipeline<C> {
    pub(crate) name: &'static str,
    failure: ErrorCode,
    /// Whether nothing more is to be begun with a context.
    pub(crate) over: fn(&C) -> bool,
    layers: Arc<Layers<C>>,
}

/// Why what comes after a pipeline is not done.
pub(crate) enum Broken {
    Failed(Error),
    ShortCircuited(Error),
}

impl<C: Clone + Send + Sync + 'static> Pipeline<C> {
    /// `over` says of a context that nothing more is to be begun with it.
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

    /// Goes through all layers.
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
                        "`{layer}` of {} ended without `next.run()` and without `abort`: call one of them",
                        self.name
                    ),
                ))),
            },
        }
    }
}
