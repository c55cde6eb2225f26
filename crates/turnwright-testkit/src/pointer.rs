//! JSON pointers.

use serde_json::Value;

/// Returns `pointer` with one more token.
#[expect(clippy::needless_pass_by_value, reason = "names and indices alike")]
pub(crate) fn join(pointer: &str, token: impl ToString) -> String {
    let token = token.to_string().replace('~', "~0").replace('/', "~1");
    format!("{pointer}/{token}")
}

/// Returns `true` if a pointer leads into the value at `place`.
pub(crate) fn is_inside(pointer: &str, place: &str) -> bool {
    let rest = pointer.strip_prefix(place);
    rest.is_some_and(|rest| rest.starts_with('/'))
}

/// Returns a copy of `root` with `part` at `pointer`.
pub(crate) fn replaced(root: &Value, pointer: &str, part: Value) -> Option<Value> {
    let mut copy = root.clone();
    *copy.pointer_mut(pointer)? = part;
    Some(copy)
}
