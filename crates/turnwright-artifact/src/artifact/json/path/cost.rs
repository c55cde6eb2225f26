//! Estimates the cost of a path on a document before evaluation, because evaluation cannot be interrupted.

use serde_json::Value;

use super::layout::Layout;
use crate::artifact::page::clip;
use crate::error::Error;

/// Maximum number of node visits.
const MOST: u64 = 20_000_000;
/// Cost of compiling a pattern, in node visits.
const PATTERN: u64 = 100;
/// Cost of compiling a pattern that comes from the document and may have the maximum size.
const FOUND_PATTERN: u64 = 20_000;
/// A string counts as one more node per this many bytes, because it may be compared.
const BYTES: u64 = 32;

/// Rejects a path that might visit too many nodes of a document.
pub(super) fn check(path: &str, layout: &Layout, document: &Value) -> Result<(), Error> {
    let (nodes, levels) = size(document);
    // Each selector visits its nodes again. A further `..` or filter may start again at every level. A reference to `$` visits
    // the whole document for every node, and again for every node of a nested filter. A pattern is compiled for every node.
    let below = layout.deep.saturating_add(layout.nested_filters);
    let (written, found) = layout.patterns;
    let looks = nodes.saturating_pow(layout.roots.min(layout.nested_filters));
    let all = [
        layout.again,
        levels.saturating_pow(below.saturating_sub(1)),
        u64::from(layout.filters + layout.roots).saturating_add(1),
        looks.saturating_add(written * PATTERN + found * FOUND_PATTERN),
    ];
    if all.into_iter().fold(nodes, u64::saturating_mul) > MOST {
        return Err(too_many_steps(path));
    }
    Ok(())
}

pub(super) fn too_many_steps(path: &str) -> Error {
    let path = clip(path, 100);
    Error::bad_artifact_query(format!(
        "`{path}` takes too many steps on this document. Use a narrower path: fewer `..`, fewer selectors in one pair of \
         brackets, and no filter that refers to `$` or matches a pattern on many nodes."
    ))
}

/// Returns the number of nodes of a document, where long strings count more, and its depth. Not recursive.
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
