//! Describes replies as JSON, for `turnwright wire decode`.

use serde_json::{Map, Value, json};
use turnwright_core::Error;

use crate::Protocol;
use crate::decode::{Cut, Reply};
use crate::engine::{Layout, Part};

/// Fields of reasoning, parts and calls that a server expects back unread.
const OPAQUE: [&str; 4] = ["id", "encrypted_content", "signature", SIGNATURE];
const SIGNATURE: &str = "thoughtSignature";

impl Protocol {
    /// Returns the content of a recorded response as JSON: that of [`describe`](Protocol::describe) with the `status` and
    /// whether it was `streamed`, or for an error status the `error`. Chat Completions has only the status of errors.
    ///
    /// # Errors
    /// Like [`Protocol::decode`].
    #[doc(hidden)] // For `turnwright wire decode`.
    pub fn describe_response(
        self,
        status: u16,
        content_type: Option<&str>,
        body: &[u8],
    ) -> Result<Value, Error> {
        let is_chat = self == Protocol::ChatCompletions;
        if status >= 300 {
            let mut line = Map::from_iter([("status".to_owned(), status.into())]);
            let body = serde_json::from_slice(body).unwrap_or_default();
            line.extend((!is_chat).then(|| ("error".to_owned(), self.error(&body))));
            return Ok(line.into());
        }
        let mut line = self.describe(&self.decode(content_type, body)?);
        if let (Value::Object(fields), false) = (&mut line, is_chat) {
            fields.insert("status".to_owned(), status.into());
            fields.insert("streamed".to_owned(), is_stream(body).into());
        }
        Ok(line)
    }

    /// Returns a reply as JSON: `text`, `reasoning`, `refusal`, `tool_calls`, `finish_reason`, `usage`, and for all
    /// protocols but Chat Completions the opaque `state` and the types of `other` parts.
    #[doc(hidden)] // For `turnwright wire decode`.
    #[must_use]
    pub fn describe(self, reply: &Reply) -> Value {
        let is_chat = self == Protocol::ChatCompletions;
        let calls = reply.tool_calls.iter().map(|call| {
            let text = &call.arguments;
            // Arguments that are not an object were cut off.
            let object = serde_json::from_str::<Map<String, Value>>(text);
            let (id, arguments): (Option<String>, Value) = match object {
                _ if is_chat => (
                    call.id.clone().or(Some(String::new())),
                    text.as_str().into(),
                ),
                Ok(object) => (call.id.clone(), object.into()),
                Err(_) => (call.id.clone(), text.as_str().into()),
            };
            json!({ "id": id, "name": call.name, "arguments": arguments })
        });
        let usage = reply.reported_usage.map(|usage| {
            let all = json!(usage);
            let counts = self.codec().info().counts.iter();
            let of = |name: &&str| {
                (
                    (*name).to_owned(),
                    all.get(name).cloned().unwrap_or_default(),
                )
            };
            counts.map(of).collect::<Map<_, _>>()
        });
        let mut line = json!({
            "text": reply.text,
            "reasoning": reply.reasoning,
            "refusal": reply.refusal,
            "tool_calls": calls.collect::<Value>(),
            "finish_reason": reply.finish_reason,
            "usage": usage,
        });
        if let (Value::Object(fields), false) = (&mut line, is_chat) {
            let mut add = |name: &str, value: Value| fields.insert(name.to_owned(), value);
            let (state, other) = opaque(reply);
            add("state", state.into());
            add("other", other.into());
            match self {
                Protocol::Anthropic => {
                    let name = "stop_sequence";
                    add(name, reply.details.get(name).cloned().into());
                }
                Protocol::Responses => {
                    let reason = match reply.cut() {
                        Some(Cut::Length) => Some("max_output_tokens"),
                        Some(Cut::Filter) => Some("content_filter"),
                        _ => None,
                    };
                    add("incomplete_reason", reason.into());
                    add("response_id", reply.id.as_deref().into());
                }
                _ => {}
            }
        }
        line
    }

    /// Returns what an error body says. The error of Ollama and xAI is a text, with its code beside it.
    fn error(self, body: &Value) -> Value {
        let error = body.get("error").unwrap_or(body);
        let (names, message) = match error {
            Value::String(_) => (body, Some(error)),
            _ => (error, error.get("message")),
        };
        let kind = names.get("type").or_else(|| names.get("status"));
        let mut said = json!({ "type": kind, "message": message });
        if let (Value::Object(said), Protocol::Responses) = (&mut said, self) {
            said.insert("code".to_owned(), names.get("code").cloned().into());
        }
        said
    }
}

/// Returns what the server expects back unread, and the types of citations and of parts that are not text.
fn opaque(reply: &Reply) -> (Vec<Value>, Vec<String>) {
    let (mut state, mut other) = (Vec::new(), Vec::new());
    let mut of_calls = reply
        .tool_calls
        .iter()
        .map(|call| call.extra.as_ref()?.get(SIGNATURE).cloned());
    let layout = Layout::of(&reply.state).unwrap_or_default();
    for part in layout.parts() {
        match part {
            Part::Text(block) => {
                let sources = ["citations", "annotations"].iter();
                let sources = sources.filter_map(|name| block.fields.get(*name)?.as_array());
                for source in sources.flatten() {
                    other.push(format!("citation:{}", kind(source).unwrap_or_default()));
                    encrypted(source, &mut state);
                }
                state.extend(block.fields.get(SIGNATURE).cloned());
            }
            Part::Reasoning(block) => {
                state.extend(
                    OPAQUE
                        .iter()
                        .filter_map(|name| block.fields.get(*name).cloned()),
                );
            }
            Part::Call => state.extend(of_calls.next().flatten()),
            Part::Raw(value) => {
                let fields = value.as_object();
                match kind(value) {
                    Some(kind) => other.push(kind.to_owned()),
                    // A part of Gemini is named by its fields.
                    None => {
                        let names = fields.into_iter().flat_map(Map::keys);
                        other.extend(names.filter(|name| *name != SIGNATURE).cloned());
                    }
                }
                let data = value
                    .get("data")
                    .filter(|_| kind(value) == Some("redacted_thinking"));
                state.extend(data.or_else(|| value.get(SIGNATURE)).cloned());
                encrypted(value, &mut state);
            }
        }
    }
    state.extend(of_calls.flatten());
    (state, other)
}

fn kind(value: &Value) -> Option<&str> {
    value.get("type")?.as_str()
}

/// Collects the encrypted texts in a value.
fn encrypted(value: &Value, found: &mut Vec<Value>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if value.is_string() && name.starts_with("encrypted_") {
                    found.push(value.clone());
                } else {
                    encrypted(value, found);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| encrypted(item, found)),
        _ => {}
    }
}

/// Returns `true` if a body is a stream: events, or more than one object.
fn is_stream(body: &[u8]) -> bool {
    let body = body.trim_ascii();
    !body.starts_with(b"{") || body.windows(3).any(|bytes| bytes == b"}\n{")
}
