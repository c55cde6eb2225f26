//! What can be asked of an artifact, as the model will see it.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{ArtifactKind, SpooledArtifact, text};
use crate::error::ToolError;
use crate::schema::{Schema, SchemaError, admit};

type Answer = Pin<Box<dyn Future<Output = Result<String, ToolError>> + Send>>;
type Ask = dyn Fn(SpooledArtifact, Value) -> Answer + Send + Sync;

/// One question that can be asked of the artifacts of a kind. A tool is forged from it, with `callId` and `index`, which
/// say which artifact is meant, beside the arguments of the query's own.
///
/// The arguments are a type, whose schema is the contract, as with every tool. An answer is text; what is longer than
/// answers may be is cut at a line, so write it on a [`Page`](super::Page) to say how to go on.
///
/// ```
/// use turnwright_core::artifact::{Query, SpooledArtifact};
/// use turnwright_core::Error;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Column {
///     /// The column's name.
///     column: String,
/// }
/// let query = Query::new("artifact_csv_column", "All values of a column.", |csv: SpooledArtifact, asked: Column| async move {
///     Ok::<_, Error>(format!("{} of {} bytes", asked.column, csv.byte_length()))
/// });
/// assert_eq!(query.name(), "artifact_csv_column");
/// ```
pub struct Query {
    name: String,
    description: String,
    document: Result<Value, SchemaError>,
    /// What the layer above derives from the query, once.
    memo: OnceLock<Arc<dyn Any + Send + Sync>>,
    ask: Arc<Ask>,
}

impl Query {
    /// A query under the name and with the description that the model will see. Its arguments may not be called `callId`
    /// or `index`: those say which artifact is meant.
    pub fn new<A, F, Fut, E>(
        name: impl Into<String>,
        description: impl Into<String>,
        answer: F,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
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

    /// The name of its tool.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The description of its tool.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Asks an artifact, with arguments as the schema of the query's own type takes them.
    ///
    /// # Errors
    /// The arguments do not fit, or there is no answer.
    pub async fn ask(&self, artifact: SpooledArtifact, args: Value) -> Result<String, ToolError> {
        (self.ask)(artifact, admit(args)?).await
    }
}

impl Query {
    /// The document of the query's own arguments.
    pub(crate) fn own_document(&self) -> Result<&Value, &SchemaError> {
        self.document.as_ref()
    }

    /// Returns what `make` returned the first time, for as long as the query lives. One type of memo per query.
    pub(crate) fn memo<T: Send + Sync + 'static>(&self, make: impl FnOnce() -> T) -> Option<&T> {
        let memo = self.memo.get_or_init(|| Arc::new(make()));
        memo.downcast_ref()
    }

    /// Whether it can be asked of artifacts of this kind.
    pub(crate) fn fits(&self, kind: ArtifactKind) -> bool {
        let asked = |query: &Query| std::ptr::eq(query, self) || query.name == self.name;
        text::queries().iter().any(asked) || kind.queries().iter().any(asked)
    }
}

impl fmt::Debug for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Query")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
