//! The record of a call.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::{Bytes, BytesMut};
use serde_json::Value;

use super::provider_state::ProviderState;
use crate::artifact::SpooledArtifact;
use crate::checksum::Hex;
use crate::error::Error;
use crate::ids::Id;
use crate::media::Media;
use crate::record::CallRequest;
use crate::schema::RawArgs;

/// A call: what was asked for, what ran, and what came of it. Immutable.
///
/// The call path makes them; [`ToolCall::builder`] makes one by hand, for calls that were made elsewhere.
#[derive(Clone)]
pub struct ToolCall {
    pub(super) id: WhichCall,
    pub(super) provider_id: Option<Arc<str>>,
    pub(super) tool: Arc<str>,
    pub(super) raw: RawArgs,
    pub(super) checksum: Hex,
    pub(super) settled: Settled,
    pub(super) provider_state: Option<ProviderState>,
    /// Which of its turn's calls it was.
    pub(super) ordinal: Option<u64>,
    /// The response that proposed it was cut off: it is not to run.
    pub(super) cut_off: bool,
    pub(super) created_at: SystemTime,
    pub(super) updated_at: SystemTime,
    pub(super) completed_at: Option<SystemTime>,
}

/// An id that the call path gave, or one from elsewhere.
#[derive(Clone, Debug)]
pub(super) enum WhichCall {
    Given(Id),
    Named(Box<str>),
}

/// What came of a call.
#[derive(Clone)]
#[non_exhaustive]
pub enum ToolResults {
    /// Nothing yet: the call is not complete, and was not run.
    Nothing,
    /// The answer of an artifact tool, which is never an artifact itself.
    Text(String),
    /// What the handler gave, kept by the spool. One, unless the record was made by hand.
    Artifacts(Vec<SpooledArtifact>),
    /// What the handler gave, as it is.
    Media(Vec<Media>),
    /// The handler was reached and failed: what the model may read of it.
    Failure(String),
    /// Nothing ran: what the framework says to the model.
    Refusal(String),
}

/// What settling found out. Of a call that is not complete, the defaults.
#[derive(Clone)]
pub(crate) struct Settled {
    pub(crate) results: ToolResults,
    pub(crate) trusted: bool,
    pub(crate) inline: bool,
    pub(crate) from_artifact_tool: bool,
    /// The tool returned more than was stored.
    pub(crate) truncated: bool,
    /// The arguments that ran, where they are not those that came.
    pub(crate) edited: Option<Value>,
}

impl Settled {
    /// The framework's own words, which need no fence.
    pub(crate) fn refusal(text: &str) -> Self {
        Settled::framework(ToolResults::Refusal(text.to_owned()))
    }

    /// What the framework says of a call.
    pub(crate) fn framework(results: ToolResults) -> Self {
        Settled {
            results,
            trusted: false,
            inline: true,
            from_artifact_tool: false,
            truncated: false,
            edited: None,
        }
    }
}

impl ToolCall {
    /// The record of a call that was proposed, and of which nothing came yet.
    pub(crate) fn open(request: CallRequest, checksum: Hex) -> Arc<Self> {
        let now = SystemTime::now();
        let created_at = now.checked_sub(request.created.elapsed()).unwrap_or(now);
        Arc::new(ToolCall {
            id: WhichCall::Given(request.id),
            provider_id: request.provider_id,
            tool: request.name,
            raw: request.raw,
            checksum,
            settled: Settled::framework(ToolResults::Nothing),
            provider_state: request.provider_state,
            ordinal: Some(request.ordinal),
            cut_off: false,
            created_at,
            updated_at: now,
            completed_at: None,
        })
    }

    /// The same call, of a response that was cut off.
    pub(crate) fn cut_off(self: Arc<Self>) -> Arc<Self> {
        let mut record = Arc::unwrap_or_clone(self);
        record.cut_off = true;
        Arc::new(record)
    }

    /// The same call with other media as its results.
    pub(super) fn with_media(self: Arc<Self>, media: Vec<Media>) -> Arc<Self> {
        let mut record = Arc::unwrap_or_clone(self);
        record.settled.results = ToolResults::Media(media);
        Arc::new(record)
    }

    /// The same call, settled.
    pub(crate) fn closed(self: Arc<Self>, settled: Settled) -> Arc<Self> {
        let mut record = Arc::unwrap_or_clone(self);
        // A clock that was set back does not end a call before it began.
        let now = SystemTime::now().max(record.created_at);
        record.settled = settled;
        record.updated_at = now;
        record.completed_at = Some(now);
        Arc::new(record)
    }

    /// Which call it was: ours, unique in the conversation, short enough to be copied by a small model.
    #[must_use]
    pub fn id(&self) -> &str {
        match &self.id {
            WhichCall::Given(id) => id.as_str(),
            WhichCall::Named(id) => id,
        }
    }

    /// The provider's own id, for the wire: may be missing, and may repeat.
    #[must_use]
    pub fn provider_id(&self) -> Option<&str> {
        self.provider_id.as_deref()
    }

    /// The name of the tool, as it was proposed.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The arguments as they came.
    #[must_use]
    pub fn args(&self) -> &RawArgs {
        &self.raw
    }

    /// The arguments that ran, where a policy or a person put others in the place of those that came.
    #[must_use]
    pub fn edited_args(&self) -> Option<&Value> {
        self.settled.edited.as_ref()
    }

    /// What was asked for, as a digest: equal for equal calls.
    #[must_use]
    pub fn checksum(&self) -> &str {
        self.checksum.as_str()
    }

    /// What came of it.
    #[must_use]
    pub fn results(&self) -> &ToolResults {
        &self.settled.results
    }

    /// Whether anything came of it yet.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        !matches!(self.settled.results, ToolResults::Nothing)
    }

    /// Whether something is still to come of it.
    pub(crate) fn is_open(&self) -> bool {
        !self.is_complete() && !self.cut_off
    }

    /// Whether it was refused, failed, or was cut off before it could run.
    #[must_use]
    pub fn is_error(&self) -> bool {
        let failed = matches!(
            self.settled.results,
            ToolResults::Failure(_) | ToolResults::Refusal(_)
        );
        failed || self.cut_off
    }

    /// Whether the tool's author vouches for the text that came of it. Media have a tier of their own.
    #[must_use]
    pub fn is_trusted(&self) -> bool {
        self.settled.trusted
    }

    /// Whether the result is in the prompt itself. If not, the prompt has a handle, and the model queries the artifact.
    #[must_use]
    pub fn is_inline(&self) -> bool {
        self.settled.inline
    }

    /// Whether it was made by a tool that reads artifacts: then it cannot itself be read by one.
    #[must_use]
    pub fn from_artifact_tool(&self) -> bool {
        self.settled.from_artifact_tool
    }

    /// Whether the result was cut off at `max_result_bytes`: the tool returned more than was kept. The model is informed.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.settled.truncated
    }

    /// The artifacts that the model queries by the id of this call: none where they are in the prompt themselves.
    #[must_use]
    pub fn handles(&self) -> &[SpooledArtifact] {
        match &self.settled.results {
            ToolResults::Artifacts(artifacts)
                if !self.settled.inline && !self.settled.from_artifact_tool =>
            {
                artifacts
            }
            _ => &[],
        }
    }

    /// State that the provider expects back.
    #[must_use]
    pub fn provider_state(&self) -> Option<&ProviderState> {
        self.provider_state.as_ref()
    }

    /// Which of its turn's calls it was, counted from 0, where that is known.
    #[must_use]
    pub fn ordinal(&self) -> Option<u64> {
        self.ordinal
    }

    /// Whether the response that proposed it was cut off, so that it never ran and never will.
    #[must_use]
    pub fn is_cut_off(&self) -> bool {
        self.cut_off
    }

    /// When it was proposed.
    #[must_use]
    pub fn created_at(&self) -> SystemTime {
        self.created_at
    }

    /// When it was last changed.
    #[must_use]
    pub fn updated_at(&self) -> SystemTime {
        self.updated_at
    }

    /// When it was settled, if it was.
    #[must_use]
    pub fn completed_at(&self) -> Option<SystemTime> {
        self.completed_at
    }

    /// Returns the artifacts of the result, inline or not. Empty if the result is something else.
    #[must_use]
    pub fn artifacts(&self) -> &[SpooledArtifact] {
        match &self.settled.results {
            ToolResults::Artifacts(artifacts) => artifacts,
            _ => &[],
        }
    }

    /// Returns the media of the result. Empty if the result is something else.
    #[must_use]
    pub fn media(&self) -> &[Media] {
        match &self.settled.results {
            ToolResults::Media(media) => media,
            _ => &[],
        }
    }

    /// Reads all of the result as bytes: the stored content, or the text that the model reads instead. `None` if there is no
    /// result yet, and for media.
    ///
    /// # Errors
    /// `E_ARTIFACT_UNREADABLE`.
    pub async fn bytes(&self) -> Result<Option<Bytes>, Error> {
        match &self.settled.results {
            ToolResults::Text(text) | ToolResults::Failure(text) | ToolResults::Refusal(text) => {
                Ok(Some(Bytes::copy_from_slice(text.as_bytes())))
            }
            ToolResults::Artifacts(artifacts) => match artifacts.as_slice() {
                [only] => only.as_bytes().await.map(Some),
                several => {
                    let mut all = BytesMut::new();
                    for artifact in several {
                        all.extend_from_slice(&artifact.as_bytes().await?);
                    }
                    Ok(Some(all.freeze()))
                }
            },
            ToolResults::Nothing | ToolResults::Media(_) => Ok(None),
        }
    }

    /// All of the result as text: the content that was kept, or what the model is told instead. `None` if there is none,
    /// if it cannot be read or is not UTF-8, and for media.
    pub async fn text(&self) -> Option<String> {
        match &self.settled.results {
            ToolResults::Text(text) | ToolResults::Failure(text) | ToolResults::Refusal(text) => {
                Some(text.clone())
            }
            ToolResults::Artifacts(_) => {
                let bytes = self.bytes().await.ok()??;
                String::from_utf8(bytes.into()).ok()
            }
            ToolResults::Nothing | ToolResults::Media(_) => None,
        }
    }
}

debug_fields!(ToolCall { id, tool, settled.results });

impl fmt::Debug for ToolResults {
    /// Results may hold secrets: only their form and size are shown.
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
