//! A turn to its end: what it says, who is asked, and what calls it off.

use std::sync::Arc;
use std::time::Duration;

use turnwright::gate::OpenGate;
use turnwright::prelude::*;
use turnwright::{Turn, TurnEvent};

use crate::exit::Exit;
use crate::terminal::{ApprovalPrompt, Screen, Signal, Signals};

/// How long a turn has to end once the program is to.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Whoever shows a turn.
pub(crate) trait Viewer {
    /// Where it is shown.
    fn screen(&mut self) -> &mut Screen;

    /// Something was said or done. After the turn was called off nothing more is said, but what was done is done.
    async fn event(&mut self, event: TurnEvent, called_off: bool) -> anyhow::Result<()>;

    /// A person is asked next: the event says what, and the gate is its.
    fn before_question(&mut self, _event: &TurnEvent, _gate: &Arc<OpenGate>) -> anyhow::Result<()> {
        Ok(())
    }

    /// Somebody has answered, and the turn goes on.
    fn after_question(&mut self) {}

    /// The turn is being called off.
    fn called_off(&mut self) -> anyhow::Result<()> {
        Ok(())
    }
}

/// What came of a turn that was shown.
pub(crate) struct Shown {
    pub(crate) outcome: TurnOutcome,
    /// Whether somebody called it off.
    pub(crate) interrupted: bool,
    /// Whether that was because the program is to end.
    pub(crate) terminated: bool,
}

impl Shown {
    /// How a command ends that consists of this turn.
    pub(crate) fn exit(&self) -> Exit {
        let has_text = !self.outcome.text.trim().is_empty();
        match self.interrupted && !self.terminated {
            true => Exit::Interrupted,
            false if self.outcome.is_answered() && has_text => Exit::Done,
            false => Exit::No,
        }
    }
}

/// Shows a turn to its end, and answers at its gates. Ctrl-C calls it off; a second one ends the program.
pub(crate) async fn follow(
    turn: Turn,
    approval_prompt: &ApprovalPrompt,
    viewer: &mut impl Viewer,
) -> anyhow::Result<Shown> {
    // One listener for all of the turn: Ctrl-C counts also while something is being shown.
    let mut signals = Signals::listen()?;
    let (mut interrupted, mut terminated) = (false, false);
    // A program that fails to show the turn does not leave it behind.
    let mut turn = turn.cancel_on_drop();
    loop {
        let signal = tokio::select! {
            event = turn.next() => match event {
                None => break,
                Some(
                    ref event @ TurnEvent {
                        kind: TurnEventKind::GateOpened(ref gate),
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
                    // What was told while somebody was asked is dealt with.
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
                    // Asked twice: whoever does that does not want to wait.
                    viewer.screen().rest();
                    std::process::exit(130);
                }
                Some(signal)
            }
        };
        if signal == Some(Signal::Terminate) {
            // What cannot be called off is not waited for.
            tokio::spawn(async {
                tokio::time::sleep(SHUTDOWN_TIMEOUT).await;
                std::process::exit(143);
            });
        }
        if let Some(signal) = signal {
            (interrupted, terminated) = (true, terminated || signal == Signal::Terminate);
            turn.cancel();
            viewer.called_off()?;
            let doing = "calling it off; Ctrl-C again ends the program";
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
