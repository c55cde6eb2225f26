//! The shape of a chunk of a stream; the body of a response that is not streamed is one chunk of a like shape.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::shape::{InPlace, Index, Key, List, Present, Text, Told, object, within_most};

object! {
    /// A chunk, or a body.
    Chunk {
        "id" => id: Text<'a>,
        "model" => model: Text<'a>,
        "choices" => choices: Told<Choices<'a>>,
        /// Read apart: what is wrong with it is no reason to lose the rest.
        "usage" => usage: Option<Value>,
        "x_groq" => x_groq: Option<Value>,
        "error" => error: Present,
        // Where errors are written without an `error`.
        "message" => message: Present,
        "detail" => detail: Present,
        "errors" => errors: Present,
    }
}

object! {
    /// One of the answers that were asked for.
    Choice {
        "index" => index: Index,
        "delta" => delta: Told<Message<'a>>,
        "message" => message: Option<Box<Message<'a>>>,
        "finish_reason" => finish_reason: Text<'a>,
        "error" => error: Present,
    }
}

object! {
    /// A message, or a piece of one.
    Message {
        "content" => content: Content<'a>,
        "reasoning_content" => reasoning_content: Text<'a>,
        "reasoning" => reasoning: Text<'a>,
        "reasoning_details" => reasoning_details: List<Value>,
        "refusal" => refusal: Text<'a>,
        "tool_calls" => tool_calls: List<Call<'a>>,
        "function_call" => function_call: Option<Box<Function<'a>>>,
    }
}

object! {
    /// What is called, and with what.
    Function {
        "name" => name: Text<'a>,
        "arguments" => arguments: Arguments<'a>,
    }
}

object! {
    /// A part of content that is a list.
    Fields {
        "type" => kind: Text<'a>,
        "text" => text: Words,
        "thinking" => thinking: Words,
        "refusal" => refusal: Text<'a>,
    }
}

/// The answers, of which the first counts: others were not asked for.
#[derive(Default)]
pub(super) struct Choices<'a> {
    /// The first, once it was found.
    choice: Choice<'a>,
    found: bool,
    pub(super) any_error: bool,
}

impl<'a> Choices<'a> {
    pub(super) fn first(&mut self) -> Option<&mut Choice<'a>> {
        self.found.then_some(&mut self.choice)
    }
}

/// Content: text, or a list of parts.
#[derive(Default)]
pub(super) enum Content<'a> {
    #[default]
    None,
    Text(Cow<'a, str>),
    Parts(Vec<Part>),
}

/// A part of content.
pub(super) enum Part {
    Text(String),
    Thinking(String),
    Refusal(String),
    /// A reference, an image: nothing of a reply.
    Other,
}

/// Text that may be wrapped in parts of its own.
#[derive(Default)]
pub(super) struct Words(String);

/// A call, or a piece of one.
#[derive(Default)]
pub(super) struct Call<'a> {
    pub(super) index: Index,
    pub(super) id: Text<'a>,
    pub(super) function: Function<'a>,
    /// Fields that are not of the protocol.
    pub(super) extra: Option<Box<Map<String, Value>>>,
}

/// Arguments as they were sent; what is no text is shown as compact JSON.
#[derive(Default)]
pub(super) struct Arguments<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Choices<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut choices = Choices::default();
        Choices::deserialize_in_place(from, &mut choices)?;
        Ok(choices)
    }

    fn deserialize_in_place<D: Deserializer<'de>>(
        from: D,
        place: &mut Self,
    ) -> Result<(), D::Error> {
        from.deserialize_seq(AllChoices(place))
    }
}

struct AllChoices<'p, 'a>(&'p mut Choices<'a>);

impl<'de: 'a, 'a> Visitor<'de> for AllChoices<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of choices")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let choices = self.0;
        *choices = Choices::default();
        while !choices.found {
            let choice = &mut choices.choice;
            if items.next_element_seed(InPlace(choice))?.is_none() {
                return Ok(());
            }
            choices.any_error |= choice.error.0;
            choices.found = choice.index.0.unwrap_or(0) == 0;
        }
        while let Some(other) = items.next_element::<Choice<'de>>()? {
            choices.any_error |= other.error.0;
        }
        Ok(())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Arguments<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(AnyArguments).map(Arguments)
    }
}

struct AnyArguments;

/// What is no text, as compact JSON.
fn compact<E>(value: &Value) -> Result<Cow<'static, str>, E> {
    Ok(Cow::Owned(value.to_string()))
}

impl<'de> Visitor<'de> for AnyArguments {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("arguments")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        compact(&value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        compact(&value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        compact(&value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        compact(&value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
        compact(&Value::deserialize(SeqAccessDeserializer::new(items))?)
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Self::Value, A::Error> {
        compact(&Value::deserialize(MapAccessDeserializer::new(fields))?)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Call<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(CallFields)
    }
}

struct CallFields;

impl<'de> Visitor<'de> for CallFields {
    type Value = Call<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a call")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Call<'de>, A::Error> {
        let mut call = Call::default();
        while let Some(Key(key)) = map.next_key()? {
            match &*key {
                "index" => call.index = map.next_value()?,
                "id" => call.id = map.next_value()?,
                "function" => call.function = map.next_value()?,
                "type" => {
                    map.next_value::<IgnoredAny>()?;
                }
                _ => {
                    let value: Value = map.next_value()?;
                    if !value.is_null() {
                        let extra = call.extra.get_or_insert_default();
                        extra.insert(key.into_owned(), value);
                    }
                }
            }
        }
        Ok(call)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(AnyContent)
    }
}

struct AnyContent;

impl<'de> Visitor<'de> for AnyContent {
    type Value = Content<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text or parts")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Content::None)
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Content::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Content::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut parts = Vec::new();
        while let Some(part) = items.next_element()? {
            within_most(parts.len())?;
            parts.push(part);
        }
        Ok(Content::Parts(parts))
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Self::Value, A::Error> {
        Ok(Content::Parts(vec![AnyPart.visit_map(fields)?]))
    }
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(AnyPart)
    }
}

struct AnyPart;

impl<'de> Visitor<'de> for AnyPart {
    type Value = Part;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a part of content")
    }

    fn visit_unit<E>(self) -> Result<Part, E> {
        Ok(Part::Other)
    }

    fn visit_str<E>(self, text: &str) -> Result<Part, E> {
        Ok(Part::Text(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Part, A::Error> {
        let fields = Fields::deserialize(MapAccessDeserializer::new(fields))?;
        let thinks = matches!(
            fields.kind.said().as_deref(),
            Some("thinking" | "reasoning")
        );
        let refusal = fields.refusal.said();
        Ok(match (fields.thinking.0, fields.text.0, refusal) {
            (thinking, ..) if !thinking.is_empty() => Part::Thinking(thinking),
            (_, text, _) if !text.is_empty() && thinks => Part::Thinking(text),
            (_, text, _) if !text.is_empty() => Part::Text(text),
            (_, _, Some(refusal)) => Part::Refusal(refusal.into_owned()),
            _ => Part::Other,
        })
    }
}

impl<'de> Deserialize<'de> for Words {
    /// Nested parts nest this too, no deeper than the reader of JSON goes.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut words = Words::default();
        match Content::deserialize(from)? {
            Content::None => {}
            Content::Text(text) => words.0 = text.into_owned(),
            Content::Parts(parts) => {
                for part in parts {
                    match part {
                        Part::Text(text) | Part::Thinking(text) => words.0.push_str(&text),
                        Part::Refusal(_) | Part::Other => {}
                    }
                }
            }
        }
        Ok(words)
    }
}
