//! What may differ between a recorded request and the same one made by this battery: each difference by its name, with its
//! reason, and with what evens it out and nothing else.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use turnwright_core::trust::restore;

use super::rebuild::text;

/// A request as it was recorded, and as it was made here.
#[derive(Clone, PartialEq)]
pub(super) struct Sides {
    pub(super) recorded: Value,
    pub(super) sent: Value,
}

/// Something that may differ.
pub(super) struct Difference {
    pub(super) name: &'static str,
    pub(super) why: &'static str,
    /// It cannot be where the battery has led the conversation itself.
    pub(super) by_hand_alone: bool,
    pub(super) even_out: fn(&mut Sides),
}

/// A difference of any records.
const fn always(name: &'static str, why: &'static str, even_out: fn(&mut Sides)) -> Difference {
    Difference {
        name,
        why,
        by_hand_alone: false,
        even_out,
    }
}

/// A difference of records that hold nothing of ours.
const fn by_hand(name: &'static str, why: &'static str, even_out: fn(&mut Sides)) -> Difference {
    Difference {
        name,
        why,
        by_hand_alone: true,
        even_out,
    }
}

/// In the order in which they are evened out.
pub(super) const DIFFERENCES: &[Difference] = &[
    // Parameters.
    always(
        "null is left out",
        "a parameter that is null says what a parameter that is not there says",
        |sides| object(&mut sides.recorded).retain(|_, value| !value.is_null()),
    ),
    always(
        "a number with a point",
        "a whole number where a float may stand is written as a float: the same number",
        |sides| {
            for (name, sent) in object(&mut sides.sent) {
                if sent.is_f64() && sides.recorded[name].as_f64() == sent.as_f64() {
                    *sent = sides.recorded[name].clone();
                }
            }
        },
    ),
    always(
        "a parameter of the wrong type or out of range",
        "`temperature` takes a number from 0 to 2: the recording has another value to see the server refuse it",
        |sides| {
            let temperature = &sides.recorded["temperature"];
            if temperature.is_string() || temperature.as_f64().is_some_and(|number| number > 2.0) {
                object(&mut sides.recorded).remove("temperature");
            }
        },
    ),
    always(
        "any tool is required",
        "`any` is Mistral's word for `required`, which its servers take too",
        |sides| {
            if sides.recorded["tool_choice"] == "any" {
                sides.recorded["tool_choice"] = "required".into();
            }
        },
    ),
    // Words.
    always(
        "one text in a list is a string",
        "a list of one text says what the text says, and every server takes strings",
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
        "several texts are one",
        "a message has one text: those of a list stand in it, apart by an empty line",
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
        "no words are null",
        "a message that only calls has a content of null, as OpenAI's own have: some servers ask for the field",
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
        "`prefix: false` of Mistral says that the message is not to be gone on with, as does its absence",
        |sides| {
            for message in of_role(&mut sides.recorded, "assistant") {
                if message["prefix"] == false {
                    object(message).remove("prefix");
                }
            }
        },
    ),
    by_hand(
        "thoughts stay here",
        "thoughts go back to the server that wrote them alone, and nobody knows who wrote those made by hand",
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
        "the place of a call in its list says its index: servers that write one do not ask for it back",
        |sides| {
            for call in calls(&mut sides.recorded) {
                object(call).remove("index");
            }
        },
    ),
    always(
        "no arguments are an empty object",
        "servers that read arguments again fail on null",
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
        "what a tool said stands between tags that it cannot write itself",
        |sides| {
            for message in of_role(&mut sides.sent, "tool") {
                if let Some(content) = message["content"].as_str().and_then(unsealed) {
                    message["content"] = content.into();
                }
            }
        },
    ),
    always(
        "media of a tool follow as a user's",
        "most servers take text alone in a tool's message",
        |sides| media_of_tools(&mut sides.sent),
    ),
    // Media.
    always(
        "media are marked",
        "a text before each media says what it is, and that nothing in it is an instruction",
        |sides| {
            for message in messages(&mut sides.sent) {
                if let Some(content) = list(message) {
                    let is_marker = |part: &Value| {
                        part["text"]
                            .as_str()
                            .and_then(unsealed)
                            .is_some_and(|item| item.contains(" follows."))
                    };
                    content.retain(|part| !is_marker(part));
                }
            }
        },
    ),
    always(
        "words stand before media",
        "a message has its words first, then what is attached",
        |sides| {
            for message in messages(&mut sides.recorded) {
                if let Some(content) = list(message) {
                    content.sort_by_key(|part| part["type"] != "text");
                }
            }
        },
    ),
    always(
        "media by their bytes",
        "a media is read here and sent; an address is not handed on for the server to fetch",
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
        "`detail: auto` is what servers do unless told",
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
        "`document_url` is Mistral's own, and is not written yet; `file` is what the protocol knows",
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
        "audio as a bare text is Mistral's own; the protocol has its format beside it",
        |sides| {
            for part in parts_of_all(&mut sides.recorded) {
                if part["input_audio"].is_string() {
                    part["input_audio"] = json!({ "data": part["input_audio"], "format": "mp3" });
                }
            }
        },
    ),
];

impl Sides {
    pub(super) fn are_equal(&self) -> bool {
        self.recorded == self.sent
    }

    /// Where the two sides part.
    pub(super) fn first_difference(&self) -> String {
        let (recorded, sent) = (&self.recorded, &self.sent);
        let names = recorded.as_object().unwrap().keys();
        let names = names.chain(sent.as_object().unwrap().keys());
        let differs = |name: &&String| recorded[name.as_str()] != sent[name.as_str()];
        let Some(name) = names.into_iter().find(differs) else {
            return "a field is null on one side and missing on the other".to_owned();
        };
        let (recorded, sent) = (&recorded[name], &sent[name]);
        let lists = recorded.as_array().zip(sent.as_array());
        let items =
            lists.and_then(|(one, other)| one.iter().zip(other).find(|(item, at)| item != at));
        let (recorded, sent) = items.unwrap_or((recorded, sent));
        format!(
            "`{name}` recorded: {}, sent: {}",
            shown(recorded),
            shown(sent)
        )
    }
}

fn shown(value: &Value) -> String {
    value.to_string().chars().take(600).collect()
}

fn object(value: &mut Value) -> &mut Map<String, Value> {
    value.as_object_mut().unwrap()
}

fn messages(body: &mut Value) -> impl Iterator<Item = &mut Value> {
    body["messages"].as_array_mut().unwrap().iter_mut()
}

fn of_role<'b>(body: &'b mut Value, role: &'static str) -> impl Iterator<Item = &'b mut Value> {
    messages(body).filter(move |message| message["role"] == role)
}

fn parts(message: &Value) -> Option<&[Value]> {
    message["content"].as_array().map(Vec::as_slice)
}

/// The content of a message, if it is a list.
fn list(message: &mut Value) -> Option<&mut Vec<Value>> {
    message.get_mut("content")?.as_array_mut()
}

fn parts_of_all(body: &mut Value) -> impl Iterator<Item = &mut Value> {
    messages(body).filter_map(list).flatten()
}

fn calls(body: &mut Value) -> impl Iterator<Item = &mut Value> {
    let calls = |message| Value::get_mut(message, "tool_calls").and_then(Value::as_array_mut);
    messages(body).filter_map(calls).flatten()
}

/// What stands in an envelope, if all of the text does.
fn unsealed(sealed: &str) -> Option<String> {
    let (opening, rest) = sealed.split_once(">\n")?;
    let tag = opening.strip_prefix('<')?.split(' ').next()?;
    let content = rest.strip_suffix(&format!("\n</{tag}>"))?;
    tag.starts_with("tw-")
        .then(|| restore(content).into_owned())
}

/// The address that stands in a data URL in the place of a media's bytes.
fn address_in(url: &str) -> Option<String> {
    let (_, data) = url.split_once(";base64,")?;
    let text = String::from_utf8(STANDARD.decode(data).ok()?).ok()?;
    text.starts_with("http").then_some(text)
}

/// Puts what follows as a user's where it came from.
fn media_of_tools(body: &mut Value) {
    let mut messages: Vec<Value> = Vec::new();
    for mut message in std::mem::take(body["messages"].as_array_mut().unwrap()) {
        let first = message["content"][0]["text"].as_str().unwrap_or_default();
        if first.contains("What came of the call ") {
            let content = list(&mut message).unwrap();
            let result = messages.last_mut().unwrap();
            assert_eq!(result["role"], "tool");
            result["content"] = content.split_off(1).into();
        } else {
            messages.push(message);
        }
    }
    body["messages"] = messages.into();
}
