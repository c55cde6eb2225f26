//! Gates as questions to the client.

use rmcp::model::InputRequest;
use serde_json::{Value, json};
use turnwright_core::gate::{GateAnswer, GateKind, Gates, OpenGate, TurnGate};
use turnwright_core::schema::escape;
use turnwright_core::{Error, Principal};

use super::client::Need;

/// Maximum number of characters of the arguments in an approval. A call with longer ones is denied: what is not shown cannot be
/// approved.
const MAX_ARGS: usize = 32_000;

/// Maximum number of characters of another question.
const MAX_QUESTION: usize = 8_000;

const ELICITATION: &str = "elicitation/create";
const SAMPLING: &str = "sampling/createMessage";
const ROOTS: &str = "roots/list";

/// Creates a gate that sends this request to the client of the Model Context Protocol: `elicitation/create`,
/// `sampling/createMessage` or `roots/list`. The answer at the gate is the result of the request; for an elicitation, the content of
/// the form.
///
/// Use it for requests that a gate with a question and a schema cannot express. It fails if the call does not come from such a
/// client, or if the client does not support the request.
///
/// ```
/// use serde_json::json;
/// use turnwright_core::{ToolContext, ToolError};
/// use turnwright_mcp::serve::client_request;
///
/// async fn summary(ctx: ToolContext) -> Result<String, ToolError> {
///     let message = json!({ "role": "user", "content": { "type": "text", "text": "Summarise …" } });
///     let params = json!({ "messages": [message], "maxTokens": 200 });
///     let answer = ctx.wait_for(client_request("summary", "sampling/createMessage", params)?).await?;
///     Ok(answer["content"]["text"].as_str().unwrap_or_default().to_owned())
/// }
/// ```
///
/// # Errors
/// Returns `E_INVALID_INITIAL_TURN_GATE_VALUE` if the name is empty or reserved.
pub fn client_request(
    name: impl Into<GateKind>,
    method: &str,
    params: impl Into<Value>,
) -> Result<TurnGate, Error> {
    let params: Value = params.into();
    let question = json!({ "method": method, "params": params });
    TurnGate::new(name).question(question).build()
}

/// A question to the client.
pub(super) struct Question {
    pub(super) request: InputRequest,
    pub(super) need: Need,
    reading: Reading,
}

/// How the client's reply is read.
#[derive(Clone, Copy)]
enum Reading {
    /// The decision about a call.
    Approval,
    /// The fields of a form.
    Fields,
    /// The only field of a form.
    Field,
    /// The result as it is.
    Result,
}

impl Question {
    /// Creates the question of a gate.
    ///
    /// # Errors
    /// Returns a text for the model if no client can be asked this.
    pub(super) fn of(gate: &OpenGate) -> Result<Self, String> {
        let (method, params, need, reading) = match &gate.kind {
            GateKind::Approval => (ELICITATION, approval(gate)?, Need::Form, Reading::Approval),
            _ => match gate.question.get("method").and_then(Value::as_str) {
                Some(SAMPLING) => (SAMPLING, params(gate), Need::Sampling, Reading::Result),
                Some(ROOTS) => (ROOTS, json!({}), Need::Roots, Reading::Result),
                Some(ELICITATION) => (ELICITATION, params(gate), Need::Form, Reading::Fields),
                _ => {
                    let (params, reading) = form(gate);
                    (ELICITATION, params, Need::Form, reading)
                }
            },
        };
        let request = json!({ "method": method, "params": params });
        let request = serde_json::from_value(request);
        Ok(Question {
            request: request.map_err(|_| "the question cannot be shown as a form".to_owned())?,
            need,
            reading,
        })
    }

    /// Reads the reply of a caller. `None` if it is malformed.
    pub(super) fn read(&self, reply: Value, caller: Option<&Principal>) -> Option<GateAnswer> {
        let mut answer = self.answer(reply)?;
        answer.by = caller.cloned();
        Some(answer)
    }

    fn answer(&self, mut reply: Value) -> Option<GateAnswer> {
        if matches!(self.reading, Reading::Result) {
            return reply.is_object().then(|| GateAnswer::value(reply));
        }
        let refuse = |reason: &str| match self.reading {
            Reading::Approval => GateAnswer::deny(reason),
            _ => GateAnswer::reject(reason),
        };
        let content = match reply.get("action")?.as_str()? {
            "accept" => reply.get_mut("content")?.take(),
            "decline" => return Some(refuse("the user declined")),
            "cancel" => return Some(refuse("the user did not answer")),
            _ => return None,
        };
        let Value::Object(mut fields) = content else {
            return None;
        };
        match self.reading {
            Reading::Approval => {
                if fields.get("approve")?.as_bool()? {
                    Some(GateAnswer::approve())
                } else {
                    let reason = fields.get("reason").and_then(Value::as_str);
                    let reason = reason.filter(|reason| !reason.trim().is_empty());
                    Some(refuse(reason.unwrap_or("the user denied it")))
                }
            }
            Reading::Field => fields.remove("answer").map(GateAnswer::value),
            Reading::Fields | Reading::Result => Some(GateAnswer::value(fields)),
        }
    }
}

/// The answer of a gate that the client cannot be asked about.
pub(super) fn refusal(gate: &OpenGate, reason: &str) -> GateAnswer {
    match gate.kind {
        GateKind::Approval => GateAnswer::deny(reason),
        _ => GateAnswer::reject(reason),
    }
}

/// Gives an answer, or refuses if the gate does not accept it.
pub(super) fn answer_or_refuse(gates: &Gates, gate: &OpenGate, answer: GateAnswer) {
    if gates.answer(&*gate.id, answer).is_err() {
        let why = "the client's answer does not match the question";
        // It may have been closed meanwhile.
        let _ = gates.answer(&*gate.id, refusal(gate, why));
    }
}

fn params(gate: &OpenGate) -> Value {
    let mut params = gate.question.get("params").cloned().unwrap_or_default();
    if let Some(params) = params.as_object_mut()
        && params.contains_key("requestedSchema")
    {
        params.entry("mode").or_insert("form".into());
    }
    params
}

fn approval(gate: &OpenGate) -> Result<Value, String> {
    let field = |name: &str| gate.question.get(name).and_then(Value::as_str);
    let tool = gate.tool().unwrap_or_default();
    let reason = escape(field("reason").unwrap_or_default(), 1_000);
    // Invisible characters are escaped, so that the approver sees what is approved.
    let args = escape(&gate.args().unwrap_or(&Value::Null).to_string(), usize::MAX);
    let length = args.chars().count();
    if length > MAX_ARGS {
        return Err(format!(
            "it needs approval, and its arguments are too long to be shown in full ({length} characters, at most {MAX_ARGS}): \
             make several calls with shorter arguments"
        ));
    }
    let message = format!("Allow `{tool}` to run? {reason}\n\nArguments: {args}");
    Ok(json!({
        "mode": "form",
        "message": message,
        "requestedSchema": {
            "type": "object",
            "properties": {
                "approve": { "type": "boolean", "title": "Allow this call", "description": format!("Whether `{tool}` may run with these arguments") },
                "reason": { "type": "string", "title": "Reason", "description": "If not: why, for the caller" },
            },
            "required": ["approve"],
        },
    }))
}

/// A question of a handler. A form has fields, so any other answer is its only field.
fn form(gate: &OpenGate) -> (Value, Reading) {
    let message = match gate.question.as_str() {
        Some(text) => escape(text, MAX_QUESTION),
        None => escape(&gate.question.to_string(), MAX_QUESTION),
    };
    let schema = gate.schema.as_deref();
    let has_fields = schema.is_some_and(|schema| schema.get("properties").is_some());
    let (schema, reading) = match schema.filter(|_| has_fields) {
        Some(schema) => (schema.clone(), Reading::Fields),
        None => {
            let field = schema
                .cloned()
                .unwrap_or_else(|| json!({ "type": "string" }));
            let fields = json!({ "type": "object", "properties": { "answer": field }, "required": ["answer"] });
            (fields, Reading::Field)
        }
    };
    let params = json!({ "mode": "form", "message": message, "requestedSchema": schema });
    (params, reading)
}
