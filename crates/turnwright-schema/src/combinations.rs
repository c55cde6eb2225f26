//! Limits how often nested unions make the validator look at one location of a value.

use super::plan::{Node, NodeId, depth_first};
use super::problem::SchemaProblem;

/// The maximum number of ways to reach one location of the value. The validator tries all of them if the value is
/// invalid there.
const MAX_WAYS: u64 = 100_000;

/// Rejects documents in which nested alternatives would make checking a small value practically endless. Recursive
/// references are not counted: the validator remembers what it has tried there.
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
        // Subschemas for the same location add up. Parts of a value are independent, so the one with the most ways
        // counts.
        let all = here(id).fold(0_u64, |sum, next| sum.saturating_add(ways(next)));
        let all = all.saturating_add(below(id).map(ways).max().unwrap_or(0));
        if let (true, Some(node)) = (all > MAX_WAYS, nodes.get(id)) {
            let message = "nested unions give more than 100,000 ways to check one value: use fewer \
                           alternatives or fewer levels";
            problems.push(SchemaProblem::new(&node.pointer, message));
            return;
        }
        if let Some(slot) = known.get_mut(id) {
            *slot = all.max(1);
        }
    }
}
