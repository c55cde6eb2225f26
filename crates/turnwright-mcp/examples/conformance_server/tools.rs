//! Tools that return something.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;
use turnwright_core::event::Level;
use turnwright_core::media::MediaKind;
use turnwright_core::spool::MemoryReader;
use turnwright_core::trust::TrustTier;
use turnwright_core::{Error, Media, Tool, ToolError, ToolOutput};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

/// A red pixel.
pub(crate) const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// A header and no sound.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

/// The delay that the suite asks for.
const DELAY: Duration = Duration::from_millis(50);

fn none() -> Value {
    json!({ "type": "object", "properties": {} })
}

fn media(kind: MediaKind, mime: &str, name: &str, base64: &str) -> Result<Media, ToolError> {
    let bytes = BASE64_STANDARD.decode(base64)?;
    let reader = MemoryReader::new(bytes);
    Ok(Media::user_attachment(kind, mime, name, reader).build()?)
}

fn document(mime: &str, uri: &str, text: &str) -> Result<Media, ToolError> {
    let reader = MemoryReader::new(text.as_bytes().to_vec());
    let media = Media::user_attachment(MediaKind::Document, mime, "resource", reader);
    Ok(media.source(uri).build()?)
}

pub(crate) fn all() -> Result<Vec<Tool>, Error> {
    let tool =
        |name: &str| Tool::dynamic(name, none()).description("A tool of the conformance suite.");
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": { "address": { "$anchor": "addressDef", "type": "object", "properties": { "street": { "type": "string" }, "city": { "type": "string" } } } },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    });
    Ok(vec![
        tool("test_simple_text")
            .handler(async |_, _| "This is a simple text response for testing.")
            .build()?,
        tool("test_image_content")
            .handler(async |_, _| {
                Ok(ToolOutput::media([media(
                    MediaKind::Image,
                    "image/png",
                    "pixel.png",
                    PNG,
                )?]))
            })
            .build()?,
        tool("test_audio_content")
            .handler(async |_, _| {
                Ok(ToolOutput::media([media(
                    MediaKind::Audio,
                    "audio/wav",
                    "silence.wav",
                    WAV,
                )?]))
            })
            .build()?,
        tool("test_embedded_resource")
            .handler(async |_, _| {
                let text = "This is an embedded resource content.";
                Ok(ToolOutput::media([document(
                    "text/plain",
                    "test://embedded-resource",
                    text,
                )?]))
            })
            .build()?,
        tool("test_multiple_content_types")
            .handler(async |_, _| {
                let image = media(MediaKind::Image, "image/png", "pixel.png", PNG)?;
                let image = image.with_derived(
                    "caption",
                    "Multiple content types test:",
                    TrustTier::FirstParty,
                );
                let data = r#"{"test":"data","value":123}"#;
                let data = document("application/json", "test://mixed-content-resource", data)?;
                Ok(ToolOutput::media([image, data]))
            })
            .build()?,
        tool("test_tool_with_logging")
            .handler(async |_, ctx| {
                ctx.log(Level::Info, "Tool execution started");
                sleep(DELAY).await;
                ctx.log(Level::Info, "Tool processing data");
                sleep(DELAY).await;
                ctx.log(Level::Info, "Tool execution completed");
                "Tool with logging executed successfully"
            })
            .build()?,
        tool("test_logging_tool")
            .handler(async |_, ctx| {
                ctx.log(Level::Info, "This is logged only for requests with a level");
                "Logged"
            })
            .build()?,
        Tool::dynamic(
            "test_header",
            json!({
                "type": "object",
                "properties": { "region": { "type": "string", "x-mcp-header": "Region" } },
                "required": ["region"],
            }),
        )
        .description("A tool with an argument that is also a header.")
        .handler(async |args: Value, _| format!("The region is {}", args["region"]))
        .build()?,
        tool("test_error_handling")
            .handler(async |_, _| {
                let message = "This tool intentionally returns an error for testing";
                Err::<String, _>(ToolError::internal(message).for_model(message))
            })
            .build()?,
        tool("test_tool_with_progress")
            .handler(async |_, ctx| {
                for step in ["started", "half done", "done"] {
                    ctx.progress(step);
                    sleep(DELAY).await;
                }
                "Tool with progress executed successfully"
            })
            .build()?,
        Tool::dynamic("json_schema_2020_12_tool", schema)
            .description("Tool with JSON Schema 2020-12 features")
            .handler(async |args: Value, _| args.to_string())
            .build()?,
    ])
}
