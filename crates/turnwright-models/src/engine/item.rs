//! The items of a prompt, independent of the protocol. A codec writes them as messages.

use serde_json::{Map, Value};

use turnwright_core::Media;

/// An item of a prompt.
#[derive(Debug)]
pub enum Item<'a> {
    /// The system prompt.
    System(&'a str),
    /// A message of a user, of another agent, or of the framework.
    User(User<'a>),
    /// A response of the model.
    Assistant(Assistant),
    /// The results of all calls of the response before it, in the order of the calls.
    Results(Vec<CallResult>),
}

/// A message that is not of the model.
#[derive(Debug)]
pub struct User<'a> {
    /// The content. Never empty.
    pub(crate) parts: Vec<UserPart>,
    /// The name of the user. Only set if the protocol can carry it.
    pub(crate) name: Option<&'a str>,
}

/// A part of a message or of a result.
#[derive(Debug)]
pub(crate) enum UserPart {
    /// Text.
    Text(String),
    /// Media that the server accepts.
    Media(EncodedMedia),
    /// A part that the application wrote.
    Custom(Value),
}

/// Media with its bytes in base64.
#[derive(Debug)]
pub(crate) struct EncodedMedia {
    pub(crate) media: Media,
    /// The MIME type without parameters.
    pub(crate) mime: String,
    pub(crate) data: String,
}

/// A response of the model.
#[derive(Debug)]
pub struct Assistant {
    /// The parts of the response. Reasoning is only included if this server wrote it.
    pub(crate) pieces: Vec<Piece>,
    /// What this server expects back with the response; empty if another server wrote it.
    pub(crate) state: Map<String, Value>,
    /// Whether this server wrote it.
    pub(crate) is_own: bool,
}

/// A part of a response.
#[derive(Debug)]
pub(crate) enum Piece {
    /// Text of the answer.
    Text {
        /// The text.
        text: String,
        /// What the provider attached to it.
        fields: Map<String, Value>,
    },
    /// Reasoning.
    Reasoning {
        /// The text.
        text: String,
        /// What the provider attached to it.
        fields: Map<String, Value>,
    },
    /// A call.
    Call(Call),
    /// A part of the provider, as it was received.
    Raw(Value),
}

/// A call, in a form that every server accepts.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// The id, unique in the prompt: the provider's if this server made it.
    pub(crate) id: String,
    /// Whether `id` is the id that this server gave.
    pub(crate) has_own_id: bool,
    pub(crate) name: String,
    /// A JSON object.
    pub(crate) arguments: String,
    /// What this server expects back with the call.
    pub(crate) fields: Map<String, Value>,
}

/// The result of a call.
#[derive(Debug)]
pub struct CallResult {
    /// The id of the call.
    pub(crate) id: String,
    /// Whether `id` is the id that this server gave.
    pub(crate) has_own_id: bool,
    /// The name of the tool.
    pub(crate) name: String,
    /// Text, and media if the protocol accepts it in results. Never empty.
    pub(crate) parts: Vec<UserPart>,
    /// Whether the call failed, was denied or did not run.
    pub(crate) is_error: bool,
}

impl Assistant {
    /// Returns the text of the answer.
    pub(crate) fn text(&self) -> String {
        let texts = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Text { text, .. } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// Returns the reasoning.
    pub(crate) fn reasoning(&self) -> String {
        let texts = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Reasoning { text, .. } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// Returns the calls, in order.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &Call> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Call(call) => Some(call),
            _ => None,
        })
    }
}

impl CallResult {
    /// Returns the text of the result.
    pub(crate) fn text(&self) -> String {
        text_of(&self.parts)
    }
}

impl UserPart {
    pub(crate) fn is_text(&self) -> bool {
        matches!(self, UserPart::Text(_))
    }
}

/// Joins the text of parts.
pub(crate) fn text_of<'p>(parts: impl IntoIterator<Item = &'p UserPart>) -> String {
    let texts = parts.into_iter().filter_map(|part| match part {
        UserPart::Text(text) => Some(text.as_str()),
        UserPart::Media(_) | UserPart::Custom(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}
