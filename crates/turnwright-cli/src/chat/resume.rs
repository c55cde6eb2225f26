//! The last turn of a chat, where it has no answer.

use super::session::{Running, Session};
use crate::show::{Show, Shown};
use crate::terminal::{Screen, style};
use crate::turn_state::State;
use crate::turns::{self, TurnSummary};

/// Said where nothing can be taken up.
pub(super) const NOTHING: &str = "There is nothing to take up: the last turn has its answer.";

impl Session {
    /// The last turn, if it has no answer and can go on.
    pub(super) async fn unanswered(&self) -> anyhow::Result<Option<TurnSummary>> {
        match &self.conversation {
            Some(conversation) => conversation.unanswered().await,
            None => Ok(None),
        }
    }

    /// Says that the last turn has not come to its end, if it has not, and how it is taken up again.
    pub(super) async fn tell_of_cut_off(
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
        let Some(missing) = conversation.missing_tools().await? else {
            let hint = format!(
                "the last turn {what}: the program that held it takes it up again, and what is said now leaves it behind"
            );
            return Ok(screen.paragraph(style::CARE, "", &hint)?);
        };
        let lacks_tools = !missing.is_empty() && !self.again.without_tools;
        let hint = match (attended, lacks_tools) {
            (true, false) => {
                let hint = format!(
                    "the last turn {what}: /resume takes it up again, and what you say instead leaves it behind"
                );
                return Ok(screen.paragraph(style::CARE, "", &hint)?);
            }
            (_, true) => format!(
                "the last turn {what}, and its chat had tools that this one has not; what is said now leaves it behind. To take it up \
                 again:"
            ),
            (false, false) => format!(
                "the last turn {what}; what is said now leaves it behind. To take it up again:"
            ),
        };
        screen.paragraph(style::CARE, "", &hint)?;
        let about = conversation.last_about().await?;
        // On a line of its own, to be copied.
        let command = turns::command(&last, about.as_ref(), &conversation.storage.place);
        screen.line(style::paint(style::BOLD, format_args!("  {command}")))?;
        Ok(())
    }

    /// Whether it may be taken up again, or why not: what would be lost by that is lost for good.
    pub(super) async fn may_take_up(
        &self,
        last: &TurnSummary,
        attended: bool,
    ) -> anyhow::Result<anyhow::Result<()>> {
        let Some(conversation) = &self.conversation else {
            return Ok(Ok(()));
        };
        let missing = conversation.missing_tools().await?;
        let missing = missing.as_deref();
        Ok(turns::check(&conversation.storage, last, missing, &self.again, attended).await)
    }

    /// Takes it up again.
    pub(super) async fn take_up(
        &self,
        show: &mut Show,
        running: &Running,
        last: &TurnSummary,
    ) -> anyhow::Result<Shown> {
        if let Some(conversation) = &self.conversation {
            conversation.renew().await?;
        }
        turns::take_up(show, &running.runner, last).await
    }
}
