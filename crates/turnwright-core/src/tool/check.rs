//! External checks of a tool's arguments.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;

use super::builder::ToolBuilder;
use super::context::DispatchContext;
use crate::schema::{ExternalCheck, Rejection};

/// A check for [`ToolBuilder::check`]: an async function of the checked arguments, or of the arguments and the context.
///
/// `P` are its parameters, which the compiler infers.
#[diagnostic::on_unimplemented(
    message = "this is not a check of a tool",
    label = "not a check",
    note = "a check is an `async fn(Value) -> Result<(), Rejection>`; with the context, it is an `async fn(Value, DispatchContext) -> Result<(), Rejection>`"
)]
pub trait Check<P> {
    #[doc(hidden)]
    fn add_to<A>(self, tool: ToolBuilder<A>, name: String) -> ToolBuilder<A>;
}

impl<F, Fut> Check<(Value,)> for F
where
    F: Fn(Value) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<(), Rejection>> + Send + 'static,
{
    fn add_to<A>(self, mut tool: ToolBuilder<A>, name: String) -> ToolBuilder<A> {
        tool.schema = tool.schema.map(|schema| schema.external(name, self));
        tool
    }
}

impl<F, Fut> Check<(Value, DispatchContext)> for F
where
    F: Fn(Value, DispatchContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<(), Rejection>> + Send + 'static,
{
    fn add_to<A>(self, mut tool: ToolBuilder<A>, name: String) -> ToolBuilder<A> {
        tool.facts.context_checks.push(ContextCheck {
            name: name.into(),
            ask: Arc::new(move |args, ctx| Box::pin(self(args, ctx))),
        });
        tool
    }
}

type Answer = Pin<Box<dyn Future<Output = Result<(), Rejection>> + Send>>;

/// A check that needs the context of the call.
pub(super) struct ContextCheck {
    pub(super) name: Arc<str>,
    ask: Arc<dyn Fn(Value, DispatchContext) -> Answer + Send + Sync>,
}

impl ContextCheck {
    /// Returns the check in this context.
    pub(super) fn bind(&self, ctx: &DispatchContext) -> ExternalCheck {
        let (ask, ctx) = (Arc::clone(&self.ask), ctx.clone());
        ExternalCheck::new(Arc::clone(&self.name), move |args| ask(args, ctx.clone()))
    }
}
