//! The result of a call as text: checksum, repairs, progress and result.

use std::io;
use std::time::Duration;

use turnwright::record::ToolResults;
use turnwright::render::{Part, Renderer};
use turnwright::trust::ConversationSecret;
use turnwright::{Event, EventKind, ToolCall};

use super::{Facts, View, lock};
use crate::show::repair;
use crate::terminal::style::{self, paint};
use crate::terminal::{LINE, fit, json, one_line};
use crate::units::size;

impl View {
    pub(super) fn print_event(&mut self, event: &Event) -> io::Result<()> {
        match &event.kind {
            EventKind::ToolExecutionStart { tool, .. } => {
                self.screen
                    .busy(&format!("running {}", one_line(tool, LINE)));
            }
            EventKind::ToolExecutionProgress { message, .. } => {
                // The handler runs, so the checked arguments are known.
                if !self.is_named {
                    let facts = lock(&self.facts).clone();
                    self.name(&facts)?;
                }
                let message = one_line(message, LINE);
                self.fact("progress", style::DIM, &message)?;
                self.screen.busy(&message);
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) async fn print_result(
        &mut self,
        call: &ToolCall,
        facts: &Facts,
    ) -> anyhow::Result<()> {
        if facts.checksum.is_none() {
            self.fact("checksum", style::NAME, call.checksum())?;
        }
        self.name(facts)?;
        if call.is_error() || !call.is_complete() {
            self.failure(call, facts).await?;
        } else {
            self.result(call).await?;
        }
        if let Some(took) = facts.took {
            self.fact("took", style::DIM, &time(took))?;
        }
        Ok(())
    }

    /// Prints the checksum, the arguments and the repairs, once.
    fn name(&mut self, facts: &Facts) -> io::Result<()> {
        let Some(checksum) = facts.checksum.as_ref().filter(|_| !self.is_named) else {
            return Ok(());
        };
        self.is_named = true;
        self.fact("checksum", style::NAME, checksum)?;
        if let Some(args) = &facts.args {
            let columns = self.screen.columns().saturating_sub(10).max(8);
            let args = fit(&json(args), columns);
            self.fact("arguments", style::NAME, &args)?;
        }
        for repair in &facts.repairs {
            let (name, look) = if repair::is_default(repair) {
                ("filled in", style::DIM)
            } else {
                ("repaired", style::WARN)
            };
            self.fact(name, look, &repair::in_words(repair))?;
        }
        Ok(())
    }

    async fn result(&mut self, call: &ToolCall) -> anyhow::Result<()> {
        match call.results() {
            ToolResults::Artifacts(artifacts) => {
                let how = if call.is_inline() {
                    "sent to the model in full"
                } else {
                    "the model gets a handle"
                };
                for artifact in artifacts {
                    let (kind, bytes) = (artifact.kind(), size(artifact.byte_length()));
                    let cut = if call.is_truncated() {
                        ", truncated: the tool returned more"
                    } else {
                        ""
                    };
                    let about = format!("{kind}, {bytes}, {how}{cut}");
                    self.fact("result", style::GOOD, &about)?;
                    self.screen.line("")?;
                    if call.is_inline() || self.raw {
                        self.screen.content(&artifact.as_bytes().await?)?;
                    }
                }
                if !call.is_inline() && !self.raw {
                    self.handle(call).await?;
                }
            }
            ToolResults::Media(media) => {
                for media in media {
                    let name = one_line(media.filename(), LINE);
                    let about = format!("media {}, {name}", media.mime_type());
                    self.fact("result", style::GOOD, &about)?;
                }
            }
            _ => {
                let text = call.text().await.unwrap_or_default();
                self.screen.line("")?;
                self.screen.content(text.as_bytes())?;
            }
        }
        self.screen.line("")?;
        Ok(())
    }

    /// Prints the handle that a model gets for a large result.
    async fn handle(&mut self, call: &ToolCall) -> anyhow::Result<()> {
        let renderer = Renderer::new(ConversationSecret::random()?);
        for part in renderer.tool_call(call).await {
            if let Part::Text(text) = part {
                self.screen.content(text.as_bytes())?;
            }
        }
        self.screen.dim(
            "This is what the model sees; it can query the rest. Use --raw to print the complete result.",
        )?;
        Ok(())
    }

    async fn failure(&mut self, call: &ToolCall, facts: &Facts) -> anyhow::Result<()> {
        let what = match call.results() {
            ToolResults::Failure(_) => "failed",
            _ => "not run",
        };
        let code = facts.code.unwrap_or("cancelled");
        self.fact(what, style::BAD, code)?;
        // Faults of arguments are in the text for the model.
        if let (Some(message), true) = (&facts.message, facts.faults.is_empty()) {
            self.fact("reason", style::BAD, &one_line(message, 2_000))?;
        }
        if let Some(text) = call.text().await {
            self.screen.line("")?;
            self.screen.painted(style::DIM, "the model sees")?;
            self.screen.content(text.as_bytes())?;
            self.screen.line("")?;
        }
        Ok(())
    }

    fn fact(&mut self, name: &str, look: anstyle::Style, is: &str) -> io::Result<()> {
        let name = paint(look, format_args!("{name:9}"));
        self.screen.line(format_args!("{name} {is}"))
    }
}

fn time(took: Duration) -> String {
    match took.as_secs_f64() {
        seconds @ 1.0.. => format!("{seconds:.1} s"),
        seconds => format!("{:.1} ms", seconds * 1e3),
    }
}
