//! Tool calls.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::{Bytes, BytesMut};
use serde_json::Value;

use super::denial::Denial;
use super::exposure::Exposure;
use super::provider_state::ProviderState;
use super::response_ref::ResponseRef;
use crate::artifact::SpooledArtifact;
use crate::checksum::Hex;
use crate::error::Error;
use crate::ids::Id;
use crate::media::Media;
use crate::record::CallRequest;
use crate::schema::{Limits, RawArgs};

/// How many bytes are kept of arguments that are too large.
const KEPT_ARGS: usize = 4 << 10;

/// A tool call: its request, its arguments and its result. Immutable.
///
/// The call path creates these records. Use [`ToolCall::builder`] for calls that were made elsewhere.
///
/// ```
/// use turnwright_core::record::{ToolCall, ToolResults};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let call = ToolCall::builder("forecast", r#"{"city": "Paris"}"#)
///     .results(ToolResults::Text("sunny".to_owned()))
///     .build()?;
/// assert!(call.is_complete() && !call.is_error());
/// assert_eq!(call.text().await.as_deref(), Some("sunny"));
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct ToolCall {
    pub(super) id: WhichCall,
    pub(super) provider_id: Option<Arc<str>>,
    pub(super) tool: Arc<str>,
    pub(super) raw: RawArgs,
    /// The number of bytes of the arguments, if `raw` is only a prefix.
    pub(super) args_bytes: Option<u64>,
    pub(super) checksum: Hex,
    pub(super) settled: Settled,
    pub(super) response: Option<ResponseRef>,
    pub(super) provider_state: Option<ProviderState>,
    /// The ordinal of the call in its turn.
    pub(super) ordinal: Option<u64>,
    /// Whether the response that proposed it was truncated, so that it must not run.
    pub(super) cut_off: bool,
    pub(super) exposure: Exposure,
    pub(super) created_at: SystemTime,
    pub(super) updated_at: SystemTime,
    pub(super) completed_at: Option<SystemTime>,
}

/// An id from the call path, or an external one.
#[derive(Clone, Debug)]
pub(super) enum WhichCall {
    Given(Id),
    Named(Box<str>),
}

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
#[derive(Clone)]
#[non_exhaustive]
pub enum ToolResults {
    /// None yet: the call has not completed.
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

/// The result of settling a call. The defaults apply to a call that has not completed.
#[derive(Clone)]
pub(crate) struct Settled {
    pub(crate) results: ToolResults,
    /// Media beside artifacts.
    pub(crate) attachments: Vec<Media>,
    pub(crate) trusted: bool,
    pub(crate) inline: bool,
    pub(crate) from_artifact_tool: bool,
    /// Whether the tool returned more than was stored.
    pub(crate) truncated: bool,
    /// Whether the result contains private data.
    pub(crate) private: bool,
    /// Whether a policy keeps the result out of the prompt.
    pub(crate) quarantined: bool,
    /// The arguments that ran, if they differ from the proposed ones.
    pub(crate) edited: Option<Value>,
    /// Why the call was denied, if it was.
    pub(crate) denial: Option<Box<Denial>>,
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
            attachments: Vec::new(),
            trusted: false,
            inline: true,
            from_artifact_tool: false,
            truncated: false,
            private: false,
            quarantined: false,
            edited: None,
            denial: None,
        }
    }
}

impl ToolCall {
    /// Creates the record of a proposed call without a result.
    pub(crate) fn open(request: CallRequest, checksum: Hex) -> Arc<Self> {
        let now = SystemTime::now();
        let created_at = now.checked_sub(request.created.elapsed()).unwrap_or(now);
        Arc::new(ToolCall {
            id: WhichCall::Given(request.id),
            provider_id: request.provider_id,
            tool: request.name,
            raw: request.raw,
            args_bytes: None,
            checksum,
            settled: Settled::framework(ToolResults::Nothing),
            response: request.response,
            provider_state: request.provider_state,
            ordinal: Some(request.ordinal),
            cut_off: false,
            exposure: Exposure::default(),
            created_at,
            updated_at: now,
            completed_at: None,
        })
    }

    /// Replaces arguments that are too large to keep by a prefix. For a call that does not run: a large conversation is slow, and
    /// the arguments are of no use.
    pub(crate) fn with_short_args(self: Arc<Self>) -> Arc<Self> {
        let limit = Limits::default().bytes();
        let Some((prefix, bytes)) = self.raw.prefix(limit, KEPT_ARGS) else {
            return self;
        };
        let mut record = Arc::unwrap_or_clone(self);
        record.raw =
            format!("{prefix}… (the first of {bytes} bytes; the rest was not stored)").into();
        record.args_bytes = Some(u64::try_from(bytes).unwrap_or(u64::MAX));
        Arc::new(record)
    }

    /// Marks the call as part of a truncated response.
    pub(crate) fn cut_off(self: Arc<Self>) -> Arc<Self> {
        let mut record = Arc::unwrap_or_clone(self);
        record.cut_off = true;
        Arc::new(record)
    }

    /// Returns the call with other media as its result.
    pub(super) fn with_media(self: Arc<Self>, media: Vec<Media>) -> Arc<Self> {
        let mut record = Arc::unwrap_or_clone(self);
        match &mut record.settled.results {
            ToolResults::Media(own) => *own = media,
            _ => record.settled.attachments = media,
        }
        Arc::new(record)
    }

    /// Returns the call with its result as a handle instead of inline.
    pub(crate) fn with_handle(&self) -> Arc<Self> {
        let mut record = self.clone();
        record.settled.inline = false;
        record.updated_at = SystemTime::now().max(record.updated_at);
        Arc::new(record)
    }

    /// Returns the settled call.
    pub(crate) fn closed(self: Arc<Self>, settled: Settled) -> Arc<Self> {
        let mut record = Arc::unwrap_or_clone(self);
        // If the clock was set back, the end must not precede the start.
        let now = SystemTime::now().max(record.created_at);
        record.settled = settled;
        record.updated_at = now;
        record.completed_at = Some(now);
        Arc::new(record)
    }

    /// Returns the call id: unique in the conversation, and short enough for a small model to copy.
    #[must_use]
    pub fn id(&self) -> &str {
        match &self.id {
            WhichCall::Given(id) => id.as_str(),
            WhichCall::Named(id) => id,
        }
    }

    /// Returns the provider's id of the call. It may be missing, and need not be unique.
    #[must_use]
    pub fn provider_id(&self) -> Option<&str> {
        self.provider_id.as_deref()
    }

    /// Returns the name of the tool as proposed.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Returns the raw arguments. Only a prefix with a note if [`args_bytes`](Self::args_bytes) is set.
    #[must_use]
    pub fn args(&self) -> &RawArgs {
        &self.raw
    }

    /// Returns the number of bytes of the arguments, if only a prefix of them was stored: those of a call that did not run, because
    /// its arguments were invalid or incomplete, and that had more than 1 MiB of them. [`checksum`](Self::checksum) is the digest of
    /// all of them.
    #[must_use]
    pub fn args_bytes(&self) -> Option<u64> {
        self.args_bytes
    }

    /// Returns the arguments that ran, if a policy or an approver changed them.
    #[must_use]
    pub fn edited_args(&self) -> Option<&Value> {
        self.settled.edited.as_ref()
    }

    /// Returns the checksum. Equal calls have equal checksums.
    #[must_use]
    pub fn checksum(&self) -> &str {
        self.checksum.as_str()
    }

    /// Returns the result.
    #[must_use]
    pub fn results(&self) -> &ToolResults {
        &self.settled.results
    }

    /// Returns whether the call has a result.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        !matches!(self.settled.results, ToolResults::Nothing)
    }

    /// Returns whether the call can still get a result.
    pub(crate) fn is_open(&self) -> bool {
        !self.is_complete() && !self.cut_off
    }

    /// Returns whether the call was refused, failed, or was part of a truncated response.
    #[must_use]
    pub fn is_error(&self) -> bool {
        let failed = matches!(
            self.settled.results,
            ToolResults::Failure(_) | ToolResults::Refusal(_)
        );
        failed || self.cut_off
    }

    /// Returns whether the text of the result is trusted. Media have their own trust tiers.
    #[must_use]
    pub fn is_trusted(&self) -> bool {
        self.settled.trusted
    }

    /// Returns whether the result is inlined into the prompt. If not, the prompt has a handle, and the model queries the
    /// artifact.
    #[must_use]
    pub fn is_inline(&self) -> bool {
        self.settled.inline
    }

    /// Returns whether it is a call of an artifact tool. Its result does not become an artifact.
    #[must_use]
    pub fn from_artifact_tool(&self) -> bool {
        self.settled.from_artifact_tool
    }

    /// Returns whether the result was truncated at `max_result_bytes`. The model is informed.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.settled.truncated
    }

    /// Returns whether the result contains private data: the tool is marked as
    /// [`reads_private`](crate::tool::ToolBuilder::reads_private), the handler marked its output, a turn under the call had private
    /// data in its prompt, or it is the answer of an artifact tool that read such a result.
    #[must_use]
    pub fn is_private(&self) -> bool {
        self.settled.private
    }

    /// Returns whether a policy keeps the result out of the prompt: see [`quarantine`](crate::tool::approval::quarantine).
    #[must_use]
    pub fn is_quarantined(&self) -> bool {
        self.settled.quarantined
    }

    /// Returns why a policy or an approver denied the call, if it was denied.
    #[must_use]
    pub fn denial(&self) -> Option<&Denial> {
        self.settled.denial.as_deref()
    }

    /// Returns what the model had read when it proposed the call.
    #[must_use]
    pub fn exposure(&self) -> Exposure {
        self.exposure
    }

    /// Returns the artifacts that the model can query by the id of this call. Empty if they are inlined.
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

    /// Returns the model response that proposed it, if known.
    #[must_use]
    pub fn response(&self) -> Option<&ResponseRef> {
        self.response.as_ref()
    }

    /// Returns the id of the model response that proposed it, if known.
    #[must_use]
    pub fn response_id(&self) -> Option<&str> {
        self.response().map(ResponseRef::id)
    }

    /// Returns the state that the provider expects back.
    #[must_use]
    pub fn provider_state(&self) -> Option<&ProviderState> {
        self.provider_state.as_ref()
    }

    /// Returns the ordinal of the call in its turn, starting at 0, if known.
    #[must_use]
    pub fn ordinal(&self) -> Option<u64> {
        self.ordinal
    }

    /// Returns whether the response that proposed it was truncated, so that it never runs.
    #[must_use]
    pub fn is_cut_off(&self) -> bool {
        self.cut_off
    }

    /// Returns when it was proposed.
    #[must_use]
    pub fn created_at(&self) -> SystemTime {
        self.created_at
    }

    /// Returns when it was last changed.
    #[must_use]
    pub fn updated_at(&self) -> SystemTime {
        self.updated_at
    }

    /// Returns when it was settled, if it was.
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

    /// Returns the media of the result, whether they are all of it or beside its text.
    #[must_use]
    pub fn media(&self) -> &[Media] {
        match &self.settled.results {
            ToolResults::Media(media) => media,
            _ => &self.settled.attachments,
        }
    }

    /// Reads the complete result as bytes: the stored content, or the text that the model reads instead. `None` if there is no
    /// result yet, and for media.
    ///
    /// # Errors
    /// Returns `E_ARTIFACT_UNREADABLE` if the content cannot be read.
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

    /// Reads the complete result as text: the stored content, or the text that the model reads instead. `None` if there is no
    /// result, if it cannot be read or is not UTF-8, and for media.
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
