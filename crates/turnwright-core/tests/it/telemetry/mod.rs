//! Traces and metrics of turns.

mod collect;
mod content;
mod conventions;
mod metrics;
mod spans;

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use turnwright_core::{BoxError, DispatchContext, Executor, Tool, ToolContext, ToolError};

type Script = Arc<dyn Fn(DispatchContext) -> Step + Send + Sync>;
type Step = std::pin::Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send>>;

/// An executor with a name and a model.
struct Named(Script);

impl Named {
    fn new<F, Fut>(script: F) -> Self
    where
        F: Fn(DispatchContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        Named(Arc::new(move |ctx| Box::pin(script(ctx))))
    }
}

#[async_trait]
impl Executor for Named {
    async fn execute(&self, ctx: DispatchContext) -> Result<(), BoxError> {
        (self.0)(ctx).await
    }

    fn name(&self) -> &str {
        "acme"
    }

    fn model(&self) -> Option<&str> {
        Some("acme-large")
    }

    fn server(&self) -> Option<(&str, u16)> {
        Some(("models.acme.example", 443))
    }
}

fn tool<F, Fut>(name: &str, handler: F) -> Tool
where
    F: Fn(String, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<String, ToolError>> + Send + 'static,
{
    let handler = Arc::new(handler);
    Tool::dynamic(name, schema())
        .description(format!("Does {name}."))
        .handler(move |args: Value, ctx: ToolContext| {
            let handler = Arc::clone(&handler);
            async move { handler(text_arg(&args), ctx).await }
        })
        .build()
        .unwrap()
}

fn schema() -> Value {
    json!({ "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] })
}

fn text_arg(args: &Value) -> String {
    args["text"].as_str().unwrap().to_owned()
}

fn echo() -> Tool {
    tool("echo", |text, _| async move { Ok(text) })
}

fn args(text: &str) -> String {
    json!({ "text": text }).to_string()
}
