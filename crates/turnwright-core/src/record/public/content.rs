//! Tool calls, documents and media.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::artifact::SpooledArtifact;
use crate::media::{Media, MediaKind};
use crate::record::{Retrievable, Retrieved, ToolCall, ToolResults, time_text};

/// The most bytes of a result that is shown as text.
const MAX_SHOWN_BYTES: u64 = 1024 * 1024;

/// A media item, without its bytes.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Media")]
pub(super) struct PublicMedia<'a> {
    id: &'a str,
    kind: MediaKind,
    mime_type: &'a str,
    /// The file name as received. Never use it as a path.
    filename: &'a str,
    /// The number of bytes, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
}

impl<'a> From<&'a Media> for PublicMedia<'a> {
    fn from(media: &'a Media) -> Self {
        let known = media.descriptor();
        PublicMedia {
            id: &known.id,
            kind: known.kind,
            mime_type: &known.mime_type,
            filename: &known.filename,
            bytes: media.byte_length(),
        }
    }
}

/// The stored content of a tool result or a document.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Artifact")]
pub(super) struct PublicArtifact<'a> {
    /// The kind of content, such as `text` or `json`.
    kind: &'a str,
    /// The number of bytes.
    bytes: u64,
    /// The content, if it is text of at most 1 MiB that the model sees inline. May be missing in a loaded record.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

impl<'a> PublicArtifact<'a> {
    fn new(artifact: &'a SpooledArtifact, inline: bool) -> Self {
        PublicArtifact {
            kind: artifact.kind().as_str(),
            bytes: artifact.byte_length(),
            text: inline.then(|| text_of(artifact)).flatten(),
        }
    }
}

/// Reads a short text, if it can be read synchronously.
fn text_of(artifact: &SpooledArtifact) -> Option<String> {
    let is_small = artifact.byte_length() <= MAX_SHOWN_BYTES;
    let bytes = is_small.then(|| artifact.bytes_now()).flatten()?;
    String::from_utf8(bytes.ok()?).ok()
}

/// A tool call and its result.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ToolCallRecord")]
pub(super) struct PublicToolCall<'a> {
    #[schemars(extend("const" = "tool_call"))]
    kind: &'static str,
    id: &'a str,
    created_at: String,
    updated_at: String,
    /// When it was settled, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<String>,
    tool: &'a str,
    /// The arguments as the model proposed them. Text if they are not JSON.
    args: Value,
    /// The arguments that ran, if a policy or an approver changed them.
    #[serde(skip_serializing_if = "Option::is_none")]
    edited_args: Option<&'a Value>,
    /// The result, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    results: Option<PublicResults<'a>>,
    /// Whether it was refused, failed, or was part of a truncated response.
    is_error: bool,
    /// Whether a policy or an approver denied it.
    denied: bool,
    /// Whether the tool returned more than was stored.
    truncated: bool,
    /// Whether the response that proposed it was truncated, so that it never runs.
    cut_off: bool,
}

/// The result of a tool call: one of these, or artifacts with media.
#[derive(Default, Serialize, JsonSchema)]
#[schemars(rename = "ToolResults")]
pub(super) struct PublicResults<'a> {
    /// The answer of an artifact tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    /// The output of the handler.
    #[serde(skip_serializing_if = "Option::is_none")]
    artifacts: Option<Vec<PublicArtifact<'a>>>,
    /// The media that the handler returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    media: Option<Vec<PublicMedia<'a>>>,
    /// The handler failed: the text for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'a str>,
    /// The handler did not run: the text for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<&'a str>,
}

impl<'a> PublicResults<'a> {
    fn new(call: &'a ToolCall) -> Option<Self> {
        let mut results = PublicResults::default();
        match call.results() {
            ToolResults::Nothing => return None,
            ToolResults::Text(text) => results.text = Some(text),
            ToolResults::Failure(text) => results.failure = Some(text),
            ToolResults::Refusal(text) => results.refusal = Some(text),
            ToolResults::Artifacts(all) => {
                let shown = |one| PublicArtifact::new(one, call.is_inline());
                results.artifacts = Some(all.iter().map(shown).collect());
            }
            ToolResults::Media(_) => {}
        }
        let media = call.media();
        results.media = (!media.is_empty()).then(|| media.iter().map(PublicMedia::from).collect());
        Some(results)
    }
}

impl<'a> From<&'a ToolCall> for PublicToolCall<'a> {
    fn from(call: &'a ToolCall) -> Self {
        PublicToolCall {
            kind: "tool_call",
            id: call.id(),
            created_at: time_text(call.created_at()),
            updated_at: time_text(call.updated_at()),
            completed_at: call.completed_at().map(time_text),
            tool: call.tool(),
            args: call.args().to_value(),
            edited_args: call.edited_args(),
            results: PublicResults::new(call),
            is_error: call.is_error(),
            denied: call.denial().is_some(),
            truncated: call.is_truncated(),
            cut_off: call.is_cut_off(),
        }
    }
}

/// A document, media or a summary: its `text`, `artifact` or `media`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RetrievableRecord")]
pub(super) struct PublicRetrievable<'a> {
    #[schemars(extend("const" = "retrievable"))]
    kind: &'static str,
    id: &'a str,
    created_at: String,
    updated_at: String,
    /// The origin, if known: a URL, a path or a title.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
    /// Whether it is the summary of a part of the conversation.
    summary: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact: Option<PublicArtifact<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    media: Option<PublicMedia<'a>>,
}

impl<'a> From<&'a Retrievable> for PublicRetrievable<'a> {
    fn from(found: &'a Retrievable) -> Self {
        let mut public = PublicRetrievable {
            kind: "retrievable",
            id: found.id(),
            created_at: time_text(found.created_at()),
            updated_at: time_text(found.updated_at()),
            source: found.source(),
            summary: found.covers().is_some(),
            text: None,
            artifact: None,
            media: None,
        };
        match found.content() {
            Retrieved::Text(text) => public.text = Some(text),
            Retrieved::Artifact(artifact) => {
                public.artifact = Some(PublicArtifact::new(artifact, found.is_inline()));
            }
            Retrieved::Media(media) => public.media = Some(media.into()),
        }
        public
    }
}
