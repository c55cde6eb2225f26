//! A turn that was started.

use std::future::IntoFuture;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::Stream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::cancel::Cancellation;
use crate::error::{Error, ErrorCode};
use crate::event::TurnEvent;
use crate::gate::Gates;
use crate::outcome::TurnOutcome;

/// A turn that was started: a stream of what it says, and its outcome when it is awaited. Dropping it calls the turn off.
///
/// ```
/// use turnwright_core::{DispatchContext, TurnEvent, TurnRunner};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let runner = TurnRunner::builder(|ctx: DispatchContext| async move {
///     let mut message = ctx.reporter().message();
///     message.push("Hello, ").await;
///     message.push("world!").await;
///     message.finish().await?;
///     ctx.ack()?;
///     Ok(())
/// })
/// .build()?;
///
/// let mut turn = runner.start("hi");
/// let mut heard = String::new();
/// while let Some(event) = turn.next().await {
///     if let TurnEvent::MessageDelta(delta) = event {
///         heard.push_str(&delta.text);
///     }
/// }
/// assert_eq!(heard, "Hello, world!");
/// assert_eq!(turn.await.text, heard);
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug)]
#[must_use = "dropping a turn calls it off: await it, or read its stream"]
pub struct Turn {
    pub(super) handle: TurnHandle,
    pub(super) stream: TurnStream,
}

/// A turn without its stream. Dropping it calls the turn off.
#[must_use = "dropping a turn calls it off: await its outcome"]
pub struct TurnHandle {
    pub(super) turn_id: Arc<str>,
    pub(super) conversation: Arc<str>,
    pub(super) cancellation: Cancellation,
    /// None once nobody can answer by this handle any more.
    pub(super) gates: Option<Gates>,
    pub(super) task: Option<JoinHandle<TurnOutcome>>,
    /// The outcome of a turn that ended before it began.
    pub(super) unbegun: Option<Box<TurnOutcome>>,
}

/// What a turn says as it goes. Bounded: the turn waits for whoever reads; dropping this lets it go on alone.
#[derive(Debug)]
pub struct TurnStream(pub(super) mpsc::Receiver<TurnEvent>);

impl Turn {
    /// The turn's id.
    #[must_use]
    pub fn id(&self) -> &str {
        self.handle.id()
    }

    /// The next thing that it says; `None` once it has ended.
    pub async fn next(&mut self) -> Option<TurnEvent> {
        self.stream.next().await
    }

    /// How to answer at its gates.
    #[must_use]
    pub fn gates(&self) -> Gates {
        self.handle.gates()
    }

    /// Calls it off. It still ends cleanly: await it to see how.
    pub fn cancel(&self) {
        self.handle.cancel();
    }

    /// Waits for its end. What was not read is let go.
    pub async fn outcome(self) -> TurnOutcome {
        let Turn { handle, stream } = self;
        drop(stream);
        handle.outcome().await
    }

    /// The handle and the stream apart, so that one task can read while another decides.
    pub fn split(self) -> (TurnHandle, TurnStream) {
        (self.handle, self.stream)
    }
}

impl Stream for Turn {
    type Item = TurnEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<TurnEvent>> {
        self.stream.0.poll_recv(cx)
    }
}

impl IntoFuture for Turn {
    type Output = TurnOutcome;
    type IntoFuture = Pin<Box<dyn Future<Output = TurnOutcome> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.outcome())
    }
}

impl TurnStream {
    /// The next thing that the turn says; `None` once it has ended.
    pub async fn next(&mut self) -> Option<TurnEvent> {
        self.0.recv().await
    }
}

impl Stream for TurnStream {
    type Item = TurnEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<TurnEvent>> {
        self.0.poll_recv(cx)
    }
}

impl TurnHandle {
    /// A turn that ended before it began.
    pub(crate) fn ready(outcome: TurnOutcome) -> Self {
        TurnHandle {
            turn_id: Arc::clone(&outcome.turn_id),
            conversation: Arc::clone(&outcome.conversation),
            cancellation: Cancellation::new(),
            gates: None,
            task: None,
            unbegun: Some(Box::new(outcome)),
        }
    }

    /// The turn's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.turn_id
    }

    /// How to answer at its gates.
    #[must_use]
    pub fn gates(&self) -> Gates {
        match &self.gates {
            Some(gates) => gates.clone(),
            None => Gates::of_unbegun(),
        }
    }

    /// Calls it off. It still ends cleanly: await its outcome to see how.
    pub fn cancel(&self) {
        self.cancellation.cancel();
    }

    /// Waits for its end. Dropping the future calls the turn off.
    pub async fn outcome(mut self) -> TurnOutcome {
        // From here on nobody can answer by this handle.
        self.gates = None;
        let ended = match &mut self.task {
            Some(task) => task.await.ok(),
            None => self.unbegun.take().map(|outcome| *outcome),
        };
        self.task = None;
        ended.unwrap_or_else(|| {
            let message = "the runtime was shut down while the turn ran";
            TurnOutcome::unbegun(
                Arc::clone(&self.turn_id),
                Arc::clone(&self.conversation),
                Error::new(ErrorCode::TurnAborted, message),
            )
        })
    }
}

impl Drop for TurnHandle {
    fn drop(&mut self) {
        if self.task.is_some() {
            self.cancellation.cancel();
        }
    }
}

debug_fields!(TurnHandle { turn_id });
