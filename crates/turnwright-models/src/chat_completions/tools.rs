//! Tools as a server is shown them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Map, Value};
use turnwright_core::event::Level;
use turnwright_core::{DispatchContext, Tool};

use super::options::Options;

/// What may not stand at the root of a schema at many servers.
const AT_THE_ROOT: &[&str] = &[
    "anyOf", "oneOf", "allOf", "not", "enum", "const", "$ref", "if",
];

/// The most tools that are kept: beyond, they are written and named again.
const MOST_KEPT: usize = 10_000;

/// Tools as they go over the wire, by their fingerprint: they seldom change, and may be large.
#[derive(Default)]
pub(super) struct WrittenTools(Mutex<HashMap<String, Arc<str>>>);

impl WrittenTools {
    /// The tools of a turn, then those of the provider. One that is seen for the first time and that many servers will refuse
    /// is named to operators.
    pub(super) fn of(
        &self,
        tools: &[Tool],
        options: &Options,
        ctx: &DispatchContext,
    ) -> Vec<Arc<str>> {
        let theirs = options.provider_tools();
        let mut texts = Vec::with_capacity(tools.len() + theirs.len());
        let mut unions = Vec::new();
        let mut kept = self.0.lock();
        for tool in tools {
            if let Some(text) = kept.get(tool.fingerprint()) {
                texts.push(Arc::clone(text));
                continue;
            }
            if kept.len() >= MOST_KEPT {
                kept.clear();
            }
            let text = Arc::<str>::from(written(tool));
            kept.insert(tool.fingerprint().to_owned(), Arc::clone(&text));
            texts.push(text);
            unions.extend(union_of(tool).map(|keyword| (tool.name(), keyword)));
        }
        drop(kept);
        for (name, keyword) in unions {
            let message = format!(
                "many model servers refuse the tool `{name}`: its schema has `{keyword}` at the root; put the alternatives into a field of an object"
            );
            ctx.log(Level::Warn, message);
        }
        texts.extend(theirs.iter().map(|tool| tool.to_string().into()));
        texts
    }
}

/// The tools among these that a server is likely to refuse.
pub(super) fn unions(tools: &[Tool]) -> impl Iterator<Item = &str> {
    let has = |tool: &&Tool| union_of(tool).is_some();
    tools.iter().filter(has).map(Tool::name)
}

fn union_of(tool: &Tool) -> Option<&'static str> {
    let document = tool.schema().document();
    let found = AT_THE_ROOT.iter().find(|it| document.get(**it).is_some());
    found.copied()
}

/// A tool as the model is shown it: the document that is enforced, and no other.
fn written(tool: &Tool) -> String {
    #[derive(Serialize)]
    struct Written<'t> {
        r#type: &'static str,
        function: Function<'t>,
    }
    #[derive(Serialize)]
    struct Function<'t> {
        name: &'t str,
        description: &'t str,
        parameters: &'t Value,
    }
    let described = tool.describe();
    let parameters = with_properties(described.input_schema);
    let written = Written {
        r#type: "function",
        function: Function {
            name: described.name,
            description: described.description,
            parameters: &parameters,
        },
    };
    // Text and JSON values can always be written.
    serde_json::to_string(&written).unwrap_or_default()
}

/// The document as it is. Where it names no properties, an empty list of them is said, which changes nothing: some servers
/// refuse an object without.
fn with_properties(document: &Value) -> Cow<'_, Value> {
    match document {
        Value::Object(map) if !map.contains_key("properties") => {
            let mut map = map.clone();
            map.insert("properties".to_owned(), Value::Object(Map::new()));
            Cow::Owned(Value::Object(map))
        }
        _ => Cow::Borrowed(document),
    }
}
