//! Messages.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::bytes::StoredState;
use super::field::{Encoded, Text, Time, VERSION};
use super::flow::StoredExposure;
use super::media::StoredMedia;
use super::response::StoredResponse;
use super::{Invalid, Stored, read_all, stamp};
use crate::record::{Author, ByteResolver, Message, Record, RecordKind};
use crate::trust::TrustTier;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct StoredMessage<'a> {
    v: u64,
    kind: RecordKind,
    id: Text<'a>,
    created_at: Time,
    updated_at: Time,
    author: StoredAuthor<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<Text<'a>>,
    text: Text<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    media: Option<Vec<StoredMedia<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_id: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_cut: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider_state: Option<StoredState<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exposure: Option<StoredExposure>,
}

/// A string, or an object for an agent.
struct StoredAuthor<'a>(Cow<'a, Author>);

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct StoredAgent<'a> {
    agent: Text<'a>,
    trust_tier: TrustTier,
}

impl Serialize for StoredAuthor<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &*self.0 {
            Author::User => serializer.serialize_str("user"),
            Author::Assistant => serializer.serialize_str("assistant"),
            Author::Framework => serializer.serialize_str("framework"),
            Author::Agent { name, tier } => {
                let (agent, trust_tier) = (name.as_str().into(), *tier);
                StoredAgent { agent, trust_tier }.serialize(serializer)
            }
        }
    }
}

/// By hand: an untagged enum would buffer the complete object, however deep, and would not name the field in errors.
impl<'de> Deserialize<'de> for StoredAuthor<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let author = deserializer.deserialize_any(AuthorVisitor)?;
        Ok(StoredAuthor(Cow::Owned(author)))
    }
}

struct AuthorVisitor;

impl<'de> Visitor<'de> for AuthorVisitor {
    type Value = Author;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "\"user\", \"assistant\", \"framework\" or an agent with `agent` and `trustTier`",
        )
    }

    fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<Author, E> {
        match word {
            "user" => Ok(Author::User),
            "assistant" => Ok(Author::Assistant),
            "framework" => Ok(Author::Framework),
            _ => Err(E::invalid_value(Unexpected::Other("text"), &self)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Author, A::Error> {
        let stored = StoredAgent::deserialize(MapAccessDeserializer::new(fields))?;
        Ok(Author::Agent {
            name: stored.agent.into_owned(),
            tier: stored.trust_tier,
        })
    }
}

impl<'a> From<&'a Message> for StoredMessage<'a> {
    fn from(message: &'a Message) -> Self {
        let media = message.media();
        let of = StoredResponse::new(message.response(), message.provider_state());
        StoredMessage {
            v: VERSION,
            kind: RecordKind::Message,
            id: message.id().into(),
            created_at: Encoded(message.created_at()),
            updated_at: Encoded(message.updated_at()),
            author: StoredAuthor(Cow::Borrowed(message.author())),
            name: message.name().map(Text::from),
            text: message.text().into(),
            media: (!media.is_empty()).then(|| media.iter().map(StoredMedia::from).collect()),
            response_id: of.id,
            response_cut: of.cut,
            provider_state: of.state,
            exposure: StoredExposure::new(message.exposure()),
        }
    }
}

impl Stored for StoredMessage<'_> {
    fn header(&self) -> (u64, RecordKind) {
        (self.v, self.kind)
    }

    fn read(self, resolver: &ByteResolver) -> Result<Record, Invalid> {
        let stamp = stamp(self.id, self.created_at, self.updated_at);
        let author = self.author.0.into_owned();
        let mut builder = Message::stamped(author, self.text.into_owned(), stamp);
        if let Some(name) = self.name {
            builder = builder.name(&*name);
        }
        let media = self.media.unwrap_or_default();
        for media in read_all(media, "media", |media| media.read(resolver))? {
            builder = builder.media(media);
        }
        let stored = StoredResponse {
            id: self.response_id,
            cut: self.response_cut,
            state: self.provider_state,
        };
        let (response, state) = stored.read()?;
        builder = builder.of_response(response, state);
        builder.0.exposure = StoredExposure::read(self.exposure);
        Ok(builder.build()?.into())
    }
}
