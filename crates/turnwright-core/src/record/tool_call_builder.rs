//! The builder for records of external calls.

use std::sync::Arc;
use std::time::SystemTime;

use serde_json::Value;

use super::exposure::Exposure;
use super::provider_state::ProviderState;
use super::response_ref::ResponseRef;
use super::stamp::Stamp;
use super::tool_call::{Settled, ToolCall, ToolResults, WhichCall};
use crate::checksum::{Hex, of_raw};
use crate::error::{Error, ErrorCode};
use crate::media::Media;
use crate::schema::RawArgs;
use crate::validate::Violations;

/// Builds the record of a call. See [`ToolCall::builder`].
///
/// ```
/// use serde_json::json;
/// use turnwright_core::record::{ToolCall, ToolResults};
///
/// let call = ToolCall::builder("pay", r#"{"cents": 5000}"#)
///     .id("pay-1")
///     .edited_args(json!({ "cents": 1000 }))
///     .results(ToolResults::Text("paid".to_owned()))
///     .build()?;
/// assert_eq!(call.edited_args(), Some(&json!({ "cents": 1000 })));
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[must_use = "a builder does nothing until `build` is called"]
pub struct ToolCallBuilder {
    pub(super) call: ToolCall,
    inline: Option<bool>,
}

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
    pub fn builder(tool: impl Into<String>, args: impl Into<RawArgs>) -> ToolCallBuilder {
        let (tool, raw) = (tool.into(), args.into());
        let checksum = of_raw(&tool, &raw);
        ToolCall::stamped(tool.into(), raw, checksum, Stamp::new())
    }

    /// Starts a record with an existing checksum, id and times.
    pub(super) fn stamped(
        tool: Arc<str>,
        raw: RawArgs,
        checksum: Hex,
        stamp: Stamp,
    ) -> ToolCallBuilder {
        ToolCallBuilder {
            call: ToolCall {
                id: WhichCall::Named(stamp.id.into()),
                provider_id: None,
                checksum,
                tool,
                raw,
                args_bytes: None,
                settled: Settled::framework(ToolResults::Nothing),
                response: None,
                provider_state: None,
                ordinal: None,
                cut_off: false,
                exposure: Exposure::default(),
                created_at: stamp.created_at,
                updated_at: stamp.updated_at,
                completed_at: None,
            },
            inline: None,
        }
    }
}

impl ToolCallBuilder {
    /// Sets the id, which artifact tools take as `callId`.
    ///
    /// Default: a new id.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.call.id = WhichCall::Named(id.into().into());
        self
    }

    /// Sets the provider's id.
    pub fn provider_id(mut self, id: impl Into<Arc<str>>) -> Self {
        self.call.provider_id = Some(id.into());
        self
    }

    /// Sets the arguments that ran, if they differ from the proposed ones.
    pub fn edited_args(mut self, args: Value) -> Self {
        self.call.settled.edited = Some(args);
        self
    }

    /// Sets the result. Without one, the call has not completed.
    pub fn results(mut self, results: ToolResults) -> Self {
        self.call.settled.results = results;
        self
    }

    /// Sets media beside a result that has artifacts.
    pub fn attachments(mut self, media: impl IntoIterator<Item = Media>) -> Self {
        self.call.settled.attachments = media.into_iter().collect();
        self
    }

    /// Sets whether the text of the result is trusted.
    ///
    /// Default: `false`.
    pub fn trusted(mut self, trusted: bool) -> Self {
        self.call.settled.trusted = trusted;
        self
    }

    /// Sets whether the result is inlined into the prompt.
    ///
    /// Default: artifacts are not inlined, everything else is.
    pub fn inline(mut self, inline: bool) -> Self {
        self.inline = Some(inline);
        self
    }

    /// Sets whether it is a call of an artifact tool.
    ///
    /// Default: `false`.
    pub fn from_artifact_tool(mut self, from: bool) -> Self {
        self.call.settled.from_artifact_tool = from;
        self
    }

    /// Sets whether the result was truncated.
    ///
    /// Default: `false`.
    pub fn truncated(mut self, truncated: bool) -> Self {
        self.call.settled.truncated = truncated;
        self
    }

    /// Sets whether the result contains private data.
    ///
    /// Default: `false`.
    pub fn private(mut self, private: bool) -> Self {
        self.call.settled.private = private;
        self
    }

    /// Sets the model response that proposed it.
    pub fn response(mut self, response: ResponseRef) -> Self {
        self.call.response = Some(response);
        self
    }

    /// Sets the state that the provider expects back.
    pub fn provider_state(mut self, state: ProviderState) -> Self {
        self.call.provider_state = Some(state);
        self
    }

    /// Sets the ordinal of the call in its turn.
    pub fn ordinal(mut self, ordinal: u64) -> Self {
        self.call.ordinal = Some(ordinal);
        self
    }

    /// Sets whether the response that proposed it was truncated.
    ///
    /// Default: `false`.
    pub fn cut_off(mut self, cut_off: bool) -> Self {
        self.call.cut_off = cut_off;
        self
    }

    /// Sets when it was proposed.
    ///
    /// Default: now.
    pub fn created_at(mut self, at: SystemTime) -> Self {
        self.call.created_at = at;
        self.call.updated_at = self.call.updated_at.max(at);
        self
    }

    /// Sets when it was last changed. A time before `created_at` becomes `created_at`.
    ///
    /// Default: now.
    pub fn updated_at(mut self, at: SystemTime) -> Self {
        self.call.updated_at = at;
        self
    }

    /// Sets when it was settled. A time before `created_at` becomes `created_at`.
    ///
    /// Default: when it was last changed, if it has a result.
    pub fn completed_at(mut self, at: SystemTime) -> Self {
        self.call.completed_at = Some(at);
        self
    }

    /// Builds the record.
    ///
    /// # Errors
    /// Returns `E_INVALID_INITIAL_TOOL_CALL_VALUE`, which lists all invalid fields.
    pub fn build(self) -> Result<Arc<ToolCall>, Error> {
        let named = !self.call.tool.is_empty();
        self.finish(named)
    }

    /// Rebuilds a stored record, with any tool name that a model proposed.
    pub(super) fn rebuild(self) -> Result<Arc<ToolCall>, Error> {
        self.finish(true)
    }

    fn finish(self, named: bool) -> Result<Arc<ToolCall>, Error> {
        let ToolCallBuilder { mut call, inline } = self;
        let holds_artifacts = matches!(call.settled.results, ToolResults::Artifacts(_));
        let mut wrong = Violations::default();
        wrong.check_id(call.id());
        wrong.check("tool", named, "must not be empty");
        ResponseRef::check(call.response.as_ref(), &mut wrong);
        // The clock may have been set back in between.
        call.updated_at = call.updated_at.max(call.created_at);
        call.completed_at = call.completed_at.map(|at| at.max(call.created_at));
        let complete = call.is_complete();
        let settled = call.completed_at;
        wrong.check(
            "completed_at",
            complete || settled.is_none(),
            "must not be set for a call without results",
        );
        wrong.check(
            "cut_off",
            !(complete && call.cut_off),
            "must not be set for a call with results: a call of a truncated response does not run",
        );
        wrong.check(
            "inline",
            inline != Some(false) || holds_artifacts,
            "only artifacts can be left out of the prompt",
        );
        wrong.check(
            "results",
            !matches!(&call.settled.results, ToolResults::Artifacts(all) if all.is_empty()),
            "must contain an artifact",
        );
        wrong.check(
            "from_artifact_tool",
            !(call.settled.from_artifact_tool && holds_artifacts),
            "the answer of an artifact tool is text, never an artifact",
        );
        wrong.check(
            "trusted",
            !(call.settled.from_artifact_tool && call.settled.trusted),
            "an artifact tool is never trusted",
        );
        let has_content = holds_artifacts || matches!(call.settled.results, ToolResults::Text(_));
        wrong.check(
            "truncated",
            has_content || !call.settled.truncated,
            "only text and artifacts can be truncated",
        );
        wrong.finish(ErrorCode::INVALID_INITIAL_TOOL_CALL_VALUE, "tool call")?;
        call.settled.inline = inline.unwrap_or(!holds_artifacts);
        if complete && settled.is_none() {
            call.completed_at = Some(call.updated_at);
        }
        Ok(Arc::new(call))
    }
}

debug_fields!(ToolCallBuilder { call });
