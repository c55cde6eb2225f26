//! Typed answers while they arrive.

use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::{Stream, StreamExt as _};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::turn::Turn;
use crate::answer::{AnswerFormat, PartialJson};
use crate::event::{EventKind, TurnStream};

/// A stream of the typed answer of a turn while it arrives: see [`Turn::partial_answers`].
#[must_use = "a stream does nothing until it is read"]
pub struct PartialAnswers<P> {
    events: TurnStream,
    /// `None` if the input has no answer type.
    progress: Option<Progress>,
    value: PhantomData<fn() -> P>,
}

impl Turn {
    /// Returns a stream of the answer so far, for an input with an [answer type](super::TurnInput::answer). `P` is the type of
    /// the answer with optional fields, or [`Value`].
    ///
    /// A value is the JSON so far, with open strings, lists and objects closed, and without incomplete keys, numbers and
    /// literals. It is **not validated** and not repaired: display it, do not act on it. Each value replaces the one before, and
    /// a value that `P` does not accept is skipped. If the model starts over, so do the values; the stream of the turn has
    /// [`Discarded`](EventKind::Discarded) or [`AnswerRejected`](EventKind::AnswerRejected) then.
    ///
    /// There is at most one value per [`MessageDelta`](EventKind::MessageDelta). Answers of more than 4 KiB produce one each time
    /// they have grown by 3 %, and one when they are complete. The stream is a reader of its own: the events of the turn can be
    /// read beside it. It ends with the turn.
    ///
    /// ```
    /// use turnwright_core::{DispatchContext, TurnInput};
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
    /// let turn = runner.start(TurnInput::new("How do I make tea?").answer::<Recipe>());
    /// let mut drafts = turn.partial_answers::<Draft>();
    /// let mut seen = Vec::new();
    /// while let Some(draft) = drafts.next().await {
    ///     seen.push(draft);
    /// }
    /// assert_eq!(seen[0].title.as_deref(), Some("Te"));
    /// assert_eq!(seen[1].steps, ["Boil wat"]);
    /// let recipe: Recipe = turn.await.answer()?;
    /// assert_eq!((recipe.title.as_str(), recipe.steps.len()), ("Tea", 2));
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    pub fn partial_answers<P: DeserializeOwned>(&self) -> PartialAnswers<P> {
        PartialAnswers {
            events: self.stream.another(),
            progress: self.format.as_ref().map(Progress::new),
            value: PhantomData,
        }
    }
}

impl<P: DeserializeOwned> PartialAnswers<P> {
    /// Returns the answer so far once it has grown, or `None` once the turn has ended.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, no value is lost.
    pub async fn next(&mut self) -> Option<P> {
        futures_util::StreamExt::next(self).await
    }
}

impl<P: DeserializeOwned> Stream for PartialAnswers<P> {
    type Item = P;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<P>> {
        while let Some(event) = ready!(self.events.poll_next_unpin(cx)) {
            let progress = self.progress.as_mut();
            let value = progress.and_then(|progress| progress.push_event(&event.kind));
            if let Some(value) = value.and_then(|value| P::deserialize(value).ok()) {
                return Poll::Ready(Some(value));
            }
        }
        Poll::Ready(None)
    }
}

/// The answer so far.
struct Progress {
    format: Arc<AnswerFormat>,
    partial: PartialJson,
    /// The message of the answer, and how many of its bytes have arrived.
    message: Option<(Arc<str>, usize)>,
}

impl Progress {
    fn new(format: &Arc<AnswerFormat>) -> Self {
        Progress {
            partial: format.partial(),
            format: Arc::clone(format),
            message: None,
        }
    }

    fn is_of(&self, id: &str) -> bool {
        matches!(&self.message, Some((of, _)) if **of == *id)
    }

    /// Processes an event. Returns the answer so far if it has grown.
    fn push_event(&mut self, event: &EventKind) -> Option<Value> {
        let starts_over = match event {
            EventKind::MessageDelta(delta) => !self.is_of(&delta.id),
            EventKind::Message(message) => !self.is_of(message.id()),
            EventKind::Discarded { id } => self.is_of(id),
            EventKind::AnswerRejected { .. } => true,
            _ => false,
        };
        if starts_over {
            (self.partial, self.message) = (self.format.partial(), None);
        }
        match event {
            EventKind::MessageDelta(delta) => self.push(&delta.id, delta.offset, &delta.text),
            // An executor may store a message without having streamed it.
            EventKind::Message(message) if self.message.is_none() => {
                self.push(&message.id().into(), 0, message.text())
            }
            _ => None,
        }
    }

    /// Adds a piece of a message. A piece that does not follow the previous one cannot be completed.
    fn push(&mut self, id: &Arc<str>, offset: usize, piece: &str) -> Option<Value> {
        let (_, received) = self.message.get_or_insert_with(|| (Arc::clone(id), 0));
        if *received != offset {
            return None;
        }
        *received += piece.len();
        self.partial.push(piece);
        let value = self.partial.next_value()?;
        self.format.unwrap_partial(value)
    }
}

impl<P> fmt::Debug for PartialAnswers<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartialAnswers").finish_non_exhaustive()
    }
}
