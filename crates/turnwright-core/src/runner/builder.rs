//! How a runner is put together.

use std::sync::Arc;
use std::time::Duration;

use super::turn_runner::{Plan, TurnRunner};
use crate::artifact_tools::ForgePolicy;
use crate::dispatch::Executor;
use crate::error::{Error, ErrorCode};
use crate::event::{Event, EventBus};
use crate::pipeline::{Middleware, Pipeline};
use crate::record::Lease;
use crate::store::{MemoryStore, Store};
use crate::tool::Tool;
use crate::tool::context::{DispatchContext, Setup, TurnContext, setup_methods};
use crate::tool::reconcile::Reconcile;
use crate::tool::registry::ToolRegistry;
use crate::trust::ConversationSecret;
use crate::validate::Violations;

/// Events that a started turn may be ahead of its reader, unless told.
const STREAM_CAPACITY: usize = 64;

/// The shortest time for which a conversation can be held.
const SHORTEST_LEASE: Duration = Duration::from_millis(100);

/// Makes a [`TurnRunner`].
#[must_use = "a builder does nothing until `build` is called"]
pub struct TurnRunnerBuilder {
    plan: Plan,
    tools: Vec<Result<Tool, Error>>,
    remembers: bool,
}

impl TurnRunnerBuilder {
    pub(crate) fn new(executor: Arc<dyn Executor>) -> Self {
        let setup = Setup {
            store: Some(Arc::new(MemoryStore::default())),
            ..Setup::default()
        };
        let (input, output) = (ErrorCode::InputPipeline, ErrorCode::OutputPipeline);
        let dispatch = ErrorCode::DispatchPipeline;
        let cancelled = |turn: &TurnContext| turn.cancellation().is_cancelled();
        let over = DispatchContext::is_over;
        let plan = Plan {
            executor,
            setup: Arc::new(setup),
            tools: ToolRegistry::default(),
            turn_input: Pipeline::new("turn-input", input, cancelled),
            turn_output: Pipeline::new("turn-output", output, cancelled),
            dispatch_input: Pipeline::new("dispatch-input", dispatch, over),
            dispatch_output: Pipeline::new("dispatch-output", dispatch, over),
            events: EventBus::default(),
            deadline: None,
            stream_capacity: STREAM_CAPACITY,
        };
        TurnRunnerBuilder {
            plan,
            tools: Vec::new(),
            remembers: false,
        }
    }

    fn setup(&mut self) -> &mut Setup {
        Arc::make_mut(&mut self.plan.setup)
    }

    setup_methods!();

    /// Sets the store for the records of conversations. Results go to its spool, if it has one; a persistent store without one
    /// needs a persistent [`spool`](Self::spool). Default: a [`MemoryStore`].
    ///
    /// A turn without [`TurnInput::conversation`](crate::TurnInput::conversation) writes nothing here.
    pub fn store(mut self, store: impl Store + 'static) -> Self {
        self.setup().store = Some(Arc::new(store));
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

    /// Who is asked what became of a call that was begun and never ended, where its tool cannot say: see
    /// [`unknown`](crate::tool::reconcile). Default: none, and the model reads that the result is unknown.
    pub fn unknown_calls(mut self, policy: impl Reconcile + 'static) -> Self {
        self.setup().unknown_calls = Some(Arc::new(policy));
        self
    }

    /// The secret under which envelopes get their codes, each conversation its own. A random one of this process unless
    /// told: give one that you keep if a conversation goes on in another process and its prompts are to stay as they were.
    pub fn secret(mut self, secret: ConversationSecret) -> Self {
        self.setup().secret = Some(secret);
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
    /// it in says `ctx.forget_message(…)` and aborts.
    pub fn turn_input(mut self, layer: impl Middleware<TurnContext> + 'static) -> Self {
        self.plan.turn_input.layers().push(Arc::new(layer));
        self
    }

    /// Earlier turns of the conversation are there: [`hydrate`](crate::middleware::hydrate) is the outermost layer of the turn's
    /// input, unless one is said.
    pub fn remembering(mut self) -> Self {
        self.remembers = true;
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

    /// After the executor, in each iteration that ended without a signal.
    pub fn dispatch_output(mut self, layer: impl Middleware<DispatchContext> + 'static) -> Self {
        self.plan.dispatch_output.layers().push(Arc::new(layer));
        self
    }

    /// Tells `observer` everything that happens in the turns of this runner.
    pub fn observer(self, observer: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.plan.events.observe(observer).keep();
        self
    }

    /// The most iterations of a dispatch. 64 unless told.
    pub fn iteration_limit(mut self, most: u32) -> Self {
        self.setup().iteration_limit = most;
        self
    }

    /// The most calls, of those that are proposed together, that run at once. 16 unless told.
    pub fn parallel_calls(mut self, most: usize) -> Self {
        self.setup().parallel_calls = most;
        self
    }

    /// How long a turn may take, where its input says nothing else.
    pub fn deadline(mut self, limit: Duration) -> Self {
        self.plan.deadline = Some(limit);
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

    /// How many events a started turn may be ahead of its reader. 64 unless told.
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
    /// `E_TOOL_ALREADY_REGISTERED` if two have one name.
    pub fn build(mut self) -> Result<TurnRunner, Error> {
        if self.remembers {
            self.plan.remember();
        }
        self.setup().take_spool_of_store();
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
        let room = (1..=tokio::sync::Semaphore::MAX_PERMITS).contains(&plan.stream_capacity);
        wrong.check("stream_capacity", room, "must be at least one event");
        let answers = !setup.approval_timeout.is_zero();
        wrong.check("approval_timeout", answers, "is zero: nobody could answer");
        let writes = !setup.store_timeout.is_zero();
        wrong.check("store_timeout", writes, "is zero: nothing could be stored");
        // Shorter ones would be over before a store has written them.
        let holds = (SHORTEST_LEASE..=Lease::LONGEST).contains(&setup.lease);
        wrong.check("lease", holds, "must be from 100 milliseconds to an hour");
        let lasts = plan.deadline.is_none_or(|limit| !limit.is_zero());
        wrong.check("deadline", lasts, "is zero: no turn could end in time");
        check_spool(setup, &mut wrong);
        wrong.finish(ErrorCode::InvalidTurnRunner, "runner")?;
        if setup.secret.is_none() {
            ConversationSecret::of_process().map_err(|error| {
                let message = "the system has no randomness to give: give the runner a secret";
                Error::new(ErrorCode::InvalidTurnRunner, message).with_source(error)
            })?;
        }
        let tools = self
            .tools
            .into_iter()
            .collect::<Result<Vec<Tool>, Error>>()?;
        self.plan.tools = ToolRegistry::new(tools)?;
        Ok(TurnRunner::new(self.plan))
    }
}

/// Checks that results can be read for as long as the records that name them.
fn check_spool(setup: &Setup, wrong: &mut Violations) {
    let Some(store) = &setup.store else { return };
    let of_store = store.spool().is_some();
    wrong.check(
        "spool",
        !(of_store && setup.spool_given),
        "the store has its own spool, and reads results from it: remove `.spool(…)`, and pass the spool to the store instead",
    );
    let lasts = !store.is_persistent() || setup.spool.is_persistent();
    let why = match of_store {
        true => {
            "the store is persistent but its spool is not, so results would be lost on restart: open the store with a `DiskSpool`"
        }
        false => {
            "the store is persistent but the spool is not, so results would be lost on restart: add \
             `.spool(DiskSpool::open(\"results\").await?)`, and open the store with the same spool"
        }
    };
    wrong.check("spool", lasts, why);
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
