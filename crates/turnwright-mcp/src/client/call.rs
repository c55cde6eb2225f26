//! A call of a remote tool.
//!
//! A call is sent again only if it was not sent, or changes nothing. A server that responds with `input_required` may
//! have done a part of the work, so a failure after that counts as unknown. For the same reason a turn is not suspended
//! there if the tool may write.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::task::spawn_blocking;
use turnwright_core::schema::Schema;
use turnwright_core::{Effects, Tool, ToolContext, ToolError, ToolOutput};

use super::connection::Connection;
use super::exchange::exchange;
use super::{resources, result};
use crate::protocol::{Failure, Session};

/// A tool of a server.
pub(super) struct RemoteTool {
    pub(super) server: Arc<Connection>,
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
    let session = tool.session().ok();
    let mut result = tool.call(&args, &ctx).await;
    if let Err(failure) = &result
        && tool.can_repeat(failure, session.as_deref())
        && tool.server.reconnected(session.as_ref()).await
    {
        result = tool.call(&args, &ctx).await;
    }
    // On a thread of its own: the server chooses how long it takes.
    let read = spawn_blocking(move || {
        let alias = &tool.server.config().alias;
        let result = result.map_err(|failure| result::failure(&failure, alias))?;
        let reader = resources::reader(&tool.server);
        let schema = tool.output_schema.as_ref();
        result::output(&result, schema, alias, reader.as_deref())
    });
    read.await
        .unwrap_or_else(|lost| Err(ToolError::internal(lost.to_string())))
}

impl RemoteTool {
    async fn call(&self, args: &Value, ctx: &ToolContext) -> Result<Value, Failure> {
        let params = || json!({ "name": self.name, "arguments": args });
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

    /// Returns the session, if the server still has this very definition.
    fn session(&self) -> Result<Arc<dyn Session>, Failure> {
        let Some(ready) = self.server.ready() else {
            return self.server.session();
        };
        let is_same = |tool: &Tool| tool.version() == Some(&self.pin);
        let why = if ready.session.has_ended() {
            "the connection has ended"
        } else if !ready.is_current() {
            "the server has announced that its tools have changed"
        } else if !ready.tools.iter().any(is_same) {
            "the definition of the tool has changed"
        } else {
            return Ok(Arc::clone(&ready.session));
        };
        Err(Failure::NotSent(why.to_owned()))
    }
}
