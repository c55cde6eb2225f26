//! The combined settings of a turn.

use std::sync::Arc;

use super::{Budget, ModelSettings};
use crate::validate::Violations;

/// Instructions, settings and budget of a runner or a turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TurnSettings {
    pub(crate) instructions: Option<Arc<str>>,
    pub(crate) model: ModelSettings,
    pub(crate) budget: Budget,
}

impl TurnSettings {
    pub(crate) fn instruct(&mut self, text: String) {
        self.instructions = (!text.trim().is_empty()).then(|| text.into());
    }

    /// Takes values that are not set from those that the same turn set before.
    pub(crate) fn over(self, before: &TurnSettings) -> Self {
        TurnSettings {
            instructions: self.instructions.or_else(|| before.instructions.clone()),
            model: self.model.over(&before.model),
            budget: self.budget.over(&before.budget),
        }
    }

    /// Combines the settings of a turn with those of its runner. The runner's instructions come first, so that the turns of all
    /// users share the start of their prompts.
    pub(crate) fn under_runner(self, runner: &TurnSettings) -> Self {
        let instructions = match (&runner.instructions, &self.instructions) {
            (Some(first), Some(own)) => Some(format!("{first}\n\n{own}").into()),
            (first, own) => first.clone().or_else(|| own.clone()),
        };
        TurnSettings {
            instructions,
            ..self.over(runner)
        }
    }

    pub(crate) fn check(&self, wrong: &mut Violations) {
        self.model.check(wrong);
        self.budget.check(wrong);
    }
}
