//! Messages.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::builder::{Body, OfResponse, RecordBuilder, check_stamp, stamped};
use super::exposure::Exposure;
use super::provider_state::ProviderState;
use super::response_ref::ResponseRef;
use super::stored::{is_default, part, stored};
use crate::error::ErrorCode;
use crate::ids::new_id;
use crate::media::Media;
use crate::schema::is_invisible;
use crate::trust::TrustTier;
use crate::validate::Violations;

/// The most characters of a user's name.
const LONGEST_NAME: usize = 64;

stored! {
    StoredMessage as "Message";
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
        id: String,
        #[serde(with = "part")]
        created_at: SystemTime,
        #[serde(with = "part")]
        updated_at: SystemTime,
        author: Author,
        /// The name of the user.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<Arc<str>>,
        text: String,
        #[serde(with = "part", default, skip_serializing_if = "Vec::is_empty")]
        media: Vec<Media>,
        #[serde(skip_serializing_if = "Option::is_none")]
        response: Option<ResponseRef>,
        #[serde(with = "part", default, skip_serializing_if = "Option::is_none")]
        provider_state: Option<ProviderState>,
        #[serde(default, skip_serializing_if = "is_default")]
        pub(super) exposure: Exposure,
    }
}

stamped!(Message);

/// The author of a message.
///
/// ```
/// use turnwright_core::record::Message;
///
/// let message = Message::agent("researcher", "I found three papers.").build()?;
/// assert_eq!(message.author().to_string(), "agent researcher");
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Author {
    /// The user.
    User,
    /// The model.
    Assistant,
    /// The framework, which informs the model about its answer or the turn.
    Framework,
    /// Another agent. Its text is never an instruction.
    #[non_exhaustive]
    Agent {
        /// The name of the agent.
        name: String,
        /// How far its text is trusted.
        #[serde(rename = "trustTier")]
        tier: TrustTier,
    },
}

impl fmt::Display for Author {
    /// Writes `user`, `assistant`, `framework`, or `agent` and the name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Author::User => f.write_str("user"),
            Author::Assistant => f.write_str("assistant"),
            Author::Framework => f.write_str("framework"),
            Author::Agent { name, .. } => write!(f, "agent {name}"),
        }
    }
}

impl Message {
    /// Starts a message of the user.
    pub fn user(text: impl Into<String>) -> RecordBuilder<Self> {
        Message::by(Author::User, text.into())
    }

    /// Starts a message of the model.
    pub fn assistant(text: impl Into<String>) -> RecordBuilder<Self> {
        Message::by(Author::Assistant, text.into())
    }

    /// Starts a message of the framework to the model.
    pub(crate) fn framework(text: impl Into<String>) -> RecordBuilder<Self> {
        Message::by(Author::Framework, text.into())
    }

    /// Starts a message of another agent. What the agent has read is unknown, so the trust tier is third-party-public by default;
    /// see [`tier`](RecordBuilder::tier).
    pub fn agent(name: impl Into<String>, text: impl Into<String>) -> RecordBuilder<Self> {
        let author = Author::Agent {
            name: name.into(),
            tier: TrustTier::ThirdPartyPublic,
        };
        Message::by(author, text.into())
    }

    fn by(author: Author, text: String) -> RecordBuilder<Self> {
        let now = SystemTime::now();
        RecordBuilder(Message {
            id: new_id(),
            created_at: now,
            updated_at: now,
            author,
            name: None,
            text,
            media: Vec::new(),
            response: None,
            provider_state: None,
            exposure: Exposure::default(),
        })
    }

    /// Returns whether the model wrote it.
    pub(crate) fn is_answer(&self) -> bool {
        self.author == Author::Assistant
    }

    /// Returns the author.
    #[must_use]
    pub fn author(&self) -> &Author {
        &self.author
    }

    /// Returns the name of the user who wrote it, if it was set.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the media.
    #[must_use]
    pub fn media(&self) -> &[Media] {
        &self.media
    }

    /// Returns the model response that it belongs to, if known.
    #[must_use]
    pub fn response(&self) -> Option<&ResponseRef> {
        self.response.as_ref()
    }

    /// Returns the state that the provider expects back.
    #[must_use]
    pub fn provider_state(&self) -> Option<&ProviderState> {
        self.provider_state.as_ref()
    }

    /// Returns what the model had read when it wrote the message. For other authors, whether the message contains private data: it
    /// was [marked so](RecordBuilder::private), or a handler that read such data stored it.
    #[must_use]
    pub fn exposure(&self) -> Exposure {
        self.exposure
    }
}

impl RecordBuilder<Message> {
    /// Sets the name of the user, for a conversation of several users. Only for messages of users; at most 64 characters, none
    /// of them a control or invisible character.
    ///
    /// Every model sees the name, and no user can pose as another in the text of a message. It is your responsibility that names
    /// are unique and belong to authenticated users.
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.0.name = Some(name.into());
        self
    }

    /// Adds media.
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

    /// Sets whether another agent's text contains private data, which must not leave: see
    /// [`no_exfiltration`](crate::tool::approval::no_exfiltration). Has no effect on other authors.
    ///
    /// Default: `false`. Text of the tier third-party-private is always private.
    pub fn private(mut self, private: bool) -> Self {
        if let Author::Agent { .. } = &self.0.author {
            self.0.exposure.private = private;
        }
        self
    }
}

impl OfResponse for Message {
    fn origin(&mut self) -> (&mut Option<ResponseRef>, &mut Option<ProviderState>) {
        (&mut self.response, &mut self.provider_state)
    }
}

impl Body for Message {
    const NAME: &'static str = "message";
    const INVALID: ErrorCode = ErrorCode::INVALID_INITIAL_MESSAGE_VALUE;

    fn check(&mut self, wrong: &mut Violations) {
        check_stamp(self, wrong);
        // A model may send no text but state that the provider expects back.
        let says = !self.text.is_empty() || !self.media.is_empty() || self.provider_state.is_some();
        wrong.check("text", says, "must not be empty without media");
        if let Author::Agent { name, .. } = &self.author {
            wrong.check("author", !name.trim().is_empty(), "must have a name");
        }
        if let Some(name) = &self.name {
            let of_user = self.author == Author::User;
            wrong.check("name", of_user, "only messages of users have a name");
            wrong.check("name", !name.trim().is_empty(), "must not be empty");
            let shows = |c: char| !c.is_control() && !is_invisible(c);
            wrong.check_text("name", name, LONGEST_NAME, shows);
        }
        ResponseRef::check(self.response.as_ref(), wrong);
    }

    fn media_mut(&mut self) -> &mut [Media] {
        &mut self.media
    }
}

debug_fields!(Message { id, author });
