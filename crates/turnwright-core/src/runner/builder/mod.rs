//! The builder of a runner.

mod build;

use std::sync::Arc;
use std::time::Duration;

use super::history::History;
use super::run_loop::Plan;
use crate::artifact::ArtifactLimits;
use crate::artifact_tools::ArtifactToolPolicy;
use crate::dispatch::Executor;
use crate::error::{Error, ErrorCode};
use crate::event::{Event, EventBus};
use crate::pipeline::{Middleware, Pipeline};
use crate::settings::{Budget, ModelSettings};
use crate::storage::Storage;
use crate::tool::approval::{ApprovalPolicy, Approver};
use crate::tool::context::{DispatchContext, Setup, TurnContext};
use crate::tool::reconcile::Reconcile;
use crate::tool::registry::ToolRegistry;
use crate::tool::{ResultHook, Tool};

/// Default number of events that a reader may lag behind.
const STREAM_CAPACITY: usize = 64;

/// Starts to build a [`TurnRunner`](super::TurnRunner) with an executor: a model, or anything else that decides.
///
/// A turn with a conversation ([`TurnInput::conversation`](crate::TurnInput::conversation)) is stored and sees earlier turns: it
/// starts with the history of that conversation ([`History::all`] by default, see [`history`](TurnRunnerBuilder::history)). A
/// turn without a conversation stays in memory and leaves nothing behind.
///
/// ```
/// use turnwright_core::{DispatchContext, Message, TurnInput};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
///     ctx.answer(format!("{} messages so far", ctx.records().all::<Message>().len())).await?;
///     Ok(())
/// })
/// .build()?;
/// let hello = || TurnInput::new("hello").conversation("c-1");
/// assert_eq!(runner.run(hello()).await.text, "1 messages so far");
/// assert_eq!(runner.run(hello()).await.text, "3 messages so far");
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
#[doc(alias("agent", "AgentBuilder", "create_agent"))]
pub fn runner(executor: impl Executor + 'static) -> TurnRunnerBuilder {
    TurnRunnerBuilder::new(Arc::new(executor))
}

/// Builds a [`TurnRunner`](super::TurnRunner).
///
/// ```
/// use std::time::Duration;
/// use turnwright_core::tool::approval::before_writes;
/// use turnwright_core::{Budget, DispatchContext, Storage};
///
/// # let executor = |_: DispatchContext| async { Ok(()) };
/// let runner = turnwright_core::runner(executor)
///     .storage(Storage::memory())
///     .instructions("You are the assistant of a bookshop.")
///     .policy(before_writes("it may change something"))
///     .budget(Budget::new().tokens(50_000).time(Duration::from_secs(120)))
///     .build()?;
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[must_use = "a builder does nothing until `build` is called"]
pub struct TurnRunnerBuilder {
    plan: Plan,
    tools: Vec<Result<Tool, Error>>,
}

impl TurnRunnerBuilder {
    pub(crate) fn new(executor: Arc<dyn Executor>) -> Self {
        let (input, output) = (
            ErrorCode::INPUT_PIPELINE_ERROR,
            ErrorCode::OUTPUT_PIPELINE_ERROR,
        );
        let dispatch = ErrorCode::DISPATCH_PIPELINE_ERROR;
        let cancelled = |turn: &TurnContext| turn.cancellation().is_cancelled();
        let over = DispatchContext::is_over;
        let plan = Plan {
            executor,
            setup: Arc::new(Setup::default()),
            tools: ToolRegistry::default(),
            history: History::all(),
            turn_input: Pipeline::new("turn-input", input, cancelled),
            turn_output: Pipeline::new("turn-output", output, cancelled),
            dispatch_input: Pipeline::new("dispatch-input", dispatch, over),
            dispatch_output: Pipeline::new("dispatch-output", dispatch, over),
            events: EventBus::default(),
            stream_capacity: STREAM_CAPACITY,
        };
        TurnRunnerBuilder {
            plan,
            tools: Vec::new(),
        }
    }

    fn setup(&mut self) -> &mut Setup {
        Arc::make_mut(&mut self.plan.setup)
    }

    /// Sets where conversations are stored. A turn without a conversation
    /// ([`TurnInput::conversation`](crate::TurnInput::conversation)) writes nothing there.
    ///
    /// Default: [`Storage::memory`].
    #[doc(alias("checkpointer", "memory"))]
    pub fn storage(mut self, storage: Storage) -> Self {
        self.setup().storage = storage;
        self
    }

    /// Adds application state that handlers and middleware access by type: as a parameter [`State<T>`](crate::State) of a
    /// `#[tool]` function, or with [`TurnContext::state`](crate::TurnContext::state). One value per type. An `Arc<T>` is also
    /// found as `T`.
    pub fn state<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.setup().state.put(value);
        self
    }

    /// Adds a policy that decides whether a call may run. Policies of the runner precede that of the tool. If a policy requires
    /// approval and there is neither an approver nor a holder of the turn's gates, the call is denied.
    ///
    /// Default: none; every call may run.
    #[doc(alias("requires_approval", "needsApproval"))]
    pub fn policy(mut self, policy: impl ApprovalPolicy + 'static) -> Self {
        self.setup().policies.push(Arc::new(policy));
        self
    }

    /// Adds a hook that changes tool results before they are stored, shown in events or sent to the model: see [`ResultHook`].
    /// Hooks run in the order in which they are added.
    pub fn on_result(mut self, hook: impl ResultHook + 'static) -> Self {
        self.setup().result_hooks.push(Arc::new(hook));
        self
    }

    /// Sets the approver, which answers when a policy requires approval.
    ///
    /// Default: none.
    #[doc(alias("hitl", "human_in_the_loop"))]
    pub fn approver(mut self, approver: impl Approver + 'static) -> Self {
        self.setup().approver = Some(Arc::new(approver));
        self
    }

    /// Sets how long an approval waits for an answer, counted from when its gate was opened, also while the turn is suspended.
    /// A recorded answer expires after the same time, counted from when it was given.
    ///
    /// Default: 15 minutes, counted only while a process waits. The gate of a suspended or interrupted turn then waits without
    /// limit.
    pub fn approval_timeout(mut self, limit: Duration) -> Self {
        self.setup().approval_timeout = Some(limit);
        self
    }

    /// Sets the maximum size in bytes of a text result that is inlined into the prompt. Larger results are shown as a handle for
    /// artifact tools. A tool can override it.
    ///
    /// Default: 4 KiB.
    pub fn inline_limit(mut self, bytes: u64) -> Self {
        self.setup().inline_limit = bytes;
        self
    }

    /// Sets the maximum size of a result in bytes. Text, bytes and streams are truncated there, or up to three bytes earlier to
    /// avoid splitting a character. The record is marked ([`ToolCall::is_truncated`](crate::record::ToolCall::is_truncated)), the
    /// model is informed, and operators get a warning. The sender of a stream finds it closed. A tool can override it
    /// ([`ToolBuilder::max_result_bytes`](crate::tool::ToolBuilder::max_result_bytes)).
    ///
    /// Default: 64 MiB.
    pub fn max_result_bytes(mut self, bytes: u64) -> Self {
        self.setup().max_result_bytes = bytes;
        self
    }

    /// Sets the maximum size in bytes of a media item that is copied into the spool of a persistent storage. The bytes of a larger
    /// one stay where they are, as with [`MediaBuilder::in_place`](crate::media::MediaBuilder::in_place), and operators get a
    /// warning.
    ///
    /// Default: 64 MiB.
    pub fn max_spooled_media_bytes(mut self, bytes: u64) -> Self {
        self.setup().max_spooled_media_bytes = bytes;
        self
    }

    /// Sets the limits for artifact queries.
    pub fn artifact_limits(mut self, limits: ArtifactLimits) -> Self {
        self.setup().artifact_limits = limits;
        self
    }

    /// Sets the timeout for a batch of the store. When it is exceeded, the turn ends with `E_STORE_ERROR`.
    ///
    /// Default: 1 minute.
    pub fn store_timeout(mut self, limit: Duration) -> Self {
        self.setup().store_timeout = limit;
        self
    }

    /// Sets the lease duration. The runner renews the lease while the turn is running. If the process dies, another process can
    /// resume the turn once it has seen no renewal for this long. A process that was suspended for longer and has lost its turn
    /// cannot write for it any more.
    ///
    /// Default: 30 seconds.
    pub fn lease(mut self, term: Duration) -> Self {
        self.setup().lease = term;
        self
    }

    /// Sets whether answers recorded before a resume are reused. Set it to `false` if others can write to the store; then
    /// approvals are requested again.
    ///
    /// Default: `true`.
    pub fn reuse_answers(mut self, reuse: bool) -> Self {
        self.setup().reuse_answers = reuse;
        self
    }

    /// Suspends turns whenever they can only wait for an answer at a gate. The run ends with
    /// [`TurnStatus::Suspended`](crate::TurnStatus::Suspended), and neither memory nor a lease is held while a person decides. A
    /// gate then needs no holder of the turn's [`Gates`](crate::gate::Gates). Turns without a conversation cannot be suspended
    /// and behave as without this setting. See [`Turn::suspend`](super::Turn::suspend) for what keeps a turn in
    /// memory.
    ///
    /// While an approver is being asked, the turn waits for it.
    ///
    /// A suspended turn waits without limit, unless [`approval_timeout`](Self::approval_timeout) or the gate sets one. Default:
    /// off.
    ///
    /// ```
    /// use turnwright_core::tool::approval::always;
    /// use turnwright_core::{DispatchContext, Tool, ToolContext, TurnInput, TurnStatus};
    /// use turnwright_core::gate::GateAnswer;
    /// use serde_json::{Value, json};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let pay = Tool::dynamic("pay", json!({ "type": "object" }))
    ///     .description("Pays the bill.")
    ///     .handler(|_: Value, _: ToolContext| async { "paid" })
    ///     .build()?;
    /// let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
    ///     match ctx.records().own_tool_calls().first() {
    ///         None => drop(ctx.call("pay", "{}").await),
    ///         Some(paid) => drop(ctx.answer(paid.text().await.unwrap_or_default()).await?),
    ///     }
    ///     Ok(())
    /// })
    /// .tool(pay)
    /// .policy(always("money moves"))
    /// .suspend_at_gates()
    /// .build()?;
    ///
    /// let outcome = runner.run(TurnInput::new("Pay the bill.").conversation("chat-1")).await;
    /// let TurnStatus::Suspended { gates, .. } = &outcome.status else { panic!() };
    ///
    /// // Later, in any process that has the store:
    /// let turn = runner.answer_gate("chat-1", &gates[0].id, GateAnswer::approve()).await?;
    /// assert_eq!(turn.await.into_answer()?, "paid");
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    #[doc(alias("interrupt", "hitl", "human_in_the_loop"))]
    pub fn suspend_at_gates(mut self) -> Self {
        self.setup().suspend_at_gates = true;
        self
    }

    /// Sets the policy that reconciles calls that started and never ended, if their tool cannot: see
    /// [`reconcile`](crate::tool::reconcile).
    ///
    /// Default: none; the model reads that the result is unknown.
    pub fn unknown_calls(mut self, policy: impl Reconcile + 'static) -> Self {
        self.setup().unknown_calls = Some(Arc::new(policy));
        self
    }

    /// Sets the system prompt of every turn, for every executor.
    ///
    /// It is trusted text: it has no envelope and is not stored as a record. Models send it first, so keep it the same for all
    /// turns. Text for one user or turn goes into [`TurnInput::instructions`](crate::TurnInput::instructions), which is appended.
    /// A resumed turn gets the instructions of the runner that resumes it.
    ///
    /// Default: none.
    #[doc(alias("system_prompt", "preamble", "system"))]
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.setup().settings.instruct(text.into());
        self
    }

    /// Sets the model settings of every turn. They replace fields that were set before, and take precedence over those of the
    /// model. [`TurnInput::settings`](crate::TurnInput::settings) takes precedence over them.
    ///
    /// Default: none.
    #[doc(alias("temperature", "max_tokens"))]
    pub fn settings(mut self, settings: ModelSettings) -> Self {
        let model = &mut self.setup().settings.model;
        *model = settings.over(model);
        self
    }

    /// Sets the budget of every turn. It replaces limits that were set before. [`TurnInput::budget`](crate::TurnInput::budget)
    /// takes precedence.
    ///
    /// Default: unlimited.
    pub fn budget(mut self, budget: Budget) -> Self {
        let own = &mut self.setup().settings.budget;
        *own = budget.over(own);
        self
    }

    /// Sets how much of the earlier conversation a turn starts with. It is loaded before the turn input middleware runs. Turns
    /// without a conversation have no history.
    ///
    /// Default: [`History::all`].
    ///
    /// ```
    /// use turnwright_core::runner::History;
    /// use turnwright_core::{DispatchContext, Message, TurnInput};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let counts = |ctx: DispatchContext| async move {
    ///     ctx.answer(ctx.records().all::<Message>().len().to_string()).await?;
    ///     Ok(())
    /// };
    /// let runner = turnwright_core::runner(counts).history(History::none()).build()?;
    /// for _ in 0..2 {
    ///     let outcome = runner.run(TurnInput::new("hello").conversation("chat-1")).await;
    ///     assert_eq!(outcome.text, "1");
    /// }
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    #[doc(alias("chat_history", "context_window"))]
    pub fn history(mut self, history: History) -> Self {
        self.plan.history = history;
        self
    }

    /// Adds a tool to every turn: a [`Tool`], or the result of building one. Errors in a tool are reported by
    /// [`build`](Self::build), so that no tool needs a `?`.
    ///
    /// ```
    /// use serde_json::{Value, json};
    /// use turnwright_core::{DispatchContext, Error, Tool, ToolContext};
    ///
    /// fn greet() -> Result<Tool, Error> {
    ///     Tool::dynamic("greet", json!({ "type": "object" }))
    ///         .description("Greets.")
    ///         .handler(|_: Value, _: ToolContext| async { "Hello!" })
    ///         .build()
    /// }
    ///
    /// # let executor = |_: DispatchContext| async { Ok(()) };
    /// let runner = turnwright_core::runner(executor).tool(greet()).build()?;
    /// # Ok::<(), turnwright_core::Error>(())
    /// ```
    pub fn tool(mut self, tool: impl Into<Result<Tool, Error>>) -> Self {
        self.tools.push(tool.into());
        self
    }

    /// Adds tools to every turn.
    pub fn tools<T: Into<Result<Tool, Error>>>(
        mut self,
        tools: impl IntoIterator<Item = T>,
    ) -> Self {
        self.tools.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Adds a layer to the turn input. Earlier layers wrap later ones. A layer does not wrap the turn itself; use `TurnEnd` to
    /// measure its duration. The input message is already stored: to reject it, call `ctx.records().delete::<Message>(…)` and
    /// abort.
    pub fn turn_input(mut self, layer: impl Middleware<TurnContext> + 'static) -> Self {
        self.plan.turn_input.layers().push(Arc::new(layer));
        self
    }

    /// Adds a layer to the turn output, which runs after a turn was answered or nacked.
    pub fn turn_output(mut self, layer: impl Middleware<TurnContext> + 'static) -> Self {
        self.plan.turn_output.layers().push(Arc::new(layer));
        self
    }

    /// Adds a layer before the executor, in each iteration.
    pub fn dispatch_input(mut self, layer: impl Middleware<DispatchContext> + 'static) -> Self {
        self.plan.dispatch_input.layers().push(Arc::new(layer));
        self
    }

    /// Adds a layer after the executor, in each iteration that ended without a signal. With [`auto_ack(false)`](Self::auto_ack)
    /// it also runs after an answer and can decide on it.
    pub fn dispatch_output(mut self, layer: impl Middleware<DispatchContext> + 'static) -> Self {
        self.plan.dispatch_output.layers().push(Arc::new(layer));
        self
    }

    /// Tells `observer` everything that happens in the turns of this runner.
    #[doc(alias("hook", "callback"))]
    pub fn observer(self, observer: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.plan.events.observe(observer);
        self
    }

    /// Sets the maximum number of iterations of a dispatch. The turn then ends with
    /// [`Limit::Iterations`](crate::outcome::Limit::Iterations). Default: 64.
    #[doc(alias(
        "max_turns",
        "max_steps",
        "max_iterations",
        "recursion_limit",
        "stopWhen"
    ))]
    pub fn iteration_limit(mut self, most: u32) -> Self {
        self.setup().iteration_limit = most;
        self
    }

    /// Sets whether the model is informed when its last iteration starts, so that it answers with what it has. An iteration limit
    /// of one is not announced.
    ///
    /// Default: `false`.
    pub fn announce_last_iteration(mut self, yes: bool) -> Self {
        self.setup().announce_last_iteration = yes;
        self
    }

    /// Sets whether an answer of the executor ends the dispatch immediately.
    ///
    /// With `false` the answer is only proposed. Dispatch output middleware reads it with [`DispatchContext::proposed_answer`],
    /// and accepts or rejects it. If it is rejected, the model reads the reason and is asked again. An answer that no layer
    /// decides on is accepted at the end of the pipeline. Executors need not change.
    ///
    /// The rejected answer and the reason stay in the conversation. Typed answers
    /// ([`TurnInput::answer`](crate::TurnInput::answer)) reach the layers only if they match their type.
    ///
    /// Default: `true`.
    ///
    /// ```
    /// use turnwright_core::{DispatchContext, Next};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let model = |ctx: DispatchContext| async move {
    ///     ctx.answer(match ctx.iteration() {
    ///         1 => "It should be fine.",
    ///         _ => "It is fine: see ticket 17.",
    ///     })
    ///     .await?;
    ///     Ok(())
    /// };
    /// let cites = |ctx: DispatchContext, next: Next<DispatchContext>| async move {
    ///     match ctx.proposed_answer() {
    ///         Some(answer) if !answer.text().contains("ticket") => {
    ///             answer.reject("Name the ticket that you rely on.")?;
    ///             Ok(())
    ///         }
    ///         _ => next.run().await,
    ///     }
    /// };
    /// let runner = turnwright_core::runner(model).auto_ack(false).dispatch_output(cites).build()?;
    /// let outcome = runner.run("Is it fine?").await;
    /// assert_eq!(outcome.text, "It is fine: see ticket 17.");
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    pub fn auto_ack(mut self, yes: bool) -> Self {
        self.setup().auto_ack = yes;
        self
    }

    /// Sets how often the model is asked again after a layer rejected its answer. After that the turn fails with
    /// `E_ANSWER_REJECTED`. A resumed turn starts at zero.
    ///
    /// Default: 3.
    pub fn answer_retries(mut self, times: u32) -> Self {
        self.setup().answer_retries = times;
        self
    }

    /// Sets how many calls of a batch run concurrently.
    ///
    /// Default: 16.
    pub fn parallel_calls(mut self, most: usize) -> Self {
        self.setup().parallel_calls = most;
        self
    }

    /// Sets how artifact tools are built before each iteration. With `None`, there are none.
    ///
    /// Default: [`ArtifactToolPolicy::Stable`].
    pub fn artifact_tools(mut self, policy: impl Into<Option<ArtifactToolPolicy>>) -> Self {
        self.setup().artifact_tools = policy.into();
        self
    }

    /// Sets how many events a reader of a turn may lag behind before it receives several deltas as one. The turn never
    /// waits for its readers.
    ///
    /// Default: 64.
    pub fn stream_capacity(mut self, events: usize) -> Self {
        self.plan.stream_capacity = events;
        self
    }

    /// Sets the name of the agent in traces and metrics (`gen_ai.agent.name`).
    ///
    /// ```
    /// # let executor = |_: turnwright_core::DispatchContext| async { Ok(()) };
    /// let runner = turnwright_core::runner(executor).name("support").build()?;
    /// # Ok::<(), turnwright_core::Error>(())
    /// ```
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.setup().name = Some(name.into());
        self
    }

    /// Sets whether traces contain messages, arguments and results.
    ///
    /// Default: `false`.
    pub fn trace_content(mut self, yes: bool) -> Self {
        self.setup().trace_content = yes;
        self
    }
}

debug_fields!(TurnRunnerBuilder { tools });
