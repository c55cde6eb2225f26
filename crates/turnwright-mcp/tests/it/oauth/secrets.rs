//! Where tokens and secrets do not go.

use serde_json::json;
use turnwright_mcp::{Mcp, OAuth, ServerState, TokenStore};

use super::site::{Behaviour, Site};
use super::{called, log, oauth, reason, server, started};
use crate::client::caller;

#[tokio::test]
async fn a_wrong_issuer_is_refused_before_a_code_is_sent() {
    let site = Site::start(Behaviour {
        issuer: Some("https://evil.example".into()),
        ..Behaviour::default()
    })
    .await;
    let why = reason(&site).await;
    assert!(why.contains("issuer mismatch"), "{why}");
    assert!(site.received("/register").is_empty());

    let site = Site::start(Behaviour {
        iss: Some("https://evil.example".into()),
        ..Behaviour::default()
    })
    .await;
    let why = reason(&site).await;
    assert!(why.contains("issuer mismatch"), "{why}");
    assert!(site.received("/token").is_empty());
}

#[tokio::test]
async fn an_issuer_that_is_not_the_configured_one_gets_no_secret() {
    let site = Site::start(Behaviour::default()).await;
    let oauth = oauth()
        .0
        .client_id("me")
        .client_secret("secret-mine")
        .issuer("https://auth.example");
    let ServerState::Down { reason } = started(server(&site, oauth)).await else {
        panic!("connected");
    };
    assert!(reason.contains("not the configured issuer"), "{reason}");
    assert!(site.received("/token").is_empty());
}

#[tokio::test]
async fn a_wrong_resource_is_refused() {
    let site = Site::start(Behaviour {
        resource: Some("https://evil.example/mcp".into()),
        ..Behaviour::default()
    })
    .await;
    let why = reason(&site).await;
    assert!(why.contains("resource mismatch"), "{why}");
    assert!(site.received("/authorize").is_empty());
}

#[tokio::test]
async fn metadata_may_not_lead_to_other_kinds_of_addresses_or_without_tls_to_the_internet() {
    for (endpoint, expected) in [
        (
            "http://10.0.0.1/token",
            "10.0.0.1 is refused: it is a private address",
        ),
        (
            "http://169.254.169.254/token",
            "169.254.169.254 is refused: it is a link-local address",
        ),
        (
            "http://auth.example/token",
            "auth.example is refused without TLS",
        ),
        ("ftp://127.0.0.1/token", "neither `http` nor `https`"),
    ] {
        let behaviour = Behaviour {
            token_endpoint: Some(endpoint.into()),
            ..Behaviour::default()
        };
        let site = Site::start(behaviour).await;
        let why = reason(&site).await;
        assert!(why.contains(expected), "{endpoint}: {why}");
        assert!(site.received("/authorize").is_empty());
    }
    let behaviour = Behaviour {
        authorization_server: Some("http://192.168.0.1".into()),
        ..Behaviour::default()
    };
    let why = reason(&Site::start(behaviour).await).await;
    for part in [
        "192.168.0.1 is refused: it is a private address",
        "allow private addresses",
    ] {
        assert!(why.contains(part), "{why}");
    }
}

#[tokio::test]
async fn a_token_is_not_sent_to_another_origin() {
    let other = Site::start(Behaviour::default()).await;
    let behaviour = Behaviour {
        redirect: Some(other.url()),
        ..Behaviour::default()
    };
    let site = Site::start(behaviour).await;
    let why = reason(&site).await;
    assert!(why.contains("redirects are not followed"), "{why}");
    assert!(other.everything_received().is_empty());
    // Only the MCP server gets the token, not the authorization server.
    let with_token = site
        .everything_received()
        .into_iter()
        .filter(|request| request.authorization.is_some());
    assert!(
        with_token
            .map(|request| request.path)
            .all(|path| path == "/mcp")
    );
}

#[tokio::test]
async fn a_code_is_not_sent_to_the_target_of_a_redirect() {
    let other = Site::start(Behaviour::default()).await;
    let behaviour = Behaviour {
        token_redirect: Some(format!("{}/token", other.auth)),
        ..Behaviour::default()
    };
    let site = Site::start(behaviour).await;
    reason(&site).await;
    assert_eq!(site.received("/token").len(), 1);
    assert!(other.everything_received().is_empty());
}

#[tokio::test]
async fn a_token_of_one_server_is_not_used_for_another() {
    let (first, second) = (
        Site::start(Behaviour::default()).await,
        Site::start(Behaviour::default()).await,
    );
    let store = TokenStore::memory();
    let settings = oauth().0.token_store(store.clone());
    assert_eq!(called(server(&first, settings)).await, "called");
    let ServerState::Down { .. } = started(server(&second, OAuth::new().token_store(store))).await
    else {
        panic!("connected");
    };
    assert!(
        second
            .everything_received()
            .iter()
            .all(|request| request.authorization.is_none())
    );
}

#[tokio::test]
async fn metadata_that_is_too_large_is_refused() {
    let site = Site::start(Behaviour {
        huge: true,
        ..Behaviour::default()
    })
    .await;
    let why = reason(&site).await;
    assert!(why.contains("has more than"), "{why}");
}

#[tokio::test]
async fn no_secret_is_in_logs_errors_or_debug() {
    let log = log::Log::default();
    let _log = log.collect();
    for echoes in [false, true] {
        let site = Site::start(Behaviour {
            echoes,
            expires_in: Some(1),
            ..Behaviour::default()
        })
        .await;
        let (oauth, _) = oauth();
        let oauth = oauth
            .client_id("me")
            .client_secret("secret-mine")
            .issuer(&site.auth);
        let server = server(&site, oauth);
        let mcp = Mcp::new([server.clone()]);
        mcp.start().await.unwrap();
        let shown = format!("{server:?} {mcp:?} {:?}", mcp.status());
        assert_eq!(shown.contains("invalid_grant"), echoes, "{shown}");
        assert!(!shown.contains("secret-"), "{shown}");
        let verifier = site.received("/token")[0].form["code_verifier"].clone();
        assert!(!log.text().contains(&verifier));
    }
    assert!(log.text().contains("discovery url"), "the log is empty");
    let secret = log
        .text()
        .find("secret-")
        .map(|start| log.text()[start..].chars().take(40).collect::<String>());
    assert_eq!(secret, None);
}

#[tokio::test]
async fn a_token_that_the_server_repeats_is_not_shown_to_the_model() {
    let site = Site::start(Behaviour {
        repeats_token: true,
        ..Behaviour::default()
    })
    .await;
    let text = called(server(&site, oauth().0)).await;
    assert_eq!(text, "Bearer [redacted]");
}

#[tokio::test]
async fn a_token_that_the_server_repeats_in_an_error_is_not_shown() {
    let site = Site::start(Behaviour::default()).await;
    let mcp = Mcp::new([server(&site, oauth().0)]);
    mcp.start().await.unwrap();
    site.behaviour.lock().rejects = true;
    let outcome = caller(mcp, "test__echo", json!({})).run("Go.").await;
    assert!(outcome.text.contains("[redacted]"), "{}", outcome.text);
    assert!(!format!("{outcome:?}").contains("secret-"), "{outcome:?}");
}
