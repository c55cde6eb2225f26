//! The adapter: what an executor needs to talk to its server.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use turnwright_core::Error;
use url::Url;

use super::quirks::Quirks;
use super::settings::Settings;
use super::tools::WrittenTools;
use crate::http::{Transport, parse_url};
use crate::redact::{Redactor, credentials};

/// The configuration of a server, and what was learned about it.
pub(super) struct Adapter {
    pub(super) endpoint: Url,
    /// The endpoint without secrets: the origin of provider state.
    pub(super) from: String,
    pub(super) headers: Vec<(String, String)>,
    /// Removes secrets from text that a server sends.
    pub(super) redactor: Redactor,
    pub(super) transport: Arc<dyn Transport>,
    pub(super) settings: Settings,
    pub(super) name: String,
    pub(super) tools: WrittenTools,
    /// Quirks that the server is known to have.
    pub(super) quirks: Mutex<Quirks>,
}

impl fmt::Debug for Adapter {
    /// Shows no keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Adapter")
            .field("endpoint", &self.from)
            .field("transport", &self.transport)
            .field("retry", &self.settings.retry)
            .finish_non_exhaustive()
    }
}

/// Returns a redactor for the secrets of a request and of its proxies.
pub(super) fn redactor(
    headers: &[(String, String)],
    endpoint: &Url,
    proxy: Option<&str>,
) -> Redactor {
    let pairs = headers.iter().map(|(name, value)| (&**name, &**value));
    let mut secrets = credentials(pairs, endpoint);
    let environment = PROXIES.iter().filter_map(|name| std::env::var(name).ok());
    for proxy in environment.chain(proxy.map(str::to_owned)) {
        if let Ok(url) = Url::parse(proxy.trim()) {
            secrets.extend(credentials([], &url));
        }
    }
    let mut redactor = Redactor::new(SECRET);
    secrets.retain(|secret| secret.len() >= SHORTEST_SECRET);
    secrets.iter().for_each(|secret| redactor.add(secret));
    redactor
}

/// The replacement for a secret.
const SECRET: &str = "[secret]";

/// Shorter values occur in too many texts without secrets.
const SHORTEST_SECRET: usize = 4;

/// The environment variables for proxies, which can contain passwords.
const PROXIES: [&str; 6] = [
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
];

/// Returns the URL of requests: the base URL, with the resource path appended if it is missing.
pub(super) fn endpoint(base: &str, query: &[(String, String)]) -> Result<Url, Error> {
    let mut url = parse_url("base URL", base)?;
    let path = url.path().trim_end_matches('/').to_owned();
    if !path.ends_with("/chat/completions") {
        url.set_path(&format!("{path}/chat/completions"));
    }
    if !query.is_empty() {
        url.query_pairs_mut().extend_pairs(query);
    }
    url.set_fragment(None);
    Ok(url)
}
