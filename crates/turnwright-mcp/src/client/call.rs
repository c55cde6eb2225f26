//! A call of a remote tool.

use std::sync::Arc;

use serde_json::Value;
use turnwright_core::schema::Schema;
use turnwright_core::{Effects, Tool, ToolContext, ToolError, ToolOutput};

use super::exchange::exchange;
use super::supervisor::{State, Supervised};
use super::{resources, result};
use crate::definition::harmless;
use crate::protocol::{Failure, Session};

/// A tool of a server.
pub(super) struct RemoteTool {
    pub(super) server: Arc<Supervised>,
    pub(super) name: String,
    pub(super) pin: String,
    pub(super) output_schema: Option<Schema>,
    pub(super) effects: Effects,
}

/// Runs a call.
pub(super) async fn run(
    tool: Arc<RemoteTool>,
    args: Value,
    ctx: ToolContext,
) -> Result<ToolOutput, ToolError> {
    let alias = &tool.server.config().alias;
    let session = tool.session().ok();
    let result = match tool.call(&args, &ctx).await {
        Err(failure) if tool.can_repeat(&failure, session.as_deref()) => {
            if tool.server.reconnected(session.as_ref()).await {
                tool.call(&args, &ctx).await
            } else {
                Err(failure)
            }
        }
        result => result,
    };
    let reader = resources::reader(&tool.server);
    let result = result.map_err(|failure| tool_error(&failure, alias))?;
    result::output(
        &result,
        tool.output_schema.as_ref(),
        alias,
        reader.as_deref(),
    )
}

impl RemoteTool {
    async fn call(&self, args: &Value, ctx: &ToolContext) -> Result<Value, Failure> {
        let params = || {
            let params = [
                ("name", self.name.as_str().into()),
                ("arguments", args.clone()),
            ];
            let params = params.map(|(name, value)| (name.to_owned(), value));
            params.into_iter().collect()
        };
        let session = || self.session();
        exchange(&self.server, session, "tools/call", params, Some(ctx)).await
    }

    /// Returns whether a call that failed because its connection ended can be sent again on another one: it was not sent, or it
    /// changes nothing.
    fn can_repeat(&self, failure: &Failure, session: Option<&dyn Session>) -> bool {
        match failure {
            Failure::Lost(_) => self.effects == Effects::ReadOnly,
            Failure::NotSent(_) => session.is_none_or(Session::has_ended),
            _ => false,
        }
    }

    /// Returns the connection, if the server still has this very definition.
    fn session(&self) -> Result<Arc<dyn Session>, Failure> {
        let State::Ready(ready) = self.server.state() else {
            return self.server.session();
        };
        let same = |tool: &Tool| tool.version() == Some(&self.pin);
        let why = match (ready.is_current(), ready.tools.iter().any(same)) {
            _ if ready.session.has_ended() => "the connection has ended",
            (true, true) => return Ok(Arc::clone(&ready.session)),
            (false, _) => "the server has announced that its tools have changed",
            (true, false) => "the definition of the tool has changed",
        };
        Err(Failure::NotSent(why.to_owned()))
    }
}

pub(super) fn tool_error(failure: &Failure, alias: &str) -> ToolError {
    let message = format!("the MCP server `{alias}`: {failure}");
    match failure {
        Failure::Rejected {
            code,
            message: text,
        } => {
            let text = harmless(text, 2_000);
            let error = ToolError::internal(message);
            match code {
                // Errors of the request: the method, the parameters, or an HTTP status.
                -32602..=-32600 | 300..=499 => {
                    error.for_model(format!("The server rejected the call: {text}"))
                }
                _ => error.for_model(format!(
                    "The server reports an error: {text}\n\nThe call may have taken effect in part. Check before you repeat it."
                )),
            }
        }
        Failure::Timeout(_) => ToolError::timeout(message).for_model(
            "The server did not answer in time. The call may or may not have taken effect. Check before you repeat it.",
        ),
        Failure::Lost(_) | Failure::Failed(_) | Failure::Malformed(_) => ToolError::unavailable(message).for_model(
            "The server failed during the call. It may or may not have taken effect. Check before you repeat it.",
        ),
        Failure::Unanswered(_) => ToolError::unavailable(message).for_model(
            "The server asked for something that is not available here. The call was not completed.",
        ),
        Failure::Busy(_) => ToolError::rate_limited(message)
            .for_model("The server has too many requests. The call was not made. Try again later."),
        Failure::NotConnected(_) | Failure::NotSent(_) => ToolError::unavailable(message)
            .for_model("The call was not sent: the tool is not available now."),
        Failure::Unauthorised(_) | Failure::NotAuthorised(_) => ToolError::denied(message)
            .for_model("The server requires authorisation. The call was not made."),
    }
}
