//! Logs in to servers that require it. The page is shown to a person, and never opened.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;

use turnwright_mcp::{AuthorizationPrompt, OAuth, TokenStore};

use super::expand::expanded;
use crate::terminal::style::{self, paint};
use crate::terminal::{one_line, plain};

/// The key `oauth` of a server.
#[derive(serde::Deserialize)]
#[serde(
    untagged,
    expecting = "`oauth` must be true, false or an object with known keys"
)]
pub(super) enum Login {
    Switch(bool),
    Settings(Settings),
}

/// The settings in that key.
#[derive(Default, serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Settings {
    client_id: Option<String>,
    pub(super) client_secret: Option<String>,
    pub(super) issuer: Option<String>,
    #[serde(default)]
    endpoint_origins: Vec<String>,
    #[serde(default)]
    scopes: Vec<String>,
    redirect_port: Option<u16>,
    #[serde(default)]
    allow_private_addresses: bool,
}

impl Settings {
    /// The texts with their keys.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&'static str, Option<&str>)> {
        let texts = [
            ("clientId", self.client_id.as_deref()),
            ("clientSecret", self.client_secret.as_deref()),
            ("issuer", self.issuer.as_deref()),
        ];
        let origins = self.endpoint_origins.iter();
        let origins = origins.map(|origin| ("endpointOrigins", Some(origin.as_str())));
        texts.into_iter().chain(origins)
    }
}

/// How to log in. Without a person, only tokens that are stored already are used. Errors begin with the key.
pub(super) fn login(settings: &Settings, tokens: &Path, attended: bool) -> Result<OAuth, String> {
    type Set = fn(OAuth, String) -> OAuth;
    let mut oauth = OAuth::new().token_store(TokenStore::file(tokens));
    let texts: [(_, _, Set); 3] = [
        ("clientId", &settings.client_id, OAuth::client_id),
        (
            "clientSecret",
            &settings.client_secret,
            OAuth::client_secret,
        ),
        ("issuer", &settings.issuer, OAuth::issuer),
    ];
    for (key, text, set) in texts {
        if let Some(text) = text {
            oauth = set(oauth, expanded(&format!("oauth.{key}"), text)?);
        }
    }
    oauth = oauth
        .endpoint_origins(&settings.endpoint_origins)
        .scopes(&settings.scopes);
    if let Some(port) = settings.redirect_port {
        oauth = oauth.redirect_port(port);
    }
    if settings.allow_private_addresses {
        oauth = oauth.allow_private_addresses();
    }
    Ok(if attended {
        oauth.prompt(|page| show(&page))
    } else {
        oauth
    })
}

/// Shows a page. The server has chosen it, so its host is named.
fn show(page: &AuthorizationPrompt) {
    let (server, host) = (one_line(&page.server, 200), one_line(&page.host, 200));
    let title =
        format!("? {server} wants you to log in at {host}. If you trust that, open this page:");
    if std::io::stderr().is_terminal() {
        // A spinner may be drawn on this line. Not through anstream: without colour it would strip the sequence.
        let _ = std::io::stderr().write_all(b"\r\x1b[2K");
    }
    let mut err = anstream::stderr().lock();
    // If it cannot be shown, the login times out, and the server is reported as down.
    let _ = writeln!(err, "{}\n{}", paint(style::WARN, title), plain(&page.url));
}
