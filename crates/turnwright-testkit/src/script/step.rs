//! One step of a script.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use turnwright_core::schema::RawArgs;
use turnwright_core::{BoxError, DispatchContext, Usage};

/// What the model does in one iteration, in the order of the builder calls.
///
/// Adjacent calls are proposed together. A step without calls ends the dispatch, like a model that has finished;
/// [`Step::keep_open`] prevents that.
///
/// ```
/// use serde_json::json;
/// use turnwright_core::Usage;
/// use turnwright_testkit::script::Step;
///
/// let step = Step::think("Two cities, so two calls.")
///     .then_say("Let me look.")
///     .call("weather", json!({ "city": "Paris" }))
///     .call("weather", r#"{"city": "Oslo"}"#)
///     .usage(Usage::tokens(812, 40));
/// ```
#[must_use = "a step does nothing until a `ScriptedModel` plays it"]
pub struct Step {
    pub(super) acts: Vec<Act>,
    pub(super) ends: bool,
}

pub(super) type Work = Box<
    dyn FnOnce(DispatchContext) -> Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send>>
        + Send,
>;

pub(super) enum Act {
    Say(Vec<String>),
    Think(String),
    Call(Vec<ScriptedCall>),
    Use(Usage),
    Wait(Duration),
    Fail(BoxError),
    Nack(BoxError),
    Run(Work),
}

pub(super) struct ScriptedCall {
    pub(super) tool: String,
    pub(super) args: RawArgs,
    pub(super) provider_id: Option<String>,
}

/// Defines each act twice: as the start of a step, and as a continuation.
macro_rules! acts {
    ($($(#[$doc:meta])* $first:ident, $then:ident, ($($arg:ident: $kind:ty),*) => $act:expr;)+) => {
        impl Step {$(
            $(#[$doc])*
            pub fn $first($($arg: $kind),*) -> Self {
                Step::silent().act($act)
            }

            #[doc = concat!("Continues the step like [`Step::", stringify!($first), "`].")]
            pub fn $then(self, $($arg: $kind),*) -> Self {
                self.act($act)
            }
        )+}
    };
}

acts! {
    /// Sends a text in one piece.
    say, then_say, (text: impl Into<String>) => Act::Say(vec![text.into()]);
    /// Streams a text in these pieces.
    stream, then_stream, (pieces: impl IntoIterator<Item = impl Into<String>>)
        => Act::Say(pieces.into_iter().map(Into::into).collect());
    /// Sends reasoning.
    think, then_think, (text: impl Into<String>) => Act::Think(text.into());
    /// Waits for this long, on tokio's clock.
    wait, then_wait, (time: Duration) => Act::Wait(time);
    /// Fails like an unreachable model: the turn fails with this error as its source.
    fail, then_fail, (error: impl Into<BoxError>) => Act::Fail(error.into());
    /// Ends the dispatch with nack.
    nack, then_nack, (error: impl Into<BoxError>) => Act::Nack(error.into());
}

impl Step {
    /// Does nothing: ends the dispatch without output.
    pub fn silent() -> Self {
        Step {
            acts: Vec::new(),
            ends: true,
        }
    }

    /// Calls a tool, with arguments as text or as JSON, without any text.
    pub fn call_tool(tool: impl Into<String>, args: impl Into<RawArgs>) -> Self {
        Step::silent().call(tool, args)
    }

    /// Calls a tool, with arguments as text or as JSON, together with adjacent calls.
    pub fn call(self, tool: impl Into<String>, args: impl Into<RawArgs>) -> Self {
        self.add_call(tool.into(), args.into(), None)
    }

    /// Calls a tool with a provider id.
    pub fn call_with_id(
        self,
        provider_id: impl Into<String>,
        tool: impl Into<String>,
        args: impl Into<RawArgs>,
    ) -> Self {
        self.add_call(tool.into(), args.into(), Some(provider_id.into()))
    }

    /// Reports this token usage.
    pub fn usage(self, usage: Usage) -> Self {
        self.act(Act::Use(usage))
    }

    /// Runs arbitrary code with the context.
    pub fn run<F, Fut>(work: F) -> Self
    where
        F: FnOnce(DispatchContext) -> Fut + Send + 'static,
        Fut: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        Step::silent().then_run(work)
    }

    /// Continues the step like [`Step::run`].
    pub fn then_run<F, Fut>(self, work: F) -> Self
    where
        F: FnOnce(DispatchContext) -> Fut + Send + 'static,
        Fut: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        self.act(Act::Run(Box::new(move |ctx| Box::pin(work(ctx)))))
    }

    /// Keeps the dispatch open although the step has no calls.
    pub fn keep_open(mut self) -> Self {
        self.ends = false;
        self
    }

    fn act(mut self, act: Act) -> Self {
        self.acts.push(act);
        self
    }

    fn add_call(mut self, tool: String, args: RawArgs, provider_id: Option<String>) -> Self {
        self.ends = false;
        let call = ScriptedCall {
            tool,
            args,
            provider_id,
        };
        if let Some(Act::Call(together)) = self.acts.last_mut() {
            together.push(call);
            return self;
        }
        self.act(Act::Call(vec![call]))
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.acts.is_empty() {
            return f.write_str("silent");
        }
        for (at, act) in self.acts.iter().enumerate() {
            if at > 0 {
                f.write_str(", ")?;
            }
            match act {
                Act::Say(pieces) => write!(f, "say {:?}", pieces.concat())?,
                Act::Think(text) => write!(f, "think {text:?}")?,
                Act::Call(calls) => {
                    let tools: Vec<&str> = calls.iter().map(|call| call.tool.as_str()).collect();
                    write!(f, "call {}", tools.join(" and "))?;
                }
                Act::Use(_) => f.write_str("usage")?,
                Act::Wait(time) => write!(f, "wait {time:?}")?,
                Act::Fail(error) => write!(f, "fail: {error}")?,
                Act::Nack(error) => write!(f, "nack: {error}")?,
                Act::Run(_) => f.write_str("run")?,
            }
        }
        Ok(())
    }
}
