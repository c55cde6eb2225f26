//! Where tokens and secrets do not go.

use std::sync::atomic::Ordering;

use serde_json::json;
use turnwright_mcp::{Mcp, McpServer, OAuth, ServerState, TokenStore};

use super::site::{Behaviour, Site, UNUSUAL};
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

    let site = Site::start(Behaviour {
        announces_iss: true,
        ..Behaviour::default()
    })
    .await;
    let why = reason(&site).await;
    assert!(why.contains("does not name its issuer"), "{why}");
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
async fn a_server_that_names_many_authorization_servers_causes_no_requests_to_them() {
    let site = Site::start(Behaviour {
        more_authorization_servers: 10,
        ..Behaviour::default()
    })
    .await;
    let why = reason(&site).await;
    let expected = "names 11 authorization servers, more than 10";
    assert!(why.contains(expected), "{why}");
    let received = site.everything_received();
    let tenants = received.iter().filter(|one| one.path.contains("tenant"));
    assert_eq!(tenants.count(), 0);
}

#[tokio::test]
async fn metadata_that_cannot_be_checked_is_not_used() {
    let site = Site::start(Behaviour {
        more_authorization_servers: 10,
        deep: true,
        ..Behaviour::default()
    })
    .await;
    reason(&site).await;
    let received = site.everything_received();
    let tenants = received.iter().filter(|one| one.path.contains("tenant"));
    assert_eq!(tenants.count(), 0);
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

/// The settings of a user who was registered at the authorization server of a site.
fn registered(site: &Site, oauth: OAuth) -> OAuth {
    oauth
        .client_id("me")
        .client_secret("secret-mine")
        .issuer(&site.auth)
}

async fn is_down(server: McpServer) -> String {
    match started(server).await {
        ServerState::Down { reason } => reason,
        state => panic!("{state:?}"),
    }
}

/// Makes the MCP server of a site hostile: its metadata is that of an attacker, who claims the honest issuer.
async fn turned_hostile(site: &Site) -> Site {
    let attacker = Site::start(Behaviour {
        issuer: Some(site.auth.clone()),
        authorization_endpoint: Some(format!("{}/authorize", site.auth)),
        ..Behaviour::default()
    })
    .await;
    site.behaviour.lock().authorization_server = Some(format!("{}{UNUSUAL}", attacker.auth));
    attacker
}

#[tokio::test]
async fn a_refresh_token_and_a_secret_do_not_go_to_an_attacker_who_claims_the_issuer() {
    let site = Site::start(Behaviour::default()).await;
    let store = TokenStore::memory();
    let settings = registered(&site, oauth().0).token_store(store.clone());
    assert_eq!(called(server(&site, settings)).await, "called");

    let attacker = turned_hostile(&site).await;
    site.behaviour.lock().first_token = 1_000;
    let honest = site.received("/token").len();
    let settings = registered(&site, OAuth::new()).token_store(store);
    let why = is_down(server(&site, settings)).await;
    assert!(why.contains("issuer mismatch"), "{why}");
    assert!(attacker.received("/token").is_empty());
    assert_eq!(site.received("/token").len(), honest);
}

#[tokio::test]
async fn a_code_and_a_secret_do_not_go_to_an_attacker_who_claims_the_issuer() {
    let site = Site::start(Behaviour::default()).await;
    let attacker = turned_hostile(&site).await;
    let (oauth, pages) = oauth();
    let why = is_down(server(&site, registered(&site, oauth))).await;
    assert!(why.contains("issuer mismatch"), "{why}");
    assert!(attacker.received("/token").is_empty());
    assert_eq!(pages.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_code_of_an_honest_page_does_not_go_to_another_authorization_server() {
    let honest = Site::start(Behaviour::default()).await;
    let attacker = Site::start(Behaviour {
        authorization_endpoint: Some(format!("{}/authorize", honest.auth)),
        ..Behaviour::default()
    })
    .await;
    let why = reason(&attacker).await;
    let expected = format!("is at another origin: {}", honest.auth);
    assert!(why.contains(&expected), "{why}");
    assert!(honest.everything_received().is_empty());
    assert!(attacker.received("/token").is_empty());
}

#[tokio::test]
async fn secrets_go_to_another_origin_than_the_issuer_only_if_the_user_names_it() {
    let other = Site::start(Behaviour::default()).await;
    let site = Site::start(Behaviour {
        token_endpoint: Some(format!("{}/token", other.auth)),
        ..Behaviour::default()
    })
    .await;
    let why = is_down(server(&site, registered(&site, oauth().0))).await;
    let expected = format!("add {} to the endpoint origins", other.auth);
    assert!(why.contains(&expected), "{why}");
    assert!(other.everything_received().is_empty());

    let settings = registered(&site, oauth().0).endpoint_origins([&other.auth]);
    started(server(&site, settings)).await;
    let token = other.received("/token").remove(0);
    assert_eq!(token.form["client_secret"], "secret-mine");
}
