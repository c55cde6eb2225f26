//! Rejects keywords that have no effect on the type at their location. Applied to documents that we generate, where
//! they are mistakes of the author.

use referencing::Draft;
use serde_json::Value;

use super::keywords;
use super::plan::{Node, NodeId, Types};
use super::pointer::join;
use super::problem::SchemaProblem;

/// Rejects every keyword that applies only to types that its location cannot have.
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
            let applicable = types
                .iter()
                .filter_map(|name| Types::named(name))
                .fold(Types::default(), Types::or);
            if !types.is_empty()
                && allowed_at(nodes, id).is_some_and(|allowed| !allowed.allows(applicable))
            {
                let message = format!(
                    "has no effect here: it applies only to values of type {}",
                    types.join(" or ")
                );
                problems.push(SchemaProblem::new(join(&node.pointer, name), message));
            }
        }
    }
}

/// Returns the types that the location of `id` can have, considering everything that applies to it; `None` for any
/// type. Terminates because circular references are rejected.
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
