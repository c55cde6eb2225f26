//! The events of a stream.

use serde_json::{Value, json};

use super::{Moment, items, response, status};
use crate::server::model::asked::{Asked, Event, insert, insert_some, merge};
use crate::server::model::reply::Reply;

/// Events with their sequence numbers.
#[derive(Default)]
struct Events(Vec<Event>);

impl Events {
    /// Adds an event with the fields of a place and these.
    #[expect(clippy::needless_pass_by_value, reason = "callers pass `json!`")]
    fn push(&mut self, kind: &str, place: &Value, fields: Value) {
        let mut data = json!({ "type": kind, "sequence_number": self.0.len() });
        merge(&mut data, place);
        merge(&mut data, &fields);
        self.0.push(Event::typed(data));
    }
}

pub(in crate::server::model) fn events(reply: &Reply, asked: &Asked) -> Vec<Event> {
    let mut events = Events::default();
    let begun = json!({ "response": response(reply, asked, &[], ("in_progress", None)) });
    for kind in ["response.created", "response.in_progress"] {
        events.push(kind, &begun, json!({}));
    }
    let added = items(reply, asked, Moment::Added).into_iter();
    let done = items(reply, asked, Moment::Done).into_iter();
    for (index, (added, done)) in added.zip(done).enumerate() {
        item(reply, &mut events, index, added, &done);
    }
    let status = status(reply);
    let ended = response(reply, asked, &items(reply, asked, Moment::Ended), status);
    let kind = match status.0 {
        "failed" => "response.failed",
        "incomplete" => "response.incomplete",
        _ => "response.completed",
    };
    events.push(kind, &json!({ "response": ended }), json!({}));
    events.0
}

fn item(reply: &Reply, events: &mut Events, index: usize, mut added: Value, done: &Value) {
    let text = |value: &Value, name: &str| {
        let found = value.get(name).and_then(Value::as_str);
        found.unwrap_or_default().to_owned()
    };
    let (kind, id) = (text(done, "type"), text(done, "id"));
    if kind != "reasoning" {
        insert(&mut added, "status", "in_progress".into());
    }
    match kind.as_str() {
        "message" => insert(&mut added, "content", json!([])),
        "function_call" => insert(&mut added, "arguments", "".into()),
        _ => {}
    }
    let place = json!({ "output_index": index, "item_id": id });
    let item = |item: &Value| json!({ "output_index": index, "item": item });
    let of_item = json!({});
    events.push("response.output_item.added", &of_item, item(&added));
    match kind.as_str() {
        "reasoning" => summary(reply, events, &place, done),
        "message" => message(reply, events, &place, done),
        "function_call" => arguments(reply, events, &place, &text(done, "arguments")),
        // A tool of the server's own.
        kind if kind.ends_with("_call") => {
            for step in ["in_progress", "completed"] {
                events.push(&format!("response.{kind}.{step}"), &place, json!({}));
            }
        }
        _ => {}
    }
    events.push("response.output_item.done", &of_item, item(done));
}

/// Adds fields to a place.
fn with(place: &Value, fields: &Value) -> Value {
    let mut place = place.clone();
    merge(&mut place, fields);
    place
}

fn summary(reply: &Reply, events: &mut Events, place: &Value, done: &Value) {
    let parts = done.get("summary").and_then(Value::as_array);
    for (number, part) in parts.into_iter().flatten().enumerate() {
        let place = with(place, &json!({ "summary_index": number }));
        let mut push = |kind: &str, fields| {
            events.push(
                &format!("response.reasoning_summary_{kind}"),
                &place,
                fields,
            );
        };
        let text = part.get("text").and_then(Value::as_str).unwrap_or_default();
        let empty = json!({ "type": "summary_text", "text": "" });
        push("part.added", json!({ "part": empty }));
        for piece in reply.cut(text) {
            push("text.delta", json!({ "delta": piece }));
        }
        push("text.done", json!({ "text": text }));
        push("part.done", json!({ "part": part }));
    }
}

fn message(reply: &Reply, events: &mut Events, place: &Value, done: &Value) {
    let parts = done.get("content").and_then(Value::as_array);
    for (number, part) in parts.into_iter().flatten().enumerate() {
        let place = with(place, &json!({ "content_index": number }));
        let mut push = |kind: &str, fields| {
            events.push(&format!("response.{kind}"), &place, fields);
        };
        let (kind, field) = match part.get("refusal") {
            Some(_) => ("refusal", "refusal"),
            None => ("output_text", "text"),
        };
        let of_text = |name: &str, text: &str| {
            let mut fields = json!({ name: text });
            let logprobs = (field == "text").then(|| json!([]));
            insert_some(&mut fields, "logprobs", logprobs);
            fields
        };
        let text = part.get(field).and_then(Value::as_str).unwrap_or_default();
        let mut empty = part.clone();
        insert(&mut empty, field, "".into());
        push("content_part.added", json!({ "part": empty }));
        for piece in reply.cut(text) {
            push(&format!("{kind}.delta"), of_text("delta", piece));
        }
        push(&format!("{kind}.done"), of_text(field, text));
        push("content_part.done", json!({ "part": part }));
    }
}

fn arguments(reply: &Reply, events: &mut Events, place: &Value, text: &str) {
    let mut push = |kind: &str, fields| {
        let kind = format!("response.function_call_arguments.{kind}");
        events.push(&kind, place, fields);
    };
    for piece in reply.cut(text) {
        push("delta", json!({ "delta": piece }));
    }
    push("done", json!({ "arguments": text }));
}
