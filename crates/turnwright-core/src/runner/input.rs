//! What a turn begins with.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::builder::IntoTool;
use crate::cancel::Cancellation;
use crate::error::{Error, ErrorCode};
use crate::event::Event;
use crate::media::Media;
use crate::record::Message;
use crate::schema::admit;
use crate::stash::refused;
use crate::tool::Tool;
use crate::tool::context::ToolContext;
use crate::validate::Violations;

/// What a turn begins with. Text is what the user says.
///
/// ```
/// use turnwright_core::TurnInput;
/// use std::time::Duration;
///
/// let input = TurnInput::new("What broke last night?")
///     .conversation("ops-2026-11-16")
///     .deadline(Duration::from_secs(120));
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
    pub(crate) deadline: Option<Duration>,
    /// The call that this turn is made for.
    pub(crate) under: Option<ToolContext>,
    /// Whether the policies and the taint of the turns around it apply.
    pub(crate) inherits: bool,
    /// The turn is there already, and is taken up again.
    pub(crate) resumes: bool,
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
            deadline: None,
            under: None,
            inherits: true,
            resumes: false,
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
    /// the call, the outer turn waits for its end, and its usage counts for the outer turn too.
    ///
    /// The rules of the outer turn apply to the inner one, at any depth:
    ///
    /// - Policies of the outer runners review every call of the inner turn, the outermost first, before the inner runner's
    ///   own and the tool's. They see the call in its inner turn: `call.context()` is the inner dispatch, and
    ///   [`outer_tools`](crate::TurnContext::outer_tools) says under which tools it runs.
    /// - If an outer policy asks, the approver of that runner answers, or of one further outside, but never the inner one.
    ///   If an inner policy asks and the inner runner has no approver, the nearest outer one answers.
    /// - Gates of the inner turn open at the outer turn: on its stream, and at its [`Gates`](crate::gate::Gates).
    /// - The inner prompt is as tainted as the outer prompt was when the inner turn was started, and more if the inner turn
    ///   reads more.
    ///
    /// [`without_outer_rules`](Self::without_outer_rules) turns off the policies, approvers and the taint.
    ///
    /// Return the inner turn's answer as it is: it is the result of an untrusted tool, fenced as one, unless the tool
    /// says that it is `trusted`. Do not say that of an agent that reads what others wrote.
    ///
    /// ```
    /// use turnwright_core::{DispatchContext, Tool, ToolContext, ToolError, TurnInput, TurnRunner};
    /// # #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// # struct Task { task: String }
    ///
    /// # let executor = |ctx: DispatchContext| async move { ctx.answer("done").await?; Ok(()) };
    /// let librarian = TurnRunner::builder(executor).build()?;
    /// let research = Tool::typed::<Task>("research")
    ///     .description("Has a librarian look something up.")
    ///     .handler(move |args: Task, ctx: ToolContext| {
    ///         let librarian = librarian.clone();
    ///         async move {
    ///             let outcome = librarian.run(TurnInput::new(args.task).under(&ctx)).await;
    ///             Ok::<_, ToolError>(outcome.into_answer()?)
    ///         }
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

    /// What calls the turn off.
    pub fn cancellation(mut self, cancellation: Cancellation) -> Self {
        self.cancellation = Some(cancellation);
        self
    }

    /// How long the turn may take, the time that it waits for people included.
    pub fn deadline(mut self, limit: Duration) -> Self {
        self.deadline = Some(limit);
        self
    }

    /// What a turn is taken up again with.
    pub(crate) fn resuming(mut self, turn_id: &str) -> Result<Self, Error> {
        if self.message.is_some() || self.text.is_some() || !self.media.is_empty() {
            let message = "a turn that is taken up again says nothing new: give `TurnInput::empty()` with what else it needs";
            return Err(Error::new(ErrorCode::InvalidTurnContext, message));
        }
        self.resumes = true;
        Ok(self.turn_id(turn_id))
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
        wrong.finish(ErrorCode::InvalidTurnContext, "turn's input")?;
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
