//! The permitted differences between a recorded request and our reproduction.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::requests::comparison::{
    Difference, always, by_hand, is_media_marker, list, object, unsealed,
};
use crate::requests::text;

/// In the order in which they are applied.
pub(super) const DIFFERENCES: &[Difference] = &[
    // Parameters.
    always(
        "null is omitted",
        "a parameter that is null means the same as a missing one",
        |sides| object(&mut sides.recorded).retain(|_, value| !value.is_null()),
    ),
    always(
        "a parameter of the wrong type or out of range",
        "`temperature` must be between 0 and 2: the recording has another value to provoke an error",
        |sides| {
            let temperature = &sides.recorded["temperature"];
            if temperature.is_string() || temperature.as_f64().is_some_and(|number| number > 2.0) {
                object(&mut sides.recorded).remove("temperature");
            }
        },
    ),
    always(
        "any tool is required",
        "`any` is Mistral's name for `required`, which its servers accept too",
        |sides| {
            if sides.recorded["tool_choice"] == "any" {
                sides.recorded["tool_choice"] = "required".into();
            }
        },
    ),
    // Text.
    always(
        "a list of one text is a string",
        "a list of one text means the same as the text, and every server accepts strings",
        |sides| {
            for message in messages(&mut sides.recorded) {
                if let Some([part]) = parts(message)
                    && part["type"] == "text"
                {
                    message["content"] = part["text"].clone();
                }
            }
        },
    ),
    always(
        "several texts are joined",
        "a message has one text: the texts of a list are joined with an empty line",
        |sides| {
            for message in messages(&mut sides.recorded) {
                if let Some([_, _, ..]) = parts(message)
                    && parts(message)
                        .unwrap()
                        .iter()
                        .all(|item| item["type"] == "text")
                {
                    message["content"] = text(&message["content"]).into();
                }
            }
        },
    ),
    always(
        "missing text is null",
        "a message with only calls has `content: null`, as OpenAI's own: some servers require the field",
        |sides| {
            for message in of_role(&mut sides.recorded, "assistant") {
                let silent = matches!(message["content"].as_str(), None | Some(""));
                if silent && message.get("tool_calls").is_some() {
                    message["content"] = Value::Null;
                }
            }
        },
    ),
    always(
        "no prefix",
        "`prefix: false` of Mistral means that the message must not be continued, as does its absence",
        |sides| {
            for message in of_role(&mut sides.recorded, "assistant") {
                if message["prefix"] == false {
                    object(message).remove("prefix");
                }
            }
        },
    ),
    by_hand(
        "reasoning is not sent",
        "reasoning is sent only to the server that produced it, which is unknown for records made by hand",
        |sides| {
            for message in of_role(&mut sides.recorded, "assistant") {
                object(message).remove("reasoning_content");
                object(message).remove("reasoning_details");
            }
        },
    ),
    // Calls and their results.
    always(
        "calls without an index",
        "the position of a call in its list is its index: servers that send one do not require it",
        |sides| {
            for call in calls(&mut sides.recorded) {
                object(call).remove("index");
            }
        },
    ),
    always(
        "no arguments are an empty object",
        "servers that parse arguments fail on null",
        |sides| {
            for call in calls(&mut sides.recorded) {
                if call["function"]["arguments"] == "null" {
                    call["function"]["arguments"] = json!("{}");
                }
            }
        },
    ),
    always(
        "results in envelopes",
        "a tool result is enclosed in tags that the tool cannot forge",
        |sides| {
            for message in of_role(&mut sides.sent, "tool") {
                if let Some(content) = message["content"].as_str().and_then(unsealed) {
                    message["content"] = content.into();
                }
            }
        },
    ),
    always(
        "media of a tool follow in a user message",
        "most servers accept only text in a tool message",
        |sides| media_of_tools(&mut sides.sent),
    ),
    // Media.
    always(
        "media are marked",
        "a text before each media item describes it and says that it contains no instructions",
        |sides| {
            for message in messages(&mut sides.sent) {
                if let Some(content) = content(message) {
                    content.retain(|part| !is_media_marker(part));
                }
            }
        },
    ),
    always(
        "text precedes media",
        "a message has its text first, then its attachments",
        |sides| {
            for message in messages(&mut sides.recorded) {
                if let Some(content) = content(message) {
                    content.sort_by_key(|part| part["type"] != "text");
                }
            }
        },
    ),
    always(
        "media by their bytes",
        "media is read here and sent as bytes; URLs are not passed on for the server to fetch",
        |sides| {
            for part in parts_of_all(&mut sides.sent) {
                for kind in ["image_url", "video_url"] {
                    if let Some(address) = part[kind]["url"].as_str().and_then(address_in) {
                        part[kind]["url"] = address.into();
                    }
                }
            }
        },
    ),
    always(
        "no detail of images",
        "`detail: auto` is the default of servers",
        |sides| {
            for part in parts_of_all(&mut sides.recorded) {
                if part["image_url"]["detail"] == "auto" {
                    object(&mut part["image_url"]).remove("detail");
                }
            }
        },
    ),
    always(
        "documents are files",
        "`document_url` is specific to Mistral; the protocol defines `file`",
        |sides| {
            for part in parts_of_all(&mut sides.recorded) {
                if part["type"] == "document_url" {
                    let (name, url) = (&part["document_name"], &part["document_url"]);
                    let file = json!({ "filename": name, "file_data": url });
                    *part = json!({ "type": "file", "file": file });
                }
            }
        },
    ),
    always(
        "audio with its format",
        "audio as a bare string is specific to Mistral; the protocol adds the format",
        |sides| {
            for part in parts_of_all(&mut sides.recorded) {
                if part["input_audio"].is_string() {
                    part["input_audio"] = json!({ "data": part["input_audio"], "format": "mp3" });
                }
            }
        },
    ),
];

fn messages(body: &mut Value) -> impl Iterator<Item = &mut Value> {
    list(body, "messages")
}

fn of_role<'b>(body: &'b mut Value, role: &'static str) -> impl Iterator<Item = &'b mut Value> {
    messages(body).filter(move |message| message["role"] == role)
}

fn parts(message: &Value) -> Option<&[Value]> {
    message["content"].as_array().map(Vec::as_slice)
}

/// Returns the content of a message, if it is a list.
fn content(message: &mut Value) -> Option<&mut Vec<Value>> {
    message.get_mut("content")?.as_array_mut()
}

fn parts_of_all(body: &mut Value) -> impl Iterator<Item = &mut Value> {
    messages(body).filter_map(content).flatten()
}

fn calls(body: &mut Value) -> impl Iterator<Item = &mut Value> {
    messages(body).flat_map(|message| list(message, "tool_calls"))
}

/// Returns the address that a data URL contains instead of a media item's bytes.
fn address_in(url: &str) -> Option<String> {
    let (_, data) = url.split_once(";base64,")?;
    let text = String::from_utf8(STANDARD.decode(data).ok()?).ok()?;
    text.starts_with("http").then_some(text)
}

/// Moves media from user messages back into the tool messages they came from.
fn media_of_tools(body: &mut Value) {
    let mut messages: Vec<Value> = Vec::new();
    for mut message in std::mem::take(body["messages"].as_array_mut().unwrap()) {
        let first = message["content"][0]["text"].as_str().unwrap_or_default();
        if first.contains("Result of the call ") {
            let content = content(&mut message).unwrap();
            let result = messages.last_mut().unwrap();
            assert_eq!(result["role"], "tool");
            result["content"] = content.split_off(1).into();
        } else {
            messages.push(message);
        }
    }
    body["messages"] = messages.into();
}
