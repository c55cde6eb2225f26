//! The settings of OAuth.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use turnwright_core::schema::escape;
use url::{Origin, Url};

use super::grant::Secret;
use super::token_store::TokenStore;

/// How long a person has to authorise.
const TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// OAuth 2.1 for a server over HTTP. See [`McpServer::oauth`](crate::McpServer::oauth).
///
/// When the server requires authorisation, its authorization server is discovered and this program is registered there if it has no
/// client id. Then [`prompt`](Self::prompt) shows a URL to a person. The person opens it, agrees, and is redirected to a port of
/// this machine. Tokens are renewed when they expire.
///
/// A token is sent only to the origin of the server for which it was obtained. The authorization server must support PKCE and publish
/// its metadata. Programs that run without a person need tokens in the [`token_store`](Self::token_store), or
/// [`McpServer::bearer`](crate::McpServer::bearer): client credentials are not supported.
///
/// ```
/// use turnwright_mcp::{McpServer, OAuth, TokenStore};
///
/// let oauth = OAuth::new()
///     .client_name("My agent")
///     .prompt(|prompt| eprintln!("To use {}, open this page of {}: {}", prompt.server, prompt.host, prompt.url))
///     .token_store(TokenStore::file("/home/me/.config/my-agent/mcp-tokens.json"));
/// let server = McpServer::http("https://mcp.example.com/mcp").alias("example").oauth(oauth);
/// ```
#[derive(Clone)]
#[must_use = "settings do nothing until they are given to a server"]
pub struct OAuth {
    pub(super) client_name: String,
    pub(super) client_id: Option<String>,
    pub(super) client_secret: Option<Secret>,
    pub(super) client_metadata_url: Option<String>,
    pub(super) issuer: Option<String>,
    pub(super) endpoint_origins: Vec<String>,
    pub(super) scopes: Vec<String>,
    pub(super) redirect_port: u16,
    pub(super) timeout: Duration,
    pub(super) store: TokenStore,
    pub(super) private_addresses: bool,
    pub(super) prompt: Option<Arc<dyn Fn(AuthorizationPrompt) + Send + Sync>>,
}

/// What a person must open to authorise this program. See [`OAuth::prompt`].
///
/// ```
/// use turnwright_mcp::AuthorizationPrompt;
///
/// fn show(prompt: &AuthorizationPrompt) -> String {
///     format!("{} asks you to log in at {}: {}", prompt.server, prompt.host, prompt.url)
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AuthorizationPrompt {
    /// The host of the MCP server.
    pub server: String,
    /// The host of the page. The server has chosen it: a person should know it before they log in there.
    pub host: String,
    /// The page to open. It begins with `https://`, or with `http://` for a host of this machine or of a private network.
    pub url: String,
}

impl OAuth {
    /// Creates the settings.
    pub fn new() -> Self {
        OAuth {
            client_name: "Turnwright".to_owned(),
            client_id: None,
            client_secret: None,
            client_metadata_url: None,
            issuer: None,
            endpoint_origins: Vec::new(),
            scopes: Vec::new(),
            redirect_port: 0,
            timeout: TIMEOUT,
            store: TokenStore::memory(),
            private_addresses: false,
            prompt: None,
        }
    }

    /// Shows a person the page on which they authorise this program. The page is not opened automatically: the server has chosen it.
    /// The function must not block.
    ///
    /// Default: no person is asked. Then only tokens that are in the [`token_store`](Self::token_store) are used.
    pub fn prompt(mut self, show: impl Fn(AuthorizationPrompt) + Send + Sync + 'static) -> Self {
        self.prompt = Some(Arc::new(show));
        self
    }

    /// Sets the name that a person sees when they authorise this program.
    ///
    /// Default: `Turnwright`.
    pub fn client_name(mut self, name: impl Into<String>) -> Self {
        self.client_name = name.into();
        self
    }

    /// Sets the client id, if this program was registered beforehand.
    ///
    /// Default: the program is registered when it is first authorised.
    pub fn client_id(mut self, id: impl Into<String>) -> Self {
        self.client_id = Some(id.into());
        self
    }

    /// Sets the secret of the client id. Requires [`client_id`](Self::client_id) and [`issuer`](Self::issuer): the MCP server names
    /// the authorization server, and must not be able to have the secret sent to one of its own.
    pub fn client_secret(mut self, secret: impl Into<String>) -> Self {
        self.client_secret = Some(Secret::new(secret));
        self
    }

    /// Sets the `https` URL of a client ID metadata document, which describes this program. It is the client id at authorization
    /// servers that support such documents. Others get a registration.
    pub fn client_metadata_url(mut self, url: impl Into<String>) -> Self {
        self.client_metadata_url = Some(url.into());
        self
    }

    /// Uses only this authorization server.
    ///
    /// Default: the one that the MCP server names.
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = Some(issuer.into());
        self
    }

    /// Sets further origins at which the authorization server may have its endpoints. Codes, refresh tokens and the client secret are
    /// sent there. Requires [`issuer`](Self::issuer): an authorization server that the MCP server names could otherwise show the page
    /// of an honest one, and receive its code. For providers whose token endpoint is at another origin than their issuer, such as Google:
    ///
    /// ```
    /// use turnwright_mcp::OAuth;
    ///
    /// let oauth = OAuth::new()
    ///     .issuer("https://accounts.google.com")
    ///     .endpoint_origins(["https://oauth2.googleapis.com"]);
    /// ```
    ///
    /// Default: only the origin of the issuer.
    pub fn endpoint_origins<S: Into<String>>(
        mut self,
        origins: impl IntoIterator<Item = S>,
    ) -> Self {
        self.endpoint_origins = origins.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the scopes to ask for. Scopes that a call needs are added when the server asks for them.
    ///
    /// Default: what the server asks for.
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the port on this machine to which the person is redirected, for authorization servers that accept only one redirect URI:
    /// `http://127.0.0.1:PORT/callback`.
    ///
    /// Default: a free port.
    pub fn redirect_port(mut self, port: u16) -> Self {
        self.redirect_port = port;
        self
    }

    /// Sets how long a person has to authorise.
    ///
    /// Default: 5 min.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = limit;
        self
    }

    /// Sets where tokens are kept.
    ///
    /// Default: in memory.
    pub fn token_store(mut self, store: TokenStore) -> Self {
        self.store = store;
        self
    }

    /// Allows servers whose names resolve to addresses of a private network, and `http` for them.
    ///
    /// Default: only public addresses, and addresses like the server's own if its URL has an IP address or `localhost`.
    pub fn allow_private_addresses(mut self) -> Self {
        self.private_addresses = true;
        self
    }

    /// Returns whether an authorization server may be used.
    pub(super) fn allows_issuer(&self, issuer: &str) -> bool {
        let same = |wanted: &String| wanted.trim_end_matches('/') == issuer.trim_end_matches('/');
        self.issuer.as_ref().is_none_or(same)
    }

    /// Returns whether this is one of the endpoint origins.
    pub(super) fn names_origin(&self, origin: &Origin) -> bool {
        let is_it = |text: &String| Url::parse(text).is_ok_and(|url| url.origin() == *origin);
        self.endpoint_origins.iter().any(is_it)
    }

    /// Returns what is wrong with the settings for this server.
    pub(crate) fn problem(&self, server: &str) -> Option<String> {
        let needs = |what: &str| Some(format!("OAuth: {what}"));
        let is_document = |url: &Url| url.scheme() == "https" && url.path() != "/";
        if self.client_secret.is_some() && (self.client_id.is_none() || self.issuer.is_none()) {
            return needs("a client secret requires a client id and an issuer");
        }
        if !self.endpoint_origins.is_empty() && self.issuer.is_none() {
            return needs("endpoint origins require an issuer");
        }
        if let Some(url) = &self.client_metadata_url
            && !Url::parse(url).is_ok_and(|url| is_document(&url))
        {
            return needs("`client_metadata_url` must be an `https` URL with a path");
        }
        let is_origin = |url: &Url| matches!(url.scheme(), "http" | "https") && url.path() == "/";
        let is_origin = |text: &String| Url::parse(text).is_ok_and(|url| is_origin(&url));
        if let Some(text) = self.endpoint_origins.iter().find(|text| !is_origin(text)) {
            return needs(&format!(
                "`{}` is not an origin, such as `https://auth.example.com`",
                escape(text, 80)
            ));
        }
        let scope =
            |scope: &String| !scope.is_empty() && scope.chars().all(|ch| ch.is_ascii_graphic());
        if !self.scopes.iter().all(scope) {
            return needs("a scope must not be empty, and has only visible ASCII characters");
        }
        let server = Url::parse(server).ok()?;
        if super::addresses::may_be_plain(&server, self.private_addresses) {
            None
        } else {
            needs(
                "the URL of the server must begin with `https://`, because tokens are sent to it; `http` is for this machine, and for \
                 private networks if private addresses are allowed",
            )
        }
    }
}

impl Default for OAuth {
    fn default() -> Self {
        OAuth::new()
    }
}

impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth")
            .field("client_name", &self.client_name)
            .field("client_id", &self.client_id)
            .field("client_secret", &self.client_secret)
            .field("issuer", &self.issuer)
            .field("scopes", &self.scopes)
            .field("token_store", &self.store)
            .finish_non_exhaustive()
    }
}
