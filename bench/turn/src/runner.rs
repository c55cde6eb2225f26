//! The measured runner and its parts.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use serde_json::{Value, json};
use turnwright_core::artifact::Inline;
use turnwright_core::artifact_tools::ArtifactToolPolicy;
use turnwright_core::event::Event;
use turnwright_core::{
    BoxError, DispatchContext, Effects, Error, Executor, Next, Storage, Tool, ToolContext,
    ToolRegistry, TurnContext, TurnInput, TurnRunner,
};

pub(crate) const ARGS: &str = r#"{"word": "turn", "most": 3}"#;
const CALLS: u32 = 3;

/// The kind of call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Called {
    /// Read-only, with a short text as its result.
    ShortText,
    /// May write, so that there is a ledger entry before it runs, with a short text as its result.
    ShortTextNoted,
    /// Read-only, with a result that becomes a handle.
    Handle,
}

impl Called {
    pub(crate) const ALL: [Called; 3] = [Called::ShortText, Called::ShortTextNoted, Called::Handle];

    pub(crate) const fn tool(self) -> &'static str {
        match self {
            Called::ShortText => "look_up",
            Called::ShortTextNoted => "note_down",
            Called::Handle => "read_log",
        }
    }

    pub(crate) const fn what(self) -> &'static str {
        match self {
            Called::ShortText => "a short text",
            Called::ShortTextNoted => "a short text, of a tool that may change the world",
            Called::Handle => "a handle",
        }
    }
}

/// Returns the tools of every turn. The log is never inline, so that its artifact tools exist from the first
/// iteration on.
pub(crate) fn tools() -> Result<Vec<Tool>, Error> {
    let tool = |called: Called, effects, inline| {
        let schema = json!({
            "type": "object",
            "properties": {
                "word": { "type": "string" },
                "most": { "type": "integer", "minimum": 1, "maximum": 10 },
            },
            "required": ["word"],
            "additionalProperties": false,
        });
        Tool::dynamic(called.tool(), schema)
            .description("Answers with a few words.")
            .effects(effects)
            .inline(inline)
            .handler(|args: Value, _: ToolContext| async move {
                format!("nothing is known of {}", args["word"])
            })
            .build()
    };
    Ok(vec![
        tool(Called::ShortText, Effects::ReadOnly, Inline::default())?,
        tool(Called::ShortTextNoted, Effects::Writes, Inline::default())?,
        tool(Called::Handle, Effects::ReadOnly, Inline::Never)?,
    ])
}

/// A scripted model: in each of three iterations it reads the prompt and makes one call, and in the last it answers.
struct Script(Called);

#[async_trait]
impl Executor for Script {
    async fn execute(&self, ctx: DispatchContext) -> Result<(), BoxError> {
        black_box((ctx.records().timeline(), ctx.tools().visible()));
        ctx.call_tools([ctx.propose(self.0.tool(), ARGS)]).await;
        if ctx.iteration() == CALLS {
            ctx.answer("That is all.").await?;
        }
        Ok(())
    }
}

/// Returns a runner with everything around the script: a store and a spool in memory, an observer, two middlewares in
/// each pipeline, artifact tools.
pub(crate) fn full(called: Called, tools: &[Tool]) -> Result<TurnRunner, Error> {
    async fn of_turn(_: TurnContext, next: Next<TurnContext>) -> Result<(), BoxError> {
        next.run().await
    }
    async fn of_dispatch(_: DispatchContext, next: Next<DispatchContext>) -> Result<(), BoxError> {
        next.run().await
    }
    let events = Arc::new(AtomicU64::new(0));
    turnwright_core::runner(Script(called))
        .storage(Storage::memory())
        .tools(tools.iter().cloned())
        .turn_input(of_turn)
        .turn_input(of_turn)
        .turn_output(of_turn)
        .turn_output(of_turn)
        .dispatch_input(of_dispatch)
        .dispatch_input(of_dispatch)
        .dispatch_output(of_dispatch)
        .dispatch_output(of_dispatch)
        .observer(move |event: &Event| {
            black_box(event);
            events.fetch_add(1, Ordering::Relaxed);
        })
        .artifact_tools(ArtifactToolPolicy::Stable)
        .build()
}

/// Returns an input for a new conversation in the store.
pub(crate) fn stored(text: &str) -> TurnInput {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let number = LAST.fetch_add(1, Ordering::Relaxed);
    TurnInput::new(text).conversation(number.to_string())
}

/// Runs one turn, which must follow the script.
pub(crate) async fn turn(runner: &TurnRunner) {
    let outcome = runner.run(stored("What is known of it?")).await;
    let fine = outcome.is_answered()
        && outcome.iterations == CALLS
        && outcome.tool_calls().count() == CALLS as usize;
    assert!(fine, "{outcome:?}");
}

/// Returns a standalone dispatch for the bare calls: the same tools, the same spool, and no store.
pub(crate) fn bare(tools: &[Tool]) -> Result<DispatchContext, Error> {
    Ok(DispatchContext::builder()
        .tools(ToolRegistry::new(tools.iter().cloned())?)
        .build())
}

/// Runs the calls of a turn, and nothing else.
pub(crate) async fn bare_calls(ctx: &DispatchContext, called: Called) {
    for _ in 0..CALLS {
        let call = ctx.propose(called.tool(), ARGS).complete().await;
        let handles = usize::from(called == Called::Handle);
        assert!(
            call.is_complete() && call.handles().len() == handles,
            "{call:?}"
        );
    }
}
