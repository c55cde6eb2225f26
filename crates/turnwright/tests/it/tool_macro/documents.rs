//! What the model is shown of a tool.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use turnwright::artifact::{ArtifactKind, Inline};
use turnwright::tools::{Concurrency, OnCollision};
use turnwright::{Effects, ToolContext, ToolError, tool};

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Units {
    Metric,
    Imperial,
}

const MOST_TAGS: usize = 4;

/// Current weather for a city.
///
/// Answers in one line:
///   - temperature
///   - wind
#[tool]
async fn get_weather(
    /// City to look up.
    #[arg(
        min_length = 1,
        max_length = 80,
        pattern = "^\\p{L}",
        example = "Paris",
        example = "Oslo"
    )]
    city: &str,
    /// Days ahead.
    #[arg(
        default = 3,
        min = 1,
        max = 14,
        note = "At most two weeks.",
        note = "Counts from today."
    )]
    days: u8,
    units: Option<Units>,
    #[arg(max_items = MOST_TAGS, unique_items, default = [])] tags: &[String],
    #[arg(description = "How to write it.", default = "plain")] style: &str,
    #[arg(default = Units::Metric)] wind_units: Units,
    #[arg(exclusive_min = 0, exclusive_max = 1.5, multiple_of = 0.25)] share: f64,
    #[arg(rename = "reply-to", format = "email")] reply_to: Option<String>,
    r#type: bool,
    _trace: i64,
    context: &ToolContext,
) -> Result<String, ToolError> {
    let _ = (
        city, days, units, tags, style, wind_units, share, reply_to, r#type, context,
    );
    Ok(String::new())
}

#[test]
fn the_document_says_all_that_the_function_says() {
    let tool = get_weather().unwrap();
    assert_eq!(tool.name(), "get_weather");
    assert_eq!(
        tool.description(),
        "Current weather for a city.\n\nAnswers in one line:\n  - temperature\n  - wind"
    );
    assert_eq!(
        tool.schema().document(),
        &json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "city": {
                    "type": "string",
                    "description": "City to look up.",
                    "examples": ["Paris", "Oslo"],
                    "minLength": 1,
                    "maxLength": 80,
                    "pattern": "^\\p{L}",
                },
                "days": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 14,
                    "description": "Days ahead.\nNote: At most two weeks.\nNote: Counts from today.",
                    "default": 3,
                },
                "units": {"$ref": "#/$defs/Units"},
                "tags": {
                    "type": "array",
                    "items": {"type": "string"},
                    "default": [],
                    "maxItems": 4,
                    "uniqueItems": true,
                },
                "style": {"type": "string", "description": "How to write it.", "default": "plain"},
                "wind_units": {"$ref": "#/$defs/Units", "default": "metric"},
                "share": {
                    "type": "number",
                    "exclusiveMinimum": 0,
                    "exclusiveMaximum": 1.5,
                    "multipleOf": 0.25,
                },
                "reply-to": {"type": "string", "format": "email"},
                "type": {"type": "boolean"},
                "_trace": {
                    "type": "integer",
                    "minimum": i64::MIN,
                    "maximum": i64::MAX,
                },
            },
            "required": ["city", "share", "type", "_trace"],
            "$defs": {"Units": {"type": "string", "enum": ["metric", "imperial"]}},
        })
    );
}

#[test]
fn fields_keep_the_order_of_the_parameters() {
    let tool = get_weather().unwrap();
    let properties = tool.schema().document()["properties"].as_object().unwrap();
    let names: Vec<&str> = properties.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "city",
            "days",
            "units",
            "tags",
            "style",
            "wind_units",
            "share",
            "reply-to",
            "type",
            "_trace"
        ]
    );
}

/// For people who read the code.
#[tool(
    name = "archive-page",
    description = concat!("Archives ", "a page."),
    effects = "writes",
    timeout_secs = 30,
    max_result_bytes = 65536,
    trusted,
    ephemeral = true,
    exclusive,
    on_collision = "replace",
    artifact_kind = "markdown"
)]
async fn archive() {}

const CSV: ArtifactKind = ArtifactKind::new("csv", || &[]);

/// Exports a table.
#[tool(artifact_kind = CSV, inline = 2048)]
async fn export() {}

/// Reads a log.
#[tool(artifact_kind = "jsonl", inline = "never")]
async fn read_log() {}

#[test]
fn a_kind_may_be_the_authors_own_and_a_result_may_stand_in_the_prompt_up_to_a_size() {
    let (export, log) = (export().unwrap(), read_log().unwrap());
    assert_eq!(
        (export.artifact_kind(), export.inline()),
        (CSV, Inline::UpTo(2048))
    );
    assert_eq!(
        (log.artifact_kind(), log.inline()),
        (ArtifactKind::JSON_LINES, Inline::Never)
    );
}

#[test]
fn options_reach_the_tool() {
    let tool = archive().unwrap();
    assert_eq!(tool.name(), "archive-page");
    assert_eq!(tool.description(), "Archives a page.");
    assert_eq!(tool.effects(), Effects::Writes);
    assert_eq!(tool.timeout(), Some(Duration::from_secs(30)));
    assert_eq!(tool.max_result_bytes(), Some(65536));
    assert!(tool.is_trusted());
    assert!(tool.is_ephemeral());
    assert_eq!(tool.concurrency(), Concurrency::Exclusive);
    assert_eq!(tool.on_collision(), OnCollision::Replace);
    assert_eq!(tool.artifact_kind(), ArtifactKind::MARKDOWN);
}

/** Says nothing,
 *  on two lines.
 */
#[tool]
async fn nothing() {}

#[test]
fn a_tool_without_parameters_takes_the_empty_object() {
    let tool = nothing().unwrap();
    assert_eq!(tool.description(), "Says nothing,\non two lines.");
    assert_eq!(tool.schema().document()["additionalProperties"], false);
    assert!(tool.schema().accepts(&json!({})));
    assert!(!tool.schema().accepts(&json!({"a": 1})));
}

/// Matches.
#[tool]
async fn r#match(r#loop: u8) -> String {
    r#loop.to_string()
}

#[test]
fn raw_identifiers_lose_their_mark() {
    let tool = r#match().unwrap();
    assert_eq!(tool.name(), "match");
    assert!(tool.schema().accepts(&json!({"loop": 1})));
}
