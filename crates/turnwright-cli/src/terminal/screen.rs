//! What is written.

use std::fmt;
use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

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

/// Standard output, and a sign of life beside it while there is nothing to write.
pub(crate) struct Screen {
    json: bool,
    busy: Option<ProgressBar>,
}

impl Screen {
    pub(crate) fn new(json: bool) -> Self {
        Screen { json, busy: None }
    }

    /// Whether machines read.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Whether a person can be asked: there is a terminal to read from and one to write to.
    pub(crate) fn is_attended(&self) -> bool {
        !self.json && io::stdin().is_terminal() && io::stdout().is_terminal()
    }

    /// The columns of the terminal that reads; none where none does.
    pub(crate) fn width(&self) -> Option<usize> {
        let size = terminal_size::terminal_size_of(io::stdout());
        size.map(|(width, _)| usize::from(width.0))
            .filter(|width| *width > 0)
    }

    /// Writes text, which is seen at once. Text of others goes through [`plain`](super::plain) first.
    pub(crate) fn write(&mut self, text: impl fmt::Display) -> io::Result<()> {
        self.rest();
        let mut out = anstream::stdout().lock();
        write!(out, "{text}")?;
        out.flush()
    }

    /// The same with a line end.
    pub(crate) fn line(&mut self, text: impl fmt::Display) -> io::Result<()> {
        self.write(format_args!("{text}\n"))
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
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        out.write_all(end.as_bytes())?;
        out.flush()
    }

    /// Writes a value as one line of JSON.
    pub(crate) fn value(&mut self, value: &impl Serialize) -> anyhow::Result<()> {
        let line = serde_json::to_string(value)?;
        self.line(line)?;
        Ok(())
    }

    /// Shows that something is going on, until the next text is written. Only a terminal sees it.
    pub(crate) fn busy(&mut self, doing: &str) {
        if self.json || !io::stdout().is_terminal() {
            return;
        }
        self.rest();
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{spinner} {wide_msg:.dim} {elapsed:.dim}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        bar.set_message(doing.to_owned());
        bar.enable_steady_tick(Duration::from_millis(150));
        self.busy = Some(bar);
    }

    /// Ends the sign of life.
    pub(crate) fn rest(&mut self) {
        if let Some(bar) = self.busy.take() {
            bar.finish_and_clear();
        }
    }
}
