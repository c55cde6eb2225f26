//! Questions of servers to the user, as gates.

use serde_json::{Value, json};
use turnwright_core::gate::TurnGate;
use turnwright_core::schema::{SchemaOptions, escape};
use turnwright_core::{ErrorCode, ToolContext};
use url::Url;

use crate::definition::{harmless, harmless_schema};

/// The kind of these gates.
pub(super) const KIND: &str = "elicitation";

/// Maximum length of a question.
const MAX_QUESTION: usize = 4_000;

/// Maximum size of the schema of a form in bytes.
const MAX_SCHEMA: usize = 256 << 10;

/// Asks the user for what `elicitation/create` asks for, and returns its result. `hold` keeps the turn in this process: the server waits
/// for the reply on this connection.
pub(super) async fn elicit(params: &Value, alias: &str, ctx: &ToolContext, hold: bool) -> Value {
    let gate = match gate(params, alias, hold) {
        Ok(gate) => gate,
        Err(reason) => {
            warn_declined(ctx, alias, &reason);
            return json!({ "action": "decline" });
        }
    };
    let mode = params.get("mode").and_then(Value::as_str);
    let is_form = mode.is_none_or(|mode| mode == "form");
    match ctx.wait_for(gate).await {
        Ok(content) if is_form => json!({ "action": "accept", "content": content }),
        Ok(_) => json!({ "action": "accept" }),
        Err(error) if error.code() == ErrorCode::TURN_GATE_REJECTED => {
            json!({ "action": "decline" })
        }
        Err(error) => {
            if error.code() == ErrorCode::LLM_EXECUTION_GATE_NOT_SUPPORTED {
                warn_declined(ctx, alias, error.message());
            }
            json!({ "action": "cancel" })
        }
    }
}

/// Warns that a question was not asked.
pub(super) fn warn_declined(ctx: &ToolContext, alias: &str, reason: &str) {
    let message = format!("declined a question of the MCP server `{alias}`: {reason}");
    ctx.turn().warn(message);
}

fn gate(params: &Value, alias: &str, hold: bool) -> Result<TurnGate, String> {
    let unknown = || "it is of an unknown kind".to_owned();
    let text = |key: &str| params.get(key).and_then(Value::as_str);
    let message = harmless(text("message").unwrap_or_default(), MAX_QUESTION);
    let mut gate = TurnGate::new(KIND);
    if hold {
        gate = gate.keep_in_process();
    }
    let gate = match text("mode") {
        None | Some("form") => {
            let schema = params.get("requestedSchema").ok_or_else(unknown)?;
            let size = schema.to_string().len();
            if size > MAX_SCHEMA {
                return Err(format!(
                    "its schema has {size} bytes, more than {MAX_SCHEMA}"
                ));
            }
            let schema = harmless_schema(schema.clone(), MAX_QUESTION).map_err(|pointer| {
                format!("hidden or misleading text at `{}`", escape(&pointer, 80))
            })?;
            let schema = SchemaOptions::foreign()
                .document(schema)
                .map_err(|error| error.to_string())?;
            gate.question(json!({ "server": alias, "message": message }))
                .schema(schema)
        }
        Some("url") => {
            let url = text("url").ok_or_else(unknown)?;
            let host = host(url)?;
            let url = harmless(url, MAX_QUESTION);
            gate.question(json!({ "server": alias, "message": message, "url": url, "host": host }))
        }
        Some(_) => return Err(unknown()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_with_a_large_schema_is_not_shown() {
        let form = |values: usize| {
            let schema = json!({ "type": "object", "properties": { "a": { "enum": (0..values).collect::<Vec<_>>() } } });
            json!({ "message": "Which?", "requestedSchema": schema })
        };
        assert!(gate(&form(10), "a", false).is_ok());
        let refused = gate(&form(100_000), "a", false).unwrap_err();
        assert!(refused.ends_with("bytes, more than 262144"), "{refused}");
    }
}
