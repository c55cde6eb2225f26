//! Calls: arguments, failures, cancellation, progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rmcp::model::{CallToolRequestParams, ClientRequest, ErrorCode, Request};
use rmcp::service::{PeerRequestOptions, ServiceError};
use serde_json::json;
use tokio::sync::{Barrier, mpsc};
use turnwright_core::{Effects, Tool, ToolError};
use turnwright_mcp::{McpService, serve::ServeLimits};

use super::person::{Connected, LIFECYCLES, Lifecycle, Person, listen, text_of, tool};

/// Adds two integers, and counts how often it ran.
fn add(ran: &Arc<AtomicUsize>) -> Tool {
    let ran = Arc::clone(ran);
    let schema = json!({
        "type": "object",
        "properties": { "a": { "type": "integer" }, "b": { "type": "integer", "default": 1 } },
        "required": ["a"],
    });
    Tool::dynamic("add", schema)
        .description("Adds.")
        .effects(Effects::ReadOnly)
        .handler_with(ran, async |ran, args, _| {
            ran.fetch_add(1, Ordering::SeqCst);
            Ok(args["a"].as_i64().unwrap_or(0) + args["b"].as_i64().unwrap_or(0))
        })
        .build()
        .unwrap()
}

#[tokio::test]
async fn valid_arguments_run_and_invalid_ones_do_not() {
    for lifecycle in LIFECYCLES {
        for http in [false, true] {
            let ran = Arc::default();
            let service = McpService::of([add(&ran)]).unwrap();
            let connected = if http {
                Connected::over_http(service, Person::absent(), lifecycle).await
            } else {
                Connected::over_streams(service, Person::absent(), lifecycle).await
            };
            let sum = connected.call("add", json!({ "a": 2 })).await.unwrap();
            assert_eq!((text_of(&sum).as_str(), sum.is_error), ("3", Some(false)));
            let refused = connected.call("add", json!({ "a": "x" })).await.unwrap();
            assert_eq!(refused.is_error, Some(true));
            assert!(
                text_of(&refused).contains("Invalid arguments for `add`"),
                "{lifecycle:?}: {}",
                text_of(&refused)
            );
            assert_eq!(ran.load(Ordering::SeqCst), 1);
        }
    }
}

#[tokio::test]
async fn a_failure_is_a_result_with_the_models_text_only() {
    let fails = tool("fails", |_| async {
        Err(ToolError::internal("password=hunter2").for_model("The database is down."))
    });
    for lifecycle in LIFECYCLES {
        let service = McpService::of([fails.clone()]).unwrap();
        let connected = Connected::over_streams(service, Person::absent(), lifecycle).await;
        let result = connected.call("fails", json!({})).await.unwrap();
        assert_eq!(result.is_error, Some(true));
        assert!(text_of(&result).contains("The database is down."));
        let json = serde_json::to_string(&result).unwrap();
        assert!(!json.contains("hunter2"), "{json}");
        connected.leave().await;
    }
}

#[tokio::test]
async fn a_panic_is_a_failure_without_its_message() {
    let panics = tool("panics", |_| async { panic!("secret") });
    let service = McpService::of([panics]).unwrap();
    let connected = Connected::over_streams(service, Person::absent(), Lifecycle::Sessions).await;
    let result = connected.call("panics", json!({})).await.unwrap();
    assert_eq!(result.is_error, Some(true));
    assert!(!text_of(&result).contains("secret"));
}

#[tokio::test]
async fn an_unknown_tool_is_a_protocol_error_with_similar_names() {
    let tools =
        ["search_mail", "send_mail", "weather"].map(|name| tool(name, |_| async { Ok("".into()) }));
    let service = McpService::of(tools).unwrap();
    let connected = Connected::over_streams(service, Person::absent(), Lifecycle::Sessions).await;
    let error = connected.call("serch_mail", json!({})).await.unwrap_err();
    let ServiceError::McpError(error) = error else {
        panic!("{error:?}")
    };
    assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
    assert!(error.message.contains("search_mail"), "{}", error.message);
    assert!(!error.message.contains("weather"), "{}", error.message);
}

#[tokio::test]
async fn a_hidden_tool_cannot_be_called() {
    let tools =
        turnwright_core::ToolRegistry::new([tool("hidden", |_| async { Ok("ran".into()) })]);
    let tools = tools.unwrap();
    tools.hide("hidden");
    let service = McpService::new(tools);
    let connected = Connected::over_streams(service, Person::absent(), Lifecycle::Sessions).await;
    assert!(connected.call("hidden", json!({})).await.is_err());
}

#[tokio::test]
async fn cancelling_a_request_cancels_the_call() {
    for http in [false, true] {
        let (started, mut starts) = mpsc::unbounded_channel();
        let (ended, mut ends) = mpsc::unbounded_channel();
        let waits = tool("waits", move |ctx| {
            let (started, ended) = (started.clone(), ended.clone());
            async move {
                let token = ctx.cancellation().clone();
                tokio::spawn(async move {
                    token.cancelled().await;
                    ended.send(()).unwrap();
                });
                started.send(()).unwrap();
                std::future::pending().await
            }
        });
        let service = McpService::of([waits]).unwrap();
        let connected = if http {
            Connected::over_http(service, Person::absent(), Lifecycle::Sessions).await
        } else {
            Connected::over_streams(service, Person::absent(), Lifecycle::Sessions).await
        };
        let call = Request::new(CallToolRequestParams::new("waits"));
        let request = ClientRequest::CallToolRequest(call);
        let options = PeerRequestOptions::no_options();
        let handle = connected.client.send_cancellable_request(request, options);
        let handle = handle.await.unwrap();
        starts.recv().await.unwrap();
        handle.cancel(None).await.unwrap();
        ends.recv().await.unwrap();
    }
}

#[tokio::test]
async fn a_client_that_leaves_cancels_its_calls() {
    let (started, mut starts) = mpsc::unbounded_channel();
    let (ended, mut ends) = mpsc::unbounded_channel::<()>();
    let waits = tool("waits", move |_| {
        let (started, ended) = (started.clone(), ended.clone());
        async move {
            // Dropped with the handler.
            let _ended = ended;
            started.send(()).unwrap();
            std::future::pending().await
        }
    });
    let service = McpService::of([waits]).unwrap();
    let connected = Connected::over_streams(service, Person::absent(), Lifecycle::Sessions).await;
    let call = Request::new(CallToolRequestParams::new("waits"));
    let request = ClientRequest::CallToolRequest(call);
    let options = PeerRequestOptions::no_options();
    let _handle = connected.client.send_cancellable_request(request, options);
    let _handle = _handle.await.unwrap();
    starts.recv().await.unwrap();
    tokio::time::pause();
    connected.leave().await;
    // The server has returned, and no handler is left.
    assert!(ends.recv().await.is_none());
}

#[tokio::test]
async fn progress_reaches_a_client_that_asks_for_it() {
    for lifecycle in LIFECYCLES {
        for http in [false, true] {
            let works = tool("works", |ctx| async move {
                for step in ["one", "two", "three"] {
                    ctx.progress(step);
                }
                Ok("done".to_owned())
            });
            let service = McpService::of([works]).unwrap();
            let person = Person::absent();
            let connected = if http {
                Connected::over_http(service, person.clone(), lifecycle).await
            } else {
                Connected::over_streams(service, person.clone(), lifecycle).await
            };
            // The client of `rmcp` always sends a token.
            let result = connected.call("works", json!({})).await.unwrap();
            assert_eq!(text_of(&result), "done");
            let mut last = 0.0;
            for step in ["one", "two", "three"] {
                let progress = person.next_progress().await;
                assert_eq!(progress.message.as_deref(), Some(step));
                assert!(progress.progress > last);
                last = progress.progress;
            }
        }
    }
}

/// Serves one tool, of which so many calls run at a time.
fn limited(tool: Tool, calls: usize) -> McpService {
    let limits = ServeLimits {
        calls,
        ..ServeLimits::default()
    };
    McpService::of([tool]).unwrap().limits(limits)
}

/// Calls a tool eight times at once. Each call must return the text.
async fn call_at_once(connected: &Connected, tool: &str, expected: &str) {
    let calls = (0..8).map(|_| connected.call(tool, json!({})));
    for result in futures_util::future::join_all(calls).await {
        assert_eq!(text_of(&result.unwrap()), expected);
    }
}

#[tokio::test]
async fn calls_run_concurrently_up_to_the_limit() {
    let together = Arc::new(Barrier::new(4));
    let meets = tool("meets", move |_| {
        let together = Arc::clone(&together);
        async move {
            together.wait().await;
            Ok("met".to_owned())
        }
    });
    let service = limited(meets, 4);
    let connected = Connected::over_http(service, Person::absent(), Lifecycle::Stateless).await;
    // All four must run at the same time, twice.
    call_at_once(&connected, "meets", "met").await;
}

#[tokio::test]
async fn calls_above_the_limit_wait() {
    let running = Arc::new(AtomicUsize::new(0));
    let counts = tool("counts", move |_| {
        let running = Arc::clone(&running);
        async move {
            let now = running.fetch_add(1, Ordering::SeqCst) + 1;
            tokio::task::yield_now().await;
            running.fetch_sub(1, Ordering::SeqCst);
            Ok(now.to_string())
        }
    });
    let service = limited(counts, 1);
    let connected = Connected::over_streams(service, Person::absent(), Lifecycle::Sessions).await;
    call_at_once(&connected, "counts", "1").await;
}

#[tokio::test]
async fn calls_beyond_the_queue_are_refused() {
    let (started, mut starts) = mpsc::unbounded_channel();
    let waits = tool("waits", move |_| {
        let started = started.clone();
        async move {
            started.send(()).unwrap();
            std::future::pending().await
        }
    });
    let limits = ServeLimits {
        calls: 1,
        queued_calls: 0,
        ..ServeLimits::default()
    };
    let service = McpService::of([waits]).unwrap().limits(limits);
    let connected = Connected::over_streams(service, Person::absent(), Lifecycle::Sessions).await;
    let call = Request::new(CallToolRequestParams::new("waits"));
    let request = ClientRequest::CallToolRequest(call);
    let options = PeerRequestOptions::no_options();
    let first = connected
        .client
        .send_cancellable_request(request, options)
        .await;
    starts.recv().await.unwrap();
    let error = connected.call("waits", json!({})).await.unwrap_err();
    assert!(error.to_string().contains("busy"), "{error}");
    first.unwrap().cancel(None).await.unwrap();
}

#[tokio::test]
async fn a_server_that_ends_cancels_its_calls() {
    let (started, mut starts) = mpsc::unbounded_channel();
    let (ended, mut ends) = mpsc::unbounded_channel();
    let waits = tool("waits", move |ctx| {
        let (started, ended) = (started.clone(), ended.clone());
        async move {
            let token = ctx.cancellation().clone();
            tokio::spawn(async move {
                token.cancelled().await;
                ended.send(()).unwrap();
            });
            started.send(()).unwrap();
            std::future::pending().await
        }
    });
    let (url, server) = listen(McpService::of([waits]).unwrap()).await;
    let connected = Connected::to(&url, Person::absent(), Lifecycle::Stateless).await;
    let call = tokio::spawn(async move { connected.call("waits", json!({})).await });
    starts.recv().await.unwrap();
    server.abort();
    ends.recv().await.unwrap();
    call.abort();
}
