//! An agent service for several users: turns as server-sent events, approvals over HTTP, and a database that survives a restart.
//!
//! A turn that needs an approval is suspended: it holds no memory and no lease while a person decides, and the process can be
//! killed meanwhile. Turns that can go on are resumed at start, also those whose approval was recorded just before a kill. A
//! payment that was interrupted is not repeated, and the model reads that its result is unknown. Runs offline:
//!
//! ```sh
//! cargo run -p turnwright --features sqlite --example service -- service.db 8080
//! curl -N -H 'Authorization: Bearer ada-token' -d 'Pay Bob.' localhost:8080/chats/bills
//! curl -H 'Authorization: Bearer ada-token' localhost:8080/approvals
//! curl -N -H 'Authorization: Bearer ada-token' --json '{"decision": "approve"}' localhost:8080/chats/bills/gates/GATE
//! curl -N -H 'Authorization: Bearer ada-token' localhost:8080/chats/bills/turns/TURN
//! ```

use std::{env, fs::File, io, io::Write as _, path::PathBuf, time::Duration};

use axum::extract::{self, Path};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response, Sse, sse};
use axum::{Json, Router, routing};
use futures_util::StreamExt as _;
use turnwright::store::TurnFilter;
use turnwright::{Error, Event, State, Turn, approval::always, gate::GateAnswer, prelude::*};

type Runner = extract::State<TurnRunner>;
type ChatAnd = Path<(String, String)>;
type Reply = Result<Response, StatusCode>;

/// A stand-in for a model such as `ChatCompletions::from_env()`. It decides by the records alone, so it can continue anywhere.
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
    let mut file = File::options().append(true).create(true).open(&**book)?;
    writeln!(file, "{} {cents} to {to}", ctx.idempotency_key())?;
    ctx.progress("The payment is in the book.");
    tokio::fs::write(book.with_extension("receipt"), to.to_owned()).await?;
    Ok(format!("Paid {cents} cents to {to}."))
}

/// The id of a conversation begins with its user. A real service looks the token up in its sessions.
fn conversation(headers: &HeaderMap, chat: &str) -> Result<String, StatusCode> {
    match headers.get("authorization").map(HeaderValue::as_bytes) {
        Some(b"Bearer ada-token") => Ok(format!("ada/{chat}")),
        Some(b"Bearer bob-token") => Ok(format!("bob/{chat}")),
        _ => Err(StatusCode::UNAUTHORIZED),
    }
}

/// A client that disconnects does not end the turn.
fn stream(turn: Turn) -> Response {
    let event = |event: Event| sse::Event::default().event(event.name()).json_data(&event);
    Sse::new(turn.map(event)).into_response()
}

fn status(error: impl Into<Error>) -> StatusCode {
    StatusCode::from_u16(error.into().http_status()).unwrap_or_default()
}

async fn say(user: HeaderMap, runner: Runner, chat: Path<String>, text: String) -> Reply {
    let input = TurnInput::new(text).conversation(conversation(&user, &chat)?);
    Ok(stream(runner.start(input)))
}

/// For a client that was disconnected: the turn from its beginning, and then what it does.
async fn follow(user: HeaderMap, runner: Runner, Path((chat, turn)): ChatAnd) -> Reply {
    let turn = runner.attach(conversation(&user, &chat)?, &turn).await;
    turn.map(stream).map_err(status)
}

async fn approvals(user: HeaderMap, runner: Runner) -> Reply {
    let mine = TurnFilter::all().prefix(conversation(&user, "")?);
    Ok(Json(runner.storage().waiting(&mine).await.map_err(status)?).into_response())
}

async fn decide(user: HeaderMap, runner: Runner, at: ChatAnd, answer: Json<GateAnswer>) -> Reply {
    let (chat, gate) = &*at;
    let conversation = conversation(&user, chat)?;
    // The user who is logged in, not one that the request names.
    let by = conversation.split('/').next().unwrap_or_default();
    let turn = runner.answer_gate(&conversation, gate, answer.0.by(by));
    turn.await.map(stream).map_err(status)
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let database = PathBuf::from(env::args().nth(1).ok_or("usage: service DATABASE PORT")?);
    let port: u16 = env::args().nth(2).unwrap_or_default().parse()?;
    let runner = turnwright::runner(model)
        .storage(Storage::sqlite(&database).await?)
        .state(database.with_extension("payments"))
        .tool(pay())
        .suspend_at_gates()
        .lease(Duration::from_secs(5))
        .build()?;
    // Turns that the last process left, interrupted or with a recorded approval, continue in the background.
    for turn in runner.storage().resumable(&TurnFilter::all()).await? {
        drop(runner.resume(&turn).await?);
    }
    let app = Router::new()
        .route("/approvals", routing::get(approvals))
        .route("/chats/{chat}", routing::post(say))
        .route("/chats/{chat}/turns/{turn}", routing::get(follow))
        .route("/chats/{chat}/gates/{gate}", routing::post(decide))
        .with_state(runner);
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    println!("http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, app).await?)
}
