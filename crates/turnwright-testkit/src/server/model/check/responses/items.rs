//! The items of the input.

use std::collections::VecDeque;

use serde_json::Value;

use crate::server::model::check::place::Place;
use crate::server::model::check::{Checked, Known, must};
use crate::server::model::responses::{ENCRYPTED, MESSAGE, about_message, about_reasoning};

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

pub(super) fn check(body: &Place<'_>, known: &Known<'_>) -> Checked {
    let mut walk = Walk {
        known,
        stateless: body.at("store").value == &Value::Bool(false),
        continues: body.str("previous_response_id").is_some(),
        open: VecDeque::new(),
        answering: false,
        calls: Vec::new(),
        reasoned: None,
        waiting: None,
    };
    for item in body.at("input").items() {
        walk.item(&item)?;
    }
    walk.followed()?;
    walk.answered()
}

impl<'a> Walk<'a> {
    fn item(&mut self, item: &Place<'a>) -> Checked {
        // A message need not say that it is one.
        let kind = match item.kind() {
            "" if item.has("role") => "message",
            kind => kind,
        };
        item.must(!kind.is_empty(), "type: Missing required parameter")?;
        let of_user = kind == "message" && item.str("role") != Some("assistant");
        if of_user || kind == "function_call_output" {
            self.followed()?;
        }
        self.waiting = None;
        if !matches!(kind, "function_call" | "function_call_output") {
            self.answered()?;
        }
        match kind {
            "function_call" => self.call(item),
            "function_call_output" => self.result(item),
            "message" => self.message(item),
            "reasoning" => self.reasoning(item),
            "item_reference" => self.stored(item.text("id")?),
            // The server's own tools, and what it may add to them.
            _ => Ok(()),
        }
    }

    /// Checks that the reasoning item before has its following item.
    fn followed(&self) -> Checked {
        let id = self.waiting.unwrap_or_default();
        must(
            self.waiting.is_none(),
            format_args!(
                "Item '{id}' of type 'reasoning' was provided without its required following item."
            ),
        )
    }

    /// Checks that each call has its result.
    fn answered(&self) -> Checked {
        let id = self.open.front().copied().unwrap_or_default();
        must(
            self.open.is_empty(),
            format_args!("No tool output found for function call {id}."),
        )
    }

    /// Checks that the server may have this item.
    fn stored(&self, id: &str) -> Checked {
        must(
            !self.stateless,
            format_args!(
                "Item with id '{id}' not found. Items are not persisted when `store` is set to false."
            ),
        )
    }

    /// Returns what follows the prefix of an id of this server.
    fn own<'i>(&self, item: &Place<'_>, kind: &str, id: &'i str) -> Checked<&'i str> {
        let rest = id.strip_prefix(&format!("{kind}_{}_", self.known.server));
        rest.ok_or_else(|| item.problem(format_args!("id: '{id}' was not issued by this server")))
    }

    fn call(&mut self, item: &Place<'a>) -> Checked {
        let id = item.text("call_id")?;
        item.text("name")?;
        item.text("arguments")?;
        item.must(
            !self.calls.contains(&id),
            format_args!("duplicate function call {id}"),
        )?;
        if let Some(own) = item.str("id")
            && let Some(reasoned) = self.own(item, "fc", own)?.strip_suffix("_r")
        {
            let (number, _) = reasoned.split_once('_').unwrap_or_default();
            self.needs_reasoning(own, number)?;
        }
        if self.answering {
            self.answered()?;
        }
        self.answering = false;
        self.calls.push(id);
        self.open.push_back(id);
        Ok(())
    }

    fn result(&mut self, item: &Place<'a>) -> Checked {
        let id = item.text("call_id")?;
        let output = item.at("output");
        output.must(
            output.value.is_string() || output.value.is_array(),
            "a string or a list is required",
        )?;
        if self.continues && !self.calls.contains(&id) {
            return Ok(());
        }
        self.answering = true;
        let due = self.open.pop_front().ok_or_else(|| {
            item.problem(format_args!(
                "No tool call found for function call output with call_id {id}."
            ))
        })?;
        item.must(
            due == id,
            format_args!("results must be in the order of their calls: {due} is due, not {id}"),
        )
    }

    fn message(&self, item: &Place<'a>) -> Checked {
        let parts: &[&str] = match item.text("role")? {
            "assistant" => &["output_text", "refusal"],
            "user" | "system" | "developer" => {
                &["input_text", "input_image", "input_file", "input_audio"]
            }
            role => return Err(item.problem(format_args!("role: Invalid value: '{role}'"))),
        };
        let content = item.at("content");
        content.must(
            content.value.is_string() || content.value.is_array(),
            "a string or a list is required",
        )?;
        let mut text = content.value.as_str().unwrap_or_default().to_owned();
        for part in content.items() {
            let kind = part.text("type")?;
            part.must(
                parts.contains(&kind),
                format_args!("Invalid value: '{kind}'. Supported values are: {parts:?}"),
            )?;
            text.extend(part.str("text").into_iter().chain(part.str("refusal")));
        }
        match item.str("id") {
            Some(id) => self.message_id(item, id, &text),
            None => Ok(()),
        }
    }

    /// Checks that a message with an id is the one that the server sent, with its phase.
    fn message_id(&self, item: &Place<'_>, id: &str, content: &str) -> Checked {
        let own = id.strip_prefix("msg_").unwrap_or_default();
        let (own, number) = match own.strip_prefix('r') {
            Some(own) => (own, own.split('-').nth(2)),
            None => (own, None),
        };
        let about = about_message(content, item.str("phase"));
        let checked = self.known.state(MESSAGE, own, &about);
        checked.map_err(|why| item.problem(why))?;
        number.map_or(Ok(()), |number| self.needs_reasoning(id, number))
    }

    /// Checks that the reasoning that led to an item came before it.
    fn needs_reasoning(&self, id: &str, number: &str) -> Checked {
        must(
            self.continues || self.reasoned == Some(number),
            format_args!(
                "Item '{id}' was provided without its required 'reasoning' item: 'rs_{}_{number}'.",
                self.known.server
            ),
        )
    }

    fn reasoning(&mut self, item: &Place<'a>) -> Checked {
        let id = item.text("id")?;
        let number = self.own(item, "rs", id)?;
        let mut summary = String::new();
        for part in item.list("summary")? {
            summary.push_str(part.text("text")?);
        }
        if let Some(state) = item.str("encrypted_content") {
            let about = about_reasoning(id, &summary);
            let checked = self.known.state(ENCRYPTED, state, &about);
            checked.map_err(|why| {
                item.problem(format_args!(
                    "The encrypted content for item {id} could not be verified: {why}"
                ))
            })?;
        } else {
            self.stored(id)?;
        }
        self.reasoned = Some(number);
        self.waiting = Some(id);
        Ok(())
    }
}
