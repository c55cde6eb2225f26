//! Decodes partial responses: each has some parts of the content.

use serde_json::{Map, Value};
use turnwright_core::Error;

use super::SIGNATURE;
use crate::decode::{
    Cut, Delta, Finish, FrameReader, ReportedUsage, at_most, count, provider_content, reported,
    unreadable, wrong_protocol,
};
use crate::engine::{Block, Layout, Part};

/// The maximum number of calls and of parts that are not text in one response. Tiny parts take hundreds of times their
/// bytes in memory, and every call would be executed.
const MAX_PARTS: usize = 1_000;

/// Parts that the model wrote itself, besides text and calls. Any other part is of a tool that ran at the provider.
const OWN_PARTS: [&str; 4] = ["executableCode", "toolCall", "inlineData", "fileData"];

/// Reads the partial responses of a stream, or a body.
#[derive(Default)]
pub(super) struct PartReader {
    has_id: bool,
    has_model: bool,
    calls: usize,
    others: usize,
    finished: bool,
    layout: Layout,
}

impl FrameReader for PartReader {
    fn frame(&mut self, name: &str, data: &str, deltas: &mut Vec<Delta>) -> Result<bool, Error> {
        let data = data.trim();
        if name.eq_ignore_ascii_case("error") {
            return Err(reported(data));
        }
        match data {
            "" | "[DONE]" => Ok(false),
            _ => {
                let chunk = parse("an event of the response", data)?;
                self.chunk(&chunk, data, deltas)?;
                Ok(false)
            }
        }
    }

    fn body(&mut self, text: &str, deltas: &mut Vec<Delta>) -> Result<(), Error> {
        match parse("the response", text)? {
            // A stream without `alt=sse`.
            Value::Array(chunks) => chunks
                .iter()
                .try_for_each(|chunk| self.chunk(chunk, text, deltas)),
            chunk => self.chunk(&chunk, text, deltas),
        }
    }

    fn end(&mut self, deltas: &mut Vec<Delta>) -> Result<(), Error> {
        // The last finish reason counts, so that only the end of the stream is the end of the response.
        if self.finished {
            deltas.push(Delta::Done);
        }
        Ok(())
    }

    fn take_state(&mut self) -> Map<String, Value> {
        let mut state = Map::new();
        std::mem::take(&mut self.layout).store(&mut state);
        state
    }
}

impl PartReader {
    fn chunk(&mut self, chunk: &Value, text: &str, deltas: &mut Vec<Delta>) -> Result<(), Error> {
        if chunk.get("error").is_some_and(|error| !error.is_null()) {
            return Err(reported(&chunk.to_string()));
        }
        let candidates = chunk.get("candidates").and_then(Value::as_array);
        let feedback = chunk
            .get("promptFeedback")
            .and_then(|it| it.get("blockReason"));
        let usage = chunk.get("usageMetadata");
        if candidates.is_none() && feedback.is_none() && usage.is_none() {
            return Err(unknown(text));
        }
        if let Some(id) = text_of(chunk, "responseId").filter(|_| !self.has_id) {
            self.has_id = true;
            deltas.push(Delta::Id(id.to_owned()));
        }
        if let Some(model) = text_of(chunk, "modelVersion").filter(|_| !self.has_model) {
            self.has_model = true;
            deltas.push(Delta::Model(model.to_owned()));
        }
        // Only one candidate was requested.
        let is_first = |candidate: &&Value| count(candidate, &["index"]).unwrap_or(0) == 0;
        if let Some(candidate) = candidates.into_iter().flatten().find(is_first) {
            self.candidate(candidate, deltas)?;
        }
        if let Some(reason) = feedback.and_then(Value::as_str) {
            self.finished = true;
            deltas.push(Delta::Finish {
                reason: reason.to_owned(),
                finish: Finish::Cut(Cut::Filter),
            });
        }
        deltas.extend(usage.and_then(read_usage));
        Ok(())
    }

    fn candidate(&mut self, candidate: &Value, deltas: &mut Vec<Delta>) -> Result<(), Error> {
        let parts = candidate
            .get("content")
            .and_then(|content| content.get("parts"));
        let before = deltas.len();
        for part in parts.and_then(Value::as_array).into_iter().flatten() {
            self.part(part, deltas);
        }
        if deltas.iter().skip(before).any(Delta::is_content) {
            // Content after a finish reason needs another one.
            self.finished = false;
        }
        grounding(candidate, deltas);
        at_most(MAX_PARTS, self.calls.max(self.others), "parts")?;
        if let Some(reason) = text_of(candidate, "finishReason") {
            self.finished = true;
            deltas.push(Delta::Finish {
                reason: reason.to_owned(),
                finish: self.finish(reason),
            });
        }
        Ok(())
    }

    fn part(&mut self, part: &Value, deltas: &mut Vec<Delta>) {
        let signature = text_of(part, SIGNATURE);
        let fields = || {
            let field = signature.map(|text| (SIGNATURE.to_owned(), Value::from(text)));
            field.into_iter().collect::<Map<_, _>>()
        };
        if let Some(text) = part.get("text").and_then(Value::as_str) {
            let is_thought = part.get("thought") == Some(&Value::Bool(true));
            self.layout_text(text.len(), is_thought, fields());
            if text.is_empty() {
                return;
            }
            let text = text.to_owned();
            deltas.push(if is_thought {
                Delta::Reasoning(text)
            } else {
                Delta::Text(text)
            });
        } else if let Some(call) = part.get("functionCall") {
            let args = call.get("args").filter(|args| !args.is_null());
            self.layout.push(Part::Call);
            deltas.push(Delta::Call {
                slot: self.calls,
                id: text_of(call, "id").map(str::to_owned),
                name: text_of(call, "name").map(str::to_owned),
                arguments: args.map_or_else(|| "{}".to_owned(), Value::to_string),
                extra: signature.is_some().then(fields),
            });
            self.calls += 1;
        } else if part.is_object() {
            // Code that ran at the provider, its result, images and others.
            self.others += 1;
            let is_own = |name: &String| OWN_PARTS.contains(&name.as_str());
            if let Some(fields) = part.as_object().filter(|part| !part.keys().any(is_own)) {
                let response = fields.get("toolResponse");
                let kind = response.and_then(|response| text_of(response, "toolType"));
                deltas.push(provider_content(kind.unwrap_or_default()));
            }
            self.layout.push(Part::Raw(part.clone()));
        }
    }

    /// Adds a text to the layout. A signed text is a part of its own, even if it is empty.
    fn layout_text(&mut self, bytes: usize, is_thought: bool, fields: Map<String, Value>) {
        if bytes == 0 && fields.is_empty() {
            return;
        }
        let last = match (self.layout.last_mut(), is_thought) {
            (Some(Part::Text(block)), false) | (Some(Part::Reasoning(block)), true) => Some(block),
            _ => None,
        };
        if let Some(block) = last.filter(|block| fields.is_empty() && block.fields.is_empty()) {
            block.bytes += bytes;
            return;
        }
        let block = Block { bytes, fields };
        self.layout.push(if is_thought {
            Part::Reasoning(block)
        } else {
            Part::Text(block)
        });
        self.others += 1;
    }

    /// Returns how the response ended. `STOP` also ends a response with calls.
    fn finish(&self, reason: &str) -> Finish {
        match reason {
            // The API sends `STOP`. Some servers in its form have a word of their own.
            "STOP" | "FUNCTION_CALL" if self.calls > 0 => Finish::ToolCalls,
            "STOP" => Finish::Stop,
            "MAX_TOKENS" => Finish::Cut(Cut::Length),
            "SAFETY"
            | "RECITATION"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "LANGUAGE"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION" => Finish::Cut(Cut::Filter),
            "MALFORMED_FUNCTION_CALL"
            | "UNEXPECTED_TOOL_CALL"
            | "TOO_MANY_TOOL_CALLS"
            | "MALFORMED_RESPONSE"
            | "MISSING_THOUGHT_SIGNATURE" => Finish::Cut(Cut::Malformed),
            _ => Finish::Unknown,
        }
    }
}

/// Reads which sources the answer is based on.
fn grounding(candidate: &Value, deltas: &mut Vec<Delta>) {
    let is_filled = |value: &&Value| value.as_object().is_some_and(|fields| !fields.is_empty());
    let grounding = candidate.get("groundingMetadata").filter(is_filled);
    if let Some(grounding) = grounding {
        let chunks = grounding.get("groundingChunks").and_then(Value::as_array);
        let mut chunks = chunks.into_iter().flatten();
        let kind = if chunks.any(|chunk| chunk.get("retrievedContext").is_some()) {
            "file_search"
        } else {
            "google_search"
        };
        deltas.push(provider_content(kind));
    }
    if candidate
        .get("urlContextMetadata")
        .filter(is_filled)
        .is_some()
    {
        deltas.push(provider_content("url_context"));
    }
}

fn text_of<'v>(value: &'v Value, field: &str) -> Option<&'v str> {
    let text = value.get(field)?.as_str()?;
    (!text.is_empty()).then_some(text)
}

fn read_usage(usage: &Value) -> Option<Delta> {
    let reported = ReportedUsage {
        input: count(usage, &["promptTokenCount"]),
        output: count(usage, &["candidatesTokenCount"]),
        cached: count(usage, &["cachedContentTokenCount"]),
        reasoning: count(usage, &["thoughtsTokenCount"]),
        tool_input: count(usage, &["toolUsePromptTokenCount"]),
        total: count(usage, &["totalTokenCount"]),
        ..ReportedUsage::default()
    };
    reported.delta(
        reported.tool_input.unwrap_or(0),
        reported.reasoning.unwrap_or(0),
    )
}

fn parse(what: &str, text: &str) -> Result<Value, Error> {
    let parsed: Value =
        serde_json::from_str(text).map_err(|error| unreadable(what, &error.to_string(), text))?;
    if parsed.is_object() || parsed.is_array() {
        Ok(parsed)
    } else {
        Err(unreadable(what, "it is not a JSON object", text))
    }
}

fn unknown(text: &str) -> Error {
    wrong_protocol("the response has no `candidates`", text)
}
