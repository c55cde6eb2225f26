//! When HTTP sessions end, without HTTP: time is paused, and passes because nothing else happens.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt as _, StreamExt as _};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::service::{QuitReason, serve_server};
use rmcp::transport::common::server_side_http::{ServerSseMessage, SessionId};
use rmcp::transport::streamable_http_server::session::SessionManager as _;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use turnwright_core::Tool;
use turnwright_core::gate::TurnGate;

use crate::McpService;
use crate::serve::handler::Handler;
use crate::serve::limits::ServeLimits;
use crate::serve::server::Server;
use crate::serve::session_limit::LimitedSessions;

/// Longer than a session may be idle.
const LONG: Duration = Duration::from_secs(3_600);

fn message(message: Value) -> ClientJsonRpcMessage {
    serde_json::from_value(message).unwrap()
}

/// A session and the server that answers it.
struct Open {
    sessions: LimitedSessions,
    id: SessionId,
    server: JoinHandle<QuitReason>,
}

impl Open {
    async fn with(tool: Tool) -> Self {
        let limits = ServeLimits::default();
        assert!(limits.session_idle < LONG);
        let sessions = LimitedSessions::new(&limits);
        let (id, transport) = sessions.create_session().await.unwrap();
        let handler = Handler::new(Arc::new(Server::new(McpService::of([tool]).unwrap())));
        let server = tokio::spawn(async {
            let server = serve_server(handler, transport).await.unwrap();
            server.waiting().await.unwrap()
        });
        let initialize = json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": { "elicitation": {} },
                "clientInfo": { "name": "test", "version": "1" },
            },
        });
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        sessions
            .initialize_session(&id, message(initialize))
            .await
            .unwrap();
        sessions
            .accept_message(&id, message(initialized))
            .await
            .unwrap();
        Open {
            sessions,
            id,
            server,
        }
    }

    async fn call(&self) -> BoxStream<'static, ServerSseMessage> {
        let call = json!({
            "jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": { "name": "works", "arguments": {} },
        });
        let stream = self.sessions.create_stream(&self.id, message(call)).await;
        stream.unwrap().boxed()
    }
}

/// A tool that runs for a long time, and reports that it has ended.
fn works() -> (Tool, mpsc::UnboundedReceiver<()>) {
    let (done, ended) = mpsc::unbounded_channel();
    let works = Tool::dynamic("works", json!({ "type": "object" }))
        .description("Takes long.")
        .timeout(None)
        .handler(move |_: Value, _| {
            let done = done.clone();
            async move {
                sleep(LONG).await;
                done.send(()).unwrap();
                "done"
            }
        });
    (works.build().unwrap(), ended)
}

/// A tool that asks the client. The receiver ends when the tool does not wait any more.
fn asks() -> (Tool, oneshot::Receiver<()>) {
    let (waits, given_up) = oneshot::channel::<()>();
    let waits = parking_lot::Mutex::new(Some(waits));
    let asks = Tool::dynamic("works", json!({ "type": "object" }))
        .description("Asks.")
        .timeout(None)
        .handler(move |_: Value, ctx: turnwright_core::ToolContext| {
            let waits = waits.lock().take();
            async move {
                let _waits = waits;
                let gate = TurnGate::new("question").question("Well?").build()?;
                ctx.wait_for(gate).await?;
                Ok::<_, turnwright_core::ToolError>("answered")
            }
        });
    (asks.build().unwrap(), given_up)
}

#[tokio::test(start_paused = true)]
async fn an_idle_session_ends() {
    let open = Open::with(works().0).await;
    let reason = open.server.await.unwrap();
    assert!(matches!(reason, QuitReason::Closed), "{reason:?}");
}

#[tokio::test(start_paused = true)]
async fn a_session_lives_as_long_as_its_call() {
    let (works, _ended) = works();
    let open = Open::with(works).await;
    let messages: Vec<_> = open.call().await.collect().await;
    let answer = &messages.last().unwrap().message;
    let answer = serde_json::to_value(answer).unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
}

#[tokio::test(start_paused = true)]
async fn a_call_is_not_cancelled_when_its_client_has_left() {
    let (works, mut ended) = works();
    let open = Open::with(works).await;
    drop(open.call().await);
    assert_eq!(ended.recv().await, Some(()));
    // Then nothing uses the session.
    open.server.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_question_waits_for_a_client_that_reads_but_not_for_one_that_has_left() {
    let (asks, given_up) = asks();
    let mut given_up = given_up.fuse();
    let open = Open::with(asks).await;
    let mut stream = open.call().await;
    let mut asked = false;
    while !asked {
        let message = stream.next().await.unwrap().message;
        let message = serde_json::to_value(message).unwrap();
        asked = message["method"] == "elicitation/create";
    }
    sleep(LONG).await;
    assert!(!open.server.is_finished());
    assert!((&mut given_up).now_or_never().is_none());
    drop(stream);
    assert!(given_up.await.is_err());
    open.server.await.unwrap();
}

#[tokio::test]
async fn sessions_that_are_opened_at_once_do_not_exceed_the_limit() {
    let sessions = LimitedSessions::new(&ServeLimits {
        sessions: 2,
        ..ServeLimits::default()
    });
    // All of them have begun when the first one ends.
    let locked = sessions.sessions.sessions.read().await;
    let mut opening = Box::pin(join_all((0..5).map(|_| sessions.create_session())));
    assert!((&mut opening).now_or_never().is_none());
    drop(locked);
    let opened = opening.await.into_iter().filter_map(Result::ok);
    let opened: Vec<SessionId> = opened.map(|(id, _)| id).collect();
    assert_eq!(opened.len(), 2);
    assert!(sessions.are_full());
    sessions.close_session(&opened[0]).await.unwrap();
    assert!(sessions.create_session().await.is_ok());
}
