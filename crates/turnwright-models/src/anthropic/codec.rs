//! The Anthropic Messages protocol, for the engine.

use serde_json::{Value, json};
use turnwright_core::{Media, Tool};
use url::Url;

use super::decode::MessageReader;
use super::models::WINDOWS;
use super::{body, messages, options, quirks, strict_tools};
use crate::decode::{FrameReader, Framing};
use crate::engine::{
    Codec, Encoded, Environment, ErrorBody, ErrorClass, FUNCTION, Info, Item, OptionType,
    RequestParts, StrictRules, TypedAnswers, WireMessage, is_common_image, is_pdf,
    provider_tool_type, with_path,
};

/// The Anthropic Messages protocol, as the type parameter of a [`Model`](crate::Model).
#[derive(Clone, Debug, Default)]
pub struct AnthropicCodec {
    pub(super) strict_tools: bool,
}

pub(super) static INFO: Info = Info {
    name: super::PROTOCOL,
    title: "Anthropic Messages",
    path: "/messages",
    environment: Environment {
        keys: &["ANTHROPIC_API_KEY"],
        base_url: "ANTHROPIC_BASE_URL",
        model: "ANTHROPIC_MODEL",
    },
    base_url: "https://api.anthropic.com/v1",
    provider: None,
    key_header: ("x-api-key", ""),
    headers: &[("anthropic-version", "2023-06-01")],
    framing: Framing::Events,
    reserved: &["messages", "system", "tools"],
    neutral: &[
        ("temperature", "temperature"),
        ("top_p", "top_p"),
        ("max_tokens", "max_output_tokens"),
        ("stop_sequences", "stop_sequences"),
        ("tool_choice", "tool_choice"),
    ],
    typed: &[
        ("top_k", OptionType::Count),
        ("service_tier", OptionType::Text),
        (options::PROMPT_CACHING, OptionType::Bool),
    ],
    typed_answers: TypedAnswers::Prompt,
    media_in_results: true,
    user_names: |_| false,
    finish_is_last: true,
    check_provider_tool,
    // A block of the response shows each of them.
    unseen_content: |_, _| Vec::new(),
    windows: WINDOWS,
    accepts,
    quirks: quirks::NAMES,
    counts: &["input", "output", "cached", "cache_write", "reasoning"],
};

/// Keywords that the API rejects at the root of a schema.
const UNIONS: [&str; 3] = ["anyOf", "oneOf", "allOf"];

fn check_provider_tool(tool: &Value) -> Result<(), &'static str> {
    let kind = provider_tool_type(tool)?;
    if kind == "custom" || tool.get("input_schema").is_some() {
        Err(FUNCTION)
    } else {
        Ok(())
    }
}

fn accepts(media: &Media) -> bool {
    is_common_image(media) || is_pdf(media)
}

impl Codec for AnthropicCodec {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn endpoint(&self, base: &Url) -> Url {
        let path = base.path().trim_end_matches('/');
        if path.ends_with("/v1") || path.ends_with("/messages") {
            with_path(base, "/messages")
        } else {
            with_path(base, "/v1/messages")
        }
    }

    fn tool(&self, tool: &Tool) -> Value {
        let described = tool.describe();
        let mut written = json!({
            "name": described.name,
            "description": described.description,
            "input_schema": described.input_schema,
        });
        if let (Value::Object(fields), true) = (&mut written, self.strict_tools) {
            fields.insert("strict".to_owned(), true.into());
        }
        written
    }

    fn rejects_tool(&self, tool: &Tool) -> Option<String> {
        let document = tool.schema().document();
        let union = UNIONS
            .iter()
            .find(|keyword| document.get(**keyword).is_some());
        if let Some(keyword) = union {
            return Some(format!(
                "its schema has `{keyword}` at the root, which the API rejects: put the alternatives into a field of an object"
            ));
        }
        if document.get("type").and_then(Value::as_str) != Some("object") {
            let why = "its schema has no `type` of `object` at the root, which the API requires: put the value into a field of an object";
            return Some(why.to_owned());
        }
        None
    }

    fn strict_rules(&self) -> Option<&'static StrictRules> {
        self.strict_tools.then_some(&strict_tools::RULES)
    }

    fn write(&self, item: Item<'_>, messages: &mut Vec<WireMessage>) {
        messages::write(item, messages);
    }

    fn body(&self, request: &RequestParts<'_>) -> Encoded {
        body::write(request)
    }

    fn reader(&self) -> Box<dyn FrameReader> {
        Box::new(MessageReader::default())
    }

    fn classify(&self, error: &ErrorBody<'_>) -> ErrorClass {
        let advice = match error.status {
            402 => Some("check the billing of the account"),
            400 if error.mentions("credit balance") => Some("add credit to the account"),
            _ => None,
        };
        ErrorClass {
            quirks: quirks::from_error(error),
            advice: advice.map(str::to_owned),
            ..ErrorClass::default()
        }
    }
}
