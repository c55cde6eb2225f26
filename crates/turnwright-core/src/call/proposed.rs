//! Proposed and refused calls, and calls that the program makes itself, without a model.

use std::sync::Arc;

use indexmap::IndexSet;
use tokio::time::Instant;

use super::batch::complete_one;
use super::guard::CallGuard;
use crate::checksum::Hex;
use crate::dispatch::ToolCallWriter;
use crate::error::{Error, ErrorCode};
use crate::event::EventKind;
use crate::ids::Id;
use crate::record::{
    CallRequest, CallState, Denial, ProviderState, Record, ResponseRef, Settled, ToolCall,
};
use crate::schema::{RawArgs, escape, near};
use crate::telemetry;
use crate::tool::context::{Call, DispatchContext, Proposed};
use crate::tool::{MAX_NAME_LEN, Tool, ToolOutput};

impl DispatchContext {
    /// Proposes a call.
    pub fn propose(&self, tool: impl Into<String>, args: impl Into<RawArgs>) -> Call {
        Call::new(self.clone(), tool.into().into(), args.into())
    }

    /// Proposes one call and runs it to completion: see [`DispatchContext::call_tools`].
    pub async fn call(&self, tool: impl Into<String>, args: impl Into<RawArgs>) -> Arc<ToolCall> {
        self.propose(tool, args).complete().await
    }
}

impl ToolCallWriter {
    /// Proposes the call with its reserved id and its complete name and arguments. See [`DispatchContext::propose`].
    pub fn propose(self, tool: impl Into<String>, args: impl Into<RawArgs>) -> Call {
        let (ctx, id, ordinal) = self.into_reserved();
        Call::with_id(ctx, (id, ordinal), tool.into().into(), args.into())
    }
}

impl Call<Proposed> {
    pub(crate) fn new(ctx: DispatchContext, name: Arc<str>, raw: RawArgs) -> Self {
        let (id, ordinal) = ctx.turn().journal().next_call();
        Call::with_id(ctx, (id, ordinal), name, raw)
    }

    fn with_id(
        ctx: DispatchContext,
        (id, ordinal): (Id, u64),
        name: Arc<str>,
        raw: RawArgs,
    ) -> Self {
        let request = CallRequest {
            id,
            ordinal,
            provider_id: None,
            response: None,
            provider_state: None,
            name,
            raw,
            created: Instant::now(),
            empty_args_as_object: false,
        };
        Call::of(ctx, request)
    }

    pub(super) fn of(ctx: DispatchContext, request: CallRequest) -> Self {
        Call {
            ctx,
            request: Box::new(request),
            recorded: true,
            stage: Proposed,
        }
    }

    /// Does not record the call.
    pub(super) fn unrecorded(mut self) -> Self {
        self.recorded = false;
        self
    }

    pub(super) fn in_context(mut self, ctx: &DispatchContext) -> Self {
        self.ctx = ctx.clone();
        self
    }

    /// Sets the provider's id of the call. It is only used in the protocol.
    pub fn with_provider_id(mut self, id: impl Into<Arc<str>>) -> Self {
        self.request.provider_id = Some(id.into());
        self
    }

    /// Sets the model response that proposed the call. All records of a response share it.
    pub fn with_response(mut self, response: ResponseRef) -> Self {
        self.request.response = Some(response);
        self
    }

    /// Sets the state that the provider expects back with the call.
    pub fn with_provider_state(mut self, state: ProviderState) -> Self {
        self.request.provider_state = Some(state);
        self
    }

    /// Treats arguments that are empty, blank or `null` as `{}` and records that as a repair. Use it for calls of a complete
    /// response: models omit arguments if there are none.
    pub fn empty_args_as_object(mut self) -> Self {
        self.request.empty_args_as_object = true;
        self
    }

    /// Records the call as incomplete, because the response that proposed it was truncated. Nothing is checked or run, whatever
    /// the arguments look like. The event stream gets [`ToolCallIncomplete`](crate::event::EventKind::ToolCallIncomplete).
    ///
    /// # Errors
    /// Returns `E_STORE_ERROR` if the record could not be stored.
    pub async fn record_incomplete(self) -> Result<Arc<ToolCall>, Error> {
        let Call { ctx, request, .. } = self;
        let checksum = request.checksum();
        let record = ToolCall::open(*request, checksum)
            .with_short_args()
            .cut_off();
        ctx.turn()
            .write(vec![Record::ToolCall(Arc::clone(&record))])
            .await?;
        Ok(record)
    }
}

/// Lists the available tools, similar names first. A name that contains the other counts as similar.
pub(super) fn unknown_tool(call: &Call<Proposed>) -> Error {
    let visible = call.ctx.tools().visible();
    let all = || visible.iter().map(Tool::name);
    // With very many tools, a guess is not worth the time.
    let near = near(&call.request.name, all().take(MAX_COMPARED));
    let asked = call.request.name.to_lowercase();
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
    let name = serde_json::Value::from(escape(&call.request.name, 80));
    let shown = shown_name(&call.request.name);
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

/// The stage of a call that was refused before it ran.
#[derive(Debug)]
pub(crate) struct Refused {
    checksum: Hex,
    error: Error,
    /// Why it was denied, if it was.
    denial: Option<Box<Denial>>,
}

/// Reports that a call was refused.
pub(super) fn report_refused(
    ctx: &DispatchContext,
    (id, checksum): (&str, &str),
    tool: &str,
    error: &Error,
    denial: Option<&Denial>,
) {
    telemetry::refused(ctx, id, tool, error.code());
    ctx.turn().emit(|| EventKind::ToolCallRefused {
        id: id.into(),
        checksum: checksum.into(),
        tool: tool.into(),
        code: error.code().as_str(),
        message: error.with_causes(),
        faults: error.faults().to_vec(),
        reason: denial.map(|denial| denial.reason.clone()),
        sources: denial.map_or_else(Vec::new, |denial| denial.sources.clone()),
    });
}

impl<S> Call<S> {
    /// Refuses the call, and reports it. With a denial if a policy or an approver denied it.
    pub(super) fn refuse_as(
        self,
        checksum: Hex,
        error: Error,
        denial: Option<Denial>,
    ) -> Call<Refused> {
        let ids = (self.id(), checksum.as_str());
        report_refused(&self.ctx, ids, &self.request.name, &error, denial.as_ref());
        self.enter(|_| Refused {
            checksum,
            error,
            denial: denial.map(Box::new),
        })
    }
}

impl Call<Refused> {
    /// Returns the result of the call.
    pub(super) fn settled(&self) -> Settled {
        let mut settled = Settled::refusal(self.stage.error.model_text());
        settled.denial.clone_from(&self.stage.denial);
        settled
    }

    /// Replaces the text for the model if a policy or an approver changed the arguments and the result is invalid: the model
    /// cannot fix that.
    pub(super) fn not_as_changed(mut self) -> Self {
        let for_model = "The call was not approved as proposed. The tool was not run. Its arguments were changed, and the changed arguments are invalid.";
        self.stage.error = self.stage.error.with_model_text(for_model);
        self
    }

    /// Returns why the call was refused.
    #[must_use]
    pub(crate) fn into_error(self) -> Error {
        self.stage.error
    }

    /// Records the refused call, with the information that the model needs to try again. The guard is that of its open record,
    /// if it has one.
    pub(super) async fn settle(self, guard: Option<CallGuard>) -> Arc<ToolCall> {
        if let Some(guard) = guard {
            let record = guard.settle(self.settled(), CallState::Failed).await;
            return record.unwrap_or_else(|| self.record());
        }
        let record = self.record();
        let records = vec![Record::ToolCall(Arc::clone(&record))];
        self.ctx.put_on_record(records).await;
        record
    }

    /// Creates the record.
    pub(super) fn record(&self) -> Arc<ToolCall> {
        let Refused {
            checksum, error, ..
        } = &self.stage;
        let record = ToolCall::open((*self.request).clone(), *checksum);
        // A valid call that was denied is kept in full.
        let record = match error.code() {
            ErrorCode::INVALID_TOOL_ARGS | ErrorCode::UNKNOWN_TOOL => record.with_short_args(),
            _ => record,
        };
        record.closed(self.settled())
    }
}

impl Tool {
    /// Calls this tool and returns the output of its handler. The arguments are checked, policies and approvers decide, and the
    /// handler runs, as for a call of a model. The call is not recorded.
    ///
    /// `max_result_bytes` does not apply: the caller reads a streamed output and can stop at any time.
    ///
    /// ```
    /// use serde_json::{Value, json};
    /// use turnwright_core::{DispatchContext, Tool, ToolContext};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let ping = Tool::dynamic("ping", json!({ "type": "object" }))
    ///     .description("Answers.")
    ///     .handler(|_: Value, _: ToolContext| async { "pong" })
    ///     .build()?;
    /// let output = ping.call(&DispatchContext::standalone(), "{}").await?;
    /// assert_eq!(output.as_text(), Some("pong"));
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Returns an error if the arguments are invalid (`E_INVALID_TOOL_ARGS`), the call was denied, or the handler failed, timed
    /// out or was cancelled.
    ///
    /// # Cancel safety
    /// If the future is dropped, the handler's future is dropped with it. A blocking handler is detached.
    pub async fn call(
        &self,
        ctx: &DispatchContext,
        args: impl Into<RawArgs>,
    ) -> Result<ToolOutput, Error> {
        let proposed = self.propose(ctx, args.into()).unrecorded();
        let checked = proposed.check_alone(Some(self.clone()));
        let checked = checked.map_err(Call::into_error)?;
        let checked = checked.ask_external().await;
        let checked = checked.map_err(Call::into_error)?;
        let admitted = checked.admit().await.map_err(Call::into_error)?;
        admitted.run().await.into_result().await
    }

    /// Calls this tool and returns the record of the call, which is added to the turn and stored. Every result is in the record,
    /// including invalid arguments, a denial or a failure.
    ///
    /// To call a tool of the turn by name, use [`DispatchContext::call`].
    pub async fn call_and_record(
        &self,
        ctx: &DispatchContext,
        args: impl Into<RawArgs>,
    ) -> Arc<ToolCall> {
        complete_one(self.propose(ctx, args.into()), Some(self.clone())).await
    }

    fn propose(&self, ctx: &DispatchContext, args: RawArgs) -> Call {
        Call::new(ctx.clone(), Arc::clone(self.shared_name()), args)
    }
}
