//! What a path would cost on a document, before it is followed: the evaluation cannot be stopped half way.

use serde_json::Value;

use super::layout::Layout;
use super::shorten;
use crate::error::Error;

/// Levels of a document that are followed: as many as JSON text may have, and one for the array of records.
const DEEPEST: u64 = 129;
/// The most nodes that may be looked at.
const MOST: u64 = 20_000_000;
/// What it takes to compile a pattern, in nodes that could be looked at meanwhile.
const PATTERN: u64 = 100;
/// The same for a pattern that stands in the document, and may be as large as patterns can be.
const FOUND_PATTERN: u64 = 20_000;
/// A text of so many bytes counts as one node more: it may be compared.
const BYTES: u64 = 32;

/// Refuses a path that might look at too many nodes of a document, or a document with too many levels.
pub(super) fn check(path: &str, layout: &Layout, document: &Value) -> Result<(), Error> {
    let (nodes, levels) = size(document);
    if levels > DEEPEST {
        let path = shorten(path, 100);
        return Err(Error::bad_artifact_query(format!(
            "The document is nested too deeply for `{path}`. Read it as text: artifact_grep, artifact_cat."
        )));
    }
    // Nodes are taken again for each selector; a further descent, or a filter, may begin at every level again; a look at
    // the whole document is made for every node, and again for each in a filter within; a pattern is compiled for each.
    let below = layout.deep.saturating_add(layout.nested_filters);
    let (written, found) = layout.patterns;
    let looks = nodes.saturating_pow(layout.roots.min(layout.nested_filters));
    let all = [
        layout.again,
        levels.saturating_pow(below.saturating_sub(1)),
        u64::from(layout.filters + layout.roots).saturating_add(1),
        looks.saturating_add(written * PATTERN + found * FOUND_PATTERN),
    ];
    match all.into_iter().fold(nodes, u64::saturating_mul) > MOST {
        true => Err(too_many_steps(path)),
        false => Ok(()),
    }
}

pub(super) fn too_many_steps(path: &str) -> Error {
    let path = shorten(path, 100);
    Error::bad_artifact_query(format!(
        "`{path}` takes too many steps on this document. Use a narrower path: fewer `..`, fewer selectors in one pair of \
         brackets, and no filter that looks at `$` or compiles a pattern for each of many nodes."
    ))
}

/// How many nodes a document has, long texts counting more, and how many levels. Does not recurse.
fn size(document: &Value) -> (u64, u64) {
    let (mut nodes, mut levels) = (0, 0);
    let mut waiting = vec![(document, 1)];
    while let Some((node, level)) = waiting.pop() {
        nodes += 1;
        levels = levels.max(level);
        match node {
            Value::Array(items) => waiting.extend(items.iter().map(|child| (child, level + 1))),
            Value::Object(members) => {
                waiting.extend(members.values().map(|child| (child, level + 1)));
            }
            Value::String(text) => nodes += text.len() as u64 / BYTES,
            _ => {}
        }
    }
    (nodes, levels)
}
