//! Who calls, and what a handler knows of it.

use std::sync::Arc;

use axum::http::request::Parts;
use reqwest::StatusCode;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderName, WWW_AUTHENTICATE};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use turnwright_core::tool::approval::{PendingCall, Review, always, policy};
use turnwright_core::{DispatchContext, ErrorCode, Principal, Tool, ToolContext};
use turnwright_mcp::McpService;
use turnwright_mcp::serve::agent_tool;

use super::http::{initialize, post};
use super::person::{Connected, LIFECYCLES, Person, text_of, tool};
use crate::http_client;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// A service that says who calls it.
fn service() -> McpService {
    let who = tool("who", |ctx: ToolContext| async move {
        Ok(format!("{:?}", ctx.principal().map(Principal::as_str)))
    });
    let executor = |ctx: DispatchContext| async move {
        let name = ctx.turn().principal().map(ToString::to_string);
        ctx.answer(name.unwrap_or_default()).await?;
        Ok(())
    };
    let runner = turnwright_core::runner(executor).build().unwrap();
    let agent = agent_tool("agent", "For tests.", runner).unwrap();
    McpService::of([who, agent])
        .unwrap()
        .capability("prompts", json!({}))
        .method("prompts/list", async |_, caller| {
            let name = caller.map_or("nobody".to_owned(), |caller| caller.to_string());
            Ok(json!({ "prompts": [{ "name": name }] }))
        })
}

/// The token of a user is the name.
fn user(request: &Parts) -> Option<Principal> {
    let header = request.headers.get("authorization")?.to_str().ok()?;
    match header.strip_prefix("Bearer ")? {
        "ada" => Some("ada".into()),
        "bob" => Some("bob".into()),
        // Not a valid principal.
        "empty" => Some("".into()),
        _ => None,
    }
}

async fn listen(service: McpService) -> (String, JoinHandle<std::io::Result<()>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let http = service.http().authenticate(async |request| user(&request));
    (url, tokio::spawn(http.serve_on(listener)))
}

#[tokio::test]
async fn a_call_acts_for_the_sender_of_its_request() {
    let (url, _server) = listen(service().principal("the process")).await;
    for lifecycle in LIFECYCLES {
        for name in ["ada", "bob"] {
            let client = Connected::with_token(&url, name, Person::absent(), lifecycle).await;
            let who = client.call("who", json!({})).await.unwrap();
            assert_eq!(text_of(&who), format!("Some({name:?})"), "{lifecycle:?}");
            let agent = client.call("agent", json!({ "task": "Who am I?" })).await;
            assert_eq!(text_of(&agent.unwrap()), name, "{lifecycle:?}");
            let prompts = client.client.list_all_prompts().await.unwrap();
            assert_eq!(prompts[0].name, name, "{lifecycle:?}");
        }
    }
}

#[tokio::test]
async fn without_authentication_a_call_acts_for_the_principal_of_the_process() {
    for lifecycle in LIFECYCLES {
        for (service, expected) in [
            (service().principal("ada"), "Some(\"ada\")"),
            (service(), "None"),
        ] {
            let client =
                Connected::over_streams(service.clone(), Person::absent(), lifecycle).await;
            let who = client.call("who", json!({})).await.unwrap();
            assert_eq!(text_of(&who), expected, "{lifecycle:?}");
            client.leave().await;
            let client = Connected::over_http(service, Person::absent(), lifecycle).await;
            let who = client.call("who", json!({})).await.unwrap();
            assert_eq!(text_of(&who), expected, "{lifecycle:?}");
        }
    }
}

#[tokio::test]
async fn a_principal_of_the_context_is_refused() {
    let service = || service().context(|context| context.principal("eve"));
    let error = service().into_router().unwrap_err();
    assert_eq!(error.code(), ErrorCode::INVALID_TURN_CONTEXT);
    assert!(error.message().contains("`McpService::principal`"));
    let mut output = Vec::new();
    let served = service().principal("ada").serve(&b""[..], &mut output);
    assert!(served.await.is_err());
}

#[tokio::test]
async fn requests_that_are_not_authenticated_are_refused() {
    let (url, _server) = listen(service()).await;
    for token in [
        None,
        Some("Bearer x"),
        Some("Basic ada"),
        Some("Bearer empty"),
    ] {
        let headers: Vec<_> = token
            .map(|token| (AUTHORIZATION, token))
            .into_iter()
            .collect();
        let response = post(&url, initialize(), &headers).await;
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{token:?}");
        assert_eq!(response.headers()[WWW_AUTHENTICATE], "Bearer");
    }
    let response = post(&url, initialize(), &[(AUTHORIZATION, "Bearer ada")]).await;
    assert_eq!(response.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_session_is_of_no_use_to_another_principal() {
    let (url, _server) = listen(service()).await;
    let opened = post(&url, initialize(), &[(AUTHORIZATION, "Bearer ada")]).await;
    let session = opened.headers()[SESSION].to_str().unwrap();
    let client = http_client();
    let ping = json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" }).to_string();
    for (name, status) in [("bob", StatusCode::NOT_FOUND), ("ada", StatusCode::OK)] {
        let token = format!("Bearer {name}");
        let headers = [(AUTHORIZATION, &*token), (SESSION, session)];
        let posted = post(&url, ping.clone(), &headers).await;
        assert_eq!(posted.status(), status, "{name}");
        let stream = client.get(&url).header(ACCEPT, "text/event-stream");
        let stream = stream
            .header(AUTHORIZATION, &token)
            .header(SESSION, session);
        assert_eq!(stream.send().await.unwrap().status(), status, "{name}");
    }
}

#[tokio::test]
async fn a_caller_is_not_asked_for_what_another_principal_must_approve() {
    let pay = tool("pay", |_| async { Ok("paid".to_owned()) });
    let another = |_: &PendingCall<'_>| Review::ask("it costs money").by_another();
    let service = McpService::of([pay]).unwrap().policy(policy(another));
    let (url, _server) = listen(service).await;
    for lifecycle in LIFECYCLES {
        let person = Person::who_accepts(json!({ "approve": true }));
        let asked = Arc::clone(&person.asked);
        let client = Connected::with_token(&url, "ada", person, lifecycle).await;
        let denied = text_of(&client.call("pay", json!({})).await.unwrap());
        assert!(
            denied.contains("another principal must approve it"),
            "{denied}"
        );
        assert!(asked.lock().is_empty(), "{lifecycle:?}");
    }
}

#[tokio::test]
async fn only_the_caller_can_approve_a_call() {
    let pays = Tool::dynamic("pays", json!({ "type": "object" }))
        .description("For tests.")
        .approval(always("it costs money"))
        .handler(async |_, _| "paid")
        .build()
        .unwrap();
    let (url, _server) = listen(McpService::of([pays]).unwrap()).await;
    let send = async |name: &str, more: Value| -> Value {
        let mut params = json!({ "name": "pays", "arguments": {}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "raw", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
        } });
        let fields = params.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let token = format!("Bearer {name}");
        let headers = [
            ("authorization", &*token),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "pays"),
        ];
        let headers = headers.map(|(name, value)| (HeaderName::from_static(name), value));
        let text = post(&url, call.to_string(), &headers).await.text().await;
        let text = text.unwrap();
        let answer = text.lines().find_map(|line| line.strip_prefix("data: {"));
        let answer = answer.map_or(text.clone(), |rest| format!("{{{rest}"));
        serde_json::from_str(&answer).unwrap()
    };
    let asked = send("ada", json!({})).await;
    let result = &asked["result"];
    let (name, _) = result["inputRequests"]
        .as_object()
        .unwrap()
        .iter()
        .next()
        .unwrap();
    let answers = json!({
        "requestState": result["requestState"],
        "inputResponses": { name: { "action": "accept", "content": { "approve": true } } },
    });
    let refused = send("bob", answers.clone()).await;
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("belongs to another call"), "{refused}");
    let paid = send("ada", answers).await;
    assert_eq!(paid["result"]["content"][0]["text"], "paid", "{paid}");
}

struct Database;

#[tokio::test]
async fn state_that_a_tool_needs_is_not_dropped_and_not_missing() {
    let query = Tool::dynamic("query", json!({ "type": "object" }))
        .description("For tests.")
        .requires_state::<Database>()
        .handler(async |_, ctx: ToolContext| ctx.turn().state::<Database>().is_ok().to_string())
        .build()
        .unwrap();
    let service = McpService::of([query]).unwrap();
    let complete = service
        .clone()
        .state(Database)
        .context(|context| context.conversation("a"));
    let client = Connected::over_streams(complete, Person::absent(), LIFECYCLES[0]).await;
    let found = client.call("query", json!({})).await.unwrap();
    assert_eq!(text_of(&found), "true");
    let error = service.clone().into_router().unwrap_err();
    assert_eq!(error.code().as_str(), "E_MISSING_STATE");
    let error = service
        .serve(tokio::io::empty(), tokio::io::sink())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("needs state of type"), "{error}");
}
