//! The shape of a chunk. A response body that is not streamed is a single chunk.

use std::borrow::Cow;

use serde::de::MapAccess;
use serde_json::{Map, Value};

use crate::decode::{Any, Field, Object};

/// A chunk of a stream, or a body.
#[derive(Default)]
pub(super) struct Chunk<'a> {
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) model: Option<Cow<'a, str>>,
    pub(super) choices: Option<Vec<Choice<'a>>>,
    /// Parsed later, so that an error in it does not lose the rest.
    pub(super) usage: Option<Value>,
    pub(super) x_groq: Option<Value>,
    /// The pages that the provider has searched.
    pub(super) citations: Option<Value>,
    pub(super) error: bool,
    /// Whether the chunk has a field that servers use to report an error without `error`.
    pub(super) message: bool,
}

impl<'de> Object<'de> for Chunk<'de> {
    fn read<A: MapAccess<'de>>(&mut self, field: Field<'_, 'de, A>) -> Result<(), A::Error> {
        match &*field.name {
            "id" => self.id = field.text()?,
            "model" => self.model = field.text()?,
            "choices" => field.objects(&mut self.choices)?,
            "usage" => self.usage = field.value()?,
            "x_groq" => self.x_groq = field.value()?,
            "citations" | "search_results" => self.citations = field.value()?,
            "error" => self.error = field.presence()?,
            "message" | "detail" | "errors" => self.message |= field.presence()?,
            _ => field.skip()?,
        }
        Ok(())
    }
}

/// One of the requested answers.
#[derive(Default)]
pub(super) struct Choice<'a> {
    pub(super) index: Option<u64>,
    pub(super) delta: Option<Message<'a>>,
    /// Boxed, because chunks of a stream do not have it.
    pub(super) message: Option<Box<Message<'a>>>,
    pub(super) finish_reason: Option<Cow<'a, str>>,
    pub(super) error: bool,
}

impl<'de> Object<'de> for Choice<'de> {
    fn read<A: MapAccess<'de>>(&mut self, field: Field<'_, 'de, A>) -> Result<(), A::Error> {
        match &*field.name {
            "index" => self.index = field.index()?,
            "delta" => field.object(&mut self.delta)?,
            "message" => field.object(&mut self.message)?,
            "finish_reason" => self.finish_reason = field.text()?,
            "error" => self.error = field.presence()?,
            _ => field.skip()?,
        }
        Ok(())
    }
}

/// A message, or a piece of one.
#[derive(Default)]
pub(super) struct Message<'a> {
    /// Text, or a list of parts.
    pub(super) content: Any<'a>,
    pub(super) reasoning_content: Option<Cow<'a, str>>,
    pub(super) reasoning: Option<Cow<'a, str>>,
    pub(super) reasoning_details: Vec<Value>,
    pub(super) refusal: Option<Cow<'a, str>>,
    pub(super) tool_calls: Option<Vec<Call<'a>>>,
    pub(super) function_call: Option<Box<Function<'a>>>,
    /// What tools of the provider returned, or the sources of the text.
    pub(super) sources: Option<Value>,
}

impl<'de> Object<'de> for Message<'de> {
    fn read<A: MapAccess<'de>>(&mut self, field: Field<'_, 'de, A>) -> Result<(), A::Error> {
        match &*field.name {
            "content" => match field.any()? {
                number @ Any::Other(Value::Number(_) | Value::Bool(_)) => {
                    return Err(number.invalid(&"text or parts"));
                }
                content => self.content = content,
            },
            "reasoning_content" => self.reasoning_content = field.text()?,
            "reasoning" => self.reasoning = field.text()?,
            "reasoning_details" => match field.any()? {
                Any::List(details) => self.reasoning_details = details,
                Any::Other(Value::Null) => self.reasoning_details = Vec::new(),
                other => return Err(other.invalid(&"a list")),
            },
            "refusal" => self.refusal = field.text()?,
            "tool_calls" => field.objects(&mut self.tool_calls)?,
            "function_call" => field.object(&mut self.function_call)?,
            "annotations" | "executed_tools" => self.sources = field.value()?,
            _ => field.skip()?,
        }
        Ok(())
    }
}

/// A call, or a piece of one.
#[derive(Default)]
pub(super) struct Call<'a> {
    pub(super) index: Option<u64>,
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) function: Option<Function<'a>>,
    /// Fields that the protocol does not define.
    pub(super) extra: Option<Map<String, Value>>,
}

impl<'de> Object<'de> for Call<'de> {
    fn read<A: MapAccess<'de>>(&mut self, field: Field<'_, 'de, A>) -> Result<(), A::Error> {
        match &*field.name {
            "index" => self.index = field.index()?,
            "id" => self.id = field.text()?,
            "function" => field.object(&mut self.function)?,
            "type" => field.skip()?,
            _ => {
                if let (name, Some(value)) = field.named_value()? {
                    let extra = self.extra.get_or_insert_default();
                    extra.insert(name.into_owned(), value);
                }
            }
        }
        Ok(())
    }
}

/// A function with its arguments.
#[derive(Default)]
pub(super) struct Function<'a> {
    pub(super) name: Option<Cow<'a, str>>,
    /// The arguments as text. Arguments that are not a string are compact JSON.
    pub(super) arguments: Cow<'a, str>,
}

impl<'de> Object<'de> for Function<'de> {
    fn read<A: MapAccess<'de>>(&mut self, field: Field<'_, 'de, A>) -> Result<(), A::Error> {
        match &*field.name {
            "name" => self.name = field.text()?,
            "arguments" => self.arguments = field.any()?.into_text(),
            _ => field.skip()?,
        }
        Ok(())
    }
}
