//! What a path would cost on a document, before it is followed: the evaluation cannot be stopped half way.

use serde_json::Value;

use super::layout::Layout;
use super::shorten;
use crate::error::Error;

/// Levels of a document that are followed: as many as JSON text may have, and one for the array of records.
const DEEPEST: u64 = 129;
/// The most nodes that may be looked at.
const MOST: u64 = 50_000_000;

/// An upper bound for the nodes that are looked at, and the levels of the document.
pub(super) struct Cost {
    nodes: u64,
    levels: u64,
}

impl Cost {
    pub(super) fn of(document: &Value, layout: &Layout) -> Self {
        let (nodes, levels) = size(document);
        // Each selector may take the same children again; each further descent may start at every level again; a look at
        // many nodes of the whole document is made for every node, and again for each of those in a filter within.
        let selectors = layout
            .segments
            .iter()
            .map(|it| it.parts.len().max(1) as u64);
        let again = selectors.fold(1, u64::saturating_mul);
        let descents = levels.saturating_pow(layout.deep.saturating_sub(1));
        let looks = nodes.saturating_pow(layout.broad_roots.min(layout.nested_filters));
        let filters = u64::from(layout.filters + layout.roots).saturating_add(1);
        let all = [again, descents, looks, filters];
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
         brackets, and no filter that looks at all of `$` for each node."
    ))
}

/// How many nodes a document has, and how many levels. Does not recurse.
fn size(document: &Value) -> (u64, u64) {
    let (mut nodes, mut levels) = (0, 0);
    let mut waiting = vec![(document, 1)];
    while let Some((node, level)) = waiting.pop() {
        nodes += 1;
        levels = levels.max(level);
        match node {
            Value::Array(items) => waiting.extend(items.iter().map(|it| (it, level + 1))),
            Value::Object(members) => waiting.extend(members.values().map(|it| (it, level + 1))),
            _ => {}
        }
    }
    (nodes, levels)
}
