//! How a runner is put together.

use std::sync::Arc;
use std::time::Duration;

use super::history::History;
use super::turn_runner::{Plan, TurnRunner};
use crate::artifact::ArtifactLimits;
use crate::artifact_tools::ForgePolicy;
use crate::dispatch::Executor;
use crate::error::{Error, ErrorCode};
use crate::event::{Event, EventBus};
use crate::pipeline::{Middleware, Pipeline};
use crate::record::Lease;
use crate::settings::{Budget, ModelSettings};
use crate::storage::Storage;
use crate::tool::approval::{ApprovalPolicy, Approver};
use crate::tool::context::{DispatchContext, Setup, TurnContext};
use crate::tool::reconcile::Reconcile;
use crate::tool::registry::ToolRegistry;
use crate::tool::{ResultHook, Tool};
use crate::validate::Violations;

/// Events that a started turn may be ahead of its reader, unless told.
const STREAM_CAPACITY: usize = 64;

/// The shortest time for which a conversation can be held.
const SHORTEST_LEASE: Duration = Duration::from_millis(100);

/// Starts to build a [`TurnRunner`] around an executor: a model, or anything else that decides.
///
/// Naming a conversation ([`TurnInput::conversation`](crate::TurnInput::conversation)) is what makes a turn see earlier turns: it
/// is stored, and starts with the history of that conversation. Default: [`History::all`]; change it with
/// [`history`](TurnRunnerBuilder::history). A turn that names no conversation lives in memory and leaves nothing behind.
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
pub fn runner(executor: impl Executor + 'static) -> TurnRunnerBuilder {
    TurnRunnerBuilder::new(Arc::new(executor))
}

/// Makes a [`TurnRunner`].
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
            live: Arc::default(),
        };
        TurnRunnerBuilder {
            plan,
            tools: Vec::new(),
        }
    }

    fn setup(&mut self) -> &mut Setup {
        Arc::make_mut(&mut self.plan.setup)
    }

    /// Sets where conversations are stored.
    ///
    /// Default: [`Storage::memory`]. A turn that names no conversation
    /// ([`TurnInput::conversation`](crate::TurnInput::conversation)) writes nothing there.
    pub fn storage(mut self, storage: Storage) -> Self {
        self.setup().storage = storage;
        self
    }

    /// Adds a value that handlers and middleware get by its type: as a parameter [`State<T>`](crate::State) of a `#[tool]` function, or
    /// with [`TurnContext::state`](crate::TurnContext::state). One of each type; an `Arc<T>` is found as `T`, too.
    pub fn state<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.setup().state.put(value);
        self
    }

    /// Adds a policy that decides whether a call may run. Policies of the runner are asked before the tool's own. If a policy
    /// asks for approval and there is neither an approver nor a holder of the turn's gates, the call is denied.
    ///
    /// Default: none, so that every call may run.
    pub fn policy(mut self, policy: impl ApprovalPolicy + 'static) -> Self {
        self.setup().policies.push(Arc::new(policy));
        self
    }

    /// Adds a hook that changes the results of tools before anything of them is stored, shown in events or sent to the model: see
    /// [`ResultHook`]. Several hooks run in the order in which they are added.
    pub fn on_result(mut self, hook: impl ResultHook + 'static) -> Self {
        self.setup().result_hooks.push(Arc::new(hook));
        self
    }

    /// Sets who answers when a policy asks for approval. Default: none.
    pub fn approver(mut self, approver: impl Approver + 'static) -> Self {
        self.setup().approver = Some(Arc::new(approver));
        self
    }

    /// Sets how long an approval waits for an answer, counted from when its gate was opened, also while the turn is suspended. An
    /// answer that is recorded in the store is used for as long again.
    ///
    /// Default: 15 minutes, counted only while a process waits. The gate of a suspended or interrupted turn then waits without
    /// limit.
    pub fn approval_timeout(mut self, limit: Duration) -> Self {
        self.setup().approval_timeout = Some(limit);
        self
    }

    /// Sets how many bytes of text a result may have to be part of the prompt. Longer results are shown as a handle for artifact
    /// tools. A tool can have a limit of its own. Default: 4 KiB.
    pub fn inline_limit(mut self, bytes: u64) -> Self {
        self.setup().inline_limit = bytes;
        self
    }

    /// Sets how many bytes of one result are stored. Text, bytes and streams are cut off there, up to three bytes earlier so
    /// that no character is split. The record says so
    /// ([`ToolCall::is_truncated`](crate::record::ToolCall::is_truncated)), the model is told, and operators get a warning.
    /// The sender of a stream finds it closed. A tool can have a limit of its own
    /// ([`ToolBuilder::max_result_bytes`](crate::tool::ToolBuilder::max_result_bytes)). Default: 64 MiB.
    pub fn max_result_bytes(mut self, bytes: u64) -> Self {
        self.setup().max_result_bytes = bytes;
        self
    }

    /// Sets the limits for queries of artifacts.
    pub fn artifact_limits(mut self, limits: ArtifactLimits) -> Self {
        self.setup().artifact_limits = limits;
        self
    }

    /// How long the store may take for a batch: what takes longer ends the turn with `E_STORE_ERROR`. A minute unless told.
    pub fn store_timeout(mut self, limit: Duration) -> Self {
        self.setup().store_timeout = limit;
        self
    }

    /// Sets the lease duration. The runner renews the lease while the turn is running. If the process dies, another process
    /// can go on once it has seen no renewal for this long. A process that was away for longer, and meanwhile lost its
    /// turn, can write nothing more for it.
    ///
    /// Default: 30 seconds.
    pub fn lease(mut self, term: Duration) -> Self {
        self.setup().lease = term;
        self
    }

    /// Whether what somebody answered at a gate before a turn was taken up again counts as their answer. It does unless told:
    /// say no where the store may hold what others wrote, and approvals are asked for again.
    pub fn recall_answers(mut self, yes: bool) -> Self {
        self.setup().recalls_answers = yes;
        self
    }

    /// Suspends turns whenever they can only wait for an answer at a gate: their run ends as
    /// [`TurnStatus::Suspended`](crate::TurnStatus::Suspended), and no memory and no lease is held while a person decides. A gate then
    /// needs no holder of the turn's [`Gates`](crate::gate::Gates). Turns that name no conversation cannot be suspended, and behave
    /// as without this. See [`TurnHandle::suspend`](super::TurnHandle::suspend) for what keeps a turn in memory.
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
    /// let TurnStatus::Suspended { gates, .. } = &outcome.ended else { panic!() };
    ///
    /// // Later, in any process that has the store:
    /// let turn = runner.answer_gate("chat-1", &gates[0].id, GateAnswer::approve()).await?;
    /// assert_eq!(turn.await.into_answer()?, "paid");
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    pub fn suspend_at_gates(mut self) -> Self {
        self.setup().suspends = true;
        self
    }

    /// Who is asked what became of a call that was begun and never ended, where its tool cannot say: see
    /// [`unknown`](crate::tool::reconcile). Default: none, and the model reads that the result is unknown.
    pub fn unknown_calls(mut self, policy: impl Reconcile + 'static) -> Self {
        self.setup().unknown_calls = Some(Arc::new(policy));
        self
    }

    /// Sets the system prompt of every turn, for every executor.
    ///
    /// It is your own text: it is not fenced and not stored as a record. Models send it before everything else, so keep it
    /// the same for all turns; what belongs to one user or turn goes into
    /// [`TurnInput::instructions`](crate::TurnInput::instructions), which is added after it. A resumed turn gets the
    /// instructions of the runner that resumes it. Default: none.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.setup().settings.instruct(text.into());
        self
    }

    /// Sets the model settings of every turn. Fields that are set here replace those that were set before, and take
    /// precedence over the model's own; [`TurnInput::settings`](crate::TurnInput::settings) takes precedence over them.
    /// Default: none.
    pub fn settings(mut self, settings: ModelSettings) -> Self {
        let model = &mut self.setup().settings.model;
        *model = settings.over(model);
        self
    }

    /// Sets how much every turn may use. Limits that are set here replace those that were set before;
    /// [`TurnInput::budget`](crate::TurnInput::budget) takes precedence over them. Default: unlimited.
    pub fn budget(mut self, budget: Budget) -> Self {
        let own = &mut self.setup().settings.budget;
        *own = budget.over(own);
        self
    }

    /// Sets how much of the earlier conversation a turn starts with. It is loaded before the turn's input middleware runs.
    ///
    /// Default: [`History::all`]. Turns that name no conversation have no history.
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
    pub fn history(mut self, history: History) -> Self {
        self.plan.history = history;
        self
    }

    /// A tool of every turn. Takes what `#[tool]` functions and builders give, errors included, which `build` tells.
    pub fn tool(mut self, tool: impl IntoTool) -> Self {
        self.tools.push(tool.into_tool());
        self
    }

    /// Tools of every turn.
    pub fn tools<T: IntoTool>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.tools
            .extend(tools.into_iter().map(IntoTool::into_tool));
        self
    }

    /// Around the other layers of the turn's input: further out the earlier it is said. It is not around the turn: how long
    /// that takes is told by `TurnEnd`. What the user said is in the turn and in the store already; a layer that is not to let
    /// it in says `ctx.records().delete::<Message>(…)` and aborts.
    pub fn turn_input(mut self, layer: impl Middleware<TurnContext> + 'static) -> Self {
        self.plan.turn_input.layers().push(Arc::new(layer));
        self
    }

    /// Around the end of a turn that was answered or refused.
    pub fn turn_output(mut self, layer: impl Middleware<TurnContext> + 'static) -> Self {
        self.plan.turn_output.layers().push(Arc::new(layer));
        self
    }

    /// Before the executor, in each iteration.
    pub fn dispatch_input(mut self, layer: impl Middleware<DispatchContext> + 'static) -> Self {
        self.plan.dispatch_input.layers().push(Arc::new(layer));
        self
    }

    /// Adds a layer after the executor, in each iteration that ended without a signal. With
    /// [`auto_ack(false)`](Self::auto_ack) it also runs after an answer, and decides on it.
    pub fn dispatch_output(mut self, layer: impl Middleware<DispatchContext> + 'static) -> Self {
        self.plan.dispatch_output.layers().push(Arc::new(layer));
        self
    }

    /// Tells `observer` everything that happens in the turns of this runner.
    pub fn observer(self, observer: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.plan.events.observe(observer);
        self
    }

    /// Sets the maximum number of iterations of a dispatch. The turn then ends with
    /// [`Limit::Iterations`](crate::outcome::Limit::Iterations). Default: 64.
    pub fn iteration_limit(mut self, most: u32) -> Self {
        self.setup().iteration_limit = most;
        self
    }

    /// Whether the model is told when its last iteration begins, so that it answers with what it has. An iteration limit of
    /// one is not announced. Default: `false`.
    pub fn announce_last_iteration(mut self, yes: bool) -> Self {
        self.setup().announces_last_iteration = yes;
        self
    }

    /// Sets whether an answer of the executor ends the dispatch at once. Default: `true`.
    ///
    /// With `false` the answer is only proposed. Dispatch output middleware runs, reads it with
    /// [`DispatchContext::proposed_answer`], and accepts it or rejects it with a reason. The model reads the reason and is asked
    /// again. An answer that no layer decides on is accepted at the end of the pipeline. Executors need not change.
    ///
    /// The rejected answer and the reason stay in the conversation's records. Answers of a type
    /// ([`TurnRunner::run_typed`](crate::TurnRunner::run_typed)) reach the layers only if they match it.
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

    /// Sets how often the model is asked again after an answer that a layer rejected. Then the turn fails with
    /// `E_ANSWER_REJECTED`. A resumed turn counts from zero. Default: 3.
    pub fn answer_retries(mut self, times: u32) -> Self {
        self.setup().answer_retries = times;
        self
    }

    /// The most calls, of those that are proposed together, that run at once. 16 unless told.
    pub fn parallel_calls(mut self, most: usize) -> Self {
        self.setup().parallel_calls = most;
        self
    }

    /// How tools for artifacts are forged before each iteration. [`ForgePolicy::Stable`] unless told.
    pub fn artifact_tools(mut self, policy: ForgePolicy) -> Self {
        self.setup().forge = Some(policy);
        self
    }

    /// No tools for artifacts are forged, save by an executor or middleware of yours.
    pub fn without_artifact_tools(mut self) -> Self {
        self.setup().forge = None;
        self
    }

    /// Sets how many events a reader of a turn's stream may be behind before it gets several deltas as one. The turn never
    /// waits for its readers.
    ///
    /// Default: 64.
    pub fn stream_capacity(mut self, events: usize) -> Self {
        self.plan.stream_capacity = events;
        self
    }

    /// Whether traces hold what was said, asked and answered. Not unless told.
    pub fn trace_content(mut self, yes: bool) -> Self {
        self.setup().trace_content = yes;
        self
    }

    /// Makes the runner.
    ///
    /// # Errors
    /// `E_INVALID_TURN_RUNNER_CONFIG`, which names every wrong field; the error of a tool that is not well defined;
    /// `E_TOOL_ALREADY_REGISTERED` if two have one name; `E_MISSING_STATE` if a tool needs [`state`](Self::state) that is missing.
    pub fn build(mut self) -> Result<TurnRunner, Error> {
        let (plan, setup) = (&self.plan, &self.plan.setup);
        let mut wrong = Violations::default();
        let begins = setup.iteration_limit > 0;
        wrong.check("iteration_limit", begins, "is zero: no turn could begin");
        let keeps = setup.max_result_bytes > 0;
        wrong.check(
            "max_result_bytes",
            keeps,
            "is zero: no result could be kept",
        );
        let runs = setup.parallel_calls > 0;
        wrong.check("parallel_calls", runs, "is zero: no call could run");
        let few = setup.parallel_calls <= tokio::sync::Semaphore::MAX_PERMITS;
        wrong.check("parallel_calls", few, "is more than can be counted");
        let room = plan.stream_capacity > 0;
        wrong.check("stream_capacity", room, "must be at least one event");
        let answers = setup.approval_timeout.is_none_or(|limit| !limit.is_zero());
        wrong.check("approval_timeout", answers, "is zero: nobody could answer");
        let writes = !setup.store_timeout.is_zero();
        wrong.check("store_timeout", writes, "is zero: nothing could be stored");
        // Shorter ones would be over before a store has written them.
        let holds = (SHORTEST_LEASE..=Lease::LONGEST).contains(&setup.lease);
        wrong.check("lease", holds, "must be from 100 milliseconds to an hour");
        setup.settings.check(&mut wrong);
        wrong.finish(ErrorCode::INVALID_TURN_RUNNER_CONFIG, "runner")?;
        setup.storage.secret().map_err(|error| {
            let message = "the operating system provides no randomness: set `.storage(…)` with a secret that you stored";
            Error::new(ErrorCode::INVALID_TURN_RUNNER_CONFIG, message).with_source(error)
        })?;
        let tools = self
            .tools
            .into_iter()
            .collect::<Result<Vec<Tool>, Error>>()?;
        check_state(&tools, &self.plan.setup)?;
        self.plan.tools = ToolRegistry::new(tools)?;
        Ok(TurnRunner::new(self.plan))
    }
}

/// Checks that the state that tools need is there, and names all that is not.
fn check_state(tools: &[Tool], setup: &Setup) -> Result<(), Error> {
    let missing: Vec<String> = tools
        .iter()
        .flat_map(|tool| {
            let types = tool.missing_state(&setup.state);
            types.map(|name| format!("the tool `{}` needs state of type `{name}`", tool.name()))
        })
        .collect();
    match missing.is_empty() {
        true => Ok(()),
        false => {
            let missing = missing.join("; ");
            let message = format!("{missing}: call `.state(value)` with one of each type");
            Err(Error::new(ErrorCode::MISSING_STATE, message))
        }
    }
}

/// What can be given as a tool: a [`Tool`], or what making one gave.
pub trait IntoTool {
    /// The tool, or why there is none.
    ///
    /// # Errors
    /// Its definition is wrong.
    fn into_tool(self) -> Result<Tool, Error>;
}

impl IntoTool for Tool {
    fn into_tool(self) -> Result<Tool, Error> {
        Ok(self)
    }
}

impl IntoTool for Result<Tool, Error> {
    fn into_tool(self) -> Result<Tool, Error> {
        self
    }
}

debug_fields!(TurnRunnerBuilder { tools });
