//! The record of a call.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::Value;

use crate::artifact::ArtifactKind;
use crate::call::{Call, Id};
use crate::schema::RawArgs;
use crate::spool::ByteReader;
use crate::tool::Hex;

/// A call that was settled: what was asked for, what ran, and what came of it. Immutable.
pub struct ToolCall {
    id: Id,
    provider_id: Option<String>,
    tool: Arc<str>,
    raw: RawArgs,
    edited: Option<Value>,
    checksum: Hex,
    results: ToolResults,
    created_at: SystemTime,
    completed_at: SystemTime,
}

/// What came of a call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ToolResults {
    /// What the handler gave, kept by the spool.
    Spooled(SpooledResult),
    /// The handler was reached and failed: what the model may read of it.
    #[non_exhaustive]
    Failure {
        /// The text.
        text: String,
        /// Whether the tool's author vouches for it.
        trusted: bool,
    },
    /// Nothing ran: what the framework says to the model.
    Refusal(String),
}

/// What a handler gave, kept by the spool.
#[derive(Clone, Debug)]
pub struct SpooledResult {
    reader: Arc<dyn ByteReader>,
    kind: ArtifactKind,
    trusted: bool,
}

impl SpooledResult {
    pub(crate) fn new(reader: Arc<dyn ByteReader>, kind: ArtifactKind, trusted: bool) -> Self {
        SpooledResult {
            reader,
            kind,
            trusted,
        }
    }

    /// The bytes.
    #[must_use]
    pub fn reader(&self) -> &Arc<dyn ByteReader> {
        &self.reader
    }

    /// What they are.
    #[must_use]
    pub fn kind(&self) -> ArtifactKind {
        self.kind
    }

    /// Whether the tool's author vouches for them.
    #[must_use]
    pub fn is_trusted(&self) -> bool {
        self.trusted
    }
}

impl ToolCall {
    /// Makes the record and adds it to its turn's.
    pub(crate) fn keep(
        call: &Call,
        checksum: Hex,
        results: ToolResults,
        edited: Option<Value>,
    ) -> Arc<Self> {
        let completed_at = SystemTime::now();
        let age = call.created.elapsed();
        let record = Arc::new(ToolCall {
            id: call.id,
            provider_id: call.provider_id.clone(),
            tool: Arc::clone(&call.name),
            raw: call.raw.clone(),
            edited,
            checksum,
            results,
            created_at: completed_at.checked_sub(age).unwrap_or(completed_at),
            completed_at,
        });
        call.ctx.store_tool_call(Arc::clone(&record));
        record
    }

    /// Which call it was: ours, unique in the conversation, short enough to be copied by a small model.
    #[must_use]
    pub fn id(&self) -> &str {
        self.id.as_str()
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
        self.edited.as_ref()
    }

    /// What was asked for, as a digest: equal for equal calls.
    #[must_use]
    pub fn checksum(&self) -> &str {
        self.checksum.as_str()
    }

    /// What came of it.
    #[must_use]
    pub fn results(&self) -> &ToolResults {
        &self.results
    }

    /// Whether it was refused or failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        !matches!(self.results, ToolResults::Spooled(_))
    }

    /// When it was proposed.
    #[must_use]
    pub fn created_at(&self) -> SystemTime {
        self.created_at
    }

    /// When it was settled.
    #[must_use]
    pub fn completed_at(&self) -> SystemTime {
        self.completed_at
    }

    /// All of the result as text: the content that was kept, or what the model is told instead. `None` if the content
    /// cannot be read or is not UTF-8.
    pub async fn text(&self) -> Option<String> {
        match &self.results {
            ToolResults::Failure { text, .. } | ToolResults::Refusal(text) => Some(text.clone()),
            ToolResults::Spooled(result) => {
                let bytes = result.reader.read(0..result.reader.len()).await.ok()?;
                String::from_utf8(bytes.into()).ok()
            }
        }
    }
}

impl fmt::Debug for ToolCall {
    /// Arguments and results may hold secrets: they are not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCall")
            .field("id", &self.id)
            .field("tool", &self.tool)
            .field("is_error", &self.is_error())
            .finish_non_exhaustive()
    }
}
