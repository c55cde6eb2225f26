//! Answers that are proposed, and accepted or rejected by middleware.

use std::sync::Arc;

use super::DispatchContext;
use crate::error::{Error, ErrorCode};
use crate::record::Message;

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

/// The decision of a layer.
#[derive(Clone)]
pub(crate) enum Decision {
    Accepted,
    Rejected { reason: String },
}

/// The proposal of an iteration.
#[derive(Clone)]
pub(crate) struct Proposal {
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
        self.decide(Decision::Accepted)
    }

    /// Rejects the answer. The model reads the reason and answers again.
    ///
    /// # Errors
    /// Returns `E_LLM_EXECUTION_ALREADY_SIGNALLED` if the answer was already decided on.
    pub fn reject(self, reason: impl Into<String>) -> Result<(), Error> {
        let reason = reason.into();
        self.decide(Decision::Rejected { reason })
    }

    fn decide(self, decision: Decision) -> Result<(), Error> {
        let decided = self.ctx.signals().with_proposal(|proposal| {
            let is_open = proposal.attempt == self.attempt && proposal.decision.is_none();
            if is_open {
                proposal.decision = Some(decision);
            }
            is_open
        });
        match decided {
            Some(true) => Ok(()),
            _ => {
                let message =
                    "the proposed answer was already decided on: the first decision counts";
                Err(Error::new(
                    ErrorCode::LLM_EXECUTION_ALREADY_SIGNALLED,
                    message,
                ))
            }
        }
    }
}

impl DispatchContext {
    /// Returns the answer that the executor proposed in this iteration, unless it was already decided on. For dispatch output
    /// middleware of a runner with [`auto_ack(false)`](crate::runner::TurnRunnerBuilder::auto_ack).
    #[must_use]
    pub fn proposed_answer(&self) -> Option<ProposedAnswer> {
        let proposal = self.signals().with_proposal(|proposal| proposal.clone())?;
        proposal.decision.is_none().then(|| ProposedAnswer {
            ctx: self.clone(),
            attempt: proposal.attempt,
            message: proposal.message,
        })
    }

    /// Returns whether a layer has decided on the proposed answer.
    pub(crate) fn is_decided(&self) -> bool {
        let decided = self
            .signals()
            .with_proposal(|proposal| proposal.decision.is_some());
        decided == Some(true)
    }

    /// Makes an answer available to the layers.
    pub(crate) fn propose_answer(&self, message: Option<Arc<Message>>) {
        self.signals().set_proposal(|attempt| Proposal {
            attempt,
            message,
            decision: None,
        });
    }

    /// Withdraws the proposal and returns the decision.
    pub(crate) fn take_decision(&self) -> Option<Decision> {
        self.signals().take_proposal()?.decision
    }
}
