//! The permitted differences between a recorded request and our reproduction.

use serde_json::{Value, json};

use crate::requests::comparison::{Difference, always, list, object, unsealed};

pub(super) const DIFFERENCES: &[Difference] = &[
    always(
        "store",
        "requests are stateless: `store: false` is always sent",
        |sides| {
            let (recorded, sent) = (&mut sides.recorded, &mut sides.sent);
            if recorded.get("store").is_none() && sent["store"] == false {
                object(sent).remove("store");
            }
        },
    ),
    always(
        "include",
        "a stateless request needs encrypted reasoning back",
        |sides| {
            let (recorded, sent) = (&mut sides.recorded, &mut sides.sent);
            if recorded.get("include").is_none()
                && sent["include"] == json!(["reasoning.encrypted_content"])
            {
                object(sent).remove("include");
            }
        },
    ),
    always(
        "strict",
        "without `strict: false`, OpenAI rewrites the schemas",
        |sides| {
            let (recorded, sent) = (&mut sides.recorded, &mut sides.sent);
            let of_sent = list(sent, "tools");
            let of_recorded = recorded["tools"].as_array().into_iter().flatten();
            for (recorded, sent) in of_recorded.zip(of_sent) {
                if recorded.get("strict").is_none() && sent["strict"] == false {
                    object(sent).remove("strict");
                }
            }
        },
    ),
    always(
        "text is a string",
        "a list of one text means the same as the text",
        |sides| {
            let recorded = &mut sides.recorded;
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
    always(
        "texts are joined",
        "a message has one text: several are joined with an empty line",
        |sides| {
            let recorded = &mut sides.recorded;
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
    always(
        "annotations",
        "a text of the model has annotations, as in OpenAI's own types",
        |sides| {
            let sent = &mut sides.sent;
            for item in items(sent).filter(|item| item["role"] == "assistant") {
                for part in list(item, "content") {
                    if part["annotations"] == json!([]) {
                        object(part).remove("annotations");
                    }
                }
            }
        },
    ),
    always(
        "status of calls and outputs",
        "it says nothing: calls that are sent back are complete",
        |sides| {
            let recorded = &mut sides.recorded;
            for item in items(recorded) {
                let kind = item["type"].as_str().unwrap_or_default();
                if kind.starts_with("function_call") && item["status"] == "completed" {
                    object(item).remove("status");
                }
            }
        },
    ),
    always(
        "results are fenced",
        "a result is text that the model must not follow: it is between marks",
        |sides| {
            let sent = &mut sides.sent;
            for item in items(sent).filter(|item| item["type"] == "function_call_output") {
                if let Some(text) = item["output"].as_str().and_then(unsealed) {
                    item["output"] = text.into();
                }
            }
        },
    ),
    always(
        "a bare reasoning id",
        "without text or ciphertext it refers to nothing if the server does not store it",
        |sides| {
            let recorded = &mut sides.recorded;
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
    always(
        "a system message in the middle",
        "a conversation has one system prompt, at its beginning",
        |sides| {
            let recorded = &mut sides.recorded;
            for item in items(recorded)
                .skip(1)
                .filter(|item| item["role"] == "system")
            {
                item["role"] = "user".into();
            }
        },
    ),
    always(
        "a file by its address",
        "media is sent as bytes, with its name",
        |sides| {
            let (recorded, sent) = (&mut sides.recorded, &mut sides.sent);
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
    always(
        "the name of a file",
        "an attachment is introduced by its name",
        |sides| {
            let sent = &mut sides.sent;
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
    always(
        "stored responses",
        "a response that the next request refers to must be stored",
        |sides| {
            let (recorded, sent) = (&mut sides.recorded, &mut sides.sent);
            let refers = recorded.get("previous_response_id").is_some();
            if refers && recorded.get("store").is_none() && sent["store"] == true {
                object(sent).remove("store");
            }
        },
    ),
];

fn items(body: &mut Value) -> impl Iterator<Item = &mut Value> {
    list(body, "input")
}
