//! Turnwright: detects repeated keys, coerces, validates, hashes and deserialises the text before the handler runs.

use std::{error::Error, hint::black_box, marker::PhantomData};

use serde_json::Value;
use tokio::runtime::Runtime;
use turnwright_bench_measure::Subject;
use turnwright_core::{DispatchContext, Tool, ToolContext, ToolOutput};

use super::Reply;
use crate::arguments::Arguments;

pub(crate) const CALL: &str = "**Turnwright**: valid without changes";
pub(crate) const CALL_DEFAULTED: &str = "Turnwright: a default filled in";
pub(crate) const CALL_COERCED: &str = "Turnwright: a number sent as a string";

/// A typed tool and a context without observers, created once.
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

    /// Returns the document that is published and enforced; the other libraries get the same one.
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

/// Returns the tool that answers with [`Arguments::answer`].
pub(crate) fn typed<A: Arguments>() -> Result<Tool, turnwright_core::Error> {
    Tool::typed::<A>(A::TOOL)
        .description(A::DESCRIPTION)
        .handler(|args: A, _context: ToolContext| async move { args.answer() })
        .build()
}
