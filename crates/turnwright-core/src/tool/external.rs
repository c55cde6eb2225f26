//! Tools that run elsewhere: only their results are recorded here.

use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};

use super::handler::Handler;
use super::{Inner, Tool, ToolBuilder};
use crate::schema::{CheckedArgs, RawArgs, Schema};
use crate::tool::context::ToolContext;

/// Accepts every object.
static ANY_OBJECT: LazyLock<Schema> = LazyLock::new(|| {
    #[expect(
        clippy::expect_used,
        reason = "the document is a constant, and tests build it"
    )]
    Schema::from_document(json!({ "type": "object" })).expect("this document is a valid schema")
});

impl Tool {
    /// Creates a tool without a handler. Results are stored like those of `own`, if there is such a tool.
    pub(crate) fn external(name: &Arc<str>, own: Option<&Tool>) -> Tool {
        let mut builder = ToolBuilder::<Value>::new(String::from(&**name), Ok(ANY_OBJECT.clone()));
        if let Some(Tool(own)) = own {
            let facts = &mut builder.facts;
            facts.artifact_kind = own.facts.artifact_kind;
            facts.inline = own.facts.inline;
            facts.max_result_bytes = own.facts.max_result_bytes;
            facts.meta = own.facts.meta.clone();
            facts.source.clone_from(&own.facts.source);
            (facts.reads_private, facts.sends_out) = (own.facts.reads_private, own.facts.sends_out);
            facts.result_hooks.clone_from(&own.facts.result_hooks);
        }
        builder.facts.timeout = None;
        Tool(Arc::new(Inner {
            facts: Arc::new(builder.facts),
            schema: ANY_OBJECT.clone(),
            handler: Handler::from_async(async |_: Value, _: ToolContext| ()),
        }))
    }

    /// Returns the arguments of a call that was not checked. If they are not an object, returns an empty one.
    pub(crate) fn any_args(&self, raw: &RawArgs) -> CheckedArgs {
        let checked = ANY_OBJECT.check(raw.clone());
        checked.unwrap_or_else(|_| CheckedArgs::none())
    }
}
