//! No more tokens than so many.

use async_trait::async_trait;

use crate::error::BoxError;
use crate::outcome::Limit;
use crate::pipeline::{Middleware, Next};
use crate::tool::context::TurnContext;
use crate::usage::Usage;

/// Ends a turn that used too many tokens: see [`token_budget`].
#[derive(Clone, Copy, Debug)]
#[must_use = "middleware does nothing until a runner has it"]
pub struct TokenBudget {
    tokens: u64,
    count: fn(&Usage) -> u64,
}

/// Lets a turn use so many tokens, read and written ones together unless told. Once it has, no further request is made: the
/// turn ends with [`Limit::Tokens`]. The request that goes past the budget is brought to its end, and its answer counts.
///
/// For the dispatch's input. In the turn's input it sees only what other middleware used.
///
/// ```
/// use turnwright_core::middleware::token_budget;
/// use turnwright_core::{DispatchContext, TurnStatus, Limit, TurnRunner, Usage};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let runner = TurnRunner::builder(|ctx: DispatchContext| async move {
///     ctx.reporter().usage(Usage::tokens(900, 100));
///     Ok(())
/// })
/// .dispatch_input(token_budget(2_500))
/// .build()?;
/// let outcome = runner.run("Think!").await;
/// assert!(matches!(outcome.ended, TurnStatus::Limit(Limit::Tokens(2_500))));
/// assert_eq!(outcome.usage.total_tokens(), 3_000);
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
pub fn token_budget(tokens: u64) -> TokenBudget {
    TokenBudget {
        tokens,
        count: Usage::total_tokens,
    }
}

impl TokenBudget {
    /// Counts what the model read alone.
    pub fn input_only(self) -> Self {
        self.counting(|usage| usage.input_tokens)
    }

    /// Counts what the model wrote alone.
    pub fn output_only(self) -> Self {
        self.counting(|usage| usage.output_tokens)
    }

    /// Counts as you say: cached tokens less, for example.
    pub fn counting(mut self, count: fn(&Usage) -> u64) -> Self {
        self.count = count;
        self
    }
}

#[async_trait]
impl<C> Middleware<C> for TokenBudget
where
    C: AsRef<TurnContext> + Clone + Send + Sync + 'static,
{
    async fn handle(&self, ctx: C, next: Next<C>) -> Result<(), BoxError> {
        let turn = ctx.as_ref();
        if (self.count)(&turn.usage()) >= self.tokens {
            turn.reach(Limit::Tokens(self.tokens));
            return Ok(());
        }
        next.run().await
    }

    fn name(&self) -> &'static str {
        "token_budget"
    }
}
