//! Extensions of a program that embeds `turnwright`: tools, state, policies, a model.

use turnwright::Error;
use turnwright::approval::ApprovalPolicy;
use turnwright::prelude::*;
use turnwright::runner::TurnRunnerBuilder;
use turnwright_mcp::McpService;

/// State or a policy, for whatever runs the calls of a command.
pub(crate) type Setting = Box<dyn Extend>;

/// Extends what runs calls.
pub(crate) trait Extend {
    /// Extends the runner of a command.
    fn runner(self: Box<Self>, runner: TurnRunnerBuilder) -> TurnRunnerBuilder;

    /// Extends a service for other programs.
    fn service(self: Box<Self>, service: McpService) -> McpService;
}

/// A value that handlers reach by its type.
pub(crate) struct State<T>(pub(crate) T);

impl<T: Send + Sync + 'static> Extend for State<T> {
    fn runner(self: Box<Self>, runner: TurnRunnerBuilder) -> TurnRunnerBuilder {
        runner.state(self.0)
    }

    fn service(self: Box<Self>, service: McpService) -> McpService {
        service.state(self.0)
    }
}

/// A policy.
pub(crate) struct Policy<P>(pub(crate) P);

impl<P: ApprovalPolicy + 'static> Extend for Policy<P> {
    fn runner(self: Box<Self>, runner: TurnRunnerBuilder) -> TurnRunnerBuilder {
        runner.policy(self.0)
    }

    fn service(self: Box<Self>, service: McpService) -> McpService {
        service.policy(self.0)
    }
}

/// Extensions of a program.
pub(crate) struct Extensions {
    /// Whether the built-in tools are offered.
    pub(crate) builtin_tools: bool,
    pub(crate) tools: Vec<Result<Tool, Error>>,
    pub(crate) settings: Vec<Setting>,
    /// Replaces the model server.
    pub(crate) model: Option<CustomModel>,
}

impl Default for Extensions {
    fn default() -> Self {
        Extensions {
            builtin_tools: true,
            tools: Vec::new(),
            settings: Vec::new(),
            model: None,
        }
    }
}

/// A model of the program.
pub(crate) struct CustomModel {
    /// The executor's name.
    pub(crate) name: String,
    /// The model's name, if the executor has one.
    pub(crate) model: Option<String>,
    pub(crate) runner: TurnRunnerBuilder,
}

/// Applies the settings of a program to a runner.
pub(crate) fn apply(settings: Vec<Setting>, runner: TurnRunnerBuilder) -> TurnRunnerBuilder {
    let settings = settings.into_iter();
    settings.fold(runner, |runner, setting| setting.runner(runner))
}
