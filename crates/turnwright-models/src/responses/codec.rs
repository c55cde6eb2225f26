//! The Responses protocol, for the engine.

use serde_json::{Value, json};
use turnwright_core::{Media, Tool};

use super::decode::EventReader;
use super::options::SystemPrompt;
use super::{body, input, quirks, strict_tools};
use crate::decode::FrameReader;
use crate::engine::{
    Codec, Encoded, ErrorBody, ErrorClass, FUNCTION, Info, Item, OPENAI, OpenAi, OptionType,
    RequestParts, StrictRules, WireMessage, is_common_image, is_pdf, openai_parameters,
    provider_tool_type,
};

/// The Responses protocol, as the type parameter of a [`Model`](crate::Model).
#[derive(Clone, Debug, Default)]
pub struct ResponsesCodec {
    pub(super) system: SystemPrompt,
    /// Whether requests refer to the previous response, which the server stores.
    pub(super) chains: bool,
    pub(super) strict: bool,
}

pub(super) static INFO: Info = Info {
    name: super::PROTOCOL,
    title: "OpenAI Responses",
    path: "/responses",
    reserved: &[
        "input",
        "instructions",
        "tools",
        "previous_response_id",
        "conversation",
    ],
    neutral: &[
        ("temperature", "temperature"),
        ("top_p", "top_p"),
        ("max_output_tokens", "max_output_tokens"),
        ("tool_choice", "tool_choice"),
        ("parallel_tool_calls", "parallel_tool_calls"),
    ],
    typed: &[
        ("include", OptionType::List),
        ("store", OptionType::Bool),
        ("reasoning_summary", OptionType::Text),
        ("verbosity", OptionType::Text),
        ("service_tier", OptionType::Text),
        ("user", OptionType::Text),
        ("prompt_cache_key", OptionType::Text),
    ],
    media_in_results: true,
    check_provider_tool,
    accepts,
    quirks: quirks::NAMES,
    counts: &["input", "output", "cached", "cache_write", "reasoning"],
    ..OPENAI
};

impl OpenAi for ResponsesCodec {}

/// Tools that the client has to run, and this crate does not.
const RUN_BY_CLIENT: &[&str] = &[
    "custom",
    "computer",
    "computer_use_preview",
    "local_shell",
    "apply_patch",
];

fn check_provider_tool(tool: &Value) -> Result<(), &'static str> {
    let kind = provider_tool_type(tool)?;
    match kind {
        "function" => Err(FUNCTION),
        _ if RUN_BY_CLIENT.contains(&kind) => {
            Err("this tool does not run at the provider: register a `Tool` with the runner")
        }
        _ => Ok(()),
    }
}

fn accepts(media: &Media) -> bool {
    is_common_image(media) || is_pdf(media)
}

impl Codec for ResponsesCodec {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn tool(&self, tool: &Tool) -> Value {
        let described = tool.describe();
        // Without `strict`, OpenAI rewrites the schema.
        json!({
            "type": "function",
            "name": described.name,
            "description": described.description,
            "parameters": openai_parameters(tool),
            "strict": self.strict,
        })
    }

    fn strict_rules(&self) -> Option<&'static StrictRules> {
        self.strict.then_some(&strict_tools::RULES)
    }

    fn write(&self, item: Item<'_>, messages: &mut Vec<WireMessage>) {
        input::write(item, messages);
    }

    fn body(&self, request: &RequestParts<'_>) -> Encoded {
        body::write(self, request)
    }

    fn reader(&self) -> Box<dyn FrameReader> {
        Box::new(EventReader::new(self.chains))
    }

    fn classify(&self, error: &ErrorBody<'_>) -> ErrorClass {
        let advice = if error.mentions("model_not_found") {
            Some("does the model exist at this server?")
        } else if error.status == 400 && error.mentions("Incorrect API key") {
            Some("is the key right? Set it with `api_key` or OPENAI_API_KEY")
        } else {
            None
        };
        ErrorClass {
            quirks: quirks::from_error(error),
            advice: advice.map(str::to_owned),
            ..ErrorClass::default()
        }
    }
}
