//! Spans of turns, model requests and tool calls.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use serde_json::Value;
use tokio::time::Instant;
use tracing::field::Empty;
use tracing::{Instrument as _, Span, info_span};

use super::measure::Asked;
use super::{TARGET, content, measure, names};
use crate::dispatch::Executor;
use crate::error::{Error, ErrorCode};
use crate::outcome::TurnOutcome;
use crate::principal::Principal;
use crate::record::Message;
use crate::tool::context::{DispatchContext, ReportedRequest, TurnContext};
use crate::tool::{Tool, ToolOutput};
use crate::usage::{FinishReason, ModelRequest, Usage};

/// The span of a turn.
pub(crate) struct TurnSpan {
    span: Span,
    content: bool,
    agent: Option<Arc<str>>,
    start: Instant,
}

impl TurnSpan {
    /// Starts a span as a child of the current one.
    pub(crate) fn start(
        executor: &dyn Executor,
        turn: &TurnContext,
        message: Option<&Message>,
    ) -> Self {
        let agent = turn.setup().name.clone();
        let span = info_span!(
            target: TARGET,
            "invoke_agent",
            { names::SPAN_NAME } = agent.as_ref().map(|agent| format!("invoke_agent {agent}")),
            { names::SPAN_KIND } = "internal",
            { names::SPAN_STATUS } = Empty,
            { names::OPERATION } = "invoke_agent",
            { names::AGENT } = agent.as_deref(),
            { names::PROVIDER } = executor.name(),
            { names::MODEL } = executor.model(),
            { names::CONVERSATION } = turn.conversation_id().as_str(),
            { names::TURN } = turn.turn_id(),
            { names::PRINCIPAL } = turn.principal().map(Principal::as_str),
            { names::ENDED } = Empty,
            { names::ITERATIONS } = Empty,
            { names::INPUT_TOKENS } = Empty,
            { names::CACHED_INPUT_TOKENS } = Empty,
            { names::CACHE_WRITE_TOKENS } = Empty,
            { names::OUTPUT_TOKENS } = Empty,
            { names::REASONING_TOKENS } = Empty,
            { names::INPUT_MESSAGES } = Empty,
            { names::OUTPUT_MESSAGES } = Empty,
            { names::ERROR_TYPE } = Empty,
        );
        let content = turn.setup().trace_content && !span.is_disabled();
        if content && let Some(message) = message {
            let message = content::messages(std::iter::once(message));
            span.record(names::INPUT_MESSAGES, message);
        }
        TurnSpan {
            span,
            content,
            agent,
            start: Instant::now(),
        }
    }

    /// Runs the turn within the span.
    pub(crate) fn instrument<F>(self, work: F) -> impl Future<Output = TurnOutcome> + use<F>
    where
        F: Future<Output = TurnOutcome>,
    {
        let span = self.span.clone();
        // An async block would hold the future twice.
        work.inspect(move |outcome| self.end(outcome))
            .instrument(span)
    }

    fn end(&self, outcome: &TurnOutcome) {
        let span = &self.span;
        measure::turn(self.agent.as_deref(), outcome, self.start.elapsed());
        if span.is_disabled() {
            return;
        }
        span.record(names::ENDED, outcome.status.as_str());
        span.record(names::ITERATIONS, i64::from(outcome.iterations));
        record_usage(span, Usage::default(), outcome.usage);
        if let Some(error) = measure::failure_of(outcome) {
            record_error(span, error.code().as_str());
        }
        if self.content {
            let answers = outcome.messages().filter(|message| message.is_answer());
            let last = answers.last().cloned();
            record_messages(span, names::OUTPUT_MESSAGES, last.as_slice());
        }
    }
}

/// Records who a resumed turn acts for, in its span.
pub(crate) fn principal(turn: &TurnContext) {
    Span::current().record(names::PRINCIPAL, turn.principal().map(Principal::as_str));
}

/// The span of one run of an executor.
pub(crate) struct ModelSpan<'c> {
    span: Span,
    /// The span of the turn. Empty for another executor than that of the turn.
    turn: Span,
    content: bool,
    executor: &'c dyn Executor,
    ctx: &'c DispatchContext,
    start: Instant,
    /// The usage of the turn when the executor started.
    usage_before: Usage,
    last_message: Option<Arc<Message>>,
    /// Set when the executor has returned: its error code, if it failed.
    ended: Option<Option<&'static str>>,
}

impl<'c> ModelSpan<'c> {
    /// Starts a span as a child of the current one. `helped`: the turn for which another executor runs in a dispatch of its own.
    pub(crate) fn start(
        executor: &'c dyn Executor,
        ctx: &'c DispatchContext,
        helped: Option<&TurnContext>,
    ) -> Self {
        let owner = helped.unwrap_or(ctx.turn());
        // What middleware has reported is not of this executor.
        ctx.turn().limits().take_reported();
        let Asked {
            provider,
            model,
            server,
            port,
        } = Asked::of(executor, None);
        let output = ctx.turn().answer_format().map(|_| "json");
        let span = info_span!(
            target: TARGET,
            "chat",
            { names::SPAN_NAME } = model.map(|model| format!("chat {model}")),
            { names::SPAN_KIND } = "client",
            { names::SPAN_STATUS } = Empty,
            { names::OPERATION } = "chat",
            { names::PROVIDER } = provider,
            { names::MODEL } = model,
            { names::SERVER } = server,
            { names::PORT } = port,
            { names::CONVERSATION } = owner.conversation_id().as_str(),
            { names::ITERATION } = i64::from(ctx.iteration()),
            { names::OUTPUT_TYPE } = output,
            { names::STREAM } = Empty,
            { names::MAX_TOKENS } = Empty,
            { names::SEED } = Empty,
            { names::TEMPERATURE } = Empty,
            { names::TOP_P } = Empty,
            { names::PRESENCE_PENALTY } = Empty,
            { names::FREQUENCY_PENALTY } = Empty,
            { names::STOP_SEQUENCES } = Empty,
            { names::RESPONSE_ID } = Empty,
            { names::RESPONSE_MODEL } = Empty,
            { names::FINISH_REASONS } = Empty,
            { names::TIME_TO_FIRST_CHUNK } = Empty,
            { names::INPUT_TOKENS } = Empty,
            { names::CACHED_INPUT_TOKENS } = Empty,
            { names::CACHE_WRITE_TOKENS } = Empty,
            { names::OUTPUT_TOKENS } = Empty,
            { names::REASONING_TOKENS } = Empty,
            { names::INPUT_MESSAGES } = Empty,
            { names::OUTPUT_MESSAGES } = Empty,
            { names::ERROR_TYPE } = Empty,
        );
        let mut model = ModelSpan {
            span,
            turn: helped.map_or_else(Span::current, |_| Span::none()),
            content: owner.setup().trace_content,
            executor,
            ctx,
            start: Instant::now(),
            usage_before: Usage::default(),
            last_message: None,
            ended: None,
        };
        if !model.span.is_disabled() {
            model.usage_before = ctx.turn().limits().own_usage();
            if model.content {
                let messages = ctx.records().all::<Message>();
                record_messages(&model.span, names::INPUT_MESSAGES, &messages);
                model.last_message = messages.last().cloned();
            }
        }
        model
    }

    /// Runs the executor within the span.
    pub(crate) fn instrument<F: Future>(
        &self,
        work: F,
    ) -> impl Future<Output = F::Output> + use<F> {
        work.instrument(self.span.clone())
    }

    /// Ends the span after the executor has returned. `failed`: the error code, if it failed.
    pub(crate) fn end(mut self, failed: Option<&'static str>) {
        let nacked = || self.ctx.nack_error().map(|error| error.code().as_str());
        self.ended = Some(failed.or_else(nacked));
    }

    /// Measures the requests that the executor made. `code`: its error code, which is that of a last request without an end.
    fn measure(&self, reported: &[ReportedRequest], code: Option<&'static str>) {
        let unknown = [ReportedRequest::default()];
        let requests = if reported.is_empty() {
            &unknown
        } else {
            reported
        };
        let last = requests.len() - 1;
        for (index, request) in requests.iter().enumerate() {
            let (asked, start) = match &request.asked {
                Some((asked, start)) => (Some(&**asked), *start),
                None => (None, self.start),
            };
            let response = request.response.as_deref();
            let (failed, end) = request.failed.unzip();
            let reported = response.and_then(|response| response.duration);
            let end = end.unwrap_or_else(Instant::now);
            let duration = reported.unwrap_or_else(|| end.duration_since(start));
            // A response with a finish reason succeeded. The error occurred after it.
            let finished = response.is_some_and(|response| response.finish_reason.is_some());
            let code = code.filter(|_| index == last && !finished);
            let code = failed.map(ErrorCode::as_str).or(code);
            let asked = Asked::of(self.executor, asked);
            measure::operation(asked, response, duration, code);
        }
    }

    /// Records the last request: its model and its settings.
    fn record_request(&self, request: &ModelRequest) {
        let span = &self.span;
        let asked = Asked::of(self.executor, Some(request));
        if asked != Asked::of(self.executor, None) {
            if let Some(model) = asked.model {
                span.record(names::SPAN_NAME, format!("chat {model}"));
            }
            span.record(names::SERVER, asked.server);
            span.record(names::PORT, asked.port);
            span.record(names::PROVIDER, asked.provider);
            span.record(names::MODEL, asked.model);
        }
        // The turn may have another model, from an earlier request.
        self.turn.record(names::PROVIDER, asked.provider);
        self.turn.record(names::MODEL, asked.model);
        let settings = &request.settings;
        // The convention: only if the request is streaming.
        span.record(names::STREAM, request.streams.filter(|streams| *streams));
        span.record(names::SEED, settings.seed);
        let tokens = settings.max_output_tokens;
        span.record(
            names::MAX_TOKENS,
            tokens.and_then(|tokens| i64::try_from(tokens).ok()),
        );
        for (name, value) in [
            (names::TEMPERATURE, settings.temperature),
            (names::TOP_P, settings.top_p),
            (names::PRESENCE_PENALTY, settings.presence_penalty),
            (names::FREQUENCY_PENALTY, settings.frequency_penalty),
        ] {
            span.record(name, value);
        }
        // A list, like the finish reasons.
        let stop = settings.stop_sequences.clone().map(Value::from);
        span.record(names::STOP_SEQUENCES, stop.map(|stop| stop.to_string()));
    }
}

impl Drop for ModelSpan<'_> {
    fn drop(&mut self) {
        let (span, ctx) = (&self.span, self.ctx);
        // If the executor did not return, it was dropped because the turn was stopped.
        let stopped = || Some(ctx.turn().stop_code().as_str());
        let code = self.ended.unwrap_or_else(stopped);
        let reported = ctx.turn().limits().take_reported();
        self.measure(&reported, code);
        if span.is_disabled() {
            return;
        }
        record_usage(span, self.usage_before, ctx.turn().limits().own_usage());
        if let Some((request, _)) = reported.last().and_then(|last| last.asked.as_ref()) {
            self.record_request(request);
        }
        record_responses(span, &reported);
        if let Some(code) = code {
            record_error(span, code);
        }
        if self.content {
            // The messages of the model since the start. Earlier turns that were loaded meanwhile come before them.
            let messages = ctx.records().all::<Message>();
            let last = self.last_message.as_ref().map(|last| last.id());
            let is_last = |message: &Arc<Message>| Some(message.id()) == last;
            let since = messages.iter().rposition(is_last).map_or(0, |at| at + 1);
            let answers = messages.into_iter().skip(since);
            let answers: Vec<_> = answers.filter(|message| message.is_answer()).collect();
            record_messages(span, names::OUTPUT_MESSAGES, &answers);
        }
    }
}

fn record_messages(span: &Span, name: &str, messages: &[Arc<Message>]) {
    if !messages.is_empty() {
        let messages = content::messages(messages.iter().map(AsRef::as_ref));
        span.record(name, messages);
    }
}

/// The span of one run of a handler.
pub(crate) struct ToolSpan {
    span: Span,
    content: bool,
}

impl ToolSpan {
    pub(crate) fn start(ctx: &DispatchContext, id: &str, tool: &Tool, args: &Value) -> Self {
        let span = info_span!(
            target: TARGET,
            "execute_tool",
            { names::SPAN_NAME } = format!("execute_tool {}", tool.name()),
            { names::SPAN_KIND } = "internal",
            { names::SPAN_STATUS } = Empty,
            { names::OPERATION } = "execute_tool",
            { names::TOOL } = tool.name(),
            { names::TOOL_TYPE } = "function",
            { names::TOOL_DESCRIPTION } = tool.description(),
            { names::TOOL_CALL } = id,
            { names::TOOL_ARGUMENTS } = Empty,
            { names::TOOL_RESULT } = Empty,
            { names::ABANDONED } = Empty,
            { names::ERROR_TYPE } = Empty,
        );
        let content = ctx.turn().setup().trace_content && !span.is_disabled();
        if content {
            span.record(names::TOOL_ARGUMENTS, content::arguments(args));
        }
        ToolSpan { span, content }
    }

    /// Runs the handler within the span.
    pub(crate) fn instrument<F: Future>(
        &self,
        work: F,
    ) -> impl Future<Output = F::Output> + use<F> {
        work.instrument(self.span.clone())
    }

    pub(crate) fn result(&self, result: &Result<ToolOutput, Error>) {
        if self.content {
            self.span
                .record(names::TOOL_RESULT, &*content::result(result));
        }
    }

    /// Ends the span. `code`: the error code, if the handler failed, was interrupted or dropped.
    pub(crate) fn end(
        &self,
        tool: &str,
        duration: Duration,
        code: Option<&'static str>,
        abandoned: bool,
    ) {
        measure::tool(tool, duration, code);
        if let Some(code) = code {
            record_error(&self.span, code);
        }
        if abandoned {
            self.span.record(names::ABANDONED, true);
        }
    }
}

/// The current span, captured to run work elsewhere within it.
pub(crate) struct Here(Span);

pub(crate) fn here() -> Here {
    Here(Span::current())
}

impl Here {
    pub(crate) fn instrument<F: Future>(self, work: F) -> impl Future<Output = F::Output> + use<F> {
        work.instrument(self.0)
    }

    pub(crate) fn in_scope<T>(self, work: impl FnOnce() -> T) -> T {
        self.0.in_scope(work)
    }
}

fn record_error(span: &Span, code: &'static str) {
    span.record(names::ERROR_TYPE, code);
    span.record(names::SPAN_STATUS, "ERROR");
}

/// Records what the model answered. Finish reasons are a list, which `tracing` does not have: they are recorded as JSON.
fn record_responses(span: &Span, reported: &[ReportedRequest]) {
    let responses = reported.iter().filter_map(|one| one.response.as_deref());
    let Some(last) = responses.clone().next_back() else {
        return;
    };
    span.record(names::RESPONSE_ID, last.response_id.as_deref());
    span.record(names::RESPONSE_MODEL, last.model.as_deref());
    let reasons = responses.filter_map(|response| response.finish_reason.as_ref());
    let reasons: Vec<&str> = reasons.map(FinishReason::as_str).collect();
    if !reasons.is_empty() {
        span.record(names::FINISH_REASONS, Value::from(reasons).to_string());
    }
    let first = last.time_to_first_token.map(|time| time.as_secs_f64());
    span.record(names::TIME_TO_FIRST_CHUNK, first);
}

/// Records the usage between two moments as signed numbers: the bridge to OpenTelemetry turns unsigned ones into text.
fn record_usage(span: &Span, before: Usage, after: Usage) {
    if before == after {
        // The usage is unknown.
        return;
    }
    let used = |tokens: fn(Usage) -> u64| {
        let used = tokens(after).saturating_sub(tokens(before));
        i64::try_from(used).unwrap_or(i64::MAX)
    };
    span.record(names::INPUT_TOKENS, used(|usage| usage.input_tokens));
    span.record(names::OUTPUT_TOKENS, used(|usage| usage.output_tokens));
    let cached = used(|usage| usage.cached_input_tokens);
    let written = used(|usage| usage.cache_write_tokens);
    let reasoning = used(|usage| usage.reasoning_tokens);
    for (name, tokens) in [
        (names::CACHED_INPUT_TOKENS, cached),
        (names::CACHE_WRITE_TOKENS, written),
        (names::REASONING_TOKENS, reasoning),
    ] {
        if tokens > 0 {
            span.record(name, tokens);
        }
    }
}
