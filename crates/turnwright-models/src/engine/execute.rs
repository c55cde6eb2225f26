//! One iteration: writes the prompt, sends the request and runs the calls.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio::time::Instant;
use turnwright_core::dispatch::{FinishReason, ModelRequest, ModelUsage, ToolCallWriter};
use turnwright_core::event::Level;
use turnwright_core::record::{Message, ProviderState, ResponseRef};
use turnwright_core::render::Renderer;
use turnwright_core::transcript::{SystemPrompt, Transcript};
use turnwright_core::{DispatchContext, Error, ErrorCode, ErrorKind, TurnContext, Usage};

use super::attempt::Exchange;
use super::codec::{AnswerSchema, Quirks, RequestParts};
use super::context_window;
use super::live_output::{LiveOutput, Streamed};
use super::model::Engine;
use super::options::OptionMap;
use super::parameters::Parameters;
use super::per_turn::Alternatives;
use super::prompt::PromptWriter;
use super::server::Server;
use super::settings::TypedAnswers;
use super::tools;
use super::wire_message::WireMessage;
use crate::decode::{Cut, Finish, Reply, ReplyCall, excerpt};

/// The number of consecutive truncated responses after which the turn ends.
const MAX_CUTS: u32 = 3;

/// The most characters of a finish reason in a message.
const MAX_REASON: usize = 60;

/// The prompts of a turn, one for each server.
#[derive(Default)]
struct Prompts(Mutex<Vec<(Arc<Server>, PromptState)>>);

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
    fn take(&self, server: &Arc<Server>) -> PromptState {
        let mut prompts = self.0.lock();
        let mut owners = prompts.iter().map(|(owner, _)| owner);
        let index = owners.position(|owner| Arc::ptr_eq(owner, server));
        index
            .map(|index| prompts.swap_remove(index).1)
            .unwrap_or_default()
    }

    fn put(&self, server: &Arc<Server>, prompt: PromptState) {
        self.0.lock().push((Arc::clone(server), prompt));
    }
}

impl Engine {
    /// Runs one iteration of a turn.
    pub(super) async fn execute(&self, ctx: &DispatchContext) -> Result<(), Error> {
        let prompts = ctx.turn().per_turn::<Prompts>();
        let mut prompt = prompts.take(&self.server);
        let done = self.iterate(ctx, &mut prompt).await;
        prompts.put(&self.server, prompt);
        done
    }

    async fn iterate(&self, ctx: &DispatchContext, prompt: &mut PromptState) -> Result<(), Error> {
        let server = &*self.server;
        let codec = &*server.codec;
        let mut parameters = self.parameters(ctx)?;
        let visible = ctx.tools().visible();
        self.update(ctx, prompt).await?;
        let tools = server.tools.of(codec, &visible, &parameters.options, ctx);
        parameters.release_choice(&tools.withheld, ctx);
        let (tools, options) = (tools.texts, &parameters.options);
        let messages: Vec<&WireMessage> = prompt.transcript.messages().collect();
        context_window::check(server, &parameters, &tools, &messages)?;
        let format = ctx.turn().answer_format();
        let name = format.map(|format| schema_name(format.name()));
        let answer = name
            .as_deref()
            .and_then(|name| self.answer_schema(ctx.turn(), options, name));
        let model = parameters.model_name();
        let streams = options.streams();
        let url = codec.url(&server.endpoint, model, streams);
        let write = |quirks: Quirks| {
            codec.body(&RequestParts {
                model,
                streams,
                settings: &parameters.settings,
                options,
                tools: &tools,
                functions: tools.len() - options.provider_tools().len(),
                answer,
                messages: &messages,
                quirks,
            })
        };
        ctx.reporter().request(self.request(&parameters, streams));
        let mut exchange = server.exchange(ctx, &url, write).await;
        exchange.failed = exchange.failed.map(|error| with_hint(error, &visible));
        let is_complete = exchange.failed.is_none() && exchange.reply.is_complete();
        let unseen = (codec.info().unseen_content)(options, is_complete);
        exchange.reply.provider_content.extend(unseen);
        self.settle(ctx, exchange, prompt).await
    }

    /// Returns what is asked, for traces and metrics.
    fn request(&self, parameters: &Parameters, streams: bool) -> ModelRequest {
        let endpoint = &self.server.endpoint;
        let server = endpoint.host_str().zip(endpoint.port_or_known_default());
        let mut request = ModelRequest::default();
        request.provider = Some(self.server.name.as_str().into());
        request.model = Some(parameters.model_name().into());
        request.server = server.map(|(host, port)| (host.into(), port));
        request.streams = Some(streams);
        request.settings = parameters.settings.clone();
        request
    }

    fn typed_answers(&self) -> TypedAnswers {
        let server = &*self.server;
        let default = server.codec.info().typed_answers;
        server.settings.typed.unwrap_or(default)
    }

    /// Returns the schema of a typed answer, if it belongs into the request and no option sets it.
    fn answer_schema<'a>(
        &self,
        turn: &'a TurnContext,
        options: &OptionMap,
        name: &'a str,
    ) -> Option<AnswerSchema<'a>> {
        let schema = turn.answer_format()?.schema().document();
        let schema = match self.typed_answers() {
            _ if options.has("response_format") => return None,
            TypedAnswers::JsonSchema => Some(schema),
            TypedAnswers::JsonObject => None,
            TypedAnswers::Prompt => return None,
        };
        Some(AnswerSchema { name, schema })
    }

    /// Adds new records to the prompt.
    async fn update(&self, ctx: &DispatchContext, prompt: &mut PromptState) -> Result<(), Error> {
        let server = &self.server;
        let renderer = match &prompt.renderer {
            Some(renderer) => renderer.clone(),
            None => {
                let secret = ctx.turn().secret().map_err(|error| {
                    let message = "the system has no randomness for the secret of the conversation";
                    Error::new(ErrorCode::INVALID_TURN_CONTEXT, message).with_source(error)
                })?;
                let renderer = PromptWriter::renderer_for(server, Renderer::new(secret));
                prompt.renderer.insert(renderer).clone()
            }
        };
        let how = self.typed_answers();
        let system = || {
            let mut text = ctx.instructions().unwrap_or_default().to_owned();
            if let Some(instructions) = answer_instructions(ctx.turn(), how) {
                text = format!("{text}\n\n{instructions}").trim().to_owned();
            }
            let messages = ctx.records().all::<Message>();
            let mut names = messages.iter().filter_map(|message| message.name());
            let carries = server.codec.info().user_names;
            SystemPrompt::new(text)
                .explain_envelopes(server.settings.explains_envelopes)
                .name_users(names.any(|name| !carries(name)))
        };
        let mut writer = PromptWriter {
            server,
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
            mut output,
            sent,
            failed,
        } = exchange;
        let known_complete = failed.is_none() && reply.is_complete();
        if failed.is_none() || reply.usage.is_some() {
            ctx.reporter().usage(self.usage_of(&reply, &output, sent));
        }
        if let Some(error) = &failed {
            ctx.reporter().failed(error.code());
            if Alternatives::exist(ctx) {
                output.restart();
                return Err(error.clone());
            }
        }
        let has_calls = !reply.tool_calls.is_empty();
        let read = reply.provider_content.iter();
        let mut response = read.fold(ResponseRef::new(), |response, tier| {
            response.exposed_to(*tier)
        });
        // Text counts as complete unless the response is known to be truncated. Calls count as complete only if the
        // response is known to be complete.
        let complete = known_complete || (failed.is_none() && !has_calls && reply.cut().is_none());
        if !complete {
            response = response.cut(why_cut(&reply, failed.as_ref()));
        }
        let is_paused = reply.finish == Some(Finish::Paused);
        let is_answer = complete && !has_calls && !is_paused && !reply.text.is_empty();
        let mut calls = self
            .record_text(&reply, output, &response, is_answer)
            .await?;
        calls.resize_with(reply.tool_calls.len(), || None);
        if known_complete && has_calls {
            prompt.cuts = 0;
            let calls = reply.tool_calls.into_iter().zip(calls);
            let calls = calls.map(|(call, streamed)| {
                self.propose(ctx, call, streamed, &response)
                    .empty_args_as_object()
            });
            ctx.call_tools(calls.collect::<Vec<_>>()).await;
            return Ok(());
        }
        if complete {
            prompt.cuts = 0;
            if is_paused {
                // The next request continues the response.
                return Ok(());
            }
            if !known_complete && !is_declined(&reply) {
                let ended = self.describe_end(&reply);
                let message = format!("{ended}: its text is used as the answer");
                ctx.log(Level::Warn, message);
            }
            return end(ctx, &reply);
        }
        for (call, streamed) in reply.tool_calls.iter().zip(calls) {
            let call = self.propose(ctx, call.clone(), streamed, &response);
            Box::pin(call.record_incomplete()).await?;
        }
        prompt.cuts += 1;
        if let Some(error) = failed {
            return Err(error);
        }
        if is_declined(&reply) {
            return end(ctx, &reply);
        }
        let ended = self.describe_end(&reply);
        if has_calls {
            let count = reply.tool_calls.len();
            let message =
                format!("{ended}: its calls ({count}) are kept as incomplete and not executed");
            ctx.log(Level::Warn, message);
        }
        // The next prompt reports the truncation, and the model tries again.
        if has_calls && prompt.cuts < MAX_CUTS {
            Ok(())
        } else {
            ctx.nack(incomplete(&reply, &ended))
        }
    }

    /// Returns the tokens of a response, its model, finish reason and durations.
    fn usage_of(&self, reply: &Reply, output: &LiveOutput, sent: Instant) -> ModelUsage {
        let mut usage = ModelUsage::new(reply.usage.unwrap_or(Usage::tokens(0, 0)));
        usage.duration = Some(sent.elapsed());
        let first = output.first_piece();
        usage.time_to_first_token = first.map(|first| first.saturating_duration_since(sent));
        let id = reply.id.as_deref().map(|id| self.server.redacted(id));
        usage.response_id = id.map(|id| excerpt(&id, MAX_REASON).into());
        let model = reply.model.as_deref().or_else(|| self.options.model_name());
        usage.model = model.map(|model| excerpt(model, MAX_REASON).into());
        usage.finish_reason = reply.finish_reason.as_deref().map(|reason| {
            let other = || excerpt(&self.server.redacted(reason), MAX_REASON);
            let known = reply.finish.and_then(Finish::neutral);
            known.unwrap_or_else(|| FinishReason::Other(other().into()))
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
                let reason = excerpt(&self.server.redacted(reason), MAX_REASON);
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
        response: &ResponseRef,
        is_answer: bool,
    ) -> Result<Vec<Option<ToolCallWriter>>, Error> {
        let Streamed {
            thought,
            message,
            calls,
        } = output.into_streamed(!reply.state.is_empty());
        let mut of_thought = self.state(&reply.state);
        let of_message = if thought.is_some() {
            self.state(&Map::new())
        } else {
            std::mem::replace(&mut of_thought, self.state(&Map::new()))
        };
        if let Some(mut thought) = thought {
            thought.response(response.clone());
            thought.provider_state(of_thought);
            thought.finish().await?;
        }
        if let Some(mut message) = message {
            message.response(response.clone());
            message.provider_state(of_message);
            if is_answer {
                message.finish_as_answer().await?
            } else {
                message.finish().await?
            };
        }
        Ok(calls)
    }

    fn propose(
        &self,
        ctx: &DispatchContext,
        call: ReplyCall,
        streamed: Option<ToolCallWriter>,
        response: &ResponseRef,
    ) -> turnwright_core::call::Call {
        let proposed = match streamed {
            Some(streamed) => streamed.propose(call.name, call.arguments),
            None => ctx.propose(call.name, call.arguments),
        };
        let proposed = proposed
            .with_response(response.clone())
            .with_provider_state(self.state(&call.extra.unwrap_or_default()));
        match call.id {
            Some(id) if !id.is_empty() => proposed.with_provider_id(id),
            _ => proposed,
        }
    }

    /// Returns what this server expects back with a record. Even without fields, it tells where the record came from.
    fn state(&self, fields: &Map<String, Value>) -> ProviderState {
        // Maps of JSON values always serialise.
        let json = serde_json::to_vec(fields).unwrap_or_default();
        let server = &*self.server;
        ProviderState::new(server.codec.info().name, &*server.address, json)
    }
}

/// Returns `true` if the model declined to answer.
fn is_declined(reply: &Reply) -> bool {
    reply.finish == Some(Finish::Declined)
}

/// Ends the turn after a complete response.
fn end(ctx: &DispatchContext, reply: &Reply) -> Result<(), Error> {
    if is_declined(reply) || (reply.text.is_empty() && !reply.refusal.is_empty()) {
        let message =
            "the model declined to answer: its explanation is the last message of the turn";
        return ctx.nack(Error::new(ErrorCode::MODEL_DECLINED, message));
    }
    if reply.text.is_empty() {
        ctx.log(Level::Warn, "the response has neither text nor calls");
    }
    ctx.ack()
}

/// Explains to the model why a response is not complete.
fn why_cut(reply: &Reply, failed: Option<&Error>) -> &'static str {
    match reply.cut() {
        _ if failed.is_some() => "the connection broke",
        Some(Cut::Length) => "it reached the token limit",
        Some(Cut::Filter) => "the provider's content filter stopped it",
        Some(Cut::Malformed) => "its call was not valid",
        Some(Cut::Failure) => "the provider failed",
        None if is_declined(reply) => "you declined to answer",
        None if reply.finish_reason.is_none() => "it has no finish reason",
        None if reply.has_ended() => "its finish reason is unknown",
        None => "it continued after its finish reason",
    }
}

/// The error for a response that is not complete.
fn incomplete(reply: &Reply, ended: &str) -> Error {
    let message = match reply.cut() {
        Some(Cut::Length) => {
            "the response reached the token limit before it was complete: allow more with `ModelSettings::max_output_tokens`, or ask for less"
        }
        Some(Cut::Filter) => {
            "the provider's content filter stopped the response before it was complete"
        }
        Some(Cut::Malformed) => {
            "the model repeatedly wrote calls that are not valid: try again, or use another model"
        }
        Some(Cut::Failure) => {
            "the provider stopped the response before it was complete: try again later"
        }
        None => &format!(
            "the response ended before it was complete, so its calls were not executed: {ended}"
        ),
    };
    let kind = match reply.cut() {
        Some(Cut::Filter) => ErrorKind::Denied,
        _ => ErrorKind::Unavailable,
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

/// Returns the part of the system prompt with the schema of a typed answer, if `response_format` does not contain it.
fn answer_instructions(turn: &TurnContext, how: TypedAnswers) -> Option<String> {
    let format = turn.answer_format()?;
    match how {
        TypedAnswers::JsonSchema => None,
        TypedAnswers::JsonObject | TypedAnswers::Prompt => Some(format!(
            "Your final answer must be JSON only, without any other text. It must match this JSON Schema:\n{}",
            format.schema().document()
        )),
    }
}

/// Returns a valid schema name. Schema names allow the same characters as tool names.
fn schema_name(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let name: String = name.chars().filter(|c| fits(*c)).take(64).collect();
    if name.is_empty() {
        "answer".to_owned()
    } else {
        name
    }
}
