//! A request in the form that is compared and written.

use serde_json::Value;
use turnwright_core::call::checksum;
use turnwright_models::http::Request;
use turnwright_models::redact::Redactor;

use super::envelopes;
use super::file::{Asked, content};
use super::scrub::scrub;

/// Deeper bodies are treated as text: in the file they would be too deep to be parsed again.
const DEEPEST: usize = 100;

impl Asked {
    pub(super) fn of(request: &Request, redactor: &Redactor) -> Self {
        let mut path = request.url.path().to_owned();
        for (at, (name, _)) in request.url.query_pairs().enumerate() {
            path.push(if at == 0 { '?' } else { '&' });
            path.push_str(&name);
            path.push('=');
        }
        Asked {
            method: request.method.to_string(),
            path: redactor.text(&path),
            body: body(&request.body, redactor),
        }
    }

    pub(super) fn route(&self) -> &str {
        self.path.split('?').next().unwrap_or_default()
    }

    /// Returns a key that is equal for requests that match the same recording.
    pub(super) fn key(&self) -> String {
        let what = format!("{} {}", self.method, self.route());
        // A digest of canonical JSON; the name passed here is part of it.
        checksum(&what, self.body.clone())
    }
}

fn body(bytes: &[u8], redactor: &Redactor) -> Value {
    if bytes.is_empty() {
        return Value::Null;
    }
    match serde_json::from_slice(bytes) {
        Ok(mut body) if depth(&body) <= DEEPEST => {
            scrub(redactor, &mut body);
            envelopes::plain(&mut body);
            body
        }
        _ => content(redactor.bytes(bytes)),
    }
}

/// Returns the nesting depth. Only for parsed values, whose depth is limited to 128.
fn depth(value: &Value) -> usize {
    let deepest = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(map) => map.values().map(depth).max(),
        _ => return 0,
    };
    1 + deepest.unwrap_or(0)
}
