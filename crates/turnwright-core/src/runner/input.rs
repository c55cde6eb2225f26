//! The input of a turn.

use std::sync::Arc;

use serde_json::Value;

use crate::answer::AnswerFormat;
use crate::cancel::Cancellation;
use crate::error::{Error, ErrorCode};
use crate::event::Event;
use crate::media::Media;
use crate::principal::Principal;
use crate::record::Message;
use crate::schema::Typed;
use crate::settings::{Budget, ModelSettings, TurnSettings};
use crate::store::Waiting;
use crate::tool::Tool;
use crate::tool::context::ToolContext;
use crate::validate::Violations;

/// The input of a turn. Text is a message of the user.
///
/// ```
/// use std::time::Duration;
/// use turnwright_core::{Budget, TurnInput};
///
/// let input = TurnInput::new("What broke last night?")
///     .conversation("ops-2026-11-16")
///     .budget(Budget::new().time(Duration::from_secs(120)));
/// ```
#[derive(Clone, Default)]
#[must_use = "an input does nothing until a runner gets it"]
pub struct TurnInput {
    text: Option<String>,
    name: Option<Arc<str>>,
    media: Vec<Media>,
    message: Option<Arc<Message>>,
    pub(crate) conversation: Option<Arc<str>>,
    /// The conversation whose history a turn without a conversation reads.
    pub(crate) about: Option<Arc<str>>,
    pub(crate) turn_id: Option<Arc<str>>,
    pub(crate) principal: Option<Principal>,
    pub(crate) stash: Vec<(String, Value)>,
    pub(crate) tools: Vec<Result<Tool, Error>>,
    pub(crate) observers: Vec<Arc<Observe>>,
    pub(crate) cancellation: Option<Cancellation>,
    pub(crate) settings: TurnSettings,
    /// The call under which this turn runs.
    pub(crate) under: Option<ToolContext>,
    /// Whether the policies and the taint of outer turns do not apply.
    pub(crate) without_outer_rules: bool,
    /// Whether an existing turn is resumed.
    pub(crate) is_resume: bool,
    /// Whether it is resumed only if it has not ended.
    pub(crate) unless_ended: bool,
    /// Whether the event stream of a resumed turn starts with what the turn did before.
    pub(crate) replay: bool,
    /// Whether a suspended turn of the conversation is abandoned.
    pub(crate) abandon_suspended: bool,
    /// Whether the turn is suspended when it can only wait.
    pub(crate) suspend_at_gates: bool,
    /// The format of the answer, or why there is none.
    pub(crate) answer: Option<Result<Arc<AnswerFormat>, Error>>,
}

/// An observer of events.
type Observe = dyn Fn(&Event) + Send + Sync;

impl TurnInput {
    /// Creates an input with a message of the user.
    pub fn new(text: impl Into<String>) -> Self {
        TurnInput {
            text: Some(text.into()),
            ..TurnInput::default()
        }
    }

    /// Creates an input without a message: continues the conversation as it is.
    pub fn empty() -> Self {
        TurnInput::default()
    }

    /// Creates the input for resuming a stored turn: see [`TurnRunner::resume`](crate::TurnRunner::resume). Add what is not
    /// stored with the turn: its own tools, observers, a cancellation token. Values for the stash, instructions, settings and a
    /// budget replace the stored ones. [`conversation`](Self::conversation) is needed only if several conversations have a turn
    /// with this id.
    ///
    /// ```
    /// use turnwright_core::{Budget, TurnInput};
    ///
    /// let input = TurnInput::resume("turn-1").conversation("chat-1").budget(Budget::new().tool_calls(40));
    /// ```
    pub fn resume(turn_id: impl AsRef<str>) -> Self {
        TurnInput {
            is_resume: true,
            ..TurnInput::default().turn_id(turn_id)
        }
    }

    /// Creates the input for resuming a turn that was found in a conversation, unless it has ended meanwhile.
    pub(crate) fn resume_unless_ended(turn_id: &Arc<str>, conversation: &Arc<str>) -> Self {
        TurnInput {
            unless_ended: true,
            ..TurnInput::resume(turn_id).conversation(conversation)
        }
    }

    /// Sets the type of the answer: a struct, a list, an enum, a scalar, an `Option`, a tuple or a map with string keys.
    /// [`TurnOutcome::answer`](crate::TurnOutcome::answer) returns the value.
    ///
    /// The schema of the type is sent to the provider if it supports that. The answer is validated like arguments. If it does not
    /// match, the model reads why and retries, at most twice ([`AnswerFormat::retries`]). A type that is not an object is wrapped
    /// for the model as `{"value": …}`. A turn whose type cannot be described fails with `E_INVALID_SCHEMA` before it starts.
    ///
    /// ```
    /// use turnwright_core::{DispatchContext, TurnInput};
    ///
    /// #[derive(Debug, PartialEq, serde::Deserialize, schemars::JsonSchema)]
    /// struct Weather {
    ///     city: String,
    ///     #[schemars(range(min = -90, max = 60))]
    ///     celsius: i32,
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
    ///     ctx.answer(r#"{"city": "Paris", "celsius": "17"}"#).await?;
    ///     Ok(())
    /// })
    /// .build()?;
    /// let outcome = runner.run(TurnInput::new("How warm is it in Paris?").answer::<Weather>()).await;
    /// let weather: Weather = outcome.answer()?;
    /// assert_eq!(weather, Weather { city: "Paris".to_owned(), celsius: 17 });
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    #[doc(alias("extract", "structured_output", "generateObject"))]
    pub fn answer<T: Typed>(mut self) -> Self {
        self.answer = Some(AnswerFormat::of::<T>().map(Arc::new));
        self
    }

    /// Sets the format of the answer, like [`answer`](Self::answer).
    pub fn answer_format(mut self, format: AnswerFormat) -> Self {
        self.answer = Some(Ok(Arc::new(format)));
        self
    }

    /// Sets the name of the user who wrote the message, for a conversation of several users: see
    /// [`RecordBuilder::name`](crate::record::RecordBuilder::name). If you pass a [`Message`], set it there.
    ///
    /// ```
    /// use turnwright_core::TurnInput;
    ///
    /// let input = TurnInput::new("Shall we deploy?").name("Ada").conversation("ops");
    /// ```
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Attaches media to the message. If you pass a [`Message`], attach them there.
    pub fn media(mut self, attached: Media) -> Self {
        self.media.push(attached);
        self
    }

    /// Sets the conversation. Records and results of the turn are stored there.
    ///
    /// By default a turn has its own conversation with a generated id that is not stored. Its records and results live as long as
    /// the turn and its [`TurnOutcome`](crate::TurnOutcome), and it cannot be resumed.
    #[doc(alias("thread_id", "session_id"))]
    pub fn conversation(mut self, id: impl AsRef<str>) -> Self {
        self.conversation = Some(id.as_ref().into());
        self
    }

    /// Asks about a conversation without adding to it: the model reads its history, and nothing of this turn is stored. Use it for
    /// a summary, a title or a classification. It takes no lease, so it also works while a turn of the conversation runs or is
    /// suspended.
    ///
    /// The turn itself has no [`conversation`](Self::conversation); to set both is an error (`E_INVALID_TURN_CONTEXT`).
    ///
    /// ```
    /// use turnwright_core::{DispatchContext, Message, TurnInput};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
    ///     let read = ctx.records().all::<Message>().len();
    ///     ctx.answer(format!("I read {read} messages.")).await?;
    ///     Ok(())
    /// })
    /// .build()?;
    /// runner.run(TurnInput::new("Hello!").conversation("chat-1")).await.into_answer()?;
    /// for _ in 0..2 {
    ///     let asked = runner.run(TurnInput::new("What is this about?").about("chat-1")).await;
    ///     assert_eq!(asked.into_answer()?, "I read 3 messages.");
    /// }
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    #[doc(alias("summarize", "summary", "fork"))]
    pub fn about(mut self, conversation: impl AsRef<str>) -> Self {
        self.about = Some(conversation.as_ref().into());
        self
    }

    /// Sets the turn id. If the conversation already has a turn with this id, the turn fails with `E_TURN_EXISTS`; to continue
    /// that turn, use [`resume`](crate::TurnRunner::resume).
    ///
    /// Default: a new id.
    pub fn turn_id(mut self, id: impl AsRef<str>) -> Self {
        self.turn_id = Some(id.as_ref().into());
        self
    }

    /// Sets who the turn acts for: the person or service for whom your program starts it, as your program has authenticated
    /// them. The model does not see it. Handlers, policies and middleware read it with
    /// [`TurnContext::principal`](crate::TurnContext::principal). Turns under a call inherit it.
    ///
    /// It is stored with the turn: a resumed turn acts for the same principal, and naming another one is an error.
    ///
    /// ```
    /// use turnwright_core::{DispatchContext, TurnInput};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
    ///     let principal = ctx.turn().principal().map(ToString::to_string);
    ///     ctx.answer(principal.unwrap_or_default()).await?;
    ///     Ok(())
    /// })
    /// .build()?;
    /// assert_eq!(runner.run(TurnInput::new("Who am I?").principal("ada")).await.text, "ada");
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    #[doc(alias("user", "user_id", "subject"))]
    pub fn principal(mut self, principal: impl Into<Principal>) -> Self {
        self.principal = Some(principal.into());
        self
    }

    /// Sets a value in the turn's stash, at a dot path. The turn does not start if [`Stash::set`](crate::Stash::set) rejects a
    /// value.
    pub fn stash(mut self, path: impl Into<String>, value: impl Into<Value>) -> Self {
        self.stash.push((path.into(), value.into()));
        self
    }

    /// Adds a tool for this turn only: a [`Tool`], or the result of building one.
    pub fn tool(mut self, tool: impl Into<Result<Tool, Error>>) -> Self {
        self.tools.push(tool.into());
        self
    }

    /// Adds an observer of all events of this turn.
    pub fn observer(mut self, observer: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.observers.push(Arc::new(observer));
        self
    }

    /// Runs the turn under a call: a sub-agent as a tool. The inner turn has its own conversation, which is stored only if you
    /// name it. It is cancelled with the call, and when its [`Turn`](super::Turn) is dropped. The outer turn waits for its end,
    /// and its usage also counts for the outer turn.
    ///
    /// The rules of the outer turn apply to the inner one, at any depth:
    ///
    /// - Policies of the outer runners review every call of the inner turn, outermost first, before those of the inner runner and
    ///   the tool. They see the call in its inner turn: `call.context()` is the inner dispatch, and
    ///   [`outer_tools`](crate::TurnContext::outer_tools) returns under which tools it runs.
    /// - If an outer policy requires approval, the approver of that runner or an outer one answers, but never the inner one. If
    ///   an inner policy requires approval and the inner runner has no approver, the nearest outer one answers.
    /// - Gates of the inner turn open at the outer turn: on its event stream, and at its [`Gates`](crate::gate::Gates).
    /// - The inner turn is never suspended by itself. While it waits at a gate, the handler that runs it waits too, so the outer
    ///   turn stays in memory: its [`activity`](crate::runner::Turn::activity) is
    ///   [`NotSuspendable`](crate::gate::TurnActivity::NotSuspendable). Nothing is lost: the outer turn is suspended at the next opportunity.
    /// - The inner prompt is as tainted as the outer prompt was when the inner turn was started, and more if the inner turn reads
    ///   more.
    ///
    /// [`without_outer_rules`](Self::without_outer_rules) disables the policies, approvers and taint of the outer turns.
    ///
    /// Return the answer of the inner turn as it is. It is the result of an untrusted tool and has an envelope, unless the tool
    /// is `trusted`. Do not mark an agent as trusted if it reads third-party content.
    ///
    /// ```
    /// use turnwright_core::{DispatchContext, Tool, TurnInput};
    /// # #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// # struct Task { task: String }
    ///
    /// # let executor = |ctx: DispatchContext| async move { ctx.answer("done").await?; Ok(()) };
    /// let librarian = turnwright_core::runner(executor).build()?;
    /// let research = Tool::typed::<Task>("research")
    ///     .description("Asks a librarian to look something up.")
    ///     .handler_with(librarian, async |librarian, args, ctx| {
    ///         let outcome = librarian.run(TurnInput::new(args.task).under_call(&ctx)).await;
    ///         Ok(outcome.into_answer()?)
    ///     })
    ///     .build()?;
    /// # Ok::<(), turnwright_core::Error>(())
    /// ```
    pub fn under_call(mut self, call: &ToolContext) -> Self {
        self.cancellation = Some(call.cancellation().clone());
        self.under = Some(call.clone());
        self
    }

    /// Runs the turn without the policies, approvers and taint of its outer turns: see [`under_call`](Self::under_call). Its gates still
    /// open at the outer turn.
    ///
    /// Use it for an inner runner that you trust to protect itself. Note that third-party content in the outer prompt may have
    /// influenced the input.
    pub fn without_outer_rules(mut self) -> Self {
        self.without_outer_rules = true;
        self
    }

    /// Starts the event stream of a resumed turn with the records that the turn stored before, for a reader that has none of
    /// them. See [`TurnRunner::attach`](super::TurnRunner::attach). Has no effect on a new turn.
    ///
    /// Default: only events from the resume on.
    pub fn replay(mut self) -> Self {
        self.replay = true;
        self
    }

    /// Abandons a suspended turn of the conversation, so that this one can start. By default a turn fails with `E_TURN_WAITING`
    /// while another one is suspended.
    ///
    /// Waiting calls of the suspended turn are closed as not approved, its gates stay unanswered, and its state becomes
    /// [`Abandoned`](crate::record::TurnState::Abandoned).
    pub fn abandon_suspended(mut self) -> Self {
        self.abandon_suspended = true;
        self
    }

    /// Suspends this turn whenever it can only wait: see
    /// [`TurnRunnerBuilder::suspend_at_gates`](super::TurnRunnerBuilder::suspend_at_gates).
    pub fn suspend_at_gates(mut self) -> Self {
        self.suspend_at_gates = true;
        self
    }

    /// Sets the cancellation token of the turn.
    pub fn cancellation(mut self, cancellation: Cancellation) -> Self {
        self.cancellation = Some(cancellation);
        self
    }

    /// Appends to the system prompt of this turn, after the instructions of the runner
    /// ([`TurnRunnerBuilder::instructions`](super::TurnRunnerBuilder::instructions)). Use it for text about one user or one turn.
    /// Replaces what was set here before.
    ///
    /// It is your own text: it is in no envelope and not stored as a record. The turn's record keeps it, so that a resumed turn
    /// has it again. Put nothing here that others wrote: a [`Retrievable`](crate::record::Retrievable) is put into an envelope.
    ///
    /// ```
    /// use turnwright_core::{DispatchContext, TurnInput};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
    ///     ctx.answer(ctx.instructions().unwrap_or_default()).await?;
    ///     Ok(())
    /// })
    /// .instructions("You answer questions about invoices.")
    /// .build()?;
    /// let input = TurnInput::new("Hello").instructions("The user is Ada. Answer in German.");
    /// let expected = "You answer questions about invoices.\n\nThe user is Ada. Answer in German.";
    /// assert_eq!(runner.run(input).await.text, expected);
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    #[doc(alias("system_prompt", "preamble"))]
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.settings.instruct(text.into());
        self
    }

    /// Sets model settings for this turn. They take precedence over those of the runner. They are stored with the turn, so that a
    /// resumed turn has them again.
    pub fn settings(mut self, settings: ModelSettings) -> Self {
        self.settings.model = settings.over(&self.settings.model);
        self
    }

    /// Sets the budget of this turn. Its limits take precedence over those of the runner. It is stored with the turn, so that a
    /// resumed turn has it again.
    pub fn budget(mut self, budget: Budget) -> Self {
        self.settings.budget = budget.over(&self.settings.budget);
        self
    }

    /// Returns the message as a record.
    pub(crate) fn message(&self) -> Result<Option<Arc<Message>>, Error> {
        let mut wrong = Violations::default();
        for (field, id) in [
            ("conversation", &self.conversation),
            ("about", &self.about),
            ("turn_id", &self.turn_id),
        ] {
            if let Some(id) = id {
                wrong.check_named_id(field, id);
            }
        }
        if let Some(principal) = &self.principal {
            principal.check("principal", &mut wrong);
        }
        self.settings.check(&mut wrong);
        wrong.finish(ErrorCode::INVALID_TURN_CONTEXT, "turn input")?;
        if self.message.is_some() || (self.text.is_none() && self.media.is_empty()) {
            return Ok(self.message.clone());
        }
        let message = Message::user(self.text.clone().unwrap_or_default());
        let media = self.media.iter().cloned();
        let mut message = media.fold(message, |message, media| message.media(media));
        if let Some(name) = &self.name {
            message = message.name(Arc::clone(name));
        }
        message.build().map(Some)
    }
}

impl From<&str> for TurnInput {
    fn from(text: &str) -> Self {
        TurnInput::new(text)
    }
}

impl From<String> for TurnInput {
    fn from(text: String) -> Self {
        TurnInput::new(text)
    }
}

impl From<Arc<Message>> for TurnInput {
    fn from(message: Arc<Message>) -> Self {
        TurnInput {
            message: Some(message),
            ..TurnInput::default()
        }
    }
}

// Omits the message, which may be secret.
debug_fields!(TurnInput {
    conversation,
    turn_id
});

/// The turn to resume: its id, a row of [`Storage::waiting`](crate::Storage::waiting), or a [`TurnInput::resume`] with more.
/// A row resumes the turn only if it has not ended since.
///
/// ```
/// use turnwright_core::TurnInput;
/// use turnwright_core::runner::ResumeInput;
///
/// let by_id: ResumeInput = "turn-1".into();
/// let with_more: ResumeInput = TurnInput::resume("turn-1").conversation("chat-1").into();
/// ```
#[derive(Clone, Debug)]
pub struct ResumeInput(TurnInput);

impl ResumeInput {
    /// Sets the conversation.
    pub(crate) fn in_conversation(self, id: &Arc<str>) -> Self {
        ResumeInput(self.0.conversation(Arc::clone(id)))
    }

    /// Returns the turn id and the input.
    pub(crate) fn into_parts(self) -> Result<(Arc<str>, TurnInput), Error> {
        let input = self.0;
        let speaks = input.message.is_some() || input.text.is_some() || !input.media.is_empty();
        match &input.turn_id {
            Some(id) if input.is_resume && !speaks => Ok((Arc::clone(id), input)),
            _ => {
                let message = "a resumed turn cannot have a new message: pass the turn id, or `TurnInput::resume(turn_id)`";
                Err(Error::new(ErrorCode::INVALID_TURN_CONTEXT, message))
            }
        }
    }
}

impl From<TurnInput> for ResumeInput {
    fn from(input: TurnInput) -> Self {
        ResumeInput(input)
    }
}

impl From<&Waiting> for ResumeInput {
    fn from(turn: &Waiting) -> Self {
        ResumeInput(TurnInput::resume_unless_ended(
            &turn.turn_id,
            &turn.conversation,
        ))
    }
}

impl<T: AsRef<str>> From<T> for ResumeInput {
    fn from(turn_id: T) -> Self {
        ResumeInput(TurnInput::resume(turn_id))
    }
}
