//! All that a turn sets for itself.

use std::sync::Arc;

use super::{Budget, ModelSettings};
use crate::validate::Violations;

/// Instructions, settings and budget: of a runner, of one turn, or as they apply.
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

    /// Takes what is not set from what the same turn had set before.
    pub(crate) fn over(self, before: &TurnSettings) -> Self {
        TurnSettings {
            instructions: self.instructions.or_else(|| before.instructions.clone()),
            model: self.model.over(&before.model),
            budget: self.budget.over(&before.budget),
        }
    }

    /// What applies to a turn with these settings: the runner's instructions come first, so that the turns of all users
    /// share the beginning of their prompts.
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
