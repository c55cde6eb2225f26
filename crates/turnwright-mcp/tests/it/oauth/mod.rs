//! OAuth, with an authorization server on this machine.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod log;
mod secrets;
mod site;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use turnwright_mcp::{Mcp, McpServer, OAuth, ServerState, TokenStore};

use crate::client::caller;
use crate::http_client;
use crate::server::folder;
use site::{Behaviour, Site, listen};

/// Settings with a person who opens each page at once. Returns how many pages they have opened.
fn oauth() -> (OAuth, Arc<AtomicUsize>) {
    let pages = Arc::new(AtomicUsize::new(0));
    let opened = Arc::clone(&pages);
    let oauth = OAuth::new().prompt(move |prompt| {
        opened.fetch_add(1, Ordering::SeqCst);
        assert_eq!(
            (prompt.host.as_str(), prompt.server.as_str()),
            ("127.0.0.1", "127.0.0.1")
        );
        tokio::spawn(async move { visit(prompt.url).await.unwrap() });
    });
    (oauth, pages)
}

fn server(site: &Site, oauth: OAuth) -> McpServer {
    McpServer::http(site.url())
        .alias("test")
        .sessions_only()
        .oauth(oauth)
}

/// Starts a server. Returns its state.
async fn started(server: McpServer) -> ServerState {
    let mcp = Mcp::new([server]);
    mcp.start().await.unwrap();
    mcp.status().remove(0).state
}

async fn reason(site: &Site) -> String {
    match started(server(site, oauth().0)).await {
        ServerState::Down { reason } => reason,
        state => panic!("{state:?}"),
    }
}

async fn called(server: McpServer) -> String {
    caller([server], "test__echo", json!({}))
        .run("Go.")
        .await
        .text
}

#[tokio::test]
async fn a_tool_is_called_after_a_person_has_authorised() {
    let site = Site::start(Behaviour::default()).await;
    let (oauth, pages) = oauth();
    assert_eq!(called(server(&site, oauth)).await, "called");
    assert_eq!(pages.load(Ordering::SeqCst), 1);
    let token = site.received("/token").remove(0);
    assert_eq!(token.form["resource"], site.url());
    assert!(!token.form["code_verifier"].is_empty());
    let calls = site.received("/mcp");
    assert!(calls[0].authorization.is_none());
    let last = calls.last().unwrap();
    assert_eq!(
        last.authorization.as_deref(),
        Some("Bearer secret-access-1")
    );
}

#[cfg(unix)]
#[tokio::test]
async fn tokens_in_a_file_are_for_their_owner_and_survive_a_restart() {
    use std::os::unix::fs::PermissionsExt as _;
    let site = Site::start(Behaviour::default()).await;
    let folder = folder("oauth-file").join("new");
    let path = folder.join("tokens.json");
    let (first, _) = oauth();
    let first = first.token_store(TokenStore::file(&path));
    assert_eq!(called(server(&site, first)).await, "called");
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(&folder)), (0o600, 0o700));
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);

    // No person is needed.
    let second = OAuth::new().token_store(TokenStore::file(&path));
    assert_eq!(called(server(&site, second)).await, "called");
    assert_eq!(site.received("/token").len(), 1);

    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let third = OAuth::new().token_store(TokenStore::file(&path));
    let ServerState::Down { reason } = started(server(&site, third)).await else {
        panic!("connected");
    };
    assert!(
        reason.contains("others can access it (mode 644)"),
        "{reason}"
    );
}

#[tokio::test]
async fn a_token_that_expires_is_renewed_without_a_person() {
    // It expires at once, so each request renews it.
    let site = Site::start(Behaviour {
        expires_in: Some(1),
        ..Behaviour::default()
    })
    .await;
    let (oauth, pages) = oauth();
    assert_eq!(called(server(&site, oauth)).await, "called");
    assert_eq!(pages.load(Ordering::SeqCst), 1);
    let tokens = site.received("/token");
    let renewed: Vec<_> = tokens
        .iter()
        .filter(|token| token.form["grant_type"] == "refresh_token")
        .collect();
    assert_eq!(renewed[0].form["refresh_token"], "secret-refresh-1");
    assert_eq!(renewed[0].form["resource"], site.url());
    assert_eq!(renewed[0].form["client_secret"], "secret-client");
    assert_eq!(renewed[1].form["refresh_token"], "secret-refresh-2");
}

#[tokio::test]
async fn a_token_that_is_refused_is_renewed_without_a_person() {
    let site = Site::start(Behaviour::default()).await;
    let (oauth, pages) = oauth();
    let mcp = Mcp::new([server(&site, oauth)]);
    mcp.start().await.unwrap();
    site.behaviour.lock().first_token = 2;
    let outcome = caller(mcp, "test__echo", json!({})).run("Go.").await;
    assert_eq!(outcome.text, "called");
    assert_eq!(pages.load(Ordering::SeqCst), 1);
    let calls = site
        .received("/mcp")
        .into_iter()
        .filter(|call| call.method == "tools/call");
    assert_eq!(calls.count(), 2);
}

#[tokio::test]
async fn resources_and_prompts_are_listed_again_with_another_token() {
    let site = Site::start(Behaviour::default()).await;
    let mcp = Mcp::new([server(&site, oauth().0)]);
    mcp.start().await.unwrap();
    site.behaviour.lock().first_token = 2;
    assert_eq!(mcp.resources("test").await.unwrap().len(), 1);
    site.behaviour.lock().first_token = 3;
    assert_eq!(mcp.prompts("test").await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_call_that_needs_more_scopes_is_sent_again_with_them() {
    let site = Site::start(Behaviour {
        call_scope: Some("write"),
        ..Behaviour::default()
    })
    .await;
    let (oauth, pages) = oauth();
    assert_eq!(called(server(&site, oauth)).await, "called");
    assert_eq!(pages.load(Ordering::SeqCst), 2);
    // The registration is kept.
    assert_eq!(site.received("/register").len(), 1);
}

#[tokio::test]
async fn a_server_that_refuses_every_token_does_not_ask_for_ever() {
    let site = Site::start(Behaviour {
        first_token: 1_000,
        ..Behaviour::default()
    })
    .await;
    let (oauth, pages) = oauth();
    let ServerState::Down { reason } = started(server(&site, oauth)).await else {
        panic!("connected");
    };
    assert!(reason.contains("refuses the tokens"), "{reason}");
    assert!(pages.load(Ordering::SeqCst) <= 2);
}

#[tokio::test]
async fn what_works_without_a_token_allows_no_further_pages() {
    let site = Site::start(Behaviour {
        mostly_open: true,
        without_refresh: true,
        first_token: 1_000,
        ..Behaviour::default()
    })
    .await;
    let (oauth, pages) = oauth();
    let mcp = Mcp::new([server(&site, oauth)]);
    mcp.start().await.unwrap();
    for _ in 0..5 {
        let open = caller(mcp.clone(), "test__open", json!({}))
            .run("Go.")
            .await;
        assert_eq!(open.text, "called");
        let refused = caller(mcp.clone(), "test__echo", json!({}))
            .run("Go.")
            .await;
        assert_ne!(refused.text, "called");
    }
    assert_eq!(pages.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn without_settings_the_reason_says_what_to_configure() {
    let site = Site::start(Behaviour::default()).await;
    let server = McpServer::http(site.url()).alias("test").sessions_only();
    let ServerState::Down { reason } = started(server).await else {
        panic!("connected");
    };
    assert!(
        reason.contains("set up OAuth, or send a valid token"),
        "{reason}"
    );

    let mcp = Mcp::new([self::server(&site, OAuth::new())]);
    mcp.start().await.unwrap();
    let status = mcp.status().remove(0);
    assert!(status.requires_login);
    let ServerState::Down { reason } = status.state else {
        panic!("connected");
    };
    assert!(reason.contains("a person must log in"), "{reason}");
}

#[tokio::test]
async fn a_person_who_does_not_answer_blocks_neither_other_servers_nor_the_turn() {
    let site = Site::start(Behaviour::default()).await;
    let asked = Arc::new(tokio::sync::Notify::new());
    let ask = Arc::clone(&asked);
    let waits = OAuth::new().prompt(move |_| ask.notify_one());
    let waits = server(&site, waits).alias("waits");
    let works = server(&site, oauth().0);
    let mcp = Mcp::new([waits, works]).first_wait(Duration::from_secs(3_600));
    let starting = mcp.clone();
    tokio::spawn(async move { starting.start().await });
    asked.notified().await;
    let is_connected = || matches!(mcp.status()[1].state, ServerState::Connected { .. });
    while !is_connected() {
        tokio::task::yield_now().await;
    }
    let outcome = caller(mcp.clone(), "test__echo", json!({}))
        .run("Go.")
        .await;
    assert_eq!(outcome.text, "called");
    assert_eq!(mcp.status()[0].state, ServerState::Authorizing);
}

#[tokio::test]
async fn a_silent_connection_to_the_callback_does_not_block_the_redirect() {
    let site = Site::start(Behaviour::default()).await;
    let oauth = OAuth::new().prompt(|prompt| {
        tokio::spawn(async move {
            let url = url::Url::parse(&prompt.url).unwrap();
            let redirect = url
                .query_pairs()
                .find(|(name, _)| name == "redirect_uri")
                .unwrap()
                .1;
            let redirect = url::Url::parse(&redirect).unwrap();
            let address = ("127.0.0.1", redirect.port().unwrap());
            let _silent = tokio::net::TcpStream::connect(address).await.unwrap();
            // A page that guesses the state is ignored.
            let forged = visit(format!("{redirect}?code=forged&state=guessed"))
                .await
                .unwrap();
            assert_eq!(forged.status(), 404);
            visit(prompt.url).await.unwrap();
        });
    });
    assert_eq!(called(server(&site, oauth)).await, "called");
    assert_eq!(site.received("/token")[0].form["code"], "secret-code");
}

#[tokio::test]
async fn settings_that_cannot_work_are_reported() {
    let site = listen().await.local_addr().unwrap();
    let http = |url: &str| McpServer::http(url).alias("test");
    let local = format!("http://{site}/mcp");
    for (server, expected) in [
        (
            http("http://mcp.example/mcp").oauth(OAuth::new()),
            "must begin with `https://`",
        ),
        (
            http(&local).oauth(OAuth::new()).bearer("token"),
            "remove one of them",
        ),
        (
            http(&local).oauth(OAuth::new().client_id("me").client_secret("s")),
            "requires a client id and an issuer",
        ),
        (
            http(&local).oauth(OAuth::new().endpoint_origins(["https://auth.example"])),
            "endpoint origins require an issuer",
        ),
        (
            http(&local).oauth(
                OAuth::new()
                    .issuer("https://auth.example")
                    .endpoint_origins(["auth.example"]),
            ),
            "`auth.example` is not an origin",
        ),
        (
            http(&local).oauth(OAuth::new().client_metadata_url("http://x/y")),
            "must be an `https` URL",
        ),
        (
            McpServer::stdio("true", [""; 0])
                .alias("test")
                .oauth(OAuth::new()),
            "OAuth is for HTTP",
        ),
    ] {
        let error = Mcp::new([server]).start().await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// Opens a page like a browser on this machine.
async fn visit(url: impl reqwest::IntoUrl) -> reqwest::Result<reqwest::Response> {
    http_client().get(url).send().await
}
