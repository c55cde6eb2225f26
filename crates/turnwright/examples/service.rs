//! An agent service for several users: turns as server-sent events, approvals over HTTP, and a database that survives a restart.
//!
//! A turn that needs an approval is suspended: it holds no memory and no lease while a person decides. The process can be
//! killed meanwhile. Runs offline:
//!
//! ```sh
//! cargo run -p turnwright --features sqlite --example service -- service.db 8080
//! curl -N -H 'Authorization: Bearer ada-token' -d 'Pay Bob.' localhost:8080/chats/bills
//! curl -H 'Authorization: Bearer ada-token' localhost:8080/approvals
//! curl -N -H 'Authorization: Bearer ada-token' --json '{"decision": "approve"}' \
//!     localhost:8080/chats/bills/turns/TURN/gates/GATE
//! ```

use std::{fs::OpenOptions, io, io::Write as _, path::PathBuf};

use axum::extract::{self, Path};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response, Sse, sse};
use axum::{Json, Router, routing};
use futures_util::StreamExt as _;
use serde_json::json;
use turnwright::approval::always;
use turnwright::gate::{GateAnswer, OpenGate};
use turnwright::prelude::*;
use turnwright::store::TurnFilter;
use turnwright::{Error, ErrorKind, State, Turn, TurnEvent};

/// The callers that the service knows. A real one looks tokens up in its sessions.
const TOKENS: [(&str, &str); 2] = [("ada-token", "ada"), ("bob-token", "bob")];

type Runner = extract::State<TurnRunner>;
type Reply = Result<Response, StatusCode>;

/// Stands in for a model, such as `ChatCompletions::from_env()`. It decides by the records alone, so it can continue anywhere.
async fn model(ctx: DispatchContext) -> Result<(), BoxError> {
    match ctx.records().own_tool_calls().last() {
        None => drop(ctx.call("pay", r#"{"to": "Bob", "cents": 3000}"#).await),
        Some(call) => drop(ctx.answer(call.text().await.unwrap_or_default()).await?),
    }
    Ok(())
}

/// Pays an amount.
#[tool(effects = "writes", approval = always("it moves money"))]
async fn pay(to: &str, cents: u32, book: State<PathBuf>, ctx: &ToolContext) -> io::Result<String> {
    let line = format!("{} {cents} to {to}\n", ctx.idempotency_key());
    let mut book = OpenOptions::new().append(true).create(true).open(&**book)?;
    book.write_all(line.as_bytes())?;
    Ok(format!("Paid {cents} cents to {to}."))
}

/// The id of a conversation begins with its user, so a request reaches the conversations of its own user only.
fn conversation(headers: &HeaderMap, chat: &str) -> Result<String, StatusCode> {
    let header = headers.get("authorization");
    let token = header.and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let user = TOKENS.iter().find(|(known, _)| token == Some(known));
    let (_, name) = user.ok_or(StatusCode::UNAUTHORIZED)?;
    Ok(format!("{name}/{chat}"))
}

fn status(error: impl Into<Error>) -> StatusCode {
    match error.into().kind() {
        ErrorKind::NotFound => StatusCode::NOT_FOUND,
        ErrorKind::InvalidArguments | ErrorKind::Timeout => StatusCode::CONFLICT,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// A client that disconnects does not end the turn.
fn stream(turn: Turn) -> Response {
    let event = |event: TurnEvent| sse::Event::default().event(event.name()).json_data(&event);
    Sse::new(turn.map(event)).into_response()
}

async fn say(user: HeaderMap, runner: Runner, chat: Path<String>, text: String) -> Reply {
    let conversation = conversation(&user, &chat)?;
    Ok(stream(
        runner.start(TurnInput::new(text).conversation(conversation)),
    ))
}

async fn approvals(user: HeaderMap, runner: Runner) -> Reply {
    let mine = TurnFilter::all().prefix(conversation(&user, "")?).waiting();
    let turns = runner
        .storage()
        .store()
        .find_turns(&mine)
        .await
        .map_err(status)?;
    let shown = turns.iter().map(|turn| {
        let gates: Vec<_> = turn
            .open_gates
            .iter()
            .map(|gate| OpenGate::from(&**gate))
            .collect();
        json!({ "conversation": turn.conversation.as_str(), "turn": turn.turn_id, "gates": gates })
    });
    Ok(Json(shown.collect::<Vec<_>>()).into_response())
}

async fn decide(
    user: HeaderMap,
    runner: Runner,
    Path((chat, turn, gate)): Path<(String, String, String)>,
    Json(answer): Json<GateAnswer>,
) -> Reply {
    let conversation = conversation(&user, &chat)?;
    runner
        .answer_gate(&conversation, &gate, answer)
        .await
        .map_err(status)?;
    let input = TurnInput::resume(turn).conversation(conversation);
    Ok(stream(runner.resume(input).await.map_err(status)?))
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let mut args = std::env::args().skip(1);
    let database = PathBuf::from(args.next().ok_or("usage: service DATABASE [PORT]")?);
    let port = args.next().map_or(Ok(0), |port| port.parse::<u16>())?;
    let runner = turnwright::runner(model)
        .storage(Storage::sqlite(&database).await?)
        .state(database.with_extension("payments"))
        .tool(pay())
        .suspend_at_gates()
        .build()?;
    // Turns that the last process left, and that wait for nobody, continue in the background.
    let left = runner.storage().waiting(None, 1_000).await?;
    for turn in left.into_iter().filter(|turn| turn.open_gates.is_empty()) {
        let input = TurnInput::resume(turn.turn_id).conversation(turn.conversation.as_str());
        drop(runner.resume(input).await?);
    }
    let app = Router::new()
        .route("/approvals", routing::get(approvals))
        .route("/chats/{chat}", routing::post(say))
        .route(
            "/chats/{chat}/turns/{turn}/gates/{gate}",
            routing::post(decide),
        )
        .with_state(runner);
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    println!("http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, app).await?)
}
