//! The body of a request.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use turnwright_core::settings::ToolChoice;

use super::ResponsesCodec;
use super::codec::INFO;
use super::options::{REASONING_SUMMARY, SystemPrompt, VERBOSITY};
use super::quirks::{CONTENT_PARTS, NO_ENCRYPTED_REASONING, NO_STORED_RESPONSES, never_reasons};
use crate::engine::{
    AnswerSchema, Encoded, RequestParts, Role, WireMessage, push_field, push_list, push_list_field,
};

/// What a stateless request needs to repeat reasoning.
const ENCRYPTED_REASONING: &str = "reasoning.encrypted_content";

/// Writes the request as JSON. What changes between requests comes last, so that the provider can cache the rest.
pub(super) fn write(codec: &ResponsesCodec, request: &RequestParts<'_>) -> Encoded {
    let stores = if request.options.has("store") {
        request.options.get("store").cloned()
    } else {
        Some(codec.chains.into())
    };
    let previous = match stores {
        Some(Value::Bool(true)) if codec.chains && !request.quirks.has(NO_STORED_RESPONSES) => {
            previous(request.messages)
        }
        _ => None,
    };
    let (id, messages) = match previous {
        Some((id, messages)) => (Some(id), messages),
        None => (None, request.messages),
    };
    // The system prompt is a JSON string.
    let is_system = |message: &&&WireMessage| message.role == Role::System;
    let system = request.messages.iter().find(is_system);
    let system = system.map(|message| message.json.as_str());
    let is_parameter = id.is_some() || codec.system == SystemPrompt::Instructions;

    let mut text = String::with_capacity(request.length());
    text.push('{');
    for (name, value) in parameters(request) {
        push_field(&mut text, name, &value.to_string());
    }
    if let Some(stores) = stores {
        push_field(&mut text, "store", &stores.to_string());
    }
    if let Some(system) = system.filter(|_| is_parameter) {
        push_field(&mut text, "instructions", system);
    }
    push_list_field(&mut text, "tools", request.tools);
    if let Some(id) = id {
        let id = Value::from(id).to_string();
        push_field(&mut text, "previous_response_id", &id);
    }
    let system = system.filter(|_| !is_parameter);
    let system = system.map(|text| Cow::Owned(system_message(codec.system, text)));
    let items = messages
        .iter()
        .filter(|message| message.role != Role::System)
        .map(|message| {
            if request.quirks.has(CONTENT_PARTS) {
                with_parts(message)
            } else {
                Cow::Borrowed(message.json.as_str())
            }
        });
    text.push_str(r#""input":"#);
    push_list(&mut text, system.into_iter().chain(items));
    text.push('}');
    Encoded {
        body: text,
        warning: request.unsupported(&INFO),
    }
}

/// Returns the message with the system prompt, which is a JSON string.
fn system_message(place: SystemPrompt, content: &str) -> String {
    let role = match place {
        SystemPrompt::Developer => "developer",
        SystemPrompt::System | SystemPrompt::Instructions => "system",
    };
    format!(r#"{{"type":"message","role":"{role}","content":{content}}}"#)
}

/// Returns the last response that the server stores, and the messages after it.
fn previous<'a, 'm>(messages: &'a [&'m WireMessage]) -> Option<(&'m str, &'a [&'m WireMessage])> {
    let at = messages
        .iter()
        .rposition(|message| message.response_id.is_some())?;
    let id = messages.get(at)?.response_id.as_deref()?;
    let rest = messages.get(at + 1..)?;
    (!rest.is_empty()).then_some((id, rest))
}

/// Returns a message with its content as a list of parts, if the model wrote it.
fn with_parts<'m>(message: &'m WireMessage) -> Cow<'m, str> {
    let mut item: Value = match message.role {
        Role::Assistant => serde_json::from_str(&message.json).unwrap_or_default(),
        _ => Value::Null,
    };
    match item.get_mut("content") {
        Some(content @ Value::String(_)) => {
            let text = content.take();
            *content = json!([{ "type": "output_text", "text": text, "annotations": [] }]);
            Cow::Owned(item.to_string())
        }
        _ => Cow::Borrowed(&message.json),
    }
}

/// Returns the parameters of the request, always in the same order.
fn parameters<'a>(request: &RequestParts<'a>) -> impl Iterator<Item = (&'a str, Cow<'a, Value>)> {
    let streams = request.streams;
    let has_tools = !request.tools.is_empty();
    let options = request
        .options
        .fields()
        .filter(move |(name, _)| match *name {
            "stream" | "store" | "include" | "text" | "reasoning" | REASONING_SUMMARY
            | VERBOSITY => false,
            name => streams || name != "stream_options",
        });
    let choice = request.settings.tool_choice.as_ref().map(tool_choice);
    let settings = request
        .settings(&INFO)
        .chain(choice.map(|choice| ("tool_choice", choice)));
    let settings: Vec<_> = settings
        .filter(|(name, _)| has_tools || !matches!(*name, "tool_choice" | "parallel_tool_calls"))
        .collect();
    let generated = [
        ("include", include(request)),
        ("reasoning", reasoning(request)),
        ("text", text(request)),
        ("stream", streams.then_some(true.into())),
    ];
    let generated = generated
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    options
        .map(|(name, value)| (name, Cow::Borrowed(value)))
        .chain(
            settings
                .into_iter()
                .chain(generated)
                .map(|(name, value)| (name, Cow::Owned(value))),
        )
}

/// Returns the additional output data to ask for.
fn include(request: &RequestParts<'_>) -> Option<Value> {
    let options = request.options;
    let asked = options.get("include");
    if asked.is_none() && options.has("include") {
        return None;
    }
    let mut fields = asked.and_then(Value::as_array).cloned().unwrap_or_default();
    if request.quirks.has(NO_ENCRYPTED_REASONING) || never_reasons(request.model) {
        fields.retain(|field| field != ENCRYPTED_REASONING);
    } else if !fields.iter().any(|field| field == ENCRYPTED_REASONING) {
        fields.push(ENCRYPTED_REASONING.into());
    }
    (!fields.is_empty()).then(|| fields.into())
}

fn reasoning(request: &RequestParts<'_>) -> Option<Value> {
    let mut reasoning = match request.options.get("reasoning") {
        Some(Value::Object(fields)) => fields.clone(),
        Some(other) => return Some(other.clone()),
        None => Map::new(),
    };
    let summary = request.options.get(REASONING_SUMMARY);
    reasoning.extend(summary.map(|summary| ("summary".to_owned(), summary.clone())));
    let effort = request.settings.reasoning_effort.as_ref();
    reasoning.extend(effort.map(|effort| ("effort".to_owned(), effort.as_str().into())));
    (!reasoning.is_empty()).then(|| reasoning.into())
}

fn text(request: &RequestParts<'_>) -> Option<Value> {
    let mut text = match request.options.get("text") {
        Some(Value::Object(fields)) => fields.clone(),
        Some(other) => return Some(other.clone()),
        None => Map::new(),
    };
    let verbosity = request.options.get(VERBOSITY);
    text.extend(verbosity.map(|verbosity| ("verbosity".to_owned(), verbosity.clone())));
    if let Some(answer) = request.answer {
        text.entry("format").or_insert_with(|| format(answer));
    }
    (!text.is_empty()).then(|| text.into())
}

/// Returns the format of a typed answer. Without `strict: false`, a server may rewrite the schema.
fn format(answer: AnswerSchema<'_>) -> Value {
    match answer.schema {
        Some(schema) => json!({
            "type": "json_schema",
            "name": answer.name,
            "schema": schema,
            "strict": false,
        }),
        None => json!({ "type": "json_object" }),
    }
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Tool(name) => json!({ "type": "function", "name": name }),
        ToolChoice::Required => "required".into(),
        ToolChoice::None => "none".into(),
        _ => "auto".into(),
    }
}
