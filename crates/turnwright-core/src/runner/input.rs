//! What a turn begins with.

use std::sync::Arc;

use serde_json::Value;

use super::builder::IntoTool;
use crate::cancel::Cancellation;
use crate::error::{Error, ErrorCode};
use crate::event::Event;
use crate::media::Media;
use crate::record::Message;
use crate::schema::admit;
use crate::settings::{Budget, ModelSettings, TurnSettings};
use crate::stash::refused;
use crate::store::Waiting;
use crate::tool::Tool;
use crate::tool::context::ToolContext;
use crate::validate::Violations;

/// What a turn begins with. Text is what the user says.
///
/// ```
/// use std::time::Duration;
/// use turnwright_core::{Budget, TurnInput};
///
/// let input = TurnInput::new("What broke last night?")
///     .conversation("ops-2026-11-16")
///     .budget(Budget::new().time(Duration::from_secs(120)));
/// ```
#[derive(Clone)]
#[must_use = "an input does nothing until a runner gets it"]
pub struct TurnInput {
    text: Option<String>,
    media: Vec<Media>,
    message: Option<Arc<Message>>,
    pub(crate) conversation: Option<Arc<str>>,
    pub(crate) turn_id: Option<Arc<str>>,
    pub(crate) stash: Vec<(String, Value)>,
    /// Why the first value for the stash that was not admitted was not.
    not_stashed: Option<Error>,
    pub(crate) tools: Vec<Result<Tool, Error>>,
    pub(crate) observers: Vec<Arc<Observe>>,
    pub(crate) cancellation: Option<Cancellation>,
    pub(crate) settings: TurnSettings,
    /// The call that this turn is made for.
    pub(crate) under: Option<ToolContext>,
    /// Whether the policies and the taint of the turns around it apply.
    pub(crate) inherits: bool,
    /// The turn is there already, and is taken up again.
    pub(crate) resumes: bool,
    /// The stream of a resumed turn begins with what the turn did before.
    pub(crate) replays: bool,
    /// A suspended turn of the conversation is given up.
    pub(crate) abandons: bool,
    /// The turn is suspended whenever it can only wait.
    pub(crate) suspends: bool,
}

/// Who is told what happens.
type Observe = dyn Fn(&Event) + Send + Sync;

impl TurnInput {
    /// The user says this.
    pub fn new(text: impl Into<String>) -> Self {
        TurnInput {
            text: Some(text.into()),
            ..TurnInput::empty()
        }
    }

    /// Nobody says anything: the conversation as it stands is to go on.
    pub fn empty() -> Self {
        TurnInput {
            text: None,
            media: Vec::new(),
            message: None,
            conversation: None,
            turn_id: None,
            stash: Vec::new(),
            not_stashed: None,
            tools: Vec::new(),
            observers: Vec::new(),
            cancellation: None,
            settings: TurnSettings::default(),
            under: None,
            inherits: true,
            resumes: false,
            replays: false,
            abandons: false,
            suspends: false,
        }
    }

    /// The input with which a stored turn is resumed: see [`TurnRunner::resume`](crate::TurnRunner::resume). Add what is not stored
    /// with the turn: its own tools, observers, a cancellation. Values for the stash, instructions, settings and a budget replace the
    /// stored ones.
    /// [`conversation`](Self::conversation) is needed only if several conversations have a turn of this id.
    ///
    /// ```
    /// use turnwright_core::{Budget, TurnInput};
    ///
    /// let input = TurnInput::resume("turn-1").conversation("chat-1").budget(Budget::new().tool_calls(40));
    /// ```
    pub fn resume(turn_id: impl Into<Arc<str>>) -> Self {
        TurnInput {
            resumes: true,
            ..TurnInput::empty().turn_id(turn_id)
        }
    }

    /// Something that comes with the words. With a [`Message`] of your own, say it there.
    pub fn media(mut self, attached: Media) -> Self {
        self.media.push(attached);
        self
    }

    /// Names the conversation that the turn belongs to: the runner's store and spool keep its records and results there.
    ///
    /// By default a turn has a conversation of its own, with a generated id, that is not stored. Its records and results
    /// live for as long as the turn and its [`TurnOutcome`](crate::TurnOutcome), and it cannot be resumed.
    pub fn conversation(mut self, id: impl Into<Arc<str>>) -> Self {
        self.conversation = Some(id.into());
        self
    }

    /// The turn's id. A new one unless told. One that the conversation has already is refused (`E_TURN_EXISTS`):
    /// [`resume`](crate::TurnRunner::resume) goes on with that turn.
    pub fn turn_id(mut self, id: impl Into<Arc<str>>) -> Self {
        self.turn_id = Some(id.into());
        self
    }

    /// Puts a value into the turn's stash, at a dot path. The turn does not begin with a value that
    /// [`Stash::set`](crate::Stash::set) refuses.
    pub fn stash(mut self, path: impl Into<String>, value: impl Into<Value>) -> Self {
        let path = path.into();
        match admit(value.into()) {
            Ok(value) => self.stash.push((path, value)),
            Err(why) => drop(self.not_stashed.get_or_insert(refused(&path, why))),
        }
        self
    }

    /// A tool for this turn alone.
    pub fn tool(mut self, tool: impl IntoTool) -> Self {
        self.tools.push(tool.into_tool());
        self
    }

    /// Tells `observer` everything that happens in this turn.
    pub fn observer(mut self, observer: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.observers.push(Arc::new(observer));
        self
    }

    /// Runs the turn under a call: a sub-agent as a tool. The inner turn has a conversation of its own, which is stored only
    /// if you name it. It is cancelled with
    /// the call, and when its [`Turn`](super::Turn) is dropped. The outer turn waits for its end, and its usage counts for the
    /// outer turn too.
    ///
    /// The rules of the outer turn apply to the inner one, at any depth:
    ///
    /// - Policies of the outer runners review every call of the inner turn, the outermost first, before the inner runner's
    ///   own and the tool's. They see the call in its inner turn: `call.context()` is the inner dispatch, and
    ///   [`outer_tools`](crate::TurnContext::outer_tools) says under which tools it runs.
    /// - If an outer policy asks, the approver of that runner answers, or of one further outside, but never the inner one.
    ///   If an inner policy asks and the inner runner has no approver, the nearest outer one answers.
    /// - Gates of the inner turn open at the outer turn: on its stream, and at its [`Gates`](crate::gate::Gates).
    /// - The inner turn is never suspended by itself. While it waits at a gate, the handler that runs it waits too, so the outer
    ///   turn stays in memory: its [`activity`](crate::runner::TurnHandle::activity) is
    ///   [`Held`](crate::gate::TurnActivity::Held). Nothing is lost: the outer turn is suspended at the next occasion.
    /// - The inner prompt is as tainted as the outer prompt was when the inner turn was started, and more if the inner turn
    ///   reads more.
    ///
    /// [`without_outer_rules`](Self::without_outer_rules) turns off the policies, approvers and the taint.
    ///
    /// Return the inner turn's answer as it is: it is the result of an untrusted tool, fenced as one, unless the tool
    /// says that it is `trusted`. Do not say that of an agent that reads what others wrote.
    ///
    /// ```
    /// use turnwright_core::{DispatchContext, Tool, TurnInput};
    /// # #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// # struct Task { task: String }
    ///
    /// # let executor = |ctx: DispatchContext| async move { ctx.answer("done").await?; Ok(()) };
    /// let librarian = turnwright_core::runner(executor).build()?;
    /// let research = Tool::typed::<Task>("research")
    ///     .description("Has a librarian look something up.")
    ///     .handler_with(librarian, async |librarian, args, ctx| {
    ///         let outcome = librarian.run(TurnInput::new(args.task).under(&ctx)).await;
    ///         Ok(outcome.into_answer()?)
    ///     })
    ///     .build()?;
    /// # Ok::<(), turnwright_core::Error>(())
    /// ```
    pub fn under(mut self, call: &ToolContext) -> Self {
        self.cancellation = Some(call.cancellation().clone());
        self.under = Some(call.clone());
        self
    }

    /// Runs the turn without the policies, the approvers and the taint of the turns around it: see
    /// [`under`](Self::under). Its gates still open at the outer turn.
    ///
    /// For an inner runner that you trust to guard itself. Whatever made the outer model call it may be in its input.
    pub fn without_outer_rules(mut self) -> Self {
        self.inherits = false;
        self
    }

    /// Lets the stream of a resumed turn begin with the records that the turn stored before, as events: for a reader that
    /// has none of them. See [`TurnRunner::attach`](super::TurnRunner::attach). No effect on a new turn.
    ///
    /// Default: only what happens from the resume on.
    pub fn replay(mut self) -> Self {
        self.replays = true;
        self
    }

    /// Gives up a suspended turn of the conversation, so that this one can begin. By default a turn fails with `E_TURN_WAITING`
    /// while another one is suspended.
    ///
    /// The calls of the suspended turn that wait are closed as not approved, its gates stay unanswered, and its state is
    /// [`Abandoned`](crate::record::TurnState::Abandoned).
    pub fn abandon_waiting(mut self) -> Self {
        self.abandons = true;
        self
    }

    /// Suspends this turn whenever it can only wait: see
    /// [`TurnRunnerBuilder::suspend_at_gates`](super::TurnRunnerBuilder::suspend_at_gates).
    pub fn suspend_at_gates(mut self) -> Self {
        self.suspends = true;
        self
    }

    /// What calls the turn off.
    pub fn cancellation(mut self, cancellation: Cancellation) -> Self {
        self.cancellation = Some(cancellation);
        self
    }

    /// Adds to the system prompt of this turn, after the instructions of the runner
    /// ([`TurnRunnerBuilder::instructions`](super::TurnRunnerBuilder::instructions)): for what belongs to one user or one
    /// turn. Replaces what was set here before.
    ///
    /// It is your own text: it is not fenced and not stored as a record. The turn's record keeps it, so that a resumed turn
    /// has it again. Put nothing here that others wrote: a [`Retrievable`](crate::record::Retrievable) is fenced.
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
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.settings.instruct(text.into());
        self
    }

    /// Sets model settings for this turn. Fields that are set here take precedence over those of the runner. The turn's
    /// record keeps them, so that a resumed turn has them again.
    pub fn settings(mut self, settings: ModelSettings) -> Self {
        self.settings.model = settings.over(&self.settings.model);
        self
    }

    /// Sets how much this turn may use. Limits that are set here take precedence over those of the runner. The turn's
    /// record keeps them, so that a resumed turn has them again.
    pub fn budget(mut self, budget: Budget) -> Self {
        self.settings.budget = budget.over(&self.settings.budget);
        self
    }

    /// What is said, as a record.
    pub(crate) fn message(&self) -> Result<Option<Arc<Message>>, Error> {
        let mut wrong = Violations::default();
        for (field, id) in [
            ("conversation", &self.conversation),
            ("turn_id", &self.turn_id),
        ] {
            if let Some(id) = id {
                wrong.check_named_id(field, id);
            }
        }
        self.settings.check(&mut wrong);
        wrong.finish(ErrorCode::INVALID_TURN_CONTEXT, "turn's input")?;
        if let Some(error) = &self.not_stashed {
            return Err(error.clone());
        }
        if self.message.is_some() || (self.text.is_none() && self.media.is_empty()) {
            return Ok(self.message.clone());
        }
        let message = Message::user(self.text.clone().unwrap_or_default());
        let media = self.media.iter().cloned();
        let message = media.fold(message, |message, media| message.media(media));
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
            ..TurnInput::empty()
        }
    }
}

// What is said may be secret: it is not shown.
debug_fields!(TurnInput {
    conversation,
    turn_id
});

/// The turn to resume: its id, a row of [`Storage::waiting`](crate::Storage::waiting), or a [`TurnInput::resume`] with more.
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
    /// Names the conversation.
    pub(crate) fn in_conversation(self, id: &Arc<str>) -> Self {
        ResumeInput(self.0.conversation(Arc::clone(id)))
    }

    /// The id of the turn, and the input.
    pub(crate) fn into_parts(self) -> Result<(Arc<str>, TurnInput), Error> {
        let input = self.0;
        let speaks = input.message.is_some() || input.text.is_some() || !input.media.is_empty();
        match &input.turn_id {
            Some(id) if input.resumes && !speaks => Ok((Arc::clone(id), input)),
            _ => {
                let message = "a resumed turn has no new message: give the turn's id, or `TurnInput::resume(turn_id)` with what else it needs";
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
        let input = TurnInput::resume(Arc::clone(&turn.turn_id));
        ResumeInput(input.conversation(Arc::clone(&turn.conversation)))
    }
}

impl From<&str> for ResumeInput {
    fn from(turn_id: &str) -> Self {
        ResumeInput(TurnInput::resume(turn_id))
    }
}

impl From<String> for ResumeInput {
    fn from(turn_id: String) -> Self {
        ResumeInput(TurnInput::resume(turn_id))
    }
}

impl From<&Arc<str>> for ResumeInput {
    fn from(turn_id: &Arc<str>) -> Self {
        ResumeInput(TurnInput::resume(Arc::clone(turn_id)))
    }
}

impl From<Arc<str>> for ResumeInput {
    fn from(turn_id: Arc<str>) -> Self {
        ResumeInput(TurnInput::resume(turn_id))
    }
}
