//! `turnwright turns show`: a whole turn, as it is kept.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use turnwright::ToolCall;
use turnwright::record::{Author, CallState, GateRecord, GateState, LedgerEntry, Message, Record};
use turnwright::store::DamagedRecord;

use super::damaged::{self, tell_damaged};
use super::find::find;
use super::resume_check::{command, doubts};
use super::summary::TurnSummary;
use crate::args;
use crate::exit::{Exit, misuse};
use crate::show::{quoted, result};
use crate::storage::{ChatNote, Storage, StorageLocation};
use crate::terminal::style::{self, paint};
use crate::terminal::{Screen, fit, json, one_line, plain, wrap};
use crate::turn_state::State;
use crate::units::count;
use crate::units::{ago, took};

/// How much of a line is shown where nobody counts columns.
const LINE: usize = 160;

pub(super) async fn run(options: &args::TurnsShow, mut screen: Screen) -> anyhow::Result<Exit> {
    let place = StorageLocation::of(&options.storage)?;
    let Some(storage) = Storage::open_to_read(place).await? else {
        return Err(misuse("nothing is kept yet, so there is no turn to show"));
    };
    let summary = find(&storage, &options.turn).await?;
    let (records, damaged) = summary.records(&storage).await?;
    match screen.is_json() {
        true => screen.value(&to_value(&summary, &records, &damaged)?)?,
        false => {
            let about = ChatNote::of(&storage, &summary.conversation_id).await?;
            let mut page = Page {
                screen: &mut screen,
                summary: &summary,
                ledger: ledger(&summary, &records),
                apart: false,
            };
            page.head(about.as_ref())?;
            for record in &records {
                page.record(record).await?;
            }
            page.end(&records)?;
            let doubts = doubts(&storage, &summary).await?.len();
            let command = about.as_ref().map(|about| Command {
                text: command(&summary, Some(about), &storage.place),
                strange: storage.place.is_named(),
            });
            page.next_step(doubts, command.as_ref())?;
        }
    }
    storage.close().await?;
    if damaged.is_empty() {
        return Ok(Exit::Done);
    }
    let damaged: Vec<_> = damaged
        .into_iter()
        .map(|item| (summary.conversation_id.clone(), item))
        .collect();
    tell_damaged(&mut screen.aside(), &storage, &damaged)?;
    Ok(Exit::No)
}

/// What `list` says of it, and all of its records.
fn to_value(
    summary: &TurnSummary,
    records: &[Record],
    damaged: &[DamagedRecord],
) -> anyhow::Result<Value> {
    let mut value = summary.to_value(&summary.count(records.iter().cloned()))?;
    let mut all: Vec<Value> = Vec::with_capacity(records.len() + damaged.len());
    for record in records {
        all.push(record.to_value()?);
    }
    all.extend(damaged.iter().map(damaged::to_value));
    if let Value::Object(fields) = &mut value {
        fields.insert("records".to_owned(), Value::Array(all));
    }
    Ok(value)
}

/// The turn's own lines of the ledger, by the call that they are of.
fn ledger(summary: &TurnSummary, records: &[Record]) -> HashMap<String, Arc<LedgerEntry>> {
    let lines = records.iter().filter_map(|record| match record {
        Record::Ledger(line) if line.turn_id() == summary.id() => Some(line),
        _ => None,
    });
    lines
        .map(|line| (line.tool_call().to_owned(), Arc::clone(line)))
        .collect()
}

/// What somebody may type next.
struct Command {
    text: String,
    /// Whether it says what a file says that may be anybody's.
    strange: bool,
}

/// A turn that is being written out.
struct Page<'p> {
    screen: &'p mut Screen,
    summary: &'p TurnSummary,
    ledger: HashMap<String, Arc<LedgerEntry>>,
    /// Whether a call was shown since the last words.
    apart: bool,
}

impl Page<'_> {
    fn head(&mut self, about: Option<&ChatNote>) -> anyhow::Result<()> {
        let (summary, turn) = (self.summary, &self.summary.turn);
        let id = paint(style::BOLD, one_line(summary.id(), 64));
        let state = paint(summary.state.style(), summary.state);
        self.screen.line(format_args!("turn {id}  {state}"))?;
        let mut facts = vec![format!(
            "began {} ({})",
            moment(turn_field(summary, "beganAt")?),
            ago(turn.began_at())
        )];
        if let Some(time) = summary.took() {
            let so_far = if summary.state.is_live() {
                "runs for"
            } else {
                "took"
            };
            facts.push(format!("{so_far} {}", took(time)));
        }
        match turn.runs() {
            0 | 1 => {}
            2 => facts.push("taken up again".to_owned()),
            runs => facts.push(format!("taken up again {} times", runs - 1)),
        }
        self.screen.paragraph(style::DIM, "", &facts.join(" · "))?;
        let mut facts = vec![format!(
            "conversation {}",
            one_line(summary.conversation_id.as_str(), 80)
        )];
        if let Some(about) = about {
            let (model, server) = (one_line(&about.model, 60), one_line(&about.server, 120));
            let folder = about.folder.display().to_string();
            facts.push(format!("{model} at {server}"));
            facts.push(format!("reads below {}", plain(&folder)));
        }
        self.screen.paragraph(style::DIM, "", &facts.join(" · "))?;
        self.screen.line("")?;
        Ok(())
    }

    async fn record(&mut self, record: &Record) -> anyhow::Result<()> {
        match record {
            Record::Message(message) => self.message(message),
            Record::Thought(thought) => self.words(style::DIM, thought.text()),
            Record::ToolCall(call) => self.call(call).await,
            Record::Gate(gate) if gate.turn_id() == self.summary.id() => self.gate(gate),
            Record::Retrievable(found) => {
                let text = format!("looked up: {}", one_line(found.id(), 64));
                Ok(self.screen.line(paint(style::DIM, text))?)
            }
            _ => Ok(()),
        }
    }

    fn message(&mut self, message: &Message) -> anyhow::Result<()> {
        if let Author::Assistant = message.author() {
            self.words(anstyle::Style::new(), message.text())?;
        } else {
            let who = match message.author() {
                Author::Agent { name, .. } => format!("{}: ", one_line(name, 64)),
                Author::Framework => "the kit: ".to_owned(),
                _ => String::new(),
            };
            let rendered = format!("{who}{}", plain(message.text()));
            let rendered = wrap(
                &rendered,
                self.screen.width().map(|item| item.saturating_sub(2)),
                "",
            );
            for line in rendered.lines() {
                self.screen
                    .line(paint(style::BOLD, format_args!("> {line}")))?;
            }
            self.apart = true;
        }
        for media in message.media() {
            let name = one_line(media.filename(), LINE);
            self.screen
                .line(paint(style::DIM, format_args!("  with {name}")))?;
        }
        Ok(())
    }

    /// What the model said or thought.
    fn words(&mut self, style: anstyle::Style, text: &str) -> anyhow::Result<()> {
        if text.trim().is_empty() {
            return Ok(());
        }
        if std::mem::take(&mut self.apart) {
            self.screen.line("")?;
        }
        // With its margin wherever it is read: nothing of it can be taken for a line of the program's.
        let rendered = quoted(text, self.screen.width());
        self.screen.line(paint(style, rendered))?;
        Ok(())
    }

    async fn call(&mut self, call: &ToolCall) -> anyhow::Result<()> {
        self.apart = true;
        let columns = self.screen.width().unwrap_or(LINE);
        let tool = one_line(call.tool(), 64);
        // What ran, where a person or a policy put that in the place of what the model wrote.
        let args = match (call.edited_args(), call.args().to_value()) {
            (Some(edited), _) => format!("{} (edited)", json(edited)),
            (None, Value::String(text)) => one_line(&text, LINE * 4),
            (None, value) => json(&value),
        };
        let line = fit(&format!("→ {tool} {args}"), columns);
        let rest = line.strip_prefix(&format!("→ {tool}"));
        match rest {
            Some(rest) => {
                let name = paint(style::NAME, format_args!("→ {tool}"));
                self.screen.line(format_args!("{name}{rest}"))?;
            }
            None => self.screen.line(paint(style::NAME, &line))?,
        }
        if let Some(line) = self.ledger.get(call.id()).cloned() {
            self.ledger_line(&line)?;
        } else if !call.is_complete() {
            let text = match self.summary.state.is_live() {
                true => "  on its way",
                false => "  nothing came of it",
            };
            self.screen.line(paint(style::CARE, text))?;
        }
        if call.is_complete() {
            result::show(self.screen, call, None).await?;
        }
        Ok(())
    }

    /// How far a call came that may have changed something.
    fn ledger_line(&mut self, line: &LedgerEntry) -> anyhow::Result<()> {
        let doubt = match line.state() {
            CallState::Begun if !self.summary.state.is_live() => {
                Some("ledger: begun, and nobody knows whether it took effect")
            }
            CallState::Unknown => Some(
                "ledger: unknown: nobody could say whether it took effect, and that is settled",
            ),
            _ => None,
        };
        if let Some(text) = doubt {
            return Ok(self.screen.paragraph(style::CARE, "  ", text)?);
        }
        let ended = line.ended_at();
        let time = ended.and_then(|end| end.duration_since(line.begun_at()).ok());
        let time = time.map(|time| format!(" after {}", took(time)));
        let text = match line.state() {
            CallState::Begun => "  ledger: begun, and runs right now".to_owned(),
            state => format!("  ledger: {}{}", state.as_str(), time.unwrap_or_default()),
        };
        self.screen.line(paint(style::DIM, text))?;
        Ok(())
    }

    fn gate(&mut self, gate: &GateRecord) -> anyhow::Result<()> {
        self.apart = true;
        let tool = gate.question().get("tool").and_then(Value::as_str);
        let asked = match (gate.name(), tool) {
            ("approval", Some(tool)) => format!("? {} asks to run", one_line(tool, 64)),
            ("unknown_call", Some(tool)) => {
                format!("? what became of the call of {}", one_line(tool, 64))
            }
            (name, _) => format!("? {}: {}", one_line(name, 64), json(gate.question())),
        };
        let columns = self.screen.width().unwrap_or(LINE);
        self.screen.line(paint(style::CARE, fit(&asked, columns)))?;
        if gate.name() == "approval" && tool.is_some() {
            let text = |name: &str| gate.question().get(name);
            if let Some(args) = text("args") {
                self.screen
                    .line(fit(&format!("  {}", json(args)), columns))?;
            }
            if let Some(reason) = text("reason").and_then(Value::as_str) {
                let because = format!("because {}", one_line(reason, LINE * 2));
                self.screen.paragraph(style::DIM, "  ", &because)?;
            }
        }
        let (style, came) = match gate.state() {
            GateState::Open if self.summary.state.is_live() => {
                (style::CARE, "waits for an answer".to_owned())
            }
            GateState::Open => (style::CARE, "nobody answered before the end".to_owned()),
            GateState::Resolved(answer) => (style::DIM, answered(answer)),
            GateState::Rejected(why) => (style::DIM, format!("declined: {}", one_line(why, LINE))),
            _ => (style::DIM, "nobody answered".to_owned()),
        };
        let came = fit(&format!("  {came}"), columns);
        self.screen.line(paint(style, came))?;
        Ok(())
    }

    fn end(&mut self, records: &[Record]) -> anyhow::Result<()> {
        let (summary, turn) = (self.summary, &self.summary.turn);
        self.screen.line("")?;
        if let Some(error) = turn.error() {
            let why = format!(
                "no answer: {} ({})",
                plain(&error.message),
                one_line(&error.code, 64)
            );
            self.screen.paragraph(style::BAD, "", &why)?;
        }
        let digest = summary.count(records.iter().cloned());
        let mut facts = Vec::new();
        match digest.calls {
            0 => {}
            1 => facts.push("1 call".to_owned()),
            calls => facts.push(format!("{} calls", count(calls as u64))),
        }
        let used = turn.usage();
        if used.input_tokens.saturating_add(used.output_tokens) > 0 {
            let (read, written) = (count(used.input_tokens), count(used.output_tokens));
            facts.push(format!("{read} tokens read, {written} written"));
        }
        if !facts.is_empty() {
            self.screen.paragraph(style::DIM, "", &facts.join(" · "))?;
        }
        Ok(())
    }

    /// What can be done about a turn that has no answer.
    fn next_step(&mut self, doubts: usize, command: Option<&Command>) -> anyhow::Result<()> {
        let summary = self.summary;
        let text = match summary.state {
            State::Answered | State::Refused => return Ok(()),
            State::Running => "A program runs it right now.",
            State::Waiting => "A program runs it right now, and waits for an answer there.",
            state if state.can_go_on() && summary.is_last() && command.is_none() => {
                "No chat of this program has held it: the program that did takes it up again, with its own tools."
            }
            State::Interrupted if summary.is_last() => {
                "Its program came to its end before it did. To take it up again:"
            }
            state if state.can_go_on() && summary.is_last() => "To take it up again:",
            _ => "The conversation went on without it: say there what is still wanted.",
        };
        self.screen.paragraph(style::CARE, "", text)?;
        let Some(command) = command.filter(|_| summary.state.can_go_on() && summary.is_last())
        else {
            return Ok(());
        };
        // On a line of its own, to be copied.
        self.screen
            .line(paint(style::BOLD, format_args!("  {}", command.text)))?;
        if command.strange {
            let text = "Look at it first: server, folder and tools are what the file says.";
            self.screen.paragraph(style::CARE, "", text)?;
        }
        let s = match doubts {
            0 => return Ok(()),
            1 => "",
            _ => "s",
        };
        let asks = format!(
            "You are asked what became of the call{s} of which nobody knows; with `--tell-model` nobody is."
        );
        self.screen.paragraph(style::CARE, "", &asks)?;
        Ok(())
    }
}

/// What somebody said at a gate. What the kit itself asks has words.
fn answered(answer: &Value) -> String {
    let text = |name: &str| answer.get(name).and_then(Value::as_str);
    let with = |words: &str, more: Option<&str>| match more {
        Some(more) => format!("{words}: {}", one_line(more, LINE)),
        None => words.to_owned(),
    };
    match (text("decision"), text("found")) {
        (Some("approve"), _) => with("allowed", text("reason")),
        (Some("edit"), _) => {
            let args = answer.get("args").map(json).unwrap_or_default();
            format!(
                "{} {args}",
                with("allowed, with other arguments", text("reason"))
            )
        }
        (Some("refuse"), _) => with("refused", text("reason")),
        (_, Some("done")) => with("somebody knew that it was done", text("result")),
        (_, Some("not_done")) => "somebody knew that it was not done".to_owned(),
        (_, Some("unknown")) => "nobody could say".to_owned(),
        _ => format!("answered {}", json(answer)),
    }
}

fn turn_field(summary: &TurnSummary, name: &str) -> anyhow::Result<String> {
    let value = Record::from(Arc::clone(&summary.turn)).to_value()?;
    let text = value.get(name).and_then(Value::as_str);
    Ok(text.unwrap_or_default().to_owned())
}

/// A moment without what nobody reads of it.
fn moment(text: String) -> String {
    match text.split_once('T') {
        Some((day, time)) => format!("{day} {} UTC", time.get(..8).unwrap_or(time)),
        None => text,
    }
}
