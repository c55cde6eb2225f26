//! The wire protocols, by name.

use std::fmt;
use std::str::FromStr;

use turnwright_core::{Error, ErrorCode};

use crate::anthropic::AnthropicCodec;
use crate::chat_completions::ChatCompletionsCodec;
use crate::decode::{Collector, Decoder, Reply, looks_like};
use crate::engine::Codec;
use crate::gemini::GeminiCodec;
use crate::ollama::OllamaCodec;
use crate::responses::ResponsesCodec;

/// A wire protocol of model servers.
///
/// ```
/// use turnwright_models::Protocol;
///
/// let body = r#"{"choices": [{"message": {"content": "Hello!"}, "finish_reason": "stop"}]}"#;
/// let reply = Protocol::ChatCompletions.decode(None, body.as_bytes())?;
/// assert_eq!(reply.text, "Hello!");
/// assert_eq!("ollama".parse::<Protocol>()?, Protocol::Ollama);
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Protocol {
    /// OpenAI Chat Completions, which most servers support.
    ChatCompletions,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Anthropic,
    /// Gemini.
    Gemini,
    /// Ollama.
    Ollama,
}

impl Protocol {
    /// All protocols.
    pub const ALL: [Protocol; 5] = [
        Protocol::ChatCompletions,
        Protocol::Responses,
        Protocol::Anthropic,
        Protocol::Gemini,
        Protocol::Ollama,
    ];

    pub(crate) fn codec(self) -> Box<dyn Codec> {
        match self {
            Protocol::ChatCompletions => Box::<ChatCompletionsCodec>::default(),
            Protocol::Responses => Box::<ResponsesCodec>::default(),
            Protocol::Anthropic => Box::<AnthropicCodec>::default(),
            Protocol::Gemini => Box::<GeminiCodec>::default(),
            Protocol::Ollama => Box::<OllamaCodec>::default(),
        }
    }

    /// Returns the name, which is also that of its options in
    /// [`ModelSettings::provider`](turnwright_core::ModelSettings::provider).
    #[must_use]
    pub fn name(self) -> &'static str {
        self.codec().info().name
    }

    /// Creates a decoder for one response. The content type is only a hint: some servers send none or a wrong one.
    #[must_use]
    pub fn decoder(self, content_type: Option<&str>) -> Decoder {
        let codec = self.codec();
        Decoder::new(codec.reader(), codec.info().framing, content_type)
    }

    /// Decodes a complete response.
    ///
    /// # Errors
    /// Like [`Decoder::push`] and [`Decoder::finish`].
    pub fn decode(self, content_type: Option<&str>, body: &[u8]) -> Result<Reply, Error> {
        let mut decoder = self.decoder(content_type);
        let mut collector = Collector::new();
        let mut deltas = Vec::new();
        // In slices, so that the deltas of a long stream are not all in memory at once.
        for bytes in body.chunks(64 * 1024) {
            decoder.push(bytes, &mut deltas)?;
            collector.extend(deltas.drain(..));
        }
        decoder.finish(&mut deltas)?;
        collector.extend(deltas);
        let mut reply = collector.into_reply();
        reply.state = decoder.take_state();
        Ok(reply)
    }

    /// Returns the protocol that an exchange follows, by the path of its request or, if that is unknown, by the body of
    /// its response.
    ///
    /// ```
    /// use turnwright_models::Protocol;
    ///
    /// assert_eq!(Protocol::detect("/api/chat?x=1", b""), Some(Protocol::Ollama));
    /// assert_eq!(Protocol::detect("/proxy", br#"{"candidates": []}"#), Some(Protocol::Gemini));
    /// assert_eq!(Protocol::detect("/proxy", b"<html>"), None);
    /// ```
    #[doc(hidden)] // For `turnwright wire decode`.
    #[must_use]
    pub fn detect(path: &str, response: &[u8]) -> Option<Protocol> {
        let path = path.split('?').next().unwrap_or_default();
        let path = path.trim_end_matches('/');
        let by_path = |protocol: &Protocol| {
            path.ends_with(match protocol {
                // After the name of the model: `:generateContent` or `:streamGenerateContent`.
                Protocol::Gemini => "enerateContent",
                protocol => protocol.codec().info().path,
            })
        };
        let mut all = Protocol::ALL.into_iter();
        all.find(by_path).or_else(|| {
            let text = std::str::from_utf8(response).ok()?;
            let events = text.lines().filter_map(|line| line.strip_prefix("data:"));
            let mut texts = std::iter::once(text).chain(events).take(20);
            let name = texts.find_map(|text| looks_like(text.trim()))?;
            let is = |protocol: &Protocol| protocol.codec().info().title == name;
            Protocol::ALL.into_iter().find(is)
        })
    }

    /// Returns the environment variables of the API key; the first one that is set counts. Empty if servers need none.
    #[must_use]
    pub fn key_variables(self) -> &'static [&'static str] {
        self.codec().info().environment.keys
    }

    /// Returns the environment variable of the base URL.
    #[must_use]
    pub fn base_url_variable(self) -> &'static str {
        self.codec().info().environment.base_url
    }

    /// Returns the base URL from its environment variable, if it is set.
    #[must_use]
    pub fn base_url_from_env(self) -> Option<String> {
        let codec = self.codec();
        let value = std::env::var(codec.info().environment.base_url).ok()?;
        let value = value.trim();
        (!value.is_empty()).then(|| codec.base_url(value.to_owned()))
    }

    /// Returns the base URL of the provider.
    #[must_use]
    pub fn default_base_url(self) -> &'static str {
        self.codec().info().base_url
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Protocol {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let found = Protocol::ALL.into_iter().find(|item| item.name() == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = Protocol::ALL.iter().map(|item| item.name()).collect();
            let message = format!(
                "no protocol is called `{name}`: use one of {}",
                names.join(", ")
            );
            Error::new(ErrorCode::INVALID_MODEL_CONFIG, message)
        })
    }
}
