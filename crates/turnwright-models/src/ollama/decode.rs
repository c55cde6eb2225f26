//! Decodes lines: each is an object with a piece of the message, and the last has `"done": true`.

use std::borrow::Cow;

use serde::de::MapAccess;
use serde_json::Value;
use turnwright_core::{Error, ErrorKind, Usage};

use crate::decode::{
    Cut, Delta, Field, Finish, FrameReader, Function, Object, ReportedUsage, count, looks_like,
    parse, reported, too_large, wrong_protocol,
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
        let mut line = None;
        match parse("a line of the response", data, &mut line) {
            Ok(line) => self.line(line, data, deltas),
            Err(_) if is_of_other(data) => Err(unknown(data)),
            Err(error) => Err(error),
        }
    }

    fn body(&mut self, text: &str, _: &mut Vec<Delta>) -> Result<(), Error> {
        Err(unknown(text))
    }
}

impl LineReader {
    fn line(
        &mut self,
        line: &mut Line<'_>,
        text: &str,
        deltas: &mut Vec<Delta>,
    ) -> Result<bool, Error> {
        if line.error {
            // It has no status: the server could not finish what it had accepted.
            return Err(reported(text).with_kind(ErrorKind::Unavailable));
        }
        // Events of Anthropic have a `message` too.
        if line.done.is_none() && (line.message.is_none() || is_of_other(text)) {
            return Err(unknown(text));
        }
        if let Some(model) = line.model.take_if(|_| !self.has_model) {
            self.has_model = true;
            deltas.push(Delta::Model(model.into_owned()));
        }
        if let Some(message) = &mut line.message {
            self.message(message, deltas)?;
        }
        if line.done != Some(true) {
            return Ok(false);
        }
        let reason = line.done_reason.take().unwrap_or(Cow::Borrowed("stop"));
        deltas.push(Delta::Finish {
            finish: self.finish(&reason),
            reason: reason.into_owned(),
        });
        deltas.extend(line.usage());
        deltas.push(Delta::Done);
        Ok(true)
    }

    fn message(&mut self, message: &mut Message<'_>, deltas: &mut Vec<Delta>) -> Result<(), Error> {
        if let Some(thinking) = message.thinking.take() {
            deltas.push(Delta::Reasoning(thinking.into_owned()));
        }
        if let Some(content) = message.content.take() {
            deltas.push(Delta::Text(content.into_owned()));
        }
        // Each call is complete.
        for call in message.tool_calls.take().into_iter().flatten() {
            let Function { name, arguments } = call.function.unwrap_or_default();
            deltas.push(Delta::Call {
                slot: self.calls,
                id: call.id.map(Cow::into_owned),
                name: name.map(Cow::into_owned),
                arguments: arguments.into_owned(),
                extra: None,
            });
            self.calls += 1;
            if self.calls > MAX_CALLS {
                let message = format!("the response has more than {MAX_CALLS} calls");
                return Err(too_large(message));
            }
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

/// A line.
#[derive(Default)]
struct Line<'a> {
    model: Option<Cow<'a, str>>,
    message: Option<Message<'a>>,
    done: Option<bool>,
    done_reason: Option<Cow<'a, str>>,
    counts: serde_json::Map<String, Value>,
    error: bool,
}

impl Line<'_> {
    fn usage(&self) -> Option<Delta> {
        let counts = Value::Object(self.counts.clone());
        let input = count(&counts, &["prompt_eval_count"]);
        let output = count(&counts, &["eval_count"]);
        if input.is_none() && output.is_none() {
            return None;
        }
        let reported = ReportedUsage {
            input,
            output,
            ..ReportedUsage::default()
        };
        let usage = Usage::tokens(input.unwrap_or(0), output.unwrap_or(0));
        Some(Delta::Usage { usage, reported })
    }
}

impl<'de> Object<'de> for Line<'de> {
    fn read<A: MapAccess<'de>>(&mut self, field: Field<'_, 'de, A>) -> Result<(), A::Error> {
        match &*field.name {
            "model" => self.model = field.text()?,
            "message" => field.object(&mut self.message)?,
            "done" => self.done = Some(field.presence()?),
            "done_reason" => self.done_reason = field.text()?,
            "error" => self.error = field.presence()?,
            "prompt_eval_count" | "eval_count" => {
                if let (name, Some(value)) = field.named_value()? {
                    self.counts.insert(name.into_owned(), value);
                }
            }
            _ => field.skip()?,
        }
        Ok(())
    }
}

/// A piece of the message.
#[derive(Default)]
struct Message<'a> {
    content: Option<Cow<'a, str>>,
    thinking: Option<Cow<'a, str>>,
    tool_calls: Option<Vec<Call<'a>>>,
}

impl<'de> Object<'de> for Message<'de> {
    fn read<A: MapAccess<'de>>(&mut self, field: Field<'_, 'de, A>) -> Result<(), A::Error> {
        match &*field.name {
            "content" => self.content = field.text()?,
            "thinking" => self.thinking = field.text()?,
            "tool_calls" => field.objects(&mut self.tool_calls)?,
            _ => field.skip()?,
        }
        Ok(())
    }
}

/// A call.
#[derive(Default)]
struct Call<'a> {
    id: Option<Cow<'a, str>>,
    function: Option<Function<'a>>,
}

impl<'de> Object<'de> for Call<'de> {
    fn read<A: MapAccess<'de>>(&mut self, field: Field<'_, 'de, A>) -> Result<(), A::Error> {
        match &*field.name {
            "id" => self.id = field.text()?,
            "function" => field.object(&mut self.function)?,
            _ => field.skip()?,
        }
        Ok(())
    }
}
