//! Keywords that can have no effect on the type of their place: a slip of the author's, where the author is ours.

use referencing::Draft;
use serde_json::Value;

use super::keywords;
use super::plan::{Node, NodeId, Types};
use super::pointer::join;
use super::problem::SchemaProblem;

/// Rejects every keyword that waits for a type which its place cannot have.
pub(crate) fn reject_idle(
    document: &Value,
    draft: Draft,
    nodes: &[Node],
    problems: &mut Vec<SchemaProblem>,
) {
    for (id, node) in nodes.iter().enumerate() {
        let Some(map) = document.pointer(&node.pointer).and_then(Value::as_object) else {
            continue;
        };
        for name in map.keys() {
            let types = keywords::keyword(draft, name).map_or(&[][..], |keyword| keyword.types);
            let waited = types
                .iter()
                .filter_map(|name| Types::named(name))
                .fold(Types::default(), Types::or);
            if !types.is_empty()
                && allowed_at(nodes, id).is_some_and(|allowed| !allowed.allows(waited))
            {
                let message = format!(
                    "has no effect here: it waits for a value of type {}",
                    types.join(" or ")
                );
                problems.push(SchemaProblem::new(join(&node.pointer, name), message));
            }
        }
    }
}

/// The types that the place of `id` can have, by all that holds for it; `None` for any. No circle: they are rejected.
fn allowed_at(nodes: &[Node], id: NodeId) -> Option<Types> {
    let node = nodes.get(id)?;
    let same_place = node.same_place.iter().map(|same| allowed_at(nodes, *same));
    let unions = node.unions.iter().map(|branches| {
        branches.iter().try_fold(Types::default(), |all, branch| {
            Some(all.or(allowed_at(nodes, *branch)?))
        })
    });
    same_place
        .chain(unions)
        .fold(node.allowed, |allowed, more| match (allowed, more) {
            (Some(allowed), Some(more)) => Some(allowed.and(more)),
            (one, other) => one.or(other),
        })
}
