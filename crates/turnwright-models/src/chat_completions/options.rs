//! The parameters of a request that only Chat Completions has.

use serde_json::Value;

use super::ChatCompletionsCodec;
use crate::engine::Options;

impl Options<ChatCompletionsCodec> {
    /// Sets the stream options. `null` sends none. Default: include the usage.
    pub fn stream_options(self, options: impl Into<Value>) -> Self {
        self.set("stream_options", options)
    }

    /// Sets the logit bias: the likelihood of tokens to appear, by token id.
    pub fn logit_bias(self, bias: impl Into<Value>) -> Self {
        self.set("logit_bias", bias)
    }

    /// Sets whether to return log probabilities of the output tokens.
    pub fn logprobs(self, returned: bool) -> Self {
        self.set("logprobs", returned)
    }

    /// Sets the response format. Set automatically for typed answers.
    pub fn response_format(self, format: impl Into<Value>) -> Self {
        self.set("response_format", format)
    }

    /// Sets the output modalities, such as `text` and `audio`.
    pub fn modalities(self, modalities: impl Into<Value>) -> Self {
        self.set("modalities", modalities)
    }

    /// Sets the voice and format of audio output.
    pub fn audio(self, audio: impl Into<Value>) -> Self {
        self.set("audio", audio)
    }

    /// Sets the predicted output, which speeds up responses that are mostly known in advance.
    pub fn prediction(self, prediction: impl Into<Value>) -> Self {
        self.set("prediction", prediction)
    }

    /// Sets the options for web search.
    pub fn web_search_options(self, options: impl Into<Value>) -> Self {
        self.set("web_search_options", options)
    }

    /// Sets whether the provider stores the response.
    pub fn store(self, stores: bool) -> Self {
        self.set("store", stores)
    }
}
