//! Plays a step.

use turnwright_core::{BoxError, DispatchContext};

use super::step::{Act, ScriptedCall, Step};

impl Step {
    pub(super) async fn play(self, ctx: &DispatchContext) -> Result<(), BoxError> {
        let mut acts = self.acts.into_iter().peekable();
        while let Some(act) = acts.next() {
            let last = self.ends && acts.peek().is_none();
            act.play(ctx, last).await?;
        }
        // The dispatch may already have ended: the first signal wins.
        if self.ends && ctx.signal().is_none() && !ctx.cancellation().is_cancelled() {
            ctx.ack()?;
        }
        Ok(())
    }
}

impl Act {
    /// Plays an act. The last text of a step that ends its dispatch is the answer.
    async fn play(self, ctx: &DispatchContext, last: bool) -> Result<(), BoxError> {
        match self {
            Act::Say(pieces) => {
                let mut message = ctx.reporter().message();
                for piece in pieces {
                    message.push(piece).await;
                }
                if last {
                    message.finish_as_answer().await?
                } else {
                    message.finish().await?
                };
            }
            Act::Think(text) => {
                let mut thought = ctx.reporter().thought();
                thought.push(text).await;
                thought.finish().await?;
            }
            Act::Call(calls) => {
                let proposed = calls.into_iter().map(|call| call.propose(ctx));
                ctx.call_tools(proposed).await;
            }
            Act::Use(usage) => ctx.reporter().usage(usage),
            Act::Wait(time) => tokio::time::sleep(time).await,
            Act::Fail(error) => return Err(error),
            Act::Nack(error) => ctx.nack(error)?,
            Act::Run(work) => work(ctx.clone()).await?,
        }
        Ok(())
    }
}

impl ScriptedCall {
    fn propose(self, ctx: &DispatchContext) -> turnwright_core::call::Call {
        let proposed = ctx.propose(self.tool, self.args);
        match self.provider_id {
            Some(id) => proposed.with_provider_id(id),
            None => proposed,
        }
    }
}
