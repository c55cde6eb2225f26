//! Whoever types: lines with editing and a history, where the terminal can do that.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use rustyline::error::ReadlineError;
use rustyline::{ColorMode, Config, DefaultEditor};
use tokio::sync::Mutex;

use super::lines::Lines;
use super::mode::Mode;
use super::screen::{is_dumb, with_colour};
use super::signals::{Signal, Signals};
use super::style::{self, paint};

/// The most lines of a history.
const HISTORY: usize = 1_000;
/// The largest file of a history that is read.
const LARGEST_HISTORY: u64 = 64 << 20;

/// Reads lines from the terminal in threads of their own: waiting for a line blocks nothing. Clones share it; one
/// question is asked at a time. Once the last clone is dropped the terminal is as it was.
#[derive(Clone)]
pub(crate) struct Editor(Arc<Kind>);

enum Kind {
    /// A terminal on which a line can be edited.
    Rich(Rich),
    /// One that only types.
    Plain(Mutex<Lines>),
}

struct Rich {
    editors: Arc<StdMutex<LineEditors>>,
    /// Whether a line is being typed, so that the editor controls the terminal.
    typing: Arc<AtomicBool>,
    mode: Mode,
}

/// What was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    /// A line.
    Line(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or the end of the input.
    Ended,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    /// Something to say: it goes into the history, and may have been typed before it was asked for.
    Speech,
    /// An answer to a question that must have been seen: what was typed before does not count.
    Answer,
}

impl Editor {
    /// An editor; its history is read from this file and kept there, if one is named.
    pub(crate) fn open(history: Option<PathBuf>) -> anyhow::Result<Self> {
        let kind = match is_dumb() {
            true => Kind::Plain(Mutex::new(Lines::open())),
            false => Kind::Rich(Rich {
                mode: Mode::now(),
                editors: Arc::new(StdMutex::new(LineEditors::open(history)?)),
                typing: Arc::default(),
            }),
        };
        Ok(Editor(Arc::new(kind)))
    }

    /// Asks for a line that is kept in the history.
    pub(crate) async fn line(&self, prompt: &str) -> Typed {
        self.ask(prompt, "", Sort::Speech).await
    }

    /// Asks for an answer, which begins as `initial` where it can be edited. What was typed before is not taken for it.
    pub(crate) async fn answer(&self, prompt: &str, initial: &str) -> Typed {
        self.ask(prompt, initial, Sort::Answer).await
    }

    async fn ask(&self, prompt: &str, initial: &str, sort: Sort) -> Typed {
        let rich = match &*self.0 {
            Kind::Rich(rich) => rich,
            Kind::Plain(lines) => return ask_plainly(lines, prompt, sort).await,
        };
        let (editors, typing) = (Arc::clone(&rich.editors), Arc::clone(&rich.typing));
        let (prompt, initial) = (prompt.to_owned(), initial.to_owned());
        let typed = tokio::task::spawn_blocking(move || {
            let mut editors = editors.lock().unwrap_or_else(PoisonError::into_inner);
            typing.store(true, Ordering::SeqCst);
            let typed = editors.ask(&prompt, &initial, sort);
            typing.store(false, Ordering::SeqCst);
            typed
        });
        typed.await.unwrap_or(Typed::Ended)
    }
}

impl Drop for Rich {
    /// The line that is still being typed may be one that is not waited for any more.
    fn drop(&mut self) {
        if self.typing.load(Ordering::SeqCst) {
            self.mode.restore();
            // The editor had switched it on: pasted text in brackets.
            let mut out = io::stdout().lock();
            let _ = out.write_all(b"\x1b[?2004l\n");
            let _ = out.flush();
        }
    }
}

/// Where Ctrl-C is a signal and no key.
async fn ask_plainly(lines: &Mutex<Lines>, prompt: &str, sort: Sort) -> Typed {
    let mut lines = lines.lock().await;
    if sort == Sort::Answer {
        lines.forget();
    }
    let Ok(mut signals) = Signals::listen() else {
        return Typed::Ended;
    };
    let mut out = io::stdout().lock();
    let _ = out.write_all(prompt.as_bytes());
    let _ = out.flush();
    drop(out);
    loop {
        tokio::select! {
            line = lines.next() => return line.ok().flatten().map_or(Typed::Ended, Typed::Line),
            signal = signals.next() => if signal == Signal::Interrupt {
                let _ = writeln!(io::stdout());
                return Typed::Interrupted;
            },
        }
    }
}

/// Two editors: input and answers share neither the history nor what was typed ahead.
struct LineEditors {
    speech: DefaultEditor,
    answers: DefaultEditor,
    history: Option<PathBuf>,
    colour: bool,
}

impl LineEditors {
    fn open(history: Option<PathBuf>) -> anyhow::Result<Self> {
        let colour = with_colour(&io::stdout());
        let mode = match colour {
            true => ColorMode::Forced,
            false => ColorMode::Disabled,
        };
        let config = Config::builder()
            .max_history_size(HISTORY)?
            .history_ignore_space(true)
            .color_mode(mode)
            .build();
        let mut speech = DefaultEditor::with_config(config.clone())?;
        if let Some(file) = &history {
            // There is none the first time. What is no history of ours is not read: it may have no end.
            let found = std::fs::metadata(file);
            if found.is_ok_and(|found| found.is_file() && found.len() <= LARGEST_HISTORY) {
                let _ = speech.load_history(file);
            }
        }
        Ok(LineEditors {
            speech,
            answers: DefaultEditor::with_config(config)?,
            history,
            colour,
        })
    }

    fn ask(&mut self, prompt: &str, initial: &str, sort: Sort) -> Typed {
        let editor = match sort {
            Sort::Speech => &mut self.speech,
            Sort::Answer => {
                Mode::forget_typed();
                &mut self.answers
            }
        };
        let styled = match self.colour {
            true => paint(style::BOLD, prompt),
            false => prompt.to_owned(),
        };
        let line = match editor.readline_with_initial(&(prompt, styled), (initial, "")) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => return Typed::Interrupted,
            Err(_) => return Typed::Ended,
        };
        if sort == Sort::Speech && !line.trim().is_empty() {
            // A history that cannot be written is no reason to stop.
            let _ = self.speech.add_history_entry(&line);
            if let Some(file) = &self.history {
                let _ = self.speech.append_history(file);
            }
        }
        Typed::Line(line)
    }
}
