//! Places in a value, as JSON pointers.

use serde_json::Value;

/// The way from the root to a place; kept as a chain so that going down costs nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'p> {
    parent: Option<&'p Place<'p>>,
    step: Step<'p>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Step<'p> {
    Root,
    Key(&'p str),
    Index(usize),
}

impl<'p> Place<'p> {
    pub(crate) const ROOT: Place<'static> = Place {
        parent: None,
        step: Step::Root,
    };

    pub(crate) fn key(&'p self, key: &'p str) -> Place<'p> {
        Place {
            parent: Some(self),
            step: Step::Key(key),
        }
    }

    pub(crate) fn index(&'p self, index: usize) -> Place<'p> {
        Place {
            parent: Some(self),
            step: Step::Index(index),
        }
    }

    pub(crate) fn step(&self) -> Step<'p> {
        self.step
    }

    pub(crate) fn pointer(&self) -> String {
        let mut pointer = self.parent.map(Place::pointer).unwrap_or_default();
        match self.step {
            Step::Root => {}
            Step::Key(key) => push(&mut pointer, key),
            Step::Index(index) => push(&mut pointer, &index.to_string()),
        }
        pointer
    }
}

/// Adds one token to a pointer.
pub(crate) fn push(pointer: &mut String, token: &str) {
    pointer.push('/');
    for c in token.chars() {
        match c {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            c => pointer.push(c),
        }
    }
}

/// `pointer` with one more token.
pub(crate) fn join(pointer: &str, token: &str) -> String {
    let mut joined = pointer.to_owned();
    push(&mut joined, token);
    joined
}

/// Whether a pointer leads into what stands at `place`.
pub(crate) fn is_inside(pointer: &str, place: &str) -> bool {
    let rest = pointer.strip_prefix(place);
    rest.is_some_and(|rest| rest.starts_with('/'))
}

/// A copy of `whole` in which `part` stands at `pointer`.
pub(crate) fn replaced(whole: &Value, pointer: &str, part: Value) -> Option<Value> {
    let mut copy = whole.clone();
    *copy.pointer_mut(pointer)? = part;
    Some(copy)
}
