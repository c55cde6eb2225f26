//! `OpenAI` Responses.

mod stream;

use serde_json::{Value, json};

pub(super) use stream::events;

use super::asked::{Asked, insert, insert_some};
use super::reply::Reply;
use super::usage::Usage;

/// The kind of its opaque state.
pub(super) const ENCRYPTED: &str = "enc";
/// The kind of a message's id, after `msg_`.
pub(super) const MESSAGE: &str = "m";

/// When a reasoning item is written: its ciphertext is another one each time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    Added,
    /// The one to send back.
    Done,
    Ended,
}

pub(super) fn object(reply: &Reply, asked: &Asked) -> Value {
    response(
        reply,
        asked,
        &items(reply, asked, Moment::Done),
        status(reply),
    )
}

/// Returns the items of the output.
fn items(reply: &Reply, asked: &Asked, moment: Moment) -> Vec<Value> {
    let mut items = Vec::new();
    if let Some(text) = &reply.reasoning {
        items.push(reasoning(asked, text, moment));
    }
    items.extend(asked.blocks(reply));
    items.extend(message(reply, asked));
    let status = item_status(reply);
    // Such an item is not accepted without its reasoning.
    let reasoned = if reply.reasoning.is_some() { "_r" } else { "" };
    for (place, call) in reply.calls.iter().enumerate() {
        items.push(json!({
            "id": format!("fc_{}_{}_{place}{reasoned}", asked.server, asked.number),
            "type": "function_call",
            "status": status,
            "call_id": call.id_at("call", asked.number, place),
            "name": call.name,
            "arguments": call.arguments(),
        }));
    }
    items
}

fn reasoning(asked: &Asked, text: &str, moment: Moment) -> Value {
    let id = format!("rs_{}_{}", asked.server, asked.number);
    let summary = match (moment, text) {
        (Moment::Added, _) | (_, "") => json!([]),
        _ => json!([{ "type": "summary_text", "text": text }]),
    };
    let mut item = json!({ "id": id, "type": "reasoning", "summary": summary });
    let include = asked.at("/include").and_then(Value::as_array);
    let wanted = Value::from("reasoning.encrypted_content");
    if include.is_some_and(|names| names.contains(&wanted)) {
        let moment = match moment {
            Moment::Added => "added",
            Moment::Done => "done",
            Moment::Ended => "ended",
        };
        let state = asked.state(ENCRYPTED, &[&id, text, moment]);
        insert(&mut item, "encrypted_content", state.into());
    }
    item
}

/// Returns the texts that the ciphertext of a reasoning item belongs to.
pub(super) fn about_reasoning<'a>(id: &'a str, summary: &'a str) -> [&'a str; 3] {
    [id, summary, "done"]
}

/// Returns the texts that the id of a message belongs to.
pub(super) fn about_message<'a>(text: &'a str, phase: Option<&'a str>) -> [&'a str; 2] {
    [text, phase.unwrap_or_default()]
}

fn message(reply: &Reply, asked: &Asked) -> Option<Value> {
    let parts: Vec<Value> = parts(reply);
    if parts.is_empty() {
        return None;
    }
    let text = [&reply.text, &reply.refusal].into_iter().flatten();
    let text: String = text.map(String::as_str).collect();
    let about = about_message(&text, reply.phase.as_deref());
    let mut message = json!({
        // Such a message is not accepted without its reasoning.
        "id": match reply.reasoning {
            Some(_) => format!("msg_r{}", asked.state(MESSAGE, &about)),
            None => format!("msg_{}", asked.state(MESSAGE, &about)),
        },
        "type": "message",
        "status": item_status(reply),
        "role": "assistant",
        "content": parts,
    });
    insert_some(&mut message, "phase", reply.phase.as_deref());
    Some(message)
}

fn parts(reply: &Reply) -> Vec<Value> {
    let text = reply.text.iter();
    let text = text.map(
        |text| json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] }),
    );
    let refusal = reply.refusal.iter();
    let refusal = refusal.map(|text| json!({ "type": "refusal", "refusal": text }));
    text.chain(refusal).collect()
}

/// Returns the status of a response, and why it is incomplete.
fn status(reply: &Reply) -> (&str, Option<&str>) {
    match reply.finish_reason() {
        "stop" | "tool_calls" => ("completed", None),
        "length" => ("incomplete", Some("max_output_tokens")),
        known @ ("completed" | "failed" | "cancelled" | "in_progress" | "queued") => (known, None),
        reason => ("incomplete", Some(reason)),
    }
}

fn item_status(reply: &Reply) -> &'static str {
    match status(reply).0 {
        "completed" => "completed",
        _ => "incomplete",
    }
}

fn response(reply: &Reply, asked: &Asked, items: &[Value], status: (&str, Option<&str>)) -> Value {
    let (status, reason) = status;
    let of_request = |name: &str, default: Value| asked.at(name).cloned().unwrap_or(default);
    let ended = !matches!(status, "in_progress" | "queued");
    json!({
        "id": format!("resp_{}_{}", asked.server, asked.number),
        "object": "response",
        // No clock: the same script gives the same bytes.
        "created_at": 1_700_000_000,
        "status": status,
        "background": false,
        "error": (status == "failed").then(|| json!({ "code": "server_error", "message": "The script fails here." })),
        "incomplete_details": reason.map(|reason| json!({ "reason": reason })),
        "instructions": of_request("/instructions", Value::Null),
        "max_output_tokens": of_request("/max_output_tokens", Value::Null),
        "metadata": {},
        "model": asked.model,
        "output": items,
        "parallel_tool_calls": of_request("/parallel_tool_calls", true.into()),
        "previous_response_id": of_request("/previous_response_id", Value::Null),
        "reasoning": of_request("/reasoning", json!({ "effort": null, "summary": null })),
        "service_tier": "default",
        "store": of_request("/store", true.into()),
        "temperature": of_request("/temperature", 1.0.into()),
        "text": of_request("/text", json!({ "format": { "type": "text" } })),
        "tool_choice": of_request("/tool_choice", "auto".into()),
        "tools": of_request("/tools", json!([])),
        "top_p": of_request("/top_p", 1.0.into()),
        "truncation": "disabled",
        "usage": reply.usage.filter(|_| ended).map(usage),
        "user": null,
    })
}

fn usage(counts: Usage) -> Value {
    json!({
        "input_tokens": counts.input,
        "input_tokens_details": {
            "cached_tokens": counts.cached,
            "cache_write_tokens": counts.cache_written,
        },
        "output_tokens": counts.output,
        "output_tokens_details": { "reasoning_tokens": counts.reasoning },
        "total_tokens": counts.total(),
    })
}
