//! Decides on the answer of a turn: by its type, then by dispatch output middleware.
//!
//! In a turn with a typed answer, and in every turn of a runner with `auto_ack(false)`, an executor's acknowledgement
//! is held back. One batch stores the reason of a rejection and takes the mark off the answer; the next iteration asks
//! the model again. Executors need no support for it. The final answer is marked in the batch that stores it, so a turn
//! whose process died after its answer does not ask the model again.

use std::sync::Arc;

use super::run_loop::{EndedBy, Retries, TurnLoop, run_pipeline, until_cancelled};
use crate::error::{Error, ErrorCode};
use crate::event::EventKind;
use crate::record::{Message, Record};
use crate::schema::escape;
use crate::tool::context::{DispatchContext, Signal};

/// Maximum length of a reason in the error of a turn.
const MAX_REASON: usize = 500;

/// The text for the model about a rejected answer, and the error of the turn if there is no retry left.
type Rejection = (String, Error);

impl TurnLoop<'_> {
    /// Accepts the answer of this iteration, or rejects it and lets the model try again.
    pub(super) async fn decide(
        &self,
        ctx: &DispatchContext,
        retries: &mut Retries,
    ) -> Result<(), EndedBy> {
        let answer = self.turn.last_answer();
        if let Some(rejection) = self.mismatch(&answer).await? {
            return self.reject(&answer, rejection, &mut retries.invalid).await;
        }
        if self.turn.setup().auto_ack {
            return self.accept(ctx).await;
        }
        ctx.propose_answer(answer.clone());
        let passed = run_pipeline(&self.plan.dispatch_output, ctx).await;
        let decision = ctx.take_decision();
        passed?;
        match (ctx.signal(), decision) {
            (Some(Signal::Nack), _) => {
                // The record of the turn is written when it ends.
                self.turn.note_rejected(id_of(&answer).as_ref());
                Ok(())
            }
            (None, Some(Err(reason))) => {
                let rejection = rejected_by_layer(&reason);
                self.reject(&answer, rejection, &mut retries.rejected).await
            }
            _ => self.accept(ctx).await,
        }
    }

    /// Checks the answer against the requested type.
    async fn mismatch(&self, answer: &Option<Arc<Message>>) -> Result<Option<Rejection>, EndedBy> {
        let Some(format) = self.turn.answer_format() else {
            return Ok(None);
        };
        let text = answer.as_ref().map_or("", |answer| answer.text());
        let checked = until_cancelled(self.turn, format.check(text)).await?;
        Ok(checked.err().map(|error| {
            let wrong = error.model_text();
            let text = format!("{wrong}\nFix this and answer again with only the JSON object.");
            (text, error)
        }))
    }

    async fn accept(&self, ctx: &DispatchContext) -> Result<(), EndedBy> {
        if let Some(record) = self.turn.accept_answer() {
            Box::pin(self.turn.write(vec![record])).await?;
        }
        // A layer, or a task of the executor, may have ended it meanwhile. The first signal counts.
        let _ = ctx.ack();
        Ok(())
    }

    /// Stores why an answer was rejected. Fails the turn if there is no retry left.
    async fn reject(
        &self,
        answer: &Option<Arc<Message>>,
        (text, error): Rejection,
        left: &mut u32,
    ) -> Result<(), EndedBy> {
        let id = id_of(answer);
        let message = Message::framework(text.as_str()).build()?;
        let mut records = vec![Record::from(message)];
        // In one batch, so that a resumed turn does not accept the rejected answer.
        records.extend(self.turn.with_rejected(id.as_ref()));
        Box::pin(self.turn.write(records)).await?;
        self.turn.note_rejected(id.as_ref());
        self.turn.emit(|| EventKind::AnswerRejected {
            id,
            reason: text,
            retries_left: *left,
        });
        match left.checked_sub(1) {
            Some(fewer) => {
                *left = fewer;
                Ok(())
            }
            None => Err(error.into()),
        }
    }
}

fn rejected_by_layer(reason: &str) -> Rejection {
    let shown = escape(reason, MAX_REASON);
    let message =
        format!("the answer was rejected and no retry is left: {shown} (see `answer_retries`)");
    let text = format!("Your answer was rejected: {reason}\nAnswer again.");
    (text, Error::new(ErrorCode::ANSWER_REJECTED, message))
}

fn id_of(answer: &Option<Arc<Message>>) -> Option<Arc<str>> {
    answer.as_ref().map(|answer| answer.id().into())
}
