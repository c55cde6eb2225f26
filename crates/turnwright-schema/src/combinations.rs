//! How often one place of a value would be looked at, where unions stand within unions.

use super::plan::{Node, NodeId, depth_first};
use super::problem::SchemaProblem;

/// Ways to come to one place of the value. The validator tries all of them if the value is wrong there.
const MOST: u64 = 100_000;

/// Rejects documents in which alternatives lead to alternatives so often that a small value would be checked for ever. What
/// refers to itself is not counted here: the validator remembers what it has tried there.
pub(crate) fn reject_combinations(
    nodes: &[Node],
    edges: &[Vec<NodeId>],
    problems: &mut Vec<SchemaProblem>,
) {
    let here = |id: NodeId| edges.get(id).into_iter().flatten().copied();
    let below = |id: NodeId| nodes.get(id).into_iter().flat_map(Node::below);
    let next = |id: NodeId| {
        let mut next: Vec<NodeId> = here(id).chain(below(id)).collect();
        next.reverse();
        next
    };
    let mut known = vec![1_u64; nodes.len()];
    for id in depth_first(nodes.len(), next, |_| {}) {
        let ways = |id: NodeId| known.get(id).copied().unwrap_or(1);
        // Everything that looks at the same place leads on by itself. Parts of a value are apart: the one with the most
        // ways counts.
        let all = here(id).fold(0_u64, |sum, next| sum.saturating_add(ways(next)));
        let all = all.saturating_add(below(id).map(ways).max().unwrap_or(0));
        if let (true, Some(node)) = (all > MOST, nodes.get(id)) {
            let message = "unions within unions lead here to more than 100,000 ways to check one value: use fewer \
                           alternatives, or fewer levels of them";
            problems.push(SchemaProblem::new(&node.pointer, message));
            return;
        }
        if let Some(slot) = known.get_mut(id) {
            *slot = all.max(1);
        }
    }
}
