//! What is said to the program and not to the model.

/// A line that somebody typed at the prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Input<'l> {
    /// Nothing.
    Nothing,
    /// Something for the model.
    ToModel(&'l str),
    /// What can be typed.
    Help,
    /// Which tools the model has.
    Tools,
    /// The conversation is to begin anew.
    New,
    /// The last turn is to be taken up again.
    Resume,
    /// The program is to end.
    Quit,
    /// There is no such command.
    Unknown(&'l str),
}

/// What can be typed, and what it does.
pub(super) const COMMANDS: &[(&str, &str)] = &[
    ("/help", "shows this"),
    ("/tools", "the tools that the model has"),
    (
        "/new",
        "begins anew; what was said is kept, and not sent any more",
    ),
    (
        "/resume",
        "takes the last turn up again, if it has no answer",
    ),
    ("/quit", "ends the program, as Ctrl-D does"),
];

/// What else is good to know.
pub(super) const HINTS: &[&str] = &[
    "Ctrl-C calls a turn off. The arrow keys bring back what you said before.",
    "A line that ends in \\ goes on in the next one. A line that begins with a space is never a command, and is not kept in the history.",
];

impl<'l> Input<'l> {
    pub(super) fn of(line: &'l str) -> Self {
        let text = line.trim();
        if text.is_empty() {
            return Input::Nothing;
        }
        // A path is no command, and neither is what was moved away from the edge.
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
    fn what_begins_with_a_slash_is_for_the_program() {
        assert_eq!(Input::of("/help"), Input::Help);
        assert_eq!(Input::of("/quit  "), Input::Quit);
        assert_eq!(Input::of("/resume"), Input::Resume);
        assert_eq!(Input::of("/hepl me"), Input::Unknown("/hepl"));
        assert_eq!(Input::of("/new please"), Input::Unknown("/new"));
        assert_eq!(Input::of(" \t"), Input::Nothing);
    }

    #[test]
    fn everything_else_is_for_the_model() {
        assert_eq!(Input::of(" hello "), Input::ToModel("hello"));
        assert_eq!(Input::of(" /help"), Input::ToModel("/help"));
        assert_eq!(
            Input::of("/etc/hosts: what is it?"),
            Input::ToModel("/etc/hosts: what is it?")
        );
    }
}
