//! Tools whose schemas some servers refuse.

use turnwright_core::event::Level;
use turnwright_core::{DispatchContext, Tool};

use super::builder::Adapter;

/// What may not stand at the root of a schema at many servers.
const AT_THE_ROOT: &[&str] = &[
    "anyOf", "oneOf", "allOf", "not", "enum", "const", "$ref", "if",
];

/// The most fingerprints that are kept: beyond, a tool may be named again.
const MOST_SEEN: usize = 10_000;

/// Names the tools whose schemas a server is likely to refuse, to operators, when they are first seen.
pub(super) fn name_unions(adapter: &Adapter, tools: &[Tool], ctx: &DispatchContext) {
    for tool in tools {
        let unseen = {
            let mut seen = adapter.seen.lock();
            if seen.len() >= MOST_SEEN {
                seen.clear();
            }
            !seen.contains(tool.fingerprint()) && seen.insert(tool.fingerprint().to_owned())
        };
        if let (true, Some(keyword)) = (unseen, union_of(tool)) {
            let name = tool.name();
            ctx.log(
                Level::Warn,
                format!(
                    "many model servers refuse the tool `{name}`: its schema has `{keyword}` at the root; put the alternatives into a field of an object"
                ),
            );
        }
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
