//! The cost of the turn in tokens, and of the raw output for comparison.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use turnwright::artifact::text::TokenCount;
use turnwright_testkit::server::Server;

use super::incident;
use crate::show::{Shown, Tally};
use crate::terminal::style::{self, paint};
use crate::terminal::{Screen, plain, wrap};
use crate::units::count;

/// The cost of the turn. Tokens are estimates, all by the same rule.
#[derive(Serialize)]
#[serde(tag = "event", rename = "cost", rename_all = "camelCase")]
pub(super) struct Cost {
    prompts: usize,
    tokens_read: u64,
    longest_prompt: u64,
    raw_tokens: u64,
    calls: usize,
    not_run: usize,
    repairs: usize,
    seconds: f64,
    /// The injected instruction as the model saw it, between the lines of its envelope.
    injected: Option<[String; 3]>,
}

impl Cost {
    pub(super) async fn of(shown: &Shown, tally: &Tally, server: &Server, took: Duration) -> Self {
        let requests = server.requests();
        let tokens =
            |bytes: &[u8]| TokenCount::of_text(&String::from_utf8_lossy(bytes), "scripted").tokens;
        let prompts = requests.iter().map(|request| tokens(&request.body));
        let prompts: Vec<u64> = prompts.collect();
        let mut raw_tokens = 0;
        for artifact in shown.outcome.tool_calls().flat_map(|call| call.handles()) {
            let estimate = artifact.estimate_tokens(None).await;
            raw_tokens += estimate.map_or(0, |estimate| estimate.tokens);
        }
        let mut injected = requests
            .iter()
            .filter_map(|request| injected_line(&request.json()?));
        let counts = tally.counts();
        Cost {
            prompts: prompts.len(),
            tokens_read: prompts.iter().sum(),
            longest_prompt: prompts.iter().copied().max().unwrap_or_default(),
            raw_tokens,
            calls: counts.calls,
            not_run: counts.refused,
            repairs: counts.repairs,
            seconds: took.as_secs_f64(),
            injected: injected.next_back(),
        }
    }

    pub(super) fn show(&self, screen: &mut Screen) -> std::io::Result<()> {
        if let Some(lines) = &self.injected {
            let title = "The injected instruction, as the model saw it";
            screen.line(format_args!("\n{}", paint(style::BOLD, title)))?;
            for line in lines {
                screen.line(wrap(&plain(line), screen.width(), "  "))?;
            }
        }
        screen.line(format_args!("\n{}", paint(style::BOLD, "Cost")))?;
        let (prompts, calls, not_run) = (self.prompts, self.calls, self.not_run);
        let (read, longest) = (about(self.tokens_read), about(self.longest_prompt));
        let raw = about(self.raw_tokens);
        let rows = [
            ("input", format!("{read} tokens in {prompts} prompts")),
            ("longest prompt", format!("{longest} tokens")),
            (
                "raw output",
                format!("{raw} tokens, too many for any prompt"),
            ),
            (
                "calls",
                format!("{calls} ran, {not_run} stopped before the handler"),
            ),
            ("repairs", self.repairs.to_string()),
            ("time", format!("{:.1} s", self.seconds)),
        ];
        for (name, value) in rows {
            let name = paint(style::DIM, format_args!("{name:<14}"));
            screen.line(format_args!("  {name}  {value}"))?;
        }
        Ok(())
    }
}

/// An estimate, rounded to two digits.
fn about(tokens: u64) -> String {
    let digits = tokens.max(1).ilog10().saturating_sub(1);
    let unit = 10_u64.saturating_pow(digits);
    let rounded = tokens.saturating_add(unit / 2) / unit * unit;
    format!("about {}", count(rounded))
}

/// The line with the injected instruction in a prompt, with the first and the last line of its envelope.
fn injected_line(body: &Value) -> Option<[String; 3]> {
    let messages = body.get("messages")?.as_array()?;
    messages.iter().find_map(|message| {
        let lines: Vec<&str> = message.get("content")?.as_str()?.lines().collect();
        let at = lines
            .iter()
            .position(|line| line.contains(incident::INJECTION))?;
        let is_tag = |line: &&&str| line.contains("tw-");
        let (before, after) = (lines.get(..at)?, lines.get(at + 1..)?);
        let open = before.iter().rev().find(is_tag)?;
        let close = after.iter().find(is_tag)?;
        Some([open, lines.get(at)?, close].map(ToString::to_string))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_has_two_digits() {
        let texts = [0, 7, 99, 30_904, 5_466, 5_662_301].map(about);
        let expected = ["0", "7", "99", "31,000", "5,500", "5,700,000"];
        assert_eq!(texts, expected.map(|number| format!("about {number}")));
    }
}
