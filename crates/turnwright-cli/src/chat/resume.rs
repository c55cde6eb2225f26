//! Resumes the last turn of a chat if it has no answer.

use super::session::Session;
use crate::terminal::{Screen, style};
use crate::turn_state::State;
use crate::turns::{self, TurnSummary};

/// Shown if there is nothing to resume.
pub(super) const NOTHING: &str = "Nothing to resume: the last turn was answered.";

impl Session {
    /// The last turn, if it has no answer and can be resumed.
    pub(super) async fn unanswered(&self) -> anyhow::Result<Option<TurnSummary>> {
        Ok(match &self.conversation {
            Some(conversation) => conversation.unanswered().await?,
            None => None,
        })
    }

    /// Says that the last turn was interrupted, if it was, and how to resume it.
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
            State::Interrupted => "was interrupted",
            state if state.is_live() => "was interrupted a moment ago, or another process runs it",
            _ => return Ok(()),
        };
        let missing = conversation.missing_tools().await?;
        let lacks_tools = missing.as_ref().is_some_and(|missing| !missing.is_empty());
        let lacks_tools = lacks_tools && !self.again.without_tools;
        screen.warn(match (&missing, lacks_tools) {
            (None, _) => format!(
                "the last turn {what}. It belongs to another program, which can resume it; a new message abandons it"
            ),
            (_, true) => format!(
                "the last turn {what}, and its chat had tools that this one does not have. A new message abandons it. To resume it:"
            ),
            (_, false) if attended => format!(
                "the last turn {what}. Type /resume to resume it; a new message abandons it"
            ),
            (_, false) => format!(
                "the last turn {what}. A new message abandons it. To resume it:"
            ),
        })?;
        if missing.is_none() || (attended && !lacks_tools) {
            return Ok(());
        }
        let note = conversation.stored_note().await?;
        // On its own line, so that it can be copied.
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
