//! Checks the configuration of a runner, and builds it.

use std::time::Duration;

use super::TurnRunnerBuilder;
use crate::artifact::{ArtifactKind, Query};
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
        let begins = setup.iteration_limit > 0;
        wrong.check("iteration_limit", begins, "must not be zero");
        let keeps = setup.max_result_bytes > 0;
        wrong.check("max_result_bytes", keeps, "must not be zero");
        let runs = setup.parallel_calls > 0;
        wrong.check("parallel_calls", runs, "must not be zero");
        let few = setup.parallel_calls <= tokio::sync::Semaphore::MAX_PERMITS;
        wrong.check("parallel_calls", few, "is too large");
        let room = plan.stream_capacity > 0;
        wrong.check("stream_capacity", room, "must be at least one event");
        let answers = setup.approval_timeout.is_none_or(|limit| !limit.is_zero());
        wrong.check("approval_timeout", answers, "must not be zero");
        let writes = !setup.store_timeout.is_zero();
        wrong.check("store_timeout", writes, "must not be zero");
        // A shorter lease would expire before a store has written it.
        let holds = (MIN_LEASE..=Lease::MAX_TERM).contains(&setup.lease);
        wrong.check("lease", holds, "must be from 100 milliseconds to 1 hour");
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
        check_kinds(&tools)?;
        self.plan.executor.check_tools(&tools)?;
        self.plan.tools = ToolRegistry::new(tools)?;
        Ok(TurnRunner::new(self.plan))
    }
}

/// Checks that kinds of the same name have the same queries. A stored artifact has only the name of its kind, and would be read
/// with the queries of another one.
fn check_kinds(tools: &[Tool]) -> Result<(), Error> {
    let queries = |kind: ArtifactKind| kind.queries().iter().map(Query::name);
    let mut known = ArtifactKind::BUILT_IN.to_vec();
    for tool in tools {
        let kind = tool.artifact_kind();
        match known.iter().find(|known| **known == kind) {
            None => known.push(kind),
            Some(same) if queries(*same).eq(queries(kind)) => {}
            Some(_) => {
                let message = format!(
                    "the artifact kind `{kind}` of the tool `{}` has the name of another kind, with other queries: a stored \
                     result would be read as one of that kind. Give it another name",
                    tool.name()
                );
                return Err(Error::new(ErrorCode::INVALID_TURN_RUNNER_CONFIG, message));
            }
        }
    }
    Ok(())
}
