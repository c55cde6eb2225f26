//! No more steps than so many.

use async_trait::async_trait;

use crate::error::BoxError;
use crate::outcome::Limit;
use crate::pipeline::{Middleware, Next};
use crate::record::Message;
use crate::tool::context::DispatchContext;

/// Ends a turn that takes too many iterations: see [`iteration_limit`].
#[derive(Clone, Copy, Debug)]
#[must_use = "middleware does nothing until a runner has it"]
pub struct IterationLimit {
    most: u32,
    announced: bool,
}

/// Lets a dispatch take so many iterations. The one after them is not begun: the turn ends with [`Limit::Iterations`].
/// For the dispatch's input.
///
/// The runner has a limit of its own, which this cannot raise.
///
/// ```
/// use turnwright_core::middleware::iteration_limit;
/// use turnwright_core::{DispatchContext, TurnStatus, Limit, TurnRunner};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let runner = TurnRunner::builder(|_: DispatchContext| async { Ok(()) })
///     .dispatch_input(iteration_limit(3))
///     .build()?;
/// let outcome = runner.run("Go on for ever!").await;
/// assert!(matches!(outcome.ended, TurnStatus::Limit(Limit::Iterations(3))));
/// assert_eq!(outcome.iterations, 3);
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
pub fn iteration_limit(most: u32) -> IterationLimit {
    IterationLimit {
        most,
        announced: false,
    }
}

impl IterationLimit {
    /// Tells the model when its last iteration begins, so that it answers with what it has. A limit of one is not announced.
    pub fn announced(mut self) -> Self {
        self.announced = true;
        self
    }
}

#[async_trait]
impl Middleware<DispatchContext> for IterationLimit {
    async fn handle(
        &self,
        ctx: DispatchContext,
        next: Next<DispatchContext>,
    ) -> Result<(), BoxError> {
        // The runner begins no iteration beyond it.
        ctx.limit_iterations(self.most);
        if ctx.iteration() > self.most {
            ctx.reach(Limit::Iterations(self.most));
            return Ok(());
        }
        if self.announced && self.most > 1 && ctx.iteration() == self.most {
            let text = "This is your last step in this turn: call no more tools, and answer with what you have.";
            ctx.store_message(Message::framework(text).build()?).await?;
        }
        next.run().await
    }

    fn name(&self) -> &'static str {
        "iteration_limit"
    }
}
