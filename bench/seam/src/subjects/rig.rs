//! rig's `ToolSet`: deserialises text into the struct, without validation.

/// The subject is the same for every release of rig; only the crate differs.
macro_rules! rig {
    ($agent:ident, $version:literal) => {
        use std::{convert::Infallible, hint::black_box, marker::PhantomData};

        use serde_json::Value;
        use tokio::runtime::Runtime;
        use turnwright_bench_measure::Subject;
        use $agent::tool::{Tool, ToolContext, ToolResult, ToolSet};

        use crate::{arguments::Arguments, subjects::Reply};

        pub(crate) const CALL: &str = concat!("rig ", $version, ": `ToolSet::execute`");

        struct Answering<A> {
            document: Value,
            arguments: PhantomData<fn() -> A>,
        }

        impl<A: Arguments> Tool for Answering<A> {
            const NAME: &'static str = A::TOOL;
            type Args = A;
            type Output = String;
            type Error = Infallible;

            fn description(&self) -> String {
                A::DESCRIPTION.to_owned()
            }

            fn parameters(&self) -> Value {
                self.document.clone()
            }

            async fn call(
                &self,
                _context: &mut ToolContext,
                args: A,
            ) -> Result<String, Infallible> {
                Ok(args.answer())
            }
        }

        /// A set with one tool.
        pub(crate) struct Rig<A> {
            tools: ToolSet,
            arguments: PhantomData<fn() -> A>,
        }

        impl<A: Arguments> Rig<A> {
            pub(crate) fn new(document: &Value) -> Self {
                let mut tools = ToolSet::default();
                tools.add_tool(Answering::<A> {
                    document: document.clone(),
                    arguments: PhantomData,
                });
                Self {
                    tools,
                    arguments: PhantomData,
                }
            }

            async fn call(&self, text: &str, context: &mut ToolContext) -> ToolResult {
                self.tools.execute(A::TOOL, text, context).await
            }

            pub(crate) async fn reply(&self, text: &str) -> Reply {
                let result = self.call(text, &mut ToolContext::new()).await;
                let shown = result.output().render();
                if result.is_success() {
                    Reply::Answered(shown)
                } else {
                    Reply::Refused(shown)
                }
            }

            pub(crate) fn subject<'a>(
                &'a self,
                section: &'static str,
                runtime: &'a Runtime,
            ) -> Subject<'a> {
                let mut context = ToolContext::new();
                Subject::awaited(section, CALL, runtime, async move || {
                    self.call(black_box(A::VALID), &mut context).await
                })
            }
        }
    };
}

/// The last release that supports the compiler of this workspace.
pub(crate) mod declared {
    rig!(rig_agent, "0.44");
}

/// The newest release.
#[cfg(feature = "rig-newest")]
pub(crate) mod newest {
    rig!(rig_agent_newest, "0.46");
}
