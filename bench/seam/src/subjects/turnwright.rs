//! Turnwright: text in, duplicate keys found, coerced, checked, hashed, deserialised, and only then handled.

use std::{error::Error, hint::black_box, marker::PhantomData};

use serde_json::Value;
use tokio::runtime::Runtime;
use turnwright_bench_measure::Subject;
use turnwright_core::{DispatchContext, Tool, ToolContext, ToolOutput};

use super::Reply;
use crate::arguments::Arguments;

pub(crate) const CALL: &str = "**Turnwright**: valid as it came";
pub(crate) const CALL_DEFAULTED: &str = "Turnwright: a default filled in";
pub(crate) const CALL_COERCED: &str = "Turnwright: a number given as text";

/// A typed tool and a context without observers, made once.
pub(crate) struct Turnwright<A> {
    tool: Tool,
    context: DispatchContext,
    arguments: PhantomData<fn() -> A>,
}

impl<A: Arguments> Turnwright<A> {
    pub(crate) fn new() -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            context: DispatchContext::standalone(),
            tool: typed::<A>()?,
            arguments: PhantomData,
        })
    }

    /// The document that is shown and enforced; the peers are given the same one.
    pub(crate) fn document(&self) -> &Value {
        self.tool.schema().document()
    }

    async fn call(&self, text: &str) -> Result<ToolOutput, turnwright_core::Error> {
        self.tool.call(&self.context, text).await
    }

    pub(crate) async fn reply(&self, text: &str) -> Reply {
        match self.call(text).await {
            Ok(output) => Reply::Answered(output.as_text().unwrap_or_default().to_owned()),
            Err(error) => Reply::Refused(error.model_text().to_owned()),
        }
    }

    pub(crate) fn subjects<'a>(
        &'a self,
        section: &'static str,
        runtime: &'a Runtime,
    ) -> Vec<Subject<'a>> {
        [
            (CALL, A::VALID),
            (CALL_DEFAULTED, A::DEFAULTED),
            (CALL_COERCED, A::COERCED),
        ]
        .into_iter()
        .map(|(label, text)| {
            Subject::awaited(section, label, runtime, async move || {
                self.call(black_box(text)).await
            })
        })
        .collect()
    }
}

/// The tool that answers with what [`Arguments::answer`] says.
pub(crate) fn typed<A: Arguments>() -> Result<Tool, turnwright_core::Error> {
    Tool::typed::<A>(A::TOOL)
        .description(A::DESCRIPTION)
        .handler(|args: A, _context: ToolContext| async move { args.answer() })
        .build()
}
