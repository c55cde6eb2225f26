//! The protocol of Ollama, for the engine.

use serde_json::{Value, json};
use turnwright_core::media::MediaKind;
use turnwright_core::{Media, Tool};
use url::Url;

use super::decode::LineReader;
use super::{body, messages};
use crate::decode::{FrameReader, Framing};
use crate::engine::{
    Codec, Encoded, Environment, ErrorBody, ErrorClass, FUNCTION, Info, Item, OptionType,
    RequestParts, TypedAnswers, WireMessage, with_ending, with_path,
};

/// The protocol of Ollama, as the type parameter of a [`Model`](crate::Model).
#[derive(Clone, Debug, Default)]
pub struct OllamaCodec {}

pub(super) static INFO: Info = Info {
    name: super::PROTOCOL,
    title: "Ollama",
    path: "/api/chat",
    environment: Environment {
        keys: &[],
        base_url: "OLLAMA_HOST",
        model: "OLLAMA_MODEL",
    },
    base_url: "http://127.0.0.1:11434",
    provider: Some(super::PROTOCOL),
    // For servers behind a proxy, and for Ollama's cloud.
    key_header: ("authorization", "Bearer "),
    headers: &[],
    framing: Framing::Objects,
    reserved: &["messages", "tools"],
    neutral: &[
        ("temperature", "temperature"),
        ("top_p", "top_p"),
        ("num_predict", "max_output_tokens"),
        ("stop", "stop_sequences"),
        ("seed", "seed"),
        ("presence_penalty", "presence_penalty"),
        ("frequency_penalty", "frequency_penalty"),
    ],
    typed: &[("num_ctx", OptionType::Count)],
    typed_answers: TypedAnswers::JsonSchema,
    media_in_results: false,
    user_names: |_| false,
    finish_is_last: true,
    check_provider_tool: |_| Err(FUNCTION),
    unseen_content: |_, _| Vec::new(),
    windows: &[],
    accepts,
    quirks: &[],
    counts: &["input", "output"],
};

fn accepts(media: &Media) -> bool {
    let mime = media.mime_type().split(';').next().unwrap_or_default();
    let mime = mime.trim().to_ascii_lowercase();
    media.kind() == MediaKind::Image && matches!(mime.as_str(), "image/png" | "image/jpeg")
}

impl Codec for OllamaCodec {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn base_url(&self, value: String) -> String {
        super::host_url(&value)
    }

    fn endpoint(&self, base: &Url) -> Url {
        let mut base = base.clone();
        // Base URLs of other clients end in `/api` or, for Chat Completions, in `/v1`.
        let path = base.path().trim_end_matches('/');
        let path = path.strip_suffix("/v1").unwrap_or(path);
        let path = path.strip_suffix("/api").unwrap_or(path).to_owned();
        base.set_path(&path);
        with_path(&base, "/api/chat")
    }

    fn models_url(&self, endpoint: &Url) -> Url {
        with_ending(endpoint, "/chat", "/tags")
    }

    fn tool(&self, tool: &Tool) -> Value {
        let described = tool.describe();
        let function = json!({
            "name": described.name,
            "description": described.description,
            "parameters": described.input_schema,
        });
        json!({ "type": "function", "function": function })
    }

    fn write(&self, item: Item<'_>, messages: &mut Vec<WireMessage>) {
        messages::write(item, messages);
    }

    fn body(&self, request: &RequestParts<'_>) -> Encoded {
        body::write(request)
    }

    fn reader(&self) -> Box<dyn FrameReader> {
        Box::new(LineReader::default())
    }

    fn classify(&self, error: &ErrorBody<'_>) -> ErrorClass {
        let is_missing = error.status == 404 && error.mentions("not found");
        let advice = match error
            .message
            .split('"')
            .nth(1)
            .or_else(|| error.message.split('\'').nth(1))
        {
            Some(model) if is_missing => Some(format!("download the model: `ollama pull {model}`")),
            _ if is_missing => Some("download the model with `ollama pull`".to_owned()),
            _ if error.mentions("does not support tools") => {
                Some("this model has no tool calls: use another one, or no tools".to_owned())
            }
            _ if error.mentions("does not support thinking") => Some(
                "this model does not think: leave out `think` and `reasoning_effort`".to_owned(),
            ),
            _ => None,
        };
        ErrorClass {
            advice,
            ..ErrorClass::default()
        }
    }
}
