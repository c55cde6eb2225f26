//! One authorisation: discovery, registration, the question to a person, tokens.

use std::collections::HashSet;
use std::sync::Arc;

use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationMetadata, CredentialStore as _,
    InMemoryCredentialStore, OAuthClientConfig, OAuthHttpClient, OAuthTokenResponse,
    StoredCredentials,
};
use serde::Deserialize;
use serde_json::json;
use tokio::time::timeout;
use url::Url;

use super::addresses::Addresses;
use super::callback::Callback;
use super::grant::{ClientIdentity, Grant, Secret, now};
use super::http::{CODE, GuardedHttp};
use super::metadata::{check_endpoints, check_redirect};
use super::{AuthorizationPrompt, OAuth, without_paths};

/// The reason if a person must log in, and [`OAuth::prompt`](super::OAuth::prompt) is not set.
pub(crate) const NO_PROMPT: &str = "a person must log in, and there is no prompt for it";

/// Maximum number of scopes to ask for.
const MAX_SCOPES: usize = 100;

/// The scope for refresh tokens.
const OFFLINE: &str = "offline_access";

/// An authorization server that was discovered, and what is needed to use it.
pub(super) struct Flow {
    settings: OAuth,
    server: Url,
    addresses: Addresses,
    http: Arc<GuardedHttp>,
    manager: AuthorizationManager,
    metadata: AuthorizationMetadata,
    issuer: String,
}

/// The fields of [`OAuthTokenResponse`].
#[derive(Deserialize)]
struct Tokens {
    access_token: Secret,
    refresh_token: Option<Secret>,
    expires_in: Option<u64>,
    scope: Option<String>,
}

impl Flow {
    /// Finds the authorization server of a server.
    pub(super) async fn discover(
        settings: OAuth,
        server: Url,
        addresses: Addresses,
        http: GuardedHttp,
        challenge: Option<&str>,
    ) -> Result<Self, String> {
        let http = Arc::new(http);
        let client: Arc<dyn OAuthHttpClient> = http.clone();
        let manager = AuthorizationManager::new_with_oauth_http_client(server.as_str(), client);
        let mut manager = manager.await.map_err(|error| explain(&http, &error))?;
        let challenge = challenge.filter(|challenge| !challenge.is_empty());
        // The requests after one that was refused fail for other reasons.
        let failure = |why: String| http.refusal().unwrap_or(why);
        let resolution = manager
            .resolve_metadata_from_challenge(challenge)
            .await
            .map_err(|error| failure(explain(&http, &error)))?;
        if !resolution.source.is_discovered() {
            let why = "the server requires authorisation but publishes no OAuth metadata: send a token in the header `Authorization`";
            return Err(failure(why.to_owned()));
        }
        let metadata = resolution.metadata;
        let issuer = metadata.issuer.clone();
        let issuer = issuer.ok_or("the authorization server does not name itself")?;
        if !settings.allows_issuer(&issuer) {
            let issuer = without_paths(&issuer);
            return Err(format!(
                "the server names the authorization server {issuer}, which is not the configured issuer"
            ));
        }
        let token_endpoint = check_endpoints(&metadata, &issuer, &settings, &addresses)?;
        http.send_secrets_to(&token_endpoint);
        let methods = metadata.code_challenge_methods_supported.iter().flatten();
        if !methods.into_iter().any(|method| method == "S256") {
            return Err("the authorization server does not support PKCE (S256)".to_owned());
        }
        manager.set_metadata(metadata.clone());
        Ok(Flow {
            settings,
            server,
            addresses,
            http,
            manager,
            metadata,
            issuer,
        })
    }

    /// Returns whether tokens are of this authorization server, and for the client that the settings name.
    pub(super) fn is_of_same_client(&self, grant: &Grant) -> bool {
        let wanted = &self.settings.client_id;
        grant.issuer == self.issuer && wanted.as_ref().is_none_or(|id| *id == grant.client.id)
    }

    /// Gets new tokens for a refresh token.
    pub(super) async fn refresh(&mut self, held: &Grant) -> Result<Grant, String> {
        self.configure(&held.client)?;
        let tokens = json!({
            "access_token": held.access_token,
            "token_type": "bearer",
            "refresh_token": held.refresh_token,
        });
        let tokens: OAuthTokenResponse =
            serde_json::from_value(tokens).map_err(|_| "the stored tokens are invalid")?;
        let (id, scopes) = (held.client.id.clone(), held.scopes.clone());
        let stored = StoredCredentials::new(id, Some(tokens), scopes, None)
            .with_issuer(Some(self.issuer.clone()));
        let store = InMemoryCredentialStore::new();
        let saved = store.save(stored).await;
        saved.map_err(|error| self.explain(&error))?;
        self.manager.set_credential_store(store);
        let refreshed = self.manager.refresh_token().await;
        let refreshed = refreshed.map_err(|error| self.explain(&error))?;
        self.grant(&refreshed, held.client.clone(), &held.scopes)
    }

    /// Asks a person to authorise this program, and gets tokens. `needed`: the scopes that the server asks for.
    pub(super) async fn ask(
        &mut self,
        held: Option<&Grant>,
        needed: &[&str],
    ) -> Result<Grant, String> {
        let prompt = self.settings.prompt.clone().ok_or(NO_PROMPT)?;
        let callback = self.listen(held).await?;
        let scopes = self.scopes(held, needed).await;
        let names: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let client = self.client(callback.redirect_uri(), &names, held).await?;
        let url = self.manager.get_authorization_url(&names).await;
        let url = url.map_err(|error| self.explain(&error))?;
        let page = Url::parse(&url).map_err(|_| "the authorization URL is invalid")?;
        self.addresses.check(&page)?;
        // The endpoint itself may have a field of this name.
        let states = page.query_pairs().filter(|(name, _)| name == "state");
        let state = states.last().map(|(_, state)| state.into_owned());
        let state = state.ok_or("the authorization URL has no state")?;
        prompt(AuthorizationPrompt {
            server: self.server.host_str().unwrap_or_default().to_owned(),
            host: page.host_str().unwrap_or_default().to_owned(),
            url,
        });
        let limit = self.settings.timeout;
        let redirected = timeout(limit, callback.redirected(&state))
            .await
            .map_err(|_| format!("the authorization page was not completed within {limit:?}"))??;
        let issuer = redirected.issuer.as_deref();
        check_redirect(&self.metadata, &self.issuer, issuer)?;
        self.http.set_code(redirected.code);
        let granted = self
            .manager
            .exchange_code_for_token_with_issuer(CODE, &state, issuer)
            .await
            .map_err(|error| self.explain(&error))?;
        self.grant(&granted, client, &scopes)
    }

    /// Listens for the redirect, on the port for which the client was registered if that is possible.
    async fn listen(&self, held: Option<&Grant>) -> Result<Callback, String> {
        let wanted = self.settings.redirect_port;
        let registered = held.and_then(|held| Url::parse(&held.client.redirect_uri).ok()?.port());
        if let (0, Some(port)) = (wanted, registered)
            && let Ok(callback) = Callback::bind(port).await
        {
            return Ok(callback);
        }
        let callback = Callback::bind(wanted).await;
        callback
            .map_err(|error| format!("cannot listen on port {wanted} for the redirect: {error}"))
    }

    /// Returns the scopes to ask for: those of before are kept.
    async fn scopes(&self, held: Option<&Grant>, needed: &[&str]) -> Vec<String> {
        let mut wanted = held.map(|held| held.scopes.clone()).unwrap_or_default();
        if self.settings.scopes.is_empty() {
            wanted.extend(self.manager.select_initial_scopes(&[]).await);
        } else {
            wanted.extend(self.settings.scopes.iter().cloned());
        }
        wanted.extend(needed.iter().map(|scope| (*scope).to_owned()));
        let mut supported = self.metadata.scopes_supported.iter().flatten();
        if !wanted.is_empty() && supported.any(|scope| scope == OFFLINE) {
            wanted.push(OFFLINE.to_owned());
        }
        let mut seen = HashSet::new();
        wanted.retain(|scope| seen.insert(scope.clone()));
        wanted.truncate(MAX_SCOPES);
        wanted
    }

    /// Returns how this program is known to the authorization server. Registers it if it is not known.
    async fn client(
        &mut self,
        redirect_uri: &str,
        scopes: &[&str],
        held: Option<&Grant>,
    ) -> Result<ClientIdentity, String> {
        let settings = &self.settings;
        let identity = |id: String, secret: Option<String>| ClientIdentity {
            id,
            secret: secret.map(Secret::new),
            redirect_uri: redirect_uri.to_owned(),
        };
        let takes_documents = self
            .metadata
            .additional_fields
            .get("client_id_metadata_document_supported")
            .is_some_and(|supported| *supported == json!(true));
        let document = settings.client_metadata_url.as_ref();
        let known = settings
            .client_id
            .as_ref()
            .or(document.filter(|_| takes_documents));
        let registered = held.filter(|held| held.client.redirect_uri == redirect_uri);
        let client = match (known, registered) {
            (Some(id), _) => identity(id.clone(), None),
            (None, Some(held)) => held.client.clone(),
            (None, None) => {
                let registered = self
                    .manager
                    .register_client(&settings.client_name, redirect_uri, scopes)
                    .await
                    .map_err(|error| self.explain(&error))?;
                identity(registered.client_id, registered.client_secret)
            }
        };
        self.configure(&client)?;
        Ok(client)
    }

    fn configure(&mut self, client: &ClientIdentity) -> Result<(), String> {
        let mut config = OAuthClientConfig::new(&client.id, &client.redirect_uri);
        // A secret of the settings is not stored.
        let secret = if self.settings.client_id.as_ref() == Some(&client.id) {
            self.settings.client_secret.as_ref()
        } else {
            client.secret.as_ref()
        };
        if let Some(secret) = secret {
            config = config.with_client_secret(secret.expose());
        }
        let configured = self.manager.configure_client(config);
        configured.map_err(|error| self.explain(&error))
    }

    fn grant(
        &self,
        answer: &OAuthTokenResponse,
        client: ClientIdentity,
        asked: &[String],
    ) -> Result<Grant, String> {
        // The parser's error would show the tokens.
        let tokens = serde_json::to_value(answer).and_then(serde_json::from_value::<Tokens>);
        let tokens = tokens.map_err(|_| "the answer with the tokens is invalid")?;
        Ok(Grant {
            issuer: self.issuer.clone(),
            client,
            access_token: tokens.access_token,
            refresh_token: tokens.refresh_token,
            expires_at: tokens
                .expires_in
                .map(|seconds| now().saturating_add(seconds)),
            // An answer without scopes means that all were granted.
            scopes: match tokens.scope {
                Some(scope) => scope.split_whitespace().map(str::to_owned).collect(),
                None => asked.to_vec(),
            },
        })
    }

    fn explain(&self, error: &AuthError) -> String {
        explain(&self.http, error)
    }
}

/// Returns why an authorisation failed. `rmcp` shows whole URLs, and hides causes.
fn explain(http: &GuardedHttp, error: &AuthError) -> String {
    without_paths(&http.failure().unwrap_or_else(|| error.to_string()))
}
