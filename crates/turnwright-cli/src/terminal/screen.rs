//! What is written.

use std::fmt;
use std::io::{self, IsTerminal as _, Write as _};

use clap::ValueEnum;
use serde::Serialize;

use super::Flow;
use super::spinner::Busy;
use super::style::{self, paint};

/// When there is colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// Where a terminal reads, unless `NO_COLOR` or `TERM=dumb` say otherwise.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Colour {
    /// Decides for the whole process.
    pub(crate) fn apply(self) {
        match self {
            Colour::Auto => anstream::ColorChoice::Auto,
            Colour::Always => anstream::ColorChoice::Always,
            Colour::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}

/// Whether what is written there is in colour, by what was told and what the environment says.
pub(crate) fn with_colour(stream: &impl anstream::stream::RawStream) -> bool {
    anstream::AutoStream::choice(stream) != anstream::ColorChoice::Never
}

#[cfg(unix)]
use std::os::fd::AsFd as AsStream;
#[cfg(windows)]
use std::os::windows::io::AsHandle as AsStream;

/// The columns of the terminal there; none where there is none.
pub(super) fn columns_of(stream: &impl AsStream) -> Option<usize> {
    let (width, _) = terminal_size::terminal_size_of(stream)?;
    Some(usize::from(width.0)).filter(|width| *width > 0)
}

/// Whether the terminal can do no more than type: no cursor to be moved, no line to be edited.
pub(crate) fn is_dumb() -> bool {
    let term = std::env::var_os("TERM");
    term.is_some_and(|term| {
        ["", "dumb", "emacs", "cons25"]
            .iter()
            .any(|name| term == *name)
    })
}

/// The columns of a terminal that does not report its size.
const USUAL_WIDTH: usize = 80;

/// The most characters of a line where the width is unknown.
pub(crate) const LINE: usize = 160;

/// Standard output, and a sign of life beside it while there is nothing to write.
pub(crate) struct Screen {
    json: bool,
    /// Whether everything but answers goes to standard error.
    aside: bool,
    busy: Option<Busy>,
}

impl Screen {
    pub(crate) fn new(json: bool) -> Self {
        Screen {
            json,
            aside: false,
            busy: None,
        }
    }

    /// Whether machines read.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Where another program reads the answers: from now on these alone go to standard output.
    pub(crate) fn answers_alone(mut self) -> Self {
        self.aside = !self.json && !io::stdout().is_terminal();
        self
    }

    /// From now on everything goes to standard error.
    pub(crate) fn aside(mut self) -> Self {
        self.aside = true;
        self
    }

    /// Whether everything but answers goes to standard error.
    pub(crate) fn is_aside(&self) -> bool {
        self.aside
    }

    /// Writes an answer, whole, where answers alone go.
    pub(crate) fn answer(&mut self, text: &str) -> io::Result<()> {
        write_raw(text.as_bytes(), "\n")
    }

    /// Whether a person can be asked: there is a terminal to read from and one to write to.
    pub(crate) fn is_attended(&self) -> bool {
        !self.json && io::stdin().is_terminal() && io::stdout().is_terminal()
    }

    /// The columns of the terminal that is written to, else those of `COLUMNS`. A terminal that does not report its size has
    /// 80. None where there is no terminal: nobody counts columns there.
    pub(crate) fn width(&self) -> Option<usize> {
        let (columns, is_terminal) = match self.aside {
            true => (columns_of(&io::stderr()), io::stderr().is_terminal()),
            false => (columns_of(&io::stdout()), io::stdout().is_terminal()),
        };
        let from_environment = || std::env::var("COLUMNS").ok()?.trim().parse().ok();
        let columns = columns
            .or_else(from_environment)
            .filter(|columns| *columns > 0);
        columns.or(is_terminal.then_some(USUAL_WIDTH))
    }

    /// The columns that a line may have: [`LINE`] where there is no terminal.
    pub(crate) fn columns(&self) -> usize {
        self.width().unwrap_or(LINE)
    }

    /// Writes text, which is seen at once. Text of others goes through [`plain`](super::plain) first.
    pub(crate) fn write(&mut self, text: impl fmt::Display) -> io::Result<()> {
        self.rest();
        if self.aside {
            let mut err = anstream::stderr().lock();
            write!(err, "{text}")?;
            return err.flush();
        }
        let mut out = anstream::stdout().lock();
        write!(out, "{text}")?;
        out.flush()
    }

    /// The same with a line end.
    pub(crate) fn line(&mut self, text: impl fmt::Display) -> io::Result<()> {
        self.write(format_args!("{text}\n"))
    }

    /// A line in this style.
    pub(crate) fn painted(
        &mut self,
        style: anstyle::Style,
        text: impl fmt::Display,
    ) -> io::Result<()> {
        self.line(paint(style, text))
    }

    /// The same, with lines broken between words where a terminal reads. The text is not in colour yet.
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

    /// The same for a sentence that quotes what others wrote: the lines after the first have a margin.
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

    /// Writes what a tool gave, whole, and ends its last line: as it is where nothing but a program reads, and so that nothing
    /// of it is obeyed where a terminal does.
    pub(crate) fn content(&mut self, bytes: &[u8]) -> io::Result<()> {
        let end = match bytes.last() {
            Some(b'\n') | None => "",
            Some(_) => "\n",
        };
        if io::stdout().is_terminal() {
            let text = String::from_utf8_lossy(bytes);
            return self.write(format_args!("{}{end}", super::plain(&text)));
        }
        self.rest();
        write_raw(bytes, end)
    }

    /// Writes a value as one line of JSON, in which nothing is hidden and nothing is lost.
    pub(crate) fn value(&mut self, value: &impl Serialize) -> anyhow::Result<()> {
        let line = super::json(&serde_json::to_value(value)?);
        self.rest();
        // Not through what takes escape sequences out: it takes other signs out too.
        write_raw(line.as_bytes(), "\n")?;
        Ok(())
    }

    /// Shows that something is going on, until the next text is written. Only a terminal sees it.
    pub(crate) fn busy(&mut self, doing: &str) {
        let seen = io::stdout().is_terminal() && io::stderr().is_terminal();
        if self.json || is_dumb() || !seen {
            return;
        }
        match &self.busy {
            Some(busy) => busy.says(doing.to_owned()),
            None => self.busy = Some(Busy::new(doing.to_owned())),
        }
    }

    /// Ends the sign of life.
    pub(crate) fn rest(&mut self) {
        self.busy = None;
    }
}

/// Writes to standard output, which is seen at once.
fn write_raw(bytes: &[u8], end: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.write_all(end.as_bytes())?;
    out.flush()
}
