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

/// An upper bound for the nodes that are looked at, and the levels of the document.
pub(super) struct Cost {
    nodes: u64,
    levels: u64,
}

impl Cost {
    pub(super) fn of(document: &Value, layout: &Layout) -> Self {
        let (nodes, levels) = size(document);
        // Nodes are taken again for each selector; a further descent, or a filter, may begin at every level again; a look at
        // the whole document is made for every node, and again for each in a filter within; a pattern is compiled for each.
        let below = layout.deep.saturating_add(layout.nested_filters);
        let (written, found) = layout.patterns;
        let (written, found) = (u64::from(written), u64::from(found));
        let looks = nodes.saturating_pow(layout.roots.min(layout.nested_filters));
        let all = [
            layout.again,
            levels.saturating_pow(below.saturating_sub(1)),
            u64::from(layout.filters + layout.roots).saturating_add(1),
            looks.saturating_add(written * PATTERN + found * FOUND_PATTERN),
        ];
        Cost {
            nodes: all.into_iter().fold(nodes, u64::saturating_mul),
            levels,
        }
    }

    pub(super) fn check(&self, path: &str) -> Result<(), Error> {
        if self.levels > DEEPEST {
            let path = shorten(path, 100);
            return Err(Error::bad_artifact_query(format!(
                "The document is nested too deeply for `{path}`. Read it as text: artifact_grep, artifact_cat."
            )));
        }
        match self.nodes > MOST {
            true => Err(too_many_steps(path)),
            false => Ok(()),
        }
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
            Value::Array(items) => waiting.extend(items.iter().map(|it| (it, level + 1))),
            Value::Object(members) => waiting.extend(members.values().map(|it| (it, level + 1))),
            Value::String(text) => nodes += text.len() as u64 / BYTES,
            _ => {}
        }
    }
    (nodes, levels)
}
