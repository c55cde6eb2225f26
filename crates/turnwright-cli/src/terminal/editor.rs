//! Reads lines from the user, with editing and a history if the terminal supports it.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use rustyline::error::ReadlineError;
use rustyline::{ColorMode, Config, DefaultEditor};
use tokio::sync::Mutex;

use super::lines::{Lines, Mode};
use super::screen::{is_dumb, with_colour};
use super::signals::{Signal, Signals};
use super::style::{self, paint};

/// The most lines in a history.
const HISTORY: usize = 1_000;
/// The largest history file that is read.
const LARGEST_HISTORY: u64 = 64 << 20;

/// Reads lines from the terminal in separate threads, so that waiting for a line blocks nothing. Clones share it; one question
/// is asked at a time. Dropping the last clone restores the terminal.
#[derive(Clone)]
pub(crate) struct Editor(Arc<Kind>);

enum Kind {
    /// A terminal on which a line can be edited.
    Rich(Rich),
    /// A dumb terminal.
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

impl Typed {
    /// Whether it is `y` or `yes`.
    pub(super) fn is_yes(&self) -> bool {
        let Typed::Line(line) = self else {
            return false;
        };
        matches!(line.trim().to_lowercase().as_str(), "y" | "yes")
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    /// Input for the chat: goes into the history, and may have been typed ahead.
    Input,
    /// An answer to a question that the user must have seen: text that was typed ahead is discarded.
    Answer,
}

impl Editor {
    /// Opens an editor. Its history is read from and appended to this file.
    pub(crate) fn open(history: Option<PathBuf>) -> anyhow::Result<Self> {
        let kind = if is_dumb() {
            Kind::Plain(Mutex::new(Lines::open()))
        } else {
            Kind::Rich(Rich {
                mode: Mode::now(),
                editors: Arc::new(StdMutex::new(LineEditors::open(history)?)),
                typing: Arc::default(),
            })
        };
        Ok(Editor(Arc::new(kind)))
    }

    /// Asks for a line, which goes into the history.
    pub(crate) async fn line(&self, prompt: &str) -> Typed {
        self.ask(prompt, "", Sort::Input).await
    }

    /// Asks for an answer, starting with `initial` if it can be edited. Text that was typed ahead is discarded.
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
    /// A line may still be being edited although nothing waits for it any more.
    fn drop(&mut self) {
        if self.typing.load(Ordering::SeqCst) {
            self.mode.restore();
            // The editor had enabled bracketed paste.
            let mut out = io::stdout().lock();
            let _ = out.write_all(b"\x1b[?2004l\n");
            let _ = out.flush();
        }
    }
}

/// On a dumb terminal, where Ctrl-C is a signal and not a key.
async fn ask_plainly(lines: &Mutex<Lines>, prompt: &str, sort: Sort) -> Typed {
    let mut lines = lines.lock().await;
    if sort == Sort::Answer {
        lines.discard();
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

/// Two editors: input and answers do not share a history or text that was typed ahead.
struct LineEditors {
    input: DefaultEditor,
    answers: DefaultEditor,
    history: Option<PathBuf>,
    colour: bool,
}

impl LineEditors {
    fn open(history: Option<PathBuf>) -> anyhow::Result<Self> {
        let colour = with_colour(&io::stdout());
        let mode = if colour {
            ColorMode::Forced
        } else {
            ColorMode::Disabled
        };
        let config = Config::builder()
            .max_history_size(HISTORY)?
            .history_ignore_space(true)
            .color_mode(mode)
            .build();
        let mut input = DefaultEditor::with_config(config.clone())?;
        if let Some(file) = &history {
            // It does not exist the first time. A device or a huge file is not read.
            let found = std::fs::metadata(file);
            if found.is_ok_and(|found| found.is_file() && found.len() <= LARGEST_HISTORY) {
                let _ = input.load_history(file);
            }
        }
        Ok(LineEditors {
            input,
            answers: DefaultEditor::with_config(config)?,
            history,
            colour,
        })
    }

    fn ask(&mut self, prompt: &str, initial: &str, sort: Sort) -> Typed {
        let editor = match sort {
            Sort::Input => &mut self.input,
            Sort::Answer => {
                Mode::discard_typed();
                &mut self.answers
            }
        };
        let styled = if self.colour {
            paint(style::BOLD, prompt)
        } else {
            prompt.to_owned()
        };
        let line = match editor.readline_with_initial(&(prompt, styled), (initial, "")) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => return Typed::Interrupted,
            Err(_) => return Typed::Ended,
        };
        if sort == Sort::Input && !line.trim().is_empty() {
            // A history that cannot be written does not stop the chat.
            let _ = self.input.add_history_entry(&line);
            if let Some(file) = &self.history {
                let _ = self.input.append_history(file);
            }
        }
        Typed::Line(line)
    }
}

/// Asks the user, who must have seen the question. Everything but `y` and `yes` is a no.
pub(crate) async fn confirm(prompt: &str) -> anyhow::Result<bool> {
    Ok(Editor::open(None)?.answer(prompt, "").await.is_yes())
}
