//! Tool calls.
//!
//! Each id answers one question. The checksum identifies what was asked for. The id identifies the call: ten characters
//! that a small model can copy. The idempotency key is derived from conversation, turn, ordinal, checksum and a random
//! nonce, and is stable across a resume.

use std::sync::Arc;
use std::time::SystemTime;

use bytes::{Bytes, BytesMut};
use serde_json::Value;

use super::builder::{Body, OfResponse, RecordBuilder, check_stamp, stamped};
use super::exposure::Exposure;
use super::provider_state::ProviderState;
use super::response_ref::ResponseRef;
use super::stored::{is_default, part, stored};
use super::taint_source::Denial;
use super::tool_results::{Settled, ToolResults};
use crate::artifact::SpooledArtifact;
use crate::checksum::{Hex, of_raw, of_unread};
use crate::error::{Error, ErrorCode};
use crate::ids::{Id, new_id};
use crate::media::Media;
use crate::schema::{Limits, RawArgs};
use crate::validate::Violations;

/// How many bytes are kept of arguments that are too large.
const KEPT_ARGS: usize = 4 << 10;

stored! {
    StoredCall as "ToolCall";
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
        id: String,
        /// When it was proposed.
        #[serde(with = "part")]
        created_at: SystemTime,
        #[serde(with = "part")]
        updated_at: SystemTime,
        #[serde(with = "part", default, skip_serializing_if = "Option::is_none")]
        completed_at: Option<SystemTime>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) provider_id: Option<Arc<str>>,
        pub(crate) tool: Arc<str>,
        #[serde(rename = "args", with = "part")]
        raw: RawArgs,
        /// The number of bytes of the arguments, if `raw` is only a prefix.
        #[serde(skip_serializing_if = "Option::is_none")]
        args_bytes: Option<u64>,
        #[serde(with = "part")]
        pub(crate) checksum: Hex,
        #[serde(with = "part", default)]
        settled: Settled,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) response: Option<ResponseRef>,
        #[serde(with = "part", default, skip_serializing_if = "Option::is_none")]
        pub(crate) provider_state: Option<ProviderState>,
        /// The ordinal of the call in its turn.
        #[serde(skip_serializing_if = "Option::is_none")]
        ordinal: Option<u64>,
        /// Whether the response that proposed it was truncated, so that it must not run.
        #[serde(default, skip_serializing_if = "is_default")]
        cut_off: bool,
        #[serde(default, skip_serializing_if = "is_default")]
        pub(super) exposure: Exposure,
    }
}

stamped!(
    ToolCall,
    /// A model may propose a tool without a name.
    fn check_new(&self, wrong: &mut Violations) {
        wrong.check("tool", !self.tool.is_empty(), "must not be empty");
    }
);

impl ToolCall {
    /// Starts the record of a call that was made elsewhere, for example one loaded from your own store, or an incomplete call of
    /// a truncated response.
    ///
    /// ```
    /// use turnwright_core::artifact::{ArtifactKind, SpooledArtifact};
    /// use turnwright_core::record::{ToolCall, ToolResults};
    ///
    /// let log = SpooledArtifact::in_memory("one\ntwo\n", ArtifactKind::TEXT);
    /// let call = ToolCall::builder("read_log", r#"{"day": "monday"}"#)
    ///     .id("log-1")
    ///     .results(ToolResults::Artifacts(vec![log]))
    ///     .build()?;
    /// // Artifacts are not inlined by default.
    /// assert_eq!(call.handles().len(), 1);
    /// # Ok::<(), turnwright_core::Error>(())
    /// ```
    pub fn builder(tool: impl Into<String>, args: impl Into<RawArgs>) -> RecordBuilder<Self> {
        let (tool, raw) = (tool.into(), args.into());
        let checksum = of_raw(&tool, &raw);
        RecordBuilder(ToolCall::new(new_id(), tool.into(), raw, checksum))
    }

    /// Creates the record of a proposed call. Its checksum is set when the call is checked, because checking parses the arguments.
    pub(crate) fn proposed(id: Id, ordinal: u64, tool: Arc<str>, raw: RawArgs) -> Self {
        let unknown = Hex::new([b'0'; 64]);
        let mut call = ToolCall::new(id.as_str().to_owned(), tool, raw, unknown);
        call.ordinal = Some(ordinal);
        call
    }

    fn new(id: String, tool: Arc<str>, raw: RawArgs, checksum: Hex) -> Self {
        let now = SystemTime::now();
        ToolCall {
            id,
            created_at: now,
            updated_at: now,
            completed_at: None,
            provider_id: None,
            checksum,
            tool,
            raw,
            args_bytes: None,
            settled: Settled::default(),
            response: None,
            provider_state: None,
            ordinal: None,
            cut_off: false,
            exposure: Exposure::default(),
        }
    }

    /// Returns the checksum of a call that is not checked, with the default limits.
    pub(crate) fn raw_checksum(&self) -> Hex {
        match self.raw.text() {
            Some(text) if text.len() > Limits::default().bytes() => {
                of_unread(&self.tool, &self.raw)
            }
            _ => of_raw(&self.tool, &self.raw),
        }
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

    /// Returns the call with its result as a handle instead of inline.
    pub(crate) fn with_handle(&self) -> Arc<Self> {
        let mut record = self.clone();
        record.settled.inline = Some(false);
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
        let default = !matches!(self.settled.results, ToolResults::Artifacts(_));
        self.settled.inline.unwrap_or(default)
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
                if !self.is_inline() && !self.settled.from_artifact_tool =>
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

impl RecordBuilder<ToolCall> {
    /// Sets the provider's id.
    pub fn provider_id(mut self, id: impl Into<Arc<str>>) -> Self {
        self.0.provider_id = Some(id.into());
        self
    }

    /// Sets the arguments that ran, if they differ from the proposed ones.
    pub fn edited_args(mut self, args: Value) -> Self {
        self.0.settled.edited = Some(args);
        self
    }

    /// Sets the result. Without one, the call has not completed.
    pub fn results(mut self, results: ToolResults) -> Self {
        self.0.settled.results = results;
        self
    }

    /// Sets media beside a result that has artifacts.
    pub fn attachments(mut self, media: impl IntoIterator<Item = Media>) -> Self {
        self.0.settled.attachments = media.into_iter().collect();
        self
    }

    /// Sets whether the text of the result is trusted.
    ///
    /// Default: `false`.
    pub fn trusted(mut self, trusted: bool) -> Self {
        self.0.settled.trusted = trusted;
        self
    }

    /// Sets whether the result is inlined into the prompt.
    ///
    /// Default: artifacts are not inlined, everything else is.
    pub fn inline(mut self, inline: bool) -> Self {
        self.0.settled.inline = Some(inline);
        self
    }

    /// Sets whether it is a call of an artifact tool.
    ///
    /// Default: `false`.
    pub fn from_artifact_tool(mut self, from: bool) -> Self {
        self.0.settled.from_artifact_tool = from;
        self
    }

    /// Sets whether the result was truncated.
    ///
    /// Default: `false`.
    pub fn truncated(mut self, truncated: bool) -> Self {
        self.0.settled.truncated = truncated;
        self
    }

    /// Sets whether the result contains private data.
    ///
    /// Default: `false`.
    pub fn private(mut self, private: bool) -> Self {
        self.0.settled.private = private;
        self
    }

    /// Sets the ordinal of the call in its turn.
    pub fn ordinal(mut self, ordinal: u64) -> Self {
        self.0.ordinal = Some(ordinal);
        self
    }

    /// Sets whether the response that proposed it was truncated.
    ///
    /// Default: `false`.
    pub fn cut_off(mut self, cut_off: bool) -> Self {
        self.0.cut_off = cut_off;
        self
    }

    /// Sets when it was settled. A time before `created_at` becomes `created_at`.
    ///
    /// Default: when it was last changed, if it has a result.
    pub fn completed_at(mut self, at: SystemTime) -> Self {
        self.0.completed_at = Some(at);
        self
    }
}

impl OfResponse for ToolCall {
    fn origin(&mut self) -> (&mut Option<ResponseRef>, &mut Option<ProviderState>) {
        (&mut self.response, &mut self.provider_state)
    }
}

impl Body for ToolCall {
    const NAME: &'static str = "tool call";
    const INVALID: ErrorCode = ErrorCode::INVALID_INITIAL_TOOL_CALL_VALUE;

    fn check(&mut self, wrong: &mut Violations) {
        check_stamp(self, wrong);
        ResponseRef::check(self.response.as_ref(), wrong);
        let complete = self.is_complete();
        let holds_artifacts = matches!(self.settled.results, ToolResults::Artifacts(_));
        wrong.check(
            "completed_at",
            complete || self.completed_at.is_none(),
            "must not be set for a call without results",
        );
        wrong.check(
            "cut_off",
            !(complete && self.cut_off),
            "must not be set for a call with results: a call of a truncated response does not run",
        );
        wrong.check(
            "inline",
            self.settled.inline != Some(false) || holds_artifacts,
            "only artifacts can be left out of the prompt",
        );
        wrong.check(
            "results",
            !matches!(&self.settled.results, ToolResults::Artifacts(all) if all.is_empty()),
            "must contain an artifact",
        );
        wrong.check(
            "from_artifact_tool",
            !(self.settled.from_artifact_tool && holds_artifacts),
            "the answer of an artifact tool is text, never an artifact",
        );
        wrong.check(
            "trusted",
            !(self.settled.from_artifact_tool && self.settled.trusted),
            "an artifact tool is never trusted",
        );
        let has_content = holds_artifacts || matches!(self.settled.results, ToolResults::Text(_));
        wrong.check(
            "truncated",
            has_content || !self.settled.truncated,
            "only text and artifacts can be truncated",
        );
        let completed_at = self.completed_at.or(complete.then_some(self.updated_at));
        self.completed_at = completed_at.map(|at| at.max(self.created_at));
    }

    fn artifacts_mut(&mut self) -> &mut [SpooledArtifact] {
        match &mut self.settled.results {
            ToolResults::Artifacts(artifacts) => artifacts,
            _ => &mut [],
        }
    }

    fn media_mut(&mut self) -> &mut [Media] {
        match &mut self.settled.results {
            ToolResults::Media(media) => media,
            _ => &mut self.settled.attachments,
        }
    }
}

debug_fields!(ToolCall { id, tool, settled.results });
