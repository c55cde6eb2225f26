//! JSON pointers (RFC 6901), built segment by segment.

use serde_json::Value;

/// A pointer that grows and shrinks during a walk.
#[derive(Debug, Default)]
pub(crate) struct Pointer(String);

impl Pointer {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the position to restore with [`Pointer::back_to`].
    pub(crate) fn mark(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn back_to(&mut self, mark: usize) {
        self.0.truncate(mark);
    }

    pub(crate) fn push_key(&mut self, key: &str) {
        push_segment(&mut self.0, key);
    }

    pub(crate) fn push_index(&mut self, index: usize) {
        self.0.push('/');
        self.0.push_str(itoa::Buffer::new().format(index));
    }
}

/// Returns `base` with one more segment, escaped.
pub(crate) fn join(base: &str, segment: &str) -> String {
    let mut pointer = String::with_capacity(base.len() + segment.len() + 1);
    pointer.push_str(base);
    push_segment(&mut pointer, segment);
    pointer
}

fn push_segment(pointer: &mut String, segment: &str) {
    pointer.push('/');
    if segment.contains(['~', '/']) {
        pointer.push_str(&segment.replace('~', "~0").replace('/', "~1"));
    } else {
        pointer.push_str(segment);
    }
}

/// Returns the pointer of the parent and the last segment, unescaped; `None` for the root.
pub(crate) fn split_last(pointer: &str) -> Option<(&str, String)> {
    let (parent, last) = pointer.rsplit_once('/')?;
    Some((parent, last.replace("~1", "/").replace("~0", "~")))
}

/// Sets the value at `pointer` to `replacement`, or removes it.
pub(crate) fn set(root: &mut Value, pointer: &str, replacement: Option<Value>) {
    let Some((parent, last)) = split_last(pointer) else {
        if let Some(replacement) = replacement {
            *root = replacement;
        }
        return;
    };
    match (root.pointer_mut(parent), replacement) {
        (Some(Value::Object(map)), Some(value)) => {
            map.insert(last, value);
        }
        (Some(Value::Object(map)), None) => {
            map.shift_remove(&last);
        }
        (Some(Value::Array(items)), Some(value)) => {
            if let Some(slot) = last
                .parse::<usize>()
                .ok()
                .and_then(|index| items.get_mut(index))
            {
                *slot = value;
            }
        }
        _ => {}
    }
}
