//! The items of the input.

use std::collections::VecDeque;

use serde_json::Value;

use crate::server::model::check::{Checked, Known, Problem, list, text, wrong};
use crate::server::model::responses::{ENCRYPTED, MESSAGE, about_message, about_reasoning};
use crate::server::model::state;

/// The state of a walk over the items.
struct Walk<'a> {
    known: &'a Known<'a>,
    /// Nothing of an earlier response is on the server.
    stateless: bool,
    /// Calls of earlier responses are on the server.
    continues: bool,
    /// The calls that have no result yet, in their order.
    open: VecDeque<&'a str>,
    /// Whether some of these calls have results: no further call may come between.
    answering: bool,
    /// All calls.
    calls: Vec<&'a str>,
    /// The number of the response whose reasoning was sent last.
    reasoned: Option<&'a str>,
    /// The reasoning item before this one.
    waiting: Option<&'a str>,
}

pub(super) fn check(body: &Value, input: &[Value], known: &Known<'_>) -> Checked {
    let mut walk = Walk {
        known,
        stateless: body.get("store") == Some(&Value::Bool(false)),
        continues: body
            .get("previous_response_id")
            .is_some_and(Value::is_string),
        open: VecDeque::new(),
        answering: false,
        calls: Vec::new(),
        reasoned: None,
        waiting: None,
    };
    for (number, item) in input.iter().enumerate() {
        walk.item(item, &format!("input[{number}]"))?;
    }
    if let Some(id) = walk.waiting {
        return without_following(id);
    }
    walk.answered()
}

fn without_following(id: &str) -> Checked {
    wrong(format!(
        "Item '{id}' of type 'reasoning' was provided without its required following item."
    ))
}

/// Returns the kind of an item. A message need not say that it is one.
fn kind(item: &Value) -> Option<&str> {
    let kind = item.get("type").and_then(Value::as_str);
    kind.or_else(|| item.get("role").map(|_| "message"))
}

impl<'a> Walk<'a> {
    fn item(&mut self, item: &'a Value, place: &str) -> Checked {
        let Some(kind) = kind(item) else {
            return wrong(format!("{place}.type: Missing required parameter"));
        };
        let role = item.get("role").and_then(Value::as_str);
        let of_model =
            kind != "function_call_output" && (kind != "message" || role == Some("assistant"));
        if let Some(id) = self.waiting.take().filter(|_| !of_model) {
            return without_following(id);
        }
        match kind {
            "function_call" => self.call(item, place),
            "function_call_output" => self.result(item, place),
            _ => {
                self.answered()?;
                match kind {
                    "message" => self.message(item, place),
                    "reasoning" => self.reasoning(item, place),
                    "item_reference" => self.reference(item, place),
                    // The server's own tools, and what it may add to them.
                    _ => Ok(()),
                }
            }
        }
    }

    /// Checks that each call has its result.
    fn answered(&self) -> Checked {
        match self.open.front() {
            Some(id) => wrong(format!("No tool output found for function call {id}.")),
            None => Ok(()),
        }
    }

    fn call(&mut self, item: &'a Value, place: &str) -> Checked {
        let id = text(item, "call_id", place)?;
        text(item, "name", place)?;
        text(item, "arguments", place)?;
        if self.calls.contains(&id) {
            return wrong(format!("{place}: duplicate function call {id}"));
        }
        if let Some(own) = item.get("id").and_then(Value::as_str) {
            let Some(rest) = own.strip_prefix(&format!("fc_{}_", self.known.server)) else {
                return foreign(own, place);
            };
            if let Some((number, _)) = rest
                .strip_suffix("_r")
                .and_then(|rest| rest.split_once('_'))
            {
                self.needs_reasoning(own, number)?;
            }
        }
        if self.answering {
            self.answered()?;
        }
        self.answering = false;
        self.calls.push(id);
        self.open.push_back(id);
        Ok(())
    }

    fn result(&mut self, item: &'a Value, place: &str) -> Checked {
        let id = text(item, "call_id", place)?;
        if !matches!(item.get("output"), Some(Value::String(_) | Value::Array(_))) {
            return wrong(format!("{place}.output: a string or a list is required"));
        }
        if self.continues && !self.calls.contains(&id) {
            return Ok(());
        }
        self.answering = true;
        match self.open.pop_front() {
            Some(due) if due == id => Ok(()),
            Some(due) => wrong(format!(
                "{place}: results must be in the order of their calls: {due} is due, not {id}"
            )),
            None => wrong(format!(
                "No tool call found for function call output with call_id {id}."
            )),
        }
    }

    fn message(&self, item: &'a Value, place: &str) -> Checked {
        let role = text(item, "role", place)?;
        let parts: &[&str] = match role {
            "assistant" => &["output_text", "refusal"],
            "user" | "system" | "developer" => {
                &["input_text", "input_image", "input_file", "input_audio"]
            }
            _ => return wrong(format!("{place}.role: Invalid value: '{role}'")),
        };
        let content = match item.get("content") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(_)) => {
                let mut joined = String::new();
                for part in list(item, "content", place)? {
                    let kind = text(part, "type", place)?;
                    if !parts.contains(&kind) {
                        return wrong(format!(
                            "{place}.content: Invalid value: '{kind}'. Supported values are: {parts:?}"
                        ));
                    }
                    for field in ["text", "refusal"] {
                        let text = part.get(field).and_then(Value::as_str);
                        joined.push_str(text.unwrap_or_default());
                    }
                }
                joined
            }
            _ => return wrong(format!("{place}.content: a string or a list is required")),
        };
        match item.get("id").and_then(Value::as_str) {
            Some(id) => self.message_id(item, id, &content, place),
            None => Ok(()),
        }
    }

    /// Checks that a message with an id is the one that the server sent, with its phase.
    fn message_id(&self, item: &Value, id: &str, content: &str, place: &str) -> Checked {
        let phase = item.get("phase").and_then(Value::as_str);
        let Some(own) = id.strip_prefix("msg_") else {
            return foreign(id, place);
        };
        let (own, number) = match own.strip_prefix('r') {
            Some(own) => (own, own.split('-').nth(2)),
            None => (own, None),
        };
        let checked = state::check(
            MESSAGE,
            self.known.server,
            own,
            &about_message(content, phase),
        );
        checked.or_else(|why| wrong(format!("{place}: {why}")))?;
        match number {
            Some(number) => self.needs_reasoning(id, number),
            None => Ok(()),
        }
    }

    /// Checks that the reasoning that led to an item came before it.
    fn needs_reasoning(&self, id: &str, number: &str) -> Checked {
        match self.continues || self.reasoned == Some(number) {
            true => Ok(()),
            false => wrong(format!(
                "Item '{id}' was provided without its required 'reasoning' item: 'rs_{}_{number}'.",
                self.known.server
            )),
        }
    }

    fn reasoning(&mut self, item: &'a Value, place: &str) -> Checked {
        let id = text(item, "id", place)?;
        let Some(number) = id.strip_prefix(&format!("rs_{}_", self.known.server)) else {
            return foreign(id, place);
        };
        let mut summary = String::new();
        for part in list(item, "summary", place)? {
            summary.push_str(text(part, "text", place)?);
        }
        match item.get("encrypted_content") {
            Some(Value::String(state)) => {
                let checked = state::check(
                    ENCRYPTED,
                    self.known.server,
                    state,
                    &about_reasoning(id, &summary),
                );
                checked.or_else(|why| {
                    wrong(format!(
                        "{place}: The encrypted content for item {id} could not be verified: {why}"
                    ))
                })?;
            }
            _ if self.stateless => return not_stored(id),
            _ => {}
        }
        self.reasoned = Some(number);
        self.waiting = Some(id);
        Ok(())
    }

    fn reference(&self, item: &Value, place: &str) -> Checked {
        let id = text(item, "id", place)?;
        match self.stateless {
            true => not_stored(id),
            false => Ok(()),
        }
    }
}

fn not_stored(id: &str) -> Result<(), Problem> {
    wrong(format!(
        "Item with id '{id}' not found. Items are not persisted when `store` is set to false."
    ))
}

fn foreign(id: &str, place: &str) -> Checked {
    wrong(format!("{place}.id: '{id}' was not issued by this server"))
}
