//! Records as JSON, for stores.

use std::sync::Arc;

use serde::{Deserializer, Serializer};
use serde_json::{Map, Value};
use serde_path_to_error::Track;

use super::any::each;
use super::stored::{Invalid, Stored as _};
use super::{
    ByteResolver, ConversationInfo, GateRecord, Lease, LedgerEntry, Memory, Message, Record,
    RecordKind, RecordType, Retrievable, StandingInstruction, Thought, ToolCall, TurnRecord,
};
use crate::error::Error;

#[cfg(test)]
mod tests;

/// The version of the stored form.
const VERSION: u64 = 1;

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
    #[doc = include_str!("stored/shape.md")]
    pub fn to_value(&self) -> Result<Value, Error> {
        let fields = self.write(serde_json::value::Serializer);
        let mut value = Map::new();
        value.insert("v".to_owned(), VERSION.into());
        value.insert("kind".to_owned(), self.kind().as_str().into());
        match fields.map_err(|_| self.unstorable())? {
            Value::Object(fields) => value.extend(fields),
            _ => return Err(self.unstorable()),
        }
        Ok(Value::Object(value))
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
        let mut text = Vec::with_capacity(512);
        text.extend_from_slice(header(self.kind()).as_bytes());
        // The fields follow the header in the same object.
        let fields = text.len();
        let written = self.write(&mut serde_json::Serializer::new(&mut text));
        written.map_err(|_| self.unstorable())?;
        if let Some(brace) = text.get_mut(fields) {
            *brace = b',';
        }
        String::from_utf8(text).map_err(|_| self.unstorable())
    }

    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        each!(self, record => record.write(to))
    }

    /// Returns why the record cannot be written.
    fn unstorable(&self) -> Error {
        let mut track = Track::new();
        let tracked =
            serde_path_to_error::Serializer::new(serde_json::value::Serializer, &mut track);
        let invalid = match self.write(tracked) {
            Ok(_) => Invalid::new("", "it cannot be written as JSON"),
            Err(error) => serde_path_to_error::Error::new(track.path(), error).into(),
        };
        invalid.unstorable(self.kind())
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
        let read = || {
            check_header(kind, value)?;
            let mut track = Track::new();
            let tracked = serde_path_to_error::Deserializer::new(value, &mut track);
            let read = read(kind, tracked, resolver);
            Ok(read.map_err(|error| serde_path_to_error::Error::new(track.path(), error))??)
        };
        let id = value.get("id").and_then(Value::as_str);
        read().map_err(|invalid: Invalid| invalid.unreadable(kind, id))
    }

    /// Reads the record that [`Record::to_json`] wrote: like [`Record::from_value`] of the parsed text, but several times as
    /// fast. If a field is repeated, the last one counts.
    ///
    /// # Errors
    /// See [`Record::from_value`]. Also returns `E_STORE_ERROR` if the text is not JSON.
    pub fn from_json(kind: RecordKind, text: &str, resolver: &ByteResolver) -> Result<Self, Error> {
        let mut json = serde_json::Deserializer::from_str(text);
        if text.starts_with(&header(kind))
            && let Ok(Ok(record)) = read(kind, &mut json, resolver)
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

/// Returns how the text of a record of this kind starts.
fn header(kind: RecordKind) -> String {
    format!(r#"{{"v":{VERSION},"kind":"{kind}""#)
}

/// Checks that a value is a record of this kind that this release can read.
fn check_header(kind: RecordKind, value: &Value) -> Result<(), Invalid> {
    if !value.is_object() {
        return Err(Invalid::new("", "it is not a JSON object"));
    }
    match value.get("v") {
        None | Some(Value::Null) => return Err(Invalid::missing("v")),
        Some(version) if *version == VERSION => {}
        Some(version) => match version.as_u64() {
            None => return Err(Invalid::new("v", "expected u64")),
            Some(later) => {
                let reason =
                    format!("is {later}, written by a later release: this release reads {VERSION}");
                return Err(Invalid::new("v", reason));
            }
        },
    }
    match value.get("kind") {
        None | Some(Value::Null) => Err(Invalid::missing("kind")),
        Some(found) if found == kind.as_str() => Ok(()),
        Some(_) => Err(Invalid::new(
            "kind",
            format!("is not the requested `{kind}`"),
        )),
    }
}

/// Reads a record. Fails with the reason why it is invalid, or with the error of serde.
fn read<'de, D: Deserializer<'de>>(
    kind: RecordKind,
    from: D,
    resolver: &ByteResolver,
) -> Result<Result<Record, Error>, D::Error> {
    match kind {
        RecordKind::Instruction => read_as::<StandingInstruction, D>(from, resolver),
        RecordKind::Memory => read_as::<Memory, D>(from, resolver),
        RecordKind::Retrievable => read_as::<Retrievable, D>(from, resolver),
        RecordKind::Message => read_as::<Message, D>(from, resolver),
        RecordKind::Thought => read_as::<Thought, D>(from, resolver),
        RecordKind::ToolCall => read_as::<ToolCall, D>(from, resolver),
        RecordKind::Ledger => read_as::<LedgerEntry, D>(from, resolver),
        RecordKind::Turn => read_as::<TurnRecord, D>(from, resolver),
        RecordKind::Gate => read_as::<GateRecord, D>(from, resolver),
        RecordKind::Lease => read_as::<Lease, D>(from, resolver),
        RecordKind::ConversationInfo => read_as::<ConversationInfo, D>(from, resolver),
    }
}

fn read_as<'de, R: RecordType, D: Deserializer<'de>>(
    from: D,
    resolver: &ByteResolver,
) -> Result<Result<Record, Error>, D::Error> {
    let mut record = R::read(from)?;
    let artifacts = record.artifacts_mut().iter_mut();
    artifacts.for_each(|artifact| resolver.attach_artifact(artifact));
    let media = record.media_mut().iter_mut();
    media.for_each(|media| resolver.attach_media(media));
    Ok(record.validate().map(|()| Arc::new(record).into_record()))
}
