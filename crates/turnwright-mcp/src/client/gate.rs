//! Questions of servers to the user, as gates.

use serde_json::{Value, json};
use turnwright_core::gate::TurnGate;
use turnwright_core::schema::{SchemaOptions, escape};
use turnwright_core::{ErrorCode, ToolContext};
use url::Url;

use crate::definition::{harmless, harmless_schema};
use crate::protocol::{Elicitation, ElicitationAnswer};

/// The kind of these gates.
pub(super) const KIND: &str = "elicitation";

/// Maximum length of a question.
const MAX_QUESTION: usize = 4_000;

/// Maximum size of the schema of a form in bytes.
const MAX_SCHEMA: usize = 256 << 10;

/// Asks the user, and waits for the answer. `hold` keeps the turn in this process: the server waits for the answer on this
/// connection.
pub(super) async fn ask(
    question: Elicitation,
    alias: &str,
    ctx: &ToolContext,
    hold: bool,
) -> ElicitationAnswer {
    let gate = match gate(question, alias, hold) {
        Ok(gate) => gate,
        Err(reason) => {
            warn_declined(ctx, alias, &reason);
            return ElicitationAnswer::Decline;
        }
    };
    let is_form = gate.schema().is_some();
    match ctx.wait_for(gate).await {
        Ok(value) => ElicitationAnswer::Accept(is_form.then_some(value)),
        Err(error) if error.code() == ErrorCode::TURN_GATE_REJECTED => ElicitationAnswer::Decline,
        Err(error) => {
            if error.code() == ErrorCode::LLM_EXECUTION_GATE_NOT_SUPPORTED {
                warn_declined(ctx, alias, error.message());
            }
            ElicitationAnswer::Cancel
        }
    }
}

/// Warns that a question was not asked.
pub(super) fn warn_declined(ctx: &ToolContext, alias: &str, reason: &str) {
    let message = format!("declined a question of the MCP server `{alias}`: {reason}");
    ctx.turn().warn(message);
}

fn gate(question: Elicitation, alias: &str, hold: bool) -> Result<TurnGate, String> {
    let gate = TurnGate::new(KIND);
    let gate = if hold { gate.keep_in_process() } else { gate };
    let gate = match question {
        Elicitation::Form { message, schema } => {
            let size = schema.to_string().len();
            if size > MAX_SCHEMA {
                return Err(format!(
                    "its schema has {size} bytes, more than {MAX_SCHEMA}"
                ));
            }
            let schema = harmless_schema(schema, MAX_QUESTION).map_err(|pointer| {
                format!("hidden or misleading text at `{}`", escape(&pointer, 80))
            })?;
            let schema = SchemaOptions::foreign().document(schema);
            let schema = schema.map_err(|error| error.to_string())?;
            gate.question(json!({ "server": alias, "message": harmless(&message, MAX_QUESTION) }))
                .schema(schema)
        }
        Elicitation::Url { message, url } => {
            let host = host(&url)?;
            gate.question(json!({
                "server": alias, "message": harmless(&message, MAX_QUESTION), "url": harmless(&url, MAX_QUESTION), "host": host,
            }))
        }
    };
    gate.build().map_err(|error| error.message().to_owned())
}

fn host(url: &str) -> Result<String, String> {
    let parsed = Url::parse(url).map_err(|error| format!("the URL is invalid: {error}"))?;
    let is_web = matches!(parsed.scheme(), "http" | "https");
    let has_credentials = !parsed.username().is_empty() || parsed.password().is_some();
    match parsed.host_str() {
        Some(host) if is_web && !has_credentials => Ok(host.to_owned()),
        _ => Err("the URL is not a plain web address".to_owned()),
    }
}

/// Reads a question from the JSON of `elicitation/create`.
pub(super) fn read(params: &Value) -> Option<Elicitation> {
    let text = |key: &str| params.get(key).and_then(Value::as_str).map(str::to_owned);
    let message = text("message").unwrap_or_default();
    match text("mode").as_deref() {
        None | Some("form") => Some(Elicitation::Form {
            message,
            schema: params.get("requestedSchema")?.clone(),
        }),
        Some("url") => Some(Elicitation::Url {
            message,
            url: text("url")?,
        }),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_with_a_large_schema_is_not_shown() {
        let form = |values: usize| Elicitation::Form {
            message: "Which?".to_owned(),
            schema: json!({ "type": "object", "properties": { "a": { "enum": (0..values).collect::<Vec<_>>() } } }),
        };
        assert!(gate(form(10), "a", false).is_ok());
        let refused = gate(form(100_000), "a", false).unwrap_err();
        assert!(refused.ends_with("bytes, more than 262144"), "{refused}");
    }
}
