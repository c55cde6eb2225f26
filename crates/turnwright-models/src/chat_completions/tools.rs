//! Writes tools as JSON of the protocol.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use turnwright_core::event::Level;
use turnwright_core::{DispatchContext, Tool};

use super::options::Options;

/// Keywords that many servers reject at the root of a schema.
const REJECTED_AT_ROOT: &[&str] = &[
    "anyOf", "oneOf", "allOf", "not", "enum", "const", "$ref", "if",
];

/// The capacity of the cache. It is cleared when it is full.
const MAX_CACHED: usize = 10_000;

/// A cache of tools in JSON, keyed by fingerprint: they rarely change and can be large.
#[derive(Default)]
pub(super) struct WrittenTools(Mutex<HashMap<String, Arc<str>>>);

impl WrittenTools {
    /// Returns the tools of a turn, followed by those of the provider. Logs a warning the first time it sees a tool
    /// that many servers reject.
    pub(super) fn of(
        &self,
        tools: &[Tool],
        options: &Options,
        ctx: &DispatchContext,
    ) -> Vec<Arc<str>> {
        let theirs = options.provider_tools();
        let mut texts = Vec::with_capacity(tools.len() + theirs.len());
        let mut unions = Vec::new();
        let mut cache = self.0.lock();
        for tool in tools {
            if let Some(text) = cache.get(tool.fingerprint()) {
                texts.push(Arc::clone(text));
                continue;
            }
            if cache.len() >= MAX_CACHED {
                cache.clear();
            }
            let text = Arc::<str>::from(written(tool));
            cache.insert(tool.fingerprint().to_owned(), Arc::clone(&text));
            texts.push(text);
            unions.extend(union_of(tool).map(|keyword| (tool.name(), keyword)));
        }
        drop(cache);
        for (name, keyword) in unions {
            let message = format!(
                "many model servers reject the tool `{name}`: its schema has `{keyword}` at the root; put the alternatives into a field of an object"
            );
            ctx.log(Level::Warn, message);
        }
        texts.extend(theirs.iter().map(|tool| tool.to_string().into()));
        texts
    }
}

/// Returns the tools that a server is likely to reject.
pub(super) fn unions(tools: &[Tool]) -> impl Iterator<Item = &str> {
    let has = |tool: &&Tool| union_of(tool).is_some();
    tools.iter().filter(has).map(Tool::name)
}

fn union_of(tool: &Tool) -> Option<&'static str> {
    let document = tool.schema().document();
    let found = REJECTED_AT_ROOT
        .iter()
        .find(|keyword| document.get(**keyword).is_some());
    found.copied()
}

/// Returns a tool in JSON, with the schema that is enforced.
fn written(tool: &Tool) -> String {
    let described = tool.describe();
    let mut parameters = described.input_schema.clone();
    // Some servers reject an object without properties.
    if let Value::Object(map) = &mut parameters {
        map.entry("properties").or_insert_with(|| json!({}));
    }
    let function = json!({
        "name": described.name,
        "description": described.description,
        "parameters": parameters,
    });
    json!({ "type": "function", "function": function }).to_string()
}
