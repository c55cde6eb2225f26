//! Results of remote calls as tool outputs.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use turnwright_core::artifact::ArtifactKind;
use turnwright_core::media::{Media, MediaKind};
use turnwright_core::schema::Schema;
use turnwright_core::spool::MemoryReader;
use turnwright_core::{ToolError, ToolOutput};

use crate::definition::harmless;

/// Maximum length of an error text for the model.
const MAX_ERROR: usize = 8_000;

/// Converts a result. All of it is third-party content.
///
/// # Errors
/// The server reports an error, or the structured content does not match the schema that the server published for it.
pub(super) fn output(
    result: Value,
    schema: Option<&Schema>,
    alias: &str,
) -> Result<ToolOutput, ToolError> {
    let is_error = result.get("isError").and_then(Value::as_bool) == Some(true);
    let structured = result
        .get("structuredContent")
        .filter(|content| !content.is_null());
    let parts = Parts::read(result.get("content"), alias);
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

fn check(structured: Option<&Value>, schema: &Schema, alias: &str) -> Result<(), ToolError> {
    let matches = structured.is_some_and(|structured| schema.accepts(structured));
    match matches {
        true => Ok(()),
        false => {
            let what = match structured {
                Some(_) => "does not match its output schema",
                None => "has no structured content, which its output schema requires",
            };
            let message = format!("the result of the MCP server `{alias}` {what}");
            let model = "The server returned an invalid result. The call may have taken effect.";
            Err(ToolError::internal(message).for_model(model))
        }
    }
}

/// The content of a result.
#[derive(Default)]
struct Parts {
    texts: Vec<String>,
    media: Vec<Media>,
}

impl Parts {
    fn read(content: Option<&Value>, alias: &str) -> Self {
        let mut parts = Parts::default();
        for block in content.and_then(Value::as_array).into_iter().flatten() {
            parts.add(block, alias);
        }
        parts
    }

    fn add(&mut self, block: &Value, alias: &str) {
        let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "text" => self.texts.push(text("text").to_owned()),
            "image" => self.add_media(MediaKind::Image, text("mimeType"), text("data"), alias),
            "audio" => self.add_media(MediaKind::Audio, text("mimeType"), text("data"), alias),
            "resource" => self.add_resource(block.get("resource").unwrap_or(&Value::Null), alias),
            "resource_link" => {
                let (name, uri) = (text("name"), text("uri"));
                self.texts.push(format!("Resource link: {name} ({uri})"));
            }
            other => {
                let other: String = other.chars().take(40).collect();
                self.texts
                    .push(format!("[content of the unknown type `{other}`]"));
            }
        }
    }

    fn add_media(&mut self, kind: MediaKind, mime_type: &str, data: &str, alias: &str) {
        let media = STANDARD.decode(data).ok().and_then(|bytes| {
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

    fn add_resource(&mut self, resource: &Value, alias: &str) {
        let text = |key: &str| resource.get(key).and_then(Value::as_str);
        let uri = text("uri").unwrap_or_default();
        match (text("text"), text("blob")) {
            (Some(content), _) => self.texts.push(format!("Resource {uri}:\n{content}")),
            (None, Some(blob)) => {
                let mime_type = text("mimeType").unwrap_or("application/octet-stream");
                match kind_of(mime_type) {
                    Some(kind) => self.add_media(kind, mime_type, blob, alias),
                    None => self
                        .texts
                        .push(format!("[binary resource {uri}, {mime_type}]")),
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
        match structured {
            // Equal text and structured content are kept once.
            Some(structured) if text.is_empty() || repeated(&structured) => {
                ToolOutput::text(structured.to_string()).of_kind(ArtifactKind::JSON)
            }
            Some(structured) => {
                ToolOutput::text(format!("{text}\n\nStructured content:\n{structured}"))
            }
            None if text.is_empty() && !self.media.is_empty() => ToolOutput::media(self.media),
            None => ToolOutput::text(text),
        }
        .untrusted()
    }
}

fn kind_of(mime_type: &str) -> Option<MediaKind> {
    match mime_type.split_once('/')?.0 {
        "image" => Some(MediaKind::Image),
        "audio" => Some(MediaKind::Audio),
        "video" => Some(MediaKind::Video),
        _ => None,
    }
}
