//! The tokens of one server.
//!
//! A token cannot be passed on. Metadata for another resource is refused (RFC 8707). The only function that returns a
//! token takes the URL of the request, compares the origin, and returns the value of a header that is marked as
//! sensitive. Its only caller is the transport of that server, which follows no redirects.
//!
//! Tokens, registrations and refresh tokens are bound to their issuer: discovery comes before each refresh, and if the
//! MCP server names another authorization server, what the old one gave is dropped. A client secret from the settings
//! requires `issuer`: otherwise an MCP server could name its own authorization server and receive the secret.
//!
//! Waiting for a person is outside of requests. A request that is refused with 401 or 403 ends. The supervisor, or the
//! call, then authorises and sends it again: the server has not executed it, and no deadline of a request runs while a
//! person reads a page. A person is asked at most three times before the server accepts a token.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use http::HeaderValue;
use parking_lot::Mutex;
use rmcp::transport::auth::WWWAuthenticateParams;
use url::Url;

use super::flow::Flow;
use super::grant::Grant;
use super::http::GuardedHttp;
use super::{OAuth, addresses::Addresses};

/// How often a person is asked before the server has accepted a token.
const MAX_PROMPTS: u32 = 3;

/// Has the tokens of one server, and gets new ones.
pub(crate) struct Authorizer {
    settings: OAuth,
    /// Without query, which is not part of the identity of a resource and may contain a key.
    server: Url,
    addresses: Addresses,
    /// `None`: not loaded.
    grant: Mutex<Option<Option<Grant>>>,
    /// Counts the changes of the token.
    generation: AtomicU64,
    prompts: AtomicU32,
    /// Held while a token is renewed.
    renewing: Arc<tokio::sync::Mutex<()>>,
}

/// Shows that no other token is being obtained.
type Renewing = tokio::sync::OwnedMutexGuard<()>;

impl Authorizer {
    /// Returns `None` if the URL is invalid.
    pub(crate) fn new(server: &str, settings: OAuth) -> Option<Arc<Self>> {
        let mut server = Url::parse(server).ok()?;
        server.set_query(None);
        server.set_fragment(None);
        Some(Arc::new(Authorizer {
            addresses: Addresses::new(&server, settings.private_addresses),
            settings,
            server,
            grant: Mutex::default(),
            generation: AtomicU64::new(0),
            prompts: AtomicU32::new(0),
            renewing: Arc::default(),
        }))
    }

    /// Returns a number that changes with the token. Read it before a request whose refusal may be given to [`authorize`].
    ///
    /// [`authorize`]: Self::authorize
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Returns the value of the header `Authorization` for a request to this URL. `None` if there is no token, or if the URL is not at
    /// the origin of the server.
    pub(crate) async fn header_for(self: &Arc<Self>, url: &str) -> Option<HeaderValue> {
        let url = Url::parse(url).ok()?;
        if url.origin() != self.server.origin() {
            return None;
        }
        // An error of the store is reported by `authorize`, once the server has refused the request.
        let mut grant = self.grant().await.ok()??;
        if grant.is_expiring() {
            grant = Box::pin(self.refreshed()).await?;
        }
        let value = format!("Bearer {}", grant.access_token.expose());
        let mut value = HeaderValue::from_str(&value).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// Removes the token from a text of the server. `None` if it is not in it.
    pub(crate) fn redact(&self, text: &str) -> Option<String> {
        let grant = self.grant.lock();
        let token = grant.as_ref()?.as_ref()?.access_token.expose();
        // A shorter one would be part of ordinary words.
        (token.len() >= 8 && text.contains(token)).then(|| text.replace(token, "[redacted]"))
    }

    /// Gets another token after the server has refused a request that was sent when the generation was `seen`. A person may be
    /// asked.
    ///
    /// # Errors
    /// Returns why there is no other token.
    ///
    /// # Cancel safety
    /// When the future is dropped, a person is not asked any more, and another call starts again. A refresh is completed.
    pub(crate) async fn authorize(
        self: &Arc<Self>,
        challenge: Option<&str>,
        seen: u64,
    ) -> Result<(), String> {
        let mut renewing = Arc::clone(&self.renewing).lock_owned().await;
        if self.generation() != seen || self.reload().await? {
            return Ok(());
        }
        let held = self.grant().await?;
        let mut flow = Box::pin(self.flow(challenge)).await?;
        let held = match held {
            Some(held) if !flow.is_of_same_client(&held) => {
                self.keep(None).await?;
                None
            }
            held => held,
        };
        let challenge = WWWAuthenticateParams::parse(challenge.unwrap_or_default(), &self.server);
        let needed = challenge.scope.unwrap_or_default();
        let needed: Vec<&str> = needed.split_whitespace().collect();
        if challenge.error.as_deref() == Some("insufficient_scope") {
            check_step_up(&needed, held.as_ref())?;
        } else if let Some(held) = held.clone().filter(|held| held.refresh_token.is_some()) {
            let is_kept;
            (renewing, flow, is_kept) = self.refresh(renewing, flow, held).await?;
            if is_kept {
                return Ok(());
            }
        }
        if self.prompts.fetch_add(1, Ordering::AcqRel) >= MAX_PROMPTS {
            return Err(format!(
                "authorisation was tried {MAX_PROMPTS} times without success; restart the program to try again"
            ));
        }
        let grant = Box::pin(flow.ask(held.as_ref(), &needed)).await?;
        let kept = self.keep(Some(grant)).await;
        drop(renewing);
        kept
    }

    /// Notes that the server has accepted, with the token, a request that it had refused before.
    pub(crate) fn accepted(&self) {
        self.prompts.store(0, Ordering::Release);
    }

    async fn flow(&self, challenge: Option<&str>) -> Result<Flow, String> {
        let http = GuardedHttp::new(self.addresses.clone());
        let (settings, server) = (self.settings.clone(), self.server.clone());
        Flow::discover(settings, server, self.addresses.clone(), http, challenge).await
    }

    /// Renews a token that expires. Returns what can be used.
    async fn refreshed(self: &Arc<Self>) -> Option<Grant> {
        let renewing = Arc::clone(&self.renewing).lock_owned().await;
        let _ = self.reload().await;
        // It may have been renewed meanwhile.
        let held = self.grant().await.ok()??;
        if held.is_expiring() && held.refresh_token.is_some() {
            match Box::pin(self.flow(None)).await {
                Ok(flow) if flow.is_of_same_client(&held) => {
                    let _renewing = self.refresh(renewing, flow, held).await.ok()?;
                }
                Ok(_) => self.not_renewed("the authorization server has changed"),
                Err(why) => self.not_renewed(&why),
            }
        }
        self.grant().await.ok()?.filter(|grant| !grant.is_expired())
    }

    /// Uses a refresh token, and keeps what it gets. Runs in its own task, so that it is completed even if the caller is dropped: the
    /// refresh token may be valid only once. Returns whether there are new tokens.
    async fn refresh(
        self: &Arc<Self>,
        renewing: Renewing,
        mut flow: Flow,
        held: Grant,
    ) -> Result<(Renewing, Flow, bool), String> {
        let this = Arc::clone(self);
        let refresh = tokio::spawn(async move {
            let refreshed = flow.refresh(&held).await;
            let is_renewed = refreshed.is_ok();
            match refreshed {
                Ok(refreshed) => this.keep(Some(refreshed)).await?,
                Err(why) => this.not_renewed(&why),
            }
            Ok((renewing, flow, is_renewed))
        });
        let done = refresh.await;
        done.unwrap_or_else(|error| Err(format!("the token was not renewed: {error}")))
    }

    fn not_renewed(&self, why: &str) {
        let server = self.server.host_str();
        tracing::warn!(server, why, "a token was not renewed");
    }

    /// Returns what is granted.
    async fn grant(&self) -> Result<Option<Grant>, String> {
        let known = self.grant.lock().clone();
        if let Some(grant) = known {
            return Ok(grant);
        }
        let loaded = self.load().await?;
        Ok(self.grant.lock().get_or_insert(loaded).clone())
    }

    async fn load(&self) -> Result<Option<Grant>, String> {
        let loaded = self.settings.store.load(self.server.as_str()).await?;
        let is_allowed = |grant: &Grant| self.settings.allows_issuer(&grant.issuer);
        Ok(loaded.filter(is_allowed))
    }

    /// Reads the store again: another process may have renewed the token. Returns whether it has changed.
    async fn reload(&self) -> Result<bool, String> {
        let held = self.grant().await?;
        let stored = self.load().await?;
        let token = |grant: &Option<Grant>| grant.as_ref().map(|grant| grant.access_token.clone());
        let changed = stored.is_some() && token(&stored) != token(&held);
        if changed {
            self.set(stored);
        }
        Ok(changed)
    }

    async fn keep(&self, grant: Option<Grant>) -> Result<(), String> {
        self.set(grant.clone());
        self.settings.store.save(self.server.as_str(), grant).await
    }

    fn set(&self, grant: Option<Grant>) {
        *self.grant.lock() = Some(grant);
        self.generation.fetch_add(1, Ordering::AcqRel);
    }
}

/// Checks that asking for scopes could change anything.
pub(super) fn check_step_up(needed: &[&str], held: Option<&Grant>) -> Result<(), String> {
    let Some(held) = held else { return Ok(()) };
    // Servers choose the length of both lists.
    let granted: HashSet<&str> = held.scopes.iter().map(String::as_str).collect();
    if needed.iter().all(|scope| granted.contains(scope)) {
        Err(
            "the server refuses the request although it has the scopes that the server asks for"
                .to_owned(),
        )
    } else {
        Ok(())
    }
}

impl fmt::Debug for Authorizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorizer")
            .field("server", &self.server.host_str())
            .finish_non_exhaustive()
    }
}
