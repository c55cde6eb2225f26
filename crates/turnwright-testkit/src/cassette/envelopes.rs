//! Normalises envelopes, whose codes are different each time.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

/// The tag of an envelope with its code and id: both depend on a secret and on randomness.
static ENVELOPE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(</?tw-(?:untrusted|trusted|agent|sender))-[0-9a-f]{20}(?: id="[^"]*")?"#).ok()
});

/// Removes the codes and ids from all envelopes in a value. Only for parsed values, whose depth is limited.
pub(super) fn plain(value: &mut Value) {
    match value {
        Value::String(text) => {
            let found = ENVELOPE
                .as_ref()
                .map(|envelope| envelope.replace_all(text, "$1"));
            if let Some(Cow::Owned(replaced)) = found {
                *text = replaced;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        Value::Object(map) => map.values_mut().for_each(plain),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
