//! What a model under test needs.

use std::fmt;
use std::time::Duration;

use serde_json::json;
use turnwright_core::ModelSettings;

use crate::server::model::Protocol;

/// How to create the model under test: the address of its server, and the settings that a check needs. A model that
/// ignores one of them fails the checks that need it.
#[derive(Clone)]
#[non_exhaustive]
pub struct ModelSetup {
    /// The protocol.
    pub protocol: Protocol,
    /// The base URL as clients of the protocol expect it: `http://127.0.0.1:PORT` with `/v1`, with `/v1beta` for Gemini,
    /// with nothing for Ollama.
    pub base_url: String,
    /// The API key. It must not appear in errors, in events or in the output of [`Debug`](fmt::Debug).
    pub api_key: String,
    /// The name of the model.
    pub model: String,
    /// Whether responses are streamed.
    pub stream: bool,
    /// The maximum number of attempts for a request, including the first.
    pub attempts: usize,
    /// The wait before the first retry: very short.
    pub first_wait: Duration,
    /// The longest pause within a response.
    pub idle_timeout: Duration,
    /// The maximum size of one event of a stream.
    pub max_event_bytes: usize,
}

impl ModelSetup {
    pub(super) fn new(protocol: Protocol, url: &str) -> Self {
        let path = match protocol {
            Protocol::Gemini => "/v1beta",
            Protocol::Ollama => "",
            _ => "/v1",
        };
        ModelSetup {
            protocol,
            base_url: format!("{url}{path}"),
            api_key: "sk-conformance-1234567890".to_owned(),
            model: "scripted".to_owned(),
            stream: true,
            attempts: 3,
            first_wait: Duration::from_millis(1),
            idle_timeout: super::BOUND,
            max_event_bytes: 1 << 20,
        }
    }

    /// Returns the settings for the models of `turnwright-models`: the provider option `stream`.
    pub fn settings(&self) -> ModelSettings {
        let options = json!({ "stream": self.stream });
        ModelSettings::new().provider(self.protocol.name(), options)
    }
}

impl fmt::Debug for ModelSetup {
    /// Omits the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelSetup")
            .field("protocol", &self.protocol)
            .field("base_url", &self.base_url)
            .field("model", &self.model)
            .field("stream", &self.stream)
            .finish_non_exhaustive()
    }
}
