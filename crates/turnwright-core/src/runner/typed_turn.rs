//! A started turn with a typed answer: partial values as they stream, then the answer.

use std::collections::VecDeque;
use std::fmt;
use std::future::{IntoFuture, poll_fn};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::Stream;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::handle::Turn;
use super::input::TurnInput;
use super::turn_runner::TurnRunner;
use super::typed::TypedOutcome;
use crate::answer::{AnswerFormat, PartialJson};
use crate::error::Error;
use crate::event::{Event, EventKind};
use crate::schema::Typed;

/// A started turn with a typed answer: a stream of [`TypedEvent`]s, and a [`TypedOutcome`] when awaited.
///
/// ```
/// use turnwright_core::DispatchContext;
/// use turnwright_core::runner::TypedEvent;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Recipe {
///     title: String,
///     steps: Vec<String>,
/// }
///
/// /// The incomplete recipe.
/// #[derive(Default, serde::Deserialize)]
/// #[serde(default)]
/// struct Draft {
///     title: Option<String>,
///     steps: Vec<String>,
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
///     let mut message = ctx.reporter().message();
///     for piece in [r#"{"title": "Te"#, r#"a", "steps": ["Boil wat"#, r#"er", "Wait"]}"#] {
///         message.push(piece).await;
///     }
///     message.finish_as_answer().await?;
///     ctx.ack()?;
///     Ok(())
/// })
/// .build()?;
///
/// let mut turn = runner.start_typed::<Recipe>("How do I make tea?");
/// let mut seen = Vec::new();
/// while let Some(event) = turn.next().await {
///     match event {
///         TypedEvent::Partial(partial) => seen.push(partial.parse::<Draft>()?),
///         TypedEvent::Reset => seen.clear(),
///         _ => {}
///     }
/// }
/// assert_eq!(seen[0].title.as_deref(), Some("Te"));
/// assert_eq!(seen[1].steps, ["Boil wat"]);
/// let recipe = turn.await.into_answer()?;
/// assert_eq!((recipe.title.as_str(), recipe.steps.len()), ("Tea", 2));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[must_use = "await the turn or read its stream"]
pub struct TypedTurn<T> {
    turn: Turn,
    /// The format, or why there is none.
    format: Result<Arc<AnswerFormat>, Error>,
    progress: Option<Progress>,
    /// Events that were not read yet: at most three.
    ready: VecDeque<TypedEvent>,
    answer: PhantomData<fn() -> T>,
}

/// An event of a [`TypedTurn`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TypedEvent {
    /// The answer so far. There is at most one per [`MessageDelta`](EventKind::MessageDelta), after it. Answers of more than
    /// 4 KiB produce one each time they have grown by 3 %, and one when they are complete.
    Partial(PartialAnswer),
    /// The partial answers so far are void: the request was repeated, the answer was rejected, or the model started another
    /// message.
    Reset,
    /// An event of the turn.
    Turn(Event),
}

/// An incomplete answer: the JSON so far, with open strings, lists and objects closed, and without incomplete keys, numbers and
/// literals.
///
/// A partial answer is **not validated** and not repaired. Properties may be missing, and the final answer may differ. Display
/// it; do not act on it.
#[derive(Clone)]
pub struct PartialAnswer(Value);

impl PartialAnswer {
    /// Returns the value so far.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.0
    }

    /// Returns the value so far.
    #[must_use]
    pub fn into_value(self) -> Value {
        self.0
    }

    /// Deserialises the value so far into a type whose fields are optional.
    ///
    /// # Errors
    /// Returns an error if the type does not accept the value.
    pub fn parse<P: DeserializeOwned>(&self) -> Result<P, serde_json::Error> {
        P::deserialize(&self.0)
    }
}

impl TurnRunner {
    /// Starts a turn whose answer must have a certain type: see [`TurnRunner::run_typed`] for the supported types. The stream has
    /// the events of the turn and the answer so far.
    pub fn start_typed<T: Typed>(&self, input: impl Into<TurnInput>) -> TypedTurn<T> {
        let format = AnswerFormat::of::<T>();
        self.start_formatted_or(input.into(), format)
    }

    /// Like [`TurnRunner::start_typed`], with a custom format.
    pub fn start_formatted<T: DeserializeOwned>(
        &self,
        input: impl Into<TurnInput>,
        format: AnswerFormat,
    ) -> TypedTurn<T> {
        self.start_formatted_or(input.into(), Ok(format))
    }

    fn start_formatted_or<T>(
        &self,
        input: TurnInput,
        format: Result<AnswerFormat, Error>,
    ) -> TypedTurn<T> {
        let format = format.map(Arc::new);
        TypedTurn {
            turn: self.start_as(input, format.clone().map(Some)),
            progress: format.as_ref().ok().map(Progress::new),
            format,
            ready: VecDeque::new(),
            answer: PhantomData,
        }
    }
}

impl<T> TypedTurn<T> {
    /// Returns the turn, with its id, its gates and its cancellation.
    pub fn turn(&self) -> &Turn {
        &self.turn
    }

    /// Returns the next event, or `None` once the turn has ended.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, no event is lost.
    pub async fn next(&mut self) -> Option<TypedEvent> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }
}

impl<T: DeserializeOwned> TypedTurn<T> {
    /// Waits for the end of the turn. Unread events are dropped.
    pub async fn outcome(self) -> TypedOutcome<T> {
        let TypedTurn { turn, format, .. } = self;
        let outcome = turn.outcome().await;
        match format {
            Ok(format) => TypedOutcome::read(outcome, &format).await,
            Err(error) => TypedOutcome {
                answer: Err(error),
                outcome,
            },
        }
    }
}

impl<T> Stream for TypedTurn<T> {
    type Item = TypedEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<TypedEvent>> {
        let this = &mut *self;
        if this.ready.is_empty() {
            let Some(event) = ready!(Pin::new(&mut this.turn).poll_next(cx)) else {
                return Poll::Ready(None);
            };
            match &mut this.progress {
                Some(progress) => progress.take_in(event, &mut this.ready),
                None => this.ready.push_back(TypedEvent::Turn(event)),
            }
        }
        Poll::Ready(this.ready.pop_front())
    }
}

impl<T: DeserializeOwned + 'static> IntoFuture for TypedTurn<T> {
    type Output = TypedOutcome<T>;
    type IntoFuture = Pin<Box<dyn Future<Output = TypedOutcome<T>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.outcome())
    }
}

/// The answer so far.
struct Progress {
    format: Arc<AnswerFormat>,
    partial: PartialJson,
    /// The message of the answer, and how many of its bytes have arrived.
    of: Option<(Arc<str>, usize)>,
    /// Whether a partial answer was emitted.
    shown: bool,
}

impl Progress {
    fn new(format: &Arc<AnswerFormat>) -> Self {
        Progress {
            partial: format.partial(),
            format: Arc::clone(format),
            of: None,
            shown: false,
        }
    }

    fn is_of(&self, id: &str) -> bool {
        matches!(&self.of, Some((of, _)) if **of == *id)
    }

    fn take_in(&mut self, event: Event, ready: &mut VecDeque<TypedEvent>) {
        let ends = match &event.kind {
            EventKind::MessageDelta(delta) => !self.is_of(&delta.id),
            EventKind::Message(message) => !self.is_of(message.id()),
            EventKind::Discarded { id } => self.is_of(id),
            EventKind::AnswerRejected { .. } => true,
            _ => false,
        };
        if ends {
            ready.extend(std::mem::take(&mut self.shown).then_some(TypedEvent::Reset));
            (self.partial, self.of) = (self.format.partial(), None);
        }
        let partial = match &event.kind {
            EventKind::MessageDelta(delta) => self.push(&delta.id, delta.offset, &delta.text),
            // An executor may store a message without having streamed it.
            EventKind::Message(message) if self.of.is_none() => {
                self.push(&message.id().into(), 0, message.text())
            }
            _ => None,
        };
        ready.push_back(TypedEvent::Turn(event));
        if let Some(partial) = partial {
            self.shown = true;
            ready.push_back(TypedEvent::Partial(PartialAnswer(partial)));
        }
    }

    /// Adds a piece of a message. A piece that does not follow the previous one cannot be completed.
    fn push(&mut self, id: &Arc<str>, offset: usize, piece: &str) -> Option<Value> {
        let (_, came) = self.of.get_or_insert_with(|| (Arc::clone(id), 0));
        if *came != offset {
            return None;
        }
        *came += piece.len();
        self.partial.push(piece);
        let value = self.partial.next_value()?;
        self.format.unwrap_partial(value)
    }
}

impl fmt::Debug for PartialAnswer {
    /// Omits the answer, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartialAnswer").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for TypedTurn<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedTurn")
            .field("turn", &self.turn)
            .finish_non_exhaustive()
    }
}
