//! The spans.

use std::sync::Arc;

use futures_util::FutureExt as _;
use serde_json::Value;
use tracing::field::Empty;
use tracing::{Instrument as _, Span, info_span};

use super::{TARGET, content, names};
use crate::dispatch::Executor;
use crate::error::Error;
use crate::outcome::TurnOutcome;
use crate::record::Message;
use crate::tool::context::{DispatchContext, TurnContext};
use crate::tool::{Tool, ToolOutput};
use crate::usage::Usage;

/// A turn.
pub(crate) struct TurnSpan {
    span: Span,
    content: bool,
}

impl TurnSpan {
    /// Below the span that is current here.
    pub(crate) fn start(
        executor: &dyn Executor,
        turn: &TurnContext,
        message: Option<&Message>,
    ) -> Self {
        let span = info_span!(
            target: TARGET,
            "invoke_agent",
            { names::SPAN_KIND } = "internal",
            { names::SPAN_STATUS } = Empty,
            { names::OPERATION } = "invoke_agent",
            { names::PROVIDER } = executor.name(),
            { names::MODEL } = executor.model(),
            { names::CONVERSATION } = turn.conversation_id().as_str(),
            { names::TURN } = turn.turn_id(),
            { names::ENDED } = Empty,
            { names::ITERATIONS } = Empty,
            { names::INPUT_TOKENS } = Empty,
            { names::CACHED_INPUT_TOKENS } = Empty,
            { names::OUTPUT_TOKENS } = Empty,
            { names::REASONING_TOKENS } = Empty,
            { names::INPUT_MESSAGES } = Empty,
            { names::OUTPUT_MESSAGES } = Empty,
            { names::ERROR_TYPE } = Empty,
        );
        let content = turn.setup().trace_content && !span.is_disabled();
        if content && let Some(message) = message {
            let said = content::messages(std::iter::once(message));
            span.record(names::INPUT_MESSAGES, said);
        }
        TurnSpan { span, content }
    }

    /// Puts all of the turn into the span.
    pub(crate) fn around<F>(self, work: F) -> impl Future<Output = TurnOutcome> + use<F>
    where
        F: Future<Output = TurnOutcome>,
    {
        let TurnSpan { span, content } = self;
        let told = span.clone();
        // No block of our own: that would hold the turn twice.
        work.inspect(move |outcome| end_turn(&told, outcome, content))
            .instrument(span)
    }
}

fn end_turn(span: &Span, outcome: &TurnOutcome, content: bool) {
    if span.is_disabled() {
        return;
    }
    span.record(names::ENDED, outcome.ended.name());
    span.record(names::ITERATIONS, i64::from(outcome.iterations));
    record_usage(span, outcome.usage);
    if let Some(error) = outcome.error() {
        record_error(span, error.code().as_str());
    }
    if content {
        let answers = outcome.messages().filter(|message| message.is_answer());
        let last: Vec<&Message> = answers.last().map(AsRef::as_ref).into_iter().collect();
        if !last.is_empty() {
            let said = content::messages(last.into_iter());
            span.record(names::OUTPUT_MESSAGES, said);
        }
    }
}

/// One run of the executor.
pub(crate) struct ModelSpan<'c> {
    span: Span,
    ctx: &'c DispatchContext,
    /// None once it ended, and where nobody traces.
    before: Option<Before>,
}

/// How the turn was when the executor began.
struct Before {
    usage: Usage,
    last_message: Option<Arc<Message>>,
}

impl<'c> ModelSpan<'c> {
    pub(crate) fn start(executor: &dyn Executor, ctx: &'c DispatchContext) -> Self {
        let model = executor.model();
        let span = info_span!(
            target: TARGET,
            "chat",
            { names::SPAN_NAME } = model.map(|model| format!("chat {model}")),
            { names::SPAN_KIND } = "client",
            { names::SPAN_STATUS } = Empty,
            { names::OPERATION } = "chat",
            { names::PROVIDER } = executor.name(),
            { names::MODEL } = model,
            { names::CONVERSATION } = ctx.conversation_id().as_str(),
            { names::ITERATION } = i64::from(ctx.iteration()),
            { names::INPUT_TOKENS } = Empty,
            { names::CACHED_INPUT_TOKENS } = Empty,
            { names::OUTPUT_TOKENS } = Empty,
            { names::REASONING_TOKENS } = Empty,
            { names::INPUT_MESSAGES } = Empty,
            { names::OUTPUT_MESSAGES } = Empty,
            { names::ERROR_TYPE } = Empty,
        );
        let before = (!span.is_disabled()).then(|| Before {
            usage: ctx.own_usage(),
            last_message: match ctx.setup().trace_content {
                true => record_input(&span, &ctx.messages()),
                false => None,
            },
        });
        ModelSpan { span, ctx, before }
    }

    /// Puts the executor's work into the span.
    pub(crate) fn around<F: Future>(&self, work: F) -> impl Future<Output = F::Output> + use<F> {
        work.instrument(self.span.clone())
    }

    /// The executor returned: with this code, if it failed.
    pub(crate) fn end(mut self, failed: Option<&'static str>) {
        let refused = || self.ctx.nack_error().map(|error| error.code().as_str());
        if self.before.is_some() {
            let code = failed.or_else(refused);
            self.finish(code);
        }
    }

    fn finish(&mut self, code: Option<&'static str>) {
        let (span, ctx) = (&self.span, self.ctx);
        let Some(before) = self.before.take() else {
            return;
        };
        record_usage(span, between(before.usage, ctx.own_usage()));
        if let Some(code) = code {
            record_error(span, code);
        }
        if ctx.setup().trace_content {
            record_output(span, &ctx.messages(), before.last_message.as_deref());
        }
    }
}

impl Drop for ModelSpan<'_> {
    fn drop(&mut self) {
        if self.before.is_some() {
            // Dropped on its way: the turn was stopped.
            let code = self.ctx.stop_code().as_str();
            self.finish(Some(code));
        }
    }
}

fn record_input(span: &Span, messages: &[Arc<Message>]) -> Option<Arc<Message>> {
    if !messages.is_empty() {
        let said = content::messages(messages.iter().map(AsRef::as_ref));
        span.record(names::INPUT_MESSAGES, said);
    }
    messages.last().cloned()
}

/// What the model said since: earlier turns that were added meanwhile stand before that.
fn record_output(span: &Span, messages: &[Arc<Message>], last: Option<&Message>) {
    let is_last = |message: &Arc<Message>| last.is_some_and(|last| last.id() == message.id());
    let since = messages.iter().rposition(is_last).map_or(0, |at| at + 1);
    let since = messages.iter().skip(since).map(AsRef::as_ref);
    let answers: Vec<&Message> = since.filter(|message| message.is_answer()).collect();
    if !answers.is_empty() {
        span.record(
            names::OUTPUT_MESSAGES,
            content::messages(answers.into_iter()),
        );
    }
}

/// One run of a handler.
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
        let content = ctx.setup().trace_content && !span.is_disabled();
        if content {
            span.record(names::TOOL_ARGUMENTS, content::arguments(args));
        }
        ToolSpan { span, content }
    }

    /// Puts the handler's work into the span.
    pub(crate) fn around<F: Future>(&self, work: F) -> impl Future<Output = F::Output> + use<F> {
        work.instrument(self.span.clone())
    }

    pub(crate) fn result(&self, result: &Result<ToolOutput, Error>) {
        if self.content {
            self.span
                .record(names::TOOL_RESULT, &*content::result(result));
        }
    }

    /// The handler ended, or was cut off or dropped: with this code then.
    pub(crate) fn end(&self, code: Option<&'static str>, abandoned: bool) {
        if let Some(code) = code {
            record_error(&self.span, code);
        }
        if abandoned {
            self.span.record(names::ABANDONED, true);
        }
    }
}

/// Where something is started that runs elsewhere: what is put around it there is within the same span.
pub(crate) struct Here(Span);

pub(crate) fn here() -> Here {
    Here(Span::current())
}

impl Here {
    pub(crate) fn around<F: Future>(self, work: F) -> impl Future<Output = F::Output> + use<F> {
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

/// As signed numbers: the bridge to OpenTelemetry makes text of others.
fn record_usage(span: &Span, usage: Usage) {
    if usage == Usage::default() {
        // Nobody said.
        return;
    }
    let record = |name: &str, tokens: u64| {
        span.record(name, i64::try_from(tokens).unwrap_or(i64::MAX));
    };
    record(names::INPUT_TOKENS, usage.input_tokens);
    record(names::OUTPUT_TOKENS, usage.output_tokens);
    if usage.cached_input_tokens > 0 {
        record(names::CACHED_INPUT_TOKENS, usage.cached_input_tokens);
    }
    if usage.reasoning_tokens > 0 {
        record(names::REASONING_TOKENS, usage.reasoning_tokens);
    }
}

/// What was used from one moment to another.
fn between(before: Usage, after: Usage) -> Usage {
    let mut used = after;
    used.requests = after.requests.saturating_sub(before.requests);
    used.input_tokens = after.input_tokens.saturating_sub(before.input_tokens);
    used.cached_input_tokens = after
        .cached_input_tokens
        .saturating_sub(before.cached_input_tokens);
    used.output_tokens = after.output_tokens.saturating_sub(before.output_tokens);
    used.reasoning_tokens = after
        .reasoning_tokens
        .saturating_sub(before.reasoning_tokens);
    used
}
