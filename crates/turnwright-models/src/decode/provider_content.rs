//! What tools that run at the provider return. The model reads it, but it is in no record of its own.

use serde_json::Value;
use turnwright_core::trust::TrustTier;

use super::delta::Delta;

/// Tools whose results are public.
const PUBLIC: [&str; 8] = [
    "web_search",
    "web_fetch",
    "browser_search",
    "google_search",
    "google_maps",
    "url_context",
    "url_citation",
    "x_search",
];

/// Returns the tier of what a tool of the provider returns, by the type of the tool or of its part of the response. What is not
/// known to be public may come from a file, a mailbox or a connected service.
pub(crate) fn provider_tier(kind: &str) -> TrustTier {
    if PUBLIC.iter().any(|public| kind.contains(public)) {
        TrustTier::ThirdPartyPublic
    } else {
        TrustTier::ThirdPartyPrivate
    }
}

/// Returns the delta for a part of a response that a tool of the provider returned.
pub(crate) fn provider_content(kind: &str) -> Delta {
    Delta::ProviderContent(provider_tier(kind))
}

/// Returns the delta for a source that a server names, such as `{"type": "url_citation"}`. Without a type, it is a page.
pub(crate) fn cited(source: &Value) -> Delta {
    let kind = source.get("type").and_then(Value::as_str);
    provider_content(kind.unwrap_or("url_citation"))
}
