//! A call as it was proposed, and a call that was turned down.

use std::sync::Arc;

use indexmap::IndexSet;
use tokio::time::Instant;

use crate::call::CheckedCall;
use crate::checksum::Hex;
use crate::dispatch::ToolCallWriter;
use crate::error::{Error, ErrorCode};
use crate::event::EventKind;
use crate::ids::Id;
use crate::record::{CallRequest, ProviderState, Record, Settled, ToolCall};
use crate::schema::{RawArgs, escape, near};
use crate::telemetry;
use crate::tool::context::{Call, DispatchContext};
use crate::tool::{LONGEST_NAME, Tool};

/// A call that was proposed by a model or by code. Nothing of it is checked yet.
#[derive(Debug)]
#[must_use = "a proposed call does nothing until it is checked"]
pub struct ProposedCall {
    call: Call,
}

impl DispatchContext {
    /// Proposes a call: the beginning of the one path on which tools run.
    pub fn propose(&self, tool: impl Into<String>, args: impl Into<RawArgs>) -> ProposedCall {
        ProposedCall::new(self.clone(), tool.into().into(), args.into())
    }

    /// Proposes one call and takes it all the way: see [`DispatchContext::call_tools`].
    pub async fn call(&self, tool: impl Into<String>, args: impl Into<RawArgs>) -> Arc<ToolCall> {
        self.propose(tool, args).complete().await
    }
}

impl ToolCallWriter {
    /// Proposes the call under its reserved id, with all of its name and arguments: as [`DispatchContext::propose`] does.
    pub fn propose(self, tool: impl Into<String>, args: impl Into<RawArgs>) -> ProposedCall {
        let (ctx, id, ordinal) = self.into_reserved();
        ProposedCall::with_id(ctx, (id, ordinal), tool.into().into(), args.into())
    }
}

impl ProposedCall {
    pub(crate) fn new(ctx: DispatchContext, name: Arc<str>, raw: RawArgs) -> Self {
        let (id, ordinal) = ctx.turn().next_call();
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

    /// Nobody wants a record of it.
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

    /// The provider's own id for it: for the wire, and for nothing else.
    pub fn with_provider_id(mut self, id: impl Into<Arc<str>>) -> Self {
        self.call.request.provider_id = Some(id.into());
        self
    }

    /// What the provider wants back with it.
    pub fn with_provider_state(mut self, state: ProviderState) -> Self {
        self.call.request.provider_state = Some(state);
        self
    }

    /// Takes arguments that are empty, blank or `null` for `{}`, and keeps that as a repair: for the calls of a response that
    /// is known to be whole, in which a model has left out what it had nothing to say in.
    pub fn empty_args_as_object(mut self) -> Self {
        self.call.request.empty_args_as_object = true;
        self
    }

    /// Which call it is: ours, unique in the conversation.
    #[must_use]
    pub fn id(&self) -> &str {
        self.call.id.as_str()
    }

    /// Makes a record of a call that is not complete, because the response that proposed it was cut off. Nothing of it is
    /// looked at, and nothing is run, whatever its arguments look like. The stream says
    /// [`ToolCallIncomplete`](crate::event::TurnEventKind::ToolCallIncomplete).
    ///
    /// # Errors
    /// `E_STORE_ERROR`: there is no record of it then.
    pub async fn keep_incomplete(self) -> Result<Arc<ToolCall>, Error> {
        let Call { ctx, request, .. } = self.call;
        let checksum = request.checksum();
        let record = ToolCall::open(request, checksum).cut_off();
        ctx.turn()
            .write(vec![Record::ToolCall(Arc::clone(&record))])
            .await?;
        Ok(record)
    }

    /// The name of the tool.
    #[must_use]
    pub(crate) fn tool_name(&self) -> &str {
        &self.call.name
    }

    /// Finds the tool and checks the arguments, all of them.
    ///
    /// # Errors
    /// There is no such tool, or the arguments do not pass.
    #[cfg(test)]
    pub(crate) async fn check(self) -> Result<CheckedCall, RefusedCall> {
        self.check_alone(None)?.ask_external().await
    }

    /// Finds the tool, unless one is given, and checks the arguments. External checks are not asked yet.
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

/// Tells which tools there are, those with a similar name first: one that holds the other counts as similar too.
fn unknown_tool(call: &Call) -> Error {
    let visible = call.ctx.tools().visible();
    let all = || visible.iter().map(Tool::name);
    // Among very many a guess would take longer than it is worth.
    let near = near(&call.name, all().take(MOST_COMPARED));
    let asked = call.name.to_lowercase();
    let holds = |name: &&str| asked.len() > 3 && (name.contains(&asked) || asked.contains(*name));
    let close: Vec<&str> = near.into_iter().chain(all().filter(holds)).collect();
    let names: IndexSet<&str> = close.iter().copied().chain(all()).collect();
    let listed: Vec<&str> = names.iter().copied().take(MOST_LISTED).collect();
    let listed = match names.len().saturating_sub(MOST_LISTED) {
        0 => listed.join(", "),
        more => format!("{} and {more} more", listed.join(", ")),
    };
    let known = match close.first() {
        _ if names.is_empty() => "There are no tools.".to_owned(),
        Some(near) => format!("Did you mean `{near}`? There are: {listed}."),
        None => format!("There are: {listed}."),
    };
    let name = serde_json::Value::from(escape(&call.name, 80));
    let shown = shown_name(&call.name);
    Error::new(ErrorCode::UNKNOWN_TOOL, format!("there is no tool {name}")).with_model_text(
        format!("There is no tool \"{shown}\"; nothing was run. {known}"),
    )
}

/// The name of a tool that a model called, as the model may read it again outside of a fence: it need not be a tool's, and
/// may be any text that the model was made to write. In the letters that names of tools have, as it stands on the wire.
pub(crate) fn shown_name(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let shown = name.chars().map(|c| if fits(c) { c } else { '_' });
    shown.take(LONGEST_NAME).collect()
}

/// Tools whose names are compared with one that does not exist.
const MOST_COMPARED: usize = 500;
/// The most names that a model reads after it called a tool that does not exist.
const MOST_LISTED: usize = 50;

/// A call that was turned down before anything ran.
#[derive(Debug)]
pub(crate) struct RefusedCall {
    inner: Box<Refused>,
}

#[derive(Debug)]
struct Refused {
    call: Call,
    checksum: Hex,
    error: Error,
}

/// Tells that a call comes to nothing before its handler is reached.
pub(super) fn tell_refused(
    ctx: &DispatchContext,
    (id, checksum): (&str, &str),
    tool: &str,
    error: &Error,
) {
    telemetry::refused(ctx, id, tool, error.code());
    ctx.turn().tell(|| EventKind::ToolCallRefused {
        id: id.into(),
        checksum: checksum.into(),
        tool: tool.into(),
        code: error.code().as_str(),
        message: error.with_causes(),
        faults: error.faults().to_vec(),
    });
}

impl RefusedCall {
    pub(crate) fn new(call: Call, checksum: Hex, error: Error) -> Self {
        let ids = (call.id.as_str(), checksum.as_str());
        tell_refused(&call.ctx, ids, &call.name, &error);
        RefusedCall {
            inner: Box::new(Refused {
                call,
                checksum,
                error,
            }),
        }
    }

    /// Which call it was.
    #[must_use]
    pub(crate) fn id(&self) -> &str {
        self.inner.call.id.as_str()
    }

    /// Why.
    #[must_use]
    pub(crate) fn error(&self) -> &Error {
        &self.inner.error
    }

    /// Somebody else changed the arguments, and what they made of them does not pass: that is not for the model to mend.
    pub(super) fn not_as_changed(mut self) -> Self {
        let inner = &mut *self.inner;
        let for_model = "The call was not approved as it was; nothing was run. Its arguments were changed before it could run, and what they were changed to does not fit.";
        inner.error = inner.error.clone().with_model_text(for_model);
        self
    }

    /// Why, by value.
    #[must_use]
    pub(crate) fn into_error(self) -> Error {
        self.inner.error
    }

    /// Makes it a record of the turn: an answer to the model, with what it needs to try again.
    pub(crate) async fn settle(self) -> Arc<ToolCall> {
        let ctx = self.inner.call.ctx.clone();
        let record = self.record();
        let records = vec![Record::ToolCall(Arc::clone(&record))];
        ctx.put_on_record(records).await;
        record
    }

    /// The record that comes of it.
    pub(super) fn record(&self) -> Arc<ToolCall> {
        let Refused {
            call,
            checksum,
            error,
        } = &*self.inner;
        let settled = Settled::refusal(error.model_text());
        ToolCall::open(call.request.clone(), *checksum).closed(settled)
    }
}
