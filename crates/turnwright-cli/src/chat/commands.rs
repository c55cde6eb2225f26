//! What is said to the program and not to the model.

/// A line that somebody typed at the prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said<'l> {
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

impl<'l> Said<'l> {
    pub(super) fn of(line: &'l str) -> Self {
        let text = line.trim();
        if text.is_empty() {
            return Said::Nothing;
        }
        // A path is no command, and neither is what was moved away from the edge.
        let word = text.split_whitespace().next().unwrap_or_default();
        let is_path = word.get(1..).is_some_and(|rest| rest.contains('/'));
        if !line.starts_with('/') || is_path {
            return Said::ToModel(text);
        }
        match text {
            "/help" | "/?" => Said::Help,
            "/tools" => Said::Tools,
            "/new" => Said::New,
            "/resume" => Said::Resume,
            "/quit" | "/exit" => Said::Quit,
            _ => Said::Unknown(word),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_with_a_slash_is_for_the_program() {
        assert_eq!(Said::of("/help"), Said::Help);
        assert_eq!(Said::of("/quit  "), Said::Quit);
        assert_eq!(Said::of("/resume"), Said::Resume);
        assert_eq!(Said::of("/hepl me"), Said::Unknown("/hepl"));
        assert_eq!(Said::of("/new please"), Said::Unknown("/new"));
        assert_eq!(Said::of(" \t"), Said::Nothing);
    }

    #[test]
    fn everything_else_is_for_the_model() {
        assert_eq!(Said::of(" hello "), Said::ToModel("hello"));
        assert_eq!(Said::of(" /help"), Said::ToModel("/help"));
        assert_eq!(
            Said::of("/etc/hosts: what is it?"),
            Said::ToModel("/etc/hosts: what is it?")
        );
    }
}
