//! A started turn.

use std::future::IntoFuture;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use futures_util::Stream;

use crate::answer::AnswerFormat;
use crate::cancel::Cancellation;
use crate::error::{Error, ErrorCode};
use crate::event::{Event, TurnStream};
use crate::gate::{Gates, TurnActivity, TurnGates};
use crate::outcome::TurnOutcome;
use crate::schema::escape;
use crate::tool::context::TurnContext;

/// A started turn: a stream of its events, and its outcome when awaited.
///
/// Dropping it does not cancel the turn, which continues in its own task: a client that disconnects does not end the work. Cancel
/// it with [`Turn::cancel`], or call [`Turn::cancel_on_drop`]. A turn that runs under a call
/// ([`TurnInput::under_call`](super::TurnInput::under_call)) is part of that call and is always cancelled on drop.
///
/// A dropped turn with a conversation still waits at its gates, within their timeouts:
/// [`TurnRunner::answer_gate`](crate::TurnRunner::answer_gate) or a reader that [attaches](crate::TurnRunner::attach) can
/// answer. A turn that is awaited or has no conversation needs a [`Gates`] handle. Without one its gates fail with
/// `E_LLM_EXECUTION_GATE_NOT_SUPPORTED`.
///
/// ```
/// use turnwright_core::{DispatchContext, EventKind};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
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
///     if let EventKind::MessageDelta(delta) = event.kind {
///         heard.push_str(&delta.text);
///     }
/// }
/// assert_eq!(heard, "Hello, world!");
/// assert_eq!(turn.await.text, heard);
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
#[must_use = "await the turn or read its stream; to let it run in the background, `drop` it"]
pub struct Turn {
    pub(super) turn_id: Arc<str>,
    pub(super) conversation: Arc<str>,
    /// Not set while another process or another runner runs the turn.
    pub(super) controls: Arc<OnceLock<Controls>>,
    /// `None` once this cannot be used to answer any more.
    pub(super) gates: Option<Gates>,
    /// `None` once the outcome was taken.
    running: Option<Running>,
    /// Whether dropping this cancels the turn.
    pub(super) cancel_on_drop: bool,
    /// The format of the answer, if the turn runs here and has one.
    pub(super) format: Option<Arc<AnswerFormat>>,
    pub(super) stream: TurnStream,
}

/// Waits for the outcome. `None` if the runtime was shut down while the turn ran.
type Running = Pin<Box<dyn Future<Output = Option<TurnOutcome>> + Send + Sync>>;

/// Acts on a turn that runs in this runner, or has ended.
#[derive(Clone)]
pub(super) struct Controls {
    pub(super) cancellation: Cancellation,
    pub(super) gates: TurnGates,
}

impl Controls {
    pub(super) fn of(turn: &TurnContext) -> Self {
        Controls {
            cancellation: turn.cancellation().clone(),
            gates: turn.gates().clone(),
        }
    }

    /// Those of a turn that has ended have no effect.
    pub(super) fn ended() -> Self {
        Controls {
            cancellation: Cancellation::new(),
            gates: TurnGates::ended(),
        }
    }
}

impl Turn {
    /// Creates the handle of a turn that is started, followed or read.
    pub(super) fn new(
        (turn_id, conversation): (&Arc<str>, &Arc<str>),
        controls: Arc<OnceLock<Controls>>,
        running: impl Future<Output = Option<TurnOutcome>> + Send + Sync + 'static,
        stream: TurnStream,
    ) -> Self {
        Turn {
            turn_id: Arc::clone(turn_id),
            conversation: Arc::clone(conversation),
            controls,
            gates: None,
            running: Some(Box::pin(running)),
            cancel_on_drop: false,
            format: None,
            stream,
        }
    }

    /// Creates the handle of a turn that has ended or could not start.
    pub(super) fn ended(outcome: TurnOutcome, stream: TurnStream) -> Self {
        let (id, conversation) = (
            Arc::clone(&outcome.turn_id),
            Arc::clone(&outcome.conversation),
        );
        let controls = Arc::new(Controls::ended().into());
        Turn::new(
            (&id, &conversation),
            controls,
            async { Some(outcome) },
            stream,
        )
    }

    /// Returns the turn id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.turn_id
    }

    /// Returns the next event, or `None` once the turn has ended.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, no event is lost.
    pub async fn next(&mut self) -> Option<Event> {
        self.stream.next().await
    }

    /// Returns the handle for answering at its gates.
    #[must_use]
    pub fn gates(&self) -> Gates {
        match (&self.gates, self.controls.get()) {
            (Some(gates), _) => gates.clone(),
            (None, Some(controls)) => Gates::new(controls.gates.clone()),
            (None, None) => Gates::elsewhere(),
        }
    }

    /// Cancels the turn. It still ends cleanly: await its outcome. Has no effect on a turn that has ended.
    ///
    /// # Errors
    /// Returns `E_TURN_HELD` while another process or another runner runs the turn, and this handle only follows it
    /// ([`TurnRunner::attach`](crate::TurnRunner::attach), [`TurnRunner::answer_gate`](crate::TurnRunner::answer_gate)). The turn continues.
    pub fn cancel(&self) -> Result<(), Error> {
        self.controls_to("cancel")?.cancellation.cancel();
        Ok(())
    }

    /// Returns what acts on the turn, if it does not run elsewhere.
    fn controls_to(&self, act: &str) -> Result<&Controls, Error> {
        self.controls.get().ok_or_else(|| {
            let id = escape(&self.turn_id, 80);
            let message = format!(
                "another process or another runner runs the turn `{id}`, and this handle only follows it: {act} it there"
            );
            Error::new(ErrorCode::TURN_HELD, message)
        })
    }

    /// Suspends the turn: its run ends as [`TurnStatus::Suspended`](crate::TurnStatus::Suspended) as soon as it can only wait.
    /// Work that is running finishes; calls and iterations that have not started do not start. Everything is stored, the lease is
    /// released, and open gates stay open in the store. [`TurnRunner::answer_gate`](crate::TurnRunner::answer_gate) answers there and
    /// continues, in any process.
    ///
    /// Approvals and gates of middleware do not keep the turn in memory, and an approver that is being asked is asked again
    /// later. A gate inside a handler does keep it, unless the tool is read-only: such a handler runs again. So does a turn that
    /// runs under a call and waits. [`Turn::activity`] is then [`NotSuspendable`](TurnActivity::NotSuspendable), and the turn is suspended once
    /// that wait is over.
    ///
    /// If the turn ends first, it is not suspended.
    ///
    /// # Errors
    /// Returns `E_TURN_NOT_SUSPENDABLE` if the turn has no conversation, or if it runs under a call. Suspend the outer turn
    /// instead. Returns `E_TURN_HELD` like [`Turn::cancel`].
    pub fn suspend(&self) -> Result<(), Error> {
        let gates = &self.controls_to("suspend")?.gates;
        if !gates.activity().is_enabled() && !gates.has_ended() {
            let message = "this turn cannot be suspended, because it is not stored or runs under a call: name a conversation with \
                           `TurnInput::conversation`, or suspend the outer turn";
            return Err(Error::new(ErrorCode::TURN_NOT_SUSPENDABLE, message));
        }
        gates.suspend();
        Ok(())
    }

    /// Returns what the turn is doing: whether it works or can only wait, and whether it can be suspended then.
    #[must_use]
    pub fn activity(&self) -> TurnActivity {
        let controls = self.controls.get();
        controls.map_or(TurnActivity::Elsewhere, |controls| controls.gates.status())
    }

    /// Cancels the turn when this is dropped before the turn has ended. Has no effect on a turn that [runs
    /// elsewhere](Turn::cancel).
    ///
    /// ```
    /// use turnwright_core::{DispatchContext, TurnRunner};
    ///
    /// # async fn serve(runner: TurnRunner) {
    /// // Ends with the reader: dropping the stream cancels the turn.
    /// let events = runner.start("Write a novel.").cancel_on_drop();
    /// # drop(events);
    /// # }
    /// ```
    pub fn cancel_on_drop(mut self) -> Self {
        self.cancel_on_drop = true;
        self
    }

    /// Waits for the end of the turn. Unread events are dropped.
    ///
    /// # Cancel safety
    /// Dropping the future does not cancel the turn, unless [`Turn::cancel_on_drop`] was called.
    pub async fn outcome(mut self) -> TurnOutcome {
        // From here on, this handle cannot be used to answer.
        self.gates = None;
        drop(self.stream.take());
        let ended = match &mut self.running {
            Some(running) => running.await,
            None => None,
        };
        self.running = None;
        ended.unwrap_or_else(|| {
            let message = "the runtime was shut down while the turn ran";
            TurnOutcome::not_started(
                Arc::clone(&self.turn_id),
                Arc::clone(&self.conversation),
                Error::new(ErrorCode::TURN_ABORTED, message),
            )
        })
    }

    /// Splits off the stream, so that one task can read while another decides.
    pub fn split(mut self) -> (Self, TurnStream) {
        let stream = self.stream.take();
        (self, stream)
    }
}

impl Stream for Turn {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        Pin::new(&mut self.stream).poll_next(cx)
    }
}

impl IntoFuture for Turn {
    type Output = TurnOutcome;
    type IntoFuture = Pin<Box<dyn Future<Output = TurnOutcome> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.outcome())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let (Some(_), Some(controls)) = (&self.running, self.controls.get()) else {
            return;
        };
        if self.cancel_on_drop {
            controls.cancellation.cancel();
        } else {
            // The turn runs on. The answer may come through the store, or from a reader that attaches.
            controls.gates.detach();
        }
    }
}

debug_fields!(Turn { turn_id });
