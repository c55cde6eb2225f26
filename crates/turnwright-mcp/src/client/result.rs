//! Results of remote calls as tool outputs.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use turnwright_core::artifact::ArtifactKind;
use turnwright_core::media::{Media, MediaKind};
use turnwright_core::record::RecordBuilder;
use turnwright_core::schema::{Schema, escape};
use turnwright_core::spool::MemoryReader;
use turnwright_core::trust::TrustTier;
use turnwright_core::{Error, Message, ToolError, ToolOutput, TurnInput};

use crate::definition::harmless;
use crate::protocol::Failure;

/// Maximum length of the name of a resource, and of a MIME type.
const MAX_NAME: usize = 200;

/// Maximum length of a URI.
const MAX_URI: usize = 2_000;

/// Maximum number of media in a result. Each takes far more memory than the bytes of an empty one.
const MAX_MEDIA: usize = 1_000;

/// Maximum length of an error text for the model.
const MAX_ERROR: usize = 8_000;

/// Maximum number of comparisons of a result with the lists of its output schema. The server chooses both: a long `enum` and as many
/// values as a message can have would take hours.
const MAX_COMPARISONS: usize = 50_000_000;
/// Maximum number of steps of the patterns of an output schema over a result.
const MAX_STEPS: usize = 10_000_000_000;

/// Converts a result. All of it is third-party content. `reader`: the tool with which the model reads resources, if it has one.
///
/// # Errors
/// The server reports an error, or the structured content does not match the schema that the server published for it.
pub(super) fn output(
    result: &Value,
    schema: Option<&Schema>,
    alias: &str,
    reader: Option<&str>,
) -> Result<ToolOutput, ToolError> {
    let is_error = result.get("isError").and_then(Value::as_bool) == Some(true);
    let structured = result.get("structuredContent");
    // Some servers send `null` if there is none. With a schema it may be a value.
    let structured = structured.filter(|content| schema.is_some() || !content.is_null());
    let mut parts = Parts::new(alias, reader);
    let content = result.get("content").and_then(Value::as_array);
    content
        .into_iter()
        .flatten()
        .for_each(|block| parts.add(block));
    if is_error {
        let text = harmless(&parts.text(), MAX_ERROR);
        let message = format!("the MCP server `{alias}` reports an error");
        return Err(ToolError::internal(message).for_model(text));
    }
    if let Some(schema) = schema {
        check(structured, schema, alias)?;
    }
    Ok(parts.into_output(structured))
}

/// Converts the failure of a call.
pub(super) fn failure(failure: &Failure, alias: &str) -> ToolError {
    let message = format!("the MCP server `{alias}`: {failure}");
    match failure {
        Failure::Rejected {
            code,
            message: text,
        } => {
            let text = harmless(text, 2_000);
            let error = ToolError::internal(message);
            match code {
                // Errors of the request: the method, the parameters, or an HTTP status.
                -32602..=-32600 | 300..=499 => {
                    error.for_model(format!("The server rejected the call: {text}"))
                }
                _ => error.for_model(format!(
                    "The server reports an error: {text}\n\nThe call may have taken effect in part. Check before you repeat it."
                )),
            }
        }
        Failure::Timeout(_) => ToolError::timeout(message).for_model(
            "The server did not answer in time. The call may or may not have taken effect. Check before you repeat it.",
        ),
        Failure::Lost(_) | Failure::Failed(_) | Failure::Malformed(_) => ToolError::unavailable(message).for_model(
            "The server failed during the call. It may or may not have taken effect. Check before you repeat it.",
        ),
        Failure::Unanswered(_) => ToolError::unavailable(message).for_model(
            "The server asked for something that is not available here. The call was not completed.",
        ),
        Failure::Busy(_) => ToolError::rate_limited(message)
            .for_model("The server has too many requests. The call was not made. Try again later."),
        Failure::NotConnected(_) | Failure::NotSent(_) => ToolError::unavailable(message)
            .for_model("The call was not sent: the tool is not available now."),
        Failure::Unauthorised(_) | Failure::NotAuthorised(_) => ToolError::denied(message)
            .for_model("The server requires authorisation. The call was not made."),
    }
}

fn check(structured: Option<&Value>, schema: &Schema, alias: &str) -> Result<(), ToolError> {
    let what = match structured {
        Some(structured) if takes_too_long(structured, schema) => {
            "is too large to be checked against its output schema"
        }
        Some(structured) if schema.accepts(structured) => return Ok(()),
        Some(structured) if !structured.is_null() => "does not match its output schema",
        _ => "has no structured content, which its output schema requires",
    };
    let message = format!("the result of the MCP server `{alias}` {what}");
    let model = "The server returned an invalid result. The call may have taken effect.";
    Err(ToolError::internal(message).for_model(model))
}

/// Assumes the worst: that each value is compared with each entry of the longest list in the schema, and that each pattern runs
/// over all text.
fn takes_too_long(value: &Value, schema: &Schema) -> bool {
    fn all(value: &Value) -> impl Iterator<Item = &Value> {
        let mut rest = vec![value];
        std::iter::from_fn(move || {
            let next = rest.pop()?;
            match next {
                Value::Array(items) => rest.extend(items),
                Value::Object(fields) => rest.extend(fields.values()),
                _ => {}
            }
            Some(next)
        })
    }
    let text_of = |value: &Value| match value {
        Value::String(text) => text.len(),
        Value::Object(fields) => fields.keys().map(String::len).sum(),
        _ => 0,
    };
    let patterns_of = |schema: &Value| {
        let one = schema.get("pattern").and_then(Value::as_str);
        let several = schema.get("patternProperties").and_then(Value::as_object);
        let names = several.into_iter().flat_map(|several| several.keys());
        one.map_or(0, steps) + names.map(|name| steps(name)).sum::<usize>()
    };
    let schema = schema.document();
    let lists = all(schema).filter_map(Value::as_array);
    let longest = lists.map(Vec::len).max().unwrap_or_default();
    let patterns: usize = all(schema).map(patterns_of).sum();
    let text: usize = all(value).map(text_of).sum();
    all(value).count().saturating_mul(longest) > MAX_COMPARISONS
        || text.saturating_mul(patterns) > MAX_STEPS
}

/// The steps of a pattern for one character, about: its length, and how often its parts can be repeated.
fn steps(pattern: &str) -> usize {
    let numbers = pattern.split(|c: char| !c.is_ascii_digit());
    let counts = numbers.filter_map(|number| number.parse::<u32>().ok());
    pattern.len() + counts.map(|count| count as usize).sum::<usize>()
}

/// Converts the contents of a resource.
pub(super) fn resource(contents: &[Value], alias: &str) -> ToolOutput {
    let mut parts = Parts::new(alias, None);
    if let [only] = contents
        && let Some(text) = only.get("text").and_then(Value::as_str)
    {
        parts.texts.push(text.to_owned());
    } else {
        contents
            .iter()
            .for_each(|content| parts.add_resource(content));
    }
    parts.into_output(None)
}

/// Returns messages of a server as the input of a turn. A third party wrote them, so the model reads them inside an envelope.
/// `private`: whether the server reads private data.
pub(super) fn turn_input(
    alias: &str,
    private: bool,
    system: Option<&str>,
    messages: &[Value],
) -> Result<TurnInput, Error> {
    let mut texts: Vec<String> = system.map(str::to_owned).into_iter().collect();
    let mut parts = Parts::new(alias, None);
    for message in messages {
        let blocks = match message.get("content") {
            Some(Value::Array(blocks)) => blocks.as_slice(),
            Some(block) => std::slice::from_ref(block),
            None => &[],
        };
        blocks.iter().for_each(|block| parts.add(block));
        let text = std::mem::take(&mut parts.texts).join("\n\n");
        texts.push(match message.get("role").and_then(Value::as_str) {
            Some("assistant") if !text.is_empty() => format!("Assistant: {text}"),
            _ => text,
        });
    }
    // A message may have media and no text.
    texts.retain(|text| !text.is_empty());
    let message = Message::agent(alias, texts.join("\n\n"))
        .tier(TrustTier::ThirdPartyPublic)
        .private(private);
    let message = parts.media.into_iter().fold(message, RecordBuilder::media);
    Ok(message.build()?.into())
}

/// The content of a result or of messages.
struct Parts<'a> {
    alias: &'a str,
    /// The tool with which the model reads resources, if it has one.
    reader: Option<&'a str>,
    texts: Vec<String>,
    media: Vec<Media>,
}

impl<'a> Parts<'a> {
    fn new(alias: &'a str, reader: Option<&'a str>) -> Self {
        Parts {
            alias,
            reader,
            texts: Vec::new(),
            media: Vec::new(),
        }
    }

    fn add(&mut self, block: &Value) {
        let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "text" => self.texts.push(text("text").to_owned()),
            "image" => self.add_media(MediaKind::Image, text("mimeType"), text("data")),
            "audio" => self.add_media(MediaKind::Audio, text("mimeType"), text("data")),
            "resource" => self.add_resource(block.get("resource").unwrap_or(&Value::Null)),
            "resource_link" => {
                let (name, uri) = (escape(text("name"), MAX_NAME), escape(text("uri"), MAX_URI));
                let link = format!("Resource link: {name} ({uri})");
                self.texts.push(match self.reader {
                    Some(reader) => format!("{link}. Read it with `{reader}`."),
                    None => link,
                });
            }
            other => {
                let other = escape(other, 40);
                self.texts
                    .push(format!("[content of the unknown type `{other}`]"));
            }
        }
    }

    fn add_media(&mut self, kind: MediaKind, mime_type: &str, data: &str) {
        let alias = self.alias;
        // Without parameters, which can be prose.
        let mime_type = mime_type.split(';').next().unwrap_or_default().trim();
        let is_short = mime_type.len() <= MAX_NAME;
        if self.media.len() >= MAX_MEDIA {
            let left_out = format!("[media that was left out: there are more than {MAX_MEDIA}]");
            return self.texts.push(left_out);
        }
        let bytes = STANDARD.decode(data).ok().filter(|_| is_short);
        let media = bytes.and_then(|bytes| {
            let name = format!("{alias}-{}", self.media.len() + 1);
            Media::retrieved_public(kind, mime_type, name, MemoryReader::new(bytes))
                .source(alias)
                .build()
                .ok()
        });
        match media {
            Some(media) => self.media.push(media),
            None => self.texts.push("[media that cannot be read]".to_owned()),
        }
    }

    fn add_resource(&mut self, resource: &Value) {
        let text = |key: &str| resource.get(key).and_then(Value::as_str);
        let uri = escape(text("uri").unwrap_or_default(), MAX_URI);
        match (text("text"), text("blob")) {
            (Some(content), _) => self.texts.push(format!("Resource {uri}:\n{content}")),
            (None, Some(blob)) => {
                let mime_type = text("mimeType").unwrap_or("application/octet-stream");
                match text_of_blob(mime_type, blob) {
                    Some(content) => self.texts.push(format!("Resource {uri}:\n{content}")),
                    None => self.add_media(kind_of(mime_type), mime_type, blob),
                }
            }
            (None, None) => self.texts.push(format!("[empty resource {uri}]")),
        }
    }

    fn text(&self) -> String {
        self.texts.join("\n\n")
    }

    fn into_output(self, structured: Option<&Value>) -> ToolOutput {
        let text = self.text();
        let repeated = |structured: &&Value| {
            serde_json::from_str::<Value>(&text).is_ok_and(|text| text == **structured)
        };
        // Many servers wrap the text in an object with one field.
        let wraps = |structured: &&Value| {
            let fields = structured.as_object();
            let mut fields = fields.into_iter().flat_map(|fields| fields.values());
            let only = fields.next().and_then(Value::as_str);
            fields.next().is_none() && only.is_some_and(|only| only.trim() == text.trim())
        };
        match structured {
            // Equal text and structured content are kept once.
            Some(structured) if text.is_empty() || repeated(&structured) => {
                ToolOutput::text(structured.to_string()).of_kind(ArtifactKind::JSON)
            }
            Some(structured) if wraps(&structured) => ToolOutput::text(text),
            Some(structured) => {
                ToolOutput::text(format!("{text}\n\nStructured content:\n{structured}"))
            }
            None if text.is_empty() && !self.media.is_empty() => ToolOutput::media([]),
            None => ToolOutput::text(text),
        }
        .with_media(self.media)
        .untrusted()
    }
}

/// Returns the text of a blob, if its type says that it is one.
fn text_of_blob(mime_type: &str, blob: &str) -> Option<String> {
    let is_text = mime_type.starts_with("text/") || mime_type.starts_with("application/json");
    let bytes = STANDARD.decode(blob).ok().filter(|_| is_text)?;
    String::from_utf8(bytes).ok()
}

fn kind_of(mime_type: &str) -> MediaKind {
    match mime_type.split('/').next() {
        Some("image") => MediaKind::Image,
        Some("audio") => MediaKind::Audio,
        Some("video") => MediaKind::Video,
        _ => MediaKind::Document,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use turnwright_core::schema::SchemaOptions;

    use super::*;

    fn text(result: &Value) -> String {
        let output = output(result, None, "a", None).unwrap();
        output.as_text().unwrap_or_default().to_owned()
    }

    #[test]
    fn equal_text_and_structured_content_are_kept_once() {
        let result = |text: &str, structured: Value| json!({ "content": [{ "type": "text", "text": text }], "structuredContent": structured });
        let same = result(r#"{"a": 1}"#, json!({ "a": 1 }));
        assert_eq!(text(&same), r#"{"a":1}"#);
        let wrapped = result("hello", json!({ "content": "hello\n" }));
        assert_eq!(text(&wrapped), "hello");
        let other = result("one", json!({ "a": "two" }));
        assert_eq!(text(&other), "one\n\nStructured content:\n{\"a\":\"two\"}");
    }

    #[test]
    fn binary_resources_are_text_or_media() {
        let resource = |mime_type: &str, blob: &str| json!({ "type": "resource", "resource": { "uri": "x:/y", "mimeType": mime_type, "blob": blob } });
        let result = json!({ "content": [
            resource("text/csv", "YSxi"), resource("application/pdf", "JVBERg=="), resource("text/plain", "/w=="), resource("image/png", "?"),
        ] });
        let output = output(&result, None, "a", None).unwrap();
        let expected = "Resource x:/y:\na,b\n\n[media that cannot be read]";
        assert_eq!(output.as_text(), Some(expected));
        let media = output.as_media().iter();
        let media: Vec<_> = media
            .map(|media| (media.kind(), media.mime_type(), media.is_untrusted()))
            .collect();
        assert_eq!(
            media,
            [
                (MediaKind::Document, "application/pdf", true),
                (MediaKind::Document, "text/plain", true),
            ]
        );
    }

    #[test]
    fn media_beyond_the_limit_are_left_out() {
        let image = json!({ "type": "image", "mimeType": "image/png", "data": "" });
        let result = json!({ "content": vec![image; MAX_MEDIA + 1] });
        let output = output(&result, None, "a", None).unwrap();
        assert_eq!(output.as_media().len(), MAX_MEDIA);
        let expected = "[media that was left out: there are more than 1000]";
        assert_eq!(output.as_text(), Some(expected));
    }

    #[test]
    fn a_result_that_would_take_hours_to_check_is_an_error() {
        let check = |choices: usize, values: usize| {
            let choices: Vec<usize> = (0..choices).collect();
            let schema = json!({ "type": "object", "properties": { "a": { "items": { "enum": choices } } } });
            let schema = SchemaOptions::foreign().document(schema).unwrap();
            let result = json!({ "content": [], "structuredContent": { "a": vec![0; values] } });
            output(&result, Some(&schema), "a", None)
        };
        let patterns = |count: usize, length: usize| {
            let named =
                (0..count).map(|n| (format!("^[abc]+x{{{n}}}$"), json!({ "type": "string" })));
            let named: serde_json::Map<_, _> = named.collect();
            let schema = json!({ "type": "object", "patternProperties": named });
            let schema = SchemaOptions::foreign().document(schema).unwrap();
            let result = json!({ "content": [], "structuredContent": { "k".repeat(length): "" } });
            output(&result, Some(&schema), "a", None)
        };
        assert!(patterns(100, 10_000).is_ok());
        assert!(patterns(500, 200_000).is_err());
        assert!(check(100, 10_000).is_ok());
        let error = check(10_000, 10_000).unwrap_err();
        let expected = "is too large to be checked against its output schema";
        assert!(error.to_string().contains(expected), "{error}");
    }

    #[test]
    fn structured_content_must_match_its_schema() {
        let schema = Schema::from_document(json!({ "type": "object", "required": ["a"] })).unwrap();
        let check = |structured: Value| {
            let result = json!({ "content": [], "structuredContent": structured });
            output(&result, Some(&schema), "a", None).is_ok()
        };
        assert!(check(json!({ "a": 1 })));
        assert!(!check(json!({ "b": 1 })) && !check(Value::Null));
    }
}
