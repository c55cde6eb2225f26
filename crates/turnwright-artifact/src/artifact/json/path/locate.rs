//! Normalised paths of nodes (RFC 9535, section 2.7). Most nodes are only counted, so paths are computed on demand.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use serde_json::Value;
use serde_json_path::PathElement;

/// Number of nodes located per traversal: about as many as a page shows.
const TOGETHER: usize = 256;

/// The nodes found in a document, in order.
pub(super) struct Found<'v> {
    document: &'v Value,
    pub(super) nodes: Vec<&'v Value>,
    /// The paths computed last, and the index of the first of them.
    located: RefCell<(usize, Vec<String>)>,
}

/// The location of a node.
pub(in crate::artifact::json) struct Place<'p> {
    pub(super) found: &'p Found<'p>,
    pub(super) index: usize,
    /// In JSON Lines, the index of the record, and the path of the record in the document that was searched.
    pub(super) record: Option<(u64, &'static str)>,
}

impl Place<'_> {
    /// Returns the normalised path.
    pub(in crate::artifact::json) fn path(&self) -> String {
        let path = self.found.path(self.index);
        let Some((record, root)) = self.record else {
            return path;
        };
        let below = path.strip_prefix(root).unwrap_or_default();
        format!("$[{record}]{below}")
    }
}

impl<'v> Found<'v> {
    pub(super) fn new(document: &'v Value, nodes: Vec<&'v Value>) -> Self {
        Found {
            document,
            nodes,
            located: RefCell::default(),
        }
    }

    /// Returns the normalised path of a node.
    fn path(&self, index: usize) -> String {
        let mut located = self.located.borrow_mut();
        let (first, paths) = &*located;
        if !(*first..first + paths.len()).contains(&index) {
            *located = (index, self.locate(index, TOGETHER));
        }
        let (first, paths) = &*located;
        paths.get(index - first).cloned().unwrap_or_default()
    }

    /// Computes the paths of up to `count` nodes. Nodes are compared by address, which cannot change while the document is
    /// borrowed.
    pub(super) fn locate(&self, first: usize, count: usize) -> Vec<String> {
        let wanted = self.nodes.iter().skip(first).take(count);
        let wanted = wanted.map(|node| address(node));
        let mut walk = Walk {
            missing: wanted.clone().collect(),
            paths: HashMap::new(),
            at: Vec::new(),
        };
        walk.visit(self.document);
        wanted
            .map(|node| walk.paths.get(&node).cloned().unwrap_or_default())
            .collect()
    }
}

fn address(node: &Value) -> usize {
    std::ptr::from_ref(node).addr()
}

struct Walk<'v> {
    missing: HashSet<usize>,
    paths: HashMap<usize, String>,
    at: Vec<PathElement<'v>>,
}

impl<'v> Walk<'v> {
    /// Recursive. The depth of the document has been checked before.
    fn visit(&mut self, node: &'v Value) {
        if self.missing.remove(&address(node)) {
            self.paths.insert(address(node), normalised(&self.at));
        }
        match node {
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.enter(PathElement::Index(index), item);
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    self.enter(PathElement::Name(name), member);
                }
            }
            _ => {}
        }
    }

    fn enter(&mut self, step: PathElement<'v>, node: &'v Value) {
        if !self.missing.is_empty() {
            self.at.push(step);
            self.visit(node);
            self.at.pop();
        }
    }
}

fn normalised(steps: &[PathElement<'_>]) -> String {
    let mut path = String::from("$");
    for step in steps {
        // Writing to a string cannot fail.
        let _ = match step {
            PathElement::Index(index) => write!(path, "[{index}]"),
            PathElement::Name(name) => {
                // Quoted as in JSON, except that the single quote is escaped.
                let json = Value::from(*name).to_string();
                let json = json.get(1..json.len() - 1).unwrap_or_default();
                let name = json.replace("\\\"", "\"").replace('\'', "\\'");
                write!(path, "['{name}']")
            }
        };
    }
    path
}
