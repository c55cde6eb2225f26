//! A turn as it is seen: what the model says, what it calls, what comes of it, who is asked.

mod result;
mod tally;

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use serde_json::{Value, json};
use turnwright::prelude::*;
use turnwright::turn::Delta;

pub(crate) use result::{count, size};
pub(crate) use tally::Tally;

use crate::terminal::style::{self, paint};
use crate::terminal::{Consent, Flow, Screen, fit, json as shown_json, one_line, plain};

/// How much of a line is shown where nobody counts columns.
const LINE: usize = 160;

/// Shows turns on a screen, and answers at their gates.
pub(crate) struct Show {
    pub(crate) screen: Screen,
    consent: Consent,
    tally: Arc<Tally>,
    speech: Option<Speech>,
    /// The calls of which something was shown already.
    announced: HashSet<Arc<str>>,
    /// Whether something was shown since the last words.
    apart: bool,
}

/// A text that is being said.
struct Speech {
    id: Arc<str>,
    flow: Flow,
    style: anstyle::Style,
}

/// What came of a turn that was shown.
pub(crate) struct Shown {
    pub(crate) outcome: TurnOutcome,
    /// Whether somebody called it off.
    pub(crate) interrupted: bool,
}

impl Show {
    pub(crate) fn new(screen: Screen, consent: Consent) -> Self {
        Show {
            screen,
            consent,
            tally: Arc::default(),
            speech: None,
            announced: HashSet::new(),
            apart: false,
        }
    }

    /// What was counted so far, in all turns that were shown.
    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Starts a turn and shows it to its end. Ctrl-C calls it off.
    pub(crate) async fn turn(
        &mut self,
        runner: &TurnRunner,
        input: TurnInput,
    ) -> anyhow::Result<Shown> {
        let tally = Arc::clone(&self.tally);
        let mut turn = runner.start(input.observer(move |event| tally.note(event)));
        let mut interrupted = false;
        self.wait();
        loop {
            tokio::select! {
                event = turn.next() => match event {
                    None => break,
                    Some(TurnEvent::GateOpened(gate)) => {
                        self.end_speech()?;
                        self.tell(&TurnEvent::GateOpened(Arc::clone(&gate)))?;
                        self.announced.extend(gate.tool_call.clone());
                        let gates = turn.gates();
                        if !self.consent.answer(&mut self.screen, &gate, &gates).await? {
                            interrupted = true;
                            turn.cancel();
                        }
                    }
                    Some(event) => self.event(event).await?,
                },
                signal = tokio::signal::ctrl_c() => {
                    signal?;
                    if interrupted {
                        // Asked twice: whoever does that does not want to wait.
                        std::process::exit(130);
                    }
                    interrupted = true;
                    turn.cancel();
                }
            }
        }
        self.end_speech()?;
        self.screen.rest();
        let outcome = turn.outcome().await;
        self.end(&outcome, interrupted)?;
        Ok(Shown {
            outcome,
            interrupted,
        })
    }

    async fn event(&mut self, event: TurnEvent) -> anyhow::Result<()> {
        if self.screen.is_json() {
            return self.tell(&event);
        }
        match event {
            TurnEvent::MessageDelta(delta) => self.say(&delta, anstyle::Style::new())?,
            TurnEvent::ThoughtDelta(delta) => self.say(&delta, style::DIM)?,
            TurnEvent::Message(_) | TurnEvent::Thought(_) => self.end_speech()?,
            TurnEvent::ToolCallStarted { id, tool, args, .. } => {
                let args = result::as_written(&args, &self.tally.repairs_of(&id));
                self.announce(id, &tool, &shown_json(&args))?;
                self.screen.busy(&format!("{} runs", plain(&tool)));
            }
            TurnEvent::ToolCallProgress { message, .. } => {
                let message = one_line(&message, LINE);
                self.screen.busy(&message);
            }
            TurnEvent::ToolCall(call) => {
                if !self.announced.contains(call.id()) {
                    let args = match call.args().to_value() {
                        Value::String(text) => one_line(&text, LINE),
                        value => shown_json(&value),
                    };
                    self.announce(call.id().into(), call.tool(), &args)?;
                }
                result::show(&mut self.screen, &call, self.tally.repairs_of(call.id())).await?;
                self.wait();
            }
            TurnEvent::Discarded { id } => {
                if self.speech.as_ref().is_some_and(|speech| speech.id == id) {
                    self.end_speech()?;
                    let note = "the connection broke: what stands above is void, and comes again";
                    self.screen.line(paint(style::CARE, note))?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// That a call is made.
    fn announce(&mut self, id: Arc<str>, tool: &str, args: &str) -> io::Result<()> {
        self.end_speech()?;
        self.announced.insert(id);
        self.apart = true;
        let columns = self.columns().saturating_sub(tool.len() + 3);
        let args = fit(args, columns.max(8));
        let name = paint(style::NAME, format_args!("→ {}", plain(tool)));
        self.screen.line(format_args!("{name} {args}"))
    }

    /// A piece of a text.
    fn say(&mut self, delta: &Delta, style: anstyle::Style) -> io::Result<()> {
        if self
            .speech
            .as_ref()
            .is_none_or(|speech| speech.id != delta.id)
        {
            self.end_speech()?;
            if std::mem::take(&mut self.apart) {
                self.screen.line("")?;
            }
            self.speech = Some(Speech {
                id: Arc::clone(&delta.id),
                flow: Flow::new(self.screen.width(), ""),
                style,
            });
        }
        if let Some(speech) = &mut self.speech {
            let text = speech.flow.push(&plain(&delta.text));
            if !text.is_empty() {
                self.screen.write(paint(speech.style, text))?;
            }
        }
        Ok(())
    }

    fn end_speech(&mut self) -> io::Result<()> {
        let Some(mut speech) = self.speech.take() else {
            return Ok(());
        };
        let rest = speech.flow.end();
        let end = if speech.flow.is_within_line() {
            "\n"
        } else {
            ""
        };
        if rest.is_empty() && end.is_empty() {
            return Ok(());
        }
        self.screen
            .write(format_args!("{}{end}", paint(speech.style, rest)))
    }

    fn wait(&mut self) {
        self.screen.busy("waiting for the model");
    }

    fn columns(&self) -> usize {
        self.screen.width().unwrap_or(LINE)
    }

    /// For machines: an event is a line.
    fn tell(&mut self, event: &TurnEvent) -> anyhow::Result<()> {
        match self.screen.is_json() {
            true => self.screen.value(event),
            false => Ok(()),
        }
    }

    fn end(&mut self, outcome: &TurnOutcome, interrupted: bool) -> anyhow::Result<()> {
        let error = outcome.error();
        if self.screen.is_json() {
            return self.screen.value(&json!({
                "event": "turnEnd",
                "turnId": outcome.turn_id,
                "ended": outcome.ended.name(),
                "code": error.as_ref().map(|error| error.code().as_str()),
                "message": error.as_ref().map(Error::with_causes),
                "text": outcome.text,
                "iterations": outcome.iterations,
                "usage": outcome.usage,
            }));
        }
        if interrupted {
            self.screen.line(paint(style::CARE, "called off"))?;
        } else if let Some(error) = error {
            let why = plain(&error.with_causes()).into_owned();
            let code = error.cause().unwrap_or(&error).code();
            let no_answer = paint(style::BAD, "no answer:");
            self.screen
                .line(format_args!("{no_answer} {why} ({code})"))?;
        }
        Ok(())
    }
}
