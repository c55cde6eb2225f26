//! A scripted model that records its requests.
//!
//! ```
//! use serde_json::{Value, json};
//! use turnwright_core::{Tool, ToolContext};
//! use turnwright_testkit::script::{ScriptedModel, Step};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let read_log = Tool::dynamic("read_log", json!({
//!         "type": "object", "properties": { "day": { "type": "string" } }, "required": ["day"],
//!     }))
//!     .description("The log of a day.")
//!     .handler(|_: Value, _: ToolContext| async { "03:12 disk full" })
//!     .build()?;
//!
//! let model = ScriptedModel::new([
//!     Step::say("Let me look.").call("read_log", json!({ "day": "monday" })),
//!     Step::say("It was the disk."),
//! ]);
//! let runner = turnwright_core::runner(model.clone()).tool(read_log).build()?;
//! let outcome = runner.run("What broke?").await;
//!
//! assert_eq!(outcome.text, "It was the disk.");
//! assert_eq!(model.request(0).tool_names(), ["read_log"]);
//! assert_eq!(model.request(1).tool_calls()[0].tool(), "read_log");
//! assert!(model.request(1).tool_calls()[0].rendered().contains("03:12 disk full"));
//! model.assert_finished();
//! # Ok::<(), turnwright_core::Error>(()) }).unwrap();
//! ```
//!
//! Waiting uses tokio's clock, which a test can pause; then hours pass immediately.
//!
//! ```
//! use std::time::Duration;
//! use turnwright_core::{Budget, TurnInput, TurnStatus};
//! use turnwright_core::runner::Limit;
//! use turnwright_testkit::script::{ScriptedModel, Step};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(async {
//! let model = ScriptedModel::new([Step::wait(Duration::from_secs(3600)).then_say("Done.")]);
//! let runner = turnwright_core::runner(model).build()?;
//! let outcome = runner.run(TurnInput::new("Take your time.").budget(Budget::new().time(Duration::from_secs(60)))).await;
//! assert!(matches!(outcome.status, TurnStatus::Limit(Limit::Time(_))));
//! # Ok::<(), turnwright_core::Error>(()) }).unwrap();
//! ```

mod play;
mod prompt;
mod request;
mod step;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use turnwright_core::{BoxError, DispatchContext, Executor};

use prompt::Transcripts;

pub use prompt::{PromptPart, PromptRole};
pub use request::{
    ModelRequest, Rendered, RenderedCall, RenderedRetrievable, RequestMessage, RequestTool,
};
pub use step::Step;

/// An [`Executor`] that plays a script, one [`Step`] per iteration. Clones share the script and the recorded prompts.
///
/// ```
/// use turnwright_testkit::script::{ScriptedModel, Step};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let model = ScriptedModel::new([Step::say("Hello!")]);
/// let runner = turnwright_core::runner(model.clone()).build()?;
/// assert_eq!(runner.run("Hi").await.into_answer()?, "Hello!");
/// assert_eq!(model.request_count(), 1);
/// model.assert_finished();
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct ScriptedModel(Arc<Mutex<State>>);

struct State {
    /// The steps that are not played yet.
    steps: VecDeque<Step>,
    played: usize,
    requests: Vec<Arc<ModelRequest>>,
}

impl ScriptedModel {
    /// Creates a model that plays these steps.
    #[must_use]
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        ScriptedModel(Arc::new(Mutex::new(State {
            steps: steps.into_iter().collect(),
            played: 0,
            requests: Vec::new(),
        })))
    }

    /// Appends a step, also while the script is being played.
    pub fn push(&self, step: Step) {
        self.0.lock().steps.push_back(step);
    }

    /// Returns the request of this step, counted from 0 over all turns.
    ///
    /// # Panics
    /// Panics if the step was not reached.
    #[must_use]
    #[track_caller]
    #[expect(clippy::panic, reason = "documented: fails the test with a message")]
    pub fn request(&self, step: usize) -> Arc<ModelRequest> {
        let state = self.0.lock();
        match state.requests.get(step) {
            Some(request) => Arc::clone(request),
            None => panic!(
                "step {step} was not reached: the model was called {} times",
                state.requests.len()
            ),
        }
    }

    /// Returns the requests to the model, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<Arc<ModelRequest>> {
        self.0.lock().requests.clone()
    }

    /// Returns how many requests the model got.
    #[must_use]
    pub fn request_count(&self) -> usize {
        self.0.lock().requests.len()
    }

    /// Returns the steps that were not played, counted from 0.
    #[must_use]
    pub fn unplayed(&self) -> Vec<usize> {
        let state = self.0.lock();
        (state.played..state.played + state.steps.len()).collect()
    }

    /// Asserts that every step was played.
    ///
    /// # Panics
    /// Panics if some steps were not played, and lists them.
    #[track_caller]
    pub fn assert_finished(&self) {
        let state = self.0.lock();
        let left = (state.played..).zip(&state.steps);
        let left = left.map(|(at, step)| format!("step {at} ({step:?})"));
        let left: Vec<String> = left.collect();
        assert!(
            left.is_empty(),
            "of {} steps these were not played: {}",
            state.played + left.len(),
            left.join(", ")
        );
    }
}

impl State {
    fn take(&mut self) -> Result<Step, BoxError> {
        let played = self.played;
        let step = self.steps.pop_front().ok_or_else(|| {
            format!("the script has no step {played}: all earlier steps were played")
        })?;
        self.played += 1;
        Ok(step)
    }
}

#[async_trait]
impl Executor for ScriptedModel {
    async fn execute(&self, ctx: DispatchContext) -> Result<(), BoxError> {
        let transcripts = ctx.turn().per_turn::<Transcripts>();
        let mut transcript = transcripts.take(self);
        let request = ModelRequest::of(&ctx, &mut transcript).await;
        transcripts.put(self, transcript);
        let request = request?;
        let step = {
            let mut state = self.0.lock();
            state.requests.push(Arc::new(request));
            state.take()?
        };
        step.play(&ctx).await
    }

    fn name(&self) -> &str {
        "scripted"
    }

    fn model(&self) -> Option<&str> {
        Some("scripted-model")
    }
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.0.lock();
        let (played, all) = (state.played, state.played + state.steps.len());
        write!(f, "ScriptedModel({played} of {all} played)")
    }
}
