//! Commands of the chat, which go to the program and not to the model.

/// A line of input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Input<'l> {
    /// A blank line.
    Nothing,
    /// A message for the model.
    ToModel(&'l str),
    /// `/help`
    Help,
    /// `/tools`
    Tools,
    /// `/new`
    New,
    /// `/resume`
    Resume,
    /// `/quit`
    Quit,
    /// An unknown command.
    Unknown(&'l str),
}

/// The commands and their help.
pub(super) const COMMANDS: &[(&str, &str)] = &[
    ("/help", "show this help"),
    ("/tools", "list the tools of the model"),
    (
        "/new",
        "start a new part; earlier messages stay stored but are not sent",
    ),
    ("/resume", "resume the last turn, if it has no answer"),
    ("/quit", "exit (also Ctrl-D)"),
];

/// Notes below the commands.
pub(super) const HINTS: &[&str] = &[
    "Ctrl-C cancels a turn. The arrow keys browse the history.",
    "End a line with \\ to continue on the next one. A line that begins with a space is never a command and is not added to the history.",
];

impl<'l> Input<'l> {
    pub(super) fn of(line: &'l str) -> Self {
        let text = line.trim();
        if text.is_empty() {
            return Input::Nothing;
        }
        // Neither a path nor an indented line is a command.
        let word = text.split_whitespace().next().unwrap_or_default();
        let is_path = word.get(1..).is_some_and(|rest| rest.contains('/'));
        if !line.starts_with('/') || is_path {
            return Input::ToModel(text);
        }
        match text {
            "/help" | "/?" => Input::Help,
            "/tools" => Input::Tools,
            "/new" => Input::New,
            "/resume" => Input::Resume,
            "/quit" | "/exit" => Input::Quit,
            _ => Input::Unknown(word),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_a_slash_is_a_command() {
        assert_eq!(Input::of("/help"), Input::Help);
        assert_eq!(Input::of("/quit  "), Input::Quit);
        assert_eq!(Input::of("/resume"), Input::Resume);
        assert_eq!(Input::of("/hepl me"), Input::Unknown("/hepl"));
        assert_eq!(Input::of("/new please"), Input::Unknown("/new"));
        assert_eq!(Input::of(" \t"), Input::Nothing);
    }

    #[test]
    fn other_lines_go_to_the_model() {
        assert_eq!(Input::of(" hello "), Input::ToModel("hello"));
        assert_eq!(Input::of(" /help"), Input::ToModel("/help"));
        assert_eq!(
            Input::of("/etc/hosts: what is it?"),
            Input::ToModel("/etc/hosts: what is it?")
        );
    }
}
