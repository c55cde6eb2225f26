//! The stored format of records: a serde type for each kind, converted to and from the domain types. `shape.md` describes it.

mod artifact;
mod bytes;
mod conversation_info;
mod coverage;
mod field;
mod flow;
mod gate;
mod invalid;
mod lease;
mod ledger;
mod media;
mod message;
mod response;
mod retrievable;
mod text_records;
mod time;
mod tool_call;
mod turn;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_path_to_error::Track;

use self::conversation_info::StoredInfo;
use self::field::{Text, Time, VERSION};
use self::gate::StoredGate;
use self::invalid::{Invalid, unstorable};
use self::lease::StoredLease;
use self::ledger::StoredEntry;
use self::message::StoredMessage;
use self::response::StoredResponse;
use self::retrievable::StoredRetrievable;
use self::text_records::StoredText;
use self::tool_call::StoredCall;
use self::turn::StoredTurn;
use super::stamp::Stamp;
use super::{ByteResolver, Exposure, Record, RecordKind};
use crate::error::Error;

pub(crate) use time::{format as time_text, rfc3339};

/// A record in its stored form.
trait Stored {
    /// Version and kind.
    fn header(&self) -> (u64, RecordKind);

    /// Returns the record, validated like its builder does.
    fn read(self, resolver: &ByteResolver) -> Result<Record, Invalid>;
}

/// Reads the items of a list.
fn read_all<S, T>(
    items: Vec<S>,
    field: &str,
    read: impl Fn(S) -> Result<T, Invalid>,
) -> Result<Vec<T>, Invalid> {
    let items = items.into_iter().enumerate();
    let read =
        |(index, item)| read(item).map_err(|error| error.inside(&format!("{field}[{index}]")));
    items.map(read).collect()
}

fn stamp(id: Text<'_>, created_at: Time, updated_at: Time) -> Stamp {
    Stamp {
        id: id.into_owned(),
        created_at: created_at.0,
        updated_at: updated_at.0,
    }
}

impl Record {
    /// Returns the record as JSON, for a custom store. The bytes of media are not included, and those of artifacts only if they
    /// are not in a spool, up to 1 MiB.
    ///
    /// Store it as text, or in a column that returns the JSON unchanged.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use turnwright_core::record::{ByteResolver, Message, Record, RecordKind};
    /// use turnwright_core::spool::MemorySpool;
    ///
    /// let record = Record::from(Message::user("Hello!").id("m-1").build()?);
    /// let row = record.to_value()?.to_string();
    ///
    /// // Use the runner's own spool: it holds the results of its tools.
    /// let resolver = ByteResolver::new(Arc::new(MemorySpool::default()));
    /// let loaded = Record::from_value(RecordKind::Message, &serde_json::from_str(&row)?, &resolver)?;
    /// let Record::Message(message) = loaded else { panic!() };
    /// assert_eq!((message.id(), message.text()), ("m-1", "Hello!"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `E_STORE_ERROR`: an artifact is in no spool, and has more than 1 MiB or bytes that cannot be read at once
    /// ([`SpooledArtifact::write`](crate::artifact::SpooledArtifact::write) puts it into one); or a value has more than 129 levels.
    ///
    #[doc = include_str!("shape.md")]
    pub fn to_value(&self) -> Result<Value, Error> {
        self.encode(serde_json::value::Serializer)
    }

    /// Returns [`Record::to_value`] as JSON text.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use turnwright_core::record::{ByteResolver, Memory, Record, RecordKind};
    /// use turnwright_core::spool::MemorySpool;
    ///
    /// let row = Record::from(Memory::new("Likes short answers.").id("likes").build()?).to_json()?;
    ///
    /// let resolver = ByteResolver::new(Arc::new(MemorySpool::default()));
    /// let loaded = Record::from_json(RecordKind::Memory, &row, &resolver)?;
    /// assert_eq!(loaded.id(), "likes");
    /// # Ok::<(), turnwright_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// See [`Record::to_value`].
    pub fn to_json(&self) -> Result<String, Error> {
        let mut bytes = Vec::with_capacity(512);
        self.encode(&mut serde_json::Serializer::new(&mut bytes))?;
        String::from_utf8(bytes).map_err(|_| not_json(self.kind()))
    }

    fn encode<S: Serializer>(&self, to: S) -> Result<S::Ok, Error> {
        let kind = self.kind();
        match self {
            Record::Instruction(record) => {
                let stored = StoredText::new(
                    kind,
                    &record.stamp,
                    record.text(),
                    StoredResponse::new(None, None),
                    Exposure::default(),
                );
                write(kind, &stored, to)
            }
            Record::Memory(record) => {
                let stored = StoredText::new(
                    kind,
                    &record.stamp,
                    record.text(),
                    StoredResponse::new(None, None),
                    record.exposure(),
                );
                write(kind, &stored, to)
            }
            Record::Thought(record) => {
                let of = StoredResponse::new(record.response(), record.provider_state());
                let stored =
                    StoredText::new(kind, &record.stamp, record.text(), of, record.exposure());
                write(kind, &stored, to)
            }
            Record::Message(record) => write(kind, &StoredMessage::from(&**record), to),
            Record::Retrievable(record) => {
                write(kind, &StoredRetrievable::try_from(&**record)?, to)
            }
            Record::ToolCall(record) => write(kind, &StoredCall::try_from(&**record)?, to),
            Record::Ledger(record) => write(kind, &StoredEntry::try_from(&**record)?, to),
            Record::Turn(record) => write(kind, &StoredTurn::try_from(&**record)?, to),
            Record::Gate(record) => write(kind, &StoredGate::try_from(&**record)?, to),
            Record::Lease(record) => write(kind, &StoredLease::from(&**record), to),
            Record::ConversationInfo(record) => write(kind, &StoredInfo::try_from(&**record)?, to),
        }
    }

    /// Reads the record that [`Record::to_value`] wrote, and validates it as its builder does.
    ///
    /// Nothing is opened: artifacts open their spool, and media call `resolver`, when their bytes are read. A record whose
    /// bytes are gone loads, and reports that when they are read.
    ///
    /// # Errors
    /// Returns `E_STORE_ERROR` if it is not a record of this kind, or a later release wrote it. The message names the field and
    /// does not contain its content.
    pub fn from_value(
        kind: RecordKind,
        value: &Value,
        resolver: &ByteResolver,
    ) -> Result<Self, Error> {
        let mut track = Track::new();
        let tracked = serde_path_to_error::Deserializer::new(value, &mut track);
        let invalid = match decode(kind, tracked, resolver) {
            Ok(Ok(record)) => return Ok(record),
            Ok(Err(invalid)) => invalid,
            Err(error) => serde_path_to_error::Error::new(track.path(), error).into(),
        };
        // Another version or kind explains what else is wrong.
        let version = value.get("v").and_then(Value::as_u64).unwrap_or(VERSION);
        let text = |field: &str| value.get(field).and_then(Value::as_str);
        let header = Invalid::of_header(kind, version, text("kind").unwrap_or(kind.as_str()));
        let invalid = match value.is_object() {
            true => header.unwrap_or(invalid),
            false => Invalid::new("", "it is not a JSON object"),
        };
        Err(invalid.unreadable(kind, text("id")))
    }

    /// Reads the record that [`Record::to_json`] wrote: like [`Record::from_value`] of the parsed text, but several times as
    /// fast. If a field is repeated, the last one counts.
    ///
    /// # Errors
    /// See [`Record::from_value`]. Also returns `E_STORE_ERROR` if the text is not JSON.
    pub fn from_json(kind: RecordKind, text: &str, resolver: &ByteResolver) -> Result<Self, Error> {
        let mut json = serde_json::Deserializer::from_str(text);
        if let Ok(Ok(record)) = decode(kind, &mut json, resolver)
            && json.end().is_ok()
        {
            return Ok(record);
        }
        // As a value, the text has no repeated fields, and an error has the path of its field.
        match serde_json::from_str(text) {
            Ok(value) => Record::from_value(kind, &value, resolver),
            Err(_) => Err(Invalid::new("", "it is not JSON text").unreadable(kind, None)),
        }
    }
}

fn write<S: Serializer>(kind: RecordKind, stored: &impl Serialize, to: S) -> Result<S::Ok, Error> {
    stored.serialize(to).map_err(|_| not_json(kind))
}

fn not_json(kind: RecordKind) -> Error {
    unstorable(kind, "it cannot be written as JSON")
}

/// Decodes a record. Fails with the reason why it is invalid, or with the error of serde.
fn decode<'de, D: Deserializer<'de>>(
    kind: RecordKind,
    from: D,
    resolver: &ByteResolver,
) -> Result<Result<Record, Invalid>, D::Error> {
    match kind {
        RecordKind::Instruction | RecordKind::Memory | RecordKind::Thought => {
            read::<StoredText<'_>, D>(kind, from, resolver)
        }
        RecordKind::Message => read::<StoredMessage<'_>, D>(kind, from, resolver),
        RecordKind::Retrievable => read::<StoredRetrievable<'_>, D>(kind, from, resolver),
        RecordKind::ToolCall => read::<StoredCall<'_>, D>(kind, from, resolver),
        RecordKind::Ledger => read::<StoredEntry<'_>, D>(kind, from, resolver),
        RecordKind::Turn => read::<StoredTurn<'_>, D>(kind, from, resolver),
        RecordKind::Gate => read::<StoredGate<'_>, D>(kind, from, resolver),
        RecordKind::Lease => read::<StoredLease<'_>, D>(kind, from, resolver),
        RecordKind::ConversationInfo => read::<StoredInfo<'_>, D>(kind, from, resolver),
    }
}

fn read<'de, T: Stored + Deserialize<'de>, D: Deserializer<'de>>(
    kind: RecordKind,
    from: D,
    resolver: &ByteResolver,
) -> Result<Result<Record, Invalid>, D::Error> {
    let stored = T::deserialize(from)?;
    let (version, found) = stored.header();
    Ok(match Invalid::of_header(kind, version, found.as_str()) {
        None => stored.read(resolver),
        Some(invalid) => Err(invalid),
    })
}
