//! What the two protocols of OpenAI share.

use serde_json::{Value, json};
use turnwright_core::Tool;

use super::codec::{Codec, Environment, Info};
use super::options::Options;
use super::settings::TypedAnswers;
use crate::decode::Framing;

/// A protocol of OpenAI.
///
/// Public only as a bound: this module is private.
pub trait OpenAi: Codec {}

/// The constants that both protocols have. Those of one protocol are empty.
pub(crate) const OPENAI: Info = Info {
    name: "",
    title: "",
    path: "",
    environment: Environment {
        keys: &["OPENAI_API_KEY"],
        base_url: "OPENAI_BASE_URL",
        model: "OPENAI_MODEL",
    },
    base_url: "https://api.openai.com/v1",
    provider: None,
    key_header: ("authorization", "Bearer "),
    headers: &[],
    framing: Framing::Events,
    reserved: &[],
    neutral: &[],
    typed: &[],
    typed_answers: TypedAnswers::JsonSchema,
    media_in_results: false,
    user_names: |_| false,
    finish_is_last: true,
    check_provider_tool: |_| Ok(()),
    unseen_content: |_, _| Vec::new(),
    windows: &[
        ("gpt-3.5-turbo", 16_385),
        ("gpt-4", 8_192),
        ("gpt-4-turbo", 128_000),
        ("gpt-4o", 128_000),
        ("gpt-4.1", 1_047_576),
        ("gpt-5", 400_000),
        ("o1", 200_000),
        ("o3", 200_000),
        ("o4-mini", 200_000),
    ],
    accepts: |_| false,
    quirks: &[],
    counts: &["input", "output", "cached"],
};

/// Returns the schema of a tool as `parameters` of a function. Some servers reject an object without properties.
pub(crate) fn parameters(tool: &Tool) -> Value {
    let mut parameters = tool.describe().input_schema.clone();
    if let Value::Object(map) = &mut parameters {
        map.entry("properties").or_insert_with(|| json!({}));
    }
    parameters
}

/// Parameters that both protocols of OpenAI have.
impl<C: OpenAi> Options<C> {
    /// Sets the verbosity of the answer: `low`, `medium` or `high`.
    pub fn verbosity(self, verbosity: impl Into<String>) -> Self {
        self.set("verbosity", verbosity.into())
    }

    /// Sets the service tier (processing type) of the request.
    pub fn service_tier(self, tier: impl Into<String>) -> Self {
        self.set("service_tier", tier.into())
    }

    /// Sets the metadata that the provider stores with the response.
    pub fn metadata(self, metadata: impl Into<Value>) -> Self {
        self.set("metadata", metadata)
    }

    /// Sets a stable, anonymous identifier of the end user.
    pub fn user(self, id: impl Into<String>) -> Self {
        self.set("user", id.into())
    }

    /// Sets the prompt cache key, which groups requests with a common prefix.
    pub fn prompt_cache_key(self, key: impl Into<String>) -> Self {
        self.set("prompt_cache_key", key.into())
    }
}
