//! Checks the configuration of a runner, and builds it.

use std::time::Duration;

use super::TurnRunnerBuilder;
use crate::error::{Error, ErrorCode};
use crate::record::Lease;
use crate::runner::turn_runner::TurnRunner;
use crate::tool::Tool;
use crate::tool::registry::ToolRegistry;
use crate::validate::Violations;

/// Minimum lease duration.
const MIN_LEASE: Duration = Duration::from_millis(100);

impl TurnRunnerBuilder {
    /// Builds the runner.
    ///
    /// # Errors
    /// - `E_INVALID_TURN_RUNNER_CONFIG`, which lists all invalid fields, or names two artifact kinds that have the same name and
    ///   different queries.
    /// - The error of [`Middleware::check`](crate::Middleware::check) of a layer.
    /// - The error of a tool with an invalid definition.
    /// - `E_TOOL_ALREADY_REGISTERED` if two tools have the same name.
    /// - `E_MISSING_STATE` if a tool needs [`state`](Self::state) that is missing.
    /// - The error of [`Executor::check_tools`](crate::Executor::check_tools) if the executor cannot use one of the tools.
    pub fn build(mut self) -> Result<TurnRunner, Error> {
        let (plan, setup) = (&self.plan, &self.plan.setup);
        let mut wrong = Violations::default();
        let most_calls = tokio::sync::Semaphore::MAX_PERMITS;
        // A shorter lease would expire before a store has written it.
        let lease = (MIN_LEASE..=Lease::MAX_TERM).contains(&setup.lease);
        for (field, holds, why) in [
            (
                "iteration_limit",
                setup.iteration_limit > 0,
                "must not be zero",
            ),
            (
                "max_result_bytes",
                setup.max_result_bytes > 0,
                "must not be zero",
            ),
            (
                "parallel_calls",
                setup.parallel_calls > 0,
                "must not be zero",
            ),
            (
                "parallel_calls",
                setup.parallel_calls <= most_calls,
                "is too large",
            ),
            (
                "stream_capacity",
                plan.stream_capacity > 0,
                "must be at least one event",
            ),
            (
                "approval_timeout",
                setup.approval_timeout != Some(Duration::ZERO),
                "must not be zero",
            ),
            (
                "store_timeout",
                !setup.store_timeout.is_zero(),
                "must not be zero",
            ),
            ("lease", lease, "must be from 100 milliseconds to 1 hour"),
        ] {
            wrong.check(field, holds, why);
        }
        setup.settings.check(&mut wrong);
        wrong.finish(ErrorCode::INVALID_TURN_RUNNER_CONFIG, "runner")?;
        plan.turn_input.check()?;
        plan.dispatch_input.check()?;
        plan.dispatch_output.check()?;
        plan.turn_output.check()?;
        setup.storage.secret().map_err(|error| {
            let message = "the operating system provides no randomness: set `.storage(…)` with a secret that you stored";
            Error::new(ErrorCode::INVALID_TURN_RUNNER_CONFIG, message).with_source(error)
        })?;
        let tools = self
            .tools
            .into_iter()
            .collect::<Result<Vec<Tool>, Error>>()?;
        self.plan.setup.check_state(&tools)?;
        self.plan.executor.check_tools(&tools)?;
        self.plan.tools = ToolRegistry::new(tools)?;
        let wrong = |message| Error::new(ErrorCode::INVALID_TURN_RUNNER_CONFIG, message);
        self.plan.tools.check_kinds().map_err(wrong)?;
        Ok(TurnRunner::new(self.plan))
    }
}
