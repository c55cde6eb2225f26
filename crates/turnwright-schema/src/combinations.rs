//! How often one place of a value would be looked at, where unions stand within unions.

use super::plan::{Node, NodeId};
use super::problem::SchemaProblem;

/// Ways to come to one place of the value. The validator tries all of them if the value is wrong there.
const MOST: u64 = 100_000;

/// Refuses documents in which alternatives lead to alternatives so often that a small value would be checked for ever. What
/// refers to itself is not counted here: the validator remembers what it has tried there.
pub(crate) fn refuse_combinations(
    nodes: &[Node],
    edges: &[Vec<NodeId>],
    problems: &mut Vec<SchemaProblem>,
) {
    let mut ways = Ways {
        nodes,
        edges,
        known: vec![State::New; nodes.len()],
    };
    for id in 0..nodes.len() {
        if let Some(pointer) = ways.measure(id) {
            let message = "unions within unions lead here to more than 100,000 ways to check one value: use fewer \
                           alternatives, or fewer levels of them";
            problems.push(SchemaProblem::new(pointer, message));
            return;
        }
    }
}

#[derive(Clone, Copy)]
enum State {
    New,
    Open,
    Done(u64),
}

struct Ways<'a> {
    nodes: &'a [Node],
    /// The subschemas that look at the same place.
    edges: &'a [Vec<NodeId>],
    known: Vec<State>,
}

impl Ways<'_> {
    /// Counts from here on, with a stack of its own. Gives the place at which there are too many.
    fn measure(&mut self, start: NodeId) -> Option<String> {
        let mut stack = vec![(start, false)];
        while let Some((id, entered)) = stack.pop() {
            let node = self.nodes.get(id)?;
            if entered {
                let ways = self.here(id).saturating_add(self.below(node)).max(1);
                *self.known.get_mut(id)? = State::Done(ways);
                if ways > MOST {
                    return Some(node.pointer.clone());
                }
            } else if let Some(State::New) = self.known.get(id) {
                *self.known.get_mut(id)? = State::Open;
                stack.push((id, true));
                let here = self.edges.get(id).into_iter().flatten().copied();
                stack.extend(here.chain(node.below()).map(|next| (next, false)));
            }
        }
        None
    }

    /// Everything that looks at the same place leads on by itself.
    fn here(&self, id: NodeId) -> u64 {
        let here = self.edges.get(id).into_iter().flatten();
        here.fold(0, |sum, next| sum.saturating_add(self.ways(*next)))
    }

    /// Parts of a value are apart: the one with the most ways counts.
    fn below(&self, node: &Node) -> u64 {
        node.below().map(|next| self.ways(next)).max().unwrap_or(0)
    }

    fn ways(&self, id: NodeId) -> u64 {
        match self.known.get(id) {
            Some(State::Done(ways)) => *ways,
            _ => 1,
        }
    }
}
