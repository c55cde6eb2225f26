//! The shape of an event, and of a response.

use std::borrow::Cow;

use serde::de::MapAccess;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::decode::{Field, Object};

/// An event of a stream.
#[derive(Default)]
pub(super) struct Event<'a> {
    pub(super) kind: Option<Cow<'a, str>>,
    pub(super) output_index: Option<u64>,
    pub(super) item_id: Option<Cow<'a, str>>,
    /// The position of a part in its item.
    pub(super) part: Option<u64>,
    pub(super) delta: Cow<'a, str>,
    pub(super) item: Option<Value>,
    pub(super) response: Option<Box<Response<'a>>>,
    pub(super) error: bool,
}

impl<'de> Object<'de> for Event<'de> {
    fn read<A: MapAccess<'de>>(&mut self, field: Field<'_, 'de, A>) -> Result<(), A::Error> {
        match &*field.name {
            "type" => self.kind = field.text()?,
            "output_index" => self.output_index = field.index()?,
            "item_id" => self.item_id = field.text()?,
            "content_index" | "summary_index" => self.part = field.index()?,
            "delta" => self.delta = field.any()?.into_text(),
            "item" => self.item = field.value()?,
            "response" => field.object(&mut self.response)?,
            "error" => self.error = field.presence()?,
            _ => field.skip()?,
        }
        Ok(())
    }
}

/// A response: a body, or a part of an event.
#[derive(Default)]
pub(super) struct Response<'a> {
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) model: Option<Cow<'a, str>>,
    pub(super) status: Option<Cow<'a, str>>,
    pub(super) incomplete_details: Option<Value>,
    /// The items. A stream repeats them at its end, so they are read only if they are needed.
    pub(super) output: Option<Vec<&'a RawValue>>,
    /// Settings, or the text of the reasoning from mistral.rs.
    pub(super) reasoning: Option<&'a RawValue>,
    pub(super) usage: Option<Value>,
    pub(super) error: Option<Value>,
    /// Whether it has a field that servers use to report an error without `error`.
    pub(super) has_message: bool,
}

impl<'de> Object<'de> for Response<'de> {
    fn read<A: MapAccess<'de>>(&mut self, field: Field<'_, 'de, A>) -> Result<(), A::Error> {
        match &*field.name {
            "id" => self.id = field.text()?,
            "model" => self.model = field.text()?,
            "status" => self.status = field.text()?,
            "incomplete_details" => self.incomplete_details = field.value()?,
            "output" => {
                let items = field.raw()?.map(RawValue::get);
                self.output = items.and_then(|items| serde_json::from_str(items).ok());
            }
            "reasoning" => self.reasoning = field.raw()?,
            "usage" => self.usage = field.value()?,
            "error" => self.error = field.value()?,
            "message" | "detail" | "errors" => self.has_message |= field.presence()?,
            _ => field.skip()?,
        }
        Ok(())
    }
}

impl Response<'_> {
    /// Returns `true` if it reports an error.
    pub(super) fn has_error(&self) -> bool {
        let fails = |error: &Value| !matches!(error, Value::Bool(false));
        self.error.as_ref().is_some_and(fails) || (self.output.is_none() && self.has_message)
    }
}
