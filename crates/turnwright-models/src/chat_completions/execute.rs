//! One iteration: the prompt is written, the model asked, its calls made.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Map, Value};
use turnwright_core::dispatch::Executor;
use turnwright_core::event::Level;
use turnwright_core::trust::Renderer;
use turnwright_core::{BoxError, DispatchContext, Error, ErrorCode, ErrorKind, Usage};

use super::ask::Asked;
use super::body::{Body, answer_in_words, response_format};
use super::builder::Adapter;
use super::decode::{Cut, Reply, ReplyCall, shown};
use super::habits::Habits;
use super::live::Live;
use super::options::Options;
use super::write::{ChatWriter, DETAILS, FIELD, WireMessage};
use super::{ChatCompletions, PROTOCOL, STASH_KEY, tools, window};
use turnwright_core::transcript::{ResponseState, Standing, Transcript};

/// Responses in a row that may be cut off in the middle of a call before the turn ends.
const MOST_CUTS: u32 = 3;

/// The most characters of a finish reason that are quoted.
const LONGEST_REASON: usize = 60;

/// What is kept for a turn, for each server that it asks.
#[derive(Default)]
struct Kept(Mutex<Vec<(Arc<Adapter>, Conversation)>>);

/// What was sent to a server in this turn.
#[derive(Default)]
struct Conversation {
    transcript: Transcript<WireMessage>,
    /// The ids of calls that stand in the prompt.
    ids: HashSet<String>,
    /// Responses in a row that were cut off.
    cuts: u32,
    /// Made once: its secret is derived anew whenever a turn is asked for it.
    renderer: Option<Renderer>,
}

impl Kept {
    fn take(&self, adapter: &Arc<Adapter>) -> Conversation {
        let mut kept = self.0.lock();
        let place = kept.iter().position(|(it, _)| Arc::ptr_eq(it, adapter));
        place.map(|at| kept.swap_remove(at).1).unwrap_or_default()
    }

    fn put(&self, adapter: &Arc<Adapter>, conversation: Conversation) {
        self.0.lock().push((Arc::clone(adapter), conversation));
    }
}

#[async_trait]
impl Executor for ChatCompletions {
    async fn execute(&self, ctx: DispatchContext) -> Result<(), BoxError> {
        let kept = ctx.per_turn::<Kept>();
        let mut conversation = kept.take(&self.adapter);
        let done = self.iterate(&ctx, &mut conversation).await;
        kept.put(&self.adapter, conversation);
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
    async fn iterate(&self, ctx: &DispatchContext, kept: &mut Conversation) -> Result<(), Error> {
        let adapter = &*self.adapter;
        let options = self.options_for(ctx)?;
        let visible = ctx.tools().visible();
        self.update(ctx, kept).await?;
        let tools = adapter.tools.of(&visible, &options, ctx);
        window::check(adapter, &options, &tools, kept.transcript.messages())?;
        let format = response_format(ctx, &options, adapter.typed);
        let transcript = &kept.transcript;
        let body = Body {
            options: &options,
            tools: &tools,
            response_format: format,
        };
        let write = |habits: &Habits| body.write(transcript.messages(), habits);
        let mut asked = adapter.ask(ctx, write).await;
        asked.failed = asked.failed.map(|error| hinted(error, &visible));
        self.settle(ctx, asked, kept).await
    }

    /// Those of the stash over those of this executor.
    fn options_for(&self, ctx: &DispatchContext) -> Result<Arc<Options>, Error> {
        let options = match ctx.stash().get(STASH_KEY) {
            Some(told) => Arc::new(Options::read(&told)?.over(&self.options)),
            None => Arc::clone(&self.options),
        };
        match options.model_name() {
            Some(name) if !name.trim().is_empty() => Ok(options),
            _ => {
                let message = "no model is named: say which with `model`, in the options, or with OPENAI_MODEL for `from_env`";
                Err(Error::new(ErrorCode::InvalidModelConfig, message))
            }
        }
    }

    /// Brings the prompt up to date.
    async fn update(&self, ctx: &DispatchContext, kept: &mut Conversation) -> Result<(), Error> {
        let adapter = &*self.adapter;
        let renderer = match &kept.renderer {
            Some(renderer) => renderer.clone(),
            None => {
                let secret = ctx.secret().map_err(|error| {
                    let message =
                        "the system has no randomness to give for the secret of the conversation";
                    Error::new(ErrorCode::InvalidTurnContext, message).with_source(error)
                })?;
                let made = ChatWriter::renderer_for(adapter, Renderer::new(secret));
                kept.renderer.insert(made).clone()
            }
        };
        let system = || {
            let mut text = adapter.system.clone();
            if let Some(words) = answer_in_words(ctx, adapter.typed) {
                text = format!("{text}\n\n{words}").trim().to_owned();
            }
            Standing::new(text).explain_fences(adapter.explains_fences)
        };
        let mut writer = ChatWriter::new(adapter, renderer, &mut kept.ids, ctx.turn());
        kept.transcript
            .update(&ctx.timeline(), system, &mut writer)
            .await
    }

    /// Makes records of what came, and has its calls made if it is whole.
    async fn settle(
        &self,
        ctx: &DispatchContext,
        asked: Asked,
        kept: &mut Conversation,
    ) -> Result<(), Error> {
        let Asked {
            reply,
            live,
            failed,
        } = asked;
        let whole = failed.is_none() && reply.is_whole();
        if failed.is_none() || reply.usage.is_some() {
            ctx.reporter()
                .usage(reply.usage.unwrap_or(Usage::tokens(0, 0)));
        }
        let has_calls = !reply.tool_calls.is_empty();
        let mut state = ResponseState::new(&*self.adapter.from);
        // Words are complete unless the response is known to be cut off; calls only if it is known not to be.
        let complete = whole || (failed.is_none() && !has_calls && reply.cut().is_none());
        if !complete {
            state = state.cut(why_cut(&reply, failed.as_ref()));
        }
        let answers = complete && !has_calls && !reply.text.is_empty();
        self.keep_words(&reply, live, &state, answers).await?;
        if whole && has_calls {
            kept.cuts = 0;
            let calls = reply.tool_calls.into_iter();
            let calls = calls.map(|call| propose(ctx, call, &state).nothing_is_no_arguments());
            ctx.call_tools(calls.collect::<Vec<_>>()).await;
            return Ok(());
        }
        if complete {
            kept.cuts = 0;
            if !whole {
                let ended = self.how_it_ended(&reply);
                let message = format!("{ended}: its text is taken for the answer");
                ctx.log(Level::Warn, message);
            }
            return end(ctx, &reply);
        }
        for call in &reply.tool_calls {
            Box::pin(propose(ctx, call.clone(), &state).keep_incomplete()).await?;
        }
        kept.cuts += 1;
        if let Some(error) = failed {
            return Err(error);
        }
        let ended = self.how_it_ended(&reply);
        if has_calls {
            let count = reply.tool_calls.len();
            let message =
                format!("{ended}: its calls ({count}) are kept as incomplete and not executed");
            ctx.log(Level::Warn, message);
        }
        // The model is told, and tries again.
        match has_calls && kept.cuts < MOST_CUTS {
            true => Ok(()),
            false => ctx.nack(incomplete(&reply, &ended)),
        }
    }

    /// How a response ended that is not known to be complete, for operators.
    fn how_it_ended(&self, reply: &Reply) -> String {
        match reply.finish_reason.as_deref() {
            None => "the response has no finish reason".to_owned(),
            Some(_) if reply.has_ended() => {
                let reason = self.quoted_reason(reply);
                format!("the finish reason {reason} is not known to end a complete response")
            }
            Some(_) if reply.cut().is_none() => {
                "the response went on after its finish reason, and did not come to an end"
                    .to_owned()
            }
            Some(_) => {
                let reason = self.quoted_reason(reply);
                format!("the response was cut off (finish reason {reason})")
            }
        }
    }

    /// The server's reason, which can be any text.
    fn quoted_reason(&self, reply: &Reply) -> String {
        let reason = reply.finish_reason.as_deref().unwrap_or_default();
        let reason = self.adapter.scrubbed(reason);
        format!("\"{}\"", shown(&reason, LONGEST_REASON))
    }

    /// What was thought and said, as records. `answers` says that it is the answer.
    async fn keep_words(
        &self,
        reply: &Reply,
        live: Live,
        state: &ResponseState,
        answers: bool,
    ) -> Result<(), Error> {
        let mut fields = Map::new();
        if let Some(field) = reply.reasoning_field {
            fields.insert(FIELD.to_owned(), Value::from(field.as_str()));
        }
        if !reply.reasoning_details.is_empty() {
            let details = reply.reasoning_details.clone();
            fields.insert(DETAILS.to_owned(), Value::from(details));
        }
        let (thought, message) = live.into_writers(!fields.is_empty());
        if let Some(mut thought) = thought {
            thought.provider_state(state.with(fields).for_protocol(PROTOCOL));
            thought.finish().await?;
        }
        if let Some(mut message) = message.filter(|it| !it.text().is_empty()) {
            message.provider_state(state.for_protocol(PROTOCOL));
            match answers {
                true => message.finish_as_answer().await?,
                false => message.finish().await?,
            };
        }
        Ok(())
    }
}

/// All was said.
fn end(ctx: &DispatchContext, reply: &Reply) -> Result<(), Error> {
    if reply.text.is_empty() && !reply.refusal.is_empty() {
        let message = "the model refused to answer: what it said is the turn's last message";
        return ctx.nack(Error::new(ErrorCode::Refused, message));
    }
    if reply.text.is_empty() {
        ctx.log(Level::Warn, "the model said nothing, and called nothing");
    }
    ctx.ack()
}

fn propose(
    ctx: &DispatchContext,
    call: ReplyCall,
    state: &ResponseState,
) -> turnwright_core::call::ProposedCall {
    let state = state.with(call.extra.unwrap_or_default());
    let proposed = ctx
        .propose(call.name, call.arguments)
        .with_provider_state(state.for_protocol(PROTOCOL));
    match call.id {
        Some(id) if !id.is_empty() => proposed.with_provider_id(id),
        _ => proposed,
    }
}

/// Why a response is not complete, for the model.
fn why_cut(reply: &Reply, failed: Option<&Error>) -> &'static str {
    match (failed, reply.cut()) {
        (Some(_), _) => "the connection broke",
        (None, Some(Cut::Length)) => "it came to the limit of tokens",
        (None, Some(Cut::Filter)) => "a filter of the provider stopped it",
        (None, Some(Cut::Failure)) => "the provider failed",
        (None, None) if reply.finish_reason.is_none() => "it has no finish reason",
        (None, None) if reply.has_ended() => "its finish reason is not known",
        (None, None) => "it went on after its finish reason",
    }
}

/// The error of a response that is not complete, which ended in this way.
fn incomplete(reply: &Reply, ended: &str) -> Error {
    let (kind, message) = match reply.cut() {
        Some(Cut::Length) => (
            ErrorKind::Unavailable,
            "the response came to the limit of tokens before it was whole: allow more with `max_completion_tokens` (or `max_tokens`), or ask for less".to_owned(),
        ),
        Some(Cut::Filter) => (
            ErrorKind::Denied,
            "a filter of the provider stopped the response before it was whole".to_owned(),
        ),
        Some(Cut::Failure) => (
            ErrorKind::Unavailable,
            "the provider stopped the response before it was whole: try again later".to_owned(),
        ),
        None => (
            ErrorKind::Unavailable,
            format!("the response ended before it was whole, so its calls were not executed: {ended}"),
        ),
    };
    Error::new(ErrorCode::ResponseIncomplete, message).with_kind(kind)
}

/// Names the tools that the server may have refused the request for.
fn hinted(error: Error, tools: &[turnwright_core::Tool]) -> Error {
    if error.kind() != ErrorKind::InvalidArguments || error.code() != ErrorCode::ModelServer {
        return error;
    }
    let names: Vec<&str> = tools::unions(tools).collect();
    if names.is_empty() {
        return error;
    }
    let message = format!(
        "{}; it may refuse the schemas of these tools, which have alternatives at the root: {}",
        error.message(),
        names.join(", ")
    );
    Error::new(error.code(), message).with_kind(error.kind())
}
