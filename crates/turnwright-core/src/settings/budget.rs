//! The budget of a turn.

use std::time::Duration;

use crate::validate::Violations;

/// Limits on what a turn may use: tokens, tool calls, time.
///
/// A turn that has used up its budget ends with [`TurnStatus::Limit`](crate::TurnStatus::Limit). It starts no further model
/// request and no further tool call:
///
/// - Tokens: the response that reaches the limit is stored. If it is an answer, the turn is answered. Its tool calls are recorded
///   as not run.
/// - Tool calls: calls within the limit run to completion, in the order in which they were proposed. The others are recorded as
///   not run. A turn that used its last call may still answer.
/// - Time: the turn is cancelled, as by [`Turn::cancel`](crate::runner::Turn::cancel).
///
/// Turns that run under a call ([`TurnInput::under_call`](crate::TurnInput::under_call)) also use the budgets of all turns above them, at
/// any depth. They stop when one of these is used up.
///
/// A resumed turn continues with the rest of its budget. The time between two runs does not count. To extend it, set a larger
/// budget on the input: `runner.resume(TurnInput::resume(id).budget(…))`.
///
/// ```
/// use std::time::Duration;
/// use turnwright_core::{Budget, DispatchContext, TurnStatus, Usage};
/// use turnwright_core::runner::Limit;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
///     ctx.reporter().usage(Usage::tokens(900, 100));
///     Ok(())
/// })
/// .budget(Budget::new().tokens(2_500).tool_calls(20).time(Duration::from_secs(60)))
/// .build()?;
/// let outcome = runner.run("Think!").await;
/// assert!(matches!(outcome.status, TurnStatus::Limit(Limit::Tokens(2_500))));
/// assert_eq!(outcome.usage.total_tokens(), 3_000);
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use = "a budget does nothing until a runner or a turn has it"]
#[non_exhaustive]
pub struct Budget {
    /// Maximum number of tokens, input and output together.
    pub tokens: Option<u64>,
    /// Maximum number of tool calls that run.
    pub tool_calls: Option<u64>,
    /// Maximum duration, including time at gates.
    pub time: Option<Duration>,
}

impl Budget {
    /// Creates a budget without limits.
    pub const fn new() -> Self {
        Budget {
            tokens: None,
            tool_calls: None,
            time: None,
        }
    }

    /// Sets the maximum number of tokens, input and output together. Cached input counts in full.
    #[doc(alias("max_tokens", "usage_limits"))]
    pub const fn tokens(mut self, tokens: u64) -> Self {
        self.tokens = Some(tokens);
        self
    }

    /// Sets the maximum number of tool calls that run. Calls that are refused or denied do not count. With 0, no tool runs.
    #[doc(alias = "max_tool_calls")]
    pub const fn tool_calls(mut self, calls: u64) -> Self {
        self.tool_calls = Some(calls);
        self
    }

    /// Sets the maximum duration. Time spent waiting at gates counts.
    #[doc(alias("max_time", "timeout", "deadline"))]
    pub const fn time(mut self, time: Duration) -> Self {
        self.time = Some(time);
        self
    }

    /// Takes the limits that are not set from `lower`.
    pub fn over(self, lower: &Budget) -> Self {
        Budget {
            tokens: self.tokens.or(lower.tokens),
            tool_calls: self.tool_calls.or(lower.tool_calls),
            time: self.time.or(lower.time),
        }
    }

    pub(crate) fn is_unlimited(&self) -> bool {
        *self == Budget::new()
    }

    pub(crate) fn check(&self, wrong: &mut Violations) {
        let why = "must not be zero: no turn could start";
        wrong.check("budget.tokens", self.tokens != Some(0), why);
        wrong.check("budget.time", self.time != Some(Duration::ZERO), why);
    }
}
