//! Follows a turn to its end: events, gates and signals.

use std::sync::Arc;
use std::time::Duration;

use turnwright::gate::OpenGate;
use turnwright::prelude::*;
use turnwright::{Event, Turn};

use crate::exit::Exit;
use crate::terminal::{ApprovalPrompt, Screen, Signal, Signals};

/// The time that a turn has to end once the program was asked to terminate.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Shows a turn.
pub(crate) trait Viewer {
    /// The screen.
    fn screen(&mut self) -> &mut Screen;

    /// An event of the turn. After a cancellation only results of calls are shown.
    async fn event(&mut self, event: Event, cancelled: bool) -> anyhow::Result<()>;

    /// A gate was opened, and the user is asked next.
    fn before_question(&mut self, _event: &Event, _gate: &Arc<OpenGate>) -> anyhow::Result<()> {
        Ok(())
    }

    /// The gate was answered, and the turn continues.
    fn after_question(&mut self) {}

    /// The turn is being cancelled.
    fn cancelled(&mut self) -> anyhow::Result<()> {
        Ok(())
    }
}

/// The outcome of a turn that was shown.
pub(crate) struct Shown {
    pub(crate) outcome: TurnOutcome,
    /// Whether the user cancelled it.
    pub(crate) interrupted: bool,
    /// Whether it was cancelled because the program was asked to terminate.
    pub(crate) terminated: bool,
}

impl Shown {
    /// The exit code of a command that consists of this turn.
    pub(crate) fn exit(&self) -> Exit {
        let has_text = !self.outcome.text.trim().is_empty();
        if self.interrupted && !self.terminated {
            Exit::Interrupted
        } else if self.outcome.is_answered() && has_text {
            Exit::Done
        } else {
            Exit::No
        }
    }
}

/// Shows a turn to its end, and answers at its gates. Ctrl-C cancels it; a second Ctrl-C exits.
pub(crate) async fn follow(
    turn: Turn,
    approval_prompt: &ApprovalPrompt,
    viewer: &mut impl Viewer,
) -> anyhow::Result<Shown> {
    // One listener for the whole turn: no Ctrl-C is missed while something is being shown.
    let mut signals = Signals::listen()?;
    let (mut interrupted, mut terminated) = (false, false);
    // If showing the turn fails, the turn is cancelled.
    let mut turn = turn.cancel_on_drop();
    loop {
        let signal = tokio::select! {
            event = turn.next() => match event {
                None => break,
                Some(
                    ref event @ Event {
                        kind: EventKind::GateOpened(ref gate),
                        ..
                    },
                ) if !interrupted => {
                    viewer.before_question(event, gate)?;
                    let gates = turn.gates();
                    let signal = tokio::select! {
                        answered = approval_prompt.answer(viewer.screen(), gate, &gates) => {
                            (!answered?).then_some(Signal::Interrupt)
                        }
                        () = signals.terminated() => Some(Signal::Terminate),
                    };
                    // Signals that arrived during the question were handled there.
                    signals = Signals::listen()?;
                    if signal.is_none() {
                        viewer.after_question();
                    }
                    signal
                }
                Some(event) => {
                    viewer.event(event, interrupted).await?;
                    None
                }
            },
            signal = signals.next() => {
                if signal == Signal::Interrupt && interrupted {
                    // The second Ctrl-C: do not wait.
                    viewer.screen().rest();
                    std::process::exit(130);
                }
                Some(signal)
            }
        };
        if signal == Some(Signal::Terminate) {
            // Do not wait for a call that cannot be cancelled.
            tokio::spawn(async {
                tokio::time::sleep(SHUTDOWN_TIMEOUT).await;
                std::process::exit(143);
            });
        }
        if let Some(signal) = signal {
            (interrupted, terminated) = (true, terminated || signal == Signal::Terminate);
            turn.cancel()?;
            viewer.cancelled()?;
            let doing = "cancelling; press Ctrl-C again to exit";
            viewer.screen().busy(doing);
        }
    }
    let outcome = turn.outcome().await;
    Ok(Shown {
        outcome,
        interrupted,
        terminated,
    })
}
