//! How a server over HTTP is reached.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use http::header::{ACCEPT, AUTHORIZATION};
use http::{HeaderName, HeaderValue};

use super::http::{LAST_EVENT_ID, SESSION_ID};
use crate::oauth::{Authorizer, OAuth};

/// The address of a server, and what is sent to it.
#[derive(Clone)]
pub(crate) struct HttpSettings {
    url: String,
    headers: HashMap<HeaderName, HeaderValue>,
    oauth: Option<OAuth>,
}

impl HttpSettings {
    pub(crate) fn new(url: String) -> Self {
        HttpSettings {
            url,
            headers: HashMap::new(),
            oauth: None,
        }
    }

    /// Sets how tokens are obtained.
    pub(crate) fn oauth(&mut self, oauth: OAuth) {
        self.oauth = Some(oauth);
    }

    /// Creates what obtains tokens, if that is configured.
    pub(crate) fn authorizer(&self) -> Option<Arc<Authorizer>> {
        Authorizer::new(&self.url, self.oauth.clone()?)
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Returns the headers of each request.
    pub(super) fn headers(&self) -> &HashMap<HeaderName, HeaderValue> {
        &self.headers
    }

    /// Adds a header to each request.
    ///
    /// # Errors
    /// Returns what is wrong with it. The value may be a secret and is not shown.
    pub(crate) fn header(&mut self, name: &str, value: &str) -> Result<(), String> {
        let reserved = [ACCEPT.as_str(), SESSION_ID, LAST_EVENT_ID];
        let shown = name.escape_debug();
        let parsed = HeaderName::try_from(name)
            .map_err(|_| format!("`{shown}` is not the name of a header"))?;
        if reserved.contains(&parsed.as_str()) {
            return Err(format!("the header `{shown}` is set by the protocol"));
        }
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| format!("the value of the header `{shown}` has invalid characters"))?;
        value.set_sensitive(true);
        self.headers.insert(parsed, value);
        Ok(())
    }

    /// Returns what is wrong with the address.
    pub(crate) fn problem(&self) -> Option<String> {
        let url = match url::Url::parse(&self.url) {
            Ok(url) => url,
            Err(error) => return Some(format!("the URL of an MCP server is invalid: {error}")),
        };
        let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
        if !is_web {
            Some("the URL of an MCP server must begin with `http://` or `https://`".to_owned())
        } else if !url.username().is_empty() || url.password().is_some() {
            Some(
                "the URL of an MCP server must not contain credentials: send them in a header"
                    .to_owned(),
            )
        } else if self.oauth.is_some() && self.headers.contains_key(&AUTHORIZATION) {
            Some("OAuth sets the header `Authorization`: remove one of them".to_owned())
        } else {
            self.oauth.as_ref()?.problem(&self.url)
        }
    }
}

impl fmt::Debug for HttpSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The path and the query may contain a key.
        let host = url::Url::parse(&self.url).ok();
        let host = host.as_ref().and_then(|url| url.host_str());
        f.debug_struct("HttpSettings")
            .field("host", &host)
            .field("headers", &self.headers.keys())
            .finish()
    }
}
