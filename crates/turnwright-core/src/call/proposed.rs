//! Proposed and refused calls.

use std::sync::Arc;

use indexmap::IndexSet;
use tokio::time::Instant;

use crate::call::CheckedCall;
use crate::checksum::Hex;
use crate::dispatch::ToolCallWriter;
use crate::error::{Error, ErrorCode};
use crate::event::EventKind;
use crate::ids::Id;
use crate::record::{CallRequest, Denial, ProviderState, Record, ResponseRef, Settled, ToolCall};
use crate::schema::{RawArgs, escape, near};
use crate::telemetry;
use crate::tool::context::{Call, DispatchContext};
use crate::tool::{MAX_NAME_LEN, Tool};

/// A call proposed by a model or by code. Nothing has been checked yet.
///
/// ```
/// use serde_json::{Value, json};
/// use turnwright_core::{DispatchContext, Tool, ToolContext, ToolRegistry};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let greet = Tool::dynamic("greet", json!({ "type": "object" }))
///     .description("Greets.")
///     .handler(|_: Value, _: ToolContext| async { "Hello!" })
///     .build()?;
/// let ctx = DispatchContext::builder().tools(ToolRegistry::new([greet])?).build();
///
/// // The provider's id of the call is sent back with its result.
/// let proposed = ctx.propose("greet", "{}").with_provider_id("call_7f3a");
/// let call = proposed.complete().await;
/// assert_eq!(call.text().await.as_deref(), Some("Hello!"));
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug)]
#[must_use = "a proposed call does nothing until it is checked"]
pub struct ProposedCall {
    call: Call,
}

impl DispatchContext {
    /// Proposes a call.
    pub fn propose(&self, tool: impl Into<String>, args: impl Into<RawArgs>) -> ProposedCall {
        ProposedCall::new(self.clone(), tool.into().into(), args.into())
    }

    /// Proposes one call and runs it to completion: see [`DispatchContext::call_tools`].
    pub async fn call(&self, tool: impl Into<String>, args: impl Into<RawArgs>) -> Arc<ToolCall> {
        self.propose(tool, args).complete().await
    }
}

impl ToolCallWriter {
    /// Proposes the call with its reserved id and its complete name and arguments. See [`DispatchContext::propose`].
    pub fn propose(self, tool: impl Into<String>, args: impl Into<RawArgs>) -> ProposedCall {
        let (ctx, id, ordinal) = self.into_reserved();
        ProposedCall::with_id(ctx, (id, ordinal), tool.into().into(), args.into())
    }
}

impl ProposedCall {
    pub(crate) fn new(ctx: DispatchContext, name: Arc<str>, raw: RawArgs) -> Self {
        let (id, ordinal) = ctx.turn().journal().next_call();
        ProposedCall::with_id(ctx, (id, ordinal), name, raw)
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
        ProposedCall::of(ctx, request)
    }

    pub(super) fn of(ctx: DispatchContext, request: CallRequest) -> Self {
        ProposedCall {
            call: Call {
                ctx,
                request,
                recorded: true,
            },
        }
    }

    /// Does not record the call.
    pub(super) fn unrecorded(mut self) -> Self {
        self.call.recorded = false;
        self
    }

    pub(super) fn in_context(mut self, ctx: &DispatchContext) -> Self {
        self.call.ctx = ctx.clone();
        self
    }

    pub(super) fn into_call(self) -> Call {
        self.call
    }

    pub(super) fn request(&self) -> &CallRequest {
        &self.call.request
    }

    pub(super) fn context(&self) -> &DispatchContext {
        &self.call.ctx
    }

    /// Sets the provider's id of the call. It is only used in the protocol.
    pub fn with_provider_id(mut self, id: impl Into<Arc<str>>) -> Self {
        self.call.request.provider_id = Some(id.into());
        self
    }

    /// Sets the model response that proposed the call. All records of a response share it.
    pub fn with_response(mut self, response: ResponseRef) -> Self {
        self.call.request.response = Some(response);
        self
    }

    /// Sets the state that the provider expects back with the call.
    pub fn with_provider_state(mut self, state: ProviderState) -> Self {
        self.call.request.provider_state = Some(state);
        self
    }

    /// Treats arguments that are empty, blank or `null` as `{}` and records that as a repair. Use it for calls of a complete
    /// response: models omit arguments if there are none.
    pub fn empty_args_as_object(mut self) -> Self {
        self.call.request.empty_args_as_object = true;
        self
    }

    /// Returns the call id, which is unique in the conversation.
    #[must_use]
    pub fn id(&self) -> &str {
        self.call.id.as_str()
    }

    /// Records the call as incomplete, because the response that proposed it was truncated. Nothing is checked or run, whatever
    /// the arguments look like. The event stream gets [`ToolCallIncomplete`](crate::event::EventKind::ToolCallIncomplete).
    ///
    /// # Errors
    /// Returns `E_STORE_ERROR` if the record could not be stored.
    pub async fn record_incomplete(self) -> Result<Arc<ToolCall>, Error> {
        let Call { ctx, request, .. } = self.call;
        let checksum = request.checksum();
        let record = ToolCall::open(request, checksum)
            .with_short_args()
            .cut_off();
        ctx.turn()
            .write(vec![Record::ToolCall(Arc::clone(&record))])
            .await?;
        Ok(record)
    }

    /// Returns the name of the tool.
    #[must_use]
    pub(crate) fn tool_name(&self) -> &str {
        &self.call.name
    }

    /// Finds the tool and checks the arguments.
    ///
    /// # Errors
    /// Returns the refused call if there is no such tool or the arguments are invalid.
    #[cfg(test)]
    pub(crate) async fn check(self) -> Result<CheckedCall, RefusedCall> {
        self.check_alone(None)?.ask_external().await
    }

    /// Finds the tool, unless one is given, and checks the arguments without external checks.
    pub(super) fn check_alone(self, tool: Option<Tool>) -> Result<CheckedCall, RefusedCall> {
        match tool.or_else(|| self.call.ctx.tools().get(&self.call.name)) {
            Some(tool) => CheckedCall::check(self.call, tool),
            None => {
                let error = unknown_tool(&self.call);
                let checksum = self.call.checksum();
                Err(RefusedCall::new(self.call, checksum, error))
            }
        }
    }
}

/// Lists the available tools, similar names first. A name that contains the other counts as similar.
fn unknown_tool(call: &Call) -> Error {
    let visible = call.ctx.tools().visible();
    let all = || visible.iter().map(Tool::name);
    // With very many tools, a guess is not worth the time.
    let near = near(&call.name, all().take(MAX_COMPARED));
    let asked = call.name.to_lowercase();
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
    let name = serde_json::Value::from(escape(&call.name, 80));
    let shown = shown_name(&call.name);
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

/// A call that was refused before it ran.
#[derive(Debug)]
pub(crate) struct RefusedCall {
    inner: Box<Refused>,
}

#[derive(Debug)]
struct Refused {
    call: Call,
    checksum: Hex,
    error: Error,
    /// Why it was denied, if it was.
    denial: Option<Denial>,
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

impl RefusedCall {
    pub(crate) fn new(call: Call, checksum: Hex, error: Error) -> Self {
        RefusedCall::report(call, checksum, error, None)
    }

    /// Creates a call that a policy or an approver denied.
    pub(super) fn denied(call: Call, checksum: Hex, error: Error, denial: Denial) -> Self {
        RefusedCall::report(call, checksum, error, Some(denial))
    }

    fn report(call: Call, checksum: Hex, error: Error, denial: Option<Denial>) -> Self {
        let ids = (call.id.as_str(), checksum.as_str());
        report_refused(&call.ctx, ids, &call.name, &error, denial.as_ref());
        RefusedCall {
            inner: Box::new(Refused {
                call,
                checksum,
                error,
                denial,
            }),
        }
    }

    /// Returns the result of the call.
    pub(super) fn settled(&self) -> Settled {
        let mut settled = Settled::refusal(self.inner.error.model_text());
        settled.denial = self.inner.denial.clone().map(Box::new);
        settled
    }

    /// Returns the call id.
    #[must_use]
    pub(crate) fn id(&self) -> &str {
        self.inner.call.id.as_str()
    }

    /// Replaces the text for the model if a policy or an approver changed the arguments and the result is invalid: the model
    /// cannot fix that.
    pub(super) fn not_as_changed(mut self) -> Self {
        let inner = &mut *self.inner;
        let for_model = "The call was not approved as proposed. The tool was not run. Its arguments were changed, and the changed arguments are invalid.";
        inner.error = inner.error.clone().with_model_text(for_model);
        self
    }

    /// Returns why the call was refused.
    #[must_use]
    pub(crate) fn into_error(self) -> Error {
        self.inner.error
    }

    /// Records the refused call, with the information that the model needs to try again.
    pub(crate) async fn settle(self) -> Arc<ToolCall> {
        let ctx = self.inner.call.ctx.clone();
        let record = self.record();
        let records = vec![Record::ToolCall(Arc::clone(&record))];
        ctx.put_on_record(records).await;
        record
    }

    /// Creates the record.
    pub(super) fn record(&self) -> Arc<ToolCall> {
        let Refused {
            call,
            checksum,
            error,
            ..
        } = &*self.inner;
        let settled = self.settled();
        let record = ToolCall::open(call.request.clone(), *checksum);
        // A valid call that was denied is kept in full.
        let record = match error.code() {
            ErrorCode::INVALID_TOOL_ARGS | ErrorCode::UNKNOWN_TOOL => record.with_short_args(),
            _ => record,
        };
        record.closed(settled)
    }
}
