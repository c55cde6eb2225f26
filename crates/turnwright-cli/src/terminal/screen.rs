//! Output to the terminal, a pipe or a file.

use std::fmt;
use std::io::{self, IsTerminal as _, Write as _};

use clap::ValueEnum;
use serde::Serialize;
use serde_json::Value;

use super::Flow;
use super::spinner::Spinner;
use super::style::{self, paint};

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// If the output is a terminal, unless `NO_COLOR` is set or `TERM=dumb`
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Colour {
    /// Sets it for the whole process.
    pub(crate) fn apply(self) {
        match self {
            Colour::Auto => anstream::ColorChoice::Auto,
            Colour::Always => anstream::ColorChoice::Always,
            Colour::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}

/// Whether output to this stream is in colour, by the option and the environment.
pub(crate) fn with_colour(stream: &impl anstream::stream::RawStream) -> bool {
    anstream::AutoStream::choice(stream) != anstream::ColorChoice::Never
}

#[cfg(unix)]
use std::os::fd::AsFd as AsStream;
#[cfg(windows)]
use std::os::windows::io::AsHandle as AsStream;

/// The columns of this terminal. `None` if it is not a terminal.
pub(super) fn columns_of(stream: &impl AsStream) -> Option<usize> {
    let (width, _) = terminal_size::terminal_size_of(stream)?;
    Some(usize::from(width.0)).filter(|width| *width > 0)
}

/// Whether the terminal has no cursor movement, so that lines cannot be edited or redrawn.
pub(crate) fn is_dumb() -> bool {
    let term = std::env::var_os("TERM");
    term.is_some_and(|term| {
        ["", "dumb", "emacs", "cons25"]
            .iter()
            .any(|name| term == *name)
    })
}

/// The width of a terminal that does not report it.
const USUAL_WIDTH: usize = 80;

/// The most characters of a line if the width is unknown.
pub(crate) const LINE: usize = 160;

/// Standard output, and a spinner while the program works.
pub(crate) struct Screen {
    json: bool,
    /// Whether everything but answers goes to standard error.
    on_stderr: bool,
    busy: Option<Spinner>,
}

impl Screen {
    pub(crate) fn new(json: bool) -> Self {
        Screen {
            json,
            on_stderr: false,
            busy: None,
        }
    }

    /// Whether the output is JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// If standard output is not a terminal, sends only answers to it and the rest to standard error.
    pub(crate) fn answers_alone(mut self) -> Self {
        self.on_stderr = !self.json && !io::stdout().is_terminal();
        self
    }

    /// Sends everything to standard error.
    pub(crate) fn on_stderr(mut self) -> Self {
        self.on_stderr = true;
        self
    }

    /// Whether everything but answers goes to standard error.
    pub(crate) fn uses_stderr(&self) -> bool {
        self.on_stderr
    }

    /// Writes a complete answer to standard output.
    pub(crate) fn answer(&mut self, text: &str) -> io::Result<()> {
        write_raw(text.as_bytes(), "\n")
    }

    /// Whether Markdown can be rendered: the output is a terminal that can redraw lines.
    pub(crate) fn can_render(&self) -> bool {
        !self.json && !self.on_stderr && io::stdout().is_terminal() && !is_dumb()
    }

    /// Whether the user can be asked: input and output are terminals.
    pub(crate) fn is_interactive(&self) -> bool {
        !self.json && io::stdin().is_terminal() && io::stdout().is_terminal()
    }

    /// The columns of the terminal, else those of `COLUMNS`. A terminal that does not report its size has 80. `None` if the
    /// output is not a terminal.
    pub(crate) fn width(&self) -> Option<usize> {
        let (columns, is_terminal) = if self.on_stderr {
            (columns_of(&io::stderr()), io::stderr().is_terminal())
        } else {
            (columns_of(&io::stdout()), io::stdout().is_terminal())
        };
        let from_environment = || std::env::var("COLUMNS").ok()?.trim().parse().ok();
        let columns = columns
            .or_else(from_environment)
            .filter(|columns| *columns > 0);
        columns.or(is_terminal.then_some(USUAL_WIDTH))
    }

    /// The columns of a line: [`LINE`] if the output is not a terminal.
    pub(crate) fn columns(&self) -> usize {
        self.width().unwrap_or(LINE)
    }

    /// Writes text and flushes; nothing with `--json`, except to standard error. Text of third parties must go through [`plain`](super::plain) first.
    pub(crate) fn write(&mut self, text: impl fmt::Display) -> io::Result<()> {
        self.rest();
        if self.on_stderr {
            let mut err = anstream::stderr().lock();
            write!(err, "{text}")?;
            return err.flush();
        }
        if self.json {
            return Ok(());
        }
        let mut out = anstream::stdout().lock();
        write!(out, "{text}")?;
        out.flush()
    }

    /// Writes text with a line end.
    pub(crate) fn line(&mut self, text: impl fmt::Display) -> io::Result<()> {
        self.write(format_args!("{text}\n"))
    }

    /// A line in a style.
    pub(crate) fn painted(
        &mut self,
        style: anstyle::Style,
        text: impl fmt::Display,
    ) -> io::Result<()> {
        self.line(paint(style, text))
    }

    /// The same, wrapped between words to the width of the terminal. The text must not contain escape sequences.
    pub(crate) fn paragraph(
        &mut self,
        style: anstyle::Style,
        indent: &'static str,
        text: &str,
    ) -> io::Result<()> {
        let text = Flow::new(self.width(), indent).wrap(text);
        self.line(paint(style, text))
    }

    /// A paragraph that the user should notice.
    pub(crate) fn warn(&mut self, text: impl AsRef<str>) -> io::Result<()> {
        self.paragraph(style::WARN, "", text.as_ref())
    }

    /// A paragraph of minor importance.
    pub(crate) fn dim(&mut self, text: impl AsRef<str>) -> io::Result<()> {
        self.paragraph(style::DIM, "", text.as_ref())
    }

    /// The same for text that quotes third parties: the lines after the first have a margin.
    pub(crate) fn quoting(
        &mut self,
        style: anstyle::Style,
        indent: &'static str,
        margin: &'static str,
        text: &str,
    ) -> io::Result<()> {
        let flow = Flow::hanging(self.width(), indent, margin);
        self.line(paint(style, flow.wrap(text)))
    }

    /// Writes the complete result of a tool and ends its last line. On a terminal control characters are escaped; otherwise
    /// the bytes are written unchanged.
    pub(crate) fn content(&mut self, bytes: &[u8]) -> io::Result<()> {
        let end = match bytes.last() {
            Some(b'\n') | None => "",
            Some(_) => "\n",
        };
        if io::stdout().is_terminal() {
            let text = String::from_utf8_lossy(bytes);
            self.rest();
            return write_raw(super::plain(&text).as_bytes(), end);
        }
        self.rest();
        write_raw(bytes, end)
    }

    /// Writes a value as one line of JSON, only with `--json`.
    pub(crate) fn value(&mut self, value: &impl Serialize) -> anyhow::Result<()> {
        if self.json {
            self.json_line(value)
        } else {
            Ok(())
        }
    }

    /// Writes a value as one line of JSON. Invisible characters are escaped.
    pub(crate) fn json_line(&mut self, value: &impl Serialize) -> anyhow::Result<()> {
        let line = super::json(&serde_json::to_value(value)?);
        self.rest();
        // Not through anstream: it strips more than escape sequences.
        write_raw(line.as_bytes(), "\n")?;
        Ok(())
    }

    /// Shows a spinner with this text until something is written. Does nothing without a terminal.
    pub(crate) fn busy(&mut self, doing: &str) {
        let seen = io::stdout().is_terminal() && io::stderr().is_terminal();
        if self.json || is_dumb() || !seen {
            return;
        }
        match &self.busy {
            Some(spinner) => spinner.update(doing.to_owned()),
            None => self.busy = Some(Spinner::new(doing.to_owned())),
        }
    }

    /// Removes the spinner.
    pub(crate) fn rest(&mut self) {
        self.busy = None;
    }
}

/// An object with more fields.
pub(crate) fn with_fields(mut object: Value, more: Value) -> Value {
    if let (Value::Object(object), Value::Object(more)) = (&mut object, more) {
        object.extend(more);
    }
    object
}

/// Writes a warning to standard error, whatever the output is. If it cannot be written, the command still works.
pub(crate) fn warn_on_stderr(text: &str) {
    let text = paint(style::WARN, format_args!("warning: {text}"));
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// Writes to standard output and flushes.
fn write_raw(bytes: &[u8], end: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.write_all(end.as_bytes())?;
    out.flush()
}
