//! Extensions of a program that embeds `turnwright`: tools, state, policies, a model.

use std::fmt;

use turnwright::prelude::*;
use turnwright::runner::TurnRunnerBuilder;

/// A change to the runner of a command.
type Setting = Box<dyn FnOnce(TurnRunnerBuilder) -> TurnRunnerBuilder>;

/// Extensions of a program.
#[derive(Default)]
pub(crate) struct Extensions {
    pub(crate) tools: Vec<Tool>,
    pub(crate) settings: Settings,
    /// Replaces the model server.
    pub(crate) model: Option<CustomModel>,
}

/// State and policies of the program.
#[derive(Default)]
pub(crate) struct Settings(Vec<Setting>);

impl Settings {
    pub(crate) fn add(
        &mut self,
        setting: impl FnOnce(TurnRunnerBuilder) -> TurnRunnerBuilder + 'static,
    ) {
        self.0.push(Box::new(setting));
    }

    pub(crate) fn apply(self, runner: TurnRunnerBuilder) -> TurnRunnerBuilder {
        self.0.into_iter().fold(runner, |runner, set| set(runner))
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Settings({})", self.0.len())
    }
}

/// A model of the program.
pub(crate) struct CustomModel {
    /// The executor's name.
    pub(crate) name: String,
    /// The model's name, if the executor has one.
    pub(crate) model: Option<String>,
    runner: Box<dyn FnOnce() -> TurnRunnerBuilder>,
}

impl CustomModel {
    pub(crate) fn new(executor: impl Executor + 'static) -> Self {
        CustomModel {
            name: executor.name().to_owned(),
            model: executor.model().map(str::to_owned),
            runner: Box::new(move || turnwright::runner(executor)),
        }
    }

    /// A runner with this model.
    pub(crate) fn runner(self) -> TurnRunnerBuilder {
        (self.runner)()
    }
}

impl fmt::Debug for CustomModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OwnModel({})", self.name)
    }
}
