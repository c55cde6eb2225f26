//! The body of a request.

use std::sync::Arc;

use serde_json::{Value, json};
use turnwright_core::TurnContext;

use super::options::Options;
use super::parameters::Parameters;
use super::quirks::Quirks;
use super::settings::TypedAnswers;
use super::wire_message::{Role, WireMessage};

/// The parts of a request.
pub(super) struct Body<'a> {
    pub(super) parameters: &'a Parameters,
    pub(super) tools: &'a [Arc<str>],
    pub(super) response_format: Option<Value>,
}

impl Body<'_> {
    /// Writes the request as JSON.
    pub(super) fn write<'m>(
        &self,
        messages: impl Iterator<Item = &'m WireMessage> + Clone,
        quirks: Quirks,
    ) -> String {
        let tools: usize = self.tools.iter().map(|tool| tool.len() + 1).sum();
        let content: usize = messages.clone().map(|message| message.json.len() + 1).sum();
        let mut text = String::with_capacity(tools + content + 256);
        text.push('{');
        let options = &*self.parameters.options;
        for (name, value) in self.parameters.fields(quirks.max_completion_tokens) {
            let without_tools = self.tools.is_empty();
            match name {
                "stream" => {}
                "stream_options" if !options.streams() => {}
                "tool_choice" | "parallel_tool_calls" if without_tools => {}
                _ => field(&mut text, name, &value.to_string()),
            }
        }
        if let Some(format) = &self.response_format {
            field(&mut text, "response_format", &format.to_string());
        }
        if options.streams() {
            field(&mut text, "stream", "true");
            if !options.has("stream_options") && !quirks.no_stream_options {
                field(&mut text, "stream_options", r#"{"include_usage":true}"#);
            }
        }
        if !self.tools.is_empty() {
            list(&mut text, "tools", self.tools.iter().map(|tool| &**tool));
            text.push(',');
        }
        let mut before = None;
        let messages = messages.flat_map(|message| {
            let between = match quirks.strict_roles {
                true => between(before.replace(message.role), message.role),
                false => None,
            };
            between.into_iter().chain([message.json.as_str()])
        });
        list(&mut text, "messages", messages);
        text.push('}');
        text
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

/// Appends a field and a comma.
fn field(text: &mut String, name: &str, value: &str) {
    // Text always serialises.
    text.push_str(&serde_json::to_string(name).unwrap_or_default());
    text.push(':');
    text.push_str(value);
    text.push(',');
}

fn list<'i>(text: &mut String, name: &str, items: impl Iterator<Item = &'i str>) {
    text.push('"');
    text.push_str(name);
    text.push_str("\":[");
    for (at, item) in items.enumerate() {
        if at > 0 {
            text.push(',');
        }
        text.push_str(item);
    }
    text.push(']');
}

/// Returns the `response_format` of a typed answer, unless the options set one.
pub(super) fn response_format(
    turn: &TurnContext,
    options: &Options,
    how: TypedAnswers,
) -> Option<Value> {
    let format = turn.answer_format()?;
    if options.has("response_format") {
        return None;
    }
    match how {
        TypedAnswers::JsonSchema => Some(json!({
            "type": "json_schema",
            "json_schema": { "name": schema_name(format.name()), "schema": format.schema().document() },
        })),
        TypedAnswers::JsonObject => Some(json!({ "type": "json_object" })),
        TypedAnswers::Prompt => None,
    }
}

/// Returns the part of the system prompt with the schema of a typed answer, if `response_format` does not contain it.
pub(super) fn answer_instructions(turn: &TurnContext, how: TypedAnswers) -> Option<String> {
    let format = turn.answer_format()?;
    match how {
        TypedAnswers::JsonSchema => None,
        TypedAnswers::JsonObject | TypedAnswers::Prompt => Some(format!(
            "Your final answer must be JSON only, without any other text. It must match this JSON Schema:\n{}",
            format.schema().document()
        )),
    }
}

/// Returns a valid schema name. Schema names allow the same characters as tool names.
fn schema_name(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let name: String = name.chars().filter(|c| fits(*c)).take(64).collect();
    match name.is_empty() {
        true => "answer".to_owned(),
        false => name,
    }
}
