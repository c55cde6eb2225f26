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
        // A shorter lease would expire before a store has written it.
        let lease = (MIN_LEASE..=Lease::MAX_TERM).contains(&setup.lease);
        let zero = "must not be zero";
        wrong.check("iteration_limit", setup.iteration_limit > 0, zero);
        wrong.check("max_result_bytes", setup.max_result_bytes > 0, zero);
        wrong.check("parallel_calls", setup.parallel_calls > 0, zero);
        let fits = setup.parallel_calls <= tokio::sync::Semaphore::MAX_PERMITS;
        wrong.check("parallel_calls", fits, "is too large");
        let holds_one = plan.stream_capacity > 0;
        wrong.check("stream_capacity", holds_one, "must be at least one event");
        let waits = setup.approval_timeout != Some(Duration::ZERO);
        wrong.check("approval_timeout", waits, zero);
        wrong.check("store_timeout", !setup.store_timeout.is_zero(), zero);
        wrong.check("lease", lease, "must be from 100 milliseconds to 1 hour");
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
