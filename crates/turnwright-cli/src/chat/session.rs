//! A chat from its first line to its last.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use turnwright::middleware::hydrate;
use turnwright::prelude::*;
use turnwright::store::Scope;

use super::commands::{COMMANDS, HINTS, Said};
use super::kept::Kept;
use super::records::SCOPE;
use crate::args;
use crate::exit::Exit;
use crate::show::{Show, Shown, count};
use crate::terminal::{
    Consent, Editor, Lines, Screen, Signals, Told, Typed, one_line, plain, style,
};

const PROMPT: &str = "you › ";
const MORE: &str = "  … › ";

/// What a chat is made of.
pub(super) struct Session {
    pub(super) told: args::Chat,
    /// Which conversation it is.
    pub(super) name: String,
    /// What somebody should know before they begin.
    pub(super) cares: Vec<String>,
    pub(super) folder: PathBuf,
    pub(super) model: ChatCompletions,
    /// Which model where, for people.
    pub(super) server: String,
    pub(super) tools: Vec<Tool>,
    /// None if nothing is kept.
    pub(super) kept: Option<Kept>,
    pub(super) signals: Signals,
}

/// A conversation that goes on.
struct Running {
    runner: TurnRunner,
    /// How many messages there were.
    messages: usize,
    /// Whether the last thing that was written was not whole.
    torn: bool,
}

impl Session {
    pub(super) async fn hold(
        mut self,
        screen: Screen,
        set_aside: Option<PathBuf>,
    ) -> anyhow::Result<Exit> {
        let mut signals = Signals::listen()?;
        let running = tokio::select! {
            running = self.begin() => running?,
            told = signals.next() => return Ok(match told {
                Told::Interrupt => Exit::Interrupted,
                Told::Terminate => Exit::Done,
            }),
        };
        self.signals = signals;
        match screen.is_attended() {
            true => self.with_person(screen, running, set_aside).await,
            false => self.with_pipe(screen, running).await,
        }
    }

    /// A runner that goes on where the conversation is.
    async fn begin(&self) -> anyhow::Result<Running> {
        let runner = turnwright::runner(self.model.clone())
            .turn_input(hydrate().last(self.told.last.unwrap_or(usize::MAX)))
            .tools(self.tools.clone())
            .policy(before_writes("it may change something"));
        let Some(kept) = &self.kept else {
            let runner = runner.build()?;
            return Ok(Running {
                runner,
                messages: 0,
                torn: false,
            });
        };
        let recalled = kept.recall().await?;
        let torn = recalled.torn;
        let messages = recalled.records.messages(&Scope::new(SCOPE)).await?.len();
        let runner = runner
            .spool(recalled.spool)
            .secret(recalled.secret)
            .store(recalled.records)
            .build()?;
        Ok(Running {
            runner,
            messages,
            torn,
        })
    }

    /// Somebody sits at the terminal.
    async fn with_person(
        mut self,
        mut screen: Screen,
        mut running: Running,
        set_aside: Option<PathBuf>,
    ) -> anyhow::Result<Exit> {
        let editor = Editor::open(self.kept.as_ref().map(Kept::history))
            .context("the terminal cannot be read from")?;
        self.banner(&mut screen, &running, set_aside.as_deref())?;
        let consent = match self.told.yes {
            true => Consent::Given,
            false => Consent::Person(editor.clone()),
        };
        let mut show = Show::new(screen, consent);
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
            match Said::of(&line) {
                Said::Nothing => {}
                Said::Quit => return Ok(Exit::Done),
                Said::Help => help(&mut show.screen)?,
                Said::Tools => self.list_tools(&mut show.screen)?,
                Said::New => running = self.begin_anew(&mut show.screen).await?,
                Said::Unknown(word) => {
                    let word = one_line(word, 40);
                    let hint = format!(
                        "There is no command {word}: /help shows which there are. Begin with a space to say it to the model."
                    );
                    show.screen.paragraph(style::CARE, "", &hint)?;
                }
                Said::ToModel(text) => {
                    let begun = Instant::now();
                    let shown = show.turn(&running.runner, self.input(text)).await?;
                    after(&mut show, &shown, begun.elapsed())?;
                    if shown.terminated {
                        return Ok(Exit::Done);
                    }
                }
            }
        }
    }

    /// A pipe, a file, or a machine: each line is a turn, and nobody is there to be asked.
    async fn with_pipe(mut self, screen: Screen, running: Running) -> anyhow::Result<Exit> {
        let consent = match self.told.yes {
            true => Consent::Given,
            false => Consent::Nobody,
        };
        let mut show = Show::new(screen.answers_alone(), consent);
        if show.screen.is_aside() {
            for care in &self.cares {
                show.screen.paragraph(style::CARE, "", care)?;
            }
        }
        let mut lines = Lines::open().context("standard input cannot be read")?;
        let mut exit = Exit::Done;
        loop {
            let line = tokio::select! {
                line = lines.next() => line,
                told = self.signals.next() => return Ok(match told {
                    Told::Interrupt => Exit::Interrupted,
                    Told::Terminate => exit,
                }),
            };
            let Some(line) = line else {
                return Ok(exit);
            };
            let text = line.trim();
            if text.is_empty() {
                continue;
            }
            let shown = show.turn(&running.runner, self.input(text)).await?;
            let said = !shown.outcome.text.trim().is_empty();
            exit = match shown.outcome.is_answered() && said {
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

    fn input(&self, text: &str) -> TurnInput {
        TurnInput::new(text).conversation(SCOPE)
    }

    async fn begin_anew(&self, screen: &mut Screen) -> anyhow::Result<Running> {
        let aside = match &self.kept {
            Some(kept) => kept.set_aside()?,
            None => None,
        };
        let running = self.begin().await?;
        let said = match aside {
            Some(aside) => format!(
                "Begun anew. What was said is set aside in {}.",
                shown(&aside)
            ),
            None => "Begun anew.".to_owned(),
        };
        screen.paragraph(style::DIM, "", &said)?;
        Ok(running)
    }

    fn banner(
        &self,
        screen: &mut Screen,
        running: &Running,
        set_aside: Option<&Path>,
    ) -> anyhow::Result<()> {
        screen.paragraph(style::BOLD, "", &self.server)?;
        let name = &self.name;
        let conversation = match (&self.kept, running.messages) {
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
            shown(&self.folder)
        );
        screen.paragraph(style::DIM, "", &about)?;
        for care in &self.cares {
            screen.paragraph(style::CARE, "", care)?;
        }
        if running.torn {
            let text = "the last line of what was kept was not whole, and was left out";
            screen.paragraph(style::CARE, "", text)?;
        }
        if let Some(aside) = set_aside {
            let said = format!("what was said before is set aside in {}", shown(aside));
            screen.paragraph(style::DIM, "", &said)?;
        }
        Ok(())
    }

    fn list_tools(&self, screen: &mut Screen) -> anyhow::Result<()> {
        if self.tools.is_empty() {
            screen.line("The model has no tools.")?;
        }
        for tool in &self.tools {
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

/// What helps here against what went wrong: the kit's own words are for whoever writes a program with it.
fn advice(error: &Error) -> Option<&'static str> {
    let cause = error.cause().unwrap_or(error);
    Some(match cause.code() {
        ErrorCode::ContextWindow => "/new begins anew; --last N sends the last N exchanges alone",
        ErrorCode::ModelServer if cause.kind() == ErrorKind::Denied => {
            "the key is what OPENAI_API_KEY holds"
        }
        ErrorCode::ModelUnreachable => "--base-url names the server",
        ErrorCode::ResponseIncomplete => "ask for less at once, or say: go on",
        _ => return None,
    })
}

/// What a turn took, and what operators should know.
fn after(show: &mut Show, shown: &Shown, took: Duration) -> anyhow::Result<()> {
    let advice = shown.outcome.error().as_ref().and_then(advice);
    if let Some(advice) = advice.filter(|_| !shown.interrupted) {
        let text = format!("what helps: {advice}");
        show.screen.paragraph(style::CARE, "", &text)?;
    }
    for warning in show.tally().take_warnings() {
        let warning = format!("note: {}", plain(&warning));
        show.screen.paragraph(style::CARE, "", &warning)?;
    }
    let used = shown.outcome.usage;
    let seconds = format!("{:.1} s", took.as_secs_f64());
    let line = match used.input_tokens.saturating_add(used.output_tokens) {
        0 if !shown.outcome.is_answered() => return Ok(()),
        0 => seconds,
        _ => {
            let cached = match used.cached_input_tokens {
                0 => String::new(),
                cached => format!(" ({} cached)", count(cached)),
            };
            let (read, written) = (count(used.input_tokens), count(used.output_tokens));
            format!("{read} tokens read{cached}, {written} written · {seconds}")
        }
    };
    show.screen.paragraph(style::DIM, "", &line)?;
    Ok(())
}

fn help(screen: &mut Screen) -> anyhow::Result<()> {
    for (command, does) in COMMANDS {
        let command = style::paint(style::NAME, format_args!("{command:<8}"));
        screen.line(format_args!("{command}{does}"))?;
    }
    for hint in HINTS {
        screen.paragraph(style::DIM, "", hint)?;
    }
    Ok(())
}

/// A path that may hold anything.
fn shown(path: &Path) -> String {
    plain(&path.display().to_string()).into_owned()
}
