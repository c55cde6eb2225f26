//! Tools that run elsewhere: only their results are recorded here.

use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};

use super::handler::Handler;
use super::{Facts, Inner, Tool};
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
        let own = own.map(|own| Facts::clone(&own.0.facts));
        let facts = Facts {
            name: Arc::clone(name),
            artifact_tool: false,
            trusted: false,
            timeout: None,
            approval: None,
            ..own.unwrap_or_default()
        };
        Tool(Arc::new(Inner {
            facts: Arc::new(facts),
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
