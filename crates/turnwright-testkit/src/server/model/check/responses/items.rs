//! The items of the input.

use serde_json::Value;

use crate::server::model::check::place::Place;
use crate::server::model::check::{Checked, Known, OpenCalls, must};
use crate::server::model::responses::{ENCRYPTED, MESSAGE, about_message, about_reasoning};

/// The state of a walk over the items.
struct Walk<'a> {
    known: &'a Known<'a>,
    /// Nothing of an earlier response is on the server.
    stateless: bool,
    /// Calls of earlier responses are on the server.
    continues: bool,
    open: OpenCalls<'a>,
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
        open: OpenCalls::default(),
        answering: false,
        calls: Vec::new(),
        reasoned: None,
        waiting: None,
    };
    for item in body.at("input").items() {
        walk.item(&item)?;
    }
    walk.followed()?;
    walk.open.answered()
}

impl<'a> Walk<'a> {
    fn item(&mut self, item: &Place<'a>) -> Checked {
        // A message need not say that it is one.
        let kind = match item.kind() {
            "" if item.has("role") => "message",
            kind => kind,
        };
        let of_user = kind == "message" && item.str("role") != Some("assistant");
        if of_user || kind == "function_call_output" {
            self.followed()?;
        }
        self.waiting = None;
        if !matches!(kind, "function_call" | "function_call_output") {
            self.open.answered()?;
        }
        match kind {
            "function_call" => self.call(item),
            "function_call_output" => self.result(item),
            "message" => self.message(item),
            "reasoning" => self.reasoning(item),
            "item_reference" => self.stored(item.text("id")),
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
        let id = item.text("call_id");
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
        if std::mem::take(&mut self.answering) {
            self.open.answered()?;
        }
        self.calls.push(id);
        self.open.call(item, id)
    }

    fn result(&mut self, item: &Place<'a>) -> Checked {
        let id = item.text("call_id");
        if self.continues && !self.calls.contains(&id) {
            return Ok(());
        }
        self.answering = true;
        self.open.result(item, id)
    }

    fn message(&self, item: &Place<'a>) -> Checked {
        let Some(id) = item.str("id") else {
            return Ok(());
        };
        let content = item.at("content");
        let mut text = content.value.as_str().unwrap_or_default().to_owned();
        for part in content.items() {
            text.extend(part.str("text").into_iter().chain(part.str("refusal")));
        }
        self.message_id(item, id, &text)
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
        let id = item.text("id");
        let number = self.own(item, "rs", id)?;
        let summary = item.at("summary");
        let summary: String = summary.items().map(|part| part.text("text")).collect();
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
