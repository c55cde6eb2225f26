//! One iteration: writes the prompt, sends the request and runs the calls.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio::time::Instant;
use turnwright_core::dispatch::{Executor, ToolCallWriter};
use turnwright_core::dispatch::{FinishReason, ModelUsage};
use turnwright_core::event::Level;
use turnwright_core::render::Renderer;
use turnwright_core::{BoxError, DispatchContext, Error, ErrorCode, ErrorKind, Usage};

use super::adapter::Adapter;
use super::attempt::Exchange;
use super::body::{Body, answer_instructions, response_format};
use super::decode::{Cut, Reply, ReplyCall, excerpt, neutral};
use super::live_output::{LiveOutput, Streamed};
use super::messages::{ChatWriter, DETAILS, FIELD};
use super::quirks::Quirks;
use super::wire_message::WireMessage;
use super::{ChatCompletions, PROTOCOL, context_window, tools};
use turnwright_core::transcript::{ResponseState, SystemPrompt, Transcript};

/// The number of consecutive truncated responses after which the turn ends.
const MAX_CUTS: u32 = 3;

/// The most characters of a finish reason in a message.
const MAX_REASON: usize = 60;

/// The prompts of a turn, one for each server.
#[derive(Default)]
struct Prompts(Mutex<Vec<(Arc<Adapter>, PromptState)>>);

/// The prompt of a server in this turn.
#[derive(Default)]
struct PromptState {
    transcript: Transcript<WireMessage>,
    /// The ids of calls in the prompt.
    ids: HashSet<String>,
    /// The number of consecutive truncated responses.
    cuts: u32,
    /// Cached, because deriving its secret is expensive.
    renderer: Option<Renderer>,
}

impl Prompts {
    fn take(&self, adapter: &Arc<Adapter>) -> PromptState {
        let mut prompts = self.0.lock();
        let mut owners = prompts.iter().map(|(owner, _)| owner);
        let index = owners.position(|owner| Arc::ptr_eq(owner, adapter));
        index
            .map(|index| prompts.swap_remove(index).1)
            .unwrap_or_default()
    }

    fn put(&self, adapter: &Arc<Adapter>, prompt: PromptState) {
        self.0.lock().push((Arc::clone(adapter), prompt));
    }
}

#[async_trait]
impl Executor for ChatCompletions {
    async fn execute(&self, ctx: DispatchContext) -> Result<(), BoxError> {
        let prompts = ctx.turn().per_turn::<Prompts>();
        let mut prompt = prompts.take(&self.adapter);
        let done = self.iterate(&ctx, &mut prompt).await;
        prompts.put(&self.adapter, prompt);
        Ok(done?)
    }

    fn name(&self) -> &str {
        &self.adapter.name
    }

    fn model(&self) -> Option<&str> {
        self.options.model_name()
    }
}

impl ChatCompletions {
    async fn iterate(&self, ctx: &DispatchContext, prompt: &mut PromptState) -> Result<(), Error> {
        let adapter = &*self.adapter;
        let parameters = self.parameters(ctx)?;
        let options = &parameters.options;
        let visible = ctx.tools().visible();
        self.update(ctx, prompt).await?;
        let tools = adapter.tools.of(&visible, options, ctx);
        context_window::check(adapter, &parameters, &tools, prompt.transcript.messages())?;
        let format = response_format(ctx.turn(), options, adapter.settings.typed);
        let transcript = &prompt.transcript;
        let body = Body {
            parameters: &parameters,
            tools: &tools,
            response_format: format,
        };
        let write = |quirks: Quirks| body.write(transcript.messages(), quirks);
        let mut exchange = adapter.exchange(ctx, write).await;
        exchange.failed = exchange.failed.map(|error| with_hint(error, &visible));
        self.settle(ctx, exchange, prompt).await
    }

    /// Adds new records to the prompt.
    async fn update(&self, ctx: &DispatchContext, prompt: &mut PromptState) -> Result<(), Error> {
        let adapter = &*self.adapter;
        let renderer = match &prompt.renderer {
            Some(renderer) => renderer.clone(),
            None => {
                let secret = ctx.turn().secret().map_err(|error| {
                    let message = "the system has no randomness for the secret of the conversation";
                    Error::new(ErrorCode::INVALID_TURN_CONTEXT, message).with_source(error)
                })?;
                let renderer = ChatWriter::renderer_for(adapter, Renderer::new(secret));
                prompt.renderer.insert(renderer).clone()
            }
        };
        let system = || {
            let mut text = ctx.instructions().unwrap_or_default().to_owned();
            if let Some(instructions) = answer_instructions(ctx.turn(), adapter.settings.typed) {
                text = format!("{text}\n\n{instructions}").trim().to_owned();
            }
            SystemPrompt::new(text).explain_envelopes(adapter.settings.explains_envelopes)
        };
        let mut writer = ChatWriter {
            adapter,
            renderer,
            used: &mut prompt.ids,
            turn: ctx.turn(),
        };
        let transcript = &mut prompt.transcript;
        transcript
            .update(&ctx.records().timeline(), system, &mut writer)
            .await
    }

    /// Records the response, and runs its calls if it is complete.
    async fn settle(
        &self,
        ctx: &DispatchContext,
        exchange: Exchange,
        prompt: &mut PromptState,
    ) -> Result<(), Error> {
        let Exchange {
            reply,
            output,
            sent,
            failed,
        } = exchange;
        let known_complete = failed.is_none() && reply.is_complete();
        if failed.is_none() || reply.usage.is_some() {
            ctx.reporter().usage(self.usage_of(&reply, &output, sent));
        }
        let has_calls = !reply.tool_calls.is_empty();
        let mut state = ResponseState::new(&*self.adapter.from);
        // Text counts as complete unless the response is known to be truncated. Calls count as complete only if the
        // response is known to be complete.
        let complete = known_complete || (failed.is_none() && !has_calls && reply.cut().is_none());
        if !complete {
            state = state.truncated(why_cut(&reply, failed.as_ref()));
        }
        let is_answer = complete && !has_calls && !reply.text.is_empty();
        let mut calls = self.record_text(&reply, output, &state, is_answer).await?;
        calls.resize_with(reply.tool_calls.len(), || None);
        if known_complete && has_calls {
            prompt.cuts = 0;
            let calls = reply.tool_calls.into_iter().zip(calls);
            let calls = calls.map(|(call, streamed)| {
                propose(ctx, call, streamed, &state).empty_args_as_object()
            });
            ctx.call_tools(calls.collect::<Vec<_>>()).await;
            return Ok(());
        }
        if complete {
            prompt.cuts = 0;
            if !known_complete {
                let ended = self.describe_end(&reply);
                let message = format!("{ended}: its text is used as the answer");
                ctx.log(Level::Warn, message);
            }
            return end(ctx, &reply);
        }
        for (call, streamed) in reply.tool_calls.iter().zip(calls) {
            let call = propose(ctx, call.clone(), streamed, &state);
            Box::pin(call.record_incomplete()).await?;
        }
        prompt.cuts += 1;
        if let Some(error) = failed {
            return Err(error);
        }
        let ended = self.describe_end(&reply);
        if has_calls {
            let count = reply.tool_calls.len();
            let message =
                format!("{ended}: its calls ({count}) are kept as incomplete and not executed");
            ctx.log(Level::Warn, message);
        }
        // The next prompt reports the truncation, and the model tries again.
        match has_calls && prompt.cuts < MAX_CUTS {
            true => Ok(()),
            false => ctx.nack(incomplete(&reply, &ended)),
        }
    }

    /// Returns the tokens of a response, its model, finish reason and durations.
    fn usage_of(&self, reply: &Reply, output: &LiveOutput, sent: Instant) -> ModelUsage {
        let mut usage = ModelUsage::new(reply.usage.unwrap_or(Usage::tokens(0, 0)));
        usage.duration = Some(sent.elapsed());
        let first = output.first_piece();
        usage.time_to_first_token = first.map(|first| first.saturating_duration_since(sent));
        let model = reply.model.as_deref().or_else(|| self.model());
        usage.model = model.map(|model| excerpt(model, MAX_REASON).into());
        usage.finish_reason = reply.finish_reason.as_deref().map(|reason| {
            let other = || excerpt(&self.adapter.redacted(reason), MAX_REASON);
            neutral(reason).unwrap_or_else(|| FinishReason::Other(other().into()))
        });
        usage
    }

    /// Explains to operators why a response is not known to be complete.
    fn describe_end(&self, reply: &Reply) -> String {
        match reply.finish_reason.as_deref() {
            None => "the response has no finish reason".to_owned(),
            Some(_) if !reply.has_ended() && reply.cut().is_none() => {
                "the response continued after its finish reason without another one".to_owned()
            }
            Some(reason) => {
                // The reason can be any text.
                let reason = excerpt(&self.adapter.redacted(reason), MAX_REASON);
                match reply.cut() {
                    None => format!(
                        "the finish reason \"{reason}\" is not known to end a complete response"
                    ),
                    Some(_) => format!("the response was cut off (finish reason \"{reason}\")"),
                }
            }
        }
    }

    /// Records reasoning and text. `is_answer` marks the text as the answer. Returns what was streamed of the calls.
    async fn record_text(
        &self,
        reply: &Reply,
        output: LiveOutput,
        state: &ResponseState,
        is_answer: bool,
    ) -> Result<Vec<Option<ToolCallWriter>>, Error> {
        let mut fields = Map::new();
        if let Some(field) = reply.reasoning_field {
            fields.insert(FIELD.to_owned(), Value::from(field.as_str()));
        }
        if !reply.reasoning_details.is_empty() {
            let details = reply.reasoning_details.clone();
            fields.insert(DETAILS.to_owned(), Value::from(details));
        }
        let Streamed {
            thought,
            message,
            calls,
        } = output.into_streamed(!fields.is_empty());
        if let Some(mut thought) = thought {
            thought.provider_state(state.with_fields(fields).for_protocol(PROTOCOL));
            thought.finish().await?;
        }
        if let Some(mut message) = message {
            message.provider_state(state.for_protocol(PROTOCOL));
            match is_answer {
                true => message.finish_as_answer().await?,
                false => message.finish().await?,
            };
        }
        Ok(calls)
    }
}

/// Ends the turn after a complete response.
fn end(ctx: &DispatchContext, reply: &Reply) -> Result<(), Error> {
    if reply.text.is_empty() && !reply.refusal.is_empty() {
        let message =
            "the model declined to answer: its explanation is the last message of the turn";
        return ctx.nack(Error::new(ErrorCode::MODEL_DECLINED, message));
    }
    if reply.text.is_empty() {
        ctx.log(Level::Warn, "the response has neither text nor calls");
    }
    ctx.ack()
}

fn propose(
    ctx: &DispatchContext,
    call: ReplyCall,
    streamed: Option<ToolCallWriter>,
    state: &ResponseState,
) -> turnwright_core::call::ProposedCall {
    let state = state.with_fields(call.extra.unwrap_or_default());
    let proposed = match streamed {
        Some(streamed) => streamed.propose(call.name, call.arguments),
        None => ctx.propose(call.name, call.arguments),
    };
    let proposed = proposed.with_provider_state(state.for_protocol(PROTOCOL));
    match call.id {
        Some(id) if !id.is_empty() => proposed.with_provider_id(id),
        _ => proposed,
    }
}

/// Explains to the model why a response is not complete.
fn why_cut(reply: &Reply, failed: Option<&Error>) -> &'static str {
    match (failed, reply.cut()) {
        (Some(_), _) => "the connection broke",
        (None, Some(Cut::Length)) => "it reached the token limit",
        (None, Some(Cut::Filter)) => "the provider's content filter stopped it",
        (None, Some(Cut::Failure)) => "the provider failed",
        (None, None) if reply.finish_reason.is_none() => "it has no finish reason",
        (None, None) if reply.has_ended() => "its finish reason is unknown",
        (None, None) => "it continued after its finish reason",
    }
}

/// The error for a response that is not complete.
fn incomplete(reply: &Reply, ended: &str) -> Error {
    let (kind, message) = match reply.cut() {
        Some(Cut::Length) => (
            ErrorKind::Unavailable,
            "the response reached the token limit before it was complete: allow more with `ModelSettings::max_output_tokens`, or ask for less".to_owned(),
        ),
        Some(Cut::Filter) => (
            ErrorKind::Denied,
            "the provider's content filter stopped the response before it was complete".to_owned(),
        ),
        Some(Cut::Failure) => (
            ErrorKind::Unavailable,
            "the provider stopped the response before it was complete: try again later".to_owned(),
        ),
        None => (
            ErrorKind::Unavailable,
            format!("the response ended before it was complete, so its calls were not executed: {ended}"),
        ),
    };
    Error::new(ErrorCode::MODEL_RESPONSE_INCOMPLETE, message).with_kind(kind)
}

/// Adds the tools that may have made the server reject the request.
fn with_hint(error: Error, tools: &[turnwright_core::Tool]) -> Error {
    if error.kind() != ErrorKind::InvalidArguments || error.code() != ErrorCode::MODEL_SERVER_ERROR
    {
        return error;
    }
    let names: Vec<&str> = tools::unions(tools).collect();
    if names.is_empty() {
        return error;
    }
    let message = format!(
        "{}; it may reject the schemas of these tools, which have alternatives at the root: {}",
        error.message(),
        names.join(", ")
    );
    Error::new(error.code(), message).with_kind(error.kind())
}
