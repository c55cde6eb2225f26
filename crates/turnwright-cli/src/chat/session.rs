//! A chat from its first line to its last.

use std::time::Instant;

use anyhow::Context as _;
use turnwright::Effects;
use turnwright::prelude::*;
use turnwright::runner::TurnRunnerBuilder;

use super::input::Input;
use super::messages::{advise, after, help, warn};
use super::open_conversation::OpenConversation;
use super::resume::NOTHING;
use crate::agent::{Agent, with_storage};
use crate::args;
use crate::exit::{Exit, misuse};
use crate::mcp_servers;
use crate::show::{Show, Shown};
use crate::storage::{self, ConversationPart};
use crate::terminal::{
    ApprovalPrompt, Editor, Lines, Screen, Signal, Signals, Typed, one_line, plain, style,
};
use crate::turns::{self, IfHeld, TurnSummary};
use crate::units::plural;

const PROMPT: &str = "you › ";
const MORE: &str = "  … › ";

/// A chat.
pub(super) struct Session {
    pub(super) agent: Agent,
    /// The conversation.
    pub(super) part: ConversationPart,
    /// `None` if nothing is stored.
    pub(super) conversation: Option<OpenConversation>,
    /// How a turn is resumed.
    pub(super) again: args::ResumeOptions,
    pub(super) signals: Signals,
}

impl Session {
    pub(super) async fn converse(
        mut self,
        runner: TurnRunnerBuilder,
        screen: Screen,
    ) -> anyhow::Result<Exit> {
        let mut signals = Signals::listen()?;
        let (runner, messages) = tokio::select! {
            started = self.begin(runner) => started?,
            signal = signals.next() => return Ok(signal.exit()),
        };
        self.signals = signals;
        let exit = if screen.is_interactive() {
            self.interactive(screen, &runner, messages).await
        } else {
            self.batch(screen, &runner).await
        };
        if let Some(conversation) = &self.conversation {
            // Everything is stored already; only cleaning up could fail.
            let _ = conversation.storage.store.close().await;
        }
        exit
    }

    /// A runner for the conversation, and the number of its messages.
    async fn begin(&self, runner: TurnRunnerBuilder) -> anyhow::Result<(TurnRunner, usize)> {
        let Some(conversation) = &self.conversation else {
            return Ok((with_storage(runner, None).await?, 0));
        };
        let runner = with_storage(runner, Some(&conversation.storage)).await?;
        Ok((runner, conversation.messages().await?))
    }

    /// At a terminal.
    async fn interactive(
        &mut self,
        mut screen: Screen,
        runner: &TurnRunner,
        messages: usize,
    ) -> anyhow::Result<Exit> {
        let conversation = self.conversation.as_ref();
        let history = conversation.map(|conversation| conversation.lock.history.clone());
        let editor = Editor::open(history).context("cannot read from the terminal")?;
        self.banner(&mut screen, messages)?;
        self.warn_of_cut_off(&mut screen, true).await?;
        let approval_prompt = ApprovalPrompt::new(self.agent.options.yes, Some(editor.clone()))
            .tell_model(self.again.tell_model);
        let mut show = Show::new(screen, approval_prompt).markdown(!self.agent.options.plain);
        // Whether Ctrl-C was pressed last.
        let mut leaving = false;
        loop {
            let typed = tokio::select! {
                typed = complete_line(&editor) => typed,
                () = self.signals.terminated() => return Ok(Exit::Done),
            };
            let line = match typed {
                Typed::Line(line) => line,
                Typed::Ended => return Ok(Exit::Done),
                Typed::Interrupted if leaving => return Ok(Exit::Interrupted),
                Typed::Interrupted => {
                    leaving = true;
                    let hint = "Press Ctrl-C again, or Ctrl-D, or type /quit to exit.";
                    show.screen.dim(hint)?;
                    continue;
                }
            };
            leaving = false;
            let (text, last) = match Input::of(&line) {
                Input::ToModel(text) => (text, None),
                Input::Resume => match self.resumable(&mut show.screen).await? {
                    Some(last) => ("", Some(last)),
                    None => continue,
                },
                Input::Quit => return Ok(Exit::Done),
                command => {
                    self.command(&command, &mut show.screen).await?;
                    continue;
                }
            };
            if self.turn(&mut show, runner, text, last).await? {
                return Ok(Exit::Done);
            }
        }
    }

    /// Runs a command of the chat itself.
    async fn command(&mut self, command: &Input<'_>, screen: &mut Screen) -> anyhow::Result<()> {
        match command {
            Input::Help => help(screen)?,
            Input::Tools => self.list_tools(screen)?,
            Input::New => self.start_next_part(screen).await?,
            Input::Unknown(word) => {
                let word = one_line(word, 40);
                screen.warn(format!(
                    "Unknown command {word}. Type /help for a list, or begin with a space to send the line to the model."
                ))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// The last turn, if it can be resumed. Otherwise prints why not.
    async fn resumable(&self, screen: &mut Screen) -> anyhow::Result<Option<TurnSummary>> {
        let Some(last) = self.unanswered().await? else {
            screen.dim(NOTHING)?;
            return Ok(None);
        };
        match self.check_resume(&last, true).await {
            Ok(()) => Ok(Some(last)),
            Err(why) => {
                screen.warn(plain(&storage::explain(why).to_string()))?;
                Ok(None)
            }
        }
    }

    /// Without a terminal: each line is a turn, and calls that need approval are denied.
    async fn batch(&mut self, screen: Screen, runner: &TurnRunner) -> anyhow::Result<Exit> {
        let approval_prompt =
            ApprovalPrompt::new(self.agent.options.yes, None).tell_model(self.again.tell_model);
        let mut show = Show::new(screen.answers_alone(), approval_prompt);
        if show.screen.uses_stderr() {
            for warning in self.agent.warnings() {
                show.screen.warn(warning)?;
            }
            self.warn_of_cut_off(&mut show.screen, false).await?;
        }
        let mut lines = Lines::open();
        let mut exit = Exit::Done;
        let stopped = |signal, exit| match signal {
            Signal::Interrupt => Exit::Interrupted,
            Signal::Terminate => exit,
        };
        loop {
            let line = tokio::select! {
                line = lines.next() => line,
                signal = self.signals.next() => return Ok(stopped(signal, exit)),
            };
            let Some(line) = line.map_err(|error| misuse(error.to_string()))? else {
                return Ok(exit);
            };
            let text = line.trim();
            if text.is_empty() {
                continue;
            }
            if let Some(signal) = self.wait_for_others(&mut show.screen).await? {
                return Ok(stopped(signal, exit));
            }
            let last = match Input::of(&line) {
                Input::Resume => match self.unanswered().await? {
                    Some(last) => {
                        self.check_resume(&last, false).await?;
                        Some(last)
                    }
                    None => {
                        anyhow::ensure!(show.screen.uses_stderr(), NOTHING);
                        show.screen.warn(NOTHING)?;
                        exit = Exit::No;
                        continue;
                    }
                },
                _ => None,
            };
            let shown = self.run(&mut show, runner, text, last).await?;
            if show.screen.uses_stderr() {
                advise(&mut show, &shown, self.agent.model.key)?;
                warn(&mut show)?;
            }
            exit = shown.exit();
            if shown.interrupted {
                return Ok(exit);
            }
        }
    }

    /// Runs a turn at the terminal. Returns whether the program was asked to terminate.
    async fn turn(
        &self,
        show: &mut Show,
        runner: &TurnRunner,
        text: &str,
        last: Option<TurnSummary>,
    ) -> anyhow::Result<bool> {
        if let Some(signal) = self.wait_for_others(&mut show.screen).await? {
            show.screen.painted(style::WARN, "cancelled")?;
            return Ok(signal == Signal::Terminate);
        }
        let started = Instant::now();
        let shown = self.run(show, runner, text, last).await?;
        after(show, &shown, self.agent.model.key, started.elapsed())?;
        Ok(shown.terminated)
    }

    /// Runs a turn with this text, or resumes one.
    async fn run(
        &self,
        show: &mut Show,
        runner: &TurnRunner,
        text: &str,
        last: Option<TurnSummary>,
    ) -> anyhow::Result<Shown> {
        let deleted = match &self.conversation {
            Some(conversation) => conversation.renew().await?,
            None => false,
        };
        if let Some(last) = last {
            let conversation = last.conversation_id.as_str();
            return show.resume(runner, conversation, last.id()).await;
        }
        if deleted {
            let text = "this conversation was deleted meanwhile and starts again";
            show.screen.warn(text)?;
        }
        let input = TurnInput::new(text).conversation(self.part.to_string());
        show.turn(runner, input).await
    }

    /// Waits for a process that ran the conversation and may have crashed. Returns the signal that ended the wait, if any.
    async fn wait_for_others(&self, screen: &mut Screen) -> anyhow::Result<Option<Signal>> {
        let Some(conversation) = &self.conversation else {
            return Ok(None);
        };
        let (storage, id) = (&conversation.storage, conversation.id());
        let mut signals = Signals::listen()?;
        let signal = tokio::select! {
            waited = turns::wait_until_free(storage, &id, None, IfHeld::Continue, screen) => {
                waited?;
                None
            }
            signal = signals.next() => Some(signal),
        };
        screen.rest();
        Ok(signal)
    }

    async fn start_next_part(&mut self, screen: &mut Screen) -> anyhow::Result<()> {
        let mut text = "Started a new part.".to_owned();
        if let Some(conversation) = &mut self.conversation {
            if let Some(before) = conversation.start_next_part().await? {
                text.push_str(&format!(
                    " The earlier messages stay stored as {before} and are not sent."
                ));
            }
            self.part = conversation.part.clone();
        } else {
            self.part = self.part.next();
        }
        screen.dim(text)?;
        Ok(())
    }

    fn banner(&self, screen: &mut Screen, messages: usize) -> anyhow::Result<()> {
        screen.paragraph(style::BOLD, "", &self.agent.model.shown)?;
        let name = &self.part;
        let conversation = match (&self.conversation, messages) {
            (None, _) => "nothing is stored".to_owned(),
            (Some(_), 0) => format!("conversation {name} (new)"),
            (Some(_), many) => {
                let many = plural(many as u64, "message");
                format!("conversation {name} ({many})")
            }
        };
        let reads = if self.agent.builtin_tools {
            format!(
                "reads {} · ",
                plain(&self.agent.folder.display().to_string())
            )
        } else {
            String::new()
        };
        screen.dim(format!("{reads}{conversation} · type /help for commands"))?;
        if let Some(summary) = mcp_servers::summary(&self.agent.mcp) {
            screen.dim(summary)?;
        }
        for warning in self.agent.warnings() {
            screen.warn(warning)?;
        }
        Ok(())
    }

    fn list_tools(&self, screen: &mut Screen) -> anyhow::Result<()> {
        let tools = self.agent.all_tools();
        if tools.is_empty() {
            screen.line("The model has no tools.")?;
        }
        for tool in &tools {
            let about = plain(tool.description()).into_owned();
            let first = about.lines().next().unwrap_or_default();
            let asks = match tool.effects() {
                Effects::ReadOnly => "",
                _ => " (needs approval)",
            };
            let name = style::paint(style::NAME, plain(tool.name()));
            screen.line(format_args!("{name}{asks}"))?;
            screen.paragraph(style::DIM, "  ", first)?;
        }
        Ok(())
    }
}

/// A line, with those that continue it.
async fn complete_line(editor: &Editor) -> Typed {
    let mut text = String::new();
    let mut prompt = PROMPT;
    loop {
        match editor.line(prompt).await {
            Typed::Line(line) => match line.strip_suffix('\\') {
                Some(part) => {
                    text.push_str(part);
                    text.push('\n');
                    prompt = MORE;
                }
                None => return Typed::Line(text + &line),
            },
            // An unfinished line is sent too.
            Typed::Ended if !text.is_empty() => return Typed::Line(text),
            other => return other,
        }
    }
}
