//! The permitted differences between a recorded request and our reproduction.

use serde_json::{Map, Value, json};
use turnwright_core::trust::restore;

/// A permitted difference: its name, its reason, and a function that removes exactly this difference from the recorded
/// and the sent body.
pub(super) type Difference = (&'static str, &'static str, fn(&mut Value, &mut Value));

pub(super) const DIFFERENCES: &[Difference] = &[
    (
        "store",
        "requests are stateless: `store: false` is always sent",
        |recorded, sent| {
            if recorded.get("store").is_none() && sent["store"] == false {
                object(sent).remove("store");
            }
        },
    ),
    (
        "include",
        "a stateless request needs encrypted reasoning back",
        |recorded, sent| {
            if recorded.get("include").is_none()
                && sent["include"] == json!(["reasoning.encrypted_content"])
            {
                object(sent).remove("include");
            }
        },
    ),
    (
        "strict",
        "without `strict: false`, OpenAI rewrites the schemas",
        |recorded, sent| {
            let of_sent = list(sent, "tools");
            let of_recorded = recorded["tools"].as_array().into_iter().flatten();
            for (recorded, sent) in of_recorded.zip(of_sent) {
                if recorded.get("strict").is_none() && sent["strict"] == false {
                    object(sent).remove("strict");
                }
            }
        },
    ),
    (
        "text is a string",
        "a list of one text means the same as the text",
        |recorded, _| {
            for item in
                items(recorded).filter(|item| item["role"] == "user" || item["role"] == "system")
            {
                if let Some([part]) = item["content"].as_array().map(Vec::as_slice)
                    && part["type"] == "input_text"
                {
                    item["content"] = part["text"].clone();
                }
            }
        },
    ),
    (
        "texts are joined",
        "a message has one text: several are joined with an empty line",
        |recorded, _| {
            for item in items(recorded).filter(|item| item["role"] == "user") {
                let parts = item["content"].as_array().cloned().unwrap_or_default();
                if parts.len() > 1 && parts.iter().all(|part| part["type"] == "input_text") {
                    let texts: Vec<&str> = parts
                        .iter()
                        .map(|part| part["text"].as_str().unwrap())
                        .collect();
                    item["content"] = texts.join("\n\n").into();
                }
            }
        },
    ),
    (
        "annotations",
        "a text of the model has annotations, as in OpenAI's own types",
        |_, sent| {
            for item in items(sent).filter(|item| item["role"] == "assistant") {
                for part in list(item, "content") {
                    if part["annotations"] == json!([]) {
                        object(part).remove("annotations");
                    }
                }
            }
        },
    ),
    (
        "status of calls and outputs",
        "it says nothing: calls that are sent back are complete",
        |recorded, _| {
            for item in items(recorded) {
                let kind = item["type"].as_str().unwrap_or_default();
                if kind.starts_with("function_call") && item["status"] == "completed" {
                    object(item).remove("status");
                }
            }
        },
    ),
    (
        "results are fenced",
        "a result is text that the model must not follow: it is between marks",
        |_, sent| {
            for item in items(sent).filter(|item| item["type"] == "function_call_output") {
                let text = item["output"].as_str().unwrap();
                let inner = text
                    .strip_prefix("<tw-untrusted-")
                    .and_then(|text| text.split_once(">\n"));
                let inner = inner.and_then(|(_, text)| text.rsplit_once("\n</tw-untrusted-"));
                if let Some((text, _)) = inner {
                    item["output"] = restore(text).into();
                }
            }
        },
    ),
    (
        "a bare reasoning id",
        "without text or ciphertext it refers to nothing if the server does not store it",
        |recorded, _| {
            let Some(Value::Array(input)) = recorded.get_mut("input") else {
                return;
            };
            let is_bare = |item: &Value| {
                item["type"] == "reasoning"
                    && item["summary"] == json!([])
                    && item.get("encrypted_content").is_none()
                    && item.get("content").is_none()
            };
            let Some(at) = input.iter().position(is_bare) else {
                return;
            };
            input.remove(at);
            // The items that it led to lose their ids, because the server would miss the reasoning.
            for item in &mut input[at..] {
                if item["role"] == "user" || item["type"] == "function_call_output" {
                    break;
                }
                object(item).remove("id");
            }
        },
    ),
    (
        "a system message in the middle",
        "a conversation has one system prompt, at its beginning",
        |recorded, _| {
            for item in items(recorded)
                .skip(1)
                .filter(|item| item["role"] == "system")
            {
                item["role"] = "user".into();
            }
        },
    ),
    (
        "a file by its address",
        "media is sent as bytes, with its name",
        |recorded, sent| {
            let part_of = |body: &mut Value| {
                let mut parts: Vec<Value> = Vec::new();
                for item in items(body) {
                    for part in list(item, "content") {
                        if part["type"] == "input_file" {
                            parts.push(part.take());
                        }
                    }
                }
                parts
            };
            for body in [recorded, sent] {
                assert!(part_of(body).len() <= 1);
            }
        },
    ),
    (
        "the name of a file",
        "an attachment is introduced by its name",
        |_, sent| {
            for item in items(sent).filter(|item| item["role"] == "user") {
                if let Some(Value::Array(parts)) = item.get_mut("content")
                    && parts
                        .iter()
                        .any(|part| part.is_null() || part["type"] == "input_file")
                {
                    parts.retain(|part| {
                        !part["text"]
                            .as_str()
                            .unwrap_or_default()
                            .contains("document.pdf")
                    });
                }
            }
        },
    ),
    (
        "stored responses",
        "a response that the next request refers to must be stored",
        |recorded, sent| {
            let refers = recorded.get("previous_response_id").is_some();
            if refers && recorded.get("store").is_none() && sent["store"] == true {
                object(sent).remove("store");
            }
        },
    ),
];

pub(super) fn object(value: &mut Value) -> &mut Map<String, Value> {
    value.as_object_mut().unwrap()
}

fn items(body: &mut Value) -> impl Iterator<Item = &mut Value> {
    list(body, "input")
}

fn list<'v>(value: &'v mut Value, name: &str) -> impl Iterator<Item = &'v mut Value> {
    let list = value.get_mut(name).and_then(Value::as_array_mut);
    list.into_iter().flatten()
}
