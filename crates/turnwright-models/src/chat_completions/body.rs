//! The body of a request.

use std::borrow::Cow;

use serde_json::{Value, json};
use turnwright_core::settings::ToolChoice;

use super::quirks::{MAX_COMPLETION_TOKENS, NO_STREAM_OPTIONS, STRICT_ROLES};
use crate::engine::{AnswerSchema, RequestParts, Role, push_field, push_list};

/// Writes the request as JSON.
pub(super) fn write(request: &RequestParts<'_>) -> String {
    let tools: usize = request.tools.iter().map(|tool| tool.len() + 1).sum();
    let messages = request.messages.iter();
    let content: usize = messages.map(|message| message.json.len() + 1).sum();
    let mut text = String::with_capacity(tools + content + 256);
    text.push('{');
    for (name, value) in parameters(request) {
        match name {
            "stream" => {}
            "stream_options" if !request.streams => {}
            "tool_choice" | "parallel_tool_calls" if request.tools.is_empty() => {}
            _ => push_field(&mut text, name, &value.to_string()),
        }
    }
    if let Some(answer) = request.answer {
        let format = response_format(answer);
        push_field(&mut text, "response_format", &format.to_string());
    }
    if request.streams {
        push_field(&mut text, "stream", "true");
        if !request.options.has("stream_options") && !request.quirks.has(NO_STREAM_OPTIONS) {
            push_field(&mut text, "stream_options", r#"{"include_usage":true}"#);
        }
    }
    if !request.tools.is_empty() {
        text.push_str(r#""tools":"#);
        push_list(&mut text, request.tools.iter().map(|tool| &**tool));
        text.push(',');
    }
    let mut before = None;
    let messages = request.messages.iter().flat_map(|message| {
        let between = if request.quirks.has(STRICT_ROLES) {
            between(before.replace(message.role), message.role)
        } else {
            None
        };
        between.into_iter().chain([message.json.as_str()])
    });
    text.push_str(r#""messages":"#);
    push_list(&mut text, messages);
    text.push('}');
    text
}

/// Returns the parameters of the request: the options, then the settings, always in the same order.
fn parameters<'a>(request: &RequestParts<'a>) -> Vec<(&'a str, Cow<'a, Value>)> {
    let options = request.options.fields();
    let mut fields: Vec<_> = options
        .map(|(name, value)| (name, Cow::Borrowed(value)))
        .collect();
    let max_tokens = if request.quirks.has(MAX_COMPLETION_TOKENS) {
        "max_completion_tokens"
    } else {
        "max_tokens"
    };
    let settings = request.settings;
    let effort = settings.reasoning_effort.as_ref();
    let choice = settings.tool_choice.as_ref();
    let stop = settings.stop_sequences.clone();
    let words = [
        ("temperature", settings.temperature.map(Value::from)),
        ("top_p", settings.top_p.map(Value::from)),
        (max_tokens, settings.max_output_tokens.map(Value::from)),
        ("stop", stop.map(Value::from)),
        ("seed", settings.seed.map(Value::from)),
        (
            "presence_penalty",
            settings.presence_penalty.map(Value::from),
        ),
        (
            "frequency_penalty",
            settings.frequency_penalty.map(Value::from),
        ),
        (
            "reasoning_effort",
            effort.map(|effort| effort.as_str().into()),
        ),
        ("tool_choice", choice.map(tool_choice)),
        (
            "parallel_tool_calls",
            settings.parallel_tool_calls.map(Value::from),
        ),
    ];
    let set = words
        .into_iter()
        .filter_map(|(name, value)| Some((name, Cow::Owned(value?))));
    fields.extend(set);
    fields
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Tool(name) => json!({ "type": "function", "function": { "name": name } }),
        ToolChoice::Required => "required".into(),
        ToolChoice::None => "none".into(),
        _ => "auto".into(),
    }
}

fn response_format(answer: AnswerSchema<'_>) -> Value {
    match answer.schema {
        Some(schema) => json!({
            "type": "json_schema",
            "json_schema": { "name": answer.name, "schema": schema },
        }),
        None => json!({ "type": "json_object" }),
    }
}

/// Returns the message to insert between two messages that a server with strict roles does not accept in sequence.
fn between(before: Option<Role>, next: Role) -> Option<&'static str> {
    match (before?, next) {
        (Role::Tool | Role::User, Role::User) => {
            Some(r#"{"role":"assistant","content":"I will look at it."}"#)
        }
        (Role::Assistant, Role::Assistant) => Some(r#"{"role":"user","content":"Go on."}"#),
        _ => None,
    }
}
