//! What runs turns.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use super::builder::TurnRunnerBuilder;
use super::handle::{Turn, TurnHandle, TurnStream};
use super::input::TurnInput;
use super::run_loop::{Begins, drive};
use crate::answer::AnswerFormat;
use crate::cancel::Cancellation;
use crate::dispatch::Executor;
use crate::error::{Error, ErrorCode};
use crate::event::{EventBus, Observer};
use crate::gate::Gates;
use crate::ids::new_id;
use crate::middleware::{Hydrate, hydrate};
use crate::outcome::TurnOutcome;
use crate::pipeline::Pipeline;
use crate::stash::Stash;
use crate::store::{ConversationId, Store};
use crate::task::OnDrop;
use crate::telemetry::TurnSpan;
use crate::tool::context::{DispatchContext, Outer, Setup, TurnContext, TurnParts};
use crate::tool::registry::ToolRegistry;

/// Runs turns: an executor, with everything around it. Cheap to clone; any number of turns run at once.
#[derive(Clone)]
pub struct TurnRunner(Arc<Plan>);

/// How turns are run.
#[derive(Clone)]
pub(crate) struct Plan {
    pub(crate) executor: Arc<dyn Executor>,
    pub(crate) setup: Arc<Setup>,
    pub(crate) tools: ToolRegistry,
    pub(crate) turn_input: Pipeline<TurnContext>,
    pub(crate) turn_output: Pipeline<TurnContext>,
    pub(crate) dispatch_input: Pipeline<DispatchContext>,
    pub(crate) dispatch_output: Pipeline<DispatchContext>,
    pub(crate) events: EventBus,
    pub(crate) deadline: Option<Duration>,
    pub(crate) stream_capacity: usize,
}

impl Plan {
    /// Adds hydration around everything, unless it is there already.
    pub(crate) fn remember(&mut self) {
        let layers = self.turn_input.layers();
        if !layers.iter().any(|layer| Hydrate::is(&**layer)) {
            layers.insert(0, Arc::new(hydrate()));
        }
    }
}

impl TurnRunner {
    /// A runner around an executor, with a store in memory and no middleware at all.
    pub fn builder(executor: impl Executor + 'static) -> TurnRunnerBuilder {
        TurnRunnerBuilder::new(Arc::new(executor))
    }

    /// The same around an executor that was chosen at run time.
    pub fn builder_of(executor: Arc<dyn Executor>) -> TurnRunnerBuilder {
        TurnRunnerBuilder::new(executor)
    }

    pub(crate) fn new(plan: Plan) -> Self {
        TurnRunner(Arc::new(plan))
    }

    /// Runs a turn to its end. Dropping the future calls the turn off.
    ///
    /// What the turn said, called and got is stored if the input names a conversation
    /// ([`TurnInput::conversation`](super::TurnInput::conversation)). A turn without one, such as `runner.run("…")`, lives in
    /// memory: its outcome has its records and results, nothing is left of them once that is dropped, and the turn cannot
    /// be resumed.
    ///
    /// ```
    /// use turnwright_core::store::{ConversationFilter, Store as _};
    /// use turnwright_core::{DispatchContext, MemoryStore, TurnInput, TurnRunner};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let store = MemoryStore::default();
    /// let runner = TurnRunner::builder(|ctx: DispatchContext| async move {
    ///     ctx.answer("Hello.").await?;
    ///     Ok(())
    /// })
    /// .store(store.clone())
    /// .build()?;
    ///
    /// let outcome = runner.run("Hello!").await;
    /// assert_eq!(outcome.messages().count(), 2);
    /// assert!(store.conversations(&ConversationFilter::all()).await?.is_empty());
    ///
    /// runner.run(TurnInput::new("Hello!").conversation("chat-1")).await;
    /// assert_eq!(store.conversations(&ConversationFilter::all()).await?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub async fn run(&self, input: impl Into<TurnInput>) -> TurnOutcome {
        self.launch(input.into(), None, None).outcome().await
    }

    /// Starts a turn, in a task of its own. What it gives is a stream of what the turn says, and becomes the outcome when it
    /// is awaited. Dropping it calls the turn off.
    ///
    /// The stream is bounded: the turn waits for whoever reads it. Read it to its end and then await the turn, or await it at
    /// once.
    pub fn start(&self, input: impl Into<TurnInput>) -> Turn {
        let (sender, receiver) = mpsc::channel(self.0.stream_capacity);
        Turn {
            handle: self.launch(input.into(), None, Some(sender)),
            stream: TurnStream(receiver),
        }
    }

    /// The same runner, with hydration around everything unless it is there already.
    pub(crate) fn remembering(&self) -> Self {
        let mut plan = Plan::clone(&self.0);
        plan.remember();
        TurnRunner::new(plan)
    }

    pub(crate) fn store(&self) -> Option<&Arc<dyn Store>> {
        self.0.setup.store.as_ref()
    }

    /// The outcome of a turn that cannot be begun.
    pub(crate) fn refuse(&self, input: TurnInput, error: Error) -> TurnOutcome {
        let fresh_id = || Arc::<str>::from(new_id());
        TurnOutcome::unbegun(
            input.turn_id.unwrap_or_else(fresh_id),
            input.conversation.unwrap_or_else(fresh_id),
            error,
        )
    }

    /// Tells `observer` everything that happens in the turns of this runner, until the guard is dropped.
    pub fn observe(
        &self,
        observer: impl Fn(&crate::event::Event) + Send + Sync + 'static,
    ) -> Observer {
        self.0.events.observe(observer)
    }

    pub(crate) fn launch(
        &self,
        input: TurnInput,
        answer: Option<Arc<AnswerFormat>>,
        stream: Option<mpsc::Sender<crate::event::TurnEvent>>,
    ) -> TurnHandle {
        let fresh_id = || Arc::<str>::from(new_id());
        let turn_id = input.turn_id.clone().unwrap_or_else(fresh_id);
        let conversation = input.conversation.clone().unwrap_or_else(fresh_id);
        let failed = |error: Error| {
            let ids = (Arc::clone(&turn_id), Arc::clone(&conversation));
            TurnHandle::ready(TurnOutcome::unbegun(ids.0, ids.1, error))
        };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            let message = "a turn runs in a task of its own: call this inside of a tokio runtime";
            return failed(Error::new(ErrorCode::InvalidTurnContext, message));
        };
        let message = match input.message() {
            Ok(message) => message,
            Err(error) => return failed(error),
        };
        let begins = match input.resumes {
            true => Begins::Resumed,
            false => Begins::New {
                message,
                stash: input.stash.clone(),
            },
        };
        let deadline = input.deadline.or(self.0.deadline);
        let under = input.under.clone();
        let mut parts = match self.parts(input, &turn_id, &conversation) {
            Ok(parts) => parts,
            Err(error) => return failed(error),
        };
        (parts.answer, parts.stream) = (answer, stream);
        parts.runtime = Some(runtime.clone());
        let turn = TurnContext::new(parts);
        // Before the task: it may come to a gate at once.
        let gates = Gates::new(turn.inner().gates.clone());
        let cancellation = turn.cancellation().clone();
        let span = TurnSpan::start(&*self.0.executor, &turn, begins.message());
        // Also where the task is dropped before its end, by a runtime that is shut down.
        let ends = OnDrop({
            let turn = turn.clone();
            move || turn.end()
        });
        let work = drive(Arc::clone(&self.0), turn, begins, deadline);
        let work = span.instrument(async move {
            let _ends = ends;
            work.await
        });
        let task = match under {
            None => runtime.spawn(work),
            Some(call) => {
                let outer = call.turn().clone();
                let work = async move {
                    let outcome = work.await;
                    outer.add_usage_below(outcome.usage);
                    outcome
                };
                call.inner().tasks.spawn_on(work, &runtime)
            }
        };
        TurnHandle {
            turn_id,
            conversation,
            cancellation,
            gates: Some(gates),
            task: Some(task),
            unbegun: None,
        }
    }

    /// What the turn is made of.
    fn parts(
        &self,
        input: TurnInput,
        turn_id: &Arc<str>,
        conversation: &Arc<str>,
    ) -> Result<TurnParts, Error> {
        let tools = self.0.tools.fork();
        for tool in input.tools {
            let advice = "the runner or the input has one of this name. Rename the input's tool, or replace the \
                          runner's from middleware with `ctx.tools().register_overwriting(tool)`";
            tools.register_or(tool?, advice)?;
        }
        let stash = Stash::new();
        for (path, value) in input.stash {
            stash.set(&path, value)?;
        }
        let events = self.0.events.below();
        for observer in input.observers {
            events.observe(move |event| observer(event)).keep();
        }
        let cancellation = match input.cancellation {
            Some(given) => given.child(),
            None => Cancellation::new(),
        };
        Ok(TurnParts {
            id: Arc::clone(turn_id),
            conversation_id: ConversationId::new(Arc::clone(conversation)),
            stored: input.conversation.is_some(),
            setup: Arc::clone(&self.0.setup),
            tools,
            stash,
            events,
            cancellation,
            stream: None,
            answer: None,
            outer: (input.under.as_ref()).map(|call| Outer::new(call, input.inherits)),
            inherits: input.inherits,
            runtime: None,
        })
    }
}

impl fmt::Debug for TurnRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnRunner")
            .field("executor", &self.0.executor.name())
            .field("tools", &self.0.tools)
            .finish_non_exhaustive()
    }
}
