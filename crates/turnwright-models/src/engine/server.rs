//! A model server: its address, its configuration, and what was learned about it.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use turnwright_core::Error;
use url::Url;

use super::codec::{Codec, Quirks};
use super::settings::Settings;
use super::tools::WrittenTools;
use crate::http::{Transport, parse_url};
use crate::redact::{Redactor, credentials};

/// The configuration of a server, and what was learned about it.
pub(crate) struct Server {
    pub(crate) codec: Box<dyn Codec>,
    pub(crate) endpoint: Url,
    /// The endpoint without secrets: the origin of provider state.
    pub(crate) address: String,
    pub(crate) headers: Vec<(String, String)>,
    /// Removes secrets from text that a server sends.
    pub(crate) redactor: Redactor,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) settings: Settings,
    pub(crate) name: String,
    pub(crate) tools: WrittenTools,
    /// Quirks that the server is known to have.
    pub(crate) quirks: Mutex<Quirks>,
}

impl fmt::Debug for Server {
    /// Shows no keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("endpoint", &self.address)
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

/// Returns the endpoint of a server at a base URL.
pub(super) fn endpoint(
    codec: &dyn Codec,
    base: &str,
    query: &[(String, String)],
) -> Result<Url, Error> {
    let base = parse_url("base URL", base)?;
    let mut url = codec.endpoint(&base);
    if !query.is_empty() {
        url.query_pairs_mut().extend_pairs(query);
    }
    url.set_fragment(None);
    Ok(url)
}

/// Returns a URL with a path appended, unless it ends in it already.
pub(crate) fn with_path(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    let before = url.path().trim_end_matches('/').to_owned();
    if !before.ends_with(path) {
        url.set_path(&format!("{before}{path}"));
    }
    url
}

/// Returns a URL whose path ends differently.
pub(crate) fn with_ending(url: &Url, ending: &str, other: &str) -> Url {
    let mut url = url.clone();
    let path = url.path();
    let base = path.strip_suffix(ending).unwrap_or(path);
    url.set_path(&format!("{base}{other}"));
    url
}
