//! Fences, whose codes are never twice the same.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

/// A tag of a fence with its code, and the id of what stands in it: both come of a secret and of chance.
static FENCE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(</?tw-(?:untrusted|trusted|agent))-[0-9a-f]{20}(?: id="[^"]*")?"#).ok()
});

/// Takes the codes and ids out of every fence within. Only of what the parser read, which refuses what is deep.
pub(super) fn plain(value: &mut Value) {
    match value {
        Value::String(text) => {
            let found = FENCE.as_ref().map(|fence| fence.replace_all(text, "$1"));
            if let Some(Cow::Owned(replaced)) = found {
                *text = replaced;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        Value::Object(map) => map.values_mut().for_each(plain),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
