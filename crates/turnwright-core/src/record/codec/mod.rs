//! Records as JSON, for whoever keeps them in a database. The shape is told in `shape.md`.

mod artifact;
mod bytes;
mod fields;
mod ledger;
mod media;
mod message;
mod node;
mod place;
mod reopen;
mod retrievable;
mod time;
mod tool_call;
mod turn;
mod words;

#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use super::{Record, RecordKind};
use crate::error::Error;
use fields::{Fields, unreadable};
use node::Part;

pub use reopen::Reopen;

pub(crate) use time::format as time_text;

/// The shape that is written.
const VERSION: u64 = 1;

impl Record {
    /// The record as JSON, for a store of your own. The bytes of media are not touched, and those of artifacts not either
    /// where a spool keeps them: of an artifact that is in no spool, up to 1 MiB is written into the record.
    ///
    /// Keep it as text, or in a column that gives back the JSON that it was given.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use turnwright_core::record::{Message, Record, RecordKind, Reopen};
    /// use turnwright_core::spool::MemorySpool;
    ///
    /// let record = Record::from(Message::user("Hello!").id("m-1").build()?);
    /// let row = record.to_value()?.to_string();
    ///
    /// // The runner's own spool: another has none of its results.
    /// let reopen = Reopen::new(Arc::new(MemorySpool::default()));
    /// let again = Record::from_value(RecordKind::Message, &serde_json::from_str(&row)?, &reopen)?;
    /// let Record::Message(message) = again else { panic!() };
    /// assert_eq!((message.id(), message.text()), ("m-1", "Hello!"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `E_STORE_ERROR`: an artifact is in no spool, and has more than 1 MiB or bytes that cannot be read at once
    /// ([`SpooledArtifact::keep`](crate::SpooledArtifact::keep) puts it into one); or edited arguments have more than 128
    /// levels.
    ///
    #[doc = include_str!("shape.md")]
    pub fn to_value(&self) -> Result<Value, Error> {
        let mut map = Map::new();
        map.insert("v".to_owned(), VERSION.into());
        map.insert("kind".to_owned(), self.kind().as_str().into());
        map.insert("id".to_owned(), self.id().into());
        match self {
            Record::Instruction(record) => words::write_instruction(record, &mut map),
            Record::Memory(record) => words::write_memory(record, &mut map),
            Record::Thought(record) => words::write_thought(record, &mut map),
            Record::Message(record) => message::write(record, &mut map)?,
            Record::Retrievable(record) => retrievable::write(record, &mut map)?,
            Record::ToolCall(record) => tool_call::write(record, &mut map)?,
            Record::Ledger(record) => ledger::write(record, &mut map)?,
            Record::Turn(record) => turn::write(record, &mut map)?,
            Record::Gate(record) => turn::write_gate(record, &mut map)?,
            Record::Lease(record) => turn::write_lease(record, &mut map),
        }
        Ok(Value::Object(map))
    }

    /// What an event shows of the record: the same as [`Record::to_value`], save that results behind a handle are described
    /// and their bytes left out.
    ///
    /// # Errors
    /// As [`Record::to_value`].
    pub(crate) fn to_event_value(&self) -> Result<Value, Error> {
        let Record::ToolCall(call) = self else {
            return self.to_value();
        };
        let described = call.handles().iter().map(artifact::describe);
        let described: Vec<Value> = described.map(Value::Object).collect();
        if described.is_empty() {
            return self.to_value();
        }
        let mut value = Record::from(call.without_results()).to_value()?;
        if let Value::Object(map) = &mut value {
            map.insert("results".to_owned(), json!({ "artifacts": described }));
        }
        Ok(value)
    }

    /// What [`Record::to_value`] gives as JSON text, for whoever keeps text.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use turnwright_core::record::{Memory, Record, RecordKind, Reopen};
    /// use turnwright_core::spool::MemorySpool;
    ///
    /// let row = Record::from(Memory::new("Likes short answers.").id("likes").build()?).to_json()?;
    ///
    /// let reopen = Reopen::new(Arc::new(MemorySpool::default()));
    /// let again = Record::from_json(RecordKind::Memory, &row, &reopen)?;
    /// assert_eq!(again.id(), "likes");
    /// # Ok::<(), turnwright_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Record::to_value`].
    pub fn to_json(&self) -> Result<String, Error> {
        Ok(self.to_value()?.to_string())
    }

    /// The record that [`Record::to_value`] wrote, checked as its builder checks it.
    ///
    /// Nothing is opened yet: artifacts ask the spool, and media ask whoever knows their bytes, when somebody reads them. So
    /// a record whose bytes are gone loads like any other, and says so when they are asked for.
    ///
    /// # Errors
    /// `E_STORE_ERROR`: it is no record of this kind, it was written by a later release, or an artifact in it is of a kind
    /// that `reopen` does not know. The text names the field, and nothing of what stands in it.
    pub fn from_value(kind: RecordKind, value: &Value, reopen: &Reopen) -> Result<Self, Error> {
        Record::from_whole(kind, Part::whole(&node::of_value(value)), reopen)
    }

    /// The record that [`Record::to_json`] wrote: as [`Record::from_value`] of what the text says, and several times as fast
    /// as making a value of it first. Of a name that stands twice in an object, the last one counts.
    ///
    /// # Errors
    /// As [`Record::from_value`], and if the text is no JSON.
    pub fn from_json(kind: RecordKind, text: &str, reopen: &Reopen) -> Result<Self, Error> {
        match node::of_text(text) {
            Some(nodes) => Record::from_whole(kind, Part::whole(&nodes), reopen),
            None => Err(unreadable(kind, None, "it is no JSON text")),
        }
    }

    fn from_whole(
        kind: RecordKind,
        whole: Option<Part<'_>>,
        reopen: &Reopen,
    ) -> Result<Self, Error> {
        let fields = Fields::of_record(kind, whole)?;
        let version = fields.number("v")?;
        if version != VERSION {
            let why = format!("is {version}: this release reads {VERSION}, a later one wrote it");
            return Err(fields.wrong("v", &why));
        }
        if fields.text("kind")? != kind.as_str() {
            return Err(fields.wrong("kind", &format!("is not `{kind}`, which was asked for")));
        }
        match kind {
            RecordKind::Instruction => words::read_instruction(&fields).map(Record::from),
            RecordKind::Memory => words::read_memory(&fields).map(Record::from),
            RecordKind::Thought => words::read_thought(&fields).map(Record::from),
            RecordKind::Message => message::read(&fields, reopen).map(Record::from),
            RecordKind::Retrievable => retrievable::read(&fields, reopen).map(Record::from),
            RecordKind::ToolCall => tool_call::read(&fields, reopen).map(Record::from),
            RecordKind::Ledger => ledger::read(&fields).map(Record::from),
            RecordKind::Turn => turn::read(&fields).map(Record::from),
            RecordKind::Gate => turn::read_gate(&fields).map(Record::from),
            RecordKind::Lease => turn::read_lease(&fields).map(Record::from),
        }
    }
}
