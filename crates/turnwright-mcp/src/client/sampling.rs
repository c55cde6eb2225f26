//! Sampling: answers of a model for a server.

use std::future::Future;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use turnwright_core::{BoxError, Error, ToolContext, TurnInput};

use super::result;

/// A request of a server for an answer of a model (`sampling/createMessage`). All of it is third-party text, and the answer goes to
/// the server. See [`McpServer::sampling`](crate::McpServer::sampling).
///
/// ```
/// use turnwright_core::{BoxError, TurnRunner};
/// use turnwright_mcp::{SamplingAnswer, SamplingRequest};
///
/// /// Answers with a runner of its own, which has no tools.
/// async fn sample(runner: &TurnRunner, request: SamplingRequest) -> Result<SamplingAnswer, BoxError> {
///     let answer = runner.run(request.input()?).await.into_answer()?;
///     Ok(SamplingAnswer::new("qwen3", answer))
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SamplingRequest {
    /// The alias of the server.
    pub server: String,
    /// The parameters as the server sent them: `messages`, `systemPrompt`, `maxTokens` and others.
    pub params: Value,
    /// The call during which the server asks. Use it to ask a person first: [`ToolContext::wait_for`].
    pub context: ToolContext,
}

impl SamplingRequest {
    /// Returns the system prompt and the messages as the input of a turn. The model reads them inside an envelope for untrusted text.
    /// The turn runs [under the call](TurnInput::under_call), so it is cancelled with it and shares its budget.
    ///
    /// # Errors
    /// Returns an error if there is no text in them.
    pub fn input(&self) -> Result<TurnInput, Error> {
        let system = self.params.get("systemPrompt").and_then(Value::as_str);
        let messages = self.params.get("messages").and_then(Value::as_array);
        let messages = messages.map(Vec::as_slice).unwrap_or_default();
        let private = self.context.tool().reads_private();
        let input = result::turn_input(&self.server, private, system, messages)?;
        Ok(input.under_call(&self.context))
    }
}

/// The answer to a [`SamplingRequest`].
///
/// ```
/// use turnwright_mcp::SamplingAnswer;
///
/// let answer = SamplingAnswer::new("qwen3", "The text is about cats.");
/// # drop(answer);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SamplingAnswer {
    model: String,
    text: String,
}

impl SamplingAnswer {
    /// Creates an answer: the name of the model, and its text.
    pub fn new(model: impl Into<String>, text: impl Into<String>) -> Self {
        let (model, text) = (model.into(), text.into());
        SamplingAnswer { model, text }
    }

    fn into_result(self) -> Value {
        json!({
            "model": self.model, "role": "assistant", "stopReason": "endTurn",
            "content": { "type": "text", "text": self.text },
        })
    }
}

type Sample =
    dyn Fn(SamplingRequest) -> BoxFuture<'static, Result<SamplingAnswer, BoxError>> + Send + Sync;

/// Answers requests for sampling.
#[derive(Clone)]
pub(super) struct Sampler(Arc<Sample>);

impl Sampler {
    pub(super) fn new<F, R, E>(sample: F) -> Self
    where
        F: Fn(SamplingRequest) -> R + Send + Sync + 'static,
        R: Future<Output = Result<SamplingAnswer, E>> + Send + 'static,
        E: Into<BoxError>,
    {
        Sampler(Arc::new(move |request| {
            sample(request)
                .map(|answer| answer.map_err(Into::into))
                .boxed()
        }))
    }

    /// Returns the result of a request. `None` if it is refused; then the turn has a warning that says why.
    pub(super) async fn sample(
        &self,
        server: &str,
        params: Value,
        ctx: &ToolContext,
    ) -> Option<Value> {
        let request = SamplingRequest {
            server: server.to_owned(),
            params,
            context: ctx.clone(),
        };
        match (self.0)(request).await {
            Ok(answer) => Some(answer.into_result()),
            Err(error) => {
                // The server does not get the reason, which may have private parts.
                let message =
                    format!("refused a sampling request of the MCP server `{server}`: {error}");
                ctx.turn().warn(message);
                None
            }
        }
    }
}
