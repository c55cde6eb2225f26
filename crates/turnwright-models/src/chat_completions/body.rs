//! The body of a request.

use serde_json::{Value, json};
use turnwright_core::settings::ToolChoice;

use super::codec::INFO;
use super::quirks::{MAX_COMPLETION_TOKENS, NO_STREAM_OPTIONS, STRICT_ROLES};
use crate::engine::{AnswerSchema, RequestParts, Role, push_field, push_list, push_list_field};

/// Writes the request as JSON.
pub(super) fn write(request: &RequestParts<'_>) -> String {
    let mut text = String::with_capacity(request.length());
    text.push('{');
    let max_tokens = if request.quirks.has(MAX_COMPLETION_TOKENS) {
        "max_completion_tokens"
    } else {
        "max_tokens"
    };
    let is_sent = |name: &str| match name {
        "stream" => false,
        "stream_options" => request.streams,
        "tool_choice" | "parallel_tool_calls" => !request.tools.is_empty(),
        "max_tokens" | "max_completion_tokens" => name == max_tokens,
        _ => true,
    };
    // Always in the same order.
    for (name, value) in request.options.fields().filter(|(name, _)| is_sent(name)) {
        push_field(&mut text, name, &value.to_string());
    }
    let choice = request.settings.tool_choice.as_ref().map(tool_choice);
    let choice = choice.map(|choice| ("tool_choice", choice));
    let settings = request.settings(&INFO).chain(choice);
    for (name, value) in settings.filter(|(name, _)| is_sent(name)) {
        push_field(&mut text, name, &value.to_string());
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
    push_list_field(&mut text, "tools", request.tools);
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
