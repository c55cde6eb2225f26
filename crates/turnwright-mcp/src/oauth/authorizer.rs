//! The tokens of one server.

use std::borrow::Cow;
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
    renewing: tokio::sync::Mutex<()>,
}

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
            renewing: tokio::sync::Mutex::default(),
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
    pub(crate) async fn header_for(&self, url: &str) -> Option<HeaderValue> {
        let url = Url::parse(url).ok()?;
        if url.origin() != self.server.origin() {
            return None;
        }
        // An error of the store is reported by `authorize`, once the server has refused the request.
        let mut grant = self.grant().ok()??;
        if grant.is_expiring() {
            grant = Box::pin(self.refreshed()).await?;
        }
        let value = format!("Bearer {}", grant.access_token.expose());
        let mut value = HeaderValue::from_str(&value).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// Removes the token from a text of the server.
    pub(crate) fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let grant = self.grant.lock();
        let token = grant.iter().flatten().next();
        let token = token.map(|grant| grant.access_token.expose());
        // A shorter one would be part of ordinary words.
        match token.filter(|token| token.len() >= 8 && text.contains(token)) {
            Some(token) => text.replace(token, "[redacted]").into(),
            None => text.into(),
        }
    }

    /// Gets another token after the server has refused a request that was sent when the generation was `seen`. A person may be
    /// asked.
    ///
    /// # Errors
    /// Returns why there is no other token.
    ///
    /// # Cancel safety
    /// When the future is dropped, the authorisation is given up. Another call starts it again.
    pub(crate) async fn authorize(&self, challenge: Option<&str>, seen: u64) -> Result<(), String> {
        let _renewing = self.renewing.lock().await;
        if self.generation() != seen || self.reload()? {
            return Ok(());
        }
        let held = self.grant()?;
        let mut flow = Box::pin(self.flow(challenge)).await?;
        let is_usable = |grant: &Grant| flow.is_of_same_client(grant);
        let held = match held {
            Some(held) if !is_usable(&held) => {
                self.keep(None)?;
                None
            }
            held => held,
        };
        let challenge = WWWAuthenticateParams::parse(challenge.unwrap_or_default(), &self.server);
        let needed = challenge.scope.unwrap_or_default();
        let needed: Vec<&str> = needed.split_whitespace().collect();
        if challenge.error.as_deref() == Some("insufficient_scope") {
            check_step_up(&needed, held.as_ref())?;
        } else if let Some(held) = held.as_ref().filter(|held| held.refresh_token.is_some())
            && let Ok(refreshed) = Box::pin(flow.refresh(held)).await
        {
            return self.keep(Some(refreshed));
        }
        if self.prompts.fetch_add(1, Ordering::AcqRel) >= MAX_PROMPTS {
            return Err(format!(
                "authorisation was tried {MAX_PROMPTS} times without success; restart the program to try again"
            ));
        }
        let grant = Box::pin(flow.ask(held.as_ref(), &needed)).await?;
        self.keep(Some(grant))
    }

    /// Notes that the server has accepted the token.
    pub(crate) fn accepted(&self) {
        self.prompts.store(0, Ordering::Release);
    }

    async fn flow(&self, challenge: Option<&str>) -> Result<Flow<'_>, String> {
        let http = GuardedHttp::new(self.addresses.clone());
        Flow::discover(
            &self.settings,
            &self.server,
            &self.addresses,
            http,
            challenge,
        )
        .await
    }

    /// Renews a token that expires. Returns what can be used.
    async fn refreshed(&self) -> Option<Grant> {
        let _renewing = self.renewing.lock().await;
        let _ = self.reload();
        // It may have been renewed meanwhile.
        let held = self.grant().ok()??;
        if held.is_expiring() && held.refresh_token.is_some() {
            let refreshed = async {
                let mut flow = self.flow(None).await?;
                match flow.is_of_same_client(&held) {
                    true => flow.refresh(&held).await,
                    false => Err("the authorization server has changed".to_owned()),
                }
            };
            match Box::pin(refreshed).await {
                Ok(refreshed) => self.keep(Some(refreshed)).ok()?,
                Err(why) => {
                    tracing::warn!(
                        server = self.server.host_str(),
                        why,
                        "a token was not renewed"
                    );
                }
            }
        }
        self.grant().ok()?.filter(|grant| !grant.is_expired())
    }

    /// Returns what is granted.
    fn grant(&self) -> Result<Option<Grant>, String> {
        let mut grant = self.grant.lock();
        if let Some(grant) = &*grant {
            return Ok(grant.clone());
        }
        let loaded = self.load()?;
        *grant = Some(loaded.clone());
        Ok(loaded)
    }

    fn load(&self) -> Result<Option<Grant>, String> {
        let loaded = self.settings.store.load(self.server.as_str())?;
        let is_allowed = |grant: &Grant| self.settings.allows_issuer(&grant.issuer);
        Ok(loaded.filter(is_allowed))
    }

    /// Reads the store again: another process may have renewed the token. Returns whether it has changed.
    fn reload(&self) -> Result<bool, String> {
        let held = self.grant()?;
        let stored = self.load()?;
        let token = |grant: &Option<Grant>| grant.as_ref().map(|grant| grant.access_token.clone());
        let changed = stored.is_some() && token(&stored) != token(&held);
        if changed {
            *self.grant.lock() = Some(stored);
            self.generation.fetch_add(1, Ordering::AcqRel);
        }
        Ok(changed)
    }

    fn keep(&self, grant: Option<Grant>) -> Result<(), String> {
        *self.grant.lock() = Some(grant.clone());
        self.generation.fetch_add(1, Ordering::AcqRel);
        self.settings.store.save(self.server.as_str(), grant)
    }
}

/// Checks that asking for scopes could change anything.
fn check_step_up(needed: &[&str], held: Option<&Grant>) -> Result<(), String> {
    let Some(held) = held else { return Ok(()) };
    let is_granted = |scope: &&str| held.scopes.iter().any(|granted| granted == scope);
    match needed.iter().all(is_granted) {
        true => Err(
            "the server refuses the request although it has the scopes that the server asks for"
                .to_owned(),
        ),
        false => Ok(()),
    }
}

impl fmt::Debug for Authorizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorizer")
            .field("server", &self.server.host_str())
            .finish_non_exhaustive()
    }
}
