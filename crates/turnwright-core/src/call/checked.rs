//! Calls whose arguments are valid.

use serde_json::Value;

use super::proposed::RefusedCall;
use super::run::describe;
use crate::checksum;
use crate::deadline::{Cut, TimeLimit, within};
use crate::error::Error;
use crate::record::CallRequest;
#[cfg(test)]
use crate::schema::Repair;
use crate::schema::{Opened, RawArgs};
use crate::tool::context::{Call, Checked, DispatchContext};
use crate::tool::{BoundHandler, Tool};

/// A call whose arguments satisfy the tool's schema, its type and its external checks.
#[derive(Debug)]
#[must_use = "a checked call does nothing until it is admitted"]
pub(crate) struct CheckedCall {
    /// Boxed, so that the later stages move only a pointer.
    pub(super) checked: Box<Checked>,
    pub(super) bound: BoundHandler,
}

impl CheckedCall {
    /// Computes the checksum of the raw arguments first, because a refused call has one too. Does not run external checks.
    pub(super) fn check(call: Call, tool: Tool) -> Result<Self, RefusedCall> {
        let nothing = call.empty_args_as_object && call.raw.is_nothing();
        let opened = match nothing {
            true => Ok(Opened::nothing()),
            false => tool.schema().open(&call.raw),
        };
        let checksum = match &opened {
            Ok(_) if nothing => checksum::of_raw(tool.name(), &call.raw),
            Ok(opened) => checksum::of_value(tool.name(), &opened.value),
            Err(_) => checksum::of_unread(tool.name(), &call.raw),
        };
        let checked = opened.and_then(|opened| {
            let mut args = tool.schema().judge(call.raw.clone(), opened)?;
            if nothing {
                args = args.repaired_from_nothing();
            }
            let bound = tool.bind(args.value())?;
            Ok((args, bound))
        });
        match checked {
            Ok((args, bound)) => Ok(CheckedCall {
                checked: Box::new(Checked {
                    call,
                    tool,
                    checksum,
                    args,
                    edited: false,
                }),
                bound,
            }),
            Err(faults) => Err(RefusedCall::new(call, checksum, tool.refusal(faults))),
        }
    }

    /// Replaces the arguments and checks the new ones completely. The checksum stays the same, because it identifies the proposed
    /// call.
    pub(super) async fn recheck(mut self, args: RawArgs) -> Result<Self, RefusedCall> {
        let checked = &mut *self.checked;
        match checked.tool.check_and_bind(args) {
            Ok((args, bound)) => {
                (checked.args, checked.edited, self.bound) = (args, true, bound);
                self.ask_external().await
            }
            Err(faults) => {
                let error = checked.tool.refusal(faults);
                Err(self.refuse(error))
            }
        }
    }

    /// Runs the external checks, if there are any.
    pub(super) async fn ask_external(self) -> Result<Self, RefusedCall> {
        if !self.tool().has_checks() {
            return Ok(self);
        }
        // Boxed, so that the future of a call without them stays small.
        match Box::pin(ask_external(&self.checked)).await {
            Ok(()) => Ok(self),
            Err(error) => Err(self.refuse(error)),
        }
    }

    pub(super) fn refuse(self, error: Error) -> RefusedCall {
        RefusedCall::new(self.checked.call, self.checked.checksum, error)
    }

    pub(super) fn context(&self) -> &DispatchContext {
        &self.checked.call.ctx
    }

    pub(super) fn request(&self) -> &CallRequest {
        &self.checked.call.request
    }

    /// Returns the call id.
    #[must_use]
    pub(crate) fn id(&self) -> &str {
        self.checked.call.id.as_str()
    }

    /// Returns the checksum. Equal calls have equal checksums.
    #[must_use]
    pub(crate) fn checksum(&self) -> &str {
        self.checked.checksum.as_str()
    }

    /// Returns the tool.
    #[must_use]
    pub(crate) fn tool(&self) -> &Tool {
        &self.checked.tool
    }

    /// Returns the checked arguments.
    #[must_use]
    pub(crate) fn args(&self) -> &Value {
        self.checked.args.value()
    }

    /// Returns the repairs that were made to the arguments.
    #[must_use]
    #[cfg(test)]
    pub(crate) fn repairs(&self) -> &[Repair] {
        self.checked.args.repairs()
    }
}

/// Runs the external checks within the timeout of the tool, until cancelled.
async fn ask_external(checked: &Checked) -> Result<(), Error> {
    let (tool, ctx) = (&checked.tool, &checked.call.ctx);
    let asked = within(
        TimeLimit::from_now(tool.timeout()),
        ctx.cancellation(),
        tool.schema_in(ctx).ask_external(checked.args.value()),
    )
    .await;
    match asked {
        Ok(answer) => answer.map_err(|faults| tool.refusal(faults)),
        Err(cut) => {
            let for_model = match cut {
                Cut::Cancelled => "The call was cancelled. The tool was not run.",
                _ => {
                    "The arguments could not be checked in time. The tool was not run. Try again later."
                }
            };
            let ((code, why, _), name) = (describe(cut), tool.name());
            let message = format!("the external checks of `{name}` did not complete: {why}");
            Err(Error::new(code, message).with_model_text(for_model))
        }
    }
}
