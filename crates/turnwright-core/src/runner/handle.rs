//! A turn that was started.

use std::fmt;
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
    handle: TurnHandle,
    stream: TurnStream,
}

/// A turn without its stream. Dropping it calls the turn off.
#[must_use = "dropping a turn calls it off: await its outcome"]
pub struct TurnHandle {
    turn_id: Arc<str>,
    conversation: Arc<str>,
    cancellation: Cancellation,
    /// None once nobody can answer by this handle any more.
    gates: Option<Gates>,
    done: Done,
}

enum Done {
    Task(JoinHandle<TurnOutcome>),
    Already(Box<TurnOutcome>),
    Taken,
}

/// What a turn says as it goes. Bounded: the turn waits for whoever reads; dropping this lets it go on alone.
pub struct TurnStream(mpsc::Receiver<TurnEvent>);

impl Turn {
    pub(crate) fn new(handle: TurnHandle, stream: TurnStream) -> Self {
        Turn { handle, stream }
    }

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
    pub(crate) fn new(receiver: mpsc::Receiver<TurnEvent>) -> Self {
        TurnStream(receiver)
    }

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
    pub(crate) fn new(
        turn_id: Arc<str>,
        conversation: Arc<str>,
        cancellation: Cancellation,
        gates: Gates,
        task: JoinHandle<TurnOutcome>,
    ) -> Self {
        TurnHandle {
            turn_id,
            conversation,
            cancellation,
            gates: Some(gates),
            done: Done::Task(task),
        }
    }

    /// A turn that ended before it began.
    pub(crate) fn ready(outcome: TurnOutcome) -> Self {
        TurnHandle {
            turn_id: Arc::clone(&outcome.turn_id),
            conversation: Arc::clone(&outcome.conversation),
            cancellation: Cancellation::new(),
            gates: None,
            done: Done::Already(Box::new(outcome)),
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
        let outcome = match &mut self.done {
            Done::Task(task) => task.await.ok(),
            Done::Already(_) | Done::Taken => None,
        };
        let done = std::mem::replace(&mut self.done, Done::Taken);
        match (outcome, done) {
            (Some(outcome), _) => outcome,
            (None, Done::Already(outcome)) => *outcome,
            // The runtime was shut down while it ran.
            (None, Done::Task(_) | Done::Taken) => {
                let message = "the runtime was shut down while the turn ran";
                TurnOutcome::unbegun(
                    Arc::clone(&self.turn_id),
                    Arc::clone(&self.conversation),
                    Error::new(ErrorCode::TurnAborted, message),
                )
            }
        }
    }
}

impl Drop for TurnHandle {
    fn drop(&mut self) {
        if matches!(self.done, Done::Task(_)) {
            self.cancellation.cancel();
        }
    }
}

impl fmt::Debug for TurnHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnHandle")
            .field("turn_id", &self.turn_id)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for TurnStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TurnStream")
    }
}
