//! The events of a stream.

use serde_json::{Value, json};

use super::{Moment, items, response, status};
use crate::server::model::asked::{Asked, Event, insert, merge};
use crate::server::model::reply::Reply;

/// Events with their sequence numbers.
#[derive(Default)]
struct Events(Vec<Event>);

impl Events {
    fn push(&mut self, kind: &str, fields: &Value) {
        let mut data = json!({ "type": kind, "sequence_number": self.0.len() });
        merge(&mut data, fields);
        self.0.push(Event::typed(data));
    }
}

pub(in crate::server::model) fn events(reply: &Reply, asked: &Asked) -> Vec<Event> {
    let mut events = Events::default();
    let begun = response(reply, asked, &[], ("in_progress", None));
    for kind in ["response.created", "response.in_progress"] {
        events.push(kind, &json!({ "response": begun }));
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
    events.push(kind, &json!({ "response": ended }));
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
    events.push("response.output_item.added", &item(&added));
    match kind.as_str() {
        "reasoning" => summary(reply, events, &place, done),
        "message" => message(reply, events, &place, done),
        "function_call" => arguments(reply, events, &place, &text(done, "arguments")),
        // A tool of the server's own.
        kind if kind.ends_with("_call") => {
            for step in ["in_progress", "completed"] {
                events.push(&format!("response.{kind}.{step}"), &place);
            }
        }
        _ => {}
    }
    events.push("response.output_item.done", &item(done));
}

fn with(place: &Value, fields: &Value) -> Value {
    let mut place = place.clone();
    merge(&mut place, fields);
    place
}

fn summary(reply: &Reply, events: &mut Events, place: &Value, done: &Value) {
    let parts = done.get("summary").and_then(Value::as_array);
    for (number, part) in parts.into_iter().flatten().enumerate() {
        let place = with(place, &json!({ "summary_index": number }));
        let text = part.get("text").and_then(Value::as_str).unwrap_or_default();
        let empty = json!({ "type": "summary_text", "text": "" });
        events.push(
            "response.reasoning_summary_part.added",
            &with(&place, &json!({ "part": empty })),
        );
        for piece in reply.cut(text) {
            let delta = with(&place, &json!({ "delta": piece }));
            events.push("response.reasoning_summary_text.delta", &delta);
        }
        events.push(
            "response.reasoning_summary_text.done",
            &with(&place, &json!({ "text": text })),
        );
        events.push(
            "response.reasoning_summary_part.done",
            &with(&place, &json!({ "part": part })),
        );
    }
}

fn message(reply: &Reply, events: &mut Events, place: &Value, done: &Value) {
    let parts = done.get("content").and_then(Value::as_array);
    for (number, part) in parts.into_iter().flatten().enumerate() {
        let place = with(place, &json!({ "content_index": number }));
        let (kind, field) = match part.get("refusal") {
            Some(_) => ("response.refusal", "refusal"),
            None => ("response.output_text", "text"),
        };
        let text = part.get(field).and_then(Value::as_str).unwrap_or_default();
        let mut empty = part.clone();
        insert(&mut empty, field, "".into());
        events.push(
            "response.content_part.added",
            &with(&place, &json!({ "part": empty })),
        );
        for piece in reply.cut(text) {
            let mut delta = with(&place, &json!({ "delta": piece }));
            if field == "text" {
                insert(&mut delta, "logprobs", json!([]));
            }
            events.push(&format!("{kind}.delta"), &delta);
        }
        let mut whole = with(&place, &json!({ field: text }));
        if field == "text" {
            insert(&mut whole, "logprobs", json!([]));
        }
        events.push(&format!("{kind}.done"), &whole);
        events.push(
            "response.content_part.done",
            &with(&place, &json!({ "part": part })),
        );
    }
}

fn arguments(reply: &Reply, events: &mut Events, place: &Value, text: &str) {
    for piece in reply.cut(text) {
        let delta = with(place, &json!({ "delta": piece }));
        events.push("response.function_call_arguments.delta", &delta);
    }
    let whole = with(place, &json!({ "arguments": text }));
    events.push("response.function_call_arguments.done", &whole);
}
