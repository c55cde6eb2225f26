//! How a dispatch ends: acknowledged or nacked, once. Middleware may decide on the answer first.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::DispatchContext;
use crate::error::{BoxError, Error, ErrorCode};
use crate::record::Message;

/// How a dispatch was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Signal {
    /// Acknowledged: the work is done.
    Ack,
    /// Nacked: see [`DispatchContext::nack`]. The error is in the outcome.
    Nack,
}

impl Signal {
    /// Returns the name used in events.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Signal::Ack => "ack",
            Signal::Nack => "nack",
        }
    }
}

type OnAck = Box<dyn FnOnce() + Send>;

#[derive(Default)]
pub(crate) struct Signals(Mutex<State>);

#[derive(Default)]
struct State {
    signal: Option<Signal>,
    error: Option<Error>,
    /// Whether the executor is running, and its acknowledgement only proposes an answer.
    proposing: bool,
    proposal: Option<Proposal>,
    /// How many answers were proposed.
    proposals: u32,
    next: u64,
    on_ack: Vec<(u64, OnAck)>,
}

impl DispatchContext {
    /// Acknowledges the dispatch. Work registered with [`DispatchContext::on_ack`] has run when this returns.
    ///
    /// # Errors
    /// Returns `E_LLM_EXECUTION_ALREADY_SIGNALLED` if the dispatch has already ended: the first signal counts.
    pub fn ack(&self) -> Result<(), Error> {
        let waiting = self.signals().give(Signal::Ack, None)?;
        for (_, run) in waiting {
            run();
        }
        Ok(())
    }

    /// Ends the dispatch as nacked. The error is for the caller of the turn; the model does not read it. An error that is not an
    /// [`Error`] becomes the source of `E_LLM_EXECUTION_NACKED`.
    ///
    /// # Errors
    /// Returns `E_LLM_EXECUTION_ALREADY_SIGNALLED` if the dispatch has already ended: the first signal counts.
    pub fn nack(&self, error: impl Into<BoxError>) -> Result<(), Error> {
        let error = match error.into().downcast::<Error>() {
            Ok(ours) => *ours,
            Err(other) => {
                Error::new(ErrorCode::LLM_EXECUTION_NACKED, other.to_string()).with_source(other)
            }
        };
        self.signals().give(Signal::Nack, Some(error)).map(drop)
    }

    /// Returns how the dispatch was ended, if it was.
    #[must_use]
    pub fn signal(&self) -> Option<Signal> {
        self.signals().0.lock().signal
    }

    /// Returns the error of the nack, if there was one.
    pub(crate) fn nack_error(&self) -> Option<Error> {
        self.signals().0.lock().error.clone()
    }

    /// Returns the error of a nacked dispatch.
    pub(crate) fn nacked(&self) -> Error {
        let error = self.nack_error();
        error.unwrap_or_else(|| {
            Error::new(
                ErrorCode::LLM_EXECUTION_NACKED,
                "the executor nacked the dispatch",
            )
        })
    }

    /// Runs `work` inside [`DispatchContext::ack`], before that returns. It does not run on a nack.
    ///
    /// The work stays registered as long as the dispatch exists. The returned [`AckHook`] is only needed to remove it.
    pub fn on_ack(&self, work: impl FnOnce() + Send + 'static) -> AckHook {
        let mut state = self.signals().0.lock();
        let key = state.next;
        state.next += 1;
        // After the signal there is no ack to wait for, and the work may hold this dispatch. If the executor only proposed its
        // answer, another ack may follow.
        if state.signal.is_none() || state.proposing {
            state.on_ack.push((key, Box::new(work)));
        }
        drop(state);
        AckHook {
            signals: Arc::downgrade(self.signals()),
            key,
        }
    }

    /// Drops work that waits for an acknowledgement: there will be none.
    pub(crate) fn forget_on_ack(&self) {
        let waiting = std::mem::take(&mut self.signals().0.lock().on_ack);
        // Dropped after the lock is released, because the work may own values that use this dispatch.
        drop(waiting);
    }
}

impl Signals {
    /// From now on, an acknowledgement only proposes an answer.
    pub(crate) fn begin_proposing(&self) {
        self.0.lock().proposing = true;
    }

    /// Withdraws the acknowledgement of the executor. Returns whether there was one.
    pub(crate) fn end_proposing(&self) -> bool {
        let mut state = self.0.lock();
        let acked = state.signal == Some(Signal::Ack);
        if !std::mem::take(&mut state.proposing) || !acked {
            return false;
        }
        state.signal = None;
        true
    }

    fn give(&self, signal: Signal, error: Option<Error>) -> Result<Vec<(u64, OnAck)>, Error> {
        let mut state = self.0.lock();
        if let Some(first) = state.signal {
            return Err(already(&format!(
                "the dispatch was already ended with {first:?}"
            )));
        }
        state.signal = Some(signal);
        state.error = error;
        if state.proposing && signal == Signal::Ack {
            // The work waits until the answer is accepted.
            return Ok(Vec::new());
        }
        // Run by the caller, or dropped on a nack, outside of the lock.
        Ok(std::mem::take(&mut state.on_ack))
    }
}

/// Work that waits for the ack of a dispatch. Dropping this has no effect; [`remove`](Self::remove) removes the work.
#[derive(Debug)]
pub struct AckHook {
    signals: Weak<Signals>,
    key: u64,
}

impl AckHook {
    /// Removes the work: it is dropped and does not run. Does nothing if the dispatch has ended.
    pub fn remove(self) {
        let Some(signals) = self.signals.upgrade() else {
            return;
        };
        let mut state = signals.0.lock();
        let found = state.on_ack.iter().position(|(key, _)| *key == self.key);
        let removed = found.map(|at| state.on_ack.remove(at));
        drop(state);
        // Dropped after the lock is released, because the work may own values that use this dispatch.
        drop(removed);
    }
}

fn already(message: &str) -> Error {
    Error::new(ErrorCode::LLM_EXECUTION_ALREADY_SIGNALLED, message)
}

/// An answer that the executor proposed: see [`TurnRunnerBuilder::auto_ack`](crate::runner::TurnRunnerBuilder::auto_ack).
///
/// The first decision counts. Once an answer was decided on, inner layers do not run. So a layer that can only reject should
/// leave other answers undecided and call `next.run()`.
#[derive(Debug)]
#[must_use = "an answer that no layer rejects is accepted"]
pub struct ProposedAnswer {
    ctx: DispatchContext,
    attempt: u32,
    message: Option<Arc<Message>>,
}

/// The decision of a layer. An error has the reason of a rejection.
pub(crate) type Decision = Result<(), String>;

/// The proposal of an iteration.
struct Proposal {
    /// Starts at 1 and counts all answers of the dispatch.
    attempt: u32,
    message: Option<Arc<Message>>,
    decision: Option<Decision>,
}

impl ProposedAnswer {
    /// Returns the text of the answer. Empty if the executor ended the dispatch without a message.
    #[must_use]
    pub fn text(&self) -> &str {
        self.message.as_ref().map_or("", |message| message.text())
    }

    /// Returns the message, if there is one.
    #[must_use]
    pub fn message(&self) -> Option<&Arc<Message>> {
        self.message.as_ref()
    }

    /// Returns the number of the answer in the turn, starting at 1. A resumed turn starts at 1 again.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Accepts the answer. The dispatch ends when the pipeline returns.
    ///
    /// # Errors
    /// Returns `E_LLM_EXECUTION_ALREADY_SIGNALLED` if the answer was already decided on.
    pub fn accept(self) -> Result<(), Error> {
        self.decide(Ok(()))
    }

    /// Rejects the answer. The model reads the reason and answers again.
    ///
    /// # Errors
    /// Returns `E_LLM_EXECUTION_ALREADY_SIGNALLED` if the answer was already decided on.
    pub fn reject(self, reason: impl Into<String>) -> Result<(), Error> {
        self.decide(Err(reason.into()))
    }

    fn decide(self, decision: Decision) -> Result<(), Error> {
        match &mut self.ctx.signals().0.lock().proposal {
            Some(open) if open.attempt == self.attempt && open.decision.is_none() => {
                open.decision = Some(decision);
                Ok(())
            }
            _ => Err(already(
                "the proposed answer was already decided on: the first decision counts",
            )),
        }
    }
}

impl DispatchContext {
    /// Returns the answer that the executor proposed in this iteration, unless it was already decided on. For dispatch output
    /// middleware of a runner with [`auto_ack(false)`](crate::runner::TurnRunnerBuilder::auto_ack).
    #[must_use]
    pub fn proposed_answer(&self) -> Option<ProposedAnswer> {
        let state = self.signals().0.lock();
        let open = state.proposal.as_ref();
        let open = open.filter(|proposal| proposal.decision.is_none())?;
        Some(ProposedAnswer {
            ctx: self.clone(),
            attempt: open.attempt,
            message: open.message.clone(),
        })
    }

    /// Returns whether a layer has decided on the proposed answer.
    pub(crate) fn is_decided(&self) -> bool {
        let state = self.signals().0.lock();
        let proposal = state.proposal.as_ref();
        proposal.is_some_and(|proposal| proposal.decision.is_some())
    }

    /// Makes an answer available to the layers.
    pub(crate) fn propose_answer(&self, message: Option<Arc<Message>>) {
        let mut state = self.signals().0.lock();
        state.proposals = state.proposals.saturating_add(1);
        state.proposal = Some(Proposal {
            attempt: state.proposals,
            message,
            decision: None,
        });
    }

    /// Withdraws the proposal and returns the decision.
    pub(crate) fn take_decision(&self) -> Option<Decision> {
        self.signals().0.lock().proposal.take()?.decision
    }
}
