//! The output of a tool.

use bytes::{Bytes, BytesMut};

use crate::artifact::{ArtifactKind, SpooledArtifact};
use crate::error::{Error, ErrorCode};
use crate::media::Media;
use crate::spool::Body;

/// The output of a tool: text, bytes, a stream of bytes, media, or an artifact, as the handler returned it.
///
/// Most handlers return a plain value, which [`IntoToolResult`](super::IntoToolResult) converts to an output. Create one
/// explicitly to set its kind or to lower its trust:
///
/// ```
/// use turnwright_core::ToolOutput;
/// use turnwright_core::artifact::ArtifactKind;
///
/// let output = ToolOutput::text("# Notes\n").of_kind(ArtifactKind::MARKDOWN).untrusted();
/// assert_eq!(output.as_text(), Some("# Notes\n"));
/// assert_eq!(output.as_bytes(), Some(&b"# Notes\n"[..]));
/// assert!(output.as_media().is_empty());
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct ToolOutput {
    /// The content.
    pub content: Content,
    /// The kind of the content, if it is not the kind that the tool declares.
    pub kind: Option<ArtifactKind>,
    /// Whether the content is untrusted even if the tool is trusted.
    pub untrusted: bool,
    /// Media beside the content.
    pub attachments: Vec<Media>,
    /// Whether the content is private even if the tool is not marked as `reads_private`.
    pub private: bool,
}

/// The content of an output.
///
/// ```
/// use turnwright_core::spool::Body;
/// use turnwright_core::tool::{Content, ToolOutput};
///
/// let output = ToolOutput::from(Body::from("one\n"));
/// match output.content {
///     Content::Body(Body::Text(text)) => assert_eq!(text, "one\n"),
///     other => println!("{other:?}"),
/// }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Content {
    /// Text or bytes. Small content is inlined into the prompt, large content goes to the spool.
    Body(Body),
    /// Media that a provider may show to the model natively.
    Media(Vec<Media>),
    /// An existing artifact: see [`ToolOutput::artifact`].
    Artifact(SpooledArtifact),
}

impl ToolOutput {
    /// Creates an output of text.
    pub fn text(text: impl Into<String>) -> Self {
        Body::Text(text.into()).into()
    }

    /// Creates an output of bytes.
    pub fn bytes(bytes: impl Into<Bytes>) -> Self {
        Body::Bytes(bytes.into()).into()
    }

    /// Creates an output of media. Each item has its own trust tier, independent of the tool.
    pub fn media(media: impl IntoIterator<Item = Media>) -> Self {
        Content::Media(media.into_iter().collect()).into()
    }

    /// Creates an output from an existing artifact. It keeps its own kind.
    ///
    /// The bytes are not copied if the record can refer to them:
    ///
    /// - a record of the conversation that this turn has loaded or created refers to them, for example an earlier tool call;
    /// - this turn created them with [`ToolContext::spool`](crate::ToolContext::spool);
    /// - the turn is not stored, or its spool is the default spool in memory: then records share bytes by reference counting.
    ///
    /// Any other artifact is copied into the spool of the turn, because the conversation or the program that owns its bytes may
    /// delete them. An artifact that is longer than `max_result_bytes` is copied up to that length.
    pub fn artifact(artifact: SpooledArtifact) -> Self {
        Content::Artifact(artifact).into()
    }

    /// Sets the kind of the content.
    #[must_use]
    pub fn of_kind(mut self, kind: ArtifactKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Adds media beside the content, such as an image with its description. Each item has its own trust tier.
    #[must_use]
    pub fn with_media(mut self, media: impl IntoIterator<Item = Media>) -> Self {
        match &mut self.content {
            Content::Media(own) => own.extend(media),
            Content::Body(_) | Content::Artifact(_) => self.attachments.extend(media),
        }
        self
    }

    /// Marks the content as untrusted. Trust can be lowered here, never raised.
    #[must_use]
    pub fn untrusted(mut self) -> Self {
        self.untrusted = true;
        self
    }

    /// Marks the content as private data: see [`ToolBuilder::reads_private`](super::ToolBuilder::reads_private).
    #[must_use]
    pub fn private(mut self) -> Self {
        self.private = true;
        self
    }

    /// Returns the text, if the content is text. For bytes, streams and artifacts see [`into_text`](Self::into_text).
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match &self.content {
            Content::Body(Body::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Returns the bytes, if the content is text or bytes in memory. For streams and artifacts see
    /// [`into_bytes`](Self::into_bytes).
    #[must_use]
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match &self.content {
            Content::Body(Body::Text(text)) => Some(text.as_bytes()),
            Content::Body(Body::Bytes(bytes)) => Some(bytes),
            _ => None,
        }
    }

    /// Returns the media, whether they are the content or beside it.
    #[must_use]
    pub fn as_media(&self) -> &[Media] {
        match &self.content {
            Content::Media(media) => media,
            Content::Body(_) | Content::Artifact(_) => &self.attachments,
        }
    }

    /// Reads the complete content. A stream is read to its end. `None` for media.
    ///
    /// # Errors
    /// Returns `E_SPOOL_ERROR` if a stream fails, and `E_ARTIFACT_UNREADABLE` if an artifact cannot be read.
    pub async fn into_bytes(self) -> Result<Option<Bytes>, Error> {
        match self.content {
            Content::Body(Body::Text(text)) => Ok(Some(text.into())),
            Content::Body(Body::Bytes(bytes)) => Ok(Some(bytes)),
            Content::Body(Body::Stream(mut stream)) => {
                let mut all = BytesMut::new();
                while let Some(piece) = stream.next().await {
                    let piece = piece.map_err(|error| {
                        let message = "the stream of a tool's output failed";
                        Error::new(ErrorCode::SPOOL_ERROR, message).with_source(error)
                    })?;
                    all.extend_from_slice(&piece);
                }
                Ok(Some(all.freeze()))
            }
            Content::Artifact(artifact) => artifact.as_bytes().await.map(Some),
            Content::Media(_) => Ok(None),
        }
    }

    /// Reads the complete content as text. `None` for media and for bytes that are not UTF-8.
    ///
    /// # Errors
    /// See [`into_bytes`](Self::into_bytes).
    pub async fn into_text(self) -> Result<Option<String>, Error> {
        if let Content::Body(Body::Text(text)) = self.content {
            return Ok(Some(text));
        }
        let bytes = self.into_bytes().await?;
        Ok(bytes.and_then(|bytes| String::from_utf8(bytes.into()).ok()))
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
            attachments: Vec::new(),
            private: false,
        }
    }
}
