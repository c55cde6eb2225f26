//! Shows a turn: text, calls, results and approvals.

mod follow;
pub(crate) mod repair;
pub(crate) mod result;
mod tally;

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use serde_json::{Value, json};
use turnwright::event::Delta;
use turnwright::gate::OpenGate;
use turnwright::prelude::*;
use turnwright::{Error, Event, Turn};

pub(crate) use follow::{Shown, Viewer, follow};
pub(crate) use tally::Tally;

use crate::terminal::markdown::{self, MarkdownStream};
use crate::terminal::style::{self, paint};
use crate::terminal::{
    ApprovalPrompt, Flow, LINE, MARGIN, Screen, columns, fit, json as shown_json, one_line, plain,
    with_fields, wrap,
};

/// Shows turns on a screen, and answers at their gates.
pub(crate) struct Show {
    pub(crate) screen: Screen,
    approval_prompt: Arc<ApprovalPrompt>,
    /// Counts over all turns that were shown.
    pub(crate) tally: Tally,
    /// Whether messages are rendered as Markdown where the terminal can do that.
    markdown: bool,
    open_text: Option<OpenText>,
    /// The calls that were announced.
    announced: HashSet<Arc<str>>,
    /// The number of announced calls that have not ended.
    open: usize,
    /// Whether an empty line comes before the next text.
    apart: bool,
    /// Whether text of the model was shown in this turn.
    has_text: bool,
    /// The last event of the turn.
    ended: Option<Event>,
}

/// A text that is being streamed.
struct OpenText {
    id: Arc<str>,
    form: Form,
}

/// How a text is shown.
enum Form {
    /// As it is, in a style.
    Plain(Flow, anstyle::Style),
    Markdown(MarkdownStream),
}

impl Show {
    pub(crate) fn new(screen: Screen, approval_prompt: ApprovalPrompt) -> Self {
        Show {
            screen,
            approval_prompt: Arc::new(approval_prompt),
            tally: Tally::default(),
            markdown: false,
            open_text: None,
            announced: HashSet::new(),
            open: 0,
            apart: false,
            has_text: false,
            ended: None,
        }
    }

    /// Sets whether messages are rendered as Markdown. Default: `false`.
    pub(crate) fn markdown(mut self, markdown: bool) -> Self {
        self.markdown = markdown;
        self
    }

    /// Starts a turn and shows it to its end. Ctrl-C cancels it.
    pub(crate) async fn turn(
        &mut self,
        runner: &TurnRunner,
        input: TurnInput,
    ) -> anyhow::Result<Shown> {
        let turn = runner.start(self.counted(input));
        self.watch(turn).await
    }

    /// Resumes a turn and shows it to its end. Ctrl-C cancels it.
    pub(crate) async fn resume(
        &mut self,
        runner: &TurnRunner,
        conversation: &str,
        turn_id: &str,
    ) -> anyhow::Result<Shown> {
        let input = TurnInput::resume(turn_id).conversation(conversation);
        let turn = runner.resume(self.counted(input)).await?;
        self.watch(turn).await
    }

    fn counted(&self, input: TurnInput) -> TurnInput {
        let tally = self.tally.clone();
        input.observer(move |event| tally.count(event))
    }

    async fn watch(&mut self, turn: Turn) -> anyhow::Result<Shown> {
        self.has_text = false;
        self.wait();
        let approval_prompt = Arc::clone(&self.approval_prompt);
        let shown = follow(turn, &approval_prompt, self).await?;
        self.end_text()?;
        self.screen.rest();
        self.end(&shown.outcome, shown.interrupted)?;
        Ok(shown)
    }

    async fn show(&mut self, event: EventKind) -> anyhow::Result<()> {
        match event {
            EventKind::MessageDelta(delta) => {
                let markdown = self.markdown && self.screen.can_render();
                self.show_delta(&delta, anstyle::Style::new(), markdown)?;
            }
            EventKind::ThoughtDelta(delta) => self.show_delta(&delta, style::DIM, false)?,
            EventKind::Message(_) | EventKind::Thought(_) => self.end_text()?,
            EventKind::ToolExecutionStart {
                id,
                tool,
                args,
                repairs,
                ..
            } => {
                let args = repair::as_written(&args, &repairs);
                self.announce(id, &tool, &shown_json(&args))?;
                for repair in repairs.iter().filter(|item| !repair::is_default(item)) {
                    let text = format!("  repaired {}", repair::in_words(repair));
                    let text = fit(&text, self.screen.columns());
                    self.screen.painted(style::WARN, text)?;
                }
                self.screen
                    .busy(&format!("running {}", one_line(&tool, LINE)));
            }
            // The spinner would overwrite the line that is being written.
            EventKind::ToolExecutionProgress { .. } if self.open_text.is_some() => {}
            EventKind::ToolExecutionProgress { message, .. } => {
                let message = one_line(&message, LINE);
                self.screen.busy(&message);
            }
            EventKind::ToolCall(call) | EventKind::ToolCallIncomplete(call) => {
                if !self.announced.contains(call.id()) {
                    let args = match call.args().to_value() {
                        Value::String(text) => one_line(&text, LINE),
                        value => shown_json(&value),
                    };
                    self.announce(call.id().into(), call.tool(), &args)?;
                }
                // If several calls run at once, the result names its tool.
                let whose = (self.open > 1).then(|| one_line(call.tool(), LINE));
                result::show(&mut self.screen, &call, whose.as_deref()).await?;
                self.open = self.open.saturating_sub(1);
                self.wait();
            }
            EventKind::Discarded { id }
                if self.open_text.as_ref().is_some_and(|text| text.id == id) =>
            {
                self.end_text()?;
                let note = "connection lost: ignore the text above, the request is retried";
                self.screen.warn(note)?;
                self.wait();
            }
            _ => {}
        }
        Ok(())
    }

    /// Prints a call.
    fn announce(&mut self, id: Arc<str>, tool: &str, args: &str) -> io::Result<()> {
        self.end_text()?;
        self.open += usize::from(self.announced.insert(id));
        self.apart = true;
        let width = self.screen.columns();
        let name = fit(&format!("→ {}", one_line(tool, LINE)), width);
        // No room for arguments is better than a fragment.
        let args = match width.saturating_sub(columns(&name) + 1) {
            0..8 => String::new(),
            room => format!(" {}", fit(args, room)),
        };
        let name = paint(style::NAME, name);
        self.screen.line(format_args!("{name}{args}"))
    }

    /// Shows a piece of a text.
    fn show_delta(
        &mut self,
        delta: &Delta,
        style: anstyle::Style,
        markdown: bool,
    ) -> io::Result<()> {
        if self.screen.uses_stderr() {
            return Ok(());
        }
        let width = self.screen.width();
        let mut open = match self.open_text.take_if(|text| text.id == delta.id) {
            Some(open) => open,
            None => {
                self.end_text()?;
                if std::mem::take(&mut self.apart) {
                    self.screen.line("")?;
                }
                self.has_text = true;
                let form = if markdown {
                    Form::Markdown(MarkdownStream::default())
                } else {
                    Form::Plain(Flow::new(width, MARGIN), style)
                };
                OpenText {
                    id: Arc::clone(&delta.id),
                    form,
                }
            }
        };
        match &mut open.form {
            Form::Plain(flow, style) => {
                flow.resize(width);
                let text = flow.push(&plain(&delta.text));
                if !text.is_empty() {
                    self.screen.write(paint(*style, text))?;
                }
            }
            Form::Markdown(stream) => {
                let lines = stream.push(&delta.text, self.screen.columns());
                if !lines.is_empty() {
                    self.screen.write(lines)?;
                }
                // Beside the spinner until its block is complete.
                let last_line = stream.last_line();
                self.screen.busy(&one_line(&last_line, LINE));
            }
        }
        self.open_text = Some(open);
        Ok(())
    }

    fn end_text(&mut self) -> io::Result<()> {
        let Some(open) = self.open_text.take() else {
            return Ok(());
        };
        match open.form {
            Form::Plain(mut flow, style) => {
                let rest = flow.end();
                let end = if flow.is_within_line() { "\n" } else { "" };
                if rest.is_empty() && end.is_empty() {
                    Ok(())
                } else {
                    let rest = paint(style, rest);
                    self.screen.write(format_args!("{rest}{end}"))
                }
            }
            Form::Markdown(mut stream) => {
                let lines = stream.end(self.screen.columns());
                self.screen.write(lines)
            }
        }
    }

    /// Ends a text where it is. The terminal has just echoed `^C` there.
    fn break_text(&mut self) -> io::Result<()> {
        if self.open_text.is_some() {
            self.screen.write("\n")?;
        }
        if let Some(Form::Plain(..)) = self.open_text.as_ref().map(|text| &text.form) {
            self.open_text = None;
        }
        self.end_text()
    }

    fn wait(&mut self) {
        self.screen.busy("waiting for the model");
    }

    fn end(&mut self, outcome: &TurnOutcome, interrupted: bool) -> anyhow::Result<()> {
        let error = outcome.error();
        if self.screen.is_json() {
            let outcome = json!({
                "turnId": outcome.turn_id,
                "message": error.as_ref().map(Error::with_causes),
                "text": outcome.text,
                "iterations": outcome.iterations,
            });
            let ended = serde_json::to_value(self.ended.take())?;
            return self.screen.value(&with_fields(ended, outcome));
        }
        if interrupted {
            self.screen.painted(style::WARN, "cancelled")?;
        } else if let Some(error) = error {
            let why = plain(&error.with_causes()).into_owned();
            let sentence = format!("no answer: {why} ({})", error.code());
            self.screen.quoting(style::BAD, "", MARGIN, &sentence)?;
        } else if outcome.text.trim().is_empty() {
            self.screen
                .painted(style::WARN, "(the model returned no text)")?;
        } else if self.screen.uses_stderr() {
            self.screen.answer(&plain(&outcome.text))?;
        } else if !self.has_text {
            // A turn that was answered before is resumed without events.
            let text = answer(&outcome.text, &self.screen, self.markdown);
            self.screen.line(text)?;
        }
        Ok(())
    }
}

/// A complete message of a model, behind the margin: rendered if the terminal can do that, otherwise as it is.
pub(crate) fn answer(text: &str, screen: &Screen, markdown: bool) -> String {
    if markdown && screen.can_render() {
        markdown::render(text, screen.columns())
    } else {
        quoted(text, screen.width())
    }
}

/// Text of a model as it is, each line behind the margin.
pub(crate) fn quoted(text: &str, width: Option<usize>) -> String {
    wrap(plain(text).trim_end(), width, MARGIN)
}

impl Viewer for Show {
    fn screen(&mut self) -> &mut Screen {
        &mut self.screen
    }

    async fn event(&mut self, event: Event, cancelled: bool) -> anyhow::Result<()> {
        match event.kind {
            // Printed with the outcome.
            EventKind::TurnEnd { .. } => {
                self.ended = Some(event);
                Ok(())
            }
            _ if self.screen.is_json() => self.screen.value(&event),
            kind @ (EventKind::ToolCall(_) | EventKind::ToolCallIncomplete(_)) => {
                self.show(kind).await
            }
            _ if cancelled => Ok(()),
            kind => self.show(kind).await,
        }
    }

    fn before_question(&mut self, event: &Event, gate: &Arc<OpenGate>) -> anyhow::Result<()> {
        self.end_text()?;
        if let Some(call) = &gate.tool_call {
            self.open += usize::from(self.announced.insert(Arc::clone(call)));
        }
        self.screen.value(event)
    }

    fn after_question(&mut self) {
        self.wait();
    }

    fn cancelled(&mut self) -> anyhow::Result<()> {
        Ok(self.break_text()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::num::NonZero;

    /// The rows of a terminal of this width after a text was written to it.
    fn rows(text: &str, width: u16) -> Vec<String> {
        let size = |number| NonZero::new(number).unwrap();
        let rows = |line: &str| line.chars().count() * 2 / usize::from(width) + 2;
        let height = text.lines().map(rows).sum::<usize>() + 1;
        let height = u16::try_from(height).unwrap();
        let mut terminal = vt100::Parser::new(size(height), size(width), 0);
        terminal.process(text.replace('\n', "\r\n").as_bytes());
        let rows = terminal.screen().rows(0, width);
        rows.map(|row| row.trim_end().to_owned())
            .filter(|row| !row.is_empty())
            .collect()
    }

    /// Model text in pieces: questions of the program, its prompt, odd blanks, wide and joined characters, escape sequences.
    fn pieces() -> impl Strategy<Value = Vec<String>> {
        let parts = prop::sample::select(vec![
            "? write_note needs approval",
            "  write_note: yes, no, edit or show all? ",
            "you › ",
            "\n",
            "\n\n",
            "\r",
            "\t",
            "\u{b}",
            "\u{85}",
            "\u{2028}",
            "\u{a0}",
            "\u{2007}",
            "\u{202f}",
            "\u{3000}",
            "\u{2800}",
            "\u{3164}",
            "\u{1680}",
            "東京",
            "👩\u{200d}🔬",
            "❤\u{fe0f}",
            "e\u{301}\u{302}",
            "\u{1b}[2J\u{1b}[1;1H",
            "\u{9b}1A",
            "\u{8}",
            "word",
            " ",
        ]);
        let part = (parts, 1_usize..60).prop_map(|(part, times)| match part.chars().count() {
            0..=2 => part.repeat(times),
            _ => part.to_owned(),
        });
        prop::collection::vec(part, 1..12)
    }

    proptest! {

        #[test]
        fn every_row_of_model_text_has_the_margin(pieces in pieces(), width in 6_u16..120) {
            let width_of_window = Some(usize::from(width));
            let mut flow = Flow::new(width_of_window, MARGIN);
            let mut streamed: String = pieces.iter().map(|piece| flow.push(&plain(piece))).collect();
            streamed.push_str(&flow.end());
            let full = quoted(&pieces.concat(), width_of_window);
            let args = json!({ "text": pieces.concat() });
            for (text, begins) in [
                (streamed, "│"),
                (full, "│"),
                (crate::terminal::quoted_args(&args, width_of_window), "  │"),
            ] {
                for row in rows(&text, width) {
                    prop_assert!(row.starts_with(begins.trim_end()), "{:?} of {:?}", row, text);
                }
            }
        }
    }
}
