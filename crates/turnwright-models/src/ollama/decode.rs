//! Decodes lines: each is an object with a piece of the message, and the last has `"done": true`.

use serde_json::Value;
use turnwright_core::{Error, ErrorKind};

use crate::decode::{
    Cut, Delta, Fields, Finish, FrameReader, ReportedUsage, at_most, count, looks_like, reported,
    wrong_protocol,
};

/// The maximum number of calls in one response: every call would be executed.
const MAX_CALLS: usize = 1_000;

/// Reads the lines of a response.
#[derive(Default)]
pub(super) struct LineReader {
    has_model: bool,
    calls: usize,
}

impl FrameReader for LineReader {
    fn frame(&mut self, _: &str, data: &str, deltas: &mut Vec<Delta>) -> Result<bool, Error> {
        let data = data.trim();
        let line = Fields::parse("a line of the response", data);
        match line.and_then(|line| self.line(line, data, deltas)) {
            Err(_) if is_of_other(data) => Err(unknown(data)),
            read => read,
        }
    }

    fn body(&mut self, text: &str, _: &mut Vec<Delta>) -> Result<(), Error> {
        Err(unknown(text))
    }
}

impl LineReader {
    fn line(
        &mut self,
        mut line: Fields,
        text: &str,
        deltas: &mut Vec<Delta>,
    ) -> Result<bool, Error> {
        if line.presence("error") {
            // It has no status: the server could not finish what it had accepted.
            return Err(reported(text).with_kind(ErrorKind::Unavailable));
        }
        let message = line.object("message")?;
        // Events of Anthropic have a `message` too.
        if !line.0.contains_key("done") && (message.is_none() || is_of_other(text)) {
            return Err(unknown(text));
        }
        if let Some(model) = line.text("model")?.filter(|_| !self.has_model) {
            self.has_model = true;
            deltas.push(Delta::Model(model));
        }
        if let Some(message) = message {
            self.message(message, deltas)?;
        }
        if !line.presence("done") {
            return Ok(false);
        }
        let reason = line
            .text("done_reason")?
            .unwrap_or_else(|| "stop".to_owned());
        deltas.push(Delta::Finish {
            finish: self.finish(&reason),
            reason,
        });
        deltas.extend(usage(&line.0.into()));
        deltas.push(Delta::Done);
        Ok(true)
    }

    fn message(&mut self, mut message: Fields, deltas: &mut Vec<Delta>) -> Result<(), Error> {
        deltas.extend(message.text("thinking")?.map(Delta::Reasoning));
        deltas.extend(message.text("content")?.map(Delta::Text));
        // Each call is complete.
        for call in message.list("tool_calls")?.into_iter().flatten() {
            let Value::Object(call) = call else {
                continue;
            };
            let mut call = Fields(call);
            let mut function = call.object("function")?.unwrap_or_default();
            deltas.push(Delta::Call {
                slot: self.calls,
                id: call.text("id")?,
                name: function.text("name")?,
                arguments: function.any_text("arguments"),
                extra: None,
            });
            self.calls += 1;
            at_most(MAX_CALLS, self.calls, "calls")?;
        }
        Ok(())
    }

    /// Returns how the response ended. `stop` also ends a response with calls.
    fn finish(&self, reason: &str) -> Finish {
        match reason {
            "stop" if self.calls > 0 => Finish::ToolCalls,
            "stop" => Finish::Stop,
            "length" => Finish::Cut(Cut::Length),
            // `load` and `unload`: the model was only loaded or unloaded.
            _ => Finish::Unknown,
        }
    }
}

/// Returns `true` for an event of another protocol.
fn is_of_other(text: &str) -> bool {
    looks_like(text).is_some_and(|protocol| protocol != "Ollama")
}

fn unknown(text: &str) -> Error {
    wrong_protocol("the response has no `message` and no `done`", text)
}

fn usage(line: &Value) -> Option<Delta> {
    let reported = ReportedUsage {
        input: count(line, &["prompt_eval_count"]),
        output: count(line, &["eval_count"]),
        ..ReportedUsage::default()
    };
    reported.delta(0, 0)
}
