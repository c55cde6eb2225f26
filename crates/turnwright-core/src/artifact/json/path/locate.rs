//! Where nodes are. Most are only counted, so paths are made for those that are asked for.

use std::cell::RefCell;
use std::collections::HashMap;

use serde_json::Value;

use super::location::{Step, normalised};

/// So many nodes are located in one walk: about as many as an answer shows.
const TOGETHER: usize = 256;

/// What was found in a document, in order.
pub(super) struct Found<'v> {
    document: &'v Value,
    pub(super) nodes: Vec<&'v Value>,
    located: RefCell<Located>,
}

/// The normalised paths of some of them, from one on.
#[derive(Default)]
struct Located {
    from: usize,
    paths: Vec<String>,
}

/// Where a node is.
pub(in crate::artifact::json) struct Place<'p> {
    found: &'p Found<'p>,
    index: usize,
    record: Option<Record>,
}

/// The record of a node in JSON lines, and whether it was looked at in an array of its own.
#[derive(Clone, Copy)]
struct Record {
    index: u64,
    in_array: bool,
}

impl<'p> Place<'p> {
    pub(super) fn in_document(found: &'p Found<'p>, index: usize) -> Self {
        Place {
            found,
            index,
            record: None,
        }
    }

    /// The same place in one of many records.
    pub(super) fn in_record(&self, index: u64, in_array: bool) -> Place<'p> {
        Place {
            found: self.found,
            index: self.index,
            record: Some(Record { index, in_array }),
        }
    }

    /// The normalised path.
    pub(in crate::artifact::json) fn path(&self) -> String {
        let path = self.found.path(self.index);
        let Some(Record { index, in_array }) = self.record else {
            return path;
        };
        let root = if in_array { "$[0]" } else { "$" };
        let below = path.strip_prefix(root).unwrap_or_default();
        format!("$[{index}]{below}")
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

    /// Finds out where all of them are, for whoever wants to know of all.
    pub(super) fn locate_all(&self) {
        *self.located.borrow_mut() = self.locate(0, usize::MAX);
    }

    /// The normalised path of one of them.
    pub(super) fn path(&self, index: usize) -> String {
        let mut located = self.located.borrow_mut();
        let known = |located: &Located| {
            let place = index.checked_sub(located.from)?;
            located.paths.get(place).cloned()
        };
        if let Some(path) = known(&located) {
            return path;
        }
        *located = self.locate(index, TOGETHER);
        known(&located).unwrap_or_default()
    }

    /// A node is known by its address: nothing moves while it is borrowed.
    fn locate(&self, from: usize, together: usize) -> Located {
        let wanted: Vec<&Value> = self
            .nodes
            .iter()
            .skip(from)
            .take(together)
            .copied()
            .collect();
        let mut walk = Walk {
            wanted: wanted.iter().map(|node| (address(node), None)).collect(),
            missing: 0,
            at: Vec::new(),
        };
        walk.missing = walk.wanted.len();
        walk.visit(self.document);
        let path = |node: &&Value| walk.wanted.get(&address(node)).cloned().flatten();
        let paths = wanted.iter().map(|node| path(node).unwrap_or_default());
        Located {
            from,
            paths: paths.collect(),
        }
    }
}

fn address(node: &Value) -> usize {
    std::ptr::from_ref(node).addr()
}

struct Walk<'v> {
    wanted: HashMap<usize, Option<String>>,
    missing: usize,
    at: Vec<Step<'v>>,
}

impl<'v> Walk<'v> {
    /// Recurses as deep as the document is, which was bounded before.
    fn visit(&mut self, node: &'v Value) {
        if let Some(path @ None) = self.wanted.get_mut(&address(node)) {
            *path = Some(normalised(&self.at));
            self.missing -= 1;
        }
        match node {
            Value::Array(items) => {
                for (index, item) in (0..).zip(items) {
                    self.enter(Step::Index(index), item);
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    self.enter(Step::Name(name), member);
                }
            }
            _ => {}
        }
    }

    fn enter(&mut self, step: Step<'v>, node: &'v Value) {
        if self.missing > 0 {
            self.at.push(step);
            self.visit(node);
            self.at.pop();
        }
    }
}
