//! The terminal: output, styles, line editing, approvals and signals.

mod approval;
mod editor;
mod elicitation;
mod flow;
mod lines;
pub(crate) mod markdown;
mod plain;
mod reconcile;
mod screen;
mod shell;
mod signals;
mod spinner;

#[cfg(test)]
pub(crate) use approval::quoted_args;
pub(crate) use approval::{ApprovalPrompt, local_user};
pub(crate) use editor::{Editor, Typed, confirm};
pub(crate) use flow::{Flow, MARGIN, columns, fit, wrap};
pub(crate) use lines::Lines;
pub(crate) use plain::{json, one_line, plain};
use screen::columns_of;
pub(crate) use screen::{Colour, LINE, Screen, is_dumb, warn_on_stderr, with_colour, with_fields};
pub(crate) use shell::{shell_path, shell_word};
pub(crate) use signals::{Signal, Signals};

/// The styles of the output.
pub(crate) mod style {
    use anstyle::{AnsiColor, Style};

    pub(crate) const BOLD: Style = Style::new().bold();
    pub(crate) const DIM: Style = Style::new().dimmed();
    pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
    pub(crate) const BAD: Style = AnsiColor::Red.on_default();
    pub(crate) const WARN: Style = AnsiColor::Yellow.on_default();
    pub(crate) const NAME: Style = AnsiColor::Cyan.on_default();

    /// The text in a style.
    pub(crate) fn paint(style: Style, text: impl std::fmt::Display) -> String {
        format!("{style}{text}{style:#}")
    }
}
