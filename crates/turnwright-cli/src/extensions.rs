//! Extensions of a program that embeds `turnwright`: tools, state, policies, a model.

use turnwright::Error;
use turnwright::prelude::*;
use turnwright::runner::TurnRunnerBuilder;

/// A change to the runner of a command: state or a policy.
pub(crate) type Setting = Box<dyn FnOnce(TurnRunnerBuilder) -> TurnRunnerBuilder>;

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
    settings.into_iter().fold(runner, |runner, set| set(runner))
}
