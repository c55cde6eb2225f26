//! The Chat Completions protocol, for the engine.

use serde_json::{Value, json};
use turnwright_core::media::MediaKind;
use turnwright_core::trust::TrustTier;
use turnwright_core::{Media, Tool};
use url::Url;

use super::decode::ChunkReader;
use super::options::{ReturnReasoning, SystemRole};
use super::quirks::{self, MAX_COMPLETION_TOKENS, STRICT_ROLES};
use super::{body, messages};
use crate::decode::{FrameReader, provider_tier};
use crate::engine::{
    Codec, Encoded, ErrorBody, ErrorClass, FUNCTION, Info, Item, OPENAI, OpenAi, OptionMap,
    OptionType, Quirks, RequestParts, WireMessage, audio_format, is_common_image, is_pdf,
    openai_parameters, provider_tool_type,
};

/// The Chat Completions protocol, as the type parameter of a [`Model`](crate::Model).
#[derive(Clone, Debug, Default)]
pub struct ChatCompletionsCodec {
    pub(super) role: SystemRole,
    pub(super) reasoning: ReturnReasoning,
    pub(super) strict_roles: bool,
    pub(super) max_completion_tokens: Option<bool>,
}

pub(super) static INFO: Info = Info {
    name: super::PROTOCOL,
    title: "Chat Completions",
    path: "/chat/completions",
    reserved: &["messages", "tools", "functions", "function_call"],
    neutral: &[
        ("temperature", "temperature"),
        ("top_p", "top_p"),
        ("max_tokens", "max_output_tokens"),
        ("max_completion_tokens", "max_output_tokens"),
        ("stop", "stop_sequences"),
        ("seed", "seed"),
        ("presence_penalty", "presence_penalty"),
        ("frequency_penalty", "frequency_penalty"),
        ("reasoning_effort", "reasoning_effort"),
        ("tool_choice", "tool_choice"),
        ("parallel_tool_calls", "parallel_tool_calls"),
    ],
    typed: &[
        ("verbosity", OptionType::Text),
        ("service_tier", OptionType::Text),
        ("store", OptionType::Bool),
        ("user", OptionType::Text),
        ("prompt_cache_key", OptionType::Text),
    ],
    user_names: messages::is_valid_user_name,
    check_provider_tool,
    unseen_content,
    accepts,
    quirks: quirks::NAMES,
    ..OPENAI
};

/// Options that let servers search the web.
const SEARCH_OPTIONS: [&str; 3] = ["web_search_options", "search_parameters", "plugins"];

impl OpenAi for ChatCompletionsCodec {}

fn check_provider_tool(tool: &Value) -> Result<(), &'static str> {
    let kind = provider_tool_type(tool)?;
    if kind.eq_ignore_ascii_case("function") || tool.get("function").is_some() {
        Err(FUNCTION)
    } else {
        Ok(())
    }
}

fn unseen_content(options: &OptionMap, _: bool) -> Vec<TrustTier> {
    let tools = options.provider_tools().iter();
    let kinds = tools.filter_map(|tool| tool.get("type")?.as_str());
    let searches = SEARCH_OPTIONS
        .iter()
        .any(|name| options.get(name).is_some());
    kinds
        .chain(searches.then_some("web_search"))
        .map(provider_tier)
        .collect()
}

/// Returns `true` if most servers with media support accept this media.
fn accepts(media: &Media) -> bool {
    let is_audio = media.kind() == MediaKind::Audio && audio_format(media.mime_type()).is_some();
    is_audio || is_common_image(media) || is_pdf(media)
}

impl Codec for ChatCompletionsCodec {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn tool(&self, tool: &Tool) -> Value {
        let described = tool.describe();
        let function = json!({
            "name": described.name,
            "description": described.description,
            "parameters": openai_parameters(tool),
        });
        json!({ "type": "function", "function": function })
    }

    fn write(&self, item: Item<'_>, messages: &mut Vec<WireMessage>) {
        messages::write(self, item, messages);
    }

    fn body(&self, request: &RequestParts<'_>) -> Encoded {
        body::write(request).into()
    }

    fn reader(&self) -> Box<dyn FrameReader> {
        Box::new(ChunkReader::default())
    }

    fn classify(&self, error: &ErrorBody<'_>) -> ErrorClass {
        ErrorClass {
            quirks: quirks::from_error(error),
            ..ErrorClass::default()
        }
    }

    fn quirks_of(&self, endpoint: &Url) -> Quirks {
        let host = endpoint.host_str().unwrap_or_default();
        let of_openai = host == "api.openai.com" || host.ends_with(".openai.azure.com");
        let max_completion_tokens = self.max_completion_tokens.unwrap_or(of_openai);
        Quirks::default()
            .with_if(STRICT_ROLES, self.strict_roles)
            .with_if(MAX_COMPLETION_TOKENS, max_completion_tokens)
    }
}
