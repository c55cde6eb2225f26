mod hostile;
mod items;
mod lines;
mod metadata;
mod paging;

use std::fmt::Write as _;
use std::ops::Range;

use serde_json::{Value, json};

use super::{SpooledMarkdownArtifact, queries};
use crate::artifact::{ArtifactKind, ArtifactLimits, SpooledArtifact};
use crate::error::{Error, ErrorCode, ToolError};

fn artifact(text: impl Into<bytes::Bytes>) -> SpooledArtifact {
    SpooledArtifact::in_memory(text, ArtifactKind::MARKDOWN)
}

fn markdown(text: impl Into<bytes::Bytes>) -> SpooledMarkdownArtifact {
    SpooledMarkdownArtifact::new(artifact(text))
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    runtime.unwrap().block_on(future)
}

/// The answer of a tool.
async fn asked(artifact: &SpooledArtifact, name: &str, args: Value) -> Result<String, ToolError> {
    let query = queries().iter().find(|query| query.name() == name);
    query.unwrap().run(artifact.clone(), args).await
}

async fn answer(text: &str, name: &str, args: Value) -> String {
    asked(&artifact(text.to_owned()), name, args).await.unwrap()
}

fn code_of(result: Result<impl Sized, Error>) -> ErrorCode {
    result.map(|_| ()).unwrap_err().code()
}
