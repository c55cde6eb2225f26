//! Calls whose arguments are valid.

use serde_json::Value;

use super::proposed::{Refused, unknown_tool};
use super::run::describe;
use crate::checksum::{self, Hex};
use crate::deadline::{Cut, TimeLimit, within};
use crate::error::Error;
use crate::schema::{CheckedArgs, Opened, RawArgs};
use crate::tool::context::{Call, DispatchContext, Proposed};
use crate::tool::{BoundHandler, Tool};

/// The stage of a call whose arguments satisfy the tool's schema, its type and its external checks.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(super) tool: Tool,
    pub(super) checksum: Hex,
    pub(super) args: CheckedArgs,
    /// Whether a policy or an approver replaced the proposed arguments.
    pub(super) edited: bool,
    pub(super) bound: BoundHandler,
}

impl Call<Proposed> {
    /// Finds the tool, unless one is given, and checks the arguments without external checks. Computes the checksum of the raw
    /// arguments first, because a refused call has one too.
    pub(super) fn check_alone(self, tool: Option<Tool>) -> Result<Call<Checked>, Call<Refused>> {
        let Some(tool) = tool.or_else(|| self.ctx.tools().get(&self.request.name)) else {
            let error = unknown_tool(&self);
            let checksum = self.request.checksum();
            return Err(self.refuse_as(checksum, error, None));
        };
        let raw = &self.request.raw;
        let nothing = self.request.empty_args_as_object && raw.is_nothing();
        let opened = if nothing {
            Ok(Opened::nothing())
        } else {
            tool.schema().open(raw)
        };
        let checksum = match &opened {
            Ok(_) if nothing => checksum::of_raw(tool.name(), raw),
            Ok(opened) => checksum::of_value(tool.name(), &opened.value),
            Err(_) => checksum::of_unread(tool.name(), raw),
        };
        let checked = opened.and_then(|opened| {
            let mut args = tool.schema().judge(raw.clone(), opened)?;
            if nothing {
                args = args.repaired_from_nothing();
            }
            let bound = tool.bind(args.value())?;
            Ok((args, bound))
        });
        match checked {
            Ok((args, bound)) => Ok(self.enter(|Proposed| Checked {
                tool,
                checksum,
                args,
                edited: false,
                bound,
            })),
            Err(faults) => Err(self.refuse_as(checksum, tool.refusal(faults), None)),
        }
    }
}

impl Call<Checked> {
    /// Replaces the arguments and checks the new ones completely. The checksum stays the same, because it identifies the proposed
    /// call.
    pub(super) async fn recheck(mut self, args: RawArgs) -> Result<Self, Call<Refused>> {
        match self.stage.tool.check_and_bind(args) {
            Ok((args, bound)) => {
                let stage = &mut self.stage;
                (stage.args, stage.edited, stage.bound) = (args, true, bound);
                self.ask_external().await
            }
            Err(faults) => {
                let error = self.stage.tool.refusal(faults);
                Err(self.refuse(error))
            }
        }
    }

    /// Runs the external checks, if there are any.
    pub(super) async fn ask_external(self) -> Result<Self, Call<Refused>> {
        if !self.tool().has_checks() {
            return Ok(self);
        }
        // Boxed, so that the future of a call without them stays small.
        let asked = ask_external(&self.ctx, &self.stage.tool, &self.stage.args);
        match Box::pin(asked).await {
            Ok(()) => Ok(self),
            Err(error) => Err(self.refuse(error)),
        }
    }

    pub(super) fn refuse(self, error: Error) -> Call<Refused> {
        let checksum = self.stage.checksum;
        self.refuse_as(checksum, error, None)
    }

    /// Returns the checksum. Equal calls have equal checksums.
    #[must_use]
    pub(crate) fn checksum(&self) -> &str {
        self.stage.checksum.as_str()
    }

    /// Returns the tool.
    #[must_use]
    pub(crate) fn tool(&self) -> &Tool {
        &self.stage.tool
    }

    /// Returns the checked arguments.
    #[must_use]
    pub(crate) fn args(&self) -> &Value {
        self.stage.args.value()
    }
}

/// Runs the external checks within the timeout of the tool, until cancelled.
async fn ask_external(ctx: &DispatchContext, tool: &Tool, args: &CheckedArgs) -> Result<(), Error> {
    let asked = within(
        TimeLimit::from_now(tool.timeout()),
        ctx.cancellation(),
        tool.schema_in(ctx).ask_external(args.value()),
    )
    .await;
    match asked {
        Ok(answer) => answer.map_err(|faults| tool.refusal(faults)),
        Err(cut) => {
            let for_model = match cut {
                Cut::Cancelled => "The call was cancelled. The tool was not run.",
                Cut::Timeout(_) => {
                    "The arguments could not be checked in time. The tool was not run. Try again later."
                }
            };
            let ((code, why, _), name) = (describe(cut), tool.name());
            let message = format!("the external checks of `{name}` did not complete: {why}");
            Err(Error::new(code, message).with_model_text(for_model))
        }
    }
}
