//! A call that may run.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use serde_json::Value;
use tokio::time::Instant;

use super::approval::{Approval, ApprovalPolicy, ApprovalRequest, PendingCall, Review};
use super::checked::{Checked, CheckedCall};
use super::ledger::BegunCall;
use super::proposed::RefusedCall;
use super::run::{Cut, drop_quietly, within};
use crate::error::{Error, ErrorCode};
use crate::tool::{self, BoundHandler, Effects, Tool};

/// Times that policies and people may change the arguments of one call.
const MOST_CHANGES: usize = 3;

/// A call that may run, with exactly the arguments that were checked and allowed.
#[derive(Debug)]
#[must_use = "an admitted call does nothing until it is run"]
pub struct AdmittedCall {
    pub(super) checked: Box<Checked>,
    pub(super) bound: BoundHandler,
    /// The ledger knows of it.
    pub(super) begun: bool,
}

/// What the policies of a call said together.
enum Decision {
    Allow,
    Ask(String),
    Deny(String),
    Change(Value),
}

impl CheckedCall {
    /// Asks the policies of the dispatch and of the tool, and a person where they say so. What is changed on the way is
    /// checked again in full, and looked at again.
    ///
    /// # Errors
    /// Nobody allowed it, or what was put in the place of its arguments does not pass.
    pub async fn admit(self) -> Result<AdmittedCall, RefusedCall> {
        let Checked { call, tool, .. } = &*self.checked;
        if call.ctx.policy().is_none() && tool.approval().is_none() {
            return Ok(self.admitted());
        }
        // Apart, so that a call which nobody looks at does not carry the room for it.
        Box::pin(self.review()).await
    }

    async fn review(self) -> Result<AdmittedCall, RefusedCall> {
        let mut checked = self;
        // The digest of arguments that a person has seen, or written: for these they are not asked again.
        let mut granted: Option<String> = None;
        for _ in 0..=MOST_CHANGES {
            let change = match decide(&checked.pending()).await {
                Decision::Allow => {
                    return Ok(checked.admitted());
                }
                Decision::Deny(reason) => return Err(checked.deny(&reason, None)),
                Decision::Change(args) => args,
                Decision::Ask(_)
                    if granted.as_deref() == Some(&*tool::digest_of(checked.args())) =>
                {
                    return Ok(checked.admitted());
                }
                Decision::Ask(reason) => match ask(&checked.pending(), reason).await {
                    Approval::Granted => {
                        return Ok(checked.admitted());
                    }
                    Approval::Refused { reason } => {
                        let told =
                            format!("The call was not approved; nothing was run. Reason: {reason}");
                        return Err(checked.deny(&reason, Some(told)));
                    }
                    Approval::Edited(args) => {
                        checked = checked.recheck(args).await?;
                        granted = Some(tool::digest_of(checked.args()));
                        continue;
                    }
                },
            };
            checked = checked.recheck(change).await?;
        }
        Err(checked.deny("its arguments were changed more than three times", None))
    }

    fn admitted(self) -> AdmittedCall {
        AdmittedCall {
            checked: self.checked,
            bound: self.bound,
            begun: false,
        }
    }

    /// What others may see of it. The handler, which waits with its arguments, is not among that.
    fn pending(&self) -> PendingCall<'_> {
        PendingCall {
            id: self.id(),
            call_id: self.call_id(),
            tool: self.tool(),
            args: self.args(),
            ctx: &self.checked.call.ctx,
        }
    }

    fn deny(self, reason: &str, for_model: Option<String>) -> RefusedCall {
        if self.checked.call.ctx.cancellation().is_cancelled() {
            let error = Cut::Cancelled.error(self.tool(), false);
            return self.refuse(error);
        }
        let error = Error::new(
            ErrorCode::ToolDenied,
            format!("`{}` was not allowed: {reason}", self.tool().name()),
        );
        let error = match for_model {
            Some(text) => error.with_model_text(text),
            None => error,
        };
        self.refuse(error)
    }
}

/// Asks every policy: the first that denies or rewrites decides, and one that asks is enough for asking.
async fn decide(call: &PendingCall<'_>) -> Decision {
    let mut ask = None;
    for policy in call.ctx.policy().into_iter().chain(call.tool.approval()) {
        match review(call, policy).await {
            Review::Allow => {}
            Review::Ask { reason } => ask = Some(ask.unwrap_or(reason)),
            Review::Deny { reason } => return Decision::Deny(reason),
            Review::Rewrite(args) if args == *call.args => {}
            Review::Rewrite(args) => return Decision::Change(args),
        }
    }
    ask.map_or(Decision::Allow, Decision::Ask)
}

async fn review(call: &PendingCall<'_>, policy: &Arc<dyn ApprovalPolicy>) -> Review {
    let reviewed = AssertUnwindSafe(async { policy.review(call).await }).catch_unwind();
    match within(Instant::now(), None, call.ctx.cancellation(), reviewed).await {
        Ok(Ok(review)) => review,
        Ok(Err(panic)) => {
            drop_quietly(panic);
            Review::deny("its policy panicked")
        }
        Err(_) => Review::deny("the dispatch was cancelled"),
    }
}

async fn ask(call: &PendingCall<'_>, reason: String) -> Approval {
    let refused = |reason: &str| Approval::Refused {
        reason: reason.to_owned(),
    };
    let Some(approver) = call.ctx.approver() else {
        return refused("nobody can be asked");
    };
    let request = ApprovalRequest {
        id: call.id.to_owned(),
        tool: call.tool.name().to_owned(),
        fingerprint: call.tool.fingerprint().to_owned(),
        args_digest: tool::digest_of(call.args),
        args: call.args.clone(),
        reason,
    };
    let asked = AssertUnwindSafe(async { approver.ask(request).await }).catch_unwind();
    match within(Instant::now(), None, call.ctx.cancellation(), asked).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(panic)) => {
            drop_quietly(panic);
            refused("no answer could be had")
        }
        Err(_) => refused("the turn was cancelled"),
    }
}

impl AdmittedCall {
    /// Which call it is.
    #[must_use]
    pub fn id(&self) -> &str {
        self.checked.call.id.as_str()
    }

    /// What was asked for: equal for equal calls.
    #[must_use]
    pub fn call_id(&self) -> &str {
        self.checked.call_id.as_str()
    }

    /// The tool.
    #[must_use]
    pub fn tool(&self) -> &Tool {
        &self.checked.tool
    }

    /// The arguments that it runs with.
    #[must_use]
    pub fn args(&self) -> &Value {
        self.checked.args.value()
    }

    /// Whether it may change the world, and so must stand in the ledger before it runs.
    pub(super) fn is_noted(&self) -> bool {
        self.tool().effects() != Effects::ReadOnly
    }

    /// Tells the ledger of several calls of one dispatch at once, before they run: one batch for calls that start together. A call that
    /// was not begun here tells it by itself when it runs.
    ///
    /// # Errors
    /// `E_LEDGER_ERROR`: none of them is noted, and none may run unless it is noted later.
    pub async fn begin_together(calls: &mut [AdmittedCall]) -> Result<(), Error> {
        let Some(ledger) = calls
            .first()
            .and_then(|call| call.checked.call.ctx.ledger())
            .cloned()
        else {
            return Ok(());
        };
        let begun: Vec<BegunCall> = calls
            .iter()
            .filter(|call| call.is_noted())
            .map(BegunCall::of)
            .collect();
        if !begun.is_empty() {
            ledger.begun(&begun).await.map_err(|error| {
                Error::new(
                    ErrorCode::Ledger,
                    "the ledger did not take the calls that were to start",
                )
                .with_source(error)
            })?;
        }
        for call in calls {
            call.begun = true;
        }
        Ok(())
    }
}
