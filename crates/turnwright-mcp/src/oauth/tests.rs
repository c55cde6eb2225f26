//! Tests of the parts that need other names and addresses than those of this machine.

use std::io;
use std::net::{IpAddr, TcpListener};
use std::sync::Arc;

use async_trait::async_trait;
use rmcp::transport::auth::AuthorizationManager;
use serde_json::json;
use turnwright_models::fetch::Resolver;
use url::Url;

use super::addresses::Addresses;
use super::grant::{ClientIdentity, Grant, Secret};
use super::http::GuardedHttp;
use super::{Authorizer, OAuth, TokenStore, answers, without_paths};

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
        why.contains("metadata.example, which resolves to 127.0.0.1, is refused"),
        "{why}"
    );
    let dialled = listener.accept().map_err(|error| error.kind());
    assert_eq!(dialled.unwrap_err(), io::ErrorKind::WouldBlock);
}

fn grant() -> Grant {
    Grant {
        issuer: "https://auth.example".to_owned(),
        client: ClientIdentity {
            id: "me".to_owned(),
            secret: Some(Secret::new("secret-1")),
            redirect_uri: String::new(),
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

#[tokio::test]
async fn a_token_of_another_issuer_than_the_configured_one_is_not_used() {
    let store = TokenStore::memory();
    store
        .save("https://mcp.example/mcp", Some(grant()))
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
fn answers_have_only_the_fields_of_the_protocol() {
    let body = json!({
        "access_token": "a", "token_type": "BEARER", "expires_in": "60", "id_token": "secret", "scope": "x y",
    });
    let tokens = answers::tokens(body.to_string().as_bytes()).unwrap();
    assert_eq!(
        tokens,
        json!({
            "access_token": "a", "token_type": "bearer", "refresh_token": null, "expires_in": 60, "scope": "x y",
        })
    );
    let error = json!({ "error": "secret", "error_description": "secret" });
    assert_eq!(
        answers::error(error.to_string().as_bytes()),
        json!({ "error": "unknown_error" })
    );
    for body in [
        json!({ "access_token": "secret", "token_type": "mac" }),
        json!({ "access_token": ["secret"], "token_type": "bearer" }),
        json!({ "access_token": "secret\n", "token_type": "bearer" }),
        json!({ "token_type": "bearer" }),
        json!("secret"),
    ] {
        let error = answers::tokens(body.to_string().as_bytes()).unwrap_err();
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
