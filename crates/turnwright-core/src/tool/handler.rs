//! Type-erased handlers and checks.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::into_result::IntoToolResult;
use super::output::ToolOutput;
use crate::error::ToolError;
use crate::schema::{ExternalCheck, Rejection};
use crate::tool::context::{DispatchContext, ToolContext};

pub(crate) type HandlerResult = Result<ToolOutput, ToolError>;

/// A handler without its arguments. Binding deserialises them; only the call path starts the bound handler.
#[derive(Clone)]
pub(crate) struct Handler(Arc<Bind>);

type Bind = dyn Fn(&Value) -> Result<BoundHandler, serde_json::Error> + Send + Sync;

/// A handler with the arguments of one call.
pub(crate) struct BoundHandler(Box<dyn FnOnce(ToolContext) -> Work + Send>);

/// The work of a handler with its context.
pub(crate) enum Work {
    Async(Pin<Box<dyn Future<Output = HandlerResult> + Send>>),
    Blocking(Box<dyn FnOnce() -> HandlerResult + Send>),
}

impl Handler {
    pub(crate) fn from_async<A, F, Fut>(handler: F) -> Self
    where
        A: DeserializeOwned + Send + 'static,
        F: Fn(A, ToolContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoToolResult> + Send + 'static,
    {
        let handler = Arc::new(handler);
        Handler(Arc::new(move |args| {
            let args = A::deserialize(args)?;
            let handler = Arc::clone(&handler);
            // The author's code runs inside the future, where panics are caught.
            Ok(BoundHandler(Box::new(move |ctx| {
                Work::Async(Box::pin(async move {
                    handler(args, ctx).await.into_tool_result()
                }))
            })))
        }))
    }

    pub(crate) fn from_blocking<A, F, R>(handler: F) -> Self
    where
        A: DeserializeOwned + Send + 'static,
        F: Fn(A, ToolContext) -> R + Send + Sync + 'static,
        R: IntoToolResult,
    {
        let handler = Arc::new(handler);
        Handler(Arc::new(move |args| {
            let args = A::deserialize(args)?;
            let handler = Arc::clone(&handler);
            Ok(BoundHandler(Box::new(move |ctx| {
                Work::Blocking(Box::new(move || handler(args, ctx).into_tool_result()))
            })))
        }))
    }

    pub(crate) fn bind(&self, args: &Value) -> Result<BoundHandler, serde_json::Error> {
        (self.0)(args)
    }
}

impl BoundHandler {
    /// Starts the handler. Only for the call path.
    pub(crate) fn start(self, ctx: ToolContext) -> Work {
        (self.0)(ctx)
    }
}

debug_fields!(BoundHandler {});

type Answer = Pin<Box<dyn Future<Output = Result<(), Rejection>> + Send>>;

/// A check that needs the context of the call.
#[derive(Clone)]
pub(crate) struct ContextCheck {
    pub(super) name: Arc<str>,
    pub(super) ask: Arc<dyn Fn(Value, DispatchContext) -> Answer + Send + Sync>,
}

impl ContextCheck {
    /// Returns the check in this context.
    pub(super) fn bind(&self, ctx: &DispatchContext) -> ExternalCheck {
        let (ask, ctx) = (Arc::clone(&self.ask), ctx.clone());
        ExternalCheck::new(Arc::clone(&self.name), move |args| ask(args, ctx.clone()))
    }
}
