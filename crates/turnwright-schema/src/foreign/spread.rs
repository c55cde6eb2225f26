//! Follows what is not enforced to where it could make the document stricter.
//!
//! Dropping an assertion makes its schema accept more. Most keywords then accept more as well. `not`, `if` and the
//! like may accept less, and a keyword for unevaluated parts may accept less if a neighbour evaluates less. Those are
//! dropped too, which makes the schema around them accept more, and so on.

use super::survey::{Node, NodeId};
use super::verdict::Verdict;
use crate::pointer::join;
use crate::text::escape;

/// Drops or weakens every keyword that could reject what the original accepts.
pub(super) fn spread(nodes: &mut [Node<'_>]) {
    let users = users(nodes);
    for node in nodes.iter_mut() {
        drop_unevaluated(node);
    }
    let mut open: Vec<NodeId> = (0..nodes.len()).collect();
    while let Some(id) = open.pop() {
        let Some(node) = nodes.get(id) else {
            continue;
        };
        let (cause, evaluates_less) = (node.cause.clone(), node.evaluates_less);
        if cause.is_none() && !evaluates_less {
            continue;
        }
        for (user, keyword) in users.get(id).into_iter().flatten() {
            let Some(user_node) = nodes.get_mut(*user) else {
                continue;
            };
            let before = (user_node.cause.is_some(), user_node.evaluates_less);
            pass_on(user_node, keyword, cause.as_ref(), evaluates_less);
            if before != (user_node.cause.is_some(), user_node.evaluates_less) {
                open.push(*user);
            }
        }
    }
}

/// Returns for each node the nodes that apply it, each with the keyword.
fn users(nodes: &[Node<'_>]) -> Vec<Vec<(NodeId, String)>> {
    let mut users: Vec<Vec<(NodeId, String)>> = vec![Vec::new(); nodes.len()];
    for (id, node) in nodes.iter().enumerate() {
        let target = node.target.map(|target| ("$ref", target));
        for (keyword, child) in node.children.iter().copied().chain(target) {
            if let Some(users) = users.get_mut(child) {
                users.push((id, keyword.to_owned()));
            }
        }
    }
    users
}

fn pass_on(user: &mut Node<'_>, keyword: &str, cause: Option<&String>, evaluates_less: bool) {
    if !user.has(keyword) {
        return;
    }
    if let Some(cause) = cause {
        user.cause.get_or_insert_with(|| cause.clone());
        let shown = escape(cause, 200);
        match keyword {
            "not" | "if" | "contains" | "dependentSchemas" | "dependencies" => {
                let reason = format!(
                    "could reject what the original accepts, because {shown} is not enforced"
                );
                user.drop_dependent(keyword, reason);
            }
            "oneOf" => {
                let reason = format!(
                    "is published as `anyOf`, because {shown} is not enforced and two alternatives could match"
                );
                user.weaken_one_of(reason);
            }
            _ => {}
        }
    }
    let same_place = matches!(
        keyword,
        "$ref" | "allOf" | "anyOf" | "oneOf" | "if" | "then" | "else" | "dependentSchemas"
    );
    user.evaluates_less |= evaluates_less && same_place;
    drop_unevaluated(user);
}

/// Drops the keywords for unevaluated parts if less is evaluated than in the original.
fn drop_unevaluated(node: &mut Node<'_>) {
    for keyword in ["unevaluatedProperties", "unevaluatedItems"] {
        if node.evaluates_less && node.has(keyword) {
            let reason = "depends on keywords that are not enforced";
            node.drop_dependent(keyword, reason.to_owned());
        }
    }
}

impl Node<'_> {
    fn weaken_one_of(&mut self, reason: String) {
        let own = self.map().and_then(|map| map.get_key_value("oneOf"));
        if let Some((keyword, _)) = own
            && !self.verdicts.contains_key("oneOf")
        {
            let place = join(&self.pointer, keyword);
            self.cause.get_or_insert(place);
            self.verdicts.insert(keyword, Verdict::Weaken(reason));
        }
    }
}
