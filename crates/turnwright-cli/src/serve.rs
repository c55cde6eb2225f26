//! `turnwright serve-script`: a model server with scripted replies.

use std::io;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use turnwright_testkit::server::model::{AnswerKind, PlayedAnswer, Player, Protocol, Script};
use turnwright_testkit::server::{ReceivedRequest, Server};

use crate::args::ServeScript;
use crate::exit::{Exit, misuse, unusable_port};
use crate::terminal::style::{self, paint};
use crate::terminal::{Screen, Signals, one_line};
use crate::text;

/// The most characters of a path and of a problem that are shown.
const PATH: usize = 120;
const PROBLEM: usize = 300;

pub(crate) async fn run(options: ServeScript, mut screen: Screen) -> anyhow::Result<Exit> {
    let script = read(&options.file)?;
    let of = script.replies().len();
    let player = Arc::new(player(script, &options));
    let (server, mut requests) = start(options.port, Arc::clone(&player), of).await?;
    let url = base_url(&server, options.protocol);
    // Before the address is printed: its reader may stop the server at once.
    let mut signals = Signals::listen()?;
    screen.value(&json!({ "url": url }))?;
    screen.line(format_args!("listening on {url}"))?;
    loop {
        tokio::select! {
            biased;
            Some((value, words)) = requests.recv() => {
                // The server is useful even if its output is not read.
                let _ = screen.value(&value);
                let _ = screen.line(words);
            }
            // Ctrl-C, or a request to terminate.
            _ = signals.next() => break,
        }
    }
    server.shutdown().await;
    let left = player.remaining();
    screen.value(&json!({ "replies": of, "left": left }))?;
    if left > 0 {
        let text = format!("{left} of {of} replies were not requested");
        screen.painted(style::WARN, text)?;
    }
    Ok(Exit::Done)
}

fn player(script: Script, options: &ServeScript) -> Player {
    let mut player = script.player();
    if options.repeat {
        player = player.repeat();
    }
    if let Some(protocol) = options.protocol {
        player = player.protocol(protocol);
    }
    match (options.strict, options.lenient) {
        (true, _) => player.strict(),
        (_, true) => player.lenient(),
        _ => player,
    }
}

/// Returns the base URL for clients. Those of `OpenAI` expect the version in it, and the others accept it.
fn base_url(server: &Server, protocol: Option<Protocol>) -> String {
    match protocol {
        Some(Protocol::Anthropic | Protocol::Gemini | Protocol::Ollama) => server.url(),
        _ => format!("{}/v1", server.url()),
    }
}

fn read(path: &Path) -> anyhow::Result<Script> {
    let text = text::file(path, text::SCRIPT)?;
    text.parse().map_err(|error: io::Error| {
        let name = text::name_of(path);
        misuse(format!(
            "{name} is {error}. A script is a JSON array of replies, for example \
             [{{\"calls\": [{{\"name\": \"weather\", \"arguments\": {{\"city\": \"Bern\"}}}}]}}, {{\"text\": \"It rains.\"}}]. \
             See `turnwright serve-script --help`"
        ))
    })
}

async fn start(
    port: u16,
    player: Arc<Player>,
    of: usize,
) -> anyhow::Result<(Server, UnboundedReceiver<(Value, String)>)> {
    let (note, requests) = unbounded_channel();
    // It may run for long, and its requests are not needed.
    let server = Server::builder().port(port).keep_requests(0);
    let server = server.start(move |request| {
        let played = player.answer(request);
        // Fails only while the program ends.
        let _ = note.send((
            as_json(request, &played, of),
            in_words(request, &played, of),
        ));
        played.answer
    });
    let server = server.await;
    let server =
        server.map_err(|error| unusable_port(port, &error, "remove `--port` to use a free one"))?;
    Ok((server, requests))
}

/// A request and its answer. The query is left out: it may have a key.
fn in_words(request: &ReceivedRequest, played: &PlayedAnswer, of: usize) -> String {
    let method = one_line(&request.method, PATH);
    let path = one_line(request.route(), PATH);
    let answer = match played.kind {
        AnswerKind::Reply {
            number, streamed, ..
        } => {
            let how = if streamed { "streamed" } else { "not streamed" };
            format!("reply {} of {of}, {how}", number + 1)
        }
        AnswerKind::Models => "list of models".to_owned(),
        AnswerKind::Ended => {
            let text = format!("error: all {of} replies of the script were used");
            paint(style::BAD, text)
        }
        _ => {
            let problem = played.problem.as_deref().unwrap_or("invalid request");
            let text = format!("error: {}", one_line(problem, PROBLEM));
            paint(style::BAD, text)
        }
    };
    match played.protocol {
        Some(protocol) => format!("{method} {path} → {protocol}, {answer}"),
        None => format!("{method} {path} → {answer}"),
    }
}

fn as_json(request: &ReceivedRequest, played: &PlayedAnswer, of: usize) -> Value {
    let (answer, reply, streamed) = match played.kind {
        AnswerKind::Reply {
            number, streamed, ..
        } => ("reply", Some(number + 1), Some(streamed)),
        AnswerKind::Models => ("models", None, None),
        AnswerKind::Ended => ("ended", None, None),
        _ => ("refused", None, None),
    };
    json!({
        "method": request.method,
        "path": request.route(),
        "protocol": played.protocol.map(Protocol::name),
        "answer": answer,
        "reply": reply,
        "of": of,
        "streamed": streamed,
        "problem": played.problem,
    })
}
