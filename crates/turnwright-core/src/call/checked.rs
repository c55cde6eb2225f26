//! Calls whose arguments are valid.

use indexmap::IndexSet;

use super::guard::describe;
use super::proposed::{Call, Proposed};
use super::refused::Refused;
use crate::checksum;
use crate::deadline::{Cut, TimeLimit, within};
use crate::error::{Error, ErrorCode};
use crate::schema::{CheckedArgs, Opened, RawArgs, escape, near};
use crate::tool::context::DispatchContext;
use crate::tool::{BoundHandler, MAX_NAME_LEN, Tool};

/// The stage of a call whose arguments satisfy the tool's schema, its type and its external checks.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(super) tool: Tool,
    pub(super) args: CheckedArgs,
    /// Whether a policy or an approver replaced the proposed arguments.
    pub(super) edited: bool,
    pub(super) bound: BoundHandler,
}

impl Call<Proposed> {
    /// Finds the tool, unless one is given, and checks the arguments without external checks. Computes the checksum of the raw
    /// arguments first, because a refused call has one too.
    pub(super) fn check_alone(
        mut self,
        tool: Option<Tool>,
    ) -> Result<Call<Checked>, Call<Refused>> {
        let Some(tool) = tool.or_else(|| self.ctx.tools().get(self.record.tool())) else {
            let error = unknown_tool(&self);
            return Err(self.with_raw_checksum().refuse(error, None));
        };
        let raw = self.record.args().clone();
        let nothing = self.stage.empty_args_as_object && raw.is_nothing();
        let opened = if nothing {
            Ok(Opened::nothing())
        } else {
            tool.schema().open(&raw)
        };
        self.record_mut().checksum = match &opened {
            Ok(_) if nothing => checksum::of_raw(tool.name(), &raw),
            Ok(opened) => checksum::of_value(tool.name(), &opened.value),
            Err(_) => checksum::of_unread(tool.name(), &raw),
        };
        let checked = opened.and_then(|opened| {
            let mut args = tool.schema().judge(raw, opened)?;
            if nothing {
                args = args.repaired_from_nothing();
            }
            let bound = tool.bind(args.value())?;
            Ok((args, bound))
        });
        match checked {
            Ok((args, bound)) => Ok(self.enter(|_| Checked {
                tool,
                args,
                edited: false,
                bound,
            })),
            Err(faults) => Err(self.refuse(tool.refusal(faults), None)),
        }
    }
}

/// Lists the available tools, similar names first. A name that contains the other counts as similar.
fn unknown_tool(call: &Call) -> Error {
    let visible = call.ctx.tools().visible();
    let all = || visible.iter().map(Tool::name);
    // With very many tools, a guess is not worth the time.
    let near = near(call.record.tool(), all().take(MAX_COMPARED));
    let asked = call.record.tool().to_lowercase();
    let holds = |name: &&str| asked.len() > 3 && (name.contains(&asked) || asked.contains(*name));
    let close: Vec<&str> = near.into_iter().chain(all().filter(holds)).collect();
    let names: IndexSet<&str> = close.iter().copied().chain(all()).collect();
    let listed: Vec<&str> = names.iter().copied().take(MAX_LISTED).collect();
    let listed = match names.len().saturating_sub(MAX_LISTED) {
        0 => listed.join(", "),
        more => format!("{} and {more} more", listed.join(", ")),
    };
    let known = match close.first() {
        _ if names.is_empty() => "No tools are available.".to_owned(),
        Some(near) => format!("Did you mean `{near}`? Available tools: {listed}."),
        None => format!("Available tools: {listed}."),
    };
    let name = serde_json::Value::from(escape(call.record.tool(), 80));
    let shown = shown_name(call.record.tool());
    Error::new(ErrorCode::UNKNOWN_TOOL, format!("unknown tool {name}")).with_model_text(format!(
        "Unknown tool \"{shown}\". Nothing was run. {known}"
    ))
}

/// Converts the name of a tool call so that it can be shown to the model outside of an envelope. The name may be any text that
/// the model was made to write, so it is reduced to the characters that tool names have.
pub(crate) fn shown_name(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let shown = name.chars().map(|c| if fits(c) { c } else { '_' });
    shown.take(MAX_NAME_LEN).collect()
}

/// Maximum number of tools whose names are compared with an unknown one.
const MAX_COMPARED: usize = 500;
/// Maximum number of names that are listed for the model.
const MAX_LISTED: usize = 50;

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
                Err(self.refuse(error, None))
            }
        }
    }

    /// Runs the external checks, if there are any.
    pub(super) async fn ask_external(self) -> Result<Self, Call<Refused>> {
        if !self.stage.tool.has_checks() {
            return Ok(self);
        }
        // Boxed, so that the future of a call without them stays small.
        let asked = ask_external(&self.ctx, &self.stage.tool, &self.stage.args);
        match Box::pin(asked).await {
            Ok(()) => Ok(self),
            Err(error) => Err(self.refuse(error, None)),
        }
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
