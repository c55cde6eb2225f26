//! The result of a tool call.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::stored::{is_default, part, stored};
use super::taint_source::Denial;
use crate::artifact::SpooledArtifact;
use crate::media::Media;

/// The result of a call.
///
/// ```
/// use turnwright_core::record::{ToolCall, ToolResults};
///
/// let failed = ToolCall::builder("forecast", r#"{"city": "Paris"}"#)
///     .results(ToolResults::Failure("The weather service is down.".to_owned()))
///     .build()?;
/// assert!(failed.is_error());
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum ToolResults {
    /// None yet: the call has not completed.
    #[default]
    Nothing,
    /// The answer of an artifact tool, which never becomes an artifact.
    Text(String),
    /// The output of the handler. One artifact, unless the record was built by hand.
    Artifacts(Vec<SpooledArtifact>),
    /// The media that the handler returned.
    Media(Vec<Media>),
    /// The handler failed: the text for the model.
    Failure(String),
    /// The handler did not run: the text of the framework for the model.
    Refusal(String),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ToolResults", rename_all = "camelCase")]
enum StoredResults {
    #[serde(skip)]
    Nothing,
    Text(String),
    #[serde(with = "part")]
    Artifacts(Vec<SpooledArtifact>),
    #[serde(with = "part")]
    Media(Vec<Media>),
    Failure(String),
    Refusal(String),
}

stored! {
    StoredSettled as "Settled";
    /// The result of settling a call. The defaults apply to a call that has not completed.
    #[derive(Clone, Default)]
    pub(crate) struct Settled {
        #[serde(with = "StoredResults", default, skip_serializing_if = "ToolResults::is_nothing")]
        pub(crate) results: ToolResults,
        /// Media beside artifacts.
        #[serde(with = "part", default, skip_serializing_if = "Vec::is_empty")]
        pub(crate) attachments: Vec<Media>,
        #[serde(default, skip_serializing_if = "is_default")]
        pub(crate) trusted: bool,
        /// Whether the prompt contains the result. `None`: unless it has artifacts.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) inline: Option<bool>,
        #[serde(default, skip_serializing_if = "is_default")]
        pub(crate) from_artifact_tool: bool,
        /// Whether the tool returned more than was stored.
        #[serde(default, skip_serializing_if = "is_default")]
        pub(crate) truncated: bool,
        /// Whether the result contains private data.
        #[serde(default, skip_serializing_if = "is_default")]
        pub(crate) private: bool,
        /// Whether a policy keeps the result out of the prompt.
        #[serde(default, skip_serializing_if = "is_default")]
        pub(crate) quarantined: bool,
        /// The arguments that ran, if they differ from the proposed ones.
        #[serde(rename = "editedArgs", with = "part", default, skip_serializing_if = "Option::is_none")]
        pub(crate) edited: Option<Value>,
        /// Why the call was denied, if it was.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) denial: Option<Box<Denial>>,
    }
}

impl Settled {
    /// A text of the framework, which needs no envelope.
    pub(crate) fn refusal(text: &str) -> Self {
        Settled::framework(ToolResults::Refusal(text.to_owned()))
    }

    /// A result of the framework.
    pub(crate) fn framework(results: ToolResults) -> Self {
        Settled {
            results,
            ..Settled::default()
        }
    }
}

impl ToolResults {
    fn is_nothing(&self) -> bool {
        matches!(self, ToolResults::Nothing)
    }
}

impl fmt::Debug for ToolResults {
    /// Shows only the form and size of the result, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ToolResults::Nothing => f.write_str("Nothing"),
            ToolResults::Text(text) => write!(f, "Text({} bytes)", text.len()),
            ToolResults::Artifacts(artifacts) => f.debug_list().entries(artifacts).finish(),
            ToolResults::Media(media) => f.debug_list().entries(media).finish(),
            ToolResults::Failure(text) => write!(f, "Failure({} bytes)", text.len()),
            ToolResults::Refusal(text) => write!(f, "Refusal({} bytes)", text.len()),
        }
    }
}
