//! The state of a turn, as shown to users.

use std::fmt;

use anstyle::Style;
use clap::ValueEnum;
use turnwright::record::TurnState;

use crate::terminal::style;

/// The state of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum State {
    /// A process runs it
    Running,
    /// A process runs it and waits for an answer
    Waiting,
    /// No process runs it; it waits for answers at its gates, or to be resumed
    Suspended,
    /// A gate at which it waited is answered, but no process has resumed it
    AnsweredNotResumed,
    /// Its process ended before the turn did
    Interrupted,
    /// It was answered
    Answered,
    /// The executor nacked its dispatch
    Nacked,
    /// It was cancelled
    Aborted,
    /// It failed
    Failed,
    /// It reached a limit
    Limit,
    /// It was interrupted, and the conversation continued without it
    Abandoned,
}

impl State {
    /// From the recorded state, whether a process holds the conversation, and whether a gate is open.
    pub(crate) fn of(recorded: TurnState, held: bool, waits: bool) -> Self {
        match recorded {
            TurnState::Running if held && waits => State::Waiting,
            TurnState::Running if held => State::Running,
            TurnState::Answered => State::Answered,
            TurnState::Nacked => State::Nacked,
            TurnState::Aborted => State::Aborted,
            TurnState::Failed => State::Failed,
            TurnState::Limit => State::Limit,
            TurnState::Abandoned => State::Abandoned,
            TurnState::Suspended => State::Suspended,
            _ => State::Interrupted,
        }
    }

    /// Whether a process is running it.
    pub(crate) fn is_live(self) -> bool {
        matches!(self, State::Running | State::Waiting)
    }

    /// Whether it can be resumed, if it is the last of its conversation.
    pub(crate) fn can_continue(self) -> bool {
        matches!(
            self,
            State::Suspended
                | State::AnsweredNotResumed
                | State::Interrupted
                | State::Aborted
                | State::Failed
                | State::Limit
        )
    }

    pub(crate) fn style(self) -> Style {
        match self {
            State::Answered => style::GOOD,
            State::Running | State::Waiting | State::Suspended => style::NAME,
            State::AnsweredNotResumed | State::Interrupted | State::Aborted | State::Limit => {
                style::WARN
            }
            State::Nacked | State::Failed => style::BAD,
            State::Abandoned => style::DIM,
        }
    }

    /// The name, as on the command line.
    pub(crate) fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_running_turn_without_a_process_is_interrupted() {
        let running = |held, waits| State::of(TurnState::Running, held, waits);
        assert_eq!(running(true, false), State::Running);
        assert_eq!(running(true, true), State::Waiting);
        assert_eq!(running(false, true), State::Interrupted);
        // A turn that has ended keeps its state, even if another one is running.
        assert_eq!(State::of(TurnState::Failed, true, true), State::Failed);
    }

    #[test]
    fn states_have_the_same_name_in_options_and_output() {
        for state in State::value_variants() {
            let asked = state.to_possible_value();
            assert_eq!(
                asked.map(|item| item.get_name().to_owned()),
                Some(state.to_string())
            );
        }
    }
}
