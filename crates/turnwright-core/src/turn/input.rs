//! What a turn begins with.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::builder::IntoTool;
use crate::call::ToolContext;
use crate::cancel::Cancellation;
use crate::error::{Error, ErrorCode};
use crate::event::Event;
use crate::media::Media;
use crate::record::{Message, Wrong};
use crate::tool::Tool;

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
    says: Says,
    pub(super) conversation: Option<Arc<str>>,
    pub(super) turn_id: Option<Arc<str>>,
    pub(super) stash: Vec<(String, Value)>,
    pub(super) tools: Vec<Result<Tool, Error>>,
    pub(super) observers: Vec<Arc<Observe>>,
    pub(super) cancellation: Option<Cancellation>,
    pub(super) deadline: Option<Duration>,
    /// The call that this turn is made for.
    pub(super) under: Option<ToolContext>,
    /// The turn is there already, and is taken up again.
    pub(super) resumes: bool,
}

/// Who is told what happens.
type Observe = dyn Fn(&Event) + Send + Sync;

#[derive(Clone)]
enum Says {
    Nothing,
    Words { text: String, media: Vec<Media> },
    Message(Arc<Message>),
}

impl TurnInput {
    /// The user says this.
    pub fn new(text: impl Into<String>) -> Self {
        TurnInput::of(Says::Words {
            text: text.into(),
            media: Vec::new(),
        })
    }

    /// Nobody says anything: the conversation as it stands is to go on.
    pub fn empty() -> Self {
        TurnInput::of(Says::Nothing)
    }

    fn of(says: Says) -> Self {
        TurnInput {
            says,
            conversation: None,
            turn_id: None,
            stash: Vec::new(),
            tools: Vec::new(),
            observers: Vec::new(),
            cancellation: None,
            deadline: None,
            under: None,
            resumes: false,
        }
    }

    /// Something that comes with the words. With a [`Message`] of your own, say it there.
    pub fn media(mut self, attached: Media) -> Self {
        match &mut self.says {
            Says::Words { media, .. } => media.push(attached),
            Says::Nothing => {
                self.says = Says::Words {
                    text: String::new(),
                    media: vec![attached],
                };
            }
            Says::Message(_) => {}
        }
        self
    }

    /// The conversation that it belongs to: where its records are kept. One of its own unless told.
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

    /// Puts a value into the turn's stash, at a dot path.
    pub fn stash(mut self, path: impl Into<String>, value: impl Into<Value>) -> Self {
        self.stash.push((path.into(), value.into()));
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

    /// The turn is made for a call: a sub-agent as a tool. It is called off with that call, the turn of the call waits for its
    /// end, what it uses of a model counts there too, it has a conversation of its own, and whoever answers at that turn's gates answers for this one. Its words are somebody else's: return them as they are, and they
    /// stand in the fence of what a tool returned.
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
    pub(super) fn resuming(mut self, turn_id: &str) -> Result<Self, Error> {
        if !matches!(self.says, Says::Nothing) {
            let message = "a turn that is taken up again says nothing new: give `TurnInput::empty()` with what else it needs";
            return Err(Error::new(ErrorCode::InvalidTurnContext, message));
        }
        self.resumes = true;
        Ok(self.turn_id(turn_id))
    }

    /// What is said, as a record.
    pub(super) fn message(&self) -> Result<Option<Arc<Message>>, Error> {
        let mut wrong = Wrong::default();
        for (field, id) in [
            ("conversation", &self.conversation),
            ("turn_id", &self.turn_id),
        ] {
            if let Some(id) = id {
                wrong.check_named_id(field, id);
            }
        }
        wrong.finish(ErrorCode::InvalidTurnContext, "turn's input")?;
        match &self.says {
            Says::Nothing => Ok(None),
            Says::Message(message) => Ok(Some(Arc::clone(message))),
            Says::Words { text, media } => {
                let builder = Message::user(text.clone());
                let builder = media
                    .iter()
                    .cloned()
                    .fold(builder, |it, media| it.media(media));
                builder.build().map(Some)
            }
        }
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
        TurnInput::of(Says::Message(message))
    }
}

impl fmt::Debug for TurnInput {
    /// What is said may be secret: it is not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnInput")
            .field("conversation", &self.conversation)
            .field("turn_id", &self.turn_id)
            .finish_non_exhaustive()
    }
}
