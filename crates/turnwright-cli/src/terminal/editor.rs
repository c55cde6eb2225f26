//! Whoever types: lines with editing and a history, where the terminal can do that.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

use rustyline::error::ReadlineError;
use rustyline::{ColorMode, Config, DefaultEditor};
use tokio::sync::{Mutex, oneshot};

use super::lines::Lines;
use super::mode::Mode;
use super::screen::{is_dumb, with_colour};
use super::signals::{Signal, Signals};
use super::style::{self, paint};

/// How many lines a history holds.
const HISTORY: usize = 1_000;
/// The largest file of a history that is read.
const LARGEST_HISTORY: u64 = 64 << 20;

/// Reads lines from whoever sits at the terminal, in a thread of its own: a line that nobody types blocks nothing. Clones
/// share it; one question is asked at a time. Once the last of them is gone the terminal is as it was.
#[derive(Clone)]
pub(crate) struct Editor(Arc<Kind>);

enum Kind {
    /// A terminal on which a line can be edited.
    Rich(Rich),
    /// One that only types.
    Plain(Mutex<Lines>),
}

struct Rich {
    questions: mpsc::Sender<Question>,
    /// Whether a line is being typed, so that the terminal is in the editor's hands.
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

struct Question {
    prompt: String,
    initial: String,
    sort: Sort,
    answer: oneshot::Sender<Typed>,
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
        if is_dumb() {
            let lines = Mutex::new(Lines::open()?);
            return Ok(Editor(Arc::new(Kind::Plain(lines))));
        }
        let mode = Mode::now();
        let mut typists = Typists::open(history)?;
        let typing = Arc::new(AtomicBool::new(false));
        let (questions, asked) = mpsc::channel::<Question>();
        let now = Arc::clone(&typing);
        thread::Builder::new()
            .name("editor".into())
            .spawn(move || {
                for question in asked {
                    now.store(true, Ordering::SeqCst);
                    let typed = typists.ask(&question);
                    now.store(false, Ordering::SeqCst);
                    // Nobody waits any more: the turn was called off.
                    let _ = question.answer.send(typed);
                }
            })?;
        let rich = Rich {
            questions,
            typing,
            mode,
        };
        Ok(Editor(Arc::new(Kind::Rich(rich))))
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
        let (answer, typed) = oneshot::channel();
        let question = Question {
            prompt: prompt.to_owned(),
            initial: initial.to_owned(),
            sort,
            answer,
        };
        match rich.questions.send(question) {
            Ok(()) => typed.await.unwrap_or(Typed::Ended),
            Err(_) => Typed::Ended,
        }
    }
}

impl Drop for Rich {
    /// Somebody may have stopped waiting for a line that is still being typed.
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

/// Two editors: what was said and what was answered have nothing to do with each other, neither in the history nor in what
/// was typed ahead.
struct Typists {
    speech: DefaultEditor,
    answers: DefaultEditor,
    history: Option<PathBuf>,
    colour: bool,
}

impl Typists {
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
        Ok(Typists {
            speech,
            answers: DefaultEditor::with_config(config)?,
            history,
            colour,
        })
    }

    fn ask(&mut self, question: &Question) -> Typed {
        let editor = match question.sort {
            Sort::Speech => &mut self.speech,
            Sort::Answer => {
                Mode::forget_typed();
                &mut self.answers
            }
        };
        let raw = question.prompt.as_str();
        let styled = match self.colour {
            true => paint(style::BOLD, raw),
            false => raw.to_owned(),
        };
        let line = match question.initial.as_str() {
            "" => editor.readline(&(raw, styled)),
            initial => editor.readline_with_initial(&(raw, styled), (initial, "")),
        };
        match line {
            Ok(line) => {
                if question.sort == Sort::Speech {
                    self.keep(&line);
                }
                Typed::Line(line)
            }
            Err(ReadlineError::Interrupted) => Typed::Interrupted,
            Err(_) => Typed::Ended,
        }
    }

    /// A history that cannot be written is no reason to stop.
    fn keep(&mut self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        let _ = self.speech.add_history_entry(line);
        if let Some(file) = &self.history {
            let _ = self.speech.append_history(file);
        }
    }
}
