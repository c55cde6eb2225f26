//! Gemini.

use serde_json::{Value, json};

use super::asked::{Asked, Event, insert, insert_some};
use super::reply::Reply;
use super::state::canonical;
use super::usage::Usage;

/// The kind of its opaque state.
pub(super) const SIGNATURE: &str = "thought";

pub(super) fn object(reply: &Reply, asked: &Asked) -> Value {
    if let Some(reason) = &reply.blocked {
        return blocked(reply, asked, reason);
    }
    let mut parts = Vec::new();
    if let Some(text) = &reply.reasoning {
        parts.push(json!({ "text": text, "thought": true }));
    }
    parts.extend(asked.blocks(reply));
    if let Some(text) = &reply.text {
        let mut part = json!({ "text": text });
        if reply.calls.is_empty() {
            insert(&mut part, "thoughtSignature", text_signature(asked).into());
        }
        parts.push(part);
    }
    parts.extend(calls(reply, asked));
    last(reply, asked, &parts)
}

pub(super) fn events(reply: &Reply, asked: &Asked) -> Vec<Event> {
    if let Some(reason) = &reply.blocked {
        return vec![Event::plain(blocked(reply, asked, reason))];
    }
    let mut chunks = Vec::new();
    for piece in reply.cut(reply.reasoning.as_deref().unwrap_or_default()) {
        chunks.push(vec![json!({ "text": piece, "thought": true })]);
    }
    chunks.extend(asked.blocks(reply).into_iter().map(|part| vec![part]));
    for piece in reply.cut(reply.text.as_deref().unwrap_or_default()) {
        chunks.push(vec![json!({ "text": piece })]);
    }
    let calls = calls(reply, asked);
    let mut end = json!({ "text": "" });
    if !calls.is_empty() {
        chunks.push(calls);
    } else if reply.text.is_some() {
        // The signature of a text is on an empty last part.
        insert(&mut end, "thoughtSignature", text_signature(asked).into());
    }
    let chunks = chunks.into_iter();
    let mut events: Vec<Value> = chunks.map(|parts| chunk(reply, asked, &parts)).collect();
    let end = if events.is_empty() {
        Vec::new()
    } else {
        vec![end]
    };
    events.push(last(reply, asked, &end));
    events.into_iter().map(Event::plain).collect()
}

/// Returns the texts that the signature of a call belongs to.
pub(super) fn about_call(name: &str, args: &Value) -> [String; 2] {
    [name.to_owned(), canonical(args)]
}

fn text_signature(asked: &Asked) -> String {
    asked.state(SIGNATURE, &["text"])
}

/// Returns the parts with calls. Only the first one is signed.
fn calls(reply: &Reply, asked: &Asked) -> Vec<Value> {
    let calls = reply.calls.iter().enumerate();
    let parts = calls.map(|(place, call)| {
        let args = call.arguments_value();
        let mut function = json!({ "name": call.name, "args": args });
        if reply.call_ids == Some(true) {
            let id = call.id_at("call", asked.number, place);
            insert(&mut function, "id", id.into());
        }
        let mut part = json!({ "functionCall": function });
        if place == 0 {
            let about = about_call(&call.name, &args);
            let signature = asked.state(SIGNATURE, &about.each_ref().map(String::as_str));
            insert(&mut part, "thoughtSignature", signature.into());
        }
        part
    });
    parts.collect()
}

fn blocked(reply: &Reply, asked: &Asked, reason: &str) -> Value {
    let mut object = envelope(asked);
    insert(
        &mut object,
        "promptFeedback",
        json!({ "blockReason": reason }),
    );
    insert_some(&mut object, "usageMetadata", reply.usage.map(usage));
    object
}

fn envelope(asked: &Asked) -> Value {
    json!({ "modelVersion": asked.model, "responseId": format!("response-{}", asked.number) })
}

fn candidate(parts: &[Value]) -> Value {
    let mut content = json!({ "role": "model" });
    if !parts.is_empty() {
        insert(&mut content, "parts", json!(parts));
    }
    json!({ "content": content, "index": 0 })
}

/// Returns a chunk before the last one: the counts so far have no output.
fn chunk(reply: &Reply, asked: &Asked, parts: &[Value]) -> Value {
    let mut object = envelope(asked);
    insert(&mut object, "candidates", json!([candidate(parts)]));
    let counts = reply
        .usage
        .map(|Usage { input, .. }| json!({ "promptTokenCount": input, "totalTokenCount": input }));
    insert_some(&mut object, "usageMetadata", counts);
    object
}

fn last(reply: &Reply, asked: &Asked, parts: &[Value]) -> Value {
    let mut candidate = candidate(parts);
    let reason = match (reply.finish_reason(), &reply.refusal) {
        ("stop" | "tool_calls", Some(_)) | ("content_filter", _) => "SAFETY",
        ("stop" | "tool_calls", None) => "STOP",
        ("length", _) => "MAX_TOKENS",
        (other, _) => other,
    };
    insert(&mut candidate, "finishReason", reason.into());
    let message = match &reply.refusal {
        Some(text) => Some(text.as_str()),
        None if reply.calls.is_empty() => None,
        None => Some("Model generated function call(s)."),
    };
    insert_some(&mut candidate, "finishMessage", message);
    let mut object = envelope(asked);
    insert(&mut object, "candidates", json!([candidate]));
    insert_some(&mut object, "usageMetadata", reply.usage.map(usage));
    object
}

fn usage(counts: Usage) -> Value {
    let mut usage = json!({
        "promptTokenCount": counts.input,
        "candidatesTokenCount": counts.visible(),
        "totalTokenCount": counts.total(),
        "promptTokensDetails": [{ "modality": "TEXT", "tokenCount": counts.input }],
    });
    let some = |count: u64| (count > 0).then_some(count);
    insert_some(&mut usage, "cachedContentTokenCount", some(counts.cached));
    insert_some(&mut usage, "thoughtsTokenCount", some(counts.reasoning));
    usage
}
