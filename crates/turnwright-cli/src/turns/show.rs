//! `turnwright turns show`: a complete turn.

use std::sync::Arc;

use serde_json::{Value, json};
use turnwright::ToolCall;
use turnwright::gate::{GateAnswer, GateDecision, GateKind};
use turnwright::record::{Author, CallState, GateRecord, GateState, LedgerEntry, Message, Record};

use super::damaged::{self, Damaged};
use super::decision;
use super::find::find;
use super::resume_check::{command, unfinished};
use super::summary::TurnSummary;
use crate::args;
use crate::exit::Exit;
use crate::show::{answer, quoted, result};
use crate::storage::{ChatNote, Storage};
use crate::terminal::style::{self, paint};
use crate::terminal::{LINE, Screen, fit, json as shown_json, one_line, plain, with_fields, wrap};
use crate::turn_state::State;
use crate::units::{ago, count, plural, took};

pub(super) async fn run(options: &args::TurnsShow, mut screen: Screen) -> anyhow::Result<Exit> {
    screen.busy("opening the database");
    let storage = Storage::open_to_read(&options.storage, "no turn to show").await?;
    let summary = find(&storage, &options.turn).await?;
    let (records, damaged) = summary.records(&storage).await?;
    if screen.is_json() {
        screen.value(&to_value(&summary, &records, &damaged)?)?;
    } else {
        let note = ChatNote::of(&storage, &summary.conversation_id).await?;
        let mut page = Page {
            screen: &mut screen,
            summary: &summary,
            records: &records,
            apart: false,
        };
        page.head(note.as_ref())?;
        for record in &records {
            page.record(record).await?;
        }
        page.end()?;
        let turn = Some(summary.id());
        let unfinished = unfinished(&storage, &summary.conversation_id, turn).await?;
        page.next_step(unfinished.len(), note.as_ref(), &storage)?;
    }
    storage.store.close().await?;
    damaged::report(&mut screen.on_stderr(), &storage, &damaged)
}

/// The fields of `turns list`, and all records.
fn to_value(summary: &TurnSummary, records: &[Record], damaged: &Damaged) -> anyhow::Result<Value> {
    let summary = summary.to_value(&summary.digest(records))?;
    let mut all = records
        .iter()
        .map(Record::to_value)
        .collect::<Result<Vec<_>, _>>()?;
    all.extend(damaged.iter().map(|(_, record)| damaged::to_value(record)));
    Ok(with_fields(summary, json!({ "records": all })))
}

/// A turn that is being printed.
struct Page<'p> {
    screen: &'p mut Screen,
    summary: &'p TurnSummary,
    records: &'p [Record],
    /// Whether an empty line comes before the next text.
    apart: bool,
}

impl Page<'_> {
    fn head(&mut self, note: Option<&ChatNote>) -> anyhow::Result<()> {
        let (summary, turn) = (self.summary, &self.summary.turn);
        let id = paint(style::BOLD, one_line(summary.id(), 64));
        let state = paint(summary.state.style(), summary.state);
        self.screen.line(format_args!("turn {id}  {state}"))?;
        let mut facts = vec![format!(
            "started {} ({})",
            began(summary)?,
            ago(turn.started_at)
        )];
        if let Some(time) = summary.took() {
            let live = summary.state.is_live();
            let verb = if live { "running for" } else { "took" };
            facts.push(format!("{verb} {}", took(time)));
        }
        match turn.runs {
            0 | 1 => {}
            2 => facts.push("resumed".to_owned()),
            runs => facts.push(format!("resumed {} times", runs - 1)),
        }
        self.screen.dim(facts.join(" · "))?;
        let conversation = summary.conversation_shown(80);
        let mut facts = vec![format!("conversation {conversation}")];
        if let Some(note) = note {
            let (model, server) = (one_line(&note.model, 60), one_line(&note.server, 120));
            let folder = note.folder.display().to_string();
            facts.push(format!("{model} at {server}"));
            facts.push(format!("reads {}", plain(&folder)));
        }
        self.screen.dim(facts.join(" · "))?;
        self.screen.line("")?;
        Ok(())
    }

    async fn record(&mut self, record: &Record) -> anyhow::Result<()> {
        match record {
            Record::Message(message) => self.message(message),
            Record::Thought(thought) => self.words(style::DIM, thought.text()),
            Record::ToolCall(call) => self.call(call).await,
            Record::Gate(gate) if *gate.turn_id == *self.summary.id() => self.gate(gate),
            Record::Retrievable(found) => {
                let text = format!("retrieved: {}", one_line(found.id(), 64));
                Ok(self.screen.painted(style::DIM, text)?)
            }
            _ => Ok(()),
        }
    }

    fn message(&mut self, message: &Message) -> anyhow::Result<()> {
        if let Author::Assistant = message.author() {
            self.words(anstyle::Style::new(), message.text())?;
        } else {
            let author = match message.author() {
                Author::Agent { name, .. } => format!("{}: ", one_line(name, 64)),
                Author::Framework => "framework: ".to_owned(),
                _ => String::new(),
            };
            let text = format!("{author}{}", plain(message.text()));
            let width = self.screen.width().map(|width| width.saturating_sub(2));
            for line in wrap(&text, width, "").lines() {
                self.screen.painted(style::BOLD, format_args!("> {line}"))?;
            }
            self.apart = true;
        }
        for media in message.media() {
            let name = one_line(media.filename(), LINE);
            self.screen
                .painted(style::DIM, format_args!("  attachment: {name}"))?;
        }
        Ok(())
    }

    /// Prints a message or a thought of the model.
    fn words(&mut self, style: anstyle::Style, text: &str) -> anyhow::Result<()> {
        if text.trim().is_empty() {
            return Ok(());
        }
        if std::mem::take(&mut self.apart) {
            self.screen.line("")?;
        }
        // Always behind the margin: it cannot imitate a line of the program.
        if style == anstyle::Style::new() {
            self.screen.line(answer(text, self.screen, true))?;
        } else {
            let text = quoted(text, self.screen.width());
            self.screen.painted(style, text)?;
        }
        Ok(())
    }

    async fn call(&mut self, call: &ToolCall) -> anyhow::Result<()> {
        self.apart = true;
        let columns = self.screen.columns();
        // The arguments that ran, if a user or a policy edited them.
        let args = match (call.edited_args(), call.args().to_value()) {
            (Some(edited), _) => format!("{} (edited)", shown_json(edited)),
            (None, Value::String(text)) => one_line(&text, LINE * 4),
            (None, value) => shown_json(&value),
        };
        let name = format!("→ {}", one_line(call.tool(), 64));
        let line = fit(&format!("{name} {args}"), columns);
        let (name, rest) = match line.strip_prefix(&name) {
            Some(rest) => (name.as_str(), rest),
            None => (line.as_str(), ""),
        };
        let name = paint(style::NAME, name);
        self.screen.line(format_args!("{name}{rest}"))?;
        let entry = self.records.iter().find_map(|record| match record {
            Record::Ledger(entry) if entry.tool_call == call.id() => Some(entry),
            _ => None,
        });
        if let Some(entry) = entry.filter(|entry| *entry.turn_id == *self.summary.id()) {
            self.ledger_entry(entry)?;
        } else if !call.is_complete() {
            let text = if self.summary.state.is_live() {
                "  running"
            } else {
                "  no result"
            };
            self.screen.painted(style::WARN, text)?;
        }
        if call.is_complete() {
            result::show(self.screen, call, None).await?;
        }
        decision::show(self.screen, call)
    }

    /// Prints the ledger entry of a call that may have changed something.
    fn ledger_entry(&mut self, entry: &LedgerEntry) -> anyhow::Result<()> {
        let ended = entry.ended_at;
        let time = ended.and_then(|end| end.duration_since(entry.started_at).ok());
        let (style, text) = match entry.state {
            CallState::Started if self.summary.state.is_live() => {
                (style::DIM, "ledger: started, still running".to_owned())
            }
            CallState::Started => (
                style::WARN,
                "ledger: interrupted; whether it took effect is unknown".to_owned(),
            ),
            CallState::Unknown => (
                style::WARN,
                "ledger: recorded as unknown: it may or may not have taken effect".to_owned(),
            ),
            state => {
                let time = time.map(|time| format!(" after {}", took(time)));
                let text = format!("ledger: {}{}", state.as_str(), time.unwrap_or_default());
                (style::DIM, text)
            }
        };
        self.screen.paragraph(style, "  ", &text)?;
        Ok(())
    }

    fn gate(&mut self, gate: &GateRecord) -> anyhow::Result<()> {
        self.apart = true;
        let question = &*gate.question;
        let tool = question.get("tool").and_then(Value::as_str);
        let asked = match (&gate.kind, tool) {
            (GateKind::Approval, Some(tool)) => format!("? {} needs approval", one_line(tool, 64)),
            (GateKind::UnknownCall, Some(tool)) => {
                format!(
                    "? {} was interrupted: did it take effect?",
                    one_line(tool, 64)
                )
            }
            (kind, _) => format!(
                "? {}: {}",
                one_line(kind.as_str(), 64),
                shown_json(question)
            ),
        };
        let columns = self.screen.columns();
        self.screen.painted(style::WARN, fit(&asked, columns))?;
        if gate.kind == GateKind::Approval && tool.is_some() {
            if let Some(args) = question.get("args") {
                self.screen
                    .line(fit(&format!("  {}", shown_json(args)), columns))?;
            }
            if let Some(reason) = question.get("reason").and_then(Value::as_str) {
                let reason = format!("reason: {}", one_line(reason, LINE * 2));
                self.screen.paragraph(style::DIM, "  ", &reason)?;
            }
            if let Some(sources) = question.get("sources") {
                decision::show_sources(self.screen, sources)?;
            }
        }
        let (style, outcome) = match &gate.state {
            GateState::Open if self.summary.state.is_live() => {
                (style::WARN, "waiting for an answer".to_owned())
            }
            GateState::Open if self.summary.state == State::Suspended => (
                style::WARN,
                format!("waiting for an answer at {}", one_line(gate.id(), 120)),
            ),
            GateState::Open => (
                style::WARN,
                "not answered before the process ended".to_owned(),
            ),
            GateState::Answered(answer) => (style::DIM, answered(answer)),
            _ => (style::DIM, "not answered".to_owned()),
        };
        let outcome = fit(&format!("  {outcome}"), columns);
        self.screen.painted(style, outcome)?;
        Ok(())
    }

    fn end(&mut self) -> anyhow::Result<()> {
        let turn = &self.summary.turn;
        self.screen.line("")?;
        if let Some(error) = &turn.error {
            let (message, code) = (plain(&error.message), one_line(&error.code, 64));
            let why = format!("no answer: {message} ({code})");
            self.screen.paragraph(style::BAD, "", &why)?;
        }
        let mut facts = Vec::new();
        let calls = self.summary.digest(self.records).calls;
        if calls > 0 {
            facts.push(plural(calls as u64, "call"));
        }
        let used = turn.usage;
        if used.input_tokens.saturating_add(used.output_tokens) > 0 {
            let (read, written) = (count(used.input_tokens), count(used.output_tokens));
            facts.push(format!("{read} input tokens, {written} output tokens"));
        }
        if !facts.is_empty() {
            self.screen.dim(facts.join(" · "))?;
        }
        Ok(())
    }

    /// Prints what can be done about a turn that has no answer.
    fn next_step(
        &mut self,
        unfinished: usize,
        note: Option<&ChatNote>,
        storage: &Storage,
    ) -> anyhow::Result<()> {
        let summary = self.summary;
        let text = match summary.state {
            State::Answered | State::Nacked => return Ok(()),
            State::Running => "A process is running it.",
            State::Waiting => "A process is running it and waits for an answer.",
            _ if !summary.can_continue() => {
                "The conversation continued without it, so it cannot be resumed."
            }
            _ if note.is_none() => {
                "It belongs to another program, which can resume it with its own tools."
            }
            State::Suspended => {
                "It is suspended. Answer with `turnwright turns answer`, then resume it:"
            }
            State::AnsweredNotResumed => {
                "It was answered, but no process has resumed it. To resume it:"
            }
            State::Interrupted => "Its process ended before the turn did. To resume it:",
            _ => "To resume it:",
        };
        self.screen.warn(text)?;
        if note.is_none() || !summary.can_continue() {
            return Ok(());
        }
        // On its own line, so that it can be copied.
        let command = command(summary, note, &storage.place);
        self.screen
            .painted(style::BOLD, format_args!("  {command}"))?;
        if storage.place.named {
            self.screen.warn(
                "Review the command first: server, directory and tools come from the file.",
            )?;
        }
        if unfinished > 0 {
            let s = if unfinished == 1 { "" } else { "s" };
            self.screen.warn(format!(
                "You will be asked whether the interrupted call{s} took effect, unless you pass `--tell-model`."
            ))?;
        }
        Ok(())
    }
}

/// How a gate was answered, by whom and why.
fn answered(answer: &GateAnswer) -> String {
    let (words, reason) = match &answer.decision {
        GateDecision::Approve => ("approved".to_owned(), None),
        GateDecision::Edit { .. } => ("approved with other arguments".to_owned(), None),
        GateDecision::Deny { reason, .. } => ("denied".to_owned(), reason.as_ref()),
        GateDecision::Reject { reason, .. } => ("rejected".to_owned(), Some(reason)),
        GateDecision::Value { value, .. } => (found(value), None),
        other => (other.as_str().to_owned(), None),
    };
    let mut text = words;
    if let Some(by) = &answer.by {
        text = format!("{text} by {}", one_line(by.as_str(), LINE));
    }
    let mut separator = ':';
    for why in reason.into_iter().chain(&answer.note) {
        text = format!("{text}{separator} {}", one_line(why, LINE));
        separator = ';';
    }
    match &answer.decision {
        GateDecision::Edit { args, .. } => format!("{text} {}", shown_json(args)),
        _ => text,
    }
}

/// A value that was answered. The effect of an interrupted call has words.
fn found(value: &Value) -> String {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    match (text("found"), text("result")) {
        (Some("done"), None) => "answer: it took effect".to_owned(),
        (Some("done"), Some(result)) => {
            format!(
                "answer: it took effect, with the result {}",
                one_line(result, LINE)
            )
        }
        (Some("not_done"), _) => "answer: it did not take effect".to_owned(),
        (Some("unknown"), _) => "answer: unknown".to_owned(),
        _ => format!("answered {}", shown_json(value)),
    }
}

/// When a turn started, to the second.
fn began(summary: &TurnSummary) -> anyhow::Result<String> {
    let value = Record::from(Arc::clone(&summary.turn)).to_value()?;
    let text = value.get("startedAt").and_then(Value::as_str);
    let text = text.unwrap_or_default();
    Ok(match text.split_once('T') {
        Some((day, time)) => format!("{day} {} UTC", time.get(..8).unwrap_or(time)),
        None => text.to_owned(),
    })
}
