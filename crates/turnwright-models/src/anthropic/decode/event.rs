//! The shape of events. A body that is not streamed is a message.

use std::borrow::Cow;

use serde::de::MapAccess;
use serde_json::{Map, Value};

use crate::decode::{Any, Field, Object};

/// An event of a stream.
#[derive(Default)]
pub(super) struct Event<'a> {
    pub(super) kind: Option<Cow<'a, str>>,
    pub(super) index: Option<u64>,
    pub(super) delta: Option<BlockDelta<'a>>,
    pub(super) content_block: Option<Value>,
    /// Boxed, because only the first event has it.
    pub(super) message: Option<Box<Message<'a>>>,
    pub(super) usage: Option<Value>,
    pub(super) error: bool,
}

impl<'de> Object<'de> for Event<'de> {
    fn read<A: MapAccess<'de>>(&mut self, field: Field<'_, 'de, A>) -> Result<(), A::Error> {
        match &*field.name {
            "type" => self.kind = field.text()?,
            "index" => self.index = field.index()?,
            "delta" => field.object(&mut self.delta)?,
            "content_block" => self.content_block = field.value()?,
            "message" => field.object(&mut self.message)?,
            "usage" => self.usage = field.value()?,
            "error" => self.error = field.presence()?,
            _ => field.skip()?,
        }
        Ok(())
    }
}

/// More of a block, or of the message.
#[derive(Default)]
pub(super) struct BlockDelta<'a> {
    pub(super) text: Option<Cow<'a, str>>,
    pub(super) thinking: Option<Cow<'a, str>>,
    pub(super) signature: Option<Cow<'a, str>>,
    pub(super) partial_json: Option<Cow<'a, str>>,
    pub(super) citation: Option<Value>,
    pub(super) end: End<'a>,
    /// Fields of blocks that the engine does not interpret.
    pub(super) other: Map<String, Value>,
}

impl<'de> Object<'de> for BlockDelta<'de> {
    fn read<A: MapAccess<'de>>(&mut self, field: Field<'_, 'de, A>) -> Result<(), A::Error> {
        match &*field.name {
            "type" => field.skip()?,
            "text" => self.text = field.text()?,
            "thinking" => self.thinking = field.text()?,
            "signature" => self.signature = field.text()?,
            "partial_json" => self.partial_json = field.text()?,
            "citation" => self.citation = field.value()?,
            "stop_reason" | "stop_sequence" | "stop_details" | "container" => {
                self.end.read(field)?;
            }
            _ => {
                if let (name, Some(value)) = field.named_value()? {
                    self.other.insert(name.into_owned(), value);
                }
            }
        }
        Ok(())
    }
}

/// How the message ended.
#[derive(Default)]
pub(super) struct End<'a> {
    pub(super) stop_reason: Option<Cow<'a, str>>,
    pub(super) stop_sequence: Option<Cow<'a, str>>,
    pub(super) stop_details: Option<Value>,
    /// The container in which tools of the provider ran.
    pub(super) container: Option<Value>,
}

impl<'de> Object<'de> for End<'de> {
    fn read<A: MapAccess<'de>>(&mut self, field: Field<'_, 'de, A>) -> Result<(), A::Error> {
        match &*field.name {
            "stop_reason" => self.stop_reason = field.text()?,
            "stop_sequence" => self.stop_sequence = field.text()?,
            "stop_details" => self.stop_details = field.value()?,
            "container" => self.container = field.value()?,
            _ => field.skip()?,
        }
        Ok(())
    }
}

/// A message, complete or at the start of a stream.
#[derive(Default)]
pub(super) struct Message<'a> {
    pub(super) kind: Option<Cow<'a, str>>,
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) model: Option<Cow<'a, str>>,
    pub(super) content: Option<Vec<Value>>,
    pub(super) usage: Option<Value>,
    pub(super) end: End<'a>,
    pub(super) error: bool,
}

impl<'de> Object<'de> for Message<'de> {
    fn read<A: MapAccess<'de>>(&mut self, field: Field<'_, 'de, A>) -> Result<(), A::Error> {
        match &*field.name {
            "type" => self.kind = field.text()?,
            "id" => self.id = field.text()?,
            "model" => self.model = field.text()?,
            "content" => match field.any()? {
                Any::List(blocks) => self.content = Some(blocks),
                Any::Other(Value::Null) => self.content = None,
                other => return Err(other.invalid(&"a list of blocks")),
            },
            "usage" => self.usage = field.value()?,
            "error" => self.error = field.presence()?,
            _ => self.end.read(field)?,
        }
        Ok(())
    }
}
