use std::path::Path;
use std::time::Instant;

use anyhow::Context as _;
use turnwright::prelude::*;
use turnwright::runner::TurnRunnerBuilder;

use super::input::Input;
use super::messages::{advise, after, help};
use super::open_conversation::OpenConversation;
use super::resume::NOTHING;
use crate::agent::{Agent, with_storage};
use crate::args;
use crate::exit::{Exit, misuse};
use crate::show::Show;
use crate::storage::ConversationPart;
use crate::terminal::{
    ApprovalPrompt, Editor, Lines, Screen, Signal, Signals, Typed, one_line, plain, style,
};
use crate::turns::{self, IfHeld, TurnSummary};
use crate::units::count;

const PROMPT: &str = "you › ";
const MORE: &str = "  … › ";

/// What a chat is made of.
pub(super) struct Session {
    pub(super) agent: Agent,
    /// Which conversation it is.
    pub(super) part: ConversationPart,
    /// None if nothing is kept.
    pub(super) conversation: Option<OpenConversation>,
    /// How a turn is taken up again.
    pub(super) again: args::ResumeOptions,
    pub(super) signals: Signals,
}

/// A conversation that goes on.
pub(super) struct Running {
    pub(super) runner: TurnRunner,
    /// How many messages there were.
    messages: usize,
}

/// What a turn begins with.
enum What<'w> {
    Input(&'w str),
    /// A turn that is taken up again.
    ResumeOptions(&'w TurnSummary),
}

impl Session {
    pub(super) async fn hold(
        mut self,
        runner: TurnRunnerBuilder,
        screen: Screen,
    ) -> anyhow::Result<Exit> {
        let mut signals = Signals::listen()?;
        let running = tokio::select! {
            running = self.begin(runner) => running?,
            signal = signals.next() => return Ok(match signal {
                Signal::Interrupt => Exit::Interrupted,
                Signal::Terminate => Exit::Done,
            }),
        };
        self.signals = signals;
        let exit = match screen.is_attended() {
            true => self.with_person(screen, &running).await,
            false => self.with_pipe(screen, &running).await,
        };
        if let Some(conversation) = &self.conversation {
            // What was said is there already: only the tidying up could fail.
            let _ = conversation.storage.close().await;
        }
        exit
    }

    /// A runner that goes on where the conversation is.
    async fn begin(&self, runner: TurnRunnerBuilder) -> anyhow::Result<Running> {
        let storage = self
            .conversation
            .as_ref()
            .map(|conversation| &conversation.storage);
        let messages = match &self.conversation {
            Some(conversation) => conversation.messages().await?,
            None => 0,
        };
        Ok(Running {
            runner: with_storage(runner, storage).await?,
            messages,
        })
    }

    /// Somebody sits at the terminal.
    async fn with_person(&mut self, mut screen: Screen, running: &Running) -> anyhow::Result<Exit> {
        let history = self
            .conversation
            .as_ref()
            .map(|conversation| conversation.desk.history());
        let editor = Editor::open(history).context("the terminal cannot be read from")?;
        self.banner(&mut screen, running)?;
        self.tell_of_cut_off(&mut screen, true).await?;
        let approval_prompt = ApprovalPrompt::new(self.agent.options.yes, Some(editor.clone()))
            .tell_model(self.again.tell_model);
        let mut show = Show::new(screen, approval_prompt);
        // Whether Ctrl-C was pressed last.
        let mut leaving = false;
        loop {
            let typed = tokio::select! {
                typed = whole_line(&editor) => typed,
                () = self.signals.terminated() => return Ok(Exit::Done),
            };
            let line = match typed {
                Typed::Line(line) => line,
                Typed::Ended => return Ok(Exit::Done),
                Typed::Interrupted if leaving => return Ok(Exit::Interrupted),
                Typed::Interrupted => {
                    leaving = true;
                    let hint = "Ctrl-D, /quit or Ctrl-C again ends the program.";
                    show.screen.paragraph(style::DIM, "", hint)?;
                    continue;
                }
            };
            leaving = false;
            match Input::of(&line) {
                Input::Nothing => {}
                Input::Quit => return Ok(Exit::Done),
                Input::Help => help(&mut show.screen)?,
                Input::Tools => self.list_tools(&mut show.screen)?,
                Input::New => self.begin_anew(&mut show.screen).await?,
                Input::Unknown(word) => {
                    let word = one_line(word, 40);
                    let hint = format!(
                        "There is no command {word}: /help shows which there are. Begin with a space to say it to the model."
                    );
                    show.screen.paragraph(style::CARE, "", &hint)?;
                }
                Input::ToModel(text) => {
                    let what = What::Input(text);
                    if self.turn(&mut show, running, what).await? == Some(Signal::Terminate) {
                        return Ok(Exit::Done);
                    }
                }
                Input::Resume => {
                    let Some(last) = self.unanswered().await? else {
                        show.screen.paragraph(style::DIM, "", NOTHING)?;
                        continue;
                    };
                    if let Err(why) = self.may_take_up(&last, true).await? {
                        let why = plain(&why.to_string()).into_owned();
                        show.screen.paragraph(style::CARE, "", &why)?;
                        continue;
                    }
                    let what = What::ResumeOptions(&last);
                    if self.turn(&mut show, running, what).await? == Some(Signal::Terminate) {
                        return Ok(Exit::Done);
                    }
                }
            }
        }
    }

    /// A pipe, a file, or a machine: each line is a turn, and nobody is there to be asked.
    async fn with_pipe(&mut self, screen: Screen, running: &Running) -> anyhow::Result<Exit> {
        let approval_prompt =
            ApprovalPrompt::new(self.agent.options.yes, None).tell_model(self.again.tell_model);
        let mut show = Show::new(screen.answers_alone(), approval_prompt);
        if show.screen.is_aside() {
            for care in self.agent.cares() {
                show.screen.paragraph(style::CARE, "", &care)?;
            }
            self.tell_of_cut_off(&mut show.screen, false).await?;
        }
        let mut lines = Lines::open().context("standard input cannot be read")?;
        let mut exit = Exit::Done;
        loop {
            let line = tokio::select! {
                line = lines.next() => line,
                options = self.signals.next() => return Ok(match options {
                    Signal::Interrupt => Exit::Interrupted,
                    Signal::Terminate => exit,
                }),
            };
            let Some(line) = line.map_err(|error| misuse(error.to_string()))? else {
                return Ok(exit);
            };
            let text = line.trim();
            if text.is_empty() {
                continue;
            }
            if let Some(options) = self.wait_for_others(&mut show.screen).await? {
                return Ok(match options {
                    Signal::Interrupt => Exit::Interrupted,
                    Signal::Terminate => exit,
                });
            }
            let shown = match Input::of(&line) {
                Input::Resume => match self.unanswered().await? {
                    Some(last) => {
                        self.may_take_up(&last, false).await??;
                        self.take_up(&mut show, running, &last).await?
                    }
                    None => {
                        anyhow::ensure!(show.screen.is_aside(), NOTHING);
                        show.screen.paragraph(style::CARE, "", NOTHING)?;
                        exit = Exit::No;
                        continue;
                    }
                },
                _ => {
                    let input = self.input(text, &mut show.screen).await?;
                    show.turn(&running.runner, input).await?
                }
            };
            if show.screen.is_aside() {
                advise(&mut show, &shown)?;
            }
            let has_text = !shown.outcome.text.trim().is_empty();
            exit = match shown.outcome.is_answered() && has_text {
                true => Exit::Done,
                false => Exit::No,
            };
            if shown.terminated {
                return Ok(exit);
            }
            if shown.interrupted {
                return Ok(Exit::Interrupted);
            }
        }
    }

    /// A turn at the terminal, to its end. What called it off, if something did.
    async fn turn(
        &self,
        show: &mut Show,
        running: &Running,
        what: What<'_>,
    ) -> anyhow::Result<Option<Signal>> {
        if let Some(options) = self.wait_for_others(&mut show.screen).await? {
            show.screen.line(style::paint(style::CARE, "called off"))?;
            return Ok(Some(options));
        }
        let begun = Instant::now();
        let shown = match what {
            What::Input(text) => {
                let input = self.input(text, &mut show.screen).await?;
                show.turn(&running.runner, input).await?
            }
            What::ResumeOptions(last) => self.take_up(show, running, last).await?,
        };
        after(show, &shown, begun.elapsed())?;
        Ok(match (shown.terminated, shown.interrupted) {
            (true, _) => Some(Signal::Terminate),
            (false, true) => Some(Signal::Interrupt),
            (false, false) => None,
        })
    }

    /// Waits for a program that had the conversation and may have crashed. What was told meanwhile, if something was.
    async fn wait_for_others(&self, screen: &mut Screen) -> anyhow::Result<Option<Signal>> {
        let Some(conversation) = &self.conversation else {
            return Ok(None);
        };
        let conversation_id = conversation.part.conversation_id();
        let mut signals = Signals::listen()?;
        let signal = tokio::select! {
            waited = turns::wait_until_free(&conversation.storage, &conversation_id, None, IfHeld::GoOn, screen) => {
                waited?;
                None
            }
            signal = signals.next() => Some(signal),
        };
        screen.rest();
        Ok(signal)
    }

    async fn input(&self, text: &str, screen: &mut Screen) -> anyhow::Result<TurnInput> {
        if let Some(conversation) = &self.conversation
            && conversation.renew().await?
            && !screen.is_json()
        {
            let text = "this conversation was deleted meanwhile: it begins anew";
            screen.paragraph(style::CARE, "", text)?;
        }
        Ok(TurnInput::new(text).conversation(self.part.to_string()))
    }

    async fn begin_anew(&mut self, screen: &mut Screen) -> anyhow::Result<()> {
        let before = match &mut self.conversation {
            Some(conversation) => {
                let before = conversation.begin_anew().await?;
                self.part = conversation.part.clone();
                before
            }
            // Nothing is kept, and nothing leads back to it.
            None => {
                self.part = self.part.next();
                None
            }
        };
        let text = match before {
            Some(before) => {
                format!("Begun anew. What was said stays as {before}, and is not sent any more.")
            }
            None => "Begun anew.".to_owned(),
        };
        screen.paragraph(style::DIM, "", &text)?;
        Ok(())
    }

    fn banner(&self, screen: &mut Screen, running: &Running) -> anyhow::Result<()> {
        screen.paragraph(style::BOLD, "", &self.agent.shown())?;
        let name = &self.part;
        let conversation = match (&self.conversation, running.messages) {
            (None, _) => "nothing is kept".to_owned(),
            (Some(_), 0) => format!("conversation {name}, new"),
            (Some(_), 1) => format!("conversation {name}, goes on after 1 message"),
            (Some(_), many) => {
                let many = count(many as u64);
                format!("conversation {name}, goes on after {many} messages")
            }
        };
        let about = format!(
            "reads below {} · {conversation} · /help shows what you can type",
            shown(&self.agent.folder)
        );
        screen.paragraph(style::DIM, "", &about)?;
        for care in self.agent.cares() {
            screen.paragraph(style::CARE, "", &care)?;
        }
        Ok(())
    }

    fn list_tools(&self, screen: &mut Screen) -> anyhow::Result<()> {
        if self.agent.tools.is_empty() {
            screen.line("The model has no tools.")?;
        }
        for tool in &self.agent.tools {
            let about = plain(tool.description()).into_owned();
            let first = about.lines().next().unwrap_or_default();
            let asks = match tool.effects() {
                Effects::ReadOnly => "",
                _ => " (you are asked first)",
            };
            let name = style::paint(style::NAME, plain(tool.name()));
            screen.line(format_args!("{name}{asks}"))?;
            screen.paragraph(style::DIM, "  ", first)?;
        }
        Ok(())
    }
}

/// A line, with those that go on from it.
async fn whole_line(editor: &Editor) -> Typed {
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
            // What was begun is said all the same.
            Typed::Ended if !text.is_empty() => return Typed::Line(text),
            other => return other,
        }
    }
}

/// A path that may hold anything.
fn shown(path: &Path) -> String {
    plain(&path.display().to_string()).into_owned()
}
