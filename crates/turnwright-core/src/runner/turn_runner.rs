//! The runner.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::input::TurnInput;
use super::run_loop::{Plan, Start, drive};
use super::turn::{Controls, Turn};
use crate::cancel::Cancellation;
use crate::error::{Error, ErrorCode};
use crate::event::{EventHub, EventKind, Observer, RunnerEvents, TurnStream};
use crate::gate::Gates;
use crate::ids::new_id;
use crate::outcome::TurnOutcome;
use crate::schema::Typed;
use crate::stash::Stash;
use crate::storage::Storage;
use crate::store::ConversationId;
use crate::task::OnDrop;
use crate::telemetry::TurnSpan;
use crate::tool::context::{Outer, TurnContext, TurnParts};
use crate::tool::registry::ToolRegistry;

/// Runs turns with an executor. Cheap to clone. Any number of turns can run concurrently.
///
/// ```
/// use turnwright_core::{DispatchContext, TurnInput};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
///     let input = ctx.input().map(|message| message.text().to_uppercase());
///     ctx.answer(input.unwrap_or_default()).await?;
///     Ok(())
/// })
/// .build()?;
/// let (one, other) = (runner.clone(), runner);
/// let turns = tokio::join!(one.run("hello"), other.run(TurnInput::new("bye").conversation("chat-1")));
/// assert_eq!((turns.0.into_answer()?, turns.1.into_answer()?), ("HELLO".to_owned(), "BYE".to_owned()));
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
#[doc(alias("Agent", "agent"))]
#[derive(Clone)]
pub struct TurnRunner(Arc<Plan>);

/// How many events a reader of all turns may lag behind.
const RUNNER_EVENTS: usize = 4_096;

impl TurnRunner {
    pub(crate) fn new(plan: Plan) -> Self {
        TurnRunner(Arc::new(plan))
    }

    /// Runs a turn to its end.
    ///
    /// Records and results are stored if the input has a conversation
    /// ([`TurnInput::conversation`](super::TurnInput::conversation)). A turn without one, such as `runner.run("…")`, stays in
    /// memory: its outcome has its records and results, and it cannot be resumed.
    ///
    /// ```
    /// use turnwright_core::store::{ConversationFilter, Store as _};
    /// use turnwright_core::{DispatchContext, TurnInput};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
    ///     ctx.answer("Hello.").await?;
    ///     Ok(())
    /// })
    /// .build()?;
    /// let store = runner.storage().store();
    ///
    /// let outcome = runner.run("Hello!").await;
    /// assert_eq!(outcome.messages().count(), 2);
    /// assert!(store.conversations(&ConversationFilter::all()).await?.is_empty());
    ///
    /// runner.run(TurnInput::new("Hello!").conversation("chat-1")).await;
    /// assert_eq!(store.conversations(&ConversationFilter::all()).await?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Cancel safety
    /// Dropping the future cancels the turn. It still ends cleanly, in the background. For a turn that outlives its caller, use
    /// [`TurnRunner::start`].
    #[doc(alias("prompt", "generate", "invoke", "generateText"))]
    pub async fn run(&self, input: impl Into<TurnInput>) -> TurnOutcome {
        let mut input = input.into();
        let hub = self.hub(&mut input);
        let turn = self.launch(input, &hub, hub.unread());
        turn.cancel_on_drop().outcome().await
    }

    /// Runs a turn with a [typed answer](super::TurnInput::answer) to its end, and returns the answer. Specify the type as in
    /// `ask::<Bill>(…)`, or let it be inferred.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// # let runner = turnwright_core::runner(|ctx: turnwright_core::DispatchContext| async move {
    /// #     ctx.answer(r#"{"value": ["red", "blue"]}"#).await?;
    /// #     Ok(())
    /// # })
    /// # .build()?;
    /// let colours: Vec<String> = runner.ask("Which colours are in stock?").await?;
    /// assert_eq!(colours, ["red", "blue"]);
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// See [`TurnOutcome::answer`].
    #[doc(alias("extract", "generateObject"))]
    pub async fn ask<T: Typed>(&self, input: impl Into<TurnInput>) -> Result<T, Error> {
        self.run(input.into().answer::<T>()).await.answer()
    }

    /// Starts a turn in its own task. Returns a stream of the turn's events, which yields the outcome when it is awaited.
    /// Dropping it does not cancel the turn: see [`Turn`].
    ///
    /// The turn does not wait for the reader of its stream: see [`TurnStream`](super::TurnStream).
    #[doc(alias("stream", "stream_prompt", "streamText"))]
    pub fn start(&self, input: impl Into<TurnInput>) -> Turn {
        let mut input = input.into();
        let hub = self.hub(&mut input);
        let stream = hub.subscribe(input.replay);
        self.launch(input, &hub, stream)
    }

    /// Creates the events of a turn, and its ids. Events of a turn with a conversation are logged for readers that attach later.
    pub(crate) fn hub(&self, input: &mut TurnInput) -> Arc<EventHub> {
        let fresh_id = || Arc::<str>::from(new_id());
        let observers = self.0.events.below();
        for observer in input.observers.drain(..) {
            observers.observe(move |event| observer(event));
        }
        let turn_id = input.turn_id.clone().unwrap_or_else(fresh_id);
        let conversation_id = input.conversation.clone().unwrap_or_else(fresh_id);
        let hub = EventHub::new(turn_id, conversation_id).observers(observers);
        let hub = hub.capacity(self.0.stream_capacity);
        Arc::new(hub.keep_log(input.conversation.is_some()))
    }

    /// Returns whether this runner started the turn.
    pub(super) fn runs(&self, turn: &TurnContext) -> bool {
        Arc::ptr_eq(turn.setup(), &self.0.setup)
    }

    /// Returns the storage of conversations.
    #[must_use]
    pub fn storage(&self) -> &Storage {
        &self.0.setup.storage
    }

    pub(crate) fn tools(&self) -> &ToolRegistry {
        &self.0.tools
    }

    /// Calls `observer` with the events of all turns of this runner, from now on: call it as a statement. The returned
    /// [`Observer`] is needed only to [`remove`](Observer::remove) it.
    pub fn observe(
        &self,
        observer: impl Fn(&crate::event::Event) + Send + Sync + 'static,
    ) -> Observer {
        self.0.events.observe(observer)
    }

    /// Returns a stream of the events of all turns of this runner, from now on.
    ///
    /// The stream is bounded and never slows down a turn: a reader that lags more than 4,096 events behind loses the oldest ones
    /// and gets their number. It ends once the runner and its turns are gone.
    ///
    /// ```
    /// use turnwright_core::DispatchContext;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
    ///     ctx.answer("Hello.").await?;
    ///     Ok(())
    /// })
    /// .build()?;
    /// let mut events = runner.events();
    /// runner.run("Hello!").await;
    /// drop(runner);
    ///
    /// let mut names = Vec::new();
    /// while let Some(event) = events.next().await {
    ///     match event {
    ///         Ok(event) => names.push(event.name()),
    ///         Err(lagged) => println!("missed {} events", lagged.missed),
    ///     }
    /// }
    /// assert_eq!((names.first(), names.last()), (Some(&"turnStart"), Some(&"turnEnd")));
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    pub fn events(&self) -> RunnerEvents {
        self.0.events.stream(RUNNER_EVENTS)
    }

    fn launch(&self, input: TurnInput, hub: &Arc<EventHub>, stream: TurnStream) -> Turn {
        let resumed = input.is_resume;
        hub.emit(|| EventKind::TurnStart { resumed });
        let mut turn = self.spawn(input, hub).unwrap_or_else(|error| {
            let ids = (hub.turn_id(), hub.conversation_id());
            let outcome = TurnOutcome::not_started(Arc::clone(ids.0), Arc::clone(ids.1), error);
            hub.end(|| EventKind::turn_end(&outcome, Duration::ZERO));
            Turn::ended(outcome, hub.unread())
        });
        turn.stream = stream;
        turn
    }

    fn spawn(&self, mut input: TurnInput, hub: &Arc<EventHub>) -> Result<Turn, Error> {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            let message = "a turn runs in its own task: call this inside a tokio runtime";
            return Err(Error::new(ErrorCode::INVALID_TURN_CONTEXT, message));
        };
        let message = input.message()?;
        let format = input.answer.take().transpose()?;
        let begin = if input.is_resume {
            Start::Resumed {
                unless_ended: input.unless_ended,
            }
        } else {
            Start::New {
                message,
                stash: input.stash.clone(),
                abandon_suspended: input.abandon_suspended,
            }
        };
        let suspend_at_gates = input.suspend_at_gates;
        let under = input.under.clone();
        let mut parts = self.parts(input, hub)?;
        parts.answer.clone_from(&format);
        parts.runtime = Some(runtime.clone());
        let turn = TurnContext::new(parts);
        if turn.record_store().is_some() && under.is_none() {
            turn.gates().activity().enable();
            if suspend_at_gates || turn.setup().suspend_at_gates {
                turn.gates().suspend_at_gates();
            }
        }
        // Before the task starts, because it may reach a gate immediately.
        let gates = Gates::new(turn.gates().clone());
        let controls = Arc::new(Controls::of(&turn).into());
        let span = TurnSpan::start(&*self.0.executor, &turn, begin.message());
        let ends = run_until_dropped(turn.clone());
        let work = drive(Arc::clone(&self.0), turn, begin);
        let work = span.instrument(async move {
            let _ends = ends;
            work.await
        });
        // A turn under a call is part of the call: it does not outlive the handler that holds it.
        let cancel_on_drop = under.is_some();
        let task = match under {
            None => runtime.spawn(work),
            Some(call) => call.turn().journal().tasks().spawn_on(work, &runtime),
        };
        let ids = (hub.turn_id(), hub.conversation_id());
        let running = async { task.await.ok() };
        let mut turn = Turn::new(ids, controls, running, hub.unread());
        (turn.gates, turn.format) = (Some(gates), format);
        turn.cancel_on_drop = cancel_on_drop;
        Ok(turn)
    }

    /// Creates the parts of the turn.
    fn parts(&self, input: TurnInput, hub: &Arc<EventHub>) -> Result<TurnParts, Error> {
        if input.about.is_some() && input.conversation.is_some() {
            let message = "a turn that asks about a conversation stores nothing: call either `about` or `conversation`";
            return Err(Error::new(ErrorCode::INVALID_TURN_CONTEXT, message));
        }
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
        let cancellation = match input.cancellation {
            Some(given) => given.child(),
            None => Cancellation::new(),
        };
        let outer = (input.under.as_ref()).map(|call| Outer::new(call, !input.without_outer_rules));
        let inherited = || outer.as_ref()?.turn.principal().cloned();
        Ok(TurnParts {
            id: Arc::clone(hub.turn_id()),
            principal: input.principal.or_else(inherited),
            conversation_id: ConversationId::new(Arc::clone(hub.conversation_id())),
            stored: input.conversation.is_some(),
            about: input.about.map(ConversationId::new),
            setup: Arc::clone(&self.0.setup),
            tools,
            stash,
            cancellation,
            hub: Arc::clone(hub),
            answer: None,
            outer,
            inherit_rules: !input.without_outer_rules,
            settings: input.settings,
            runtime: None,
        })
    }
}

/// Lists a turn until the returned guard is dropped, which ends the turn: also if its task is dropped before its end, because the
/// runtime is shut down. A turn without a conversation is not listed.
fn run_until_dropped(turn: TurnContext) -> OnDrop<impl Fn()> {
    let conversation = turn.conversation_id().shared();
    let key = (conversation, Arc::clone(turn.shared_id()));
    if turn.record_store().is_some() {
        let live = turn.storage().live_turns();
        live.add(key.clone(), &turn.erased());
    }
    OnDrop(move || {
        turn.end();
        turn.storage().live_turns().remove(&key, &turn.erased());
    })
}

impl fmt::Debug for TurnRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnRunner")
            .field("executor", &self.0.executor.name())
            .field("tools", &self.0.tools)
            .finish_non_exhaustive()
    }
}
