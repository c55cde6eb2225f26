//! Queries on artifacts, which become tools for the model.

use std::any::Any;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::{ArtifactKind, SpooledArtifact, text};
use crate::error::{Error, ErrorCode, ToolError};
use crate::schema::{Schema, SchemaError, Typed};

type Answer = Pin<Box<dyn Future<Output = Result<String, ToolError>> + Send>>;
type Ask = dyn Fn(SpooledArtifact, Value) -> Answer + Send + Sync;

/// A query on artifacts of one kind. Each query becomes a tool. The tool takes the query's own arguments plus `callId` and
/// `index`, which select the artifact.
///
/// The arguments are a Rust type whose schema is enforced, as for every tool. The result is text. A result that exceeds the size
/// limit is cut at a line, so build long results with a [`Page`](super::Page) and add a note that says how to continue.
///
/// ```
/// use turnwright_artifact::artifact::{Query, SpooledArtifact};
/// use turnwright_artifact::Error;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Column {
///     /// The column's name.
///     column: String,
/// }
/// let query = Query::new("artifact_csv_column", "All values of a column.", |csv: SpooledArtifact, args: Column| async move {
///     Ok::<_, Error>(format!("{} of {} bytes", args.column, csv.byte_length()))
/// });
/// assert_eq!(query.name(), "artifact_csv_column");
/// ```
pub struct Query {
    name: String,
    description: String,
    document: Result<Value, SchemaError>,
    /// Derived data that a higher layer caches for this query.
    memo: OnceLock<Arc<dyn Any + Send + Sync>>,
    ask: Arc<Ask>,
}

impl Query {
    /// Creates a query with the tool name and description that the model sees. The argument names `callId` and `index` are
    /// reserved: they select the artifact.
    pub fn new<A, F, Fut, E>(
        name: impl Into<String>,
        description: impl Into<String>,
        answer: F,
    ) -> Self
    where
        A: Typed + Send + 'static,
        F: Fn(SpooledArtifact, A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, E>> + Send + 'static,
        E: Into<ToolError>,
    {
        let answer = Arc::new(answer);
        let ask = move |artifact: SpooledArtifact, args: Value| -> Answer {
            let answer = Arc::clone(&answer);
            Box::pin(async move {
                let args = serde_json::from_value(args)?;
                answer(artifact, args).await.map_err(Into::into)
            })
        };
        Query {
            name: name.into(),
            description: description.into(),
            document: Schema::of::<A>().map(|schema| schema.document().clone()),
            memo: OnceLock::new(),
            ask: Arc::new(ask),
        }
    }

    /// Returns the name of the tool.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the description of the tool.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Runs the query on an artifact.
    ///
    /// # Errors
    /// Returns an error if the arguments do not match the schema or the query fails.
    pub async fn run(&self, artifact: SpooledArtifact, args: Value) -> Result<String, ToolError> {
        (self.ask)(artifact, args).await
    }

    /// The schema of the query's own arguments.
    #[doc(hidden)]
    pub fn own_document(&self) -> Result<&Value, &SchemaError> {
        self.document.as_ref()
    }

    /// Returns the value that `make` returned on the first call. A query holds one memo, of one type.
    #[doc(hidden)]
    pub fn memo<T: Send + Sync + 'static>(&self, make: impl FnOnce() -> T) -> Option<&T> {
        let memo = self.memo.get_or_init(|| Arc::new(make()));
        memo.downcast_ref()
    }

    /// Returns whether the query applies to artifacts of this kind.
    #[doc(hidden)]
    pub fn fits(&self, kind: ArtifactKind) -> bool {
        let same = |query: &Query| std::ptr::eq(query, self) || query.name == self.name;
        text::queries().iter().any(same) || kind.queries().iter().any(same)
    }
}

debug_fields!(Query { name });

/// Constructors for the errors of artifact queries. Custom kinds can use them too. The message is sent to the model unchanged, so
/// it should say how to fix the query.
impl Error {
    /// Creates an `E_ARTIFACT_QUERY` error: the query is invalid, for example because of a bad pattern.
    pub fn bad_artifact_query(message: impl Into<String>) -> Self {
        Error::with_text(ErrorCode::ARTIFACT_QUERY, message)
    }

    /// Creates an `E_ARTIFACT_MALFORMED` error: the content is not valid for its kind.
    pub fn malformed_artifact(message: impl Into<String>) -> Self {
        Error::with_text(ErrorCode::ARTIFACT_MALFORMED, message)
    }

    /// Creates an `E_ARTIFACT_TOO_LARGE` error: the content is too large for this query.
    pub fn artifact_too_large(message: impl Into<String>) -> Self {
        Error::with_text(ErrorCode::ARTIFACT_TOO_LARGE, message)
    }

    fn with_text(code: ErrorCode, message: impl Into<String>) -> Self {
        let message = message.into();
        Error::new(code, message.clone()).with_model_text(message)
    }

    /// Recovers the error that a [`Read`](io::Read) of the artifact's bytes failed with.
    #[cfg(feature = "artifact-formats")]
    pub(super) fn from_artifact_read(error: io::Error) -> Self {
        let other = |error| Error::unreadable_artifact(error, 0, 0);
        error.downcast().unwrap_or_else(other)
    }

    /// `E_ARTIFACT_UNREADABLE`: reading failed at byte `at` of `len`. The reader's error goes to operators only, not to the
    /// model.
    pub(crate) fn unreadable_artifact(error: io::Error, at: u64, len: u64) -> Self {
        let place = format!("at byte {at} of {len}");
        Error::new(
            ErrorCode::ARTIFACT_UNREADABLE,
            format!("the artifact could not be read {place}: {error}"),
        )
        .with_model_text(format!(
            "The artifact could not be read {place}. It was not changed. Try again, or request a different part."
        ))
        .with_source(error)
    }
}
