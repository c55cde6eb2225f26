//! The last turn of a chat, where it has no answer.

use super::session::Session;
use crate::terminal::{Screen, style};
use crate::turn_state::State;
use crate::turns::{self, TurnSummary};

/// Shown if there is nothing to resume.
pub(super) const NOTHING: &str = "There is nothing to take up: the last turn has its answer.";

impl Session {
    /// The last turn, if it has no answer and can go on.
    pub(super) async fn unanswered(&self) -> anyhow::Result<Option<TurnSummary>> {
        Ok(match &self.conversation {
            Some(conversation) => conversation.unanswered().await?,
            None => None,
        })
    }

    /// Says that the last turn was cut off, if it was, and how it is resumed.
    pub(super) async fn warn_of_cut_off(
        &self,
        screen: &mut Screen,
        attended: bool,
    ) -> anyhow::Result<()> {
        let (Some(conversation), Some(last)) = (&self.conversation, self.unanswered().await?)
        else {
            return Ok(());
        };
        let what = match last.state {
            State::Interrupted => "was cut off",
            state if state.is_live() => "was cut off a moment ago, or another program runs it",
            _ => return Ok(()),
        };
        let missing = conversation.missing_tools().await?;
        let lacks_tools = missing.as_ref().is_some_and(|missing| !missing.is_empty());
        let lacks_tools = lacks_tools && !self.again.without_tools;
        screen.warn(match (&missing, lacks_tools) {
            (None, _) => format!(
                "the last turn {what}: the program that held it takes it up again, and what is said now leaves it behind"
            ),
            (_, true) => format!(
                "the last turn {what}, and its chat had tools that this one has not; what is said now leaves it behind. To take it up \
                 again:"
            ),
            (_, false) if attended => format!(
                "the last turn {what}: /resume takes it up again, and what you say instead leaves it behind"
            ),
            (_, false) => format!(
                "the last turn {what}; what is said now leaves it behind. To take it up again:"
            ),
        })?;
        if missing.is_none() || (attended && !lacks_tools) {
            return Ok(());
        }
        let note = conversation.stored_note().await?;
        // On a line of its own, to be copied.
        let command = turns::command(&last, note.as_ref(), &conversation.storage.place);
        screen.painted(style::BOLD, format_args!("  {command}"))?;
        Ok(())
    }

    /// Rejects a resume that would lose something for good.
    pub(super) async fn check_resume(
        &self,
        last: &TurnSummary,
        attended: bool,
    ) -> anyhow::Result<()> {
        let Some(conversation) = &self.conversation else {
            return Ok(());
        };
        let missing = conversation.missing_tools().await?;
        let (storage, missing) = (&conversation.storage, missing.as_deref());
        turns::check(storage, last, missing, &self.again, attended).await
    }
}
