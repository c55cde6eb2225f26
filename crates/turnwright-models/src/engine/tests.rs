//! Requests and their parts, for tests of codecs.

use std::sync::Arc;

use serde_json::{Map, Value};
use turnwright_core::media::MediaKind;
use turnwright_core::spool::MemoryReader;
use turnwright_core::{Media, ModelSettings, Tool, ToolContext};

use super::codec::{AnswerSchema, Codec, Quirks, RequestParts};
use super::item::{Assistant, Call, CallResult, EncodedMedia, Item, Piece, User, UserPart};
use super::options::Options;
use super::tools::Admission;
use super::wire_message::WireMessage;

/// A request in the making.
pub(crate) struct Draft<C: Codec> {
    pub(crate) codec: C,
    pub(crate) model: &'static str,
    pub(crate) options: Options<C>,
    pub(crate) settings: ModelSettings,
    /// The tools of the turn.
    pub(crate) tools: Vec<Arc<str>>,
    /// The name and the schema of a typed answer.
    pub(crate) answer: Option<(&'static str, Option<Value>)>,
    pub(crate) streams: bool,
    pub(crate) quirks: Quirks,
    pub(crate) messages: Vec<WireMessage>,
}

impl<C: Codec + Default> Default for Draft<C> {
    fn default() -> Self {
        Draft {
            codec: C::default(),
            model: "m",
            options: Options::new(),
            settings: ModelSettings::new(),
            tools: Vec::new(),
            answer: None,
            streams: false,
            quirks: Quirks::default(),
            messages: Vec::new(),
        }
    }
}

impl<C: Codec + Default> Draft<C> {
    /// Returns a request with one message of a user.
    pub(crate) fn hi() -> Self {
        Draft::default().with(user("Hi"))
    }

    pub(crate) fn with(mut self, item: Item<'_>) -> Self {
        self.codec.write(item, &mut self.messages);
        self
    }

    pub(crate) fn body(&self) -> Value {
        self.encoded().0
    }

    /// Returns the body, and the warning.
    pub(crate) fn encoded(&self) -> (Value, Option<String>) {
        let options = self.options.clone().model(self.model).into_map();
        let messages: Vec<&WireMessage> = self.messages.iter().collect();
        let provider = options.provider_tools().iter();
        let mut tools = self.tools.clone();
        tools.extend(provider.map(|tool| Arc::from(tool.to_string())));
        let encoded = self.codec.body(&RequestParts {
            model: self.model,
            streams: self.streams,
            settings: &self.settings,
            options: &options,
            tools: &tools,
            functions: self.tools.len(),
            answer: self.answer.as_ref().map(|(name, schema)| AnswerSchema {
                name,
                schema: schema.as_ref(),
            }),
            messages: &messages,
            quirks: self.quirks,
        });
        let body = serde_json::from_str(&encoded.body).unwrap();
        (body, encoded.warning)
    }
}

/// Returns settings with every parameter of sampling.
pub(crate) fn sampling() -> ModelSettings {
    ModelSettings::new()
        .temperature(0.5)
        .top_p(0.9)
        .max_output_tokens(100)
        .stop_sequences(["x"])
        .seed(7)
        .presence_penalty(0.25)
        .frequency_penalty(0.75)
}

pub(crate) fn user(text: &str) -> Item<'static> {
    user_of(vec![UserPart::Text(text.to_owned())])
}

pub(crate) fn user_of(parts: Vec<UserPart>) -> Item<'static> {
    Item::User(User { parts, name: None })
}

/// Returns a response that this server wrote.
pub(crate) fn assistant(pieces: Vec<Piece>) -> Item<'static> {
    Item::Assistant(Assistant {
        pieces,
        state: Map::new(),
        is_own: true,
    })
}

pub(crate) fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        other => panic!("{other} is no object"),
    }
}

pub(crate) fn text(text: &str, attached: Value) -> Piece {
    Piece::Text {
        text: text.to_owned(),
        fields: fields(attached),
    }
}

pub(crate) fn reasoning(text: &str, attached: Value) -> Piece {
    Piece::Reasoning {
        text: text.to_owned(),
        fields: fields(attached),
    }
}

/// Returns a call of `f` that this server made.
pub(crate) fn call(id: &str, attached: Value) -> Piece {
    Piece::Call(Call {
        id: id.to_owned(),
        has_own_id: true,
        name: "f".to_owned(),
        arguments: "{}".to_owned(),
        fields: fields(attached),
    })
}

/// Returns the result of a call of `f` that this server made.
pub(crate) fn result(id: &str, text: &str) -> CallResult {
    CallResult {
        id: id.to_owned(),
        has_own_id: true,
        name: "f".to_owned(),
        parts: vec![UserPart::Text(text.to_owned())],
        is_error: false,
    }
}

/// Returns media with the bytes of "abc".
pub(crate) fn media(kind: MediaKind, mime: &str) -> UserPart {
    let reader = MemoryReader::new(b"abc".to_vec());
    UserPart::Media(EncodedMedia {
        media: Media::user_attachment(kind, mime, "file", reader)
            .build()
            .unwrap(),
        mime: mime.to_owned(),
        data: "YWJj".to_owned(),
    })
}

pub(crate) fn tool(schema: Value) -> Tool {
    Tool::dynamic("f", schema)
        .description("Does it.")
        .handler(|_: Value, _: ToolContext| async { "" })
        .build()
        .unwrap()
}

/// Returns why a request cannot have these tools.
pub(crate) fn rejection<'t>(
    codec: &dyn Codec,
    tools: impl IntoIterator<Item = &'t Tool>,
) -> Option<String> {
    let mut admission = Admission::new(codec);
    let mut tools = tools.into_iter();
    tools.find_map(|tool| admission.admit(tool).err())
}
