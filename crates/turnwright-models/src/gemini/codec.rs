//! The Gemini API, for the engine.

use serde_json::{Value, json};
use turnwright_core::media::MediaKind;
use turnwright_core::trust::TrustTier;
use turnwright_core::{Media, Tool};
use url::Url;

use super::decode::PartReader;
use super::{body, contents};
use crate::decode::{FrameReader, Framing, provider_tier};
use crate::engine::{
    Codec, Encoded, Environment, ErrorBody, ErrorClass, FUNCTION, Info, Item, OptionMap,
    OptionType, RequestParts, TypedAnswers, WireMessage, is_common_image, is_pdf,
};

/// The Gemini API, as the type parameter of a [`Model`](crate::Model).
#[derive(Clone, Debug, Default)]
pub struct GeminiCodec {}

pub(super) static INFO: Info = Info {
    name: super::PROTOCOL,
    title: "Gemini",
    path: "/models",
    environment: Environment {
        keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        base_url: "GEMINI_BASE_URL",
        model: "GEMINI_MODEL",
    },
    base_url: "https://generativelanguage.googleapis.com/v1beta",
    provider: None,
    key_header: ("x-goog-api-key", ""),
    headers: &[],
    framing: Framing::Events,
    reserved: &[
        "contents",
        "tools",
        "systemInstruction",
        "system_instruction",
    ],
    neutral: &[
        ("temperature", "temperature"),
        ("topP", "top_p"),
        ("maxOutputTokens", "max_output_tokens"),
        ("stopSequences", "stop_sequences"),
        ("seed", "seed"),
        ("presencePenalty", "presence_penalty"),
        ("frequencyPenalty", "frequency_penalty"),
        ("toolConfig", "tool_choice"),
    ],
    typed: &[
        ("topK", OptionType::Count),
        ("safetySettings", OptionType::List),
        ("cachedContent", OptionType::Text),
    ],
    // Most models reject a response schema together with functions.
    typed_answers: TypedAnswers::Prompt,
    media_in_results: false,
    user_names: |_| false,
    // With code execution, text can follow a finish reason.
    finish_is_last: false,
    check_provider_tool,
    unseen_content,
    windows: &[
        ("gemini-1.5-flash", 1_048_576),
        ("gemini-1.5-pro", 2_097_152),
        ("gemini-2", 1_048_576),
        ("gemini-3", 1_048_576),
    ],
    accepts,
    quirks: &[],
    counts: &[
        "input",
        "output",
        "cached",
        "reasoning",
        "tool_input",
        "total",
    ],
};

fn check_provider_tool(tool: &Value) -> Result<(), &'static str> {
    match tool.as_object() {
        None => Err("a provider tool must be an object like `{\"googleSearch\": {}}`"),
        Some(fields) if fields.contains_key("functionDeclarations") => Err(FUNCTION),
        Some(_) => Ok(()),
    }
}

/// A part of the response, or its grounding, shows each of them. The grounding can be in the last chunk, so that a response
/// that was cut off may lack it.
fn unseen_content(options: &OptionMap, is_complete: bool) -> Vec<TrustTier> {
    let tools = options.provider_tools().iter().filter(|_| !is_complete);
    let names = tools.filter_map(|tool| tool.as_object()?.keys().next());
    names.map(|name| provider_tier(name)).collect()
}

fn accepts(media: &Media) -> bool {
    let is_known = matches!(media.kind(), MediaKind::Audio | MediaKind::Video);
    is_known || is_common_image(media) || is_pdf(media)
}

impl Codec for GeminiCodec {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn url(&self, endpoint: &Url, model: &str, streams: bool) -> Url {
        let mut url = endpoint.clone();
        let method = if streams {
            "streamGenerateContent"
        } else {
            "generateContent"
        };
        let model = model.strip_prefix("models/").unwrap_or(model);
        let path = endpoint.path();
        url.set_path(&format!("{path}/{model}:{method}"));
        if streams {
            // Without it, a stream is one JSON array.
            url.query_pairs_mut().append_pair("alt", "sse");
        }
        url
    }

    fn models_url(&self, endpoint: &Url) -> Url {
        let mut url = endpoint.clone();
        url.query_pairs_mut().append_pair("pageSize", "1000");
        url
    }

    fn tool(&self, tool: &Tool) -> Value {
        let described = tool.describe();
        json!({
            "name": described.name,
            "description": described.description,
            "parametersJsonSchema": described.input_schema,
        })
    }

    fn write(&self, item: Item<'_>, messages: &mut Vec<WireMessage>) {
        contents::write(item, messages);
    }

    fn body(&self, request: &RequestParts<'_>) -> Encoded {
        body::write(request).into()
    }

    fn reader(&self) -> Box<dyn FrameReader> {
        Box::new(PartReader::default())
    }

    fn classify(&self, error: &ErrorBody<'_>) -> ErrorClass {
        ErrorClass {
            is_wrong_key: error.status == 400 && error.mentions("API key not valid"),
            ..ErrorClass::default()
        }
    }
}
