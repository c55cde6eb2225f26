//! What a handler may return.

use bytes::Bytes;
use serde::Serialize;

use super::json;
use crate::artifact::ArtifactKind;
use crate::error::ToolError;
use crate::media::Media;
use crate::spool::{Body, ByteStream};

/// What a tool gave: text, bytes, a stream of bytes or media, as the handler returned it.
#[derive(Debug)]
#[non_exhaustive]
pub struct ToolOutput {
    /// The content.
    pub content: Content,
    /// What the content is, where the handler knows better than the tool's definition.
    pub kind: Option<ArtifactKind>,
    /// The handler does not vouch for it, whatever the tool's definition says.
    pub untrusted: bool,
}

/// The content of an output.
#[derive(Debug)]
#[non_exhaustive]
pub enum Content {
    /// What the spool keeps and the model asks, or reads in the prompt.
    Body(Body),
    /// What a provider may show to the model natively.
    Media(Vec<Media>),
}

impl ToolOutput {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Body::Text(text.into()).into()
    }

    /// Bytes.
    pub fn bytes(bytes: impl Into<Bytes>) -> Self {
        Body::Bytes(bytes.into()).into()
    }

    /// Media: each with a trust tier of its own, whatever the tool says.
    pub fn media(media: impl IntoIterator<Item = Media>) -> Self {
        Content::Media(media.into_iter().collect()).into()
    }

    /// The same content as another kind of artifact.
    #[must_use]
    pub fn of_kind(mut self, kind: ArtifactKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// The same content, not vouched for. Trust can be lowered here, never raised.
    #[must_use]
    pub fn untrusted(mut self) -> Self {
        self.untrusted = true;
        self
    }

    /// The text, where it is text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match &self.content {
            Content::Body(Body::Text(text)) => Some(text),
            Content::Body(Body::Bytes(_) | Body::Stream(_)) | Content::Media(_) => None,
        }
    }
}

impl From<Body> for ToolOutput {
    fn from(body: Body) -> Self {
        Content::Body(body).into()
    }
}

impl From<Content> for ToolOutput {
    fn from(content: Content) -> Self {
        ToolOutput {
            content,
            kind: None,
            untrusted: false,
        }
    }
}

/// Anything that serialises, returned as JSON of at most 128 levels. A call whose result is deeper fails.
///
/// ```
/// use turnwright_core::{ArtifactKind, IntoToolResult, Json};
///
/// let output = Json([1, 2, 3]).into_tool_result().unwrap();
/// assert_eq!(output.as_text(), Some("[1,2,3]"));
/// assert_eq!(output.kind, Some(ArtifactKind::JSON));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Json<T>(pub T);

/// What a handler may return: text, bytes, a stream, [`Json`], one [`Media`] or several, nothing, a [`ToolOutput`], or a `Result` of one of
/// these and a [`ToolError`].
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    label = "the handler returns this",
    note = "return a `String`, `&'static str`, `Vec<u8>`, `Bytes`, `ByteStream`, `Json(value)`, `Media`, `Vec<Media>`, `()` or `ToolOutput`, or a `Result` of one of these with `ToolError` as its error"
)]
pub trait IntoToolResult {
    /// Makes the result of the call.
    ///
    /// # Errors
    /// The handler failed, or what it returned cannot be serialised.
    fn into_tool_result(self) -> Result<ToolOutput, ToolError>;
}

/// What a handler may return when it succeeds.
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    label = "the handler returns this",
    note = "return a `String`, `&'static str`, `Vec<u8>`, `Bytes`, `ByteStream`, `Json(value)`, `Media`, `Vec<Media>`, `()` or `ToolOutput`"
)]
pub trait IntoToolOutput {
    /// Makes the output.
    ///
    /// # Errors
    /// It cannot be serialised.
    fn into_tool_output(self) -> Result<ToolOutput, ToolError>;
}

/// One table for everything that becomes an output by itself.
macro_rules! outputs {
    ($($type:ty, $value:ident => $make:expr;)+) => {$(
        impl IntoToolOutput for $type {
            fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
                let $value = self;
                $make
            }
        }

        impl IntoToolResult for $type {
            fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
                self.into_tool_output()
            }
        }
    )+};
}

outputs! {
    ToolOutput, output => Ok(output);
    String, text => Ok(ToolOutput::text(text));
    &'static str, text => Ok(ToolOutput::text(text));
    (), _nothing => Ok(ToolOutput::text(""));
    Vec<u8>, bytes => Ok(ToolOutput::bytes(bytes));
    Bytes, bytes => Ok(ToolOutput::bytes(bytes));
    ByteStream, stream => Ok(Body::Stream(stream).into());
    Media, media => Ok(ToolOutput::media([media]));
    Vec<Media>, media => Ok(ToolOutput::media(media));
}

impl<T: Serialize + 'static> IntoToolOutput for Json<T> {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(json::write(self.0)?).of_kind(ArtifactKind::JSON))
    }
}

impl<T: Serialize + 'static> IntoToolResult for Json<T> {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        self.into_tool_output()
    }
}

impl<T: IntoToolOutput> IntoToolResult for Result<T, ToolError> {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        self.and_then(IntoToolOutput::into_tool_output)
    }
}
