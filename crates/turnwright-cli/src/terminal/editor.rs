//! Whoever types: lines with editing and a history.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

use rustyline::error::ReadlineError;
use rustyline::{Config, DefaultEditor};
use tokio::sync::oneshot;

/// Reads lines from whoever sits at the terminal, in a thread of its own: a line that nobody types blocks nothing. Clones
/// share it; one question is asked at a time.
#[derive(Clone)]
pub(crate) struct Editor(Arc<mpsc::Sender<Question>>);

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
    /// Whether it goes into the history.
    kept: bool,
    answer: oneshot::Sender<Typed>,
}

impl Editor {
    /// An editor; its history is read from this file and kept there, if one is named.
    pub(crate) fn open(history: Option<PathBuf>) -> anyhow::Result<Self> {
        let config = Config::builder().history_ignore_space(true).build();
        let mut editor = DefaultEditor::with_config(config)?;
        if let Some(file) = &history {
            // There is none the first time.
            let _ = editor.load_history(file);
        }
        let (questions, asked) = mpsc::channel::<Question>();
        thread::Builder::new()
            .name("editor".into())
            .spawn(move || {
                for question in asked {
                    let typed = ask(&mut editor, &question, history.as_ref());
                    // Nobody waits any more: the turn was called off.
                    let _ = question.answer.send(typed);
                }
            })?;
        Ok(Editor(Arc::new(questions)))
    }

    /// Asks for a line that is kept in the history.
    pub(crate) async fn line(&self, prompt: &str) -> Typed {
        self.ask(prompt, "", true).await
    }

    /// Asks for an answer, which begins as `initial`.
    pub(crate) async fn answer(&self, prompt: &str, initial: &str) -> Typed {
        self.ask(prompt, initial, false).await
    }

    async fn ask(&self, prompt: &str, initial: &str, kept: bool) -> Typed {
        let (answer, typed) = oneshot::channel();
        let question = Question {
            prompt: prompt.to_owned(),
            initial: initial.to_owned(),
            kept,
            answer,
        };
        match self.0.send(question) {
            Ok(()) => typed.await.unwrap_or(Typed::Ended),
            Err(_) => Typed::Ended,
        }
    }
}

fn ask(editor: &mut DefaultEditor, question: &Question, history: Option<&PathBuf>) -> Typed {
    let line = match question.initial.is_empty() {
        true => editor.readline(question.prompt.as_str()),
        false => editor.readline_with_initial(question.prompt.as_str(), (&question.initial, "")),
    };
    match line {
        Ok(line) => {
            if question.kept && !line.trim().is_empty() {
                // A history that cannot be written is no reason to stop.
                let _ = editor.add_history_entry(line.as_str());
                if let Some(file) = history {
                    let _ = editor.append_history(file);
                }
            }
            Typed::Line(line)
        }
        Err(ReadlineError::Interrupted) => Typed::Interrupted,
        Err(_) => Typed::Ended,
    }
}
