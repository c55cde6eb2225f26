//! Tests of the parts that need other names and addresses than those of this machine.

use std::io;
use std::net::{IpAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use rmcp::transport::auth::AuthorizationManager;
use serde_json::{Value, json};
use tokio::sync::Notify;
use turnwright_models::fetch::Resolver;
use url::Url;

use super::addresses::Addresses;
use super::authorizer::check_step_up;
use super::grant::{ClientIdentity, Grant, Secret};
use super::http::GuardedHttp;
use super::metadata::{check_endpoints, check_source};
use super::{Authorizer, OAuth, TokenStore, responses, without_paths};

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

fn is_allowed(server: &str, private: bool, target: &str) -> bool {
    Addresses::new(&url(server), private)
        .check(&url(target))
        .is_ok()
}

#[test]
fn a_server_may_name_only_addresses_of_its_own_kind_and_public_ones() {
    let cases = [
        ("https://mcp.example/mcp", "https://93.184.216.34/", true),
        ("https://mcp.example/mcp", "https://127.0.0.1/", false),
        ("https://mcp.example/mcp", "https://[::1]/", false),
        (
            "https://mcp.example/mcp",
            "https://[::ffff:127.0.0.1]/",
            false,
        ),
        ("https://mcp.example/mcp", "https://10.0.0.1/", false),
        ("https://mcp.example/mcp", "https://169.254.169.254/", false),
        ("https://mcp.example/mcp", "http://auth.example/", false),
        (
            "https://mcp.example/mcp",
            "https://user@auth.example/",
            false,
        ),
        ("https://mcp.example/mcp", "file:///etc/passwd", false),
        ("http://127.0.0.1:8080/mcp", "http://127.0.0.1:9090/", true),
        ("http://localhost:8080/mcp", "http://127.0.0.1:9090/", true),
        ("http://localhost:8080/mcp", "http://10.0.0.1/", false),
        (
            "http://127.0.0.1:8080/mcp",
            "http://169.254.169.254/",
            false,
        ),
        ("http://localhost:8080/mcp", "http://93.184.216.34/", false),
        ("http://localhost:8080/mcp", "https://93.184.216.34/", true),
        ("http://10.0.0.1/mcp", "http://10.0.0.2/", true),
        ("http://10.0.0.1/mcp", "http://127.0.0.1/", false),
        ("http://10.0.0.1/mcp", "http://169.254.169.254/", false),
    ];
    for (server, target, allowed) in cases {
        assert_eq!(
            is_allowed(server, false, target),
            allowed,
            "{server} {target}"
        );
    }
    assert!(is_allowed(
        "https://mcp.example/mcp",
        true,
        "https://10.0.0.1/"
    ));
    assert!(!is_allowed(
        "https://mcp.example/mcp",
        true,
        "https://127.0.0.1/"
    ));
    assert!(!is_allowed(
        "https://mcp.example/mcp",
        true,
        "http://93.184.216.34/"
    ));
}

#[test]
fn a_refusal_says_which_host_and_why_and_what_helps() {
    let addresses = Addresses::new(&url("https://mcp.example/mcp"), false);
    for (target, expected) in [
        (
            "https://127.0.0.1/x",
            "127.0.0.1 is refused: it is a loopback address",
        ),
        (
            "https://[::1]/x",
            "[::1] is refused: it is a loopback address",
        ),
        (
            "https://169.254.1.1/x",
            "169.254.1.1 is refused: it is a link-local address",
        ),
        (
            "https://[fe80::1]/x",
            "[fe80::1] is refused: it is a link-local address",
        ),
        (
            "https://10.0.0.1/x",
            "10.0.0.1 is refused: it is a private address",
        ),
        (
            "https://0.0.0.0/x",
            "0.0.0.0 is refused: it is a reserved address",
        ),
    ] {
        let why = addresses.check(&url(target)).unwrap_err();
        assert!(why.starts_with(expected), "{target}: {why}");
        let helps = why.contains("allow private addresses");
        assert_eq!(helps, expected.contains("private"), "{why}");
    }
}

/// Resolves each name to this machine.
#[derive(Debug)]
struct Here;

#[async_trait]
impl Resolver for Here {
    async fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        Ok(vec![[127, 0, 0, 1].into()])
    }
}

#[tokio::test]
async fn a_name_that_resolves_to_another_kind_of_address_is_not_dialled() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = url("https://93.184.216.34/mcp");
    let http = GuardedHttp::with_resolver(Addresses::new(&server, false), Arc::new(Here));
    let http = Arc::new(http);
    let manager = AuthorizationManager::new_with_oauth_http_client(server.as_str(), http.clone());
    let manager = manager.await.unwrap();
    let challenge = format!("Bearer resource_metadata=\"https://metadata.example:{port}/x\"");
    let resolved = manager
        .resolve_metadata_from_challenge(Some(&challenge))
        .await;
    assert!(resolved.is_err());
    let why = http.failure().unwrap();
    assert!(
        why.contains("metadata.example is refused: it resolves to 127.0.0.1, a loopback address"),
        "{why}"
    );
    assert_eq!(http.refusal(), Some(why));
    let dialled = listener.accept().map_err(|error| error.kind());
    assert_eq!(dialled.unwrap_err(), io::ErrorKind::WouldBlock);
}

fn grant() -> Grant {
    Grant {
        issuer: "https://auth.example".to_owned(),
        client: ClientIdentity {
            id: "me".to_owned(),
            secret: Some(Secret::new("secret-1")),
            redirect_uri: "http://127.0.0.1/callback".to_owned(),
        },
        access_token: Secret::new("secret-2"),
        refresh_token: Some(Secret::new("secret-3")),
        expires_at: None,
        scopes: Vec::new(),
    }
}

#[tokio::test]
async fn a_token_is_given_only_to_the_origin_of_its_server() {
    let store = TokenStore::memory();
    store
        .save("https://mcp.example/mcp", Some(grant()))
        .await
        .unwrap();
    let settings = OAuth::new().token_store(store);
    let authorizer = Authorizer::new("https://mcp.example/mcp?key=1", settings).unwrap();
    let sent = async |url: &str| authorizer.header_for(url).await.is_some();
    assert!(sent("https://mcp.example/mcp?key=1").await);
    assert!(sent("https://mcp.example:443/other").await);
    for other in [
        "http://mcp.example/mcp",
        "https://mcp.example:444/mcp",
        "https://mcp.example.evil.example/mcp",
        "https://evil.example/mcp",
        "data:text/plain,x",
    ] {
        assert!(!sent(other).await, "{other}");
    }
    let header = authorizer
        .header_for("https://mcp.example/mcp")
        .await
        .unwrap();
    assert!(!format!("{header:?} {authorizer:?} {:?}", grant()).contains("secret-"));
}

/// An MCP server with its authorization server on this machine. The token endpoint waits before it answers.
#[derive(Clone, Default)]
struct SlowSite {
    url: String,
    /// How many tokens were asked for.
    tokens: Arc<AtomicUsize>,
    asked: Arc<Notify>,
    answer: Arc<Notify>,
}

impl SlowSite {
    async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let site = SlowSite {
            url: format!("http://{}", listener.local_addr().unwrap()),
            ..SlowSite::default()
        };
        let answering = site.clone();
        let router = axum::Router::new().fallback(async move |uri: http::Uri| {
            let answer = answering.answer(uri.path()).await;
            answer.map(axum::Json).ok_or(http::StatusCode::NOT_FOUND)
        });
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        site
    }

    async fn answer(&self, path: &str) -> Option<Value> {
        let url = &self.url;
        Some(match path {
            "/.well-known/oauth-protected-resource/mcp" => {
                json!({ "resource": format!("{url}/mcp"), "authorization_servers": [url] })
            }
            "/.well-known/oauth-authorization-server" => json!({
                "issuer": url,
                "authorization_endpoint": format!("{url}/authorize"),
                "token_endpoint": format!("{url}/token"),
                "code_challenge_methods_supported": ["S256"],
            }),
            "/token" => {
                let number = self.tokens.fetch_add(1, Ordering::SeqCst);
                self.asked.notify_one();
                self.answer.notified().await;
                json!({
                    "access_token": format!("access-{number}"),
                    "refresh_token": format!("refresh-{number}"),
                    "token_type": "bearer",
                    "expires_in": 3_600,
                })
            }
            _ => return None,
        })
    }
}

#[tokio::test]
async fn a_refresh_is_completed_if_the_request_that_needs_it_is_cancelled() {
    let site = SlowSite::start().await;
    let server = format!("{}/mcp", site.url);
    let store = TokenStore::memory();
    let expired = Grant {
        issuer: site.url.clone(),
        expires_at: Some(0),
        ..grant()
    };
    store.save(&server, Some(expired)).await.unwrap();
    let settings = OAuth::new().token_store(store.clone());
    let authorizer = Authorizer::new(&server, settings).unwrap();
    // The request is dropped while the token endpoint has the refresh token.
    tokio::select! {
        header = authorizer.header_for(&server) => panic!("{header:?}"),
        () = site.asked.notified() => {}
    }
    site.answer.notify_one();
    let header = authorizer.header_for(&server).await.unwrap();
    assert_eq!(header, "Bearer access-0");
    let stored = store.load(&server).await.unwrap().unwrap();
    assert_eq!(stored.refresh_token, Some(Secret::new("refresh-0")));
    assert_eq!(site.tokens.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_token_of_another_issuer_than_the_configured_one_is_not_used() {
    let store = TokenStore::memory();
    store
        .save("https://mcp.example/mcp", Some(grant()))
        .await
        .unwrap();
    let settings = OAuth::new()
        .token_store(store)
        .issuer("https://other.example");
    let authorizer = Authorizer::new("https://mcp.example/mcp", settings).unwrap();
    assert!(
        authorizer
            .header_for("https://mcp.example/mcp")
            .await
            .is_none()
    );
}

#[test]
fn metadata_is_accepted_only_from_the_places_of_its_issuer() {
    let tenant = "https://a.example/t";
    for (issuer, fetched, accepted) in [
        (
            "https://a.example",
            "https://a.example/.well-known/oauth-authorization-server",
            true,
        ),
        (
            "https://a.example/",
            "https://a.example/.well-known/openid-configuration",
            true,
        ),
        (
            tenant,
            "https://a.example/.well-known/oauth-authorization-server/t",
            true,
        ),
        (
            tenant,
            "https://a.example/.well-known/openid-configuration/t",
            true,
        ),
        (
            tenant,
            "https://a.example/t/.well-known/openid-configuration",
            true,
        ),
        (
            "https://a.example/t/",
            "https://a.example/t/.well-known/openid-configuration",
            true,
        ),
        (
            tenant,
            "https://a.example/.well-known/oauth-authorization-server",
            false,
        ),
        (
            tenant,
            "https://a.example/u/.well-known/openid-configuration",
            false,
        ),
        (
            "https://a.example",
            "https://a.example/x/.well-known/y",
            false,
        ),
        (
            "https://a.example",
            "https://b.example/.well-known/oauth-authorization-server",
            false,
        ),
        (
            "https://a.example",
            "http://a.example/.well-known/oauth-authorization-server",
            false,
        ),
        (
            "https://a.example",
            "https://a.example:8/.well-known/oauth-authorization-server",
            false,
        ),
        (
            "nothing",
            "https://a.example/.well-known/oauth-authorization-server",
            false,
        ),
    ] {
        let document = json!({ "issuer": issuer, "token_endpoint": "x" });
        let checked = check_source(&document, &url(fetched));
        assert_eq!(checked.is_ok(), accepted, "{issuer} {fetched}: {checked:?}");
    }
    let nameless = json!({ "token_endpoint": "x" });
    assert!(check_source(&nameless, &url("https://a.example/")).is_err());
    let of_resource = json!({ "resource": "x" });
    assert!(check_source(&of_resource, &url("https://a.example/x")).is_ok());
}

#[test]
fn metadata_that_is_not_json_is_not_passed_on() {
    let server = url("https://mcp.example/mcp");
    let http = GuardedHttp::new(Addresses::new(&server, false));
    let checked = |text: &str| http.checked_metadata(text.as_bytes(), &server);
    let metadata = r#"{"issuer":"https://evil.example","token_endpoint":"x"}"#;
    assert!(checked(metadata).is_err());
    for text in ["", "<html>", &format!("{metadata},"), &"[".repeat(200)] {
        assert_eq!(checked(text), Ok(Vec::new()), "{text}");
    }
    let other = r#"{"resource":"x"}"#;
    assert_eq!(checked(other), Ok(other.into()));
}

#[test]
fn scopes_are_compared_in_linear_time() {
    let scopes: Vec<String> = (0..100_000).map(|n| format!("scope-{n:06}")).collect();
    let needed: Vec<&str> = scopes.iter().map(String::as_str).collect();
    let mut held = grant();
    held.scopes = scopes.iter().rev().cloned().collect();
    // All pairs would take minutes.
    assert!(check_step_up(&needed, Some(&held)).is_err());
    assert!(check_step_up(&["other"], Some(&held)).is_ok());
}

#[test]
fn endpoints_are_at_the_origin_of_the_issuer_or_at_one_of_the_settings() {
    let check = |settings: OAuth, page: &str, token: &str, registration: Option<&str>| {
        let metadata = json!({
            "authorization_endpoint": page, "token_endpoint": token, "registration_endpoint": registration,
        });
        let metadata = serde_json::from_value(metadata).unwrap();
        let addresses = Addresses::new(&url("https://mcp.example/mcp"), false);
        check_endpoints(&metadata, "https://a.example/t", &settings, &addresses).map(drop)
    };
    let (page, token) = ("https://a.example/authorize", "https://a.example/token");
    check(
        OAuth::new(),
        page,
        token,
        Some("https://a.example/register"),
    )
    .unwrap();
    check(OAuth::new(), "https://mcp.example/authorize", token, None).unwrap();
    let named = OAuth::new().endpoint_origins(["https://tokens.example"]);
    check(named, page, "https://tokens.example/token", None).unwrap();
    for (page, token, registration, expected) in [
        (
            "https://b.example/",
            token,
            None,
            "the authorization endpoint",
        ),
        (
            page,
            "https://mcp.example/token",
            None,
            "the token endpoint",
        ),
        (
            page,
            "https://a.example:8/token",
            None,
            "the token endpoint",
        ),
        (
            page,
            token,
            Some("https://b.example/"),
            "the registration endpoint",
        ),
    ] {
        let why = check(OAuth::new(), page, token, registration).unwrap_err();
        assert!(why.starts_with(expected), "{why}");
    }
}

#[test]
fn responses_have_only_the_fields_of_the_protocol() {
    let body = json!({
        "access_token": "a", "token_type": "BEARER", "expires_in": "60", "id_token": "secret", "scope": "x y",
    });
    let tokens = responses::tokens(body.to_string().as_bytes()).unwrap();
    assert_eq!(
        tokens,
        json!({
            "access_token": "a", "token_type": "bearer", "refresh_token": null, "expires_in": 60, "scope": "x y",
        })
    );
    let error = json!({ "error": "secret", "error_description": "secret" });
    assert_eq!(
        responses::error(error.to_string().as_bytes()),
        json!({ "error": "unknown_error" })
    );
    for body in [
        json!({ "access_token": "secret", "token_type": "mac" }),
        json!({ "access_token": ["secret"], "token_type": "bearer" }),
        json!({ "access_token": "secret\n", "token_type": "bearer" }),
        json!({ "token_type": "bearer" }),
        json!("secret"),
    ] {
        let error = responses::tokens(body.to_string().as_bytes()).unwrap_err();
        assert!(!error.contains("secret"), "{error}");
    }
}

#[test]
fn urls_are_shown_without_paths_and_credentials() {
    let shown = without_paths(
        "failed for https://me:pw@a.example:8/key?k=1#f, then `http://b.example`\u{7}",
    );
    assert_eq!(
        shown,
        "failed for https://a.example:8, then `http://b.example` "
    );
}
