//! Messages.

use std::sync::Arc;
use std::time::SystemTime;

use super::builder::{Build, RecordBuilder};
use super::provider_state::ProviderState;
use super::stamp::Stamp;
use crate::error::ErrorCode;
use crate::media::Media;
use crate::trust::TrustTier;
use crate::validate::Violations;

/// A message of a conversation. Immutable.
///
/// ```
/// use turnwright_core::record::Message;
///
/// let message = Message::user("What broke last night?").build()?;
/// assert_eq!(message.text(), "What broke last night?");
/// assert!(Message::assistant("").build().is_err());
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Message {
    pub(super) stamp: Stamp,
    author: Author,
    text: String,
    media: Vec<Media>,
    provider_state: Option<ProviderState>,
}

/// The author of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Author {
    /// The person.
    User,
    /// The model.
    Assistant,
    /// The framework itself: what it has to say to the model about its answer.
    Framework,
    /// Another agent. Its text is never an instruction.
    #[non_exhaustive]
    Agent {
        /// Its name.
        name: String,
        /// How far its words can be trusted.
        tier: TrustTier,
    },
}

impl Message {
    /// A message of the user.
    pub fn user(text: impl Into<String>) -> RecordBuilder<Self> {
        Message::stamped(Author::User, text.into(), Stamp::new())
    }

    /// A message of the model.
    pub fn assistant(text: impl Into<String>) -> RecordBuilder<Self> {
        Message::stamped(Author::Assistant, text.into(), Stamp::new())
    }

    /// A message of the framework to the model.
    pub(crate) fn framework(text: impl Into<String>) -> RecordBuilder<Self> {
        Message::stamped(Author::Framework, text.into(), Stamp::new())
    }

    /// A message of another agent. What the agent read is unknown, so its text is third-party-public by default; see
    /// [`tier`](RecordBuilder::tier).
    pub fn agent(name: impl Into<String>, text: impl Into<String>) -> RecordBuilder<Self> {
        let author = Author::Agent {
            name: name.into(),
            tier: TrustTier::ThirdPartyPublic,
        };
        Message::stamped(author, text.into(), Stamp::new())
    }

    /// Starts a record that has its id and times.
    pub(super) fn stamped(author: Author, text: String, stamp: Stamp) -> RecordBuilder<Self> {
        RecordBuilder(Message {
            stamp,
            author,
            text,
            media: Vec::new(),
            provider_state: None,
        })
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.stamp.id
    }

    /// When it was created.
    #[must_use]
    pub fn created_at(&self) -> SystemTime {
        self.stamp.created_at
    }

    /// When it was last changed.
    #[must_use]
    pub fn updated_at(&self) -> SystemTime {
        self.stamp.updated_at
    }

    /// Whether the model wrote it.
    pub(crate) fn is_answer(&self) -> bool {
        self.author == Author::Assistant
    }

    /// Its author.
    #[must_use]
    pub fn author(&self) -> &Author {
        &self.author
    }

    /// Its text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its media.
    #[must_use]
    pub fn media(&self) -> &[Media] {
        &self.media
    }

    /// The same message with other media.
    pub(super) fn with_media(self: Arc<Self>, media: Vec<Media>) -> Arc<Self> {
        let mut message = Arc::unwrap_or_clone(self);
        message.media = media;
        Arc::new(message)
    }

    /// State that the provider expects back.
    #[must_use]
    pub fn provider_state(&self) -> Option<&ProviderState> {
        self.provider_state.as_ref()
    }
}

impl RecordBuilder<Message> {
    /// Adds a media.
    pub fn media(mut self, media: Media) -> Self {
        self.0.media.push(media);
        self
    }

    /// Sets the trust tier of another agent's text. Has no effect on other authors.
    pub fn tier(mut self, trusted: TrustTier) -> Self {
        if let Author::Agent { tier, .. } = &mut self.0.author {
            *tier = trusted;
        }
        self
    }

    /// State that the provider expects back.
    pub fn provider_state(mut self, state: ProviderState) -> Self {
        self.0.provider_state = Some(state);
        self
    }
}

impl Build for Message {
    const NAME: &'static str = "message";
    const INVALID: ErrorCode = ErrorCode::INVALID_INITIAL_MESSAGE_VALUE;

    fn stamp_mut(&mut self) -> &mut Stamp {
        &mut self.stamp
    }

    fn check(&self, wrong: &mut Violations) {
        // A model may say nothing and yet leave state that is wanted back.
        let says = !self.text.is_empty() || !self.media.is_empty() || self.provider_state.is_some();
        wrong.check("text", says, "is empty, and there is no media either");
        if let Author::Agent { name, .. } = &self.author {
            wrong.check("author", !name.trim().is_empty(), "has no name");
        }
    }
}

debug_fields!(Message { stamp.id, author });
